//! The pin: which vault is used at a place, kept outside of the store, so that
//! another vault put there is noticed.
//!
//! A pin is found by the place alone, before anything there is opened and before anybody is asked for a
//! passphrase. The vault's own key vouches for it, so a vault that only claims the same id does not match it.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Overwrite};
use crate::store::sealed::Workspace;
use crate::vault::anchor::locations;
use crate::vault::slots::VaultId;

const TAG: &str = "rejoin/vault/pin/1\n";

/// A path has at most 4 KiB, and JSON may need six characters for a byte.
const LONGEST: u64 = 32 * 1024;

/// What is written, without what vouches for it.
#[derive(Debug, Serialize, Deserialize)]
struct PinRecord {
    version: u32,
    vault: VaultId,
    place: String,
}

/// The pin of one place, files in a directory outside the store.
///
/// A place has a pin for the path as it was named and one for the path without symbolic links,
/// where the two differ. So a link that leads elsewhere does not get around the pin, and
/// neither does another way to the same file.
#[derive(Clone, Debug)]
pub(crate) struct PinFiles {
    directory: PathBuf,
    places: Vec<PathBuf>,
}

impl PinFiles {
    /// The pin of a place, in a directory that is made when it is first written.
    pub(crate) fn new(directory: impl Into<PathBuf>, place: &Path) -> Self {
        let named = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let mut places = vec![named.clone()];
        places.extend(resolved(&named).filter(|resolved| *resolved != named));
        Self { directory: directory.into(), places }
    }

    /// The vault that is used at this place; none where none was used yet. Nothing vouches for it.
    ///
    /// Where the pin is gone, an anchor may still tell.
    pub(crate) fn vault(&self) -> Result<Option<VaultId>> {
        for place in &self.places {
            if let Some(bytes) = self.read(place)? {
                return parse(&bytes).map(Some).ok_or_else(|| self.damaged(place));
            }
        }
        for location in self.locations() {
            if let Some(vault) = locations::vaults_at(&self.directory, &location)?.into_iter().next() {
                return Ok(Some(vault));
            }
        }
        Ok(None)
    }

    /// The paths of the place, as they are written.
    pub(crate) fn locations(&self) -> Vec<String> {
        self.places.iter().map(|place| location(place)).collect()
    }

    /// Refuses a vault other than the one that is used at this place.
    pub(crate) fn expect(&self, found: VaultId) -> Result<()> {
        for place in &self.places {
            let (before, how) = match self.read(place)? {
                Some(bytes) => (vec![parse(&bytes).ok_or_else(|| self.damaged(place))?], ""),
                None => (
                    locations::vaults_at(&self.directory, &location(place))?,
                    ", by its anchor; the pin of this location is gone",
                ),
            };
            if let Some(vault) = before.into_iter().find(|vault| *vault != found) {
                return Err(Error::conflict(format!(
                    "the vault at `{}` is `{found}`, and the one used there before is `{vault}`{how}",
                    place.display()
                )));
            }
        }
        Ok(())
    }

