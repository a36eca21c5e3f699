//! The sandbox from inside: a program that enters the same one as the command, and then tries what it should keep it from.
//!
//! It asks the standard library, as code would that an attacker runs, and not capread, which refuses all this by itself.

#![expect(clippy::disallowed_methods, reason = "what the sandbox must refuse is tried by path")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]

#[path = "../src/sandbox.rs"]
mod sandbox;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use capread::{ReadRequest, ReadTool, Root, Roots};
use landlock::ABI;
use sandbox::Sandbox;

/// Two roots, and what lies beside them.
struct Tree {
    first: PathBuf,
    second: PathBuf,
    outside: PathBuf,
}

impl Tree {
    fn new(top: &Path) -> Self {
        let [first, second, outside] = ["first", "second", "outside"].map(|name| {
            let directory = top.join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("f"), format!("{name}\n")).unwrap();
            directory
        });
        fs::write(first.join("main.rs"), "").unwrap();
        std::os::unix::fs::symlink(outside.join("f"), first.join("link")).unwrap();
        Self { first, second, outside }
    }
}

/// Where something listens.
struct Listening {
    port: u16,
    name: SocketAddr,
}

fn main() {
    let top = tempfile::tempdir().unwrap();
    let tree = Tree::new(top.path());
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = SocketAddr::from_abstract_name(format!("capread-test-{}", std::process::id())).unwrap();
    let _unix = UnixListener::bind_addr(&name).unwrap();
    let listening = Listening { port: tcp.local_addr().unwrap().port(), name };

    // Before: all of it can be done, so what fails afterwards fails because of the sandbox.
    reads_all(&tree);
    assert!(fs::read("/proc/self/status").is_ok() && fs::read("/etc/passwd").is_ok());
    TcpStream::connect(("127.0.0.1", listening.port)).unwrap();
    UnixStream::connect_addr(&listening.name).unwrap();
    let early = early_thread(tree.outside.join("f"));
    let mut opened = File::options().append(true).create(true).open(tree.outside.join("log")).unwrap();

    let roots = [Root::open_ambient(&tree.first).unwrap(), Root::open_ambient(&tree.second).unwrap()];
    let sandbox = sandbox::enter(&roots);
    eprintln!("{sandbox}");
    assert!(!sandbox.is_trouble());
    let Sandbox::Enforced(abi) = sandbox else {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "this kernel has no Landlock to try");
        return;
    };

    let is_kept_in = || {
        keeps_out_of_what_is_outside(&tree);
        keeps_from_the_network(abi, &listening);
        lets_capread_read(&tree, &roots);
        assert!(status("NoNewPrivs:").ends_with('1'));
    };
    is_kept_in();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(is_kept_in);
        }
    });

    // What is open already stays as it was opened.
    opened.write_all(b"line\n").unwrap();
    // The handles of the roots hold, whatever becomes of their names.
    let first = ["first", "elsewhere"].map(|name| top.path().join(name));
    early.ask(Wish::Rename(first.clone()));
    assert!(ReadTool::new(roots[0].clone()).call(&ReadRequest::new("f"), &|| false).is_ok());
    assert_eq!(fs::read_to_string(first[1].join("f")).unwrap(), "first\n");

    // Why it must be entered before any thread: one that runs already is not kept from anything.
    early.ask(Wish::Read);
    early.ask(Wish::Clear(top));
    eprintln!("The sandbox holds, in this thread and in those that it starts.");
}

fn reads_all(tree: &Tree) {
    for file in [tree.first.join("f"), tree.first.join("link"), tree.second.join("f"), tree.outside.join("f")] {
        assert!(fs::read_to_string(file).is_ok());
    }
}

