//! Who takes part.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use capread::{ReadRequest, ReadTool, Resolver, Root};
use pathrs::flags::OpenFlags;

use crate::Result;
use crate::measure::System;

pub(crate) const CLASSIC: &str = "realpath, check, read";
pub(crate) const CAP_STD: &str = "cap-std, read";
pub(crate) const CAPREAD: &str = "capread, ReadTool (Auto)";
pub(crate) const CAP_STD_OPEN: &str = "open only: cap-std";
pub(crate) const PLAIN_OPEN: &str = "open only: std::fs";

/// What a call came to.
#[derive(Debug)]
pub(crate) enum Done {
    Read(String),
    Opened(OwnedFd),
}

/// All systems, for one path below the root. What is done once per root or per request is done here, outside the time.
pub(crate) fn all(root: &Path, path: &Path) -> Result<Vec<System<Done>>> {
    Ok(vec![
        plain(root.join(path)),
        classic(root, path)?,
        cap_std(root, path)?,
        pathrs(root, path)?,
        pathrs_handle(root, path)?,
        tool(CAPREAD, root, path, Resolver::Auto)?,
        tool("capread, ReadTool (Walk)", root, path, Resolver::Walk)?,
        plain_open(root.join(path)),
        cap_std_open(root, path)?,
        capread_open("open only: capread, Auto", root, path, Resolver::Auto)?,
        capread_open("open only: capread, Kernel", root, path, Resolver::Kernel)?,
        capread_open("open only: capread, Walk", root, path, Resolver::Walk)?,
    ])
}

fn read(name: &'static str, call: impl Fn() -> Result<String> + 'static) -> System<Done> {
    System { name, call: Box::new(move || call().map(Done::Read)) }
}

fn open(name: &'static str, call: impl Fn() -> Result<OwnedFd> + 'static) -> System<Done> {
    System { name, call: Box::new(move || call().map(Done::Opened)) }
}

fn to_string(mut file: impl Read) -> Result<String> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Confines nothing: the floor.
fn plain(path: PathBuf) -> System<Done> {
    read("std::fs, read", move || Ok(fs::read_to_string(&path)?))
}

/// What most tools do: the real path of what was asked for, a look whether it starts with the root's, and the file by that name.
/// Between the look and the open, a rename can put another file there.
fn classic(root: &Path, path: &Path) -> Result<System<Done>> {
    let (root, path) = (root.canonicalize()?, path.to_path_buf());
    Ok(read(CLASSIC, move || {
        let real = root.join(&path).canonicalize()?;
        if !real.starts_with(&root) {
            return Err("outside".into());
        }
        Ok(fs::read_to_string(real)?)
    }))
}

fn cap_std(root: &Path, path: &Path) -> Result<System<Done>> {
    let (dir, path) = (Dir::open_ambient_dir(root, ambient_authority())?, path.to_path_buf());
    Ok(read(CAP_STD, move || to_string(dir.open(&path)?)))
}

/// Opens for reading at once, like cap-std: a FIFO would block.
fn pathrs(root: &Path, path: &Path) -> Result<System<Done>> {
    let (root, path) = (pathrs::Root::open(root)?, path.to_path_buf());
    Ok(read("pathrs, open_subpath, read", move || to_string(root.open_subpath(&path, OpenFlags::O_RDONLY)?)))
}

/// By a handle that can be looked at before it is opened for reading, like capread.
fn pathrs_handle(root: &Path, path: &Path) -> Result<System<Done>> {
    let (root, path) = (pathrs::Root::open(root)?, path.to_path_buf());
    Ok(read("pathrs, resolve, reopen, read", move || to_string(root.resolve(&path)?.reopen(OpenFlags::O_RDONLY)?)))
}

fn tool(name: &'static str, root: &Path, path: &Path, resolver: Resolver) -> Result<System<Done>> {
    let tool = ReadTool::new(Root::open_ambient(root)?.with_resolver(resolver));
    let request = ReadRequest::new(path);
    Ok(read(name, move || Ok(tool.call(&request, &|| false)?.window.text)))
}

fn plain_open(path: PathBuf) -> System<Done> {
    open(PLAIN_OPEN, move || Ok(fs::File::open(&path)?.into()))
}

fn cap_std_open(root: &Path, path: &Path) -> Result<System<Done>> {
    let (dir, path) = (Dir::open_ambient_dir(root, ambient_authority())?, path.to_path_buf());
    Ok(open(CAP_STD_OPEN, move || Ok(dir.open(&path)?.into_std().into())))
}

fn capread_open(name: &'static str, root: &Path, path: &Path, resolver: Resolver) -> Result<System<Done>> {
    let (root, path) = (Root::open_ambient(root)?.with_resolver(resolver), path.to_path_buf());
    Ok(open(name, move || Ok(fs::File::from(root.open(&path)?).into())))
}
