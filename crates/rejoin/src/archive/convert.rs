//! Sealing a store, and opening one for good: everything is copied into another store, compared, and the old one erased
//! once its owner says so.

use std::cell::RefCell;

use crate::archive::{Access, Report, Stage, StoreUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Contents, compare, contents, convert, prove};
use crate::store::vault::slots::{AnchorPlace, SlotId, SlotKind, VaultId};
use crate::store::{JsonlStore, Space, SqliteStore};

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

/// What a conversion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// What the new store holds.
    pub contents: Contents,
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
    /// It can be interrupted and begun again, and this store stays as it is. What is written to it meanwhile is copied too.
    /// `report` is told of conversations.
    pub fn convert(&self, to: &StoreUrl, access: &Access, report: &mut Report<'_>) -> Result<Converted> {
        if self.path() == to.path() {
            return Err(Error::invalid("a store cannot be copied onto itself"));
        }
        if self.path().is_some_and(|path| !path.exists()) {
            return Err(Error::not_found(format!("there is no store at `{self}`")));
        }
        let report = RefCell::new(report);
        let tell = |stage, done, all| report.borrow_mut()(stage, done, all);
        let (ours, theirs) = (self.open_with(access)?, to.open_with(access)?);
        convert(ours.as_ref(), theirs.as_ref(), &SPACES, &mut |done, all| tell(Stage::Copying, done, all))?;
        prove(theirs.as_ref(), &mut |done, all| tell(Stage::Checking, done, all))?;
        compare(ours.as_ref(), theirs.as_ref(), &mut |done, all| tell(Stage::Checking, done, all))?;
        Ok(Converted { contents: contents(theirs.as_ref())? })
    }

    /// Erases a vault like [`StoreUrl::erase`], and then what was kept for it elsewhere: secrets in the keyring, and its anchor.
    ///
    /// Key files stay, for copies of the vault may need them. So does a secret of a keyring that does not answer.
    pub fn erase_vault(&self, access: &Access) -> Result<Leftover> {
        let status = self.vault_status(access)?;
        self.erase()?;
        let slots = |kind| status.slots.iter().filter(move |slot| slot.kind == kind).map(|slot| slot.id);
        let is_kept = |slot: &SlotId| match &access.keys {
            Some(keys) => keys.forget_secret(status.vault, *slot).is_err(),
            None => true,
        };
        if let Some(anchors) = &access.anchors {
            AnchorPlace::forget_of(anchors, status.vault)?;
        }
        Ok(Leftover {
            vault: status.vault,
            key_files: slots(SlotKind::File).collect(),
            secrets: slots(SlotKind::Keyring).filter(is_kept).collect(),
        })
    }

    /// Writes over every byte of the store and removes it. A copy that a file system or a disk made is not reached.
    ///
    /// While another process has the store open, it is refused: what that process writes would be lost.
    pub fn erase(&self) -> Result<()> {
        match self {
            Self::Sqlite(path) => SqliteStore::erase(path),
            Self::Jsonl(root) => JsonlStore::erase(root),
            Self::Vault(inner) => inner.erase(),
            Self::Memory => {
                Err(Error::new(ErrorKind::Unsupported, "a store in memory goes with its program"))
            }
        }
    }
}
