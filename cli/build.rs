//! Takes the unwinder from libgcc's archive, where the linker has it: a program is cheaper to start without its shared
//! library (docs/design.md). It is what a static build does.

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_dynamic_glibc() {
        return;
    }
    if let Some(directory) = directory_of("libgcc_eh.a") {
        println!("cargo::rustc-link-search=native={}", directory.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// For this machine: of another one's linker, its name is not known here.
fn is_dynamic_glibc() -> bool {
    let is = |name: &str, value: &str| var(name).is_ok_and(|it| it == value);
    let is_static = var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|it| it == "crt-static"));
    is("TARGET", "x86_64-unknown-linux-gnu") && var("TARGET") == var("HOST") && !is_static
}

/// Where the linker has it: only its name is printed of a file that there is not.
fn directory_of(file: &str) -> Option<PathBuf> {
    let linker = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(linker).arg(format!("-print-file-name={file}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    path.parent().filter(|directory| directory.is_absolute()).map(Path::to_owned)
}
