//! Whether a stored message still stands where its source has it.

use crate::error::Result;
use crate::model::{Block, MessageId, Role};
use crate::ops::import::growing::Growing;

impl Growing<'_> {
    /// True when a stored message follows another one, or does over lines that
    /// were messages once and are none by now.
    pub(super) fn leads_to(&self, mut above: Option<MessageId>, parent: Option<MessageId>) -> Result<bool> {
        while above != parent {
            let Some(id) = above.filter(|id| !self.met.contains(id)) else { return Ok(false) };
            let Some((next, message)) = self.stored_message(id)? else { return Ok(false) };
            let is_note = |block: &Block| matches!(block, Block::Other(_));
            if message.role != Role::System || !message.blocks.iter().all(is_note) {
                return Ok(false);
            }
            above = next;
        }
        Ok(true)
    }
}
