//! What is no regular file is told apart without being opened; what procfs has is a file or is outside.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use capread::{ErrorKind, FileKind, Limits, ReadRequest, ReadTool, Resolver, Selection};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::support::{
    Expected, Row, Shared, Tree, assert_fails, check, check_in, invalid, missing, outside, root_at, special, text,
    without_privileges,
};
use crate::world::{had, is_root, proc};

#[test]
fn refuses_what_is_no_regular_file_by_its_kind() {
    check(&[
        Row("21", &[], &[(".", special(".", "directory")), ("", invalid("path must not be empty"))]),
        Row("22", &["d/"], &[("d", special("d", "directory")), ("d/", special("d", "directory"))]),
        Row("64", &["p|"], &[("p", special("p", "FIFO")), ("p/", special("p", "FIFO"))]),
        Row("66", &["p|", "l -> p", "m -> {R}/p"], &[("l", special("l", "FIFO")), ("m", special("m", "FIFO"))]),
        Row("67", &["s="], &[("s", special("s", "socket"))]),
        Row("67 link", &["d/s=", "l -> d/s"], &[("l", special("l", "socket"))]),
        Row("25", &["p|", "s="], &[("p/x", missing("p/x")), ("s/x", missing("s/x"))]),
        Row(
            "34",
            &["p|", "f", "l -> p/", "m -> p/../f", "n -> p/."],
            &[("l", missing("l")), ("m", missing("m")), ("n", missing("n"))],
        ),
    ]);
}

#[test]
fn refuses_links_to_devices_outside() {
    check(&[
        Row("69", &["l -> /dev/zero", "m -> /dev/stdin"], &[("l", outside("l")), ("m", outside("m"))]),
        Row("69 fd", &["l -> /dev/fd/0", "m -> /proc/self/fd/0"], &[("l", outside("l")), ("m", outside("m"))]),
        Row("69 FIFO", &["O/p|", "l -> ../elsewhere/p"], &[("l", outside("l"))]),
    ]);
}

#[test]
fn tells_the_kind_to_programs() {
    let tree = Tree::new(&["d/", "p|", "s="]);
    for (name, kind) in [("d", FileKind::Directory), ("p", FileKind::Fifo), ("s", FileKind::Socket)] {
        assert_eq!(tree.root().open(name).unwrap_err().kind(), &ErrorKind::NotAFile(kind), "{name}");
    }
}

/// No driver has these numbers, so an open would fail with another error.
#[test]
fn does_not_open_devices() {
    let Some(()) = had("the right to make devices", is_root()) else { return };
    let tree = Tree::new(&["zero%", "l -> c"]);
    let nobody = rustix::fs::makedev(0xffe, 0xffe);
    tree.node("c", FileType::CharacterDevice, nobody);
    tree.node("b", FileType::BlockDevice, nobody);
    File::open(tree.at("c")).unwrap_err();
    File::open(tree.at("b")).unwrap_err();
    check_in(
        &tree,
        &tree.root(),
        &[
            ("c", special("c", "character device")),
            ("b", special("b", "block device")),
            ("l", special("l", "character device")),
            ("zero", special("zero", "character device")),
            ("zero/x", missing("zero/x")),
        ],
    );
    for (name, kind) in [("c", FileKind::CharacterDevice), ("b", FileKind::BlockDevice)] {
        assert_eq!(tree.root().open(name).unwrap_err().kind(), &ErrorKind::NotAFile(kind), "{name}");
    }
}

