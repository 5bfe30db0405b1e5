//! The workspace: what opens a vault. It wraps data keys and makes names.

use std::fmt;

use zeroize::Zeroizing;

use crate::model::ConversationId;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::envelope::{Broken, OVERHEAD, Sealer, key_of};
use crate::store::sealed::keys::key::{KEY_LENGTH, KeyId, SealingKey};
use crate::store::sealed::keys::names::{InnerNames, owner_bytes};

/// The context of wrapped keys, and of the key that wraps them.
const WRAP: &str = "rejoin/vault/wrap/1\n";

/// How long a wrapped data key is: its id and an envelope.
const WRAPPED: usize = KeyId::LENGTH + OVERHEAD + KEY_LENGTH;

/// How many data keys a conversation may have: one, one more while it is re-encrypted, and those of records
/// that do not open.
pub(crate) const MOST_KEYS: usize = 16;

/// The keys of a vault, unlocked.
pub struct Workspace {
    vault: KeyId,
    epoch: u64,
    id: KeyId,
    key: SealingKey,
    name_key: SealingKey,
    wrapping: Sealer,
    /// Keys from before a rotation that is under way. They open, and seal nothing.
    retired: Vec<Sealer>,
    names: InnerNames,
    reasons: Sealer,
}

impl Workspace {
    /// A workspace that nobody knows.
    pub fn random() -> Self {
        Self::of(KeyId::random(), 1, KeyId::random(), SealingKey::random(), SealingKey::random())
    }

    /// The workspace of a vault, with the id and bytes of its key of an epoch, and its name key.
    pub fn new(vault: [u8; 16], epoch: u64, id: [u8; 16], key: &[u8; 32], name_key: &[u8; 32]) -> Self {
        let [vault, id] = [vault, id].map(KeyId::from_bytes);
        Self::of(vault, epoch, id, SealingKey::from_bytes(key), SealingKey::from_bytes(name_key))
    }

    /// The same of keys.
    pub(crate) fn of(vault: KeyId, epoch: u64, id: KeyId, key: SealingKey, name_key: SealingKey) -> Self {
        let wrapping = Self::wrapping_of(id, &key);
        let names = InnerNames::new(&name_key);
        // It belongs to no data key: the log of changes is not written again, and data keys are replaced.
        let reasons = Sealer::new(KeyId::from_bytes([0; 16]), &name_key.derive("rejoin/vault/reason/1\n"));
        Self { vault, epoch, id, key, name_key, wrapping, retired: Vec::new(), names, reasons }
    }

    /// The same, which also opens what was wrapped with an earlier key.
    #[must_use]
    pub fn with_retired(self, id: [u8; 16], key: &[u8; 32]) -> Self {
        self.retiring(KeyId::from_bytes(id), &SealingKey::from_bytes(key))
    }

    /// The same of keys.
    #[must_use]
    pub(crate) fn retiring(mut self, id: KeyId, key: &SealingKey) -> Self {
        self.retired.push(Self::wrapping_of(id, key));
        self
    }

    /// The vault's id.
    pub(crate) const fn vault(&self) -> KeyId {
        self.vault
    }

    /// How often the workspace key was made, from 1.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The id of the workspace key.
    pub(crate) const fn id(&self) -> KeyId {
        self.id
    }

    /// The workspace key, to be sealed for a slot.
    pub(crate) const fn key(&self) -> &SealingKey {
        &self.key
    }

    /// The name key, to be sealed in the record.
    pub(crate) const fn name_key(&self) -> &SealingKey {
        &self.name_key
    }

    /// What makes inner names.
    pub(crate) const fn names(&self) -> &InnerNames {
        &self.names
    }

    /// What seals reasons of removals.
    pub(crate) const fn reasons(&self) -> &Sealer {
        &self.reasons
    }

    /// What wraps keys.
    pub(crate) const fn wrapping(&self) -> &Sealer {
        &self.wrapping
    }

