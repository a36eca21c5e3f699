//! The command as it is released, built by the run that measures it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The workspace of the library and the command.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");

/// Builds `capread`, and tells where it is.
pub(crate) fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--package", "capread-cli", "--manifest-path", MANIFEST]);
    let output = command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("cannot build the command".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    messages.lines().find_map(executable).ok_or_else(|| "cargo names no executable".into())
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