    /// Refuses a vault that has the right id and other keys.
    pub(crate) fn check(&self, workspace: &Workspace) -> Result<()> {
        for place in &self.places {
            let Some(bytes) = self.read(place)? else { continue };
            if bytes != text(place, workspace).as_bytes() {
                return Err(Error::conflict(format!(
                    "the vault at `{}` has different keys than the one last used there",
                    place.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether every pin of the place is there.
    pub(crate) fn is_complete(&self) -> Result<bool> {
        for place in &self.places {
            if self.read(place)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Pins a vault to this place.
    pub(crate) fn write(&self, workspace: &Workspace) -> Result<()> {
        for place in &self.places {
            let path = self.path(place);
            let written = durable::create_private_directory(&path)
                .and_then(|()| durable::draft(&path))
                .and_then(|draft| {
                    durable::write_at(draft.as_file(), 0, text(place, workspace).as_bytes())?;
                    durable::publish(draft, &path, Overwrite::Replace)
                });
            written.map_err(|cause| unavailable("write", &path, cause))?;
            locations::release(&self.directory, &location(place), Some(VaultId::of(workspace.vault())))?;
        }
        Ok(())
    }

    /// Forgets which vault is used at this place.
    pub(crate) fn forget(&self) -> Result<()> {
        for place in &self.places {
            let path = self.path(place);
            match durable::remove(&path).and_then(|()| durable::sync_parent(&path)) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                    return Err(unavailable("remove", &path, cause));
                }
                _ => {}
            }
            locations::release(&self.directory, &location(place), None)?;
        }
        Ok(())
    }

    /// The directory in which pins and anchors are kept.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, place: &Path) -> PathBuf {
        let hash = Sha256::digest(place.as_os_str().as_encoded_bytes());
        let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(format!("{digits}.pin"))
    }

    fn read(&self, place: &Path) -> Result<Option<Vec<u8>>> {
        let path = self.path(place);
        match durable::read_small(&path, LONGEST) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(unavailable("read", &path, cause)),
        }
    }

    fn damaged(&self, place: &Path) -> Error {
        Error::conflict(format!(
            "`{}` is damaged, so it is unknown which vault is used at `{}`",
            self.path(place).display(),
            place.display()
        ))
    }
}

/// The path without symbolic links. The store itself may be missing.
fn resolved(named: &Path) -> Option<PathBuf> {
    named.canonicalize().ok().or_else(|| Some(named.parent()?.canonicalize().ok()?.join(named.file_name()?)))
}

/// A path as it is written, with U+FFFD for what is not UTF-8.
fn location(place: &Path) -> String {
    place.to_string_lossy().into_owned()
}

fn parse(bytes: &[u8]) -> Option<VaultId> {
    serde_json::from_slice::<PinRecord>(bytes).ok().filter(|pin| pin.version == 1).map(|pin| pin.vault)
}

/// The bytes of a pin. They are compared whole, so nothing in them can be changed.
fn text(place: &Path, workspace: &Workspace) -> String {
    let vault = VaultId::of(workspace.vault());
    let pin = PinRecord { version: 1, vault, place: location(place) };
    let body = serde_json::to_string(&pin).expect("it is plain data");
    let mac = workspace.anchor_key().hasher().hash(&[TAG.as_bytes(), body.as_bytes()]);
    format!("{},\"mac\":\"{}\"}}\n", &body[..body.len() - 1], STANDARD_NO_PAD.encode(mac))
}

fn unavailable(attempt: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{attempt} `{}`", path.display())).because(cause)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::store::sealed::{KeyId, SealingKey};

    /// A directory with the folders `a` and `b`, and the link `link` to `a`.
    fn folders() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        ["a", "b"].iter().for_each(|name| std::fs::create_dir(directory.path().join(name)).unwrap());
        symlink("a", directory.path().join("link")).unwrap();
        directory
    }

    fn pin(directory: &tempfile::TempDir, place: &str) -> PinFiles {
        PinFiles::new(directory.path().join("anchors"), &directory.path().join(place))
    }

    fn id(workspace: &Workspace) -> VaultId {
        VaultId::of(workspace.vault())
    }

    fn kind(outcome: Result<()>) -> Option<ErrorKind> {
        outcome.err().map(|error| error.kind())
    }

    #[test]
    fn another_vault_is_refused_until_it_is_pinned() {
        let (directory, ours, theirs) = (folders(), Workspace::random(), Workspace::random());
        let pin = pin(&directory, "a/vault");

        let first = (pin.vault().unwrap(), kind(pin.expect(id(&theirs))));
        pin.write(&ours).unwrap();
        let refused = (kind(pin.expect(id(&ours))), kind(pin.expect(id(&theirs))));
        pin.write(&theirs).unwrap();

        assert_eq!((first, refused), ((None, None), (None, Some(ErrorKind::Conflict))));
        assert_eq!((pin.vault().unwrap(), kind(pin.expect(id(&theirs)))), (Some(id(&theirs)), None));
    }

    #[test]
    fn a_vault_of_the_same_id_with_other_keys_is_refused() {
        let (directory, ours) = (folders(), Workspace::random());
        let forged =
            Workspace::of(ours.vault(), 1, KeyId::random(), SealingKey::random(), SealingKey::random());
        let pin = pin(&directory, "a/vault");
        pin.write(&ours).unwrap();

        assert_eq!(kind(pin.expect(id(&forged))), None);
        assert_eq!([&ours, &forged].map(|it| kind(pin.check(it))), [None, Some(ErrorKind::Conflict)]);
    }

    #[test]
    fn a_link_that_leads_elsewhere_does_not_get_around_a_pin_and_neither_does_another_link() {
        let (directory, ours, theirs) = (folders(), Workspace::random(), Workspace::random());
        pin(&directory, "link/vault").write(&ours).unwrap();
        symlink("a", directory.path().join("other")).unwrap();
        let refused = |place: &str| kind(pin(&directory, place).expect(id(&theirs)));

        let ways = ["link/vault", "a/vault", "other/vault"].map(refused);
        std::fs::remove_file(directory.path().join("link")).unwrap();
        symlink("b", directory.path().join("link")).unwrap();

        assert_eq!(ways, [Some(ErrorKind::Conflict); 3]);
        assert_eq!((refused("link/vault"), refused("b/vault")), (Some(ErrorKind::Conflict), None));
    }

    #[test]
    fn a_pin_that_does_not_read_is_refused_and_one_that_is_forgotten_is_gone() {
        let (directory, ours) = (folders(), Workspace::random());
        let pin = pin(&directory, "a/vault");
        pin.write(&ours).unwrap();
        let path = pin.path(&pin.places[0]);
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        std::fs::write(&path, "{}").unwrap();

        let damaged = (pin.vault().unwrap_err().kind(), kind(pin.check(&ours)));
        pin.forget().unwrap();
        pin.forget().unwrap();

        assert_eq!((mode, damaged), (0o600, (ErrorKind::Conflict, Some(ErrorKind::Conflict))));
        assert_eq!((pin.vault().unwrap(), pin.is_complete().unwrap()), (None, false));
    }
}
