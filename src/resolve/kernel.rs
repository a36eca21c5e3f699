//! The kernel's way: one `openat2(2)` for a whole path, asked for what the walk would do where there is no link.
//!
//! Only an answer that must equal the walk's is taken. Everything else is a question for the walk, which can always answer it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Asked, Directory, Opened, Resolver, check_openable, os_error, reopen};
use crate::error::Result;
use crate::sys::{Errno, Kind};

/// Times that a race with a rename is tried again before the walk, which knows no such race, takes over.
const MAX_RACES: usize = 3;

/// The kernel has no `openat2`. Nothing else is remembered: an `EPERM` may be one file's, and a filter may come after a success.
static MISSING: AtomicBool = AtomicBool::new(false);

/// The file; `None` when the walk has to decide.
pub(super) fn open<D: Directory>(asked: Asked<'_, D>) -> Result<Option<Opened<'_, D::File>>> {
    let base = &asked.bases[asked.base];
    // The root itself has no name that the kernel would take.
    if base.resolver == Resolver::Walk || asked.path.is_root() {
        return Ok(None);
    }
    if base.resolver == Resolver::Auto && MISSING.load(Ordering::Relaxed) {
        return Ok(None);
    }
    asked.stop.check()?;
    let Some(handle) = look(asked)? else { return Ok(None) };
    let stat = handle.stat().map_err(os_error)?;
    if stat.kind == Kind::Symlink {
        return Ok(None);
    }
    check_openable(base, &stat, || asked.path.clone())?;
    let opened = reopen(&handle, &stat)?;
    Ok(opened.map(|(file, stat)| Opened { file, stat, base: asked.base, resolved: Cow::Borrowed(asked.path) }))
}

fn look<D: Directory>(asked: Asked<'_, D>) -> Result<Option<D>> {
    let base = &asked.bases[asked.base];
    for _ in 0..=MAX_RACES {
        return match base.directory.open_beneath(asked.path.as_os_str(), base.mounts) {
            Ok(handle) => Ok(Some(handle)),
            // No link was met before the name that is missing, or is no directory, or may not be searched: the walk finds the same.
            // Of handles and memory the walk would meet the same shortage, and needs more.
            Err(
                errno @ (Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::MFILE | Errno::NFILE | Errno::NOMEM),
            ) => Err(os_error(errno)),
            // A rename raced with a check of the path. Without `..` in it none was ever seen; the manual allows it.
            Err(Errno::AGAIN) => continue,
            // An old kernel, or a filter that pretends to be one: it will be no other in this process.
            Err(Errno::NOSYS) => {
                MISSING.store(true, Ordering::Relaxed);
                Ok(None)
            }
            // `ELOOP`: a link on the way. `EXDEV`: a mount, where those are refused; or an escape or a race, which only the walk can
            // tell apart. `EPERM`: a filter, or one file's. `ENAMETOOLONG`: a path over PATH_MAX. `EINVAL`, `E2BIG`: a kernel with
            // other ideas of the call. And whatever a file system may invent.
            Err(_) => Ok(None),
        };
    }
    Ok(None)
}
