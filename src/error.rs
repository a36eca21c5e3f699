//! What can go wrong with a read: a stable code for programs, a message for the model.

use std::path::Path;
use std::time::Duration;
use std::{error, fmt, io};

use crate::display::ByteCount;
use crate::display::Shown;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a read failed.
///
/// [`code`](Self::code) is for programs and never changes for one kind of failure; `Display` is for the model: it names what was
/// asked relative to the root, escaped and shortened, and never a link's target or anything else that lies outside the root.
///
/// | code | when |
/// |---|---|
/// | `invalid_argument` | the request breaks a rule, whatever it names |
/// | `outside_root` | the path, or a link on its way, leaves the root |
/// | `denied` | a policy denies the path, as asked for or as resolved |
/// | `not_found` | nothing is there, or a file stands where a directory is needed |
/// | `not_a_file` | a directory, FIFO, socket or device |
/// | `permission_denied` | the operating system refuses, or would |
/// | `too_many_links` | more than 40 symbolic links on the way |
/// | `busy` | a lease on the file, or a read that would block |
/// | `resource_limit` | no file handles or memory left, or more than 256 path components |
/// | `binary` | a NUL in the first 8 KiB of what is not UTF-16 |
/// | `offset_beyond_end` | the file has fewer lines |
/// | `column_beyond_end` | the line has fewer bytes |
/// | `line_too_long` | the first line alone is over the byte budget |
/// | `scan_limit` | the lines asked for lie behind the bytes that one read may look at |
/// | `changed` | the file is another one than the request's `if_version` says |
/// | `cancelled` | the caller stopped the read |
/// | `deadline` | the read took longer than the application allows |
/// | `io` | any other error of the operating system |
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    request: Option<Request>,
    /// Names that may have been meant, as paths to ask for.
    suggestions: Vec<String>,
    /// Of a directory that was asked for.
    entries: Option<Entries>,
    source: Option<io::Error>,
}

/// The path of a request as it was given and as its text normalises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    input: String,
    /// Relative to the root; `None` where that would tell more than the request did.
    path: Option<String>,
}

impl Request {
    pub(crate) fn new(input: &Path, path: Option<&Path>) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self { input: text(input), path: path.map(text) }
    }
}

/// The kind of a failure, with its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request, or a limit of the application, breaks a rule.
    InvalidArgument {
        /// The whole message: the field, the rule, and where it helps what was found.
        reason: String,
    },
    /// The path leaves the root, by its text or through a link.
    OutsideRoot,
    /// A policy denies the path, as asked for or as resolved, whether or not anything is there.
    Denied,
    /// Nothing is there, or a file stands where a directory is needed.
    NotFound,
    /// Something other than a regular file is there.
    NotAFile(FileKind),
    /// The operating system refuses, or would refuse if it walked the path itself.
    PermissionDenied,
    /// More than 40 symbolic links on the way.
    TooManyLinks,
    /// The file is under a lease, or a read would block.
    Busy,
    /// The process, or the walk, may use no more of something.
    ResourceLimit(Resource),
    /// The file is no text.
    Binary {
        /// What the file's first bytes say it is, where they are well known.
        format: Option<&'static str>,
        /// The file's size in bytes, where it is known.
        size: Option<u64>,
    },
    /// The first line asked for lies behind the last.
    OffsetBeyondEnd {
        /// The line asked for.
        offset: u64,
        /// Lines in the file.
        total: u64,
    },
    /// The first line of the window alone is over the byte budget.
    LineTooLong {
        /// Its number.
        line: u64,
        /// The budget in bytes.
        max_bytes: u64,
    },
    /// The column asked for lies behind the end of its line.
    ColumnBeyondEnd {
        /// The column asked for.
        column: u64,
        /// The line.
        line: u64,
        /// Bytes of its text.
        length: u64,
    },
    /// The lines asked for lie behind the bytes that one read may look at.
    ScanLimit {
        /// The first of them; `None` for the last lines of the file, whose numbers are unknown.
        line: Option<u64>,
        /// How many bytes may be looked at.
        max_scan_bytes: u64,
    },
    /// The file is another one than it was.
    Changed,
    /// The caller stopped the read.
    Cancelled,
    /// The read took longer than the application allows.
    Deadline {
        /// How long it may take.
        allowed: Duration,
    },
    /// Another error of the operating system; [`source`](error::Error::source) has it.
    Io,
}

/// What something that is not a regular file is. `Display` is the word that messages use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A named pipe, fifo(7).
    Fifo,
    /// A Unix domain socket, unix(7).
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// None that POSIX knows.
    Unknown,
}

/// What is in a directory that was asked for. What a policy denies is as if it were not there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entries {
    /// At most 20 names, sorted by their bytes; a directory's ends with a slash where the directory itself tells what it is. None that is
    /// no UTF-8.
    pub names: Vec<String>,
    /// How many more are there.
    pub more: u64,
    /// Whether these are all. At most 10,000 entries are looked at.
    pub is_all: bool,
}

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// File handles of the process or the machine (`EMFILE`, `ENFILE`).
    FileHandles,
    /// Memory of the kernel (`ENOMEM`).
    Memory,
    /// Path components that one walk may take, links' included.
    Components {
        /// The most that are allowed.
        limit: usize,
    },
}

