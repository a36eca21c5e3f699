//! Those who read one window of one file, each in its own way.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use capread::{Limits, Root};
use serde_json::{Value, json};

use super::answer::Expected;
use super::others::printed;
use super::scene::Scene;
use super::system::{Contender, System, in_process, piped, whole};
use super::{command, library, others};
use crate::clock::Length;
use crate::corpus::TextFile;
use crate::corpus::excerpt::{self, Excerpt};
use crate::pipe::Pipe;
use crate::process::{Pipeline, Program};
use crate::{Result, jsonl, mcp};

pub(crate) const LIBRARY: &str = "capread, library";
pub(crate) const LIBRARY_FIRST: &str = "capread, library: first window";
pub(crate) const LIBRARY_NO_TOTAL: &str = "capread, library: no total";
pub(crate) const LIBRARY_WINDOW: &str = "capread, library: window of an open file";
pub(crate) const COMMAND: &str = "capread read";
pub(crate) const COMMAND_STATIC: &str = "capread read, linked statically";
pub(crate) const COMMAND_NO_TOTAL: &str = "capread read --no-total";
pub(crate) const LIBRARY_TOO_LONG: &str = "capread, library: says that it is too long";
pub(crate) const COMMAND_TAIL: &str = "capread read --tail n";
pub(crate) const JSONL: &str = "capread jsonl";
pub(crate) const JSONL_FIRST: &str = "capread jsonl: first window";
pub(crate) const WC: &str = "wc -l";
pub(crate) const SED: &str = "sed -n 'a,bp;bq'";
pub(crate) const TAIL_HEAD: &str = "tail -n +a | head -n n";
pub(crate) const TAIL: &str = "tail -n n";
pub(crate) const TAIL_HEAD_BYTES: &str = "tail -c +a | head -c n";
pub(crate) const SLICE: &str = "read all and slice";
pub(crate) const SPLIT: &str = "read all and split";
pub(crate) const CAP_STD: &str = "cap-std, open and read";
pub(crate) const STD: &str = "std::fs, read";
pub(crate) const MCP: &str = "MCP file system server";
pub(crate) const MCP_HEAD: &str = "MCP file system server, head";
pub(crate) const MCP_TAIL: &str = "MCP file system server, tail";

/// A turn: long enough that starting and stopping the clock does not matter.
pub(crate) const TURN: Length = Length::AtLeast(Duration::from_millis(20));

/// One window of one file, and who can read it.
pub(crate) struct Entrants<'a> {
    scene: &'a Scene,
    file: &'a TextFile,
    pub(crate) window: Excerpt,
}

impl<'a> Entrants<'a> {
    /// For the window that starts with line `first`.
    pub(crate) fn new(scene: &'a Scene, file: &'a TextFile, first: u64) -> Result<Self> {
        let window = excerpt::from_line(&scene.corpus.root.join(&file.path), first)?;
        Ok(Self { scene, file, window })
    }

    fn root(&self) -> &PathBuf {
        &self.scene.corpus.root
    }

    fn path(&self) -> PathBuf {
        self.file.path.clone()
    }

    fn absolute(&self) -> PathBuf {
        self.root().join(&self.file.path)
    }

    /// A tool that is kept: the first answer, which is not timed, has it know the file.
    pub(crate) fn library(&self) -> Result<Contender> {
        let (tool, path, first) = (library::tool(self.root())?, self.path(), self.window.first);
        Ok(self.enter(LIBRARY, in_process(TURN, move || library::read(&tool, &path, first))))
    }

    /// A new tool for each read.
    pub(crate) fn library_first(&self) -> Contender {
        let (root, path, first) = (self.root().clone(), self.path(), self.window.first);
        self.enter(LIBRARY_FIRST, in_process(TURN, move || library::read(&library::tool(&root)?, &path, first)))
    }

    /// A new tool for each read, which stops behind the window.
    pub(crate) fn library_no_total(&self) -> Contender {
        let (root, path, first) = (self.root().clone(), self.path(), self.window.first);
        let call = move || library::read(&library::tool_without_total(&root)?, &path, first);
        let contender = self.enter(LIBRARY_NO_TOTAL, in_process(TURN, call));
        Contender { expected: Expected { lines: None, ..self.expected() }, ..contender }
    }

    /// Without what comes before the window: the file is open.
    pub(crate) fn library_window(&self) -> Result<Contender> {
        let open = Root::open_ambient(self.root())?.open(self.path())?;
        Ok(self.enter(LIBRARY_WINDOW, in_process(TURN, move || library::window(&open, &Limits::default()))))
    }

    /// The whole file, window by window; a new tool for each turn.
    pub(crate) fn library_pages(&self) -> Contender {
        let (root, path) = (self.root().clone(), self.path());
        self.enter(LIBRARY, in_process(TURN, move || library::pages(&library::tool(&root)?, &path)))
    }

    pub(crate) fn command(&self) -> Contender {
        self.enter(COMMAND, whole(TURN, self.read(&self.scene.capread), printed))
    }

