//! Sealing a store, and opening one for good: everything is copied into another store, compared, and the
//! old one erased once its owner says so.

use std::cell::RefCell;
use std::path::Path;

use crate::archive::place::copies::CopyProgress;
use crate::archive::{Access, Stage, StoreUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Base, Contents, StoreMoment, compare, contents, convert, prove};
#[cfg(feature = "jsonl")]
use crate::store::JsonlStore;
#[cfg(feature = "sqlite")]
use crate::store::SqliteStore;
use crate::store::{ContentHash, Space};
use crate::vault::AnchorFile;
use crate::vault::slots::{SlotId, SlotKind, VaultId, VaultStatus};

/// What of the blobs is copied: all that does not belong to the way a vault is kept.
const SPACES: [Space; 7] = [
    Space::State,
    Space::Project,
    Space::OpenTurn,
    Space::Source,
    Space::Import,
    Space::Audit,
    Space::Attachment,
];

/// How often a store that is written to meanwhile is copied on before its difference to the copy is an error.
const ATTEMPTS: usize = 3;

/// What a conversion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// What the new store holds.
    pub contents: Contents,
    /// When the old store was the same.
    compared: StoreMoment,
}

/// What is left of a vault that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The vault.
    pub vault: VaultId,
    /// Slots whose key files are still there.
    pub key_files: Vec<SlotId>,
    /// Slots whose secrets are still in the keyring, which did not answer.
    pub secrets: Vec<SlotId>,
}

