//! Which conversations of a source may still be named by others: one that none of them started, and those it led to.

use std::collections::HashSet;

use crate::error::Result;
use crate::formats::{Piece, Reading, SourceConversation};

/// The conversations that were read last and belong together.
#[derive(Default)]
pub(super) struct SubagentGroup {
    order: Vec<String>,
    ids: HashSet<String>,
}

impl SubagentGroup {
    /// Adds a conversation that was read. If none of the family started it, they are complete, and it begins another one.
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

    /// Tells that nothing more comes of them, in the order in which they were read.
    pub(super) fn finish(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.ids.clear();
        self.order.drain(..).try_for_each(|id| reading.give(Piece::Complete(id)))
    }
}
