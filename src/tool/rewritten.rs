//! Paths as people and programs write them around the path that they mean.

use std::path::Path;

use crate::cancel::Stop;
use crate::error::Result;
use crate::roots::{Admitted, Roots};

/// What the request may have meant, where something is there: without an `@`, `file://` or `~/` in front, with `%20` and the like
/// decoded, without the root's own name repeated in front. The fence judges each as it would judge a request.
pub(super) fn paths(roots: &Roots, request: &Path, most: usize, stop: &Stop<'_>) -> Result<Vec<Admitted>> {
    let Some(request) = request.to_str() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (index, text) in texts(request).iter().enumerate() {
        let Ok(admitted) = roots.admit(Path::new(text)) else { continue };
        let shorter = roots.without_own_names(&admitted);
        // The first is the request itself.
        for path in (index > 0).then_some(admitted).into_iter().chain(shorter) {
            if found.len() < most && roots.leads_somewhere(&path, stop)? {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The text, and all that it may stand for.
fn texts(text: &str) -> Vec<String> {
    let mut texts = vec![text.to_owned()];
    for rewrite in [without_at, without_scheme, decoded, without_home] {
        let rewritten: Vec<_> = texts.iter().filter_map(|text| rewrite(text)).collect();
        texts.extend(rewritten);
    }
    texts
}

fn without_at(text: &str) -> Option<String> {
    text.strip_prefix('@').map(str::to_owned)
}

/// RFC 8089, and a relative path behind the slashes, which is no URI and often written.
fn without_scheme(text: &str) -> Option<String> {
    let path = text.strip_prefix("file:")?;
    let path = path.strip_prefix("//localhost/").map_or(path, |_| &path["//localhost".len()..]);
    Some(path.strip_prefix("//").unwrap_or(path).to_owned())
}

/// The home directory is nobody's business; projects are often thought to be there.
fn without_home(text: &str) -> Option<String> {
    text.strip_prefix("~/").map(str::to_owned)
}

/// Percent-encoding, RFC 3986 section 2.1; `None` where there is none, or what it says is no UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let byte = match behind {
            [high, low, ..] if *first == b'%' => hexadecimal(*high, *low),
            _ => None,
        };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok().filter(|decoded| decoded != text)
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_off_one_layer_of_each_kind() {
        for (text, meant) in [
            ("a.rs", &["a.rs"][..]),
            ("@a.rs", &["@a.rs", "a.rs"]),
            ("file:///srv/a", &["file:///srv/a", "/srv/a"]),
            ("file://localhost/srv/a", &["file://localhost/srv/a", "/srv/a"]),
            ("file:/srv/a", &["file:/srv/a", "/srv/a"]),
            ("file://src/a", &["file://src/a", "src/a"]),
            ("~/a", &["~/a", "a"]),
            ("~a", &["~a"]),
            ("a%20b%zz%e4%B8%ad%2", &["a%20b%zz%e4%B8%ad%2", "a b%zz中%2"]),
            ("%ff", &["%ff"]),
            ("%", &["%"]),
            ("@a%20b", &["@a%20b", "a%20b", "@a b", "a b"]),
        ] {
            assert_eq!(texts(text), meant);
        }
        assert_eq!(texts("@file:~/%20").len(), 8);
    }
}