    pub(crate) fn command_static(&self) -> Option<Contender> {
        let capread = self.scene.capread_static.as_ref()?;
        Some(self.enter(COMMAND_STATIC, whole(TURN, self.read(capread), printed)))
    }

    pub(crate) fn command_no_total(&self) -> Contender {
        self.enter(COMMAND_NO_TOTAL, whole(TURN, self.read(&self.scene.capread).arg("--no-total"), printed))
    }

    /// As many of the last lines as the window has.
    pub(crate) fn command_tail(&self) -> Contender {
        let program = command::read_tail(&self.scene.capread, self.root(), &self.file.path, self.lines());
        self.enter(COMMAND_TAIL, whole(TURN, program, printed))
    }

    fn read(&self, capread: &Path) -> Program {
        command::read(capread, self.root(), &self.file.path, self.window.first)
    }

    /// A child that is kept: the first answer, which is not timed, has it know the file.
    pub(crate) fn jsonl(&self) -> Result<Contender> {
        let requests = vec![command::call(&self.file.path, self.window.first)];
        Ok(self.enter(JSONL, piped(TURN, Pipe::start(&self.serve())?, requests, command::answer)))
    }

    /// A new child for each read.
    pub(crate) fn jsonl_first(&self) -> Result<Contender> {
        let input = self.scene.request(&command::call(&self.file.path, self.window.first))?;
        Ok(self.enter(JSONL_FIRST, whole(TURN, Pipeline::from(self.serve()).input(input), command::answer)))
    }

    /// The whole file, window by window; a new child for each turn.
    pub(crate) fn jsonl_pages(&self) -> Contender {
        self.enter(JSONL, command::paging(self.serve(), &self.file.path))
    }

    fn serve(&self) -> Program {
        jsonl::program(&self.scene.capread, self.root())
    }

    /// The server on its pipes, where it could be installed, asked for the whole file.
    pub(crate) fn mcp(&self) -> Result<Option<Contender>> {
        self.served(MCP, &json!({ "path": self.absolute().to_string_lossy() }))
    }

    /// The server, asked for the first lines, as many as the window has.
    pub(crate) fn mcp_head(&self) -> Result<Option<Contender>> {
        self.served(MCP_HEAD, &json!({ "path": self.absolute().to_string_lossy(), "head": self.lines() }))
    }

    /// The server, asked for the last lines, as many as the window has: one more, since it counts what follows the last line break.
    pub(crate) fn mcp_tail(&self) -> Result<Option<Contender>> {
        self.served(MCP_TAIL, &json!({ "path": self.absolute().to_string_lossy(), "tail": self.lines() + 1 }))
    }

    fn served(&self, name: &'static str, arguments: &Value) -> Result<Option<Contender>> {
        let Some(server) = &self.scene.server else { return Ok(None) };
        let pipe = mcp::start(&server.clone().arg(self.root()))?;
        let requests = vec![mcp::call(2, mcp::READ_TEXT_FILE, arguments)];
        Ok(Some(self.enter(name, piped(TURN, pipe, requests, others::served))))
    }

    /// Counts only.
    pub(crate) fn wc(&self) -> Contender {
        self.enter(WC, whole(TURN, others::wc(&self.absolute()), others::counted))
    }

    /// Up to line `last`, which can lie behind the end.
    pub(crate) fn sed(&self, last: u64) -> Contender {
        self.enter(SED, whole(TURN, others::sed(&self.absolute(), self.window.first, last), printed))
    }

    pub(crate) fn tail_head(&self) -> Contender {
        let pipeline = others::tail_head(&self.absolute(), self.window.first, self.lines());
        self.enter(TAIL_HEAD, whole(TURN, pipeline, printed))
    }

    /// The last lines alone.
    pub(crate) fn tail(&self) -> Contender {
        self.enter(TAIL, whole(TURN, others::tail(&self.absolute(), self.lines()), printed))
    }

    pub(crate) fn split(&self) -> Contender {
        let (file, first, lines) = (self.absolute(), self.window.first, self.lines());
        self.enter(SPLIT, in_process(TURN, move || others::split(&file, first, lines)))
    }

    pub(crate) fn std_fs(&self) -> Contender {
        let file = self.absolute();
        self.enter(STD, in_process(TURN, move || others::std_fs(&file)))
    }

    pub(crate) fn cap_std(&self) -> Result<Contender> {
        let (directory, path) = (Dir::open_ambient_dir(self.root(), ambient_authority())?, self.path());
        Ok(self.enter(CAP_STD, in_process(TURN, move || others::cap_std(&directory, &path))))
    }

    fn enter(&self, name: &'static str, system: Box<dyn System>) -> Contender {
        Contender { name, system, expected: self.expected() }
    }

    fn expected(&self) -> Expected {
        Expected { window: self.window.clone(), lines: Some(self.file.lines), bytes: self.file.bytes }
    }

    fn lines(&self) -> u64 {
        self.window.last + 1 - self.window.first
    }
}
