//! What is in a directory that was asked for as a file.

use super::listing;
use crate::cancel::Stop;
use crate::error::{Entries, Result};
use crate::resolve::Place;
use crate::roots::{Admitted, Roots};
use crate::sys::{Entry, Handle, Kind};

/// Most names that are told.
const MAX_TOLD: usize = 20;

/// `None` where it cannot be listed, or is no directory by now.
pub(super) fn of(roots: &Roots, asked: &Admitted, stop: &Stop<'_>) -> Result<Option<Entries>> {
    let Some(place) = roots.directory(asked, stop)? else { return Ok(None) };
    let Some(mut listing) = listing::list(roots.at(&place), stop)? else { return Ok(None) };
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut names, mut more) = (Vec::new(), 0);
    for entry in listing.entries {
        if roots.have_policies() && is_denied(roots, asked, &place, &entry, stop)? {
            continue;
        }
        // A name that is no UTF-8 could not be asked for in return.
        match entry.name.into_string() {
            Ok(name) if names.len() < MAX_TOLD => {
                names.push(if entry.kind == Kind::Directory { name + "/" } else { name });
            }
            _ => more += 1,
        }
    }
    Ok(Some(Entries { names, more, is_all: listing.is_all }))
}

/// Whether a policy denies the entry, as asked for, as it lies there, or as it leads. All of them are judged, those too that are only
/// counted: a number tells as much as a name.
fn is_denied(
    roots: &Roots,
    directory: &Admitted,
    place: &Place<Handle>,
    entry: &Entry,
    stop: &Stop<'_>,
) -> Result<bool> {
    stop.check()?;
    let asked = directory.with_path(directory.path().join(&entry.name));
    let lies_at = place.resolved.join(&entry.name);
    if roots.denies(asked.base(), asked.path()) || roots.denies(place.base, &lies_at) {
        return Ok(true);
    }
    let must_be_walked = match entry.kind {
        Kind::Symlink | Kind::Unknown => true,
        Kind::Regular => roots.deny_links(place.base, &lies_at),
        _ => false,
    };
    Ok(must_be_walked && roots.leads_to_denied(&asked, stop)?)
}
