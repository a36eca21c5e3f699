//! The lexical fence: the path of a request becomes a [`RelPath`], or is refused, by its text alone.
//!
//! No system call happens here. What the text says is all that is decided: what the names lead to is the walk's affair.

mod windows;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::display::Shown;
use crate::error::{Error, ErrorKind, Request, Result};

/// Longest path of a request, in bytes: `PATH_MAX` of Linux, `path_resolution(7)`.
const MAX_PATH_BYTES: usize = 4096;

/// Longest name, in bytes: `NAME_MAX` of Linux, and of nearly every file system.
const MAX_COMPONENT_BYTES: usize = 255;

/// A path relative to the root: names only, without `.`, `..` or empty components, each at most 255 bytes. The root itself has none.
///
/// Only a root's fence makes one, from the text of a request; it is a statement about the text, not about what is there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelPath {
    /// The names with `/` between them, which is what `openat2` takes.
    text: OsString,
    names: usize,
}

impl RelPath {
    /// The path, its names separated by `/`; `.` is the root itself.
    #[must_use]
    pub fn to_path_buf(&self) -> PathBuf {
        if self.is_root() { PathBuf::from(".") } else { PathBuf::from(&self.text) }
    }

    /// The names with `/` between them; empty for the root itself.
    pub(crate) fn as_os_str(&self) -> &OsStr {
        &self.text
    }

    pub(crate) fn is_root(&self) -> bool {
        self.names == 0
    }

    /// How many names there are.
    pub(crate) fn depth(&self) -> usize {
        self.names
    }

    pub(crate) fn components(&self) -> impl Iterator<Item = &OsStr> {
        let names = self.text.as_bytes().split(|byte| *byte == b'/').take(self.names);
        names.map(OsStr::from_bytes)
    }

    /// The names as models take them.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn to_names(&self) -> Vec<OsString> {
        self.components().map(OsStr::to_os_string).collect()
    }

    /// Of names that a walk has opened one by one.
    pub(crate) fn of_names<'n>(names: impl Iterator<Item = &'n OsStr>) -> Self {
        Self::new(&names.map(OsStr::as_bytes).collect::<Vec<_>>())
    }

    /// The root itself.
    pub(crate) fn root() -> Self {
        Self::of_names([].into_iter())
    }

    pub(crate) fn join(&self, name: &OsStr) -> Self {
        Self::of_names(self.components().chain([name]))
    }

    /// This path, and `path` behind it.
    pub(crate) fn join_all(&self, path: &Self) -> Self {
        Self::of_names(self.components().chain(path.components()))
    }

    /// The root, the directories on the way, and at last the path itself.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Self> {
        (0..=self.names).map(|names| Self::of_names(self.components().take(names)))
    }

    fn new(names: &[&[u8]]) -> Self {
        Self { text: OsString::from_vec(names.join(&b'/')), names: names.len() }
    }

    /// Of text that is written as this is, names with one `/` between them; else `None`.
    fn verbatim(text: &[u8]) -> Option<Self> {
        let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && name.len() <= MAX_COMPONENT_BYTES;
        let mut components = text.split(|byte| *byte == b'/');
        let names = components.try_fold(0, |names, name| is_name(name).then_some(names + 1))?;
        memchr::memchr(0, text).is_none().then(|| Self { text: os_string(text), names })
    }
}

/// How a platform writes paths. Both are compiled and tested on every platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `/` separates; any other byte belongs to a name.
    Unix,
    /// `/` and `\` separate; prefixes, streams, devices, trailing dots and spaces have meanings that are refused.
    Windows,
}

impl Syntax {
    pub(crate) const fn native() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Unix }
    }

    fn split(self, path: &[u8]) -> Result<Split<'_>> {
        match self {
            Self::Unix => Ok(Split {
                anchor: if path.first() == Some(&b'/') { Anchor::Rooted } else { Anchor::Relative },
                components: components(path, |byte| byte == b'/'),
            }),
            Self::Windows => windows::split(path),
        }
    }

    fn same_name(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Unix => a == b,
            // Spells the root's own name only; what lies below is compared by the file system.
            Self::Windows => a.eq_ignore_ascii_case(b),
        }
    }
}

