//! The walk: one component at a time, each opened relative to the handle of the one before, links read and checked by us.
//!
//! It is the semantic reference of what a path means. The kernel only ever sees single names, so it never follows a link, never
//! climbs through a `..`, and never sees a name that lies outside.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::{Reached, os_error};
use crate::cancel::Stop;
use crate::error::{Error, ErrorKind, FileKind, Resource, Result};
use crate::fence::{Fence, RelPath};
use crate::sys::{self, Errno, Kind, Stat};

/// Links in one walk, like the kernel's `MAXSYMLINKS`, `path_resolution(7)`: the 41st is too many.
const MAX_LINKS: usize = 40;

/// Components in one walk, links' included; it bounds the handles that a walk holds, and its system calls.
const MAX_COMPONENTS: usize = 256;

/// One thing to do, in the order of the text.
enum Step {
    /// Open a name.
    Down(OsString),
    /// `..` in a link's target.
    Up,
    /// `.` or a final slash in a link's target: what was reached must be a directory that may be searched.
    Stay,
}

pub(super) fn walk<'a>(root: BorrowedFd<'a>, fence: &'a Fence, path: &RelPath, stop: &Stop<'_>) -> Result<Reached<'a>> {
    let mut walk = Walk { root, fence, stack: Vec::new(), steps: Vec::new(), links: 0, components: 0 };
    walk.plan(path.components().iter().map(|name| Step::Down(name.clone())).collect())?;
    while let Some(step) = walk.steps.pop() {
        stop.check()?;
        match step {
            Step::Down(name) => {
                if let Some(reached) = walk.down(name)? {
                    return Ok(reached);
                }
            }
            Step::Up => walk.up()?,
            Step::Stay => walk.ask_to_search()?,
        }
    }
    Err(ErrorKind::NotAFile(FileKind::Directory).into())
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    fence: &'a Fence,
    /// Handles of the directories below the root on the way to where the walk is. Each was opened relative to the one before it, so
    /// each was beneath the root at the moment of its step. Empty: the walk is at the root.
    stack: Vec<OwnedFd>,
    /// What is left to do, the next one last.
    steps: Vec<Step>,
    /// Links followed; at most [`MAX_LINKS`].
    links: usize,
    /// Components planned so far, done or not; at most [`MAX_COMPONENTS`]. `Stay` is none: it opens no further level.
    components: usize,
}

impl<'a> Walk<'a> {
    fn here(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.root, AsFd::as_fd)
    }

    /// Puts steps in front of all that is left.
    fn plan(&mut self, steps: Vec<Step>) -> Result<()> {
        self.components += steps.iter().filter(|step| !matches!(step, Step::Stay)).count();
        if self.components > MAX_COMPONENTS {
            return Err(ErrorKind::ResourceLimit(Resource::Components { limit: MAX_COMPONENTS }).into());
        }
        self.steps.extend(steps.into_iter().rev());
        Ok(())
    }

    /// The regular file, if that is what the last name leads to; `None` when the walk goes on.
    fn down(&mut self, name: OsString) -> Result<Option<Reached<'a>>> {
        let handle = sys::open_path(self.here(), &name).map_err(os_error)?;
        // Through the handle, not by name again: whatever has the name by now, this is what was opened.
        let stat = sys::fstat(handle.as_fd()).map_err(os_error)?;
        match stat.kind {
            Kind::Directory => self.stack.push(handle),
            Kind::Symlink => self.follow(handle.as_fd(), &stat)?,
            _ if !self.steps.is_empty() => return Err(Error::caused(ErrorKind::NotFound, Errno::NOTDIR)),
            Kind::Regular => {
                return Ok(Some(Reached { root: self.root, directory: self.stack.pop(), name, handle, stat }));
            }
            special => return Err(ErrorKind::NotAFile(FileKind::of(special)).into()),
        }
        Ok(None)
    }

    /// The target of a link takes the link's place among the steps.
    fn follow(&mut self, link: BorrowedFd<'_>, stat: &Stat) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::caused(ErrorKind::TooManyLinks, Errno::LOOP));
        }
        // The kernel enforces its rules on links only where it follows them itself.
        let rules = sys::link_rules(link).map_err(os_error)?;
        let directory = sys::fstat(self.here()).map_err(os_error)?;
        if rules.nosymfollow || !sys::is_link_trusted(&directory, stat) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let target = sys::read_link(link).map_err(os_error)?;
        if rules.is_procfs && is_magic(target.as_bytes()) {
            return Err(ErrorKind::OutsideRoot.into());
        }
        self.take(target.as_bytes())
    }

    fn take(&mut self, target: &[u8]) -> Result<()> {
        if target.first() != Some(&b'/') {
            return self.plan(steps(target));
        }
        let below = self.fence.below_root_in_target(target).ok_or(ErrorKind::OutsideRoot)?;
        self.stack.clear();
        self.plan(steps(below))
    }

    /// `..` is never opened: the directory above is the handle below on the stack, wherever it has been moved by now.
    fn up(&mut self) -> Result<()> {
        self.ask_to_search()?;
        match self.stack.pop() {
            Some(_) => Ok(()),
            None => Err(ErrorKind::OutsideRoot.into()),
        }
    }

    /// The kernel lets nobody go up from, or stay in, a directory that may not be searched.
    fn ask_to_search(&self) -> Result<()> {
        sys::open_path(self.here(), OsStr::new(".")).map(drop).map_err(os_error)
    }
}

/// The steps of a link's target, without the root's path in front of it.
fn steps(target: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut names = target.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        match name {
            b".." => steps.push(Step::Up),
            // Empty between two slashes says nothing; empty at the end is a final slash.
            b"" if names.peek().is_some() => {}
            b"" | b"." if matches!(steps.last(), Some(Step::Stay)) => {}
            b"" | b"." => steps.push(Step::Stay),
            name => steps.push(Step::Down(OsString::from_vec(name.to_vec()))),
        }
    }
    steps
}

/// A link on procfs whose text only describes what the kernel would jump to: absolute, or `type:[n]` and the like, proc(5).
/// Plain ones (`self`, `mounts`, `net`) are relative and have no colon.
fn is_magic(target: &[u8]) -> bool {
    target.first() == Some(&b'/') || target.contains(&b':')
}
