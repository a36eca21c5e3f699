//! Scans that are so long that two threads share them, of files that are nowhere.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use capread::{Cut, Error, ErrorKind, Limits, ReadAt, Result, Selection, Window};
use rstest::rstest;

const MIB: u64 = 1 << 20;

const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const EINTR: i32 = 4;

/// Bytes of each line, with its break.
const LINE: u64 = 64;

/// Lines of 63 letters, as many as wanted, and what happens to who reads them.
#[derive(Default)]
struct Endless {
    size: u64,
    /// The size that is known.
    known: Option<u64>,
    /// Reads from this byte on fail.
    fault: Option<(u64, i32)>,
    /// Most bytes that one read gives; 0 is no bound.
    part: usize,
    /// Every other read is interrupted.
    interrupts: bool,
    /// Sets the flag in this read.
    cancel_at: Option<usize>,
    cancelled: AtomicBool,
    reads: AtomicUsize,
}

impl Endless {
    fn new(size: u64) -> Self {
        Self { size, known: Some(size), ..Self::default() }
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    fn window(&self, selection: Selection) -> Result<Window> {
        Window::read(self, selection, &Limits::default(), &self.cancelled)
    }

    fn all(&self) -> Result<Window> {
        self.window(Selection::default())
    }
}

impl ReadAt for Endless {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        if self.cancel_at == Some(read) {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        if self.interrupts && read % 2 == 1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut end = self.size;
        if let Some((at, errno)) = self.fault {
            if offset >= at {
                return Err(io::Error::from_raw_os_error(errno));
            }
            end = at;
        }
        let most = if self.part == 0 { buffer.len() } else { self.part.min(buffer.len()) };
        let count = usize::try_from(end.saturating_sub(offset)).unwrap().min(most);
        buffer[..count].fill(b'x');
        let first = usize::try_from(LINE - 1 - offset % LINE).unwrap();
        buffer[..count].iter_mut().skip(first).step_by(usize::try_from(LINE).unwrap()).for_each(|byte| *byte = b'\n');
        Ok(count)
    }