/// A path taken apart, `.` and empty components left out.
struct Split<'a> {
    anchor: Anchor,
    components: Vec<&'a [u8]>,
}

/// Where a path starts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Anchor {
    Relative,
    /// At the top of the file system, or on Windows of the root's own drive or share.
    Rooted,
    /// At the top of a drive or share (Windows): `c:` or `server\share`, in lower case.
    Prefixed(Vec<u8>),
}

fn components(path: &[u8], separates: impl Fn(u8) -> bool) -> Vec<&[u8]> {
    // As many as most paths have, at once.
    let mut names = Vec::with_capacity(32);
    names.extend(path.split(|byte| separates(*byte)).filter(|name| !name.is_empty() && *name != b"."));
    names
}

/// The names of one root, against which the text of paths is judged.
#[derive(Clone, Debug)]
pub struct Fence {
    syntax: Syntax,
    /// Absolute paths that name the root. The first is the one that relative paths are joined to.
    spellings: Vec<Spelling>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Spelling {
    /// Drive or share; empty on Unix.
    prefix: Vec<u8>,
    components: Vec<Vec<u8>>,
}

impl Fence {
    /// A fence around a root that `spellings`, absolute paths, name. Without any, it admits relative paths only.
    #[must_use]
    pub fn new(syntax: Syntax, spellings: &[PathBuf]) -> Self {
        let spellings = spellings.iter().filter_map(|path| Spelling::parse(syntax, path)).collect();
        Self { syntax, spellings }
    }

    /// Judges the text of a request.
    pub fn admit(&self, request: &Path) -> Result<RelPath> {
        self.admit_verbatim(request).map_or_else(|| self.admit_any(request), Ok)
    }

    /// The fast path for what most requests are: names that need no normalising, alone or behind the root's path. Where it answers,
    /// [`admit_any`](Self::admit_any) answers the same, at three times the cost.
    fn admit_verbatim(&self, request: &Path) -> Option<RelPath> {
        let text = request.as_os_str().as_bytes();
        if self.syntax != Syntax::Unix || text.len() > MAX_PATH_BYTES {
            return None;
        }
        RelPath::verbatim(if request.has_root() { self.below_root_in_target(text)? } else { text })
    }

    fn admit_any(&self, request: &Path) -> Result<RelPath> {
        let refused = |error: Error, path: Option<&Path>| error.asked(|| Request::new(request, path));
        let split = self.validate(request.as_os_str()).map_err(|error| refused(error, None))?;
        match &split.anchor {
            Anchor::Relative => {
                self.admit_relative(&split).map_err(|text| refused(ErrorKind::OutsideRoot.into(), Some(text.as_ref())))
            }
            Anchor::Rooted => {
                let base = self.spellings.first().map_or(&b""[..], |base| &base.prefix);
                self.admit_absolute(base, &split).ok_or_else(|| refused(ErrorKind::OutsideRoot.into(), None))
            }
            // A prefix names a device or a server. Only the root's own one is allowed.
            Anchor::Prefixed(prefix) => self
                .admit_absolute(prefix, &split)
                .ok_or_else(|| refused(Error::invalid("path must be relative, or absolute inside the root"), None)),
        }
    }

