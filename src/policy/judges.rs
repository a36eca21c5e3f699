//! Whose policies judge a path: roots of one reader may lie in each other.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{End, Policy};
use crate::fence::RelPath;

/// The policies that judge what is read through one root: its own, and those of the other roots that it lies in or that lie in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judges(Vec<Judge>);

#[derive(Clone, Debug)]
struct Judge {
    policy: Arc<Policy>,
    place: Place,
}

/// Where the policy's own root lies, seen from the root through which is read.
#[derive(Clone, Debug)]
enum Place {
    /// In it, at these names; without any they are the same.
    Inside(RelPath),
    /// Around it: these names lead from there to here.
    Around(RelPath),
    /// Nobody knows, or the policy denies the way to here: all is denied.
    Closed,
}

/// A root, as others must know it to see where it lies: the absolute paths that name it, and its policy.
pub(crate) type Neighbour<'a> = (&'a [PathBuf], Option<&'a Arc<Policy>>);

impl Judges {
    /// The policy of a root that is alone.
    #[cfg(feature = "policy")]
    pub(crate) fn alone(policy: Arc<Policy>) -> Self {
        Self(vec![Judge { policy, place: Place::Inside(RelPath::root()) }])
    }

    /// Of the root `own` of several.
    pub(crate) fn among(roots: &[Neighbour<'_>], own: usize) -> Self {
        let judges = roots.iter().enumerate().flat_map(|(index, (paths, policy))| {
            let places = if index == own { vec![Place::Inside(RelPath::root())] } else { places(roots[own].0, paths) };
            let judge = |policy: &Arc<Policy>, place| Judge { policy: Arc::clone(policy), place };
            policy.iter().flat_map(|policy| places.iter().map(|place| judge(policy, place.clone()))).collect::<Vec<_>>()
        });
        Self(judges.map(Judge::settled).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them denies the path for its last name. Those above it are for whoever enters them.
    pub(crate) fn deny(&self, path: &RelPath, end: End) -> bool {
        self.0.iter().any(|judge| judge.denies(path, end))
    }

    pub(crate) fn deny_links(&self, path: &RelPath, links: u64) -> bool {
        self.0.iter().any(|judge| judge.policy.denies_links(links) && judge.place.see(path).is_some())
    }
}

impl Judge {
    /// The way to the root through which is read never changes, and is judged once.
    fn settled(self) -> Self {
        let is_closed = match &self.place {
            Place::Around(way) => way.prefixes().skip(1).any(|directory| self.policy.denies(&directory, End::OnTheWay)),
            _ => false,
        };
        if is_closed { Self { place: Place::Closed, ..self } } else { self }
    }

    fn denies(&self, path: &RelPath, end: End) -> bool {
        match self.place.see(path) {
            Some(_) if matches!(self.place, Place::Closed) => true,
            Some(path) => !path.is_root() && self.policy.denies(&path, end),
            None => false,
        }
    }
}

impl Place {
    /// The path from the policy's root; `None` where it does not lead there.
    fn see<'p>(&self, path: &'p RelPath) -> Option<Cow<'p, RelPath>> {
        match self {
            Self::Inside(root) if !root.is_root() => below(path.components(), root.components()).map(Cow::Owned),
            Self::Around(way) => Some(Cow::Owned(way.join_all(path))),
            Self::Inside(_) | Self::Closed => Some(Cow::Borrowed(path)),
        }
    }
}

/// Where a root of the paths `other` lies, seen from one of the paths `own`: at each pair of them that says so.
fn places(own: &[PathBuf], other: &[PathBuf]) -> Vec<Place> {
    if own.is_empty() || other.is_empty() {
        return vec![Place::Closed];
    }
    own.iter().flat_map(|own| other.iter().filter_map(|other| place(own, other))).collect()
}

fn place(own: &Path, other: &Path) -> Option<Place> {
    let inside = below(other.iter(), own.iter()).map(Place::Inside);
    inside.or_else(|| below(own.iter(), other.iter()).map(Place::Around))
}

/// The names behind those of the directory, if they begin with them, whatever their case: as with patterns, where the file system tells
/// them apart, more is denied than need be.
fn below<'n>(names: impl Iterator<Item = &'n OsStr>, directory: impl Iterator<Item = &'n OsStr>) -> Option<RelPath> {
    let (mut names, mut directory) = (names, directory);
    let same = |name: &OsStr, other: &OsStr| {
        name == other || folded(&name.to_string_lossy()) == folded(&other.to_string_lossy())
    };
    directory.all(|wanted| names.next().is_some_and(|name| same(name, wanted))).then(|| RelPath::of_names(names))
}

/// The same text for all texts that a file system without case may take for one. Upper case alone leaves `ẞ` and `ß` two, lower case
/// alone `ς` and `σ`.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
