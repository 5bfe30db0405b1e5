//! Tracks which conversations may still be referred to: a conversation and the sub-agent runs below it.

use std::collections::HashSet;

use crate::error::Result;
use crate::formats::{Reading, SourceConversation, SourcePiece};

/// The most recent conversations that belong together.
#[derive(Default)]
pub(super) struct SubagentGroup {
    order: Vec<String>,
    ids: HashSet<String>,
}

impl SubagentGroup {
    /// Adds a conversation. If no member of the group started it, the group is complete and a new one begins.
    pub(super) fn add(&mut self, conversation: &SourceConversation, reading: &mut Reading<'_>) -> Result<()> {
        if self.ids.contains(&conversation.id) {
            return Ok(());
        }
        let belongs =
            conversation.parent.as_ref().is_some_and(|parent| self.ids.contains(&parent.conversation));
        if !belongs {
            self.finish(reading)?;
        }
        self.order.push(conversation.id.clone());
        self.ids.insert(conversation.id.clone());
        Ok(())
    }

    /// Reports that all members are complete, in the order in which they were read.
    pub(super) fn finish(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.ids.clear();
        self.order.drain(..).try_for_each(|id| reading.give(SourcePiece::Complete(id)))
    }
}
