//! Trees as literals, requests by every entrance, and what must come back.

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use capread::{Error, ReadRequest, ReadTool, Root};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use crate::world::{self, assert_passed};

/// A [`std::cell::Cell`] that threads may share, such as a flag that a read asks.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Mutex<T>);

impl<T: Copy> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn get(&self) -> T {
        *self.0.lock().unwrap()
    }

    pub(crate) fn set(&self, value: T) {
        *self.0.lock().unwrap() = value;
    }

    pub(crate) fn replace(&self, value: T) -> T {
        std::mem::replace(&mut *self.0.lock().unwrap(), value)
    }
}

/// The root's name inside the temporary directory, so `../app/f` leaves it and comes back.
const ROOT: &str = "app";

/// The name of the directory O beside the root. Long and odd, so that a message that has it can have it from nowhere else.
const OUTSIDE: &str = "elsewhere";

/// `uid` and `gid` of nobody.
const NOBODY: u32 = 65534;

/// A root R with its entries, and a directory O beside it. An entry is written as
///
/// | literal | entry |
/// |---|---|
/// | `d/` | a directory |
/// | `d/f` | a file; what it says is `IN: d/f`, or `OUT: s` for `O/s` |
/// | `f = text` | a file that says `text` |
/// | `l -> target` | a symbolic link |
/// | `h => O/s` | a hard link to an entry above |
/// | `p\|` | a FIFO |
/// | `s=` | a socket |
/// | `c%` | a character device, the one that `/dev/zero` is |
///
/// Directories on the way are made. An entry that starts with `O/` goes into O, with `T/` into the directory T that holds both, any
/// other into R. `{R}`, `{O}` and `{T}` stand for their absolute paths.
pub(crate) struct Tree {
    base: PathBuf,
    /// Targets of its links.
    targets: Vec<String>,
    temp: TempDir,
}

impl Tree {
    #[track_caller]
    pub(crate) fn new(entries: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let mut tree = Self { base, targets: Vec::new(), temp };
        fs::create_dir(tree.path()).unwrap();
        fs::create_dir(tree.outside()).unwrap();
        for entry in entries {
            tree.add(entry);
        }
        tree
    }

    /// The root's absolute path.
    pub(crate) fn path(&self) -> PathBuf {
        self.base.join(ROOT)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.join(OUTSIDE)
    }

    pub(crate) fn root(&self) -> Root {
        root_at(self.path())
    }

    pub(crate) fn tool(&self) -> ReadTool {
        ReadTool::new(self.root())
    }

