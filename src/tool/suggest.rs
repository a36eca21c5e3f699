//! What may have been meant by a path where nothing is.

use strsim::osa_distance;

use crate::cancel::Stop;
use crate::error::Result;
use crate::fence::RelPath;
use crate::resolve::Missing;
use crate::roots::{Admitted, Roots};
use crate::sys::{self, Handle};

/// Most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Most paths that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// Longest name, in bytes, that is compared letter by letter; the time for that grows with the square.
const MAX_COMPARED_BYTES: usize = 64;

/// Entries between two looks at the caller's flag.
const ENTRIES_BETWEEN_CHECKS: usize = 256;

/// Paths like the one asked for, best first: its names as far as they are there, then one that is like the missing one. All lie in
/// the deepest directory that exists, and none is denied, nor is what they lead to.
pub(super) fn paths(roots: &Roots, admitted: &Admitted, stop: &Stop<'_>) -> Result<Vec<String>> {
    let Some(missing) = roots.missing(admitted, stop)? else { return Ok(Vec::new()) };
    let asked: Vec<_> = admitted.path().components().collect();
    let (found, Some(wanted)) = (&asked[..missing.found], asked[missing.found].to_str()) else { return Ok(Vec::new()) };
    let path = |name: &str| admitted.with_path(RelPath::of_names(found.iter().copied().chain([name.as_ref()])));
    let mut names = like(wanted, missing.directory.as_ref().unwrap_or(&roots.base(missing.base).directory), stop)?;
    if roots.have_policies() {
        names = allowed(roots, &missing, names, path, stop)?;
    }
    names.truncate(MAX_SUGGESTIONS);
    Ok(names.iter().map(|name| roots.told_as_asked(&path(name)).to_string_lossy().into_owned()).collect())
}

/// The first few names that are not denied, without those that lead to what is. Only few, because each of them is walked.
fn allowed(
    roots: &Roots,
    missing: &Missing<Handle>,
    names: Vec<String>,
    path: impl Fn(&str) -> Admitted,
    stop: &Stop<'_>,
) -> Result<Vec<String>> {
    let mut best = Vec::new();
    for name in names {
        stop.check()?;
        let asked = path(&name);
        let lies_at = missing.resolved.join(name.as_ref());
        if !roots.denies(asked.base(), asked.path()) && !roots.denies(missing.base, &lies_at) {
            best.push((name, asked));
        }
        if best.len() == MAX_SUGGESTIONS {
            break;
        }
    }
    let mut allowed = Vec::new();
    for (name, asked) in best {
        if !roots.leads_to_denied(&asked, stop)? {
            allowed.push(name);
        }
    }
    Ok(allowed)
}

/// Names in the directory like `wanted`, best first. A directory that cannot be listed has none.
fn like(wanted: &str, directory: &Handle, stop: &Stop<'_>) -> Result<Vec<String>> {
    let like = Wanted::new(wanted);
    let names = directory.names().into_iter().flatten().map_while(sys::Result::ok);
    let mut ranked = Vec::new();
    for (index, name) in names.take(MAX_ENTRIES).enumerate() {
        if index % ENTRIES_BETWEEN_CHECKS == 0 {
            stop.check()?;
        }
        // A name that is no UTF-8 could not be asked for in return. The very name is there by now.
        let name = name.into_string().ok().filter(|name| name != wanted);
        ranked.extend(name.and_then(|name| Some((like.distance(&name)?, name))));
    }
    ranked.sort();
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