impl Error {
    /// An error of the operating system as the cause of `kind`.
    pub(crate) fn caused(kind: ErrorKind, source: impl Into<io::Error>) -> Self {
        Self(Box::new(Inner {
            kind,
            request: None,
            suggestions: Vec::new(),
            entries: None,
            source: Some(source.into()),
        }))
    }

    /// For an application that does more around a read, such as keeping a record of it, and cannot answer when that fails: the code is
    /// `io`, and the message `Cannot read x: <message of source>`.
    ///
    /// ```
    /// let source = std::io::Error::other("the archive is closed");
    /// let error = capread::Error::from_io(Some("a.txt".as_ref()), source);
    /// assert_eq!((error.code(), error.to_string()), ("io", "Cannot read a.txt: the archive is closed".to_owned()));
    /// ```
    #[must_use]
    pub fn from_io(input: Option<&Path>, source: io::Error) -> Self {
        let error = Self::caused(ErrorKind::Io, source);
        match input {
            Some(input) => error.asked(|| Request::new(input, None)),
            None => error,
        }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        ErrorKind::InvalidArgument { reason: reason.into() }.into()
    }

    /// Adds the request's path, once, in the layer that knows it.
    pub(crate) fn asked(mut self, request: impl FnOnce() -> Request) -> Self {
        let is_outside = self.0.kind == ErrorKind::OutsideRoot;
        let request = self.0.request.get_or_insert_with(request);
        // Of an absolute path that is refused nothing is told that it did not say itself.
        if is_outside && Path::new(&request.input).is_absolute() {
            request.path = None;
        }
        self
    }

    /// Adds what the request's path normalises to, where that is not told yet.
    pub(crate) fn normalised(mut self, path: &Path) -> Self {
        if let Some(request) = &mut self.0.request {
            request.path.get_or_insert_with(|| path.to_string_lossy().into_owned());
        }
        self
    }

    /// The same request failed for another reason first.
    #[cfg(feature = "json")]
    pub(crate) fn because(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The read was stopped, by its caller or its deadline, and has found out nothing.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Cancelled | ErrorKind::Deadline { .. })
    }

    pub(crate) fn suggest(mut self, suggestions: Vec<String>) -> Self {
        self.0.suggestions = suggestions;
        self
    }

    pub(crate) fn with_entries(mut self, entries: Entries) -> Self {
        self.0.entries = Some(entries);
        self
    }

    /// What happened, to match on.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The stable code of the kind, one of the table above.
    ///
    /// ```
    /// let error = capread::Limits::default().max_lines(0).unwrap_err();
    /// assert_eq!(error.code(), "invalid_argument");
    /// assert_eq!(error.to_string(), "max_lines must be a positive integer");
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.0.kind {
            ErrorKind::InvalidArgument { .. } => "invalid_argument",
            ErrorKind::OutsideRoot => "outside_root",
            ErrorKind::Denied => "denied",
            ErrorKind::NotFound => "not_found",
            ErrorKind::NotAFile(_) => "not_a_file",
            ErrorKind::PermissionDenied => "permission_denied",
            ErrorKind::TooManyLinks => "too_many_links",
            ErrorKind::Busy => "busy",
            ErrorKind::ResourceLimit(_) => "resource_limit",
            ErrorKind::Binary { .. } => "binary",
            ErrorKind::OffsetBeyondEnd { .. } => "offset_beyond_end",
            ErrorKind::LineTooLong { .. } => "line_too_long",
            ErrorKind::ColumnBeyondEnd { .. } => "column_beyond_end",
            ErrorKind::ScanLimit { .. } => "scan_limit",
            ErrorKind::Changed => "changed",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Deadline { .. } => "deadline",
            ErrorKind::Io => "io",
        }
    }

    /// The path as it was asked for, where the request had one; bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn input(&self) -> Option<&str> {
        self.0.request.as_ref().map(|request| request.input.as_str())
    }

    /// What the path asked for normalises to by its text, relative to the root, where it can be told: `../x` for `a/../../x`, and
    /// `None` for an absolute path outside.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.0.request.as_ref()?.path.as_deref()
    }

    /// At most three paths that may have been meant, where nothing is at the one asked for: with another case or spelling, without an
    /// `@`, `file://`, `~/` or the root's own name in front, with `%20` decoded. No policy denies them.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        &self.0.suggestions
    }

    /// What is in the directory that was asked for, where a [`ReadTool`](crate::ReadTool) was asked and could list it.
    #[must_use]
    pub fn entries(&self) -> Option<&Entries> {
        self.0.entries.as_ref()
    }

    /// The error number of the operating system, where one was the cause.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.0.source.as_ref()?.raw_os_error()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, request: None, suggestions: Vec::new(), entries: None, source: None }))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("request", &self.0.request)
            .field("suggestions", &self.0.suggestions)
            .field("entries", &self.0.entries)
            .field("source", &self.0.source)
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Shown(self.path().or(self.input()).unwrap_or("file"));
        match &self.0.kind {
            ErrorKind::InvalidArgument { reason } => f.write_str(reason),
            ErrorKind::OutsideRoot => self.fmt_outside(f),
            ErrorKind::Denied => write!(f, "Path is denied by policy: {name}"),
            ErrorKind::NotFound => self.fmt_not_found(f, &name),
            ErrorKind::NotAFile(kind) => {
                write!(f, "Not a regular file: {name} ({kind})")?;
                self.0.entries.as_ref().map_or(Ok(()), |entries| entries.fmt(f))
            }
            ErrorKind::PermissionDenied => write!(f, "Permission denied: {name}"),
            ErrorKind::TooManyLinks => write!(f, "Too many symbolic links: {name}"),
            ErrorKind::Busy => write!(f, "File is busy: {name}"),
            ErrorKind::ResourceLimit(resource) => resource.fmt(f),
            ErrorKind::Binary { format, size } => fmt_binary(f, *format, *size),
            ErrorKind::OffsetBeyondEnd { offset, total } => {
                write!(f, "Offset {offset} is beyond end of file ({total} lines total)")
            }
            ErrorKind::LineTooLong { line, max_bytes } => {
                write!(
                    f,
                    "A single line exceeds the read byte limit (line {line} is over {}). Use offset={line} and column=1 to read it in parts.",
                    ByteCount(*max_bytes)
                )
            }
            ErrorKind::ColumnBeyondEnd { column, line, length } => {
                write!(f, "Column {column} is beyond end of line {line} ({length} bytes)")
            }
            ErrorKind::ScanLimit { line, max_scan_bytes } => {
                match line {
                    Some(line) => write!(f, "Line {line} lies")?,
                    None => f.write_str("The last line lies")?,
                }
                write!(f, " beyond the scan limit ({})", ByteCount(*max_scan_bytes))
            }
            ErrorKind::Changed => f.write_str("File changed since it was last read"),
            ErrorKind::Cancelled => f.write_str("Operation aborted"),
            ErrorKind::Deadline { allowed } => write!(f, "Read took longer than {} s", allowed.as_secs_f64()),
            ErrorKind::Io => self.fmt_io(f, &name),
        }
    }
}