impl StoreUrl {
    /// Copies everything in this store into another one, checks every digest of the copy and compares both.
    ///
    /// It can be interrupted and begun again, and this store stays as it is. What is written to it
    /// meanwhile is copied too. Once the copy was whole, what is changed there stays: only what has
    /// changed here since is copied again. Messages that were added to one conversation in both become a
    /// branch of the copy; anything else that has changed in both is a [`Conflict`](ErrorKind::Conflict).
    /// `report` is told of conversations.
    pub fn convert(
        &self,
        to: &StoreUrl,
        access: &Access,
        report: &mut CopyProgress<'_>,
    ) -> Result<Converted> {
        if self.path() == to.path() {
            return Err(Error::invalid("a store cannot be copied onto itself"));
        }
        if self.path().is_some_and(|path| !path.exists()) {
            return Err(Error::not_found(format!("no store at `{self}`")));
        }
        let report = RefCell::new(report);
        let tell = |stage, done, all| report.borrow_mut()(stage, done, all);
        let (ours, theirs) = (self.open_with(access)?, to.open_with(access)?);
        let (ours, theirs) = (ours.as_ref(), theirs.as_ref());
        let mut base = Base::read(theirs)?;
        let mut attempt = 1;
        let compared = loop {
            convert(ours, theirs, &SPACES, &mut base, &mut |done, all| tell(Stage::Copying, done, all))?;
            match compare(ours, theirs, &SPACES, &mut base, &mut |done, all| tell(Stage::Checking, done, all))
            {
                Ok(compared) => break compared,
                // Somebody may have written in between.
                Err(_) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        };
        prove(theirs, &mut |done, all| tell(Stage::Checking, done, all))?;
        base.write(theirs)?;
        Ok(Converted { contents: contents(theirs)?, compared })
    }

    /// True when nothing was written to this store since it was converted.
    pub fn is_as_converted(&self, converted: &Converted, access: &Access) -> Result<bool> {
        Ok(StoreMoment::of(self.open_with(access)?.as_ref(), &SPACES)? == converted.compared)
    }

    /// Erases a store that was converted, like [`StoreUrl::erase`], and of a vault what was kept for it
    /// elsewhere: secrets in the keyring, its anchor and its pin.
    ///
    /// What was written since both were compared is a [`Conflict`](ErrorKind::Conflict), and nothing
    /// is erased: convert again. Key files stay, for copies of the vault may need them. So does a
    /// secret of a keyring that does not answer.
    pub fn erase_converted(&self, converted: &Converted, access: &Access) -> Result<Option<Leftover>> {
        // Whoever writes from here on changes the hash, which is compared under the lock.
        let hash = self.content_hash()?;
        if !self.is_as_converted(converted, access)? {
            return Err(Error::conflict(format!("`{self}` was changed since it was copied")));
        }
        match self {
            Self::Vault(_) => {
                let status = self.vault_status(access)?;
                self.erase_as(Some(&hash))?;
                self.forget_vault(&status, access).map(Some)
            }
            _ => self.erase_as(Some(&hash)).map(|()| None),
        }
    }

    /// Goes on with [`StoreUrl::erase_converted`] where that was cut off: erases what is left of the store,
    /// and what was kept elsewhere for the vault that it was. A store that is whole is an error.
    pub fn erase_rest(&self, vault: Option<&VaultStatus>, access: &Access) -> Result<Option<Leftover>> {
        if self.path().is_some_and(Path::exists) {
            if !self.is_half_erased() {
                return Err(Error::conflict(format!("`{self}` was not begun to be erased")));
            }
            self.erase()?;
        }
        vault.map(|status| self.forget_vault(status, access)).transpose()
    }

    /// Forgets what was kept elsewhere for a vault that is erased.
    fn forget_vault(&self, status: &VaultStatus, access: &Access) -> Result<Leftover> {
        let slots = |kind| status.slots.iter().filter(move |slot| slot.kind == kind).map(|slot| slot.id);
        let is_kept = |slot: &SlotId| match &access.keys {
            Some(keys) => keys.forget_secret(status.vault, *slot).is_err(),
            None => true,
        };
        if let Some(anchors) = &access.anchors {
            AnchorFile::forget_of(anchors, status.vault)?;
        }
        self.unpin(access)?;
        Ok(Leftover {
            vault: status.vault,
            key_files: slots(SlotKind::File).collect(),
            secrets: slots(SlotKind::Keyring).filter(is_kept).collect(),
        })
    }

    /// Writes over every byte of the store and removes it. A copy that a file
    /// system or a disk made is not reached.
    ///
    /// While another process has the store open, it is refused: what that process writes would be lost.
    pub fn erase(&self) -> Result<()> {
        self.erase_as(None)
    }

    /// True when erasing this store was begun and did not end. Nothing in it is used any
    /// more, and [`StoreUrl::erase`] goes on.
    pub fn is_half_erased(&self) -> bool {
        match self {
            #[cfg(feature = "jsonl")]
            Self::Jsonl(root) => JsonlStore::is_half_erased(root),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => SqliteStore::is_half_erased(path),
            Self::Vault(inner) => inner.is_half_erased(),
            _ => false,
        }
    }

    /// Erases the store, if it still has this content.
    #[cfg_attr(
        not(any(feature = "jsonl", feature = "sqlite")),
        expect(clippy::only_used_in_recursion, reason = "there is nothing to compare it with")
    )]
    fn erase_as(&self, expected: Option<&ContentHash>) -> Result<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => SqliteStore::erase(path, expected),
            #[cfg(feature = "jsonl")]
            Self::Jsonl(root) => JsonlStore::erase(root, expected),
            Self::Vault(inner) => inner.erase_as(expected),
            _ => self.refuse_unbuilt().and(Err(in_memory())),
        }
    }

    fn content_hash(&self) -> Result<ContentHash> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => SqliteStore::content_hash(path),
            #[cfg(feature = "jsonl")]
            Self::Jsonl(root) => JsonlStore::content_hash(root),
            Self::Vault(inner) => inner.content_hash(),
            _ => self.refuse_unbuilt().and(Err(in_memory())),
        }
    }
}

fn in_memory() -> Error {
    Error::new(ErrorKind::Unsupported, "a store in memory goes with its program")
}