    fn validate<'a>(&self, request: &'a OsStr) -> Result<Split<'a>> {
        let bytes = request.as_encoded_bytes();
        if bytes.is_empty() {
            return Err(Error::invalid("path must not be empty"));
        }
        if bytes.contains(&0) {
            return Err(Error::invalid("path must not contain a NUL byte"));
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(Error::invalid(format!("path must be at most {MAX_PATH_BYTES} bytes, found {}", bytes.len())));
        }
        let split = self.syntax.split(bytes)?;
        match split.components.iter().find(|name| name.len() > MAX_COMPONENT_BYTES) {
            None => Ok(split),
            Some(name) => Err(Error::invalid(format!(
                "a name in path must be at most {MAX_COMPONENT_BYTES} bytes, found {} ({})",
                name.len(),
                Shown(&String::from_utf8_lossy(name)),
            ))),
        }
    }

    fn admit_absolute(&self, prefix: &[u8], split: &Split<'_>) -> Option<RelPath> {
        self.below_root(prefix, &normalise_absolute(split.components.iter().copied()))
    }

    /// Fails with what the text normalises to.
    fn admit_relative(&self, split: &Split<'_>) -> Result<RelPath, OsString> {
        let relative = Relative::normalise(&split.components);
        if relative.ups == 0 {
            return Ok(RelPath::new(&relative.names));
        }
        self.admit_above(split).ok_or_else(|| relative.to_text())
    }

    /// A relative path that goes above the root may come back to it by name.
    fn admit_above(&self, split: &Split<'_>) -> Option<RelPath> {
        let base = self.spellings.first()?;
        let joined = base.components.iter().map(Vec::as_slice).chain(split.components.iter().copied());
        self.below_root(&base.prefix, &normalise_absolute(joined))
    }

    fn below_root(&self, prefix: &[u8], absolute: &[&[u8]]) -> Option<RelPath> {
        self.spellings.iter().find_map(|root| root.strip(self.syntax, prefix, absolute)).map(RelPath::new)
    }

    /// The absolute path of what lies at `path`, in the spelling that relative paths are joined to; `path` itself without any.
    pub(crate) fn absolute(&self, path: &RelPath) -> PathBuf {
        let Some(base) = self.spellings.first() else { return path.to_path_buf() };
        let names = base.components.iter().map(|name| OsStr::from_bytes(name));
        let mut absolute = os_string(&base.prefix);
        for name in names.chain(path.components()) {
            absolute.push("/");
            absolute.push(name);
        }
        if absolute.is_empty() { PathBuf::from("/") } else { absolute.into() }
    }

    /// The path without the last names of the root in front, where it starts with them: `src` for `app/src` and `srv/app/src` in the
    /// root `/srv/app`.
    pub(crate) fn without_own_names(&self, path: &RelPath) -> Option<RelPath> {
        let names: Vec<_> = path.components().map(OsStr::as_bytes).collect();
        let is_own = |own: &[&[u8]]| {
            let ends = |root: &Spelling| root.components.iter().rev().zip(own.iter().rev()).all(|(a, b)| a == b);
            self.spellings.iter().any(|root| own.len() <= root.components.len() && ends(root))
        };
        (1..names.len()).find(|own| is_own(&names[..*own])).map(|own| RelPath::new(&names[own..]))
    }

    /// What is left of an absolute link target behind a spelling of the root, with its `..` still in it: those are for the walk.
    /// `None` where the target, read from left to right, does not start with one.
    pub(crate) fn below_root_in_target<'t>(&self, target: &'t [u8]) -> Option<&'t [u8]> {
        self.spellings.iter().find_map(|root| root.strip_text(target))
    }
}

impl Spelling {
    fn parse(syntax: Syntax, path: &Path) -> Option<Self> {
        let split = syntax.split(path.as_os_str().as_encoded_bytes()).ok()?;
        let prefix = match split.anchor {
            Anchor::Relative => return None,
            Anchor::Rooted => Vec::new(),
            Anchor::Prefixed(prefix) => prefix,
        };
        let components = normalise_absolute(split.components.into_iter()).into_iter().map(<[u8]>::to_vec).collect();
        Some(Self { prefix, components })
    }

    fn strip<'p, 'a>(&self, syntax: Syntax, prefix: &[u8], path: &'p [&'a [u8]]) -> Option<&'p [&'a [u8]]> {
        let (head, rest) = path.split_at_checked(self.components.len())?;
        let same = self.prefix == prefix
            && self.components.iter().zip(head).all(|(name, found)| syntax.same_name(name, found));
        same.then_some(rest)
    }

    /// Like [`strip`](Self::strip) on a text that is not normalised: only `.` and doubled slashes may stand between the names.
    fn strip_text<'t>(&self, target: &'t [u8]) -> Option<&'t [u8]> {
        let mut names = self.components.iter();
        let mut wanted = names.next();
        let mut rest = target;
        while let Some(name) = wanted {
            let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
            match &rest[..end] {
                b"" | b"." if end < rest.len() => {}
                found if found == name.as_slice() => wanted = names.next(),
                _ => return None,
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        Some(rest)
    }
}

