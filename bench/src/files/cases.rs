//! What is measured: each case has one thing to do, and those who do it.

use super::entrants::{CAP_STD, Entrants, JSONL, LIBRARY_FIRST, SED, WC};
use super::scene::Scene;
use super::system::Contender;
use super::{long_line, many};
use crate::Result;
use crate::corpus::TextFile;

pub(crate) const SMALL_IN_PROCESS: &str = "small file, in process";
pub(crate) const SMALL_PROCESS: &str = "small file, whole process";
pub(crate) const SMALL_PIPES: &str = "small file, on the pipes of a child";
pub(crate) const MANY: &str = "many small files, one after the other";
pub(crate) const LARGE_FIRST: &str = "large log: first window";
pub(crate) const LARGE_MIDDLE: &str = "large log: a window in the middle";
pub(crate) const LARGE_END: &str = "large log: the last lines";
pub(crate) const PAGES: &str = "log: window by window to the end";
pub(crate) const LONG_FIRST: &str = "long line: the first part";
pub(crate) const LONG_MIDDLE: &str = "long line: a part in the middle";
pub(crate) const EMPTY_FIRST: &str = "empty lines: first window";
pub(crate) const EMPTY_END: &str = "empty lines: the last lines";

/// Up to which line `sed` is asked to print a small file: what a window can have at most.
const MAX_LINES: u64 = 2000;

/// How many lines the last ones are: few enough for one window of a log.
const LAST_LINES: u64 = 300;

/// One thing to do.
pub(crate) struct Case {
    /// Whom the others are compared with.
    pub(crate) reference: &'static str,
    pub(crate) contenders: Vec<Contender>,
}

/// Makes a case when its turn comes: children are started then.
pub(crate) type Make = fn(&Scene) -> Result<Case>;

/// All cases, in the order in which they are measured.
pub(crate) const ALL: [(&str, Make); 12] = [
    (SMALL_IN_PROCESS, small_in_process),
    (SMALL_PROCESS, small_process),
    (SMALL_PIPES, small_pipes),
    (MANY, many::case),
    (LARGE_FIRST, |scene| first(scene, &scene.corpus.large_log)),
    (LARGE_MIDDLE, |scene| middle(scene, &scene.corpus.large_log)),
    (LARGE_END, |scene| end(scene, &scene.corpus.large_log)),
    (PAGES, |scene| pages(scene, &scene.corpus.log)),
    (LONG_FIRST, |scene| long_line::case(scene, 1)),
    (LONG_MIDDLE, |scene| long_line::case(scene, scene.corpus.long_line.bytes / 2 + 1)),
    (EMPTY_FIRST, |scene| first(scene, &scene.corpus.empty_lines)),
    (EMPTY_END, |scene| end(scene, &scene.corpus.empty_lines)),
];

fn small_in_process(scene: &Scene) -> Result<Case> {
    let on = Entrants::new(scene, &scene.corpus.small, 1)?;
    Ok(case(CAP_STD, [on.std_fs(), on.cap_std()?, on.library_window()?, on.library()?]))
}

fn small_process(scene: &Scene) -> Result<Case> {
    let on = Entrants::new(scene, &scene.corpus.small, 1)?;
    Ok(case(SED, [on.sed(MAX_LINES), on.wc(), on.command()].into_iter().chain(on.command_static())))
}

fn small_pipes(scene: &Scene) -> Result<Case> {
    let on = Entrants::new(scene, &scene.corpus.small, 1)?;
    Ok(case(JSONL, [on.mcp()?, on.mcp_head()?, Some(on.jsonl()?)].into_iter().flatten()))
}

fn first(scene: &Scene, file: &TextFile) -> Result<Case> {
    let on = Entrants::new(scene, file, 1)?;
    let counting = [on.wc(), on.split(), on.library_first(), on.command(), on.jsonl_first()?];
    let window_only = [on.sed(on.window.last), on.tail_head(), on.library_no_total(), on.command_no_total()];
    Ok(case(WC, counting.into_iter().chain(window_only).chain(on.mcp_head()?)))
}

fn middle(scene: &Scene, file: &TextFile) -> Result<Case> {
    let on = Entrants::new(scene, file, file.lines / 2 + 1)?;
    let others = [on.split(), on.sed(on.window.last), on.tail_head()];
    Ok(case(LIBRARY_FIRST, others.into_iter().chain(capread(scene, file, &on)?)))
}

fn end(scene: &Scene, file: &TextFile) -> Result<Case> {
    let on = Entrants::new(scene, file, file.lines.saturating_sub(LAST_LINES) + 1)?;
    let others = [on.split(), on.sed(on.window.last), on.tail_head(), on.tail(), on.command_tail()];
    Ok(case(LIBRARY_FIRST, others.into_iter().chain(on.mcp_tail()?).chain(capread(scene, file, &on)?)))
}

/// capread: with a file that it knows from a read before, beside the first read that makes it know the file; and the command, which
/// never knows one.
fn capread(scene: &Scene, file: &TextFile, on: &Entrants<'_>) -> Result<[Contender; 5]> {
    let first = Entrants::new(scene, file, 1)?;
    Ok([first.library_first(), on.library()?, first.jsonl_first()?, on.jsonl()?, on.command()])
}

fn pages(scene: &Scene, file: &TextFile) -> Result<Case> {
    let on = Entrants::new(scene, file, 1)?;
    Ok(case(LIBRARY_FIRST, [on.wc(), on.split(), on.library_first(), on.library_pages(), on.jsonl_pages()]))
}

fn case(reference: &'static str, contenders: impl IntoIterator<Item = Contender>) -> Case {
    Case { reference, contenders: contenders.into_iter().collect() }
}
