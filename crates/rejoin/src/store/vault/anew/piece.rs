//! Single records: sealed with the newest key where another sealed them.

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::vault::Sealed;
use crate::store::vault::data_key::{DataKey, Use};
use crate::store::vault::envelope::{OVERHEAD, key_of};
use crate::store::vault::held::{Ring, Trouble};
use crate::store::vault::text::{from_text, to_text};

/// How much text shows which key sealed it.
const ENOUGH: usize = OVERHEAD.div_ceil(3) * 4;

/// One pass over everything of an owner.
pub(super) struct Piece<'v> {
    pub(super) vault: &'v Sealed,
    pub(super) owner: Option<ConversationId>,
    pub(super) key: &'v DataKey,
    ring: Ring<'v>,
    /// How many records another key sealed.
    pub(super) sealed: u64,
    /// How many do not open.
    pub(super) damaged: u64,
}

/// Where a record is: what it is sealed for, under which tag, in which place.
#[derive(Clone, Copy)]
pub(super) struct At<'a>(pub(super) Use, pub(super) &'a str, pub(super) &'a [&'a [u8]]);

impl<'v> Piece<'v> {
    pub(super) fn new(vault: &'v Sealed, owner: Option<ConversationId>, key: &'v DataKey) -> Self {
        Self { vault, owner, key, ring: vault.held.ring(owner), sealed: 0, damaged: 0 }
    }

    /// Goes over everything.
    pub(super) fn everything(&mut self) -> Result<()> {
        if let Some(inner) = self.owner {
            self.conversation(inner)?;
        }
        self.blobs()
    }

    /// True when another key than the newest sealed this.
    pub(super) fn is_old(&self, envelope: &[u8]) -> bool {
        key_of(envelope) != Ok(self.key.id())
    }

    /// The same of text.
    pub(super) fn is_old_text(&self, text: &str) -> bool {
        let beginning = text.get(..ENOUGH).unwrap_or(text);
        !text.is_empty() && from_text(beginning).map_or(true, |envelope| self.is_old(&envelope))
    }

    /// Seals with the newest key; none when it is, or when it does not open.
    pub(super) fn sealed(&mut self, at: At<'_>, envelope: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.is_old(envelope) {
            return Ok(None);
        }
        let At(usage, tag, place) = at;
        let mut copy = envelope.to_vec();
        match self.ring.open(usage, tag, place, &mut copy) {
            Ok(inside) => {
                self.sealed += 1;
                Ok(Some(self.key.seal(usage, tag, place, &[inside])))
            }
            Err(Trouble::Broken(_)) => {
                self.damaged += 1;
                Ok(None)
            }
            Err(Trouble::Failed(error)) => Err(error),
        }
    }

    /// The same of text.
    pub(super) fn sealed_text(&mut self, at: At<'_>, text: &str) -> Result<Option<String>> {
        if !self.is_old_text(text) {
            return Ok(None);
        }
        // What is no envelope is found to be none by looking at it.
        let envelope = from_text(text).unwrap_or_default();
        Ok(self.sealed(at, &envelope)?.map(|envelope| to_text(&envelope)))
    }
}
