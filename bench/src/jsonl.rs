//! `capread jsonl`: started, and called.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::Program;

pub(crate) fn program(capread: &Path, root: &Path) -> Program {
    Program::new(capread).arg("jsonl").arg("--root").arg(root)
}

/// A call with its line break.
pub(crate) fn call(id: u64, arguments: &Value) -> String {
    format!("{}\n", json!({ "id": id, "name": "read", "arguments": arguments }))
}
