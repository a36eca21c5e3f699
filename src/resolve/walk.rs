//! The walk: one component at a time, each opened relative to the handle of the one before, links read and checked by us.
//!
//! It is the semantic reference of what a path means. The file system only ever sees single names, so it never follows a link, never
//! climbs through a `..`, and never sees a name that lies outside.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::{
    Asked, Base, Directory, MAX_COMPONENTS, Mounts, Opened, check_openable, compare, os_error, reopen,
    too_many_components,
};
use crate::error::{Error, ErrorKind, FileKind, Result};
use crate::fence::RelPath;
use crate::policy::End;
use crate::sys::{self, Errno, Kind, Stat};

/// Links in one walk, like the kernel's `MAXSYMLINKS`, `path_resolution(7)`: the 41st is too many.
const MAX_LINKS: usize = 40;

/// One thing to do, in the order of the text.
enum Step<'a> {
    /// Open a name: the request's own, or one of a link's target.
    Down(Cow<'a, OsStr>),
    /// `..` in a link's target.
    Up,
    /// `.` in a link's target: what was reached must be a directory that may be searched.
    Stay,
    /// A slash at the end of a link's target: what was reached must be a directory, as whatever steps follow can only follow one.
    Slash,
}

/// A directory on the way, and its name in the one before.
struct Level<'a, D> {
    directory: D,
    name: Cow<'a, OsStr>,
}

pub(crate) struct Walk<'a, D> {
    asked: Asked<'a, D>,
    /// The root that the walk is in: the one asked for, until an absolute link leads into another.
    base: usize,
    /// Directories below that root on the way to where the walk is. Each was opened relative to the one before it, so each was
    /// beneath the root at the moment of its step. Empty: the walk is at the root.
    stack: Vec<Level<'a, D>>,
    /// What is left to do, the next one last. The request's own names are at the bottom.
    steps: Vec<Step<'a>>,
    /// How many of `steps` are the request's own.
    own_steps: usize,
    /// Links followed; at most [`MAX_LINKS`].
    links: usize,
    /// Components planned so far, done or not; at most [`MAX_COMPONENTS`]. Steps that stay are none: they open no further level.
    components: usize,
    /// The name that ended the walk is not there.
    is_missing: bool,
}

/// A regular file that a walk reached: looked at, allowed to be opened, and not yet opened.
pub(crate) struct Reached<'a, D> {
    base: usize,
    root: &'a Base<D>,
    stack: Vec<Level<'a, D>>,
    name: Cow<'a, OsStr>,
    handle: D,
    stat: Stat,
}

/// A directory that a walk reached.
pub(crate) struct Place<D> {
    /// `None` is the root itself.
    pub(crate) directory: Option<D>,
    pub(crate) base: usize,
    /// Where the directory lies, links followed.
    pub(crate) resolved: RelPath,
}

/// The deepest directory on the way of a request, and the first of its names that is not in there.
pub(crate) struct Missing<D> {
    pub(crate) place: Place<D>,
    /// How many of the request's names lead to the directory; the next one is missing.
    pub(crate) found: usize,
}

impl<'a, D: Directory> Walk<'a, D> {
    pub(super) fn start(asked: Asked<'a, D>) -> Result<Self> {
        let mut walk = Self {
            asked,
            base: asked.base,
            stack: Vec::with_capacity(asked.path.depth()),
            steps: Vec::with_capacity(asked.path.depth()),
            own_steps: 0,
            links: 0,
            components: 0,
            is_missing: false,
        };
        walk.plan(asked.path.components().map(|name| Step::Down(name.into())))?;
        walk.own_steps = walk.steps.len();
        Ok(walk)
    }

