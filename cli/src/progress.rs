//! A scan that takes longer than a second shows how far it has come, where standard error is a terminal.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use capread::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Scans that end before this show nothing.
const PATIENCE: Duration = Duration::from_secs(1);

const STYLE: &str = "{bar:40} {bytes} of {total_bytes}, {eta} left";
const STYLE_WITHOUT_SIZE: &str = "{spinner} {bytes}, {bytes_per_sec}";

/// Does the work and shows its progress meanwhile; afterwards nothing of it is left on the terminal.
pub(crate) fn shown<T>(work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> T) -> T {
    if !io::stderr().is_terminal() {
        return work(&|_| {});
    }
    let (begun, bar) = (Instant::now(), OnceLock::new());
    let result = work(&|progress| {
        if begun.elapsed() >= PATIENCE {
            bar.get_or_init(|| start(progress)).set_position(progress.scanned);
        }
    });
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    result
}

fn start(progress: Progress) -> ProgressBar {
    let (bar, style) = match progress.size {
        Some(size) => (ProgressBar::new(size), STYLE),
        None => (ProgressBar::new_spinner(), STYLE_WITHOUT_SIZE),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(style).expect("the template is a constant");
    bar.with_style(style)
}
