//! What is taken out of imported messages because it is large.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::Digest;
use crate::ops::attachment::{AttachmentWriter, Detached, cards, erase_unused, settle};
use crate::ops::import::ImportMode;
use crate::ops::import::growing::Growing;
use crate::ops::prepare::Encoded;

/// The attachments that a conversation has, or will have.
#[derive(Default)]
pub(super) struct AttachmentSizes {
    /// Their sizes; none before the first is met.
    sizes: Option<BTreeMap<Digest, u64>>,
}

impl AttachmentSizes {
    pub(super) fn bytes(&self) -> u64 {
        self.sizes.iter().flat_map(BTreeMap::values).sum()
    }
}

impl Growing<'_> {
    /// Counts what was taken out of a message.
    pub(super) fn count_attached(&mut self, detached: &[Detached]) -> Result<()> {
        if detached.is_empty() {
            return Ok(());
        }
        let sizes = match &mut self.attached.sizes {
            Some(sizes) => sizes,
            slot => {
                let there = if self.exists { cards(self.into.store, self.id)? } else { Vec::new() };
                let sizes = there.iter().map(|(attachment, _)| (attachment.digest, attachment.byte_length));
                slot.insert(sizes.collect())
            }
        };
        sizes.extend(detached.iter().map(Detached::size));
        Ok(())
    }

    /// Refuses what is larger than a conversation may be.
    pub(super) fn check_size(&self) -> Result<()> {
        if self.bytes + self.attached.bytes() > self.into.conversation_bytes {
            return Err(Error::invalid(format!(
                "conversation `{}` has more bytes than `limits.conversation_bytes` = {}",
                self.found.id, self.into.conversation_bytes
            )));
        }
        Ok(())
    }

    /// Keeps what was taken out of a message that will be stored, and notes what has to be stored with it.
    pub(super) fn keep_attached(&mut self, stored: &Encoded<'_>) -> Result<()> {
        if stored.referred.is_empty() {
            return Ok(());
        }
        if !stored.detached.is_empty() {
            // They need a conversation that they belong to.
            self.create()?;
        }
        let into = self.into;
        let chunk_bytes = into.attachment_chunk_bytes;
        let writer = AttachmentWriter { store: into.store, owner: self.id, chunk_bytes, now: into.now };
        stored.detached.iter().try_for_each(|detached| writer.keep(detached))?;
        if self.exists {
            self.batch.settle(settle(into.store, self.id, stored.referred.iter().copied())?);
        }
        Ok(())
    }

    /// Erases what only messages referred to that went on.
    pub(super) fn erase_unused(&self) -> Result<()> {
        if self.grown > 0 && self.mode == ImportMode::Store {
            erase_unused(self.into.store, self.id, &[], self.into.now)?;
        }
        Ok(())
    }
}