#[track_caller]
fn is_denied<T>(result: io::Result<T>) {
    assert_eq!(result.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
}

fn keeps_out_of_what_is_outside(tree: &Tree) {
    assert_eq!(fs::read_to_string(tree.first.join("f")).unwrap(), "first\n");
    assert_eq!(fs::read_to_string(tree.second.join("f")).unwrap(), "second\n");
    assert!(fs::read_dir(&tree.second).unwrap().count() == 1);
    for outside in ["/etc/passwd", "/proc/self/status", "/proc/self/environ", "/dev/null"] {
        is_denied(File::open(outside));
    }
    is_denied(File::open(tree.outside.join("f")));
    is_denied(File::open(tree.first.join("../outside/f")));
    is_denied(File::open(tree.first.join("link")));
    is_denied(fs::read_dir(&tree.outside));
    is_denied(fs::read_dir("/"));
    // Reading is all that it may do, inside as well.
    for place in [&tree.first, &tree.outside] {
        is_denied(File::options().append(true).open(place.join("f")));
        is_denied(File::create(place.join("new")));
        is_denied(fs::create_dir(place.join("new")));
        is_denied(fs::remove_file(place.join("f")));
        is_denied(fs::rename(place.join("f"), place.join("g")));
        is_denied(std::os::unix::fs::symlink("f", place.join("l")));
    }
    // No program that is there can be started.
    is_denied(std::process::Command::new("/bin/true").spawn());
}

fn keeps_from_the_network(abi: ABI, listening: &Listening) {
    if abi >= ABI::V4 {
        is_denied(TcpStream::connect(("127.0.0.1", listening.port)));
        is_denied(TcpListener::bind("127.0.0.1:0"));
    }
    if abi >= ABI::V6 {
        let error = UnixStream::connect_addr(&listening.name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
}

fn lets_capread_read(tree: &Tree, roots: &[Root; 2]) {
    let tool = ReadTool::new(Roots::from(roots[0].clone()).and(roots[1].clone()));
    let read = |path: &Path| tool.call(&ReadRequest::new(path), &|| false);
    assert_eq!(read("f".as_ref()).unwrap().window.text, "first");
    assert_eq!(read(&tree.second.join("f")).unwrap().window.text, "second");
    assert_eq!(read("link".as_ref()).unwrap_err().code(), "outside_root");
    let missing = read("mian.rs".as_ref()).unwrap_err();
    assert_eq!((missing.code(), missing.suggestions()), ("not_found", &["main.rs".to_owned()][..]));
}

fn status(name: &str) -> String {
    // `/proc` is closed, so a thread outside reads it.
    let of_this_thread = fs::read_link("/proc/thread-self").unwrap();
    let reader = STATUS.get().unwrap();
    let (answer, status) = mpsc::channel();
    reader.send((Path::new("/proc").join(of_this_thread).join("status"), answer)).unwrap();
    let status: String = status.recv().unwrap();
    status.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
}

static STATUS: std::sync::OnceLock<mpsc::Sender<(PathBuf, mpsc::Sender<String>)>> = std::sync::OnceLock::new();

/// What the thread that was there before is to do.
enum Wish {
    Read,
    Rename([PathBuf; 2]),
    Clear(tempfile::TempDir),
}

struct Early {
    wishes: mpsc::Sender<Wish>,
    done: mpsc::Receiver<()>,
}

impl Early {
    #[track_caller]
    fn ask(&self, wish: Wish) {
        self.wishes.send(wish).unwrap();
        self.done.recv().unwrap();
    }
}

fn early_thread(outside: PathBuf) -> Early {
    let (paths, asked) = mpsc::channel::<(PathBuf, mpsc::Sender<String>)>();
    STATUS.set(paths).unwrap();
    thread::spawn(move || {
        for (path, answer) in asked {
            answer.send(fs::read_to_string(path).unwrap()).unwrap();
        }
    });
    let (wishes, orders) = mpsc::channel();
    let (tell, done) = mpsc::channel();
    thread::spawn(move || {
        for wish in orders {
            match wish {
                Wish::Read => drop(File::open(&outside).unwrap().read(&mut [0]).unwrap()),
                Wish::Rename([from, to]) => fs::rename(from, to).unwrap(),
                Wish::Clear(directory) => directory.close().unwrap(),
            }
            tell.send(()).unwrap();
        }
    });
    Early { wishes, done }
}