    /// `text` with its placeholders filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let shown = |path: PathBuf| path.into_os_string().into_string().unwrap();
        text.replace("{R}", &shown(self.path()))
            .replace("{O}", &shown(self.outside()))
            .replace("{T}", &shown(self.base.clone()))
    }

    /// Where an entry lies.
    pub(crate) fn at(&self, entry: &str) -> PathBuf {
        match entry.split_once('/') {
            Some(("O", outside)) => self.outside().join(outside),
            Some(("T", above)) => self.base.join(above),
            _ => self.path().join(entry),
        }
    }

    /// Makes an entry, and looks whether it is really there: of a link that was not made, any refusal would be right.
    #[track_caller]
    pub(crate) fn add(&mut self, entry: &str) {
        if let Some((name, target)) = entry.split_once(" -> ") {
            let target = self.fill(target);
            self.link(name, &target);
        } else if let Some((name, other)) = entry.split_once(" => ") {
            let path = self.place(name);
            fs::hard_link(self.at(other), &path).unwrap();
            assert!(path.metadata().unwrap().nlink() > 1, "{entry}");
        } else if let Some((name, text)) = entry.split_once(" = ") {
            self.file(name, text.as_bytes());
        } else if let Some(name) = entry.strip_suffix('/') {
            fs::create_dir_all(self.place(name)).unwrap();
            assert!(self.at(name).is_dir(), "{entry}");
        } else if let Some(name) = entry.strip_suffix('|') {
            self.node(name, FileType::Fifo, 0);
        } else if let Some(name) = entry.strip_suffix('=') {
            drop(UnixListener::bind(self.place(name)).unwrap());
            assert!(self.at(name).symlink_metadata().unwrap().file_type().is_socket(), "{entry}");
        } else if let Some(name) = entry.strip_suffix('%') {
            self.node(name, FileType::CharacterDevice, rustix::fs::makedev(1, 5));
        } else {
            let outside = entry.strip_prefix("O/").or(entry.strip_prefix("T/"));
            let text = outside.map_or(format!("IN: {entry}\n"), |name| format!("OUT: {name}\n"));
            self.file(entry, text.as_bytes());
        }
    }

    #[track_caller]
    fn link(&mut self, name: &str, target: &str) {
        let path = self.place(name);
        symlink(target, &path).unwrap();
        assert_eq!(path.read_link().unwrap(), Path::new(target), "{name}");
        self.targets.push(target.to_owned());
    }

    #[track_caller]
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) {
        let path = self.place(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
    }

    /// Puts another file in place of one that may be there.
    #[track_caller]
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) {
        let _ = fs::remove_file(self.at(name));
        fs::write(self.at(name), bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn node(&self, name: &str, kind: FileType, device: rustix::fs::Dev) {
        let path = self.place(name);
        rustix::fs::mknodat(CWD, &path, kind, Mode::from_raw_mode(0o666), device).unwrap();
        assert_eq!(FileType::from_raw_mode(path.symlink_metadata().unwrap().mode()), kind, "{name}");
    }

    /// The path of a new entry, in a directory that is there by now. No link may lead it out of the tree, nor be written through.
    #[track_caller]
    fn place(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        let directory = path.parent().unwrap();
        let there = directory.ancestors().find(|above| above.exists()).unwrap().canonicalize().unwrap();
        assert!(there.starts_with(&self.base) && !path.is_symlink(), "{name} would be written through a link");
        fs::create_dir_all(directory).unwrap();
        path
    }

    #[track_caller]
    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(self.at(name).symlink_metadata().unwrap().mode() & 0o7777, mode, "{name}");
    }

    /// Removes the whole tree.
    pub(crate) fn close(self) {
        self.temp.close().unwrap();
    }

    /// Asks for `request` by every entrance. All must give the same answer, and no answer may tell what lies outside.
    #[track_caller]
    pub(crate) fn read(&self, root: &Root, request: impl AsRef<Path>) -> Result<String, Error> {
        let request = request.as_ref();
        let answer =
            ReadTool::new(root.clone()).call(&ReadRequest::new(request), &|| false).map(|output| output.to_string());
        let opened = root.open(request).map(|file| {
            let mut text = String::new();
            fs::File::from(file).read_to_string(&mut text).unwrap();
            text.strip_suffix('\n').unwrap_or(&text).to_owned()
        });
        let facts = |answer: &Result<String, Error>| match answer {
            Ok(text) => text.clone(),
            Err(error) => format!(
                "{:?} {:?} {:?} {:?} {:?} {}",
                error.kind(),
                error.input(),
                error.path(),
                error.suggestions(),
                error.raw_os_error(),
                without_entries(error)
            ),
        };
        assert_eq!(facts(&answer), facts(&opened), "the tool and Root::open differ on {}", request.display());
        #[cfg(feature = "json")]
        self.read_json(root, request, &answer);
        if let Err(error) = &answer {
            self.assert_silent(request, &format!("{error:?} {error}"));
        }
        self.assert_silent(request, &facts(&answer));
        if let Err(error) = &opened {
            self.assert_no_target(error);
        }
        // Only the tool tells what is in a directory, which tests of that look at by themselves.
        opened
    }

    #[cfg(feature = "json")]
    #[track_caller]
    fn read_json(&self, root: &Root, request: &Path, answer: &Result<String, Error>) {
        let Some(path) = request.to_str() else { return };
        let result = ReadTool::new(root.clone()).call_json(&serde_json::json!({"path": path}), &|| false);
        let json = capread::answer(&result);
        self.assert_silent(request, &json.to_string());
        assert_eq!(json["isError"], answer.is_err(), "{json}");
        let text = answer.as_ref().map_or_else(without_entries, Clone::clone);
        let Err(error) = answer else { return assert_eq!(json["content"][0]["text"], text, "{json}") };
        assert_eq!(result.as_ref().map_err(without_entries).unwrap_err(), text);
        // What is in a directory may change, and a name may be a link's target as well.
        let facts = |error: &Error| {
            let mut facts = error.to_json();
            let fields = facts.as_object_mut().unwrap();
            fields.remove("entries");
            fields.remove("moreEntries");
            facts
        };
        let facts = (facts(error), facts(result.as_ref().unwrap_err()));
        assert_eq!(facts.0, facts.1);
        let facts = facts.0;
        self.assert_no_token(error, &facts.to_string());
    }

    /// Nothing of O, neither its path nor what its files say. What the request itself says may be said again.
    #[track_caller]
    fn assert_silent(&self, request: &Path, answer: &str) {
        let outside = self.outside().into_os_string().into_string().unwrap();
        let answer = answer.replace(&*request.to_string_lossy(), "");
        assert!(!answer.contains(&outside) && !answer.contains("OUT:"), "{answer} tells of what lies outside");
    }

    #[track_caller]
    fn assert_no_target(&self, error: &Error) {
        self.assert_no_token(error, &error.to_string());
    }

    /// No link's target is a word of `said`, or a part of one where it is long enough to be there for no other reason.
    #[track_caller]
    fn assert_no_token(&self, error: &Error, said: &str) {
        let asked = [error.input(), error.path()];
        let tokens = said
            .split(|c: char| c.is_whitespace() || "\"(){}[],:".contains(c))
            .filter(|token| !asked.contains(&Some(token)));
        for token in tokens {
            let told =
                self.targets.iter().find(|target| token == *target || target.len() > 3 && token.contains(*target));
            assert_eq!(told, None, "{said} tells a link's target");
        }
    }
}

