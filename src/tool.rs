//! The tool: a typed request in, a window and its facts out.

#[cfg(feature = "json")]
pub(crate) mod definition;
#[cfg(feature = "json")]
pub(crate) mod json;
#[cfg(feature = "json")]
mod output;
#[cfg(feature = "json")]
pub(crate) mod providers;

mod entries;
mod folding;
mod listing;
mod rewritten;
mod suggest;
mod trace;

use std::borrow::Cow;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cancel::{Cancel, Progress, Stop};
use crate::error::{Error, ErrorKind, FileKind, Request, Result};
use crate::file::RegularFile;
use crate::indexes::Indexes;
use crate::limits::{Limits, Selection};
use crate::render::NeverBlank;
use crate::resolve::Opened;
use crate::roots::{Admitted, Roots};
use crate::text::TextEncoding;
use crate::version::Version;
use crate::window::{LineNumbers, Scan, Window};
use suggest::{Folded, Meant};

/// The name that models call the tool by.
#[cfg(feature = "json")]
pub(crate) const NAME: &str = "read";

/// What a model asks for.
///
/// ```
/// use capread::ReadRequest;
///
/// let request = ReadRequest::new("src/lib.rs").offset(40).limit(20);
/// assert_eq!((request.offset, request.limit), (Some(40), Some(20)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadRequest {
    /// Relative to the root, or absolute inside it; at most 4096 bytes. Need not be UTF-8.
    pub path: PathBuf,
    /// Line to start from, 1-based; default 1.
    pub offset: Option<u64>,
    /// Most lines wanted, at least 1; default: all that the limits allow.
    pub limit: Option<u64>,
    /// In the line `offset` alone: the byte of its text to start from, 1-based, to read a line in parts that is too long.
    pub column: Option<u64>,
    /// Instead of `offset`, `limit` and `column`: so many lines at the end of the file, at least 1.
    pub tail: Option<u64>,
    /// The [`Version`] of an earlier result, as its `Display` writes it: the read fails when the file is another one now.
    pub if_version: Option<String>,
}

impl ReadRequest {
    /// The whole file, as far as the limits allow.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), offset: None, limit: None, column: None, tail: None, if_version: None }
    }

    /// Starts from line `offset`.
    #[must_use]
    pub fn offset(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// Wants at most `limit` lines.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Wants the part of the line `offset` that starts at this byte of its text.
    #[must_use]
    pub fn column(self, column: u64) -> Self {
        Self { column: Some(column), ..self }
    }

    /// Wants the last `lines` lines.
    #[must_use]
    pub fn tail(self, lines: u64) -> Self {
        Self { tail: Some(lines), ..self }
    }

    /// Wants the file only as it was when it had this version.
    #[must_use]
    pub fn if_version(self, version: impl fmt::Display) -> Self {
        Self { if_version: Some(version.to_string()), ..self }
    }

    fn selection(&self) -> Result<Selection> {
        if let Some(lines) = self.tail {
            let given = [(self.offset, "offset"), (self.limit, "limit"), (self.column, "column")];
            return match given.iter().find(|(value, _)| value.is_some()) {
                None => Selection::tail(lines),
                Some((_, name)) => Err(Error::invalid(format!("tail and {name} exclude each other"))),
            };
        }
        let selection = Selection::from_line(self.offset.unwrap_or(1))?;
        let selection = self.limit.map_or(Ok(selection), |limit| selection.limit(limit))?;
        self.column.map_or(Ok(selection), |column| selection.column(column))
    }
}

/// What one read returns. `Display` is what the command prints and the plain results carry: the text and, after one empty line,
/// the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOutput {
    /// The path asked for, normalised: relative to the first root, absolute in another one. Where only other spaces, quotes or
    /// accents than the request has are there (see [`ReadTool::call`]), the path that was read.
    pub path: PathBuf,
    /// Where the file lies, links followed, in the same way.
    pub resolved: PathBuf,
    /// The lines, and what is known of the file around them.
    pub window: Window,
    /// The file's size in bytes when it was opened.
    pub file_size: u64,
    /// The file's hard links when it was opened.
    pub links: u64,
    /// Which state of which file was read.
    pub version: Version,
}

impl ReadOutput {
    /// The text for a model provider: never blank, since providers refuse blank text. An empty file is `[File is empty.]`, and
    /// empty lines are `[Lines 3-4 of 9 are empty.]`.
    #[must_use]
    pub fn to_model_text(&self) -> String {
        NeverBlank(&self.window).to_string()
    }
}

impl fmt::Display for ReadOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.window.fmt(f)
    }
}

/// The read tool over one or more roots. It is `Send` and `Sync`, and calls may run side by side.
///
/// ```
/// # fn main() -> Result<(), capread::Error> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # std::fs::write(directory.path().join("a.txt"), "one\ntwo\n").expect("a file");
/// use capread::{Limits, ReadRequest, ReadTool, Root};
///
/// let root = Root::open_ambient(directory.path())?;
/// let tool = ReadTool::new(root).with_limits(Limits::default().max_lines(500)?);
/// let output = tool.call(&ReadRequest::new("a.txt").offset(2), &|| false)?;
/// assert_eq!(output.window.text, "two");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReadTool {
    roots: Roots,
    limits: Limits,
    encoding: TextEncoding,
    numbers: LineNumbers,
    /// Of these limits and this encoding: where a scan may not go, no index leads.
    indexes: Arc<Indexes>,
}