    pub(super) fn run(mut self) -> Result<Reached<'a, D>> {
        while let Some(step) = self.next_step()? {
            if let Some(reached) = self.take(step)? {
                return Ok(reached);
            }
        }
        Err(ErrorKind::NotAFile(FileKind::Directory).into())
    }

    /// Walks as far as there is something.
    pub(super) fn missing(mut self) -> Result<Option<Missing<D>>> {
        loop {
            let own = self.steps.len() == self.own_steps;
            let Some(step) = self.next_step()? else { return Ok(None) };
            match self.take(step) {
                Ok(None) => {}
                Err(_) if own && self.is_missing => return Ok(self.into_missing()),
                Ok(Some(_)) | Err(_) => return Ok(None),
            }
        }
    }

    /// Walks to a directory; `None` where the path leads to something else.
    pub(super) fn directory(mut self) -> Result<Option<Place<D>>> {
        while let Some(step) = self.next_step()? {
            if self.take(step)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(self.into_place()))
    }

    fn into_missing(self) -> Option<Missing<D>> {
        let found = self.asked.path.depth().checked_sub(self.own_steps + 1)?;
        Some(Missing { place: self.into_place(), found })
    }

    fn into_place(mut self) -> Place<D> {
        let resolved = self.resolved(None);
        let directory = self.stack.pop().map(|level| level.directory);
        Place { directory, base: self.base, resolved }
    }

    fn next_step(&mut self) -> Result<Option<Step<'a>>> {
        self.asked.stop.check()?;
        let step = self.steps.pop();
        self.own_steps = self.own_steps.min(self.steps.len());
        Ok(step)
    }

    fn take(&mut self, step: Step<'a>) -> Result<Option<Reached<'a, D>>> {
        match step {
            Step::Down(name) => return self.down(name),
            Step::Up => self.up()?,
            Step::Stay => self.ask_to_search()?,
            Step::Slash => {}
        }
        Ok(None)
    }

    fn root(&self) -> &'a Base<D> {
        &self.asked.bases[self.base]
    }

    fn here(&self) -> &D {
        self.stack.last().map_or(&*self.root().directory, |level| &level.directory)
    }

    /// Where the walk is, or what `name` is in there, by names without links.
    fn resolved(&self, name: Option<&OsStr>) -> RelPath {
        RelPath::of_names(self.stack.iter().map(|level| &*level.name).chain(name))
    }

    /// Puts steps in front of all that is left.
    fn plan(&mut self, steps: impl IntoIterator<Item = Step<'a>>) -> Result<()> {
        let later = self.steps.len();
        self.steps.extend(steps);
        let planned = &mut self.steps[later..];
        planned.reverse();
        self.components += planned.iter().filter(|step| matches!(step, Step::Down(_) | Step::Up)).count();
        if self.components > MAX_COMPONENTS { Err(too_many_components()) } else { Ok(()) }
    }

    /// The regular file, if that is what the last name leads to; `None` when the walk goes on.
    fn down(&mut self, name: Cow<'a, OsStr>) -> Result<Option<Reached<'a, D>>> {
        self.judge(&name)?;
        if !self.steps.is_empty() {
            if let Some(directory) = self.open_directory(&name)? {
                self.check_mount(&directory)?;
                self.stack.push(Level { directory, name });
                return Ok(None);
            }
        }
        let handle = self.here().open_path(&name).map_err(|errno| self.not_opened(errno))?;
        // Through the handle, not by name again: whatever has the name by now, this is what was opened.
        let stat = handle.stat().map_err(os_error)?;
        self.check_mount(&handle)?;
        match stat.kind {
            Kind::Directory => self.stack.push(Level { directory: handle, name }),
            Kind::Symlink => self.follow(&handle, &stat)?,
            _ if !self.steps.is_empty() => return Err(Error::caused(ErrorKind::NotFound, Errno::NOTDIR)),
            _ => {
                check_openable(self.root(), &stat, || self.resolved(Some(&name)))?;
                let stack = std::mem::take(&mut self.stack);
                return Ok(Some(Reached { base: self.base, root: self.root(), stack, name, handle, stat }));
            }
        }
        Ok(None)
    }

    /// A name that others follow is mostly a directory's, and then the open itself is the look: one call instead of two. `None`, where
    /// it is no directory, decides nothing: whatever has the name next is opened and looked at anew.
    fn open_directory(&mut self, name: &OsStr) -> Result<Option<D>> {
        match self.here().open_directory(name) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.not_opened(errno)),
        }
    }

    /// Only what an open says of a name tells that it is not there: a link may be there and its target unknown.
    fn not_opened(&mut self, errno: Errno) -> Error {
        self.is_missing = matches!(errno, Errno::NOENT | Errno::NAMETOOLONG);
        os_error(errno)
    }

    /// The resolved path, whatever links led here. The directories above it were judged when they were entered.
    fn judge(&self, name: &OsStr) -> Result<()> {
        let judges = &self.root().judges;
        let end = if self.steps.is_empty() { End::Last } else { End::OnTheWay };
        let is_denied = !judges.is_empty() && judges.deny(&self.resolved(Some(name)), end);
        if is_denied { Err(ErrorKind::Denied.into()) } else { Ok(()) }
    }

    fn check_mount(&self, handle: &D) -> Result<()> {
        if self.root().mounts == Mounts::Cross {
            return Ok(());
        }
        let (here, root) = (handle.mount_id(), self.root().directory.mount_id());
        // A kernel that cannot tell says so here: unknown means refuse.
        if here.map_err(os_error)? == root.map_err(os_error)? { Ok(()) } else { Err(ErrorKind::OutsideRoot.into()) }
    }

    /// The target of a link takes the link's place among the steps.
    fn follow(&mut self, link: &D, stat: &Stat) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::caused(ErrorKind::TooManyLinks, Errno::LOOP));
        }
        // The kernel enforces its rules on links only where it follows them itself.
        let rules = link.link_rules().map_err(os_error)?;
        let directory = self.here().stat().map_err(os_error)?;
        if rules.nosymfollow {
            return Err(Error::caused(ErrorKind::PermissionDenied, Errno::LOOP));
        }
        if !sys::is_link_trusted(&directory, stat) {
            return Err(Error::caused(ErrorKind::PermissionDenied, Errno::ACCESS));
        }
        match link.read_link() {
            // A magic link that leads nowhere has no text: `exe` of a kernel thread, or of a process that has ended.
            Err(Errno::NOENT) if rules.is_procfs => Err(ErrorKind::OutsideRoot.into()),
            Ok(target) if rules.is_procfs && is_magic(target.as_bytes()) => Err(ErrorKind::OutsideRoot.into()),
            Ok(target) => self.go_on(target.as_bytes()),
            Err(errno) => Err(os_error(errno)),
        }
    }

    fn go_on(&mut self, target: &[u8]) -> Result<()> {
        if target.first() != Some(&b'/') {
            return self.plan(steps(target));
        }
        let (base, below) = locate_target(self.asked.bases, self.base, target).ok_or(ErrorKind::OutsideRoot)?;
        self.base = base;
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
        self.here().open_path(OsStr::new(".")).map(drop).map_err(os_error)
    }
}

