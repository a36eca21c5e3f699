//! What the fuzz targets reach beyond the public API. No part of it, and not there without `--cfg fuzzing`.

pub use crate::resolve::memory::{
    Allowed, Behaviour, Beneath, Call, Change, Content, Event, Failure, Found, How, Inside, MissingName, Model, Node,
    NodeId, Operation, Procfs, Run, Tree, World,
};

use crate::cancel::Stop;
use crate::error::Result;
use crate::fence::RelPath;
use crate::file::RegularFile;
use crate::resolve::{self, Asked};
use crate::root::Root;

/// Like [`Root::open`], with the place where the file lies.
pub fn open_resolved(root: &Root, path: &RelPath) -> Result<(RegularFile, RelPath)> {
    let bases = std::slice::from_ref(root.base());
    let stop = Stop::new(&|| false, None);
    let opened = resolve::open(Asked { bases, base: 0, path, stop: &stop })?;
    Ok((RegularFile::new(opened.file, opened.stat), opened.resolved.into_owned()))
}
