//! The command as it is released, built by the run that measures it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The workspace of the library and the command.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");

/// Builds `capread`, and tells where it is.
pub(crate) fn build() -> Result<PathBuf> {
    build_with(&mut cargo())
}

/// The same with the C library linked statically, as the README has it for whoever starts it often. Needs that library's archive.
pub(crate) fn build_static() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let host = Command::new(rustc).args(["--print", "host-tuple"]).output()?.stdout;
    let host = String::from_utf8(host)?;
    // Named, so that build scripts and procedural macros are built without.
    build_with(cargo().args(["--target", host.trim()]).env("RUSTFLAGS", "-C target-feature=+crt-static"))
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--locked", "--package", "capread-cli", "--manifest-path", MANIFEST]);
    command
}

fn build_with(cargo: &mut Command) -> Result<PathBuf> {
    let output = cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("cannot build the command".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    install(&messages.lines().find_map(executable).ok_or("cargo names no executable")?)
}

/// A copy, as `cargo install` makes one: the file that a linker wrote lies in smaller pieces in memory, and takes longer to start.
fn install(built: &Path) -> Result<PathBuf> {
    let installed = built.with_extension("installed");
    fs::copy(built, &installed)?;
    Ok(installed)
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    Some(message["executable"].as_str()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_executable_among_the_messages() {
        assert_eq!(
            executable(r#"{"reason":"compiler-artifact","executable":"/t/release/capread"}"#),
            Some("/t/release/capread".into())
        );
        assert_eq!(executable(r#"{"reason":"compiler-artifact","executable":null}"#), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
