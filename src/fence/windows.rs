//! How Windows takes a path apart, and the names that it would give a meaning of their own.
//!
//! The rules are those of "Naming Files, Paths, and Namespaces" in the Windows documentation. A name below the root that
//! Windows would not take literally is refused, never rewritten.

use super::{Anchor, Split, components};
use crate::display::Shown;
use crate::error::{Error, Result};

/// Names of devices in every directory, with any extension. `CONIN$` and `CONOUT$` are the console's two ends.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Names of devices when one digit follows; the superscript digits count as digits.
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];
const DEVICE_DIGITS: [&str; 12] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"];

pub(super) fn split(path: &[u8]) -> Result<Split<'_>> {
    let (anchor, rest) = split_anchor(path)?;
    let components = components(rest, is_separator);
    match components.iter().find(|name| !is_literal(name)) {
        None => Ok(Split { anchor, components }),
        Some(name) => Err(not_allowed(name)),
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

fn not_allowed(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name);
    Error::invalid(format!("path has a name that Windows gives another meaning: {}", Shown(&name)))
}

fn split_anchor(path: &[u8]) -> Result<(Anchor, &[u8])> {
    match path {
        // The verbatim namespace; only drives and shares are names that a root can have there.
        [a, b, b'?', c, rest @ ..] if [a, b, c].into_iter().all(|byte| is_separator(*byte)) => verbatim(rest),
        [a, b, rest @ ..] if is_separator(*a) && is_separator(*b) => share(rest),
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => drive(*letter, rest),
        [a, rest @ ..] if is_separator(*a) => Ok((Anchor::Rooted, rest)),
        _ => Ok((Anchor::Relative, path)),
    }
}

fn verbatim(rest: &[u8]) -> Result<(Anchor, &[u8])> {
    match rest {
        [u, n, c, separator, rest @ ..]
            if [u, n, c].map(u8::to_ascii_uppercase) == *b"UNC" && is_separator(*separator) =>
        {
            share(rest)
        }
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => drive(*letter, rest),
        _ => Err(not_allowed(rest)),
    }
}

/// `C:x` is relative to a directory that the process has for each drive, which no request may depend on.
fn drive(letter: u8, rest: &[u8]) -> Result<(Anchor, &[u8])> {
    if rest.first().is_none_or(|byte| is_separator(*byte)) {
        Ok((Anchor::Prefixed(vec![letter.to_ascii_lowercase(), b':']), rest))
    } else {
        Err(Error::invalid("path must not be relative to a drive"))
    }
}

fn share(rest: &[u8]) -> Result<(Anchor, &[u8])> {
    let mut parts = rest.splitn(3, |byte| is_separator(*byte));
    let (server, share) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // `\\.\` is the namespace of devices.
    if server.is_empty() || share.is_empty() || server == b"." || server == b"?" {
        return Err(not_allowed(rest));
    }
    let prefix = [server, b"\\", share].concat().to_ascii_lowercase();
    Ok((Anchor::Prefixed(prefix), parts.next().unwrap_or_default()))
}

/// Whether Windows takes the name as it is written.
fn is_literal(name: &[u8]) -> bool {
    if name == b".." {
        return true;
    }
    let special = |byte: &u8| *byte < 0x20 || br#"<>:"|?*"#.contains(byte);
    let trimmed = matches!(name.last(), Some(b'.' | b' '));
    !name.iter().any(special) && !trimmed && !is_device(name)
}

