//! Exporting from the archive: conversations as a tree that a format can write.

use std::collections::HashMap;

use crate::archive::{Archive, Parent, Subagents};
use crate::error::{Error, Result};
use crate::formats::Tree;
use crate::model::{ConversationId, MessageId, StoredConversation};
use crate::ops::{Extent, Recipient, Repair, Said, add_to_tree, view, view_tree};
use crate::store::Order;

impl Archive {
    /// A conversation as a tree that a format can write. Every branch brings the runs of its sub-agents along.
    ///
    /// A conversation that must not leave the store is refused.
    pub fn tree(&self, id: ConversationId, extent: Extent) -> Result<Tree> {
        let mut stored = self.exportable(id)?;
        let mut tree = Tree::default();
        let mut named = HashMap::new();
        let messages = match extent {
            Extent::Path(target) => {
                let path = self.path(id, target)?;
                if let (Some(last), Some(head)) = (path.last(), &mut stored.head) {
                    head.id = last.id;
                }
                path
            }
            Extent::Tree => self.all_messages(id, Order::OldestFirst, 0, u64::MAX)?,
        };
        add_to_tree(&mut tree, &stored, &messages, None, &mut named);
        if extent == Extent::Tree {
            for run in self.subagents(&Subagents { parent: Some(id), ..Subagents::default() })? {
                let (Some(Parent { conversation, message }), Some(which)) = (run.parent(), run.subagent())
                else {
                    continue;
                };
                let started = (conversation, message, which.name().to_owned(), which.run_id().to_owned());
                let messages = self.all_messages(run.id, Order::OldestFirst, 0, u64::MAX)?;
                add_to_tree(&mut tree, &run, &messages, Some(started), &mut named);
            }
        }
        Ok(tree)
    }

    /// What a recipient would be sent if it went on from a message, or from the head: a conversation of its own with a
    /// new id, and what was changed to make it valid.
    ///
    /// A conversation that must not leave the store is refused, and so is one in which nothing was said.
    pub fn view_tree(
        &self,
        id: ConversationId,
        target: Option<MessageId>,
        recipient: &Recipient,
    ) -> Result<(Tree, Vec<Repair>)> {
        let stored = self.exportable(id)?;
        let path = self.path(id, target)?;
        let mut view = view(&Said::all(&path), &stored.conversation.ignored_summaries, recipient);
        if view.messages.is_empty() {
            return Err(Error::invalid(format!("conversation `{id}` has nothing to hand over")));
        }
        let repairs = std::mem::take(&mut view.repairs);
        let mut random = [0; 10];
        self.nature.fill(&mut random);
        let now = self.now();
        Ok((view_tree(ConversationId::new(now, random), stored.conversation, view, now), repairs))
    }

    /// A conversation that may leave the store.
    fn exportable(&self, id: ConversationId) -> Result<StoredConversation> {
        let stored = self.conversation(id)?;
        if !stored.conversation.privacy.exportable {
            return Err(Error::invalid(format!("conversation `{id}` is marked as not exportable")));
        }
        Ok(stored)
    }
}