impl Error {
    fn fmt_outside(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path is outside the allowed root: {}", Shown(self.input().unwrap_or("file")))?;
        match self.path() {
            Some(path) if Some(path) != self.input() => write!(f, " (resolves to {})", Shown(path)),
            _ => Ok(()),
        }
    }

    fn fmt_not_found(&self, f: &mut fmt::Formatter<'_>, name: &Shown<'_>) -> fmt::Result {
        write!(f, "File does not exist: {name}")?;
        let Some((last, others)) = self.suggestions().split_last() else { return Ok(()) };
        f.write_str(". Did you mean ")?;
        for (index, other) in others.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { "" }, Shown(other))?;
        }
        write!(f, "{}{}?", if others.is_empty() { "" } else { " or " }, Shown(last))
    }

    /// `Cannot read x: <OS message>`, without the number that the standard library adds to that message.
    fn fmt_io(&self, f: &mut fmt::Formatter<'_>, name: &Shown<'_>) -> fmt::Result {
        let Some(source) = &self.0.source else { return write!(f, "Cannot read {name}") };
        let message = source.to_string();
        let message = message.split_once(" (os error").map_or(message.as_str(), |(message, _)| message);
        write!(f, "Cannot read {name}: {message}")
    }
}

fn fmt_binary(f: &mut fmt::Formatter<'_>, format: Option<&str>, size: Option<u64>) -> fmt::Result {
    f.write_str("Binary files are not supported by read")?;
    match (format, size) {
        (Some(format), Some(size)) => write!(f, " ({format}, {size} bytes)"),
        (Some(format), None) => write!(f, " ({format})"),
        (None, Some(size)) => write!(f, " ({size} bytes)"),
        (None, None) => Ok(()),
    }
}

impl Entries {
    /// Behind the message that says that it is a directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names.iter().enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { ". It has: " }, Shown(name))?;
        }
        match self.more {
            _ if self.names.is_empty() => Ok(()),
            0 if self.is_all => Ok(()),
            0 => f.write_str(" and more"),
            more => write!(f, " and {}{more} more", if self.is_all { "" } else { "at least " }),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "directory",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::CharacterDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Unknown => "unknown type",
        })
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileHandles => f.write_str("Out of file handles"),
            Self::Memory => f.write_str("Out of memory"),
            Self::Components { limit } => write!(f, "Too many path components (more than {limit})"),
        }
    }
}
