//! A file that is one line, far too long for a window. It is ASCII, so that its columns are its bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde_json::json;

use super::answer::Expected;
use super::cases::Case;
use super::entrants::{COMMAND, JSONL, LIBRARY, LIBRARY_FIRST, LIBRARY_TOO_LONG, SLICE, TAIL_HEAD_BYTES, TURN};
use super::library::COLUMN;
use super::others::printed;
use super::scene::Scene;
use super::system::{Contender, System, in_process, piped, whole};
use super::{command, library, others};
use crate::corpus::excerpt::{Excerpt, MAX_BYTES};
use crate::pipe::Pipe;
use crate::{Result, jsonl};

/// One part of the line, and who can read it.
struct Part<'a> {
    scene: &'a Scene,
    /// 1-based.
    start: u64,
    text: String,
}

/// The part that starts with byte `start`.
pub(crate) fn case(scene: &Scene, start: u64) -> Result<Case> {
    let part = Part::new(scene, start)?;
    let always = [part.slice(), part.tail_head(), part.too_long()?];
    let perhaps = [part.library_first(), part.library()?, part.command(), part.jsonl()?];
    let contenders = always.into_iter().chain(perhaps.into_iter().flatten()).collect();
    Ok(Case { reference: TAIL_HEAD_BYTES, contenders })
}

impl<'a> Part<'a> {
    fn new(scene: &'a Scene, start: u64) -> Result<Self> {
        let mut part = Self { scene, start, text: String::new() };
        let mut file = File::open(part.absolute())?;
        file.seek(SeekFrom::Start(start - 1))?;
        file.take(MAX_BYTES as u64).read_to_string(&mut part.text)?;
        Ok(part)
    }

    fn root(&self) -> &PathBuf {
        &self.scene.corpus.root
    }

    fn path(&self) -> PathBuf {
        self.scene.corpus.long_line.path.clone()
    }

    fn absolute(&self) -> PathBuf {
        self.root().join(self.path())
    }

    fn slice(&self) -> Contender {
        let (file, start, bytes) = (self.absolute(), self.start, self.text.len());
        self.enter(SLICE, in_process(TURN, move || others::slice(&file, start, bytes)))
    }

    fn tail_head(&self) -> Contender {
        let pipeline = others::tail_head_bytes(&self.absolute(), self.start, self.text.len());
        self.enter(TAIL_HEAD_BYTES, whole(TURN, pipeline, printed))
    }

    /// Asked for the line, not for a part of it.
    fn too_long(&self) -> Result<Contender> {
        let (tool, path) = (library::tool(self.root())?, self.path());
        Ok(self.enter(LIBRARY_TOO_LONG, in_process(TURN, move || library::too_long(&tool, &path))))
    }

    /// A new tool for each read.
    fn library_first(&self) -> Option<Contender> {
        let (column, root, path, start) = (COLUMN?, self.root().clone(), self.path(), self.start);
        let call = move || library::part(&library::tool(&root)?, &path, &column, start);
        Some(self.enter(LIBRARY_FIRST, in_process(TURN, call)))
    }

    /// A tool that is kept.
    fn library(&self) -> Result<Option<Contender>> {
        let Some(column) = COLUMN else { return Ok(None) };
        let (tool, path, start) = (library::tool(self.root())?, self.path(), self.start);
        let call = move || library::part(&tool, &path, &column, start);
        Ok(Some(self.enter(LIBRARY, in_process(TURN, call))))
    }

    fn command(&self) -> Option<Contender> {
        let option = COLUMN?.option;
        let program = command::read(&self.scene.capread, self.root(), &self.path(), 1);
        Some(self.enter(COMMAND, whole(TURN, program.arg(option).arg(self.start.to_string()), printed)))
    }

    fn jsonl(&self) -> Result<Option<Contender>> {
        let Some(column) = COLUMN else { return Ok(None) };
        let mut arguments = json!({ "path": self.path().to_string_lossy(), "offset": 1 });
        arguments[column.field] = self.start.into();
        let pipe = Pipe::start(&jsonl::program(&self.scene.capread, self.root()))?;
        let requests = vec![jsonl::call(1, &arguments)];
        Ok(Some(self.enter(JSONL, piped(TURN, pipe, requests, command::answer))))
    }

    fn enter(&self, name: &'static str, system: Box<dyn System>) -> Contender {
        let file = &self.scene.corpus.long_line;
        let window = Excerpt { first: 1, last: 1, text: self.text.clone() };
        Contender { name, system, expected: Expected { window, lines: Some(file.lines), bytes: file.bytes } }
    }
}
