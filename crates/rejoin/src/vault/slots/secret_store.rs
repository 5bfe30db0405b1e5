//! Where the secrets of slots are stored: outside the vault's store, so that a copy of it does not include
//! them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable::{self, Overwrite};
use crate::vault::slots::{Secret, SlotId, SlotKind, VaultId};

/// Stores the secrets of slots, outside the vault's store.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Returns the secret of a slot, if it is stored here. If this cannot be asked, it fails: with
    /// [`Unsupported`](ErrorKind::Unsupported) if the machine has no such service, so that nobody waits for
    /// an answer.
    fn get(&self, vault: VaultId, slot: SlotId) -> Result<Option<Secret>>;

    /// Stores the secret of a slot. It survives a crash once this returns.
    fn set(&self, vault: VaultId, slot: SlotId, secret: &Secret) -> Result<()>;

    /// Removes the secret of a slot. Succeeds if it is gone already.
    fn remove(&self, vault: VaultId, slot: SlotId) -> Result<()>;
}

/// The secret stores of this machine, by the kind of slot.
#[derive(Clone, Debug, Default)]
pub struct SecretStores {
    /// The system's keyring.
    pub keyring: Option<Arc<dyn SecretStore>>,
    /// Files that only the owner can read.
    pub files: Option<Arc<dyn SecretStore>>,
}

impl SecretStores {
    /// The secret store for slots of a kind.
    pub(crate) fn of(&self, kind: SlotKind) -> Result<&dyn SecretStore> {
        let place = match kind {
            SlotKind::Keyring => self.keyring.as_deref(),
            SlotKind::File => self.files.as_deref(),
            SlotKind::Passphrase | SlotKind::Recovery => None,
        };
        place.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, format!("there is no place for the secret of a `{kind}` slot"))
        })
    }
}

/// Secrets in files of a directory: 32 bytes each, readable by their owner only.
#[derive(Clone, Debug)]
pub struct SecretFiles {
    directory: PathBuf,
}

/// What a secret has.
const LENGTH: usize = 32;

impl SecretFiles {
    /// The files in a directory, which is made when the first secret is kept.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn path(&self, vault: VaultId, slot: SlotId) -> PathBuf {
        self.directory.join(format!("{vault}-{slot}.key"))
    }
}

impl SecretStore for SecretFiles {
    fn get(&self, vault: VaultId, slot: SlotId) -> Result<Option<Secret>> {
        let path = self.path(vault, slot);
        let attempt =
            || Error::new(ErrorKind::Unavailable, format!("read the key file `{}`", path.display()));
        let file = match durable::open_to_read(&path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(attempt().because(cause)),
        };
        check(&file, &path)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(LENGTH + 1));
        file.take(LENGTH as u64 + 1).read_to_end(&mut bytes).map_err(|cause| attempt().because(cause))?;
        if bytes.len() != LENGTH {
            return Err(Error::corrupt(format!("the key file `{}` does not hold a key", path.display())));
        }
        Ok(Some(Secret::new(bytes.to_vec())))
    }

    fn set(&self, vault: VaultId, slot: SlotId, secret: &Secret) -> Result<()> {
        let path = self.path(vault, slot);
        let written = durable::create_private_directory(&path)
            .and_then(|()| durable::draft(&path))
            .and_then(|draft| durable::write_at(draft.as_file(), 0, secret.as_bytes()).map(|()| draft))
            .and_then(|draft| durable::publish(draft, &path, Overwrite::Replace));
        written.map_err(|cause| {
            Error::new(ErrorKind::Unavailable, format!("write the key file `{}`", path.display()))
                .because(cause)
        })
    }

    fn remove(&self, vault: VaultId, slot: SlotId) -> Result<()> {
        let path = self.path(vault, slot);
        let removed = match durable::open_to_write(&path) {
            Ok(file) => durable::erase(&file, &path).and_then(|()| durable::sync_parent(&path)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(cause),
        };
        removed.map_err(|cause| {
            Error::new(ErrorKind::Unavailable, format!("remove the key file `{}`", path.display()))
                .because(cause)
        })
    }
}

/// Refuses a file that somebody else could have read or put there.
fn check(file: &File, path: &Path) -> Result<()> {
    let metadata = file.metadata().map_err(|cause| {
        Error::new(ErrorKind::Unavailable, format!("look at the key file `{}`", path.display()))
            .because(cause)
    })?;
    let refuse =
        |why: String| Err(Error::new(ErrorKind::Denied, format!("the key file `{}` {why}", path.display())));
    if !metadata.is_file() {
        return refuse("is not a regular file".to_owned());
    }
    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own {
        return refuse(format!("belongs to user `{}`, not to you (`{own}`)", metadata.uid()));
    }
    if metadata.mode() & 0o077 != 0 {
        return refuse(format!(
            "can be used by others (mode `{:o}`); take that away with `chmod 600`, and rotate the vault if they may have read it",
            metadata.mode() & 0o7777
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::store::sealed::keys::key::KeyId;

    fn place() -> (tempfile::TempDir, SecretFiles, VaultId, SlotId) {
        let directory = tempfile::tempdir().unwrap();
        let files = SecretFiles::new(directory.path().join("keys"));
        (directory, files, VaultId::of(KeyId::random()), SlotId::random())
    }

    fn held(files: &SecretFiles, vault: VaultId, slot: SlotId) -> Option<Vec<u8>> {
        files.get(vault, slot).unwrap().map(|secret| secret.as_bytes().to_vec())
    }

    #[test]
    fn a_secret_is_kept_for_its_owner_only_and_forgotten() {
        let (_directory, files, vault, slot) = place();
        let secret = Secret::random();

        files.set(vault, slot, &secret).unwrap();

        let mode = files.path(vault, slot).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode, held(&files, vault, slot)), (0o600, Some(secret.as_bytes().to_vec())));
        files.remove(vault, slot).unwrap();
        files.remove(vault, slot).unwrap();
        assert_eq!(held(&files, vault, slot), None);
    }

    #[test]
    fn secrets_of_other_vaults_and_slots_are_not_found() {
        let (_directory, files, vault, slot) = place();
        files.set(vault, slot, &Secret::random()).unwrap();

        let others =
            [held(&files, VaultId::of(KeyId::random()), slot), held(&files, vault, SlotId::random())];

        assert_eq!(others, [None, None]);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let (_directory, files, vault, slot) = place();
        files.set(vault, slot, &Secret::random()).unwrap();
        let path = files.path(vault, slot);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();

        let error = files.get(vault, slot).unwrap_err();

        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("mode `640`"), "{error}");
    }

    #[test]
    fn a_link_and_a_file_of_another_length_are_refused() {
        let (directory, files, vault, slot) = place();
        files.set(vault, slot, &Secret::random()).unwrap();
        let other = SlotId::random();
        std::os::unix::fs::symlink(files.path(vault, slot), files.path(vault, other)).unwrap();
        let short = SlotId::random();
        files.set(vault, short, &Secret::new(vec![7; 31])).unwrap();

        let kinds = [other, short].map(|slot| files.get(vault, slot).unwrap_err().kind());

        assert_eq!(kinds, [ErrorKind::Unavailable, ErrorKind::Corrupt]);
        drop(directory);
    }
}
