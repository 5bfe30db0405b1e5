//! Administrative operations of a vault: replace keys, list and discard quarantined records.

use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Time};

/// The administrative operations of a vault.
pub trait VaultAdmin: Send + Sync {
    /// The key of the hashes that redaction leaves in place of secrets. It never changes,
    /// and the hashes mean nothing outside.
    fn token_key(&self) -> [u8; 32];

    /// True when it can replace its keys.
    fn replaces_keys(&self) -> bool;

    /// Replaces the keys, so that keys of today do not decrypt what was removed before.
    /// Returns what kept its key or secret.
    ///
    /// Another process that changes keys is waited for as long as `patience`. A place of secrets that does
    /// not answer is an error, though the keys were replaced: trying again may help.
    fn replace_keys(&self, patience: Duration) -> Result<Vec<String>>;

    /// Encrypts one conversation with a new key, because something was taken out of it: what a disk
    /// keeps of it is encrypted with the one before. [`VaultAdmin::replace_keys`] makes sure that keys
    /// of today do not decrypt that one either.
    fn replace_key_of(&self, id: ConversationId, patience: Duration) -> Result<()>;

    /// The records that do not decrypt, the oldest first. A copy that does not decrypt itself is passed over.
    fn quarantined(&self) -> Result<Vec<Quarantined>>;

    /// Erases copies, and with them the records that nothing will ever decrypt.
    ///
    /// A message with replies is replaced by a tombstone, and a header is rebuilt. If that fails, record and
    /// copy stay. If a record decrypts again, only its copy is erased.
    fn discard(&self, records: &[Quarantined]) -> Result<()>;
}

/// A record that does not decrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// When that was found.
    pub at: Time,
    /// What it is, such as `message` or `header`.
    pub what: String,
    /// Why it does not decrypt.
    pub why: String,
    /// The conversation it belongs to, where that is known.
    pub conversation: Option<ConversationId>,
    /// How long it is, encrypted.
    pub bytes: u64,
    /// True when nothing will ever decrypt it: it goes when its days are over.
    pub is_lost: bool,
    /// The name of its copy.
    pub(crate) name: Vec<u8>,
}