/// `..` at the top of the file system stays there, as in the kernel.
fn normalise_absolute<'a>(components: impl Iterator<Item = &'a [u8]>) -> Vec<&'a [u8]> {
    let mut names = Vec::new();
    for name in components {
        if name == b".." {
            names.pop();
        } else {
            names.push(name);
        }
    }
    names
}

/// A relative path by its text: so many levels up, then names.
struct Relative<'a> {
    ups: usize,
    names: Vec<&'a [u8]>,
}

impl<'a> Relative<'a> {
    fn normalise(components: &[&'a [u8]]) -> Self {
        let mut relative = Self { ups: 0, names: Vec::with_capacity(components.len()) };
        for name in components {
            if *name != b".." {
                relative.names.push(name);
            } else if relative.names.pop().is_none() {
                relative.ups += 1;
            }
        }
        relative
    }

    fn to_text(&self) -> OsString {
        let ups = std::iter::repeat_n(&b".."[..], self.ups);
        os_string(&ups.chain(self.names.iter().copied()).collect::<Vec<_>>().join(&b'/'))
    }
}

fn os_string(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_os_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;

    /// In the second, what is below one is below the other.
    const ROOTS: [&[&str]; 4] = [&["/srv/app", "/given/app"], &["/srv/app", "/srv"], &["/"], &[]];

    fn fence(paths: &[&str]) -> Fence {
        Fence::new(Syntax::Unix, &paths.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    /// Whether the fast path answers. It must answer as the general way does, or not at all.
    #[track_caller]
    fn is_taken(fence: &Fence, request: impl AsRef<Path>) -> bool {
        let request = request.as_ref();
        let verbatim = fence.admit_verbatim(request);
        let same = verbatim.is_none() || verbatim == fence.admit_any(request).ok();
        assert!(same, "{request:?} became {verbatim:?} in {fence:?}");
        verbatim.is_some()
    }

    fn request() -> impl Strategy<Value = String> {
        let starts = ["", "", "/", "/srv/", "/srv/app/", "//srv/./app/", "/srv/app//", "/srv/app/../", "/given/app/"];
        let names = ["f", "app", "srv", "given", "...", "..f", ".f", "\\", "é", "", ".", ".."];
        let names = proptest::collection::vec(proptest::sample::select(names.to_vec()), 0..6);
        (proptest::sample::select(starts.to_vec()), names)
            .prop_map(|(start, names)| start.to_owned() + &names.join("/"))
    }

    #[test]
    fn the_fast_path_answers_as_the_general_way_does() {
        let fences = ROOTS.map(fence);
        let config = ProptestConfig { cases: 8192, failure_persistence: None, ..ProptestConfig::default() };
        let result = TestRunner::new(config).run(&request(), |request| {
            for fence in &fences {
                is_taken(fence, &request);
                let Ok(path) = fence.admit_any(request.as_ref()) else { continue };
                // What is told of a path is asked for next.
                assert_eq!(is_taken(fence, path.to_path_buf()), !path.is_root(), "{path:?}");
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn the_fast_path_is_taken_by_names_alone_or_behind_the_root_and_keeps_the_limits() {
        let name = "n".repeat(MAX_COMPONENT_BYTES);
        // With names of 255 bytes, one byte less than the longest path.
        let long = vec![name.as_str(); 16].join("/");
        assert_eq!(long.len(), MAX_PATH_BYTES - 1);
        for (request, expected) in [
            ("a/b.c/..d", true),
            ("/srv/app/a/b", true),
            ("//srv/./app/a", true),
            ("/given/app/a", true),
            ("/srv/app-secret/a", false),
            ("/srv/app//a", false),
            ("/srv/app", false),
            ("", false),
            (".", false),
            ("a//b", false),
            ("a/./b", false),
            ("a/../b", false),
            ("a/", false),
            ("a/b\0", false),
            (&name, true),
            (&format!("a/{name}n/b"), false),
            (&long, true),
            (&format!("aa/{}", &long[2..]), true),
            (&format!("aa/{}", &long[1..]), false),
            (&format!("/srv/app/{}", &long[8..]), true),
            (&format!("/srv/app/{}", &long[7..]), false),
        ] {
            assert_eq!(is_taken(&fence(ROOTS[0]), request), expected, "{request:?}");
        }
    }
}
