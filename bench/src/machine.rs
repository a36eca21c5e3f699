//! Where it was measured.

use std::path::Path;

use serde_json::{Value, json};

/// What a figure depends on, beside the code.
pub(crate) fn describe(root: &Path) -> Value {
    let system = rustix::system::uname();
    json!({
        "kernel": system.release().to_string_lossy(),
        "architecture": system.machine().to_string_lossy(),
        "processor": processor(),
        "processors": std::thread::available_parallelism().map_or(0, usize::from),
        "load": load(),
        "root": root.display().to_string(),
    })
}

/// The same in a line, for people.
pub(crate) fn line() -> String {
    let system = rustix::system::uname();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let (release, architecture) = (system.release().to_string_lossy(), system.machine().to_string_lossy());
    let kernel = release.split('-').next().unwrap_or_default();
    format!("Linux {kernel}, {architecture}, {processors} cores, load {}", load().unwrap_or_default())
}

fn processor() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = info.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(model.trim_start_matches(['\t', ' ', ':']).to_owned())
}

/// Processes that ran or waited to run, over the last one, five and fifteen minutes.
pub(crate) fn load() -> Option<String> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    Some(load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}
