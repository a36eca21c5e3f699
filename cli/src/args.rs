//! The command line. An option that is not listed here does not exist: it is refused by its name.

mod command;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use capread::{Format, Limits, LineNumbers, Policy, ReadTool, Resolver, Root, Roots, TextEncoding};
use clap::{Args as ClapArgs, Parser, ValueEnum, value_parser};

pub(crate) use self::command::Command;
use crate::audit::{Audit, OnError};
use crate::print::Controls;
use crate::reads::Reads;
use crate::{Failure, log, sandbox};

/// The read tool that a coding agent cannot escape: whole lines of text from beneath a root, inside fixed budgets.
#[derive(Debug, Parser)]
#[command(name = "capread", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReadArgs {
    /// File to read, relative to the root, or absolute inside it
    pub(crate) path: OsString,

    /// Line to start from, 1-based [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) offset: Option<u64>,

    /// Most lines wanted [default: all that the limits allow]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,

    /// Byte of the line --offset to start from, 1-based, to read a line in parts that is too long
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) column: Option<u64>,

    /// The last N lines, instead of --offset, --limit and --column
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) tail: Option<u64>,

    /// Fail when the file's version is not this one, which an earlier result told
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,

    /// Start each line with its number and a tab
    #[arg(short = 'n', long)]
    pub(crate) line_numbers: bool,

    /// Print control characters and bidirectional overrides as they are, on a terminal too
    #[arg(long)]
    pub(crate) raw: bool,

    /// Print the result as JSON, a failed read too
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) tool: ToolArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct JsonlArgs {
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,

    #[command(flatten)]
    pub(crate) tool: ToolArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,

    /// Give the facts of each read as structured content too, and its schema with the tool
    #[arg(long)]
    pub(crate) structured: bool,

    #[command(flatten)]
    pub(crate) tool: ToolArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct JobsArgs {
    /// Reads that run side by side, at most 1024; with 1 the answers come in order [default: the machine's cores]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// API that the definition is for
    #[arg(long = "for", value_name = "API", value_enum, default_value_t = Api::Mcp)]
    pub(crate) format: Api,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

// What `read`, `jsonl` and `mcp` have in common. As documentation it would be told in their help.
#[derive(Debug, ClapArgs)]
pub(crate) struct ToolArgs {
    /// Directory that nothing outside of can be read; may be repeated, then relative paths belong to the first
    #[arg(long = "root", value_name = "DIR", default_value = ".")]
    roots: Vec<PathBuf>,

    /// Pattern, in gitignore syntax, of what may not be read; may be repeated. A leading / is the top of each root
    #[arg(long, value_name = "GLOB")]
    deny: Vec<String>,

    /// File with such patterns, one a line, whose exceptions take nothing from --deny
    #[arg(long, value_name = "FILE")]
    deny_from: Option<PathBuf>,

    /// Refuse what lies in another mount than the root
    #[arg(long)]
    one_file_system: bool,

    /// How to resolve paths; every answer is the same
    #[arg(long, value_name = "HOW", value_enum, default_value_t = How::Auto)]
    resolver: How,

    /// Bytes of a file that may be looked at, from its start, such as 4GiB [default: 16GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_scan_bytes: Option<u64>,

    /// Stop behind the lines that are returned, and leave the rest uncounted
    #[arg(long)]
    no_total: bool,

    /// Encoding of files without a byte order mark: a label of the Encoding Standard such as gbk, or auto to guess [default: utf-8]
    #[arg(long, value_name = "LABEL", value_parser = parse_encoding, default_value = "utf-8", hide_default_value = true)]
    encoding: TextEncoding,

    /// Longest time for one read, such as 10s or 500ms [default: none]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    deadline: Option<Duration>,

    /// Leave out the sandbox (Landlock) that keeps the process itself from what is not beneath its roots
    #[arg(long)]
    no_sandbox: bool,

    /// File to append a JSON line to for each read: when, what was asked, what came of it, and no content
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,

    /// What becomes of a read when that line cannot be written
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = OnError::Fail, requires = "audit")]
    audit_errors: OnError,

    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LimitArgs {
    /// Most lines in one answer [default: 2000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_lines: Option<u64>,

    /// Most bytes in one answer, such as 51200, 50KiB (times 1024) or 50KB (times 1000) [default: 50KiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_bytes: Option<u64>,
}

fn parse_bytes(text: &str) -> Result<u64, parse_size::Error> {
    parse_size::parse_size(text)
}

fn parse_encoding(label: &str) -> capread::Result<TextEncoding> {
    if label.eq_ignore_ascii_case("auto") { Ok(TextEncoding::detect()) } else { TextEncoding::from_label(label) }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    Auto,
    Kernel,
    Walk,
}

/// What is told of the sandbox on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announce {
    Trouble,
    Everything,
}

