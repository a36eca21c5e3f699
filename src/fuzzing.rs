//! What the fuzz targets reach beyond the public API. No part of it, and not there without `--cfg fuzzing`.

pub use crate::resolve::memory::{
    Allowed, Behaviour, Beneath, Call, Change, Content, Event, Failure, Found, How, Inside, MissingName, Model, Node,
    NodeId, Operation, Procfs, Run, Tree, World,
};

use crate::cancel::Stop;
use crate::error::Result;
use crate::fence::RelPath;
use crate::file::RegularFile;
use crate::limits::{Limits, Selection};
use crate::resolve::{self, Asked};
use crate::root::Root;
use crate::text::{Memo, ReadAt, TextEncoding};
use crate::window::{LineNumbers, Scan, Window};

/// Like [`Root::open`], with the place where the file lies.
pub fn open_resolved(root: &Root, path: &RelPath) -> Result<(RegularFile, RelPath)> {
    let bases = std::slice::from_ref(root.base());
    let stop = Stop::new(&|| false, None);
    let opened = resolve::open(Asked { bases, base: 0, path, stop: &stop })?;
    Ok((RegularFile::new(opened.file, opened.stat), opened.resolved.into_owned()))
}

/// Reads of one state of one source, each of which helps the next.
#[derive(Debug)]
pub struct Remembering {
    memo: Memo,
    encoding: TextEncoding,
    numbers: LineNumbers,
}

impl Remembering {
    /// Of a source of `size` bytes.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self { memo: Memo::fresh(size), encoding: TextEncoding::default(), numbers: LineNumbers::default() }
    }

    /// In another encoding. Nothing may have been read.
    #[must_use]
    pub fn in_encoding(self, encoding: TextEncoding) -> Self {
        Self { encoding, ..self }
    }

    /// With or without line numbers from here on.
    #[must_use]
    pub fn with_line_numbers(self, numbers: LineNumbers) -> Self {
        Self { numbers, ..self }
    }

    /// Like [`Window::read`].
    pub fn read(&mut self, source: &dyn ReadAt, selection: Selection, limits: &Limits) -> Result<Window> {
        let scan = Scan { encoding: self.encoding, numbers: self.numbers, ..Scan::new(selection, limits) };
        scan.run(source, &mut self.memo, &Stop::new(&|| false, None))
    }
}
