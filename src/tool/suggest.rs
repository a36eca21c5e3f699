//! What may have been meant by a path where nothing is.

use strsim::osa_distance;

use crate::cancel::Stop;
use crate::error::Result;
use crate::fence::RelPath;
use crate::resolve::Missing;
use crate::roots::{Admitted, Roots};
use crate::sys::Handle;

/// Most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Most paths that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// Longest name, in bytes, that is compared letter by letter; the time for that grows with the square.
const MAX_COMPARED_BYTES: usize = 64;

/// Entries between two looks at the caller's flag.
const ENTRIES_BETWEEN_CHECKS: usize = 256;

/// Paths like the one asked for, best first: its names as far as they are there, then one that is like the missing one. All lie in
/// the deepest directory that exists, and none is denied.
pub(super) fn paths(roots: &Roots, admitted: &Admitted, stop: &Stop<'_>) -> Result<Vec<String>> {
    let Some(missing) = roots.missing(admitted, stop)? else { return Ok(Vec::new()) };
    let asked: Vec<_> = admitted.path().components().collect();
    let (found, Some(wanted)) = (&asked[..missing.found], asked[missing.found].to_str()) else { return Ok(Vec::new()) };
    let path = |name: &str| RelPath::of_names(found.iter().copied().chain([name.as_ref()]));
    let mut names = names(roots, &missing);
    names.retain(|name| {
        !roots.denies(admitted.base(), &path(name))
            && !roots.denies(missing.base, &missing.resolved.join(name.as_ref()))
    });
    let names = like(wanted, names, stop)?;
    Ok(names.iter().map(|name| roots.told(admitted.base(), &path(name)).to_string_lossy().into_owned()).collect())
}

/// Names in the directory. One that cannot be listed has none.
fn names(roots: &Roots, missing: &Missing<Handle>) -> Vec<String> {
    let base = roots.base(missing.base);
    let directory = missing.directory.as_ref().unwrap_or(&base.directory);
    let names = directory.names(MAX_ENTRIES).unwrap_or_default();
    // A name that is no UTF-8 could not be asked for in return.
    names.into_iter().filter_map(|name| name.into_string().ok()).collect()
}

fn like(wanted: &str, names: Vec<String>, stop: &Stop<'_>) -> Result<Vec<String>> {
    let wanted = Wanted::new(wanted);
    let mut ranked = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        if index % ENTRIES_BETWEEN_CHECKS == 0 {
            stop.check()?;
        }
        if let Some(distance) = wanted.distance(&name) {
            ranked.push((distance, name));
        }
    }
    ranked.sort();
    ranked.truncate(MAX_SUGGESTIONS);
    Ok(ranked.into_iter().map(|(_, name)| name).collect())
}

/// A name that is not there.
struct Wanted {
    folded: String,
    /// Most edits between two names that are still alike: a third of the letters.
    most_edits: usize,
}

impl Wanted {
    fn new(name: &str) -> Self {
        let folded = name.to_lowercase();
        Self { most_edits: folded.chars().count() / 3, folded }
    }

    /// Edits (optimal string alignment) between the names in lower case, or `None` where they are not alike. The same name with
    /// another extension or none counts as one edit.
    fn distance(&self, name: &str) -> Option<usize> {
        let name = name.to_lowercase();
        if name == self.folded {
            return Some(0);
        }
        if stem(&name) == stem(&self.folded) {
            return Some(1);
        }
        if name.len().max(self.folded.len()) > MAX_COMPARED_BYTES
            || name.len().abs_diff(self.folded.len()) > 2 * self.most_edits
        {
            return None;
        }
        Some(osa_distance(&name, &self.folded)).filter(|edits| *edits <= self.most_edits)
    }
}

/// The name without its last extension; a dot at the start begins none.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}
