//! What is meant by a path where nothing is, or may have been.

use std::ffi::OsStr;
use std::path::Path;

use strsim::osa_distance;

use super::folding::{are_same, folded};
use super::{listing, rewritten};
use crate::cancel::Stop;
use crate::error::Result;
use crate::fence::RelPath;
use crate::resolve::Missing;
use crate::roots::{Admitted, Roots};
use crate::sys::Handle;

/// Most paths that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// Longest name, in bytes, that is compared letter by letter; the time for that grows with the square.
const MAX_COMPARED_BYTES: usize = 64;

/// What a path is taken for.
pub(super) enum Meant {
    Folded(Folded),
    /// Paths to ask for, best first.
    Like(Vec<String>),
}

/// A path whose missing name is replaced by the only one that is the same after folding.
pub(super) struct Folded {
    pub(super) path: Admitted,
    /// How many of its names are there, that one included.
    pub(super) names: usize,
}

/// Looks into the directory where the walk stopped. Of the names that are asked for, the first `settled` are not folded, since they
/// have been.
pub(super) fn look(roots: &Roots, request: &Path, asked: &Admitted, settled: usize, stop: &Stop<'_>) -> Result<Meant> {
    let mut like = Vec::new();
    if let Some(gap) = Gap::find(roots, asked, stop)? {
        let names = gap.list()?;
        if names.are_all && gap.missing.found >= settled {
            let same = gap.readable(names.same)?;
            match &same[..] {
                [] => {}
                [name] => return Ok(Meant::Folded(gap.folded(name))),
                _ => return Ok(Meant::Like(gap.paths(same)?)),
            }
        }
        like = gap.paths(names.like)?;
    }
    // What is really there explains the whole path, and what is like one of its names at most a part.
    let rewritten = rewritten::paths(roots, request, MAX_SUGGESTIONS, stop)?;
    Ok(Meant::Like(if rewritten.is_empty() { like } else { rewritten.iter().map(|path| told(roots, path)).collect() }))
}

fn told(roots: &Roots, path: &Admitted) -> String {
    roots.told_as_asked(path).to_string_lossy().into_owned()
}

/// The place of the first name that is missing.
struct Gap<'a> {
    roots: &'a Roots,
    asked: &'a Admitted,
    missing: Missing<Handle>,
    wanted: &'a str,
    stop: &'a Stop<'a>,
}

/// Names in its directory.
#[derive(Default)]
struct Names {
    /// The same as the missing one after folding.
    same: Vec<String>,
    /// Like it, best first.
    like: Vec<String>,
    /// Whether all that are there were looked at.
    are_all: bool,
}

impl<'a> Gap<'a> {
    fn find(roots: &'a Roots, asked: &'a Admitted, stop: &'a Stop<'a>) -> Result<Option<Self>> {
        let Some(missing) = roots.missing(asked, stop)? else { return Ok(None) };
        let wanted = asked.path().components().nth(missing.found).and_then(OsStr::to_str);
        Ok(wanted.map(|wanted| Self { roots, asked, missing, wanted, stop }))
    }

    /// A directory that cannot be listed has no names.
    fn list(&self) -> Result<Names> {
        let Some(listing) = listing::list(self.roots.at(&self.missing.place), self.stop)? else {
            return Ok(Names::default());
        };
        let wanted = Wanted::new(self.wanted);
        let (mut same, mut ranked) = (Vec::new(), Vec::new());
        // A name that is no UTF-8 could not be asked for in return. The very name is there by now.
        let names = listing.entries.into_iter().filter_map(|entry| entry.name.into_string().ok());
        for name in names.filter(|name| name != self.wanted) {
            if are_same(&name, self.wanted) {
                same.push(name.clone());
            }
            ranked.extend(wanted.distance(&name).map(|distance| (distance, name)));
        }
        same.sort();
        ranked.sort();
        Ok(Names { same, like: ranked.into_iter().map(|(_, name)| name).collect(), are_all: listing.is_all })
    }

    /// The path asked for as far as it is there, then `name`.
    fn path(&self, name: &str) -> Admitted {
        let found = self.asked.path().components().take(self.missing.found);
        self.asked.with_path(RelPath::of_names(found.chain([name.as_ref()])))
    }

    /// The path asked for with `name` for what is missing.
    fn corrected(&self, name: &str) -> Admitted {
        let names = self.asked.path().components().enumerate();
        let replaced = names.map(|(index, asked)| if index == self.missing.found { name.as_ref() } else { asked });
        self.asked.with_path(RelPath::of_names(replaced))
    }

    fn folded(&self, name: &str) -> Folded {
        Folded { path: self.corrected(name), names: self.missing.found + 1 }
    }

    /// As many of the names as there can be suggestions, without those that are denied or lead to what is: those are as if they were
    /// not there.
    fn readable(&self, names: Vec<String>) -> Result<Vec<String>> {
        let mut readable = Vec::new();
        for name in names {
            if readable.len() == MAX_SUGGESTIONS {
                break;
            }
            self.stop.check()?;
            if !self.roots.is_denied(&self.corrected(&name), self.stop)? {
                readable.push(name);
            }
        }
        Ok(readable)
    }

    /// The best names as paths. None is denied, nor is what they lead to.
    fn paths(&self, mut names: Vec<String>) -> Result<Vec<String>> {
        if self.roots.have_policies() {
            names = self.allowed(names)?;
        }
        names.truncate(MAX_SUGGESTIONS);
        Ok(names.iter().map(|name| told(self.roots, &self.path(name))).collect())
    }

    /// The first few names that are not denied, without those that lead to what is. Only few, because each of them is walked.
    fn allowed(&self, names: Vec<String>) -> Result<Vec<String>> {
        let (roots, place) = (self.roots, &self.missing.place);
        let mut best = Vec::new();
        for name in names {
            self.stop.check()?;
            let asked = self.path(&name);
            let lies_at = place.resolved.join(name.as_ref());
            if !roots.denies(asked.base(), asked.path()) && !roots.denies(place.base, &lies_at) {
                best.push((name, asked));
            }
            if best.len() == MAX_SUGGESTIONS {
                break;
            }
        }
        let mut allowed = Vec::new();
        for (name, asked) in best {
            if !roots.leads_to_denied(&asked, self.stop)? {
                allowed.push(name);
            }
        }
        Ok(allowed)
    }
}

/// A name that is not there.
struct Wanted {
    folded: String,
    /// Most edits between two names that are still alike: a third of the letters.
    most_edits: usize,
}

impl Wanted {
    fn new(name: &str) -> Self {
        let folded = simple(name);
        Self { most_edits: folded.chars().count() / 3, folded }
    }

    /// Edits (optimal string alignment) between the names folded and in lower case, or `None` where they are not alike. The same name with
    /// another extension or none counts as one edit.
    fn distance(&self, name: &str) -> Option<usize> {
        let name = simple(name);
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

/// What is compared of a name.
fn simple(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { folded(name).collect::<String>().to_lowercase() }
}

/// The name without its last extension; a dot at the start begins none.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}