fn is_device(name: &[u8]) -> bool {
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let Ok(stem) = std::str::from_utf8(stem.trim_ascii_end()) else { return false };
    let stem = stem.to_ascii_uppercase();
    DEVICES.contains(&stem.as_str())
        || NUMBERED_DEVICES
            .iter()
            .filter_map(|device| stem.strip_prefix(device))
            .any(|digit| DEVICE_DIGITS.contains(&digit))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use crate::fence::{Fence, Syntax};

    /// What the request is relative to a root with these spellings, or the code and message of its refusal.
    fn admit(spellings: &[&str], request: &str) -> Result<String, (&'static str, String)> {
        let spellings: Vec<_> = spellings.iter().map(PathBuf::from).collect();
        let admitted = Fence::new(Syntax::Windows, &spellings).admit(Path::new(request));
        admitted
            .map(|path| path.to_path_buf().to_str().unwrap().to_owned())
            .map_err(|error| (error.code(), error.to_string()))
    }

    const DRIVE: [&str; 2] = [r"C:\srv\app", r"\\?\C:\srv\app"];
    const SHARE: [&str; 2] = [r"\\host\data\app", r"\\?\UNC\host\data\app"];

    #[test]
    fn admits_paths_inside_in_every_spelling() {
        for (spellings, request, expected) in [
            (DRIVE, r"src\main.rs", "src/main.rs"),
            (DRIVE, "src/main.rs", "src/main.rs"),
            (DRIVE, r"a\..\b/./c\\d", "b/c/d"),
            (DRIVE, r"C:\srv\app\f", "f"),
            (DRIVE, "c:/SRV/App/f", "f"),
            (DRIVE, r"\\?\C:\srv\app\f", "f"),
            (DRIVE, r"C:\x\..\srv\app\f", "f"),
            (DRIVE, r"\srv\app\f", "f"),
            (DRIVE, r"..\app\f", "f"),
            (DRIVE, r"C:\srv\app", "."),
            (SHARE, r"\\host\data\app\f", "f"),
            (SHARE, "//HOST/data/app/f", "f"),
            (SHARE, r"\\?\unc\host\data\app\f", "f"),
            (SHARE, r"\app\f", "f"),
            (DRIVE, "CONx", "CONx"),
            (DRIVE, "COM10", "COM10"),
            (DRIVE, "xCON.txt", "xCON.txt"),
            (DRIVE, ".env", ".env"),
            (DRIVE, "a b.c d", "a b.c d"),
        ] {
            assert_eq!(admit(&spellings, request).as_deref(), Ok(expected), "{request}");
        }
    }

    #[test]
    fn refuses_names_that_windows_does_not_take_literally() {
        for request in [
            "CON",
            "con",
            "NUL.txt",
            "nul.tar.gz",
            "COM1",
            "COM¹",
            "LPT³.log",
            "com1 .x",
            "CONIN$",
            "d/AUX",
            r"PRN\x",
            "a:b",
            "a::$DATA",
            "f.txt:x",
            r"CON:..\..\x",
            r"\\.\COM1",
            r"\??\C:\x",
            r"\\?\GLOBALROOT\x",
            "C:x",
            "x.",
            "x ",
            "...",
            "d. /x",
            "a?",
            "a*",
            "a<b",
            "a|b",
            "a\"b",
            "a\u{1}b",
            r"C:\srv\app\NUL",
            r"C:\srv\app\f:x",
            r"\\host",
            r"\\host\",
        ] {
            assert_eq!(admit(&DRIVE, request).map_err(|(code, _)| code), Err("invalid_argument"), "{request}");
        }
    }

    #[test]
    fn refuses_prefixes_that_are_not_the_roots_own() {
        let message = "path must be relative, or absolute inside the root".to_owned();
        for request in [
            r"D:\srv\app\f",
            r"C:\srv\app-secret\s",
            r"C:\srv\app\..\x",
            r"\\?\C:\x",
            r"\\host\data\app\f",
            r"\\?\UNC\h\s",
            "C:",
            r"C:\",
        ] {
            assert_eq!(admit(&DRIVE, request), Err(("invalid_argument", message.clone())), "{request}");
        }
    }

    #[test]
    fn refuses_what_leaves_the_root_by_its_text() {
        for (request, told) in
            [(r"..\x", r"..\x (resolves to ../x)"), (r"a\..\..\x", r"a\..\..\x (resolves to ../x)"), (r"\etc", r"\etc")]
        {
            let message = format!("Path is outside the allowed root: {told}");
            assert_eq!(admit(&DRIVE, request), Err(("outside_root", message)), "{request}");
        }
    }

    #[test]
    fn a_root_without_a_path_takes_relative_paths_only() {
        assert_eq!(admit(&[], r"a\f").as_deref(), Ok("a/f"));
        assert_eq!(admit(&[], r"..\f").map_err(|(code, _)| code), Err("outside_root"));
        assert_eq!(admit(&[], r"C:\f").map_err(|(code, _)| code), Err("invalid_argument"));
    }
}
