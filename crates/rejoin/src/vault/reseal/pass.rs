//! One pass, and how it re-encrypts a single record.

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::{from_text, to_text};
use crate::store::sealed::keys::envelope::key_of;
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::records::mark::RunId;

/// One re-encryption pass over an owner.
pub(crate) struct ResealPass<'v> {
    pub(crate) vault: &'v Sealed,
    pub(crate) owner: Option<ConversationId>,
    pub(crate) key: &'v DataKey,
    /// The run that it is part of.
    pub(crate) run: RunId,
    owner_keys: OwnerKeys<'v>,
    /// How many records were re-encrypted.
    pub(crate) sealed: u64,
    /// How many do not decrypt.
    pub(crate) damaged: u64,
}

/// What a record is encrypted for: the use of its key, the context, and the place.
#[derive(Clone, Copy)]
pub(crate) struct At<'a>(pub(crate) KeyUse, pub(crate) &'a str, pub(crate) &'a [&'a [u8]]);

impl<'v> ResealPass<'v> {
    pub(crate) fn new(
        vault: &'v Sealed,
        owner: Option<ConversationId>,
        key: &'v DataKey,
        run: RunId,
    ) -> Self {
        let owner_keys = vault.key_cache.owner_keys(owner);
        Self { vault, owner, key, run, owner_keys, sealed: 0, damaged: 0 }
    }

    /// Goes over everything.
    pub(crate) fn everything(&mut self) -> Result<()> {
        if let Some(inner) = self.owner {
            self.conversation(inner)?;
        }
        self.blobs()
    }

    /// True when this is encrypted with a key other than the newest.
    pub(crate) fn is_old(&self, envelope: &[u8]) -> bool {
        key_of(envelope) != Ok(self.key.id())
    }

    /// The same of what is stored in a row.
    pub(crate) fn is_old_in_row(&self, stored: &[u8]) -> bool {
        !stored.is_empty() && self.vault.key_cache.encoding().key_of(stored) != Ok(self.key.id())
    }

    /// Decrypts a copy; none when it does not decrypt.
    pub(crate) fn opened(&mut self, at: At<'_>, envelope: &[u8]) -> Result<Option<Vec<u8>>> {
        let At(usage, context, place) = at;
        let mut copy = envelope.to_vec();
        match self.owner_keys.open(usage, context, place, &mut copy) {
            Ok(inside) => Ok(Some(inside.to_vec())),
            Err(OpenError::Broken(_)) => Ok(None),
            Err(OpenError::Failed(error)) => Err(error),
        }
    }

    /// Re-encrypts with the newest key; none when that is its key already, or when it does not decrypt.
    pub(crate) fn sealed(&mut self, at: At<'_>, envelope: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.is_old(envelope) {
            return Ok(None);
        }
        let At(usage, context, place) = at;
        let mut copy = envelope.to_vec();
        match self.owner_keys.open(usage, context, place, &mut copy) {
            Ok(inside) => {
                self.sealed += 1;
                Ok(Some(self.key.seal(usage, context, place, &[inside])))
            }
            Err(OpenError::Broken(_)) => {
                self.damaged += 1;
                Ok(None)
            }
            Err(OpenError::Failed(error)) => Err(error),
        }
    }

    /// The same of what is stored in a row.
    pub(crate) fn sealed_in_row(&mut self, at: At<'_>, stored: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.is_old_in_row(stored) {
            return Ok(None);
        }
        let (encoding, mut envelope) = (self.vault.key_cache.encoding(), Vec::new());
        if encoding.read(stored, &mut envelope).is_err() {
            // What is no envelope is found to be none by looking at it.
            envelope.clear();
        }
        Ok(self.sealed(at, &envelope)?.map(|envelope| encoding.write(envelope)))
    }

    /// The same of the title of a branch, which is text in every backend.
    pub(crate) fn sealed_title(&mut self, at: At<'_>, title: &str) -> Result<Option<String>> {
        Ok(self.sealed(at, &from_text(title).unwrap_or_default())?.map(|envelope| to_text(&envelope)))
    }
}
