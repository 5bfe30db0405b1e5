//! Where vaults are used: a second line in each anchor, so that a location is
//! still known when its pin is gone.
//!
//! Nothing vouches for this line: another vault cannot check it, and a line that is wrong only makes a vault
//! be refused. Whoever can remove it can remove the anchor too.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Overwrite};
use crate::vault::slots::VaultId;

/// Ends the name of an anchor, behind the id of its vault.
const ANCHOR: &str = "anchor";

/// The newest locations that an anchor names. A vault has one or two, and more where it is moved around.
const MOST: usize = 8;

/// An anchor is a few hundred bytes. A path has at most 4 KiB, and JSON may need six characters for a byte.
pub(crate) const LONGEST: u64 = 4_096 + MOST as u64 * 6 * 4_096;

/// The anchor of a vault.
pub(crate) fn anchor_in(directory: &Path, vault: VaultId) -> PathBuf {
    directory.join(format!("{vault}.{ANCHOR}"))
}

/// The first line of an anchor, and the locations in its second.
pub(crate) fn split(anchor: &[u8]) -> (&[u8], Vec<String>) {
    let end = anchor.iter().position(|byte| *byte == b'\n').map_or(anchor.len(), |place| place + 1);
    let (first, second) = anchor.split_at(end);
    (first, serde_json::from_slice(second).unwrap_or_default())
}

/// The bytes of an anchor.
pub(crate) fn joined(first: &[u8], locations: &[String]) -> Vec<u8> {
    let mut anchor = first.to_vec();
    if !locations.is_empty() {
        anchor.extend(serde_json::to_vec(locations).expect("texts are JSON"));
        anchor.push(b'\n');
    }
    anchor
}

/// The locations in an anchor and some more, the newest last.
pub(crate) fn merged(mut known: Vec<String>, more: &[String]) -> Vec<String> {
    for location in more {
        if !known.contains(location) {
            known.push(location.clone());
        }
    }
    known.split_off(known.len().saturating_sub(MOST))
}

/// The vaults that were used at a location, by their anchors.
pub(crate) fn vaults_at(directory: &Path, location: &str) -> Result<Vec<VaultId>> {
    let mut found = Vec::new();
    for (vault, path) in anchors(directory)? {
        if read(&path)?.is_some_and(|anchor| split(&anchor).1.iter().any(|known| known == location)) {
            found.push(vault);
        }
    }
    Ok(found)
}

/// Takes a location out of every anchor but one: another vault is used there, or none.
pub(crate) fn release(directory: &Path, location: &str, but: Option<VaultId>) -> Result<()> {
    for (_, path) in anchors(directory)?.into_iter().filter(|(vault, _)| Some(*vault) != but) {
        let Some(anchor) = read(&path)? else { continue };
        let (first, locations) = split(&anchor);
        if locations.iter().any(|known| known == location) {
            let left: Vec<String> = locations.into_iter().filter(|known| known != location).collect();
            replace(&path, &joined(first, &left))?;
        }
    }
    Ok(())
}

/// Writes an anchor anew.
pub(crate) fn replace(path: &Path, anchor: &[u8]) -> Result<()> {
    let written = durable::draft(path).and_then(|draft| {
        durable::write_at(draft.as_file(), 0, anchor)?;
        durable::publish(draft, path, Overwrite::Replace)
    });
    written.map_err(|cause| unavailable("write", path, cause))
}

/// The bytes of an anchor; none when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match durable::read_small(path, LONGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(unavailable("read", path, cause)),
    }
}

/// Every anchor in a directory, with its vault.
fn anchors(directory: &Path) -> Result<Vec<(VaultId, PathBuf)>> {
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(unavailable("read", directory, cause)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|cause| unavailable("read", directory, cause))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let vault = name.and_then(|name| name.split_once('.')).filter(|(_, end)| *end == ANCHOR);
        if let Some(vault) = vault.and_then(|(vault, _)| VaultId::parse(vault)) {
            found.push((vault, path));
        }
    }
    found.sort();
    Ok(found)
}

fn unavailable(attempt: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{attempt} `{}`", path.display())).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_without_locations_is_one_line() {
        let (old, new) = (b"{}\n".as_slice(), b"{}\n[\"/a\",\"/b\"]\n".as_slice());

        assert_eq!(split(old), (old, vec![]));
        assert_eq!(split(new), (old, vec!["/a".to_owned(), "/b".to_owned()]));
        assert_eq!([split(old), split(new)].map(|(first, known)| joined(first, &known)), [old, new]);
        // A line that does not read names nothing.
        assert_eq!(split(b"{}\nnonsense\n"), (old, vec![]));
    }

    #[test]
    fn the_newest_locations_are_kept() {
        let many: Vec<String> = (0..10).map(|number| format!("/{number}")).collect();

        let kept = merged(merged(Vec::new(), &many), &many[9..]);

        assert_eq!(kept, many[2..]);
    }

    #[test]
    fn a_location_is_taken_out_of_every_anchor_but_one() {
        let directory = tempfile::tempdir().unwrap();
        let vaults = ["00", "11"].map(|byte| VaultId::parse(&byte.repeat(16)).unwrap());
        let locations = ["/a".to_owned(), "/b".to_owned()];
        for vault in vaults {
            std::fs::write(anchor_in(directory.path(), vault), joined(b"{}\n", &locations)).unwrap();
        }
        let at = |location: &str| vaults_at(directory.path(), location).unwrap();

        let before = at("/a");
        release(directory.path(), "/a", Some(vaults[1])).unwrap();

        assert_eq!((before.as_slice(), at("/a").as_slice()), (&vaults[..], &vaults[1..]));
        assert_eq!(at("/b"), vaults);
        assert_eq!(vaults_at(&directory.path().join("none"), "/a").unwrap(), []);
    }
}
