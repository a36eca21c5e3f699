//! Symbolic names of error numbers, as errno(3) has them.

use rustix::io::Errno;

use crate::error::Error;

impl Error {
    /// The name of [`raw_os_error`](Self::raw_os_error), such as `ENOENT`, as errno(3) has it; `None` also for a number that no
    /// read is known to meet.
    #[must_use]
    pub fn os_error_name(&self) -> Option<&'static str> {
        let raw = self.raw_os_error()?;
        NAMES.iter().find(|(errno, _)| errno.raw_os_error() == raw).map(|(_, name)| *name)
    }
}

const NAMES: [(Errno, &str); 30] = [
    (Errno::ACCESS, "EACCES"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::BADF, "EBADF"),
    (Errno::BUSY, "EBUSY"),
    (Errno::CONNREFUSED, "ECONNREFUSED"),
    (Errno::FBIG, "EFBIG"),
    (Errno::HOSTDOWN, "EHOSTDOWN"),
    (Errno::INVAL, "EINVAL"),
    (Errno::IO, "EIO"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::LOOP, "ELOOP"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG"),
    (Errno::NFILE, "ENFILE"),
    (Errno::NODATA, "ENODATA"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOENT, "ENOENT"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::NOSYS, "ENOSYS"),
    (Errno::NOTCONN, "ENOTCONN"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::NXIO, "ENXIO"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::OVERFLOW, "EOVERFLOW"),
    (Errno::PERM, "EPERM"),
    (Errno::REMOTEIO, "EREMOTEIO"),
    (Errno::SPIPE, "ESPIPE"),
    (Errno::STALE, "ESTALE"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
    (Errno::XDEV, "EXDEV"),
];