    fn known_size(&self) -> Option<u64> {
        self.known
    }
}

#[rstest]
#[case::just_long_enough(16 * MIB + (64 << 10))]
#[case::ends_in_a_line(40 * MIB + 30)]
#[case::ends_in_a_chunk(40 * MIB - LINE)]
#[case::one_break_more(40 * MIB)]
fn counts_all_lines(#[case] size: u64) {
    let (total, terminated) = (size.div_ceil(LINE), size % LINE == 0);
    for source in [
        Endless::new(size),
        Endless { part: 1000, ..Endless::new(size) },
        Endless { interrupts: true, ..Endless::new(size) },
        // By one thread.
        Endless { known: None, ..Endless::new(size) },
        // It has less than was said, and ends anywhere.
        Endless { known: Some(size + 1), ..Endless::new(size) },
        Endless { known: Some(size + MIB), ..Endless::new(size) },
        Endless { known: Some(3 * size), ..Endless::new(size) },
        Endless { known: Some(3 * size), part: 4096, ..Endless::new(size) },
    ] {
        let window = source.all().unwrap();
        assert_eq!(
            (window.total_lines, window.final_newline),
            (Some(total), Some(terminated)),
            "of {:?}",
            source.known
        );
        let last = source.window(Selection::tail(2).unwrap()).unwrap();
        assert_eq!((last.start_line, last.end_line, last.total_lines), (total - 1, total, Some(total)));
        assert_eq!(last.text.lines().count(), 2);
        let beyond = source.window(Selection::from_line(total + 1).unwrap()).unwrap_err();
        assert_eq!(*beyond.kind(), ErrorKind::OffsetBeyondEnd { offset: total + 1, total });
    }
}

#[test]
fn a_source_that_is_interrupted_again_and_again_can_be_cancelled() {
    for at in [0, 70_000, 20 * MIB] {
        let source = Endless { fault: Some((at, EINTR)), cancel_at: Some(2000), ..Endless::new(40 * MIB) };
        assert_eq!(source.all().unwrap_err().code(), "cancelled", "at byte {at}");
        // One more by the other thread.
        assert!(source.reads() <= 2001, "{} reads", source.reads());
    }
}

#[rstest]
#[case(EIO, "io")]
#[case(EAGAIN, "busy")]
fn a_fault_anywhere_is_the_answer(#[case] errno: i32, #[case] code: &str) {
    for at in [0, 1, 70_000, 20 * MIB, 20 * MIB + 5, 40 * MIB - 1] {
        let mut source = Endless { fault: Some((at, errno)), ..Endless::new(40 * MIB) };
        let told = |error: Error| (error.code(), error.raw_os_error());
        assert_eq!(told(source.all().unwrap_err()), (code, Some(errno)), "at byte {at}");
        assert_eq!(told(source.window(Selection::tail(1).unwrap()).unwrap_err()), (code, Some(errno)), "at byte {at}");
        source.fault = None;
        source.all().unwrap();
    }
    // Behind where the source ends before it was to, there is nothing to fail.
    let source = Endless { known: Some(60 * MIB), fault: Some((50 * MIB, errno)), ..Endless::new(40 * MIB) };
    assert_eq!(source.all().unwrap_err().code(), code, "a fault comes where reads come");
}

/// Each thread has one read in hand.
#[test]
fn ends_within_a_buffer_of_each_thread_when_it_is_cancelled() {
    for at in [1, 2, 3, 10, 1000, 10_000] {
        let source = Endless { cancel_at: Some(at), ..Endless::new(1 << 30) };
        assert_eq!(source.all().unwrap_err().code(), "cancelled");
        assert!(source.reads() <= at + 2, "{} reads, cancelled in read {at}", source.reads());
    }
    let whole = Endless::new(1 << 30);
    whole.all().unwrap();
    assert!(whole.reads() > 16_000, "{} reads", whole.reads());
}

#[test]
fn a_scan_ends_where_it_must() {
    let source = Endless::new(1 << 40);
    let limits = Limits::default().max_scan_bytes(32 * MIB + 10).unwrap();
    let read = |selection| Window::read(&source, selection, &limits, &|| false);
    let known = 32 * MIB / LINE;
    let window = read(Selection::default().limit(2).unwrap()).unwrap();
    assert_eq!((window.total_lines, window.known_lines, window.final_newline), (None, known + 1, None));
    assert_eq!(
        window.continuation().unwrap().to_string(),
        format!("[At least {} more lines in file. Use offset=3 to continue.]", known - 1)
    );
    let last = read(Selection::from_line(known - 1).unwrap()).unwrap();
    assert_eq!((last.end_line, last.cut), (known, Some(Cut::Scan { max_scan_bytes: 32 * MIB + 10 })));
    assert_eq!(last.next_offset(), None);
    assert_eq!(
        last.continuation().unwrap().to_string(),
        format!(
            "[Showing lines {}-{known} of at least {}. The rest lies beyond the scan limit (33554442 bytes).]",
            known - 1,
            known + 1
        )
    );
    for (selection, message) in [
        (
            Selection::from_line(known + 1).unwrap(),
            format!("Line {} lies beyond the scan limit (33554442 bytes)", known + 1),
        ),
        (Selection::tail(1).unwrap(), "The last line lies beyond the scan limit (33554442 bytes)".to_owned()),
    ] {
        let error = read(selection).unwrap_err();
        assert_eq!((error.code(), error.to_string()), ("scan_limit", message));
    }
    assert!(source.reads() < 5000, "{} reads", source.reads());
}

#[test]
fn the_default_scan_limit_is_16_gib() {
    let source = Endless { known: Some(1 << 40), size: 0, ..Endless::default() };
    let read = Window::read(&source, Selection::tail(1).unwrap(), &Limits::default(), &|| false);
    // It has nothing at all, which is found out before.
    assert_eq!(read.unwrap().total_lines, Some(0));
    let error = Error::from(ErrorKind::ScanLimit { line: Some(900_000_000), max_scan_bytes: 16 << 30 });
    assert_eq!(error.to_string(), "Line 900000000 lies beyond the scan limit (16 GiB)");
    let none = Limits::default().max_scan_bytes(0).unwrap_err();
    assert_eq!(none.to_string(), "max_scan_bytes must be a positive integer");
}

#[test]
fn without_a_total_nothing_is_read_behind_the_window() {
    let source = Endless::new(1 << 40);
    let limits = Limits::default().no_total();
    let window = Window::read(&source, Selection::default(), &limits, &|| false).unwrap();
    assert_eq!(source.reads(), 1);
    assert_eq!((window.end_line, window.total_lines, window.known_lines), (800, None, 801));
    assert_eq!(
        window.continuation().unwrap().to_string(),
        "[Showing lines 1-800 of at least 801 (50 KiB limit). Use offset=801 to continue.]"
    );
    // A window that comes to the end knows the total all the same.
    let small = Endless::new(10 * LINE);
    let read = |selection| Window::read(&small, selection, &limits, &|| false).unwrap();
    assert_eq!(read(Selection::default()).total_lines, Some(10));
    assert_eq!(read(Selection::from_line(9).unwrap().limit(2).unwrap()).total_lines, Some(10));
    assert_eq!(read(Selection::from_line(8).unwrap().limit(2).unwrap()).total_lines, None);
    // And the last lines have numbers.
    assert_eq!(read(Selection::tail(1).unwrap()).total_lines, Some(10));
}
