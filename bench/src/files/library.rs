//! capread as a library. What changes with its API changes here.

use std::path::Path;

use capread::{ErrorKind, Limits, ReadRequest, ReadTool, RegularFile, Root, Selection, Window};

use crate::Result;

use super::answer::Answer;

/// How one reads on inside a line.
pub(crate) struct Column {
    pub(crate) request: fn(ReadRequest, u64) -> ReadRequest,
    /// Of the command.
    pub(crate) option: &'static str,
    /// Of a call.
    pub(crate) field: &'static str,
}

/// Becomes `Some(Column { request: ReadRequest::column, option: "--column", field: "column" })` with the API that has it.
pub(crate) const COLUMN: Option<Column> =
    Some(Column { request: ReadRequest::column, option: "--column", field: "column" });

/// A tool that has not read anything.
pub(crate) fn tool(root: &Path) -> capread::Result<ReadTool> {
    Ok(ReadTool::new(Root::open_ambient(root)?))
}

/// A tool that has not read anything, and stops behind the window.
pub(crate) fn tool_without_total(root: &Path) -> capread::Result<ReadTool> {
    Ok(tool(root)?.with_limits(Limits::default().no_total()))
}

/// The window that starts with line `first`.
pub(crate) fn read(tool: &ReadTool, path: &Path, first: u64) -> Result<Answer> {
    Ok(answer(tool.call(&ReadRequest::new(path).offset(first), &|| false)?.window))
}

/// The part of the first line that starts with byte `column`.
pub(crate) fn part(tool: &ReadTool, path: &Path, column: &Column, start: u64) -> Result<Answer> {
    let request = (column.request)(ReadRequest::new(path).offset(1), start);
    Ok(answer(tool.call(&request, &|| false)?.window))
}

/// That the first line is too long to be read at once.
pub(crate) fn too_long(tool: &ReadTool, path: &Path) -> Result<Answer> {
    match tool.call(&ReadRequest::new(path), &|| false) {
        Err(error) if matches!(error.kind(), ErrorKind::LineTooLong { .. }) => Ok(Answer::TooLong),
        Err(error) => Err(error.into()),
        Ok(output) => Ok(answer(output.window)),
    }
}

/// The first window of a file that is open.
pub(crate) fn window(file: &RegularFile, limits: &Limits) -> Result<Answer> {
    Ok(answer(file.window(Selection::default(), limits, &|| false)?))
}

/// The whole file, window by window, each from where the one before it says.
pub(crate) fn pages(tool: &ReadTool, path: &Path) -> Result<Answer> {
    let (mut bytes, mut next) = (0, Some(1));
    while let Some(first) = next {
        let window = tool.call(&ReadRequest::new(path).offset(first), &|| false)?.window;
        // The line break behind the last line is not in the text.
        bytes += window.text.len() as u64 + 1;
        next = window.next_offset();
    }
    Ok(Answer::Pages { bytes })
}

fn answer(window: Window) -> Answer {
    Answer::Window { total: window.total_lines, text: window.text }
}
