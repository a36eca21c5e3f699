//! Standard input and output, whatever others made of them.

use std::io::{self, ErrorKind, Read, Stdin, Stdout, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Waits where it would block. Who shares the terminal, the pipe or the socket with this process may have made it non-blocking, for
/// all who share it.
pub(crate) struct Blocking<T>(T);

pub(crate) fn input() -> Blocking<Stdin> {
    Blocking(io::stdin())
}

pub(crate) fn output() -> Blocking<Stdout> {
    Blocking(io::stdout())
}

impl<T: AsFd> Blocking<T> {
    fn retry<R>(&mut self, wanted: PollFlags, mut work: impl FnMut(&mut T) -> io::Result<R>) -> io::Result<R> {
        loop {
            match work(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Interrupted or not, what comes next is to try again.
                    let _ = poll(&mut [PollFd::new(&self.0, wanted)], None);
                }
                result => return result,
            }
        }
    }
}

impl<T: Read + AsFd> Read for Blocking<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.retry(PollFlags::IN, |input| input.read(buffer))
    }
}

impl<T: Write + AsFd> Write for Blocking<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(PollFlags::OUT, |output| output.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.retry(PollFlags::OUT, Write::flush)
    }
}