impl<'a, D: Directory> Reached<'a, D> {
    /// Opens what was looked at, and nothing else. `None`: another file has its name now; walk again.
    pub(super) fn open(self) -> Result<Option<Opened<'a, D::File>>> {
        let opened = match reopen(&self.handle, &self.stat)? {
            Some(opened) => Some(opened),
            None => self.open_by_name()?,
        };
        let names = self.stack.iter().map(|level| &*level.name);
        let resolved = RelPath::of_names(names.chain([&*self.name]));
        Ok(opened.map(|(file, stat)| Opened { file, stat, base: self.base, resolved: Cow::Owned(resolved) }))
    }

    fn open_by_name(&self) -> Result<Option<(D::File, Stat)>> {
        let directory = self.stack.last().map_or(&*self.root.directory, |level| &level.directory);
        match directory.open_by_name(&self.name) {
            Ok(file) => compare::<D>(file, &self.stat),
            // Exchanged for a link, for a socket or a device without a driver, or gone.
            Err(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::NOENT) => Ok(None),
            Err(errno) => Err(os_error(errno)),
        }
    }
}

/// The root that an absolute target lies in, and what is left of the target below it: the innermost, as for a request, and of those
/// that have the same path the walk's own.
fn locate_target<'t, D>(bases: &[Base<D>], own: usize, target: &'t [u8]) -> Option<(usize, &'t [u8])> {
    let others = (0..bases.len()).filter(|base| *base != own);
    let around = std::iter::once(own)
        .chain(others)
        .filter_map(|base| Some((base, bases[base].fence.below_root_in_target(target)?)));
    around.min_by_key(|(_, below)| below.len())
}

/// The steps of a link's target, without the root's path in front of it.
fn steps(target: &[u8]) -> Vec<Step<'static>> {
    let mut steps = Vec::new();
    let mut names = target.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        match name {
            b".." => steps.push(Step::Up),
            // Empty between two slashes says nothing.
            b"" if names.peek().is_some() => {}
            b"" => steps.push(Step::Slash),
            b"." if matches!(steps.last(), Some(Step::Stay)) => {}
            b"." => steps.push(Step::Stay),
            name => steps.push(Step::Down(OsString::from_vec(name.to_vec()).into())),
        }
    }
    steps
}

/// A link on procfs whose text only describes what the kernel would jump to: absolute, or `type:[n]` and the like, proc(5).
/// Plain ones (`self`, `mounts`, `net`) are relative and have no colon.
fn is_magic(target: &[u8]) -> bool {
    target.first() == Some(&b'/') || target.contains(&b':')
}