impl From<How> for Resolver {
    fn from(how: How) -> Self {
        match how {
            How::Auto => Self::Auto,
            How::Kernel => Self::Kernel,
            How::Walk => Self::Walk,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Api {
    Mcp,
    Anthropic,
    #[value(name = "openai")]
    OpenAi,
    #[value(name = "openai-strict")]
    OpenAiStrict,
    #[value(name = "openai-responses")]
    OpenAiResponses,
    Gemini,
}

impl From<Api> for Format {
    fn from(api: Api) -> Self {
        match api {
            Api::Mcp => Self::Mcp,
            Api::Anthropic => Self::Anthropic,
            Api::OpenAi => Self::OpenAi,
            Api::OpenAiStrict => Self::OpenAiStrict,
            Api::OpenAiResponses => Self::OpenAiResponses,
            Api::Gemini => Self::Gemini,
        }
    }
}

impl ToolArgs {
    /// Opens what is named on the command line, and then takes from the process whatever it does not need for reading. Before any
    /// other thread starts: one that runs already would keep it all.
    pub(crate) fn start(&self, announce: Announce) -> Result<Reads, Failure> {
        let limits = self.limits()?;
        let roots = self.open_roots()?;
        let audit = self.open_audit()?;
        if !self.no_sandbox {
            let sandbox = sandbox::enter(&roots);
            if announce == Announce::Everything || sandbox.is_trouble() {
                log(&sandbox);
            }
        }
        let (first, others) = roots.split_first().expect("has a default");
        let roots = others.iter().cloned().fold(Roots::from(first.clone()), Roots::and);
        Ok(Reads::new(ReadTool::new(roots).with_limits(limits).with_encoding(self.encoding), audit))
    }

    fn open_audit(&self) -> Result<Option<Audit>, Failure> {
        let open = |path: &PathBuf| {
            Audit::open(path, self.audit_errors)
                .map_err(|error| Failure::Usage(format!("cannot open {}: {error}", path.display())))
        };
        self.audit.as_ref().map(open).transpose()
    }

    fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = self.limits.limits()?;
        if let Some(bytes) = self.max_scan_bytes {
            limits = limits.max_scan_bytes(bytes)?;
        }
        if self.no_total {
            limits = limits.no_total();
        }
        if let Some(allowed) = self.deadline {
            limits = limits.deadline(allowed);
        }
        Ok(limits)
    }

    fn open_roots(&self) -> Result<Vec<Root>, Failure> {
        let policy = self.policy()?;
        let open = |path: &PathBuf| -> Result<Root, Failure> {
            let root =
                Root::open_ambient(path).map_err(|error| Failure::Usage(format!("cannot open root: {error}")))?;
            let root = root.with_policy(policy.clone()).with_resolver(self.resolver.into());
            Ok(if self.one_file_system { root.one_file_system() } else { root })
        };
        self.roots.iter().map(open).collect()
    }

    /// What is given here stands, whatever a file excepts: it may be the `.gitignore` of the very files that are read.
    fn policy(&self) -> Result<Policy, Failure> {
        for pattern in &self.deny {
            if let Some(reason) = self.denies_nothing(pattern) {
                return Err(Failure::Usage(format!("--deny '{pattern}' denies nothing: {reason}")));
            }
        }
        let from_file = Policy::deny(self.patterns_from_file()?.lines());
        let in_file = |error| match &self.deny_from {
            Some(path) => Failure::Usage(format!("{}: {error}", path.display())),
            None => Failure::from(error),
        };
        Ok(Policy::deny(&self.deny)?.and(from_file.map_err(in_file)?))
    }

    /// What could be meant by somebody who has a shell in mind, and means something else in gitignore syntax.
    fn denies_nothing(&self, pattern: &str) -> Option<&'static str> {
        let is_absolute = |root: &PathBuf| {
            let root = std::path::absolute(root).unwrap_or_default();
            root.parent().is_some() && Path::new(pattern).starts_with(root)
        };
        match pattern {
            _ if pattern.trim().is_empty() => Some("it is empty"),
            _ if pattern.starts_with('#') => Some("a name that starts with # is \\#"),
            _ if pattern.starts_with("~/") => Some("patterns start at the root, and ~ is a name there"),
            _ if self.roots.iter().any(is_absolute) => Some("patterns start at the root, and so does a leading /"),
            _ => None,
        }
    }

    fn patterns_from_file(&self) -> Result<String, Failure> {
        let Some(path) = &self.deny_from else { return Ok(String::new()) };
        #[expect(clippy::disallowed_methods, reason = "named by whoever starts the command, never by a request")]
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))?;
        // Some editors put a byte order mark in front.
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }
}

impl ReadArgs {
    pub(crate) fn controls(&self) -> Controls {
        if self.raw || !io::stdout().is_terminal() { Controls::AsTheyAre } else { Controls::Escaped }
    }

    pub(crate) fn line_numbers(&self) -> LineNumbers {
        if self.line_numbers { LineNumbers::On } else { LineNumbers::Off }
    }
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> capread::Result<Limits> {
        let mut limits = Limits::default();
        if let Some(lines) = self.max_lines {
            limits = limits.max_lines(lines)?;
        }
        if let Some(bytes) = self.max_bytes {
            limits = limits.max_bytes(bytes)?;
        }
        Ok(limits)
    }
}

impl JobsArgs {
    pub(crate) fn count(&self) -> usize {
        self.jobs.map_or_else(|| available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}