    /// What wraps keys with a workspace key, whether it is the newest or not.
    pub(crate) fn wrapping_of(id: KeyId, key: &SealingKey) -> Sealer {
        Sealer::new(id, &key.derive(WRAP))
    }

    /// The key that vouches for the record of slots.
    pub(crate) fn slots_key(&self) -> SealingKey {
        self.key.derive("rejoin/vault/slots/1\n")
    }

    /// The key of the anchor.
    pub(crate) fn anchor_key(&self) -> SealingKey {
        self.name_key.derive("rejoin/vault/anchor/1\n")
    }

    /// The key of the hashed tokens of redaction.
    pub(crate) fn token_key(&self) -> SealingKey {
        self.name_key.derive("rejoin/vault/token/1\n")
    }

    /// Wraps the data key of a conversation, which is named by its inner name, or of what belongs to none.
    pub(crate) fn wrap(&self, key: &DataKey, inner: Option<ConversationId>) -> Vec<u8> {
        let envelope =
            self.wrapping.seal(WRAP, &[key.id().as_bytes(), &owner_bytes(inner)], &[key.key().expose()]);
        [key.id().as_bytes().as_slice(), &envelope].concat()
    }

    /// Unwraps the data keys of a conversation.
    ///
    /// [`Broken::Key`] means that a workspace key is not the one it was wrapped
    /// with: there may be a newer record.
    pub(crate) fn unwrap(
        &self,
        wrapped: &[u8],
        inner: Option<ConversationId>,
    ) -> Result<Vec<DataKey>, Broken> {
        let keys = wrapped.chunks(WRAPPED);
        if keys.len() == 0 || keys.len() > MOST_KEYS {
            return Err(Broken::Shape);
        }
        keys.map(|wrapped| self.unwrap_one(wrapped, inner)).collect()
    }

    fn unwrap_one(&self, wrapped: &[u8], inner: Option<ConversationId>) -> Result<DataKey, Broken> {
        let (id, envelope) = wrapped.split_first_chunk().ok_or(Broken::Shape)?;
        let (id, wrapped_with) = (KeyId::from_bytes(*id), key_of(envelope)?);
        let sealer = std::iter::once(&self.wrapping)
            .chain(&self.retired)
            .find(|sealer| sealer.id() == wrapped_with)
            .ok_or(Broken::Key(wrapped_with))?;
        let inside = Zeroizing::new(sealer.open(WRAP, &[id.as_bytes(), &owner_bytes(inner)], envelope)?);
        Ok(DataKey::new(id, SealingKey::from_slice(&inside).ok_or(Broken::Shape)?))
    }
}

/// True when all of them are wrapped with this workspace key.
pub(crate) fn is_wrapped_with(wrapped: &[u8], id: KeyId) -> bool {
    wrapped.chunks(WRAPPED).all(|one| one.get(KeyId::LENGTH..).map(key_of) == Some(Ok(id)))
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("vault", &self.vault)
            .field("epoch", &self.epoch)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_keys_shows_their_ids_alone() {
        let key = || SealingKey::from_slice(&[0xab; 32]).unwrap();
        let id = |byte| KeyId::from_bytes([byte; 16]);
        let workspace = Workspace::of(id(1), 3, id(2), key(), key());
        let data = DataKey::new(id(4), key());

        let shown = [
            format!("{workspace:?}"),
            format!("{data:?}"),
            format!("{:?}", workspace.wrapping()),
            format!("{:?}", workspace.names()),
        ];

        let [vault, own, data] = [1, 2, 4].map(|byte| format!("{byte:02x}").repeat(16));
        let expected = [
            format!("Workspace {{ vault: {vault}, epoch: 3, id: {own}, .. }}"),
            format!("DataKey {{ id: {data}, .. }}"),
            format!("Sealer {{ id: {own}, .. }}"),
            "Names { .. }".to_owned(),
        ];
        assert_eq!(shown, expected);
    }
}