/// Whether a thread of this process sleeps; one that was woken runs, or has ended.
fn sleeps(thread: &Path) -> bool {
    let Ok(stat) = fs::read_to_string(thread.join("stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'))
}

#[test]
fn does_not_wake_a_writer_that_waits_on_a_fifo() {
    let tree = Tree::new(&["p|", "l -> p"]);
    let path = tree.at("p");
    let (sender, receiver) = mpsc::channel();
    let writer = thread::spawn(move || {
        let this_thread = proc().join(fs::read_link(proc().join("thread-self")).unwrap());
        sender.send(this_thread).unwrap();
        OpenOptions::new().write(true).open(path).unwrap().write_all(b"IN: waited\n")
    });
    let writing = receiver.recv().unwrap();
    while !sleeps(&writing) {
        thread::yield_now();
    }
    let root = tree.root();
    for _ in 0..100 {
        check_in(&tree, &root, &[("p", special("p", "FIFO")), ("l", special("l", "FIFO"))]);
        assert!(sleeps(&writing) && !writer.is_finished(), "the writer was woken");
    }
    // Only now comes a reader; a writer that had been woken before would have found none.
    assert_eq!(fs::read_to_string(tree.at("p")).unwrap(), "IN: waited\n");
    writer.join().unwrap().unwrap();
}

#[test]
fn does_not_connect_to_a_socket() {
    let tree = Tree::new(&[]);
    let listener = UnixListener::bind(tree.at("s")).unwrap();
    listener.set_nonblocking(true).unwrap();
    check_in(&tree, &tree.root(), &[("s", special("s", "socket"))]);
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// A process that holds a lease on a file, fcntl(2): `F_WRLCK` or `F_RDLCK`, by their numbers. It does not care who wants to open it.
struct Lease(Child);

impl Lease {
    const WRITE: &str = "1";
    const READ: &str = "0";

    /// There is no safe way to take one in Rust. Perl is part of every Debian.
    fn take(file: &Path, kind: &str) -> Option<Self> {
        const TAKE: &str = r#"
            $SIG{IO} = "IGNORE";
            open(my $file, $ARGV[1] ? "+<" : "<", $ARGV[0]) or die "open: $!";
            for (1 .. 1000) {
                last if $held = fcntl($file, 1024, 0 + $ARGV[1]);
                # A process that was started while the file was written may hold it for a moment.
                select(undef, undef, undef, 0.01);
            }
            die "F_SETLEASE: $!" unless $held;
            $| = 1;
            print "held\n";
            <STDIN>;
        "#;
        let mut perl = Command::new("perl");
        perl.args(["-e", TAKE]).arg(file).arg(kind).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut lease = Self(had("perl, for leases", perl.spawn())?);
        let mut said = String::new();
        BufReader::new(lease.0.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Some(lease)
    }

    fn is_held(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn give_back(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

#[test]
fn a_file_under_a_write_lease_is_busy_at_once() {
    let tree = Tree::new(&["d/f", "l -> d/f"]);
    let Some(mut lease) = Lease::take(&tree.at("d/f"), Lease::WRITE) else { return };
    let root = tree.root();
    for _ in 0..2 {
        for request in ["d/f", "l"] {
            let busy = Expected::Error("busy", format!("File is busy: {request}"));
            check_in(&tree, &root, &[(request, busy)]);
        }
    }
    let error = root.open("d/f").unwrap_err();
    assert_eq!((error.kind(), error.raw_os_error()), (&ErrorKind::Busy, Some(Errno::AGAIN.raw_os_error())));
    // Whoever waits gets the file once the kernel has broken the lease; nobody did.
    assert!(lease.is_held());
    lease.give_back();
    check_in(&tree, &root, &[("d/f", text("IN: d/f")), ("l", text("IN: d/f"))]);
}

#[test]
fn a_read_lease_is_in_nobodys_way() {
    let tree = Tree::new(&["f"]);
    let Some(mut lease) = Lease::take(&tree.at("f"), Lease::READ) else { return };
    check_in(&tree, &tree.root(), &[("f", text("IN: f"))]);
    assert!(lease.is_held());
    lease.give_back();
}

#[test]
fn decides_the_kind_before_permission() {
    without_privileges("special_files::decides_the_kind_before_permission", || {
        let tree = Tree::new(&["p|", "s=", "d/x", "l -> p"]);
        for name in ["p", "s", "d"] {
            tree.chmod(name, 0);
        }
        check_in(
            &tree,
            &tree.root(),
            &[
                ("p", special("p", "FIFO")),
                ("l", special("l", "FIFO")),
                ("s", special("s", "socket")),
                ("d", special("d", "directory")),
            ],
        );
        tree.chmod("d", 0o755);
        tree.close();
    });
}

#[test]
fn reads_files_of_procfs_though_their_size_is_said_to_be_zero() {
    let root = root_at(proc());
    let tool = ReadTool::new(root.clone());
    let output = tool.call(&ReadRequest::new("self/status").limit(1), &|| false).unwrap();
    let expected = fs::read_to_string(proc().join("self/status")).unwrap();
    assert_eq!(Some(output.window.text.as_str()), expected.lines().next());
    assert_eq!((output.file_size, output.window.total_lines), (0, Some(expected.lines().count() as u64)));
    assert_eq!(root.open("self/status").unwrap().size(), 0);
    // A plain link, not a magic one.
    let own = format!("{}/status", std::process::id());
    assert_eq!(tool.call(&ReadRequest::new(own).limit(1), &|| false).unwrap().window.text, output.window.text);
    assert!(root.open("mounts").is_ok());
}

#[test]
fn never_follows_magic_links() {
    let tree = Tree::new(&["f"]);
    let held = File::open(tree.at("f")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    let root = root_at(proc());
    let of_file = format!("self/fd/{number}");
    for request in [
        "self/exe",
        "self/cwd/x",
        "self/cwd",
        "self/fd/0",
        "self/ns/mnt",
        "self/root/etc/hostname",
        "self/root",
        "thread-self/exe",
        of_file.as_str(),
    ] {
        check_in(&tree, &root, &[(request, outside(request))]);
    }
    check_in(&tree, &root, &[("self/fd/nope", missing("self/fd/nope"))]);
    check_in(&tree, &root, &[("self/fd", special("self/fd", "directory"))]);
    // Not even where its text would lie inside.
    let top = root_at("/");
    for request in [of_file.as_str(), "self/exe", "self/root/etc"] {
        let request = proc().join(request).into_os_string().into_string().unwrap();
        let error = top.open(&request).unwrap_err();
        assert_eq!(error.code(), "outside_root", "{request}");
        assert_eq!(error.to_string(), format!("Path is outside the allowed root: {request}"));
    }
}

/// The kernel's log has no end: a read of it waits for the next message, or fails where it must not wait. That takes messages out of
/// it, as any reader of it does; few programs still read it there.
#[test]
fn a_file_without_an_end_holds_no_read() {
    let tool = ReadTool::new(root_at(proc())).with_limits(Limits::default().deadline(Duration::from_secs(60)));
    let error = tool.call(&ReadRequest::new("kmsg").limit(1), &|| false).unwrap_err();
    let may_read = File::open(proc().join("kmsg")).is_ok();
    let expected = if may_read {
        ("busy", "File is busy: kmsg".to_owned())
    } else {
        ("permission_denied", "Permission denied: kmsg".to_owned())
    };
    assert_eq!((error.code(), error.to_string()), expected);
}

/// What was opened is one thing from then on, whatever its name comes to mean.
#[test]
fn text_and_metadata_are_of_the_file_that_was_opened() {
    let tree = Tree::new(&["d/x", "O/x = OUT: another file\n"]);
    let root = tree.root();
    let file = root.open("d/x").unwrap();
    fs::rename(tree.at("d"), tree.at("T/moved")).unwrap();
    symlink(tree.outside(), tree.at("d")).unwrap();
    fs::hard_link(tree.at("T/moved/x"), tree.at("h")).unwrap();
    fs::remove_file(tree.at("T/moved/x")).unwrap();
    let window = file.window(Selection::from_line(1).unwrap(), &Limits::default(), &|| false).unwrap();
    assert_eq!((file.size(), file.links(), window.text.as_str()), (8, 1, "IN: d/x"));
    check_in(&tree, &root, &[("d/x", outside("d/x")), ("h", text("IN: d/x"))]);
}

/// Handles of this process to what lies in `tree`, and nothing of other tests.
fn handles(tree: &Tree) -> usize {
    fs::read_dir(proc().join("self/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.starts_with(tree.path()))
        .count()
}

#[test]
fn leaves_no_handle_open() {
    let deep = "d/".repeat(100);
    let mut tree = Tree::new(&[
        &(deep.clone() + "f"),
        "f",
        "p|",
        "s=",
        "x -> x",
        "l -> d/d/../d/d/../../f",
        "out -> d/d/../../../elsewhere/s",
        "O/s",
    ]);
    tree.add(&format!("up -> {deep}{}f", "../".repeat(100)));
    tree.file("binary", b"IN:\0");
    let root = tree.root();
    let tool = ReadTool::new(root.clone());
    assert_eq!(handles(&tree), 1, "the root's own");
    let requests = [
        ("f", "IN: f"),
        (&(deep.clone() + "f"), "IN: "),
        ("up", "IN: f"),
        (&(deep.clone() + "nope"), "not_found"),
        (&(deep.clone() + "f/x"), "not_found"),
        (&deep, "not_a_file"),
        ("p", "not_a_file"),
        ("s", "not_a_file"),
        ("x", "too_many_links"),
        ("out", "outside_root"),
        ("../x", "outside_root"),
        (&"d/".repeat(257), "resource_limit"),
        ("binary", "binary"),
    ];
    for _ in 0..20 {
        for (request, expected) in requests {
            match tool.call(&ReadRequest::new(request), &|| false) {
                Ok(output) => assert!(output.window.text.starts_with(expected), "{request}"),
                Err(error) => assert_eq!(error.code(), expected, "{request}"),
            }
        }
        // Half way down the walk, and before the one call to the kernel.
        for (resolver, asked) in [(Resolver::Walk, 50), (Resolver::Kernel, 1)] {
            let left = Shared::new(asked);
            let stop = || left.replace(left.get() - 1) == 0;
            let root = root.clone().with_resolver(resolver);
            assert_fails(root.open_cancellable(deep.clone() + "f", &stop), "cancelled", "Operation aborted");
        }
        assert_fails(
            tool.call(&ReadRequest::new("f").offset(9), &|| false),
            "offset_beyond_end",
            "Offset 9 is beyond end of file (1 lines total)",
        );
    }
    assert_eq!(handles(&tree), 1, "some were left open");
    // One more for each file that is held, whatever the depth.
    let files = [root.open("f").unwrap(), root.open(deep.clone() + "f").unwrap(), root.open("up").unwrap()];
    assert_eq!(handles(&tree), 1 + files.len());
    drop((files, tool, root));
    assert_eq!(handles(&tree), 0);
}

#[test]
fn a_handle_that_is_handed_out_reads_only() {
    let tree = Tree::new(&["f"]);
    let mut file = File::from(tree.root().open("f").unwrap());
    assert_eq!(file.write_all(b"OUT").unwrap_err().raw_os_error(), Some(9), "EBADF");
    check_in(&tree, &tree.root(), &[("f", text("IN: f"))]);
}