impl ReadTool {
    /// A tool with the default limits.
    #[must_use]
    pub fn new(roots: impl Into<Roots>) -> Self {
        Self {
            roots: roots.into(),
            limits: Limits::default(),
            encoding: TextEncoding::default(),
            numbers: LineNumbers::default(),
            indexes: Arc::default(),
        }
    }

    /// With other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, indexes: Arc::default(), ..self }
    }

    /// With another encoding than UTF-8, or one for each file.
    #[must_use]
    pub fn with_encoding(self, encoding: TextEncoding) -> Self {
        Self { encoding, indexes: Arc::default(), ..self }
    }

    /// With or without line numbers.
    #[must_use]
    pub fn with_line_numbers(self, numbers: LineNumbers) -> Self {
        Self { numbers, ..self }
    }

    fn scan(&self, selection: Selection) -> Scan<'_> {
        Scan { selection, limits: &self.limits, encoding: self.encoding, numbers: self.numbers }
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads. An invalid request fails as such whatever it names, and one that leaves the root whether or not anything is there.
    ///
    /// The exact path always wins. Where a name in it is missing, and exactly one name in its directory is the same but for the kind
    /// of its spaces (U+202F is a space), quotes (’ is ') and the composition of its characters (NFC is NFD), that one is taken and
    /// [`ReadOutput::path`] tells it. Two such names are suggested, as is what is only like the missing one: see
    /// [`Error::suggestions`]. In a directory of more than 10,000 entries nothing is taken for another. A policy judges the path
    /// that is read as any other, and what it denies is as if it were not there.
    pub fn call(&self, request: &ReadRequest, cancel: &dyn Cancel) -> Result<ReadOutput> {
        self.call_until(request, &Stop::new(cancel, self.limits.allowed_time()))
    }

    /// Like [`call`](Self::call), and tells how far the scan has come, on the calling thread, after each chunk (64 KiB).
    pub fn call_with_progress(
        &self,
        request: &ReadRequest,
        cancel: &dyn Cancel,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ReadOutput> {
        self.call_until(request, &Stop::new(cancel, self.limits.allowed_time()).with_progress(progress))
    }

    fn call_until(&self, request: &ReadRequest, stop: &Stop<'_>) -> Result<ReadOutput> {
        trace::told(Some(&request.path), || self.answer(request, stop))
    }

    fn answer(&self, request: &ReadRequest, stop: &Stop<'_>) -> Result<ReadOutput> {
        let validated = self.validate(request, stop);
        let (selection, admitted) =
            validated.map_err(|error| self.tell_path(error.asked(|| Request::new(&request.path, None))))?;
        self.read(request, selection, &admitted, stop)
    }

    /// Adds what the path normalises to, to an error that was made before that was looked at.
    fn tell_path(&self, error: Error) -> Error {
        match error.input().map(|input| self.roots.admit(input.as_ref())) {
            Some(Ok(admitted)) => error.normalised(&self.roots.told_as_asked(&admitted)),
            _ => error,
        }
    }

    fn validate(&self, request: &ReadRequest, stop: &Stop<'_>) -> Result<(Selection, Admitted)> {
        stop.check()?;
        Ok((request.selection()?, self.roots.admit(&request.path)?))
    }

    /// Reads what was asked for, or where that is not there, what has the same names but for spaces, quotes and composition.
    fn read(
        &self,
        request: &ReadRequest,
        selection: Selection,
        admitted: &Admitted,
        stop: &Stop<'_>,
    ) -> Result<ReadOutput> {
        let mut asked = Cow::Borrowed(admitted);
        // How many of its names have been folded, or need not be. It grows with each turn.
        let mut settled = 0;
        loop {
            let told =
                |error: Error| error.asked(|| Request::new(&request.path, Some(&self.roots.told_as_asked(&asked))));
            let error = match self.roots.open(&asked, stop) {
                Ok(opened) => return self.read_opened(request, selection, &asked, opened, stop).map_err(told),
                Err(error) => error,
            };
            let Folded { path, names } = self.explain(error, request, &asked, settled, stop).map_err(told)?;
            (asked, settled) = (Cow::Owned(path), names);
        }
    }

    fn read_opened(
        &self,
        request: &ReadRequest,
        selection: Selection,
        asked: &Admitted,
        opened: Opened<'_, OwnedFd>,
        stop: &Stop<'_>,
    ) -> Result<ReadOutput> {
        let file = RegularFile::new(opened.file, opened.stat);
        let version = file.version();
        if request.if_version.as_ref().is_some_and(|wanted| *wanted != version.to_string()) {
            return Err(ErrorKind::Changed.into());
        }
        let window = self.indexes.window(&file, self.scan(selection), stop)?;
        Ok(ReadOutput {
            path: self.roots.told_as_asked(asked),
            resolved: self.roots.told(opened.base, &opened.resolved),
            window,
            file_size: file.size(),
            links: file.links(),
            version,
        })
    }

    /// What to read instead; else the error, with what may have been meant, or with what is in the directory. Stopped while looking,
    /// the read as a whole was.
    fn explain(
        &self,
        error: Error,
        request: &ReadRequest,
        asked: &Admitted,
        settled: usize,
        stop: &Stop<'_>,
    ) -> Result<Folded> {
        match error.kind() {
            ErrorKind::NotFound => match suggest::look(&self.roots, &request.path, asked, settled, stop)? {
                Meant::Folded(folded) => Ok(folded),
                Meant::Like(paths) => Err(error.suggest(paths)),
            },
            ErrorKind::NotAFile(FileKind::Directory) => Err(match entries::of(&self.roots, asked, stop)? {
                Some(entries) => error.with_entries(entries),
                None => error,
            }),
            _ => Err(error),
        }
    }
}
