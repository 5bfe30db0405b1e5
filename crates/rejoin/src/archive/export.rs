//! Exporting from the archive: conversations as a tree that a format can write.

use std::collections::HashMap;

use crate::archive::{Archive, Parent, Subagents};
use crate::error::{Error, Result};
use crate::formats::Tree;
use crate::model::ConversationId;
use crate::ops::{Extent, add_to_tree};
use crate::store::Order;

impl Archive {
    /// A conversation as a tree that a format can write. Every branch brings the runs of its sub-agents along.
    ///
    /// A conversation that must not leave the store is refused.
    pub fn tree(&self, id: ConversationId, extent: Extent) -> Result<Tree> {
        let mut stored = self.conversation(id)?;
        if !stored.conversation.privacy.exportable {
            return Err(Error::invalid(format!("conversation `{id}` is marked as not exportable")));
        }
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
}
