//! Paths as Windows writes them: what an admitted path must not have, what must be refused, and what must not.

use capread::Syntax;

use super::{Verdict, breaks_a_rule, fence, judge, normalise};

pub(super) fn check(roots: &[&[u8]], request: &[u8]) {
    let fence = fence(Syntax::Windows, roots);
    let verdict = judge(&fence, request);
    let flat = flatten(request);

    if let Verdict::Inside(path) = &verdict {
        let mut names = path.split(|byte| *byte == b'/');
        assert!(path.is_empty() || names.all(|name| !name.is_empty() && !is_special(name)), "admitted {path:?}");
        let path = if path.is_empty() { &b"."[..] } else { path };
        let backslashes = path.split(|byte| *byte == b'/').collect::<Vec<_>>().join(&b'\\');
        for again in [path, &backslashes].into_iter().filter(|again| !breaks_a_rule(again)) {
            assert_eq!(judge(&fence, again), verdict, "is not idempotent");
        }
        assert!(leads_to(roots, &flat, &flatten(path)), "another path than the one asked for: {path:?}");
    }
    // With a separator or a drive in front it may be an absolute path, whose prefix is exempt.
    if flat.starts_with(b"/") || flat.get(1) == Some(&b':') {
        return;
    }
    let mut names = flat.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"." | b".."));
    if breaks_a_rule(&flat) || names.clone().any(is_special) {
        assert_eq!(verdict, Verdict::Invalid, "a name with another meaning");
    } else if names.all(is_tame) && normalise(&flat).0 == 0 {
        let Verdict::Inside(path) = verdict else { panic!("{verdict:?} for a path without any trap") };
        assert_eq!(flatten(&path), normalise(&flat).1);
    }
}

/// In one case, and with one separator.
fn flatten(path: &[u8]) -> Vec<u8> {
    path.iter().map(|byte| if *byte == b'\\' { b'/' } else { byte.to_ascii_lowercase() }).collect()
}

/// A name that Windows would not take as it is written.
fn is_special(name: &[u8]) -> bool {
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let stem = String::from_utf8_lossy(stem).trim_end_matches(' ').to_ascii_uppercase();
    let device = match stem.strip_prefix("COM").or(stem.strip_prefix("LPT")) {
        Some(number) => number.chars().count() == 1 && number.contains(|c| "123456789¹²³".contains(c)),
        None => matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"),
    };
    device || name.iter().any(|byte| b":\\".contains(byte)) || name.ends_with(b".") || name.ends_with(b" ")
}

/// A name of characters that no system forbids.
fn is_tame(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-$~@".contains(byte))
}

/// Whether a root and `path` below it name the same place as the request, joined to a root where it is not absolute.
fn leads_to(roots: &[&[u8]], request: &[u8], path: &[u8]) -> bool {
    let roots: Vec<_> = roots.iter().map(|root| place(&flatten(root))).collect();
    let place_of_request = |(base_prefix, base): &(Vec<u8>, Vec<u8>)| match split_prefix(request) {
        (prefix, rest) if !prefix.is_empty() => (prefix, normalise(&rest).1),
        (_, rest) if rest.starts_with(b"/") => (base_prefix.clone(), normalise(&rest).1),
        (_, rest) => (base_prefix.clone(), normalise(&[base, b"/".as_slice(), &rest].concat()).1),
    };
    let below =
        |(prefix, root): &(Vec<u8>, Vec<u8>)| (prefix.clone(), normalise(&[root, b"/".as_slice(), path].concat()).1);
    match &roots[..] {
        [] => normalise(request) == (0, normalise(path).1),
        roots => roots.iter().any(|base| roots.iter().any(|root| place_of_request(base) == below(root))),
    }
}

fn place(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (prefix, rest) = split_prefix(path);
    (prefix, normalise(&rest).1)
}

/// The drive or share in front of a flattened path, and the rest.
fn split_prefix(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let path = match (path.strip_prefix(b"//?/unc/"), path.strip_prefix(b"//?/")) {
        (Some(share), _) => [b"//", share].concat(),
        (None, Some(rest)) => rest.to_vec(),
        (None, None) => path.to_vec(),
    };
    let end = if path.starts_with(b"//") {
        let mut slashes = path.iter().enumerate().skip(2).filter(|(_, byte)| **byte == b'/');
        slashes.nth(1).map_or(path.len(), |(index, _)| index)
    } else if path.get(1) == Some(&b':') {
        2
    } else {
        0
    };
    (path[..end].to_vec(), path[end..].to_vec())
}