/// The message as [`Root::open`] has it.
pub(crate) fn without_entries(error: &Error) -> String {
    let message = error.to_string();
    match (error.entries(), message.split_once(". It has: ")) {
        (Some(_), Some((message, _))) => message.to_owned(),
        _ => message,
    }
}

/// The root at `path`, in the mode of this process.
#[track_caller]
pub(crate) fn root_at(path: impl AsRef<Path>) -> Root {
    in_mode(Root::open_ambient(path).unwrap())
}

pub(crate) fn in_mode(root: Root) -> Root {
    root.with_resolver(world::mode().resolver())
}

/// What a request must give.
#[derive(Clone)]
pub(crate) enum Expected {
    Text(String),
    Error(&'static str, String),
}

pub(crate) fn text(text: &str) -> Expected {
    Expected::Text(text.to_owned())
}

pub(crate) fn invalid(message: &str) -> Expected {
    Expected::Error("invalid_argument", message.to_owned())
}

/// `told` is the request, and where it normalises to something else, ` (resolves to …)`.
pub(crate) fn outside(told: &str) -> Expected {
    Expected::Error("outside_root", format!("Path is outside the allowed root: {told}"))
}

#[cfg(feature = "policy")]
pub(crate) fn denied(path: &str) -> Expected {
    Expected::Error("denied", format!("Path is denied by policy: {path}"))
}

pub(crate) fn missing(path: &str) -> Expected {
    Expected::Error("not_found", format!("File does not exist: {path}"))
}

pub(crate) fn special(path: &str, kind: &str) -> Expected {
    Expected::Error("not_a_file", format!("Not a regular file: {path} ({kind})"))
}

pub(crate) fn no_permission(path: &str) -> Expected {
    Expected::Error("permission_denied", format!("Permission denied: {path}"))
}

pub(crate) fn too_many_links(path: &str) -> Expected {
    Expected::Error("too_many_links", format!("Too many symbolic links: {path}"))
}

pub(crate) fn too_many_components() -> Expected {
    Expected::Error("resource_limit", "Too many path components (more than 256)".to_owned())
}

/// One line of a table: its id in the notes, a tree, and what some requests must give there.
pub(crate) struct Row<'a>(pub(crate) &'a str, pub(crate) &'a [&'a str], pub(crate) &'a [(&'a str, Expected)]);

/// Checks every row before it fails with all that were wrong.
#[track_caller]
pub(crate) fn check(rows: &[Row<'_>]) {
    let mut wrong = String::new();
    for Row(id, entries, requests) in rows {
        let tree = Tree::new(entries);
        let root = tree.root();
        for mismatch in mismatches(&tree, &root, requests) {
            writeln!(wrong, "row {id} {entries:?}: {mismatch}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Checks requests in a tree that is there already, by a root that need not be opened as usual.
#[track_caller]
pub(crate) fn check_in(tree: &Tree, root: &Root, requests: &[(&str, Expected)]) {
    let wrong = mismatches(tree, root, requests);
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[track_caller]
pub(crate) fn mismatches(tree: &Tree, root: &Root, requests: &[(&str, Expected)]) -> Vec<String> {
    requests.iter().filter_map(|(request, expected)| mismatch(tree, root, request, expected)).collect()
}

#[track_caller]
fn mismatch(tree: &Tree, root: &Root, request: &str, expected: &Expected) -> Option<String> {
    let request = tree.fill(request);
    let found = tree.read(root, &request);
    let same = match (&found, expected) {
        (Ok(found), Expected::Text(text)) => *found == tree.fill(text),
        (Err(error), Expected::Error(code, message)) => {
            error.code() == *code && error.to_string() == tree.fill(message) && error.input() == Some(&request)
        }
        _ => false,
    };
    let expected = match expected {
        Expected::Text(text) => text.clone(),
        Expected::Error(code, message) => format!("{code}: {message}"),
    };
    let found = found.unwrap_or_else(|error| format!("{}: {error} (input {:?})", error.code(), error.input()));
    (!same).then(|| format!("{request:?}\n    expected {expected:?}\n    found    {found:?}"))
}

/// Asserts the code and the message of a failure.
#[track_caller]
pub(crate) fn assert_fails<T: std::fmt::Debug>(result: Result<T, Error>, code: &str, message: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{error:?}");
}

/// Runs `test`, the body of the test `name`, as a user whom permissions bind: nobody, in a process of its own, where the tests run as
/// root.
#[track_caller]
pub(crate) fn without_privileges(name: &str, test: fn()) {
    if !rustix::process::geteuid().is_root() {
        return test();
    }
    let stage = tempfile::tempdir().unwrap();
    fs::set_permissions(stage.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // The target folder may lie where nobody may not go.
    let binary = stage.path().join("tests");
    if fs::hard_link(world::binary(), &binary).is_err() {
        // By another process: a file that this one writes cannot be executed as long as any thread's new process still holds it.
        assert!(Command::new("cp").arg(world::binary()).arg(&binary).status().unwrap().success());
    }
    let output = Command::new(&binary)
        .args(["--exact", name, "--nocapture"])
        .env("TMPDIR", stage.path())
        .current_dir(stage.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    assert_passed(name, &output);
}
