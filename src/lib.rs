//! The read tool that a coding agent cannot escape.
//!
//! A model asks for `path`, `offset` and `limit`; capread answers with whole lines of valid UTF-8 text inside fixed budgets and a
//! hint how to read on, or with an error that the model can act on. Both the request and the file tree are untrusted.
//!
//! # The way of one read
//!
//! ```text
//! ReadRequest -> is it valid?           every check on the arguments, for JSON and library callers alike
//!             -> lexical fence          the path by its text alone: inside the root, or refused before any system call
//!             -> walk                   one component at a time, each relative to the handle before, links checked per step
//!             -> regular file?          looked at without opening it for reading; FIFOs and devices stay untouched
//!             -> sniff                  a NUL in the first 8 KiB is no text
//!             -> window                 find `offset`, take whole lines, apply the budgets, count the rest
//!             -> ReadOutput             text, hint, and the same facts as fields
//! ```
//!
//! # Example
//!
//! ```
//! use capread::{ReadRequest, ReadTool, Root};
//!
//! # fn main() -> Result<(), capread::Error> {
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # std::fs::write(directory.path().join("notes.txt"), "one\ntwo\nthree\n").expect("a file");
//! let root = Root::open_ambient(directory.path())?;
//! let tool = ReadTool::new(root);
//!
//! let never = || false;
//! let output = tool.call(&ReadRequest::new("notes.txt").limit(2), &never)?;
//! assert_eq!(output.to_string(), "one\ntwo\n\n[1 more lines in file. Use offset=3 to continue.]");
//!
//! let refused = tool.call(&ReadRequest::new("../secret.txt"), &never).unwrap_err();
//! assert_eq!(refused.code(), "outside_root");
//! # Ok(())
//! # }
//! ```
//!
//! # What it guarantees, and what not
//!
//! [`Root`] states what its confinement promises and what it does not. [`Limits`] states the bounds on one read. Memory is one
//! buffer of 64 KiB and the window (twice the window while invalid UTF-8 is replaced), whatever the file's size or shape.
//!
//! # Platforms
//!
//! Linux 3.17 or newer (`thread-self` in procfs). capread refuses to build on other systems until it can keep the same promises
//! there.
//!
//! # Features
//!
//! * `policy` (default): deny patterns in gitignore syntax.
//! * `encodings` (default): encodings other than UTF-8 and UTF-16, by their labels or by a guess for each file.
//! * `json` (default): tool calls and results as JSON, the tool definition, the forms of the model providers.
//! * `tracing`: each call of a tool is one event of the crate `tracing`, with the target `capread` and the level `INFO`: `input`,
//!   `resolved`, `outcome` (`ok` or the error's code), `start_line`, `end_line`, `bytes` of text, `duration_us`; never content. Ids that
//!   an application has for its calls belong into a span around them.

#[cfg(not(target_os = "linux"))]
compile_error!("capread keeps its promises on Linux only, so far");

mod cancel;
mod display;
mod error;
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "the fuzz targets reach it"))]
mod fence;
mod file;
mod indexes;
mod limits;
mod policy;
mod render;
mod resolve;
mod root;
mod roots;
mod sys;
mod text;
mod tool;
mod version;
mod window;

pub use cancel::{Cancel, Progress};
pub use display::is_control;
pub use error::{Entries, Error, ErrorKind, FileKind, Resource, Result};
pub use fence::RelPath;
pub use file::RegularFile;
pub use limits::{Limits, Selection};
pub use render::Continuation;
pub use resolve::Resolver;
pub use root::Root;
pub use roots::Roots;
pub use text::{ReadAt, TextEncoding};
pub use tool::{ReadOutput, ReadRequest, ReadTool};
pub use version::Version;
pub use window::{Columns, Cut, LineEnds, LineNumbers, Window};

#[cfg(feature = "policy")]
pub use policy::Policy;
#[cfg(feature = "json")]
pub use tool::{
    definition::{Definition, Format},
    json::answer,
    providers::{Message, Reply, ToolCall},
};

/// The README's example must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(fuzzing)]
pub use fence::{Fence, Syntax};

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
