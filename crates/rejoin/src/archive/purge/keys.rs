//! New keys after a purge, where what is kept is sealed: a disk keeps what was erased from it,
//! and a key of today must not open that.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::archive::{Archive, AuditAction, AuditEntry};
use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::vault::VaultAdmin;

/// How long another process that changes keys is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Since when something is gone whose key is not; remembered while that is so.
pub(super) const UNRENEWED: &str = "purge.keys";

/// What became of the keys after a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PurgeKeys {
    /// Nothing is sealed, so there are none.
    None,
    /// They were replaced.
    Rotated,
    /// They were replaced, but slots on other machines kept their secrets, which open an older copy.
    Kept,
    /// They were not replaced, or a slot's place did not answer. The next purge or sweep tries again.
    Failed,
}

impl PurgeKeys {
    /// The word that reports use; none where there are no keys.
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Rotated => Some("rotated"),
            Self::Kept => Some("kept"),
            Self::Failed => Some("failed"),
        }
    }
}

impl Serialize for PurgeKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.as_str().serialize(serializer)
    }
}

impl Archive {
    /// The vault, if it can replace its keys.
    pub(super) fn key_replacer(&self) -> Option<&dyn VaultAdmin> {
        self.vault.as_deref().filter(|vault| vault.replaces_keys())
    }

    /// Remembers that keys have to be replaced, before anything goes: a purge that
    /// is cut off is made up for by the next.
    pub(in crate::archive) fn expect_new_keys(&self) {
        if self.key_replacer().is_none() {
            return;
        }
        if let Err(error) = self.state().remember(UNRENEWED, Some(&self.now().to_string())) {
            tracing::warn!(kind = error.kind().as_str(), "it was not noted that keys have to be replaced");
        }
    }

    /// Remembers that a conversation needs a new key, before something is taken out of it.
    pub(in crate::archive) fn expect_new_key_of(&self, id: ConversationId) -> Result<()> {
        if self.key_replacer().is_none() {
            return Ok(());
        }
        self.replace_for(id, UNRENEWED, Some(&self.now().to_string()))
    }

    /// True when something was taken out of a conversation, and it has the key that it had.
    pub(in crate::archive) fn needs_new_key(&self, id: ConversationId) -> Result<bool> {
        if self.key_replacer().is_none() {
            return Ok(false);
        }
        match self.state().recall_for(id, UNRENEWED) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(true),
            mark => Ok(mark?.is_some()),
        }
    }

    /// Gives a conversation that something was taken out of a new key, where what is kept is sealed.
    pub(in crate::archive) fn renew_key_of(&self, id: ConversationId) -> Result<()> {
        let Some(vault) = self.key_replacer() else { return Ok(()) };
        let renewed = vault.replace_key_of(id, PATIENCE);
        let renewed = renewed.and_then(|()| self.replace_for(id, UNRENEWED, None));
        renewed.map_err(|error| error.during("seal what is left with a new key"))
    }

    /// True when a purge went without new keys.
    pub(super) fn needs_new_keys(&self) -> Result<bool> {
        Ok(self.key_replacer().is_some() && self.is_remembered(UNRENEWED)?)
    }

    /// Replaces the keys, once for all that was purged.
    pub(in crate::archive) fn renew_keys(&self, reason: &str) -> PurgeKeys {
        let Some(vault) = self.key_replacer() else { return PurgeKeys::None };
        let keys = match vault.replace_keys(PATIENCE) {
            Ok(kept) if kept.is_empty() => PurgeKeys::Rotated,
            Ok(_) => PurgeKeys::Kept,
            Err(error) => {
                tracing::warn!(%error, "the keys were not replaced");
                PurgeKeys::Failed
            }
        };
        let is_left = keys == PurgeKeys::Failed;
        if !is_left {
            self.note_done(AuditEntry::new(AuditAction::Rotated, reason));
        }
        let since = is_left.then(|| self.now().to_string());
        if let Err(error) = self.state().remember(UNRENEWED, since.as_deref()) {
            tracing::warn!(kind = error.kind().as_str(), "it was not noted what became of the keys");
        }
        keys
    }
}
