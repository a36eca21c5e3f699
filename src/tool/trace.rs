//! Calls as events of the crate `tracing`, where the feature is on.

use std::path::Path;

use super::ReadOutput;
#[cfg(feature = "tracing")]
use crate::display::Shown;
#[cfg(feature = "tracing")]
use crate::error::Error;
use crate::error::Result;

/// Most bytes of a path that an event repeats unshortened: no valid request has a longer one.
#[cfg(feature = "tracing")]
const MAX_PATH_BYTES: usize = 4096;

/// Does the work of one call, and tells of it.
#[cfg(feature = "tracing")]
pub(super) fn told(input: Option<&Path>, read: impl FnOnce() -> Result<ReadOutput>) -> Result<ReadOutput> {
    let begun = std::time::Instant::now();
    let result = read();
    event(input, &result, begun.elapsed());
    result
}

#[cfg(not(feature = "tracing"))]
pub(super) fn told(_: Option<&Path>, read: impl FnOnce() -> Result<ReadOutput>) -> Result<ReadOutput> {
    read()
}

#[cfg(feature = "tracing")]
fn event(input: Option<&Path>, result: &Result<ReadOutput>, duration: std::time::Duration) {
    let output = result.as_ref().ok();
    let window = output.map(|output| &output.window);
    tracing::event!(
        target: "capread",
        tracing::Level::INFO,
        input = input.map(|path| tracing::field::debug(Name(path))),
        resolved = output.map(|output| tracing::field::debug(Name(&output.resolved))),
        outcome = result.as_ref().map_or_else(Error::code, |_| "ok"),
        start_line = window.map(|window| window.start_line),
        end_line = window.map(|window| window.end_line),
        bytes = window.map(|window| window.text.len()),
        duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
    );
}

/// Escaped and bounded: what a model writes must neither make lines of a log nor fill it.
#[cfg(feature = "tracing")]
struct Name<'a>(&'a Path);

#[cfg(feature = "tracing")]
impl std::fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.as_os_str().len() <= MAX_PATH_BYTES {
            self.0.fmt(f)
        } else {
            write!(f, "\"{}\"", Shown(&self.0.to_string_lossy()))
        }
    }
}
