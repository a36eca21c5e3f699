//! The lexical fence, against a normaliser of strings.
//!
//! An input is text: the line of the root's path as given, the line of its real path (either may be empty: not known), and the
//! request, which is all that follows. Each is judged as Unix and as Windows write paths.

mod windows;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use capread::{Fence, RelPath, Syntax};

/// Longest request in bytes.
const MAX_REQUEST: usize = 4096;

/// Longest name in bytes.
const MAX_NAME: usize = 255;

/// Judges one input with the fence and with the oracle.
pub fn check(input: &[u8]) {
    let mut lines = input.splitn(3, |byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let (given, real, request) = (next(), next(), next());
    let roots: Vec<&[u8]> = [given, real].into_iter().filter(|root| !root.is_empty()).collect();
    // A root is there, so its path can be one.
    if roots.iter().any(|root| breaks_a_rule(root)) {
        return;
    }
    check_unix(&roots, request);
    windows::check(&roots, request);
}

/// What must become of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Admitted as this path, which is empty for the root itself.
    Inside(Vec<u8>),
    /// Refused; what a relative request normalises to is told.
    Outside(Option<String>),
    Invalid,
}

fn check_unix(roots: &[&[u8]], request: &[u8]) {
    // A root's path is made absolute before the fence sees it.
    let roots: Vec<Vec<u8>> = roots.iter().map(|root| [b"/", *root].concat()).collect();
    let fence = fence(Syntax::Unix, &roots);
    let verdict = judge(&fence, request);
    assert_eq!(verdict, judge_naively(&roots, request), "{:?}", request.escape_ascii().to_string());

    let Verdict::Inside(path) = verdict else { return };
    let names = || path.split(|byte| *byte == b'/');
    assert!(path.is_empty() || names().all(|name| !matches!(name, b"" | b"." | b"..")), "is not normal: {path:?}");
    let inside = Verdict::Inside(path.clone());
    let assert_same = |request: &[u8]| {
        let again = judge(&fence, request);
        assert!(again == inside || request.len() > MAX_REQUEST, "{again:?} for {path:?}, asked for once more");
        assert_eq!(again, judge_naively(&roots, request));
    };
    assert_same(if path.is_empty() { b"." } else { &path });
    if let Some(root) = roots.first() {
        assert_same(&[root, b"/".as_slice(), &path].concat());
    }
}

fn fence<T: AsRef<[u8]>>(syntax: Syntax, roots: &[T]) -> Fence {
    let roots: Vec<PathBuf> = roots.iter().map(|root| as_path(root.as_ref()).to_path_buf()).collect();
    Fence::new(syntax, &roots)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn text(path: &RelPath) -> Vec<u8> {
    let path = path.to_path_buf().into_os_string();
    if path == "." { Vec::new() } else { path.as_bytes().to_vec() }
}

fn judge(fence: &Fence, request: &[u8]) -> Verdict {
    let error = match fence.admit(as_path(request)) {
        Ok(path) => return Verdict::Inside(text(&path)),
        Err(error) => error,
    };
    assert_eq!(error.input(), Some(&*String::from_utf8_lossy(request)));
    match (error.code(), error.path()) {
        ("outside_root", path) => Verdict::Outside(path.map(str::to_owned)),
        ("invalid_argument", None) => Verdict::Invalid,
        other => panic!("{other:?} is no answer of a fence"),
    }
}

fn judge_naively(roots: &[Vec<u8>], request: &[u8]) -> Verdict {
    if breaks_a_rule(request) {
        return Verdict::Invalid;
    }
    let absolute = request.starts_with(b"/");
    let (ups, names) = normalise(request);
    let (Some(given), false) = (roots.first(), ups == 0 && !absolute) else {
        return match (absolute, ups) {
            (false, 0) => Verdict::Inside(names),
            (false, _) => Verdict::Outside(Some(told(ups, &names))),
            (true, _) => Verdict::Outside(None),
        };
    };
    let joined = if absolute { request.to_vec() } else { [given, b"/".as_slice(), request].concat() };
    // Above the top of the file system is the top.
    let (_, path) = normalise(&joined);
    let below = |root: &Vec<u8>| match normalise(root).1 {
        root if root.is_empty() => Some(path.clone()),
        root if root == path => Some(Vec::new()),
        root => path.strip_prefix(&*[&root, b"/".as_slice()].concat()).map(<[u8]>::to_vec),
    };
    match roots.iter().find_map(below) {
        Some(path) => Verdict::Inside(path),
        None => Verdict::Outside((!absolute).then(|| told(ups, &names))),
    }
}

/// With `/` as the one separator.
fn breaks_a_rule(request: &[u8]) -> bool {
    let mut names = request.split(|byte| *byte == b'/');
    request.is_empty() || request.contains(&0) || request.len() > MAX_REQUEST || names.any(|name| name.len() > MAX_NAME)
}

/// How many `..` are left at the front, and the names behind them. Read from the end, each `..` takes away the next name that no
/// other has taken.
fn normalise(path: &[u8]) -> (usize, Vec<u8>) {
    let mut ups = 0;
    let mut kept = Vec::new();
    for name in path.rsplit(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => ups += 1,
            _ if ups > 0 => ups -= 1,
            _ => kept.push(name),
        }
    }
    kept.reverse();
    (ups, kept.join(&b'/'))
}

fn told(ups: usize, names: &[u8]) -> String {
    let path = [b"../".repeat(ups), names.to_vec()].concat();
    String::from_utf8_lossy(path.strip_suffix(b"/").unwrap_or(&path)).into_owned()
}
