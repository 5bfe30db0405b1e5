//! Exporting from the archive: conversations as a tree that a format can write.

use std::collections::HashMap;

use crate::archive::{Archive, ArchiveExports, Leaving, Parent, Subagents};
use crate::error::{Error, Result};
use crate::formats::{Format, Tree};
use crate::model::{ConversationId, MessageId, StoredConversation};
use crate::ops::{Extent, Naming, PathMessage, Recipient, Repair, View, add_to_tree, view_tree};
use crate::store::Order;

impl ArchiveExports<'_> {
    /// A conversation as a tree that another program's format can write. Every branch
    /// brings the runs of its sub-agents along.
    ///
    /// A conversation that must not leave the store is refused.
    pub fn tree(&self, id: ConversationId, extent: Extent) -> Result<Tree> {
        self.archive.tree_named(id, extent, Naming::Source)
    }

    /// The same, exactly as it is kept and with the ids it has here: for people, and for files of Rejoin.
    pub fn tree_as_kept(&self, id: ConversationId, extent: Extent) -> Result<Tree> {
        self.archive.tree_named(id, extent, Naming::Own)
    }

    /// The tree that a format takes.
    pub fn tree_for(&self, format: &Format, id: ConversationId, extent: Extent) -> Result<Tree> {
        self.archive.tree_named(id, extent, if format.is_own() { Naming::Own } else { Naming::Source })
    }

    /// What a recipient would be sent if it went on from a message, or from the head: a conversation of its
    /// own with a new id, and what was changed to make it valid.
    ///
    /// A conversation that must not leave the store is refused, and so is one in which nothing was said.
    pub fn view_tree(
        &self,
        id: ConversationId,
        target: Option<MessageId>,
        recipient: &Recipient,
    ) -> Result<(Tree, Vec<Repair>)> {
        let stored = self.archive.exportable(id)?;
        let path = self.archive.path(id, target)?;
        let mut view = View::of(&PathMessage::all(&path), &stored.conversation.ignored_summaries, recipient);
        if view.messages.is_empty() {
            return Err(Error::invalid(format!("conversation `{id}` has nothing to hand over")));
        }
        let repairs = std::mem::take(&mut view.repairs);
        let mut random = [0; 10];
        self.archive.nature.fill(&mut random);
        let now = self.archive.now();
        Ok((view_tree(ConversationId::new(now, random), stored.conversation, view, now), repairs))
    }

    /// True when a conversation may leave the store: it is exportable, or this archive [exports
    /// all](Archive::exporting_all).
    pub fn may_leave(&self, stored: &StoredConversation) -> bool {
        stored.conversation.privacy.exportable || self.archive.leaving == Leaving::All
    }
}

impl Archive {
    fn tree_named(&self, id: ConversationId, extent: Extent, naming: Naming) -> Result<Tree> {
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
            Extent::Tree => self.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX)?,
        };
        self.say_where(&mut stored)?;
        add_to_tree(&mut tree, naming, &stored, &messages, None, &mut named);
        if extent == Extent::Tree {
            self.add_runs(&mut tree, naming, id, &mut named)?;
        }
        Ok(tree)
    }

    /// Adds the runs of sub-agents that a conversation started, and those that they started.
    fn add_runs(
        &self,
        tree: &mut Tree,
        naming: Naming,
        id: ConversationId,
        named: &mut HashMap<(ConversationId, MessageId), String>,
    ) -> Result<()> {
        let mut started_by = vec![id];
        let mut met = vec![id];
        while let Some(parent) = started_by.pop() {
            for mut run in
                self.subagents().list(&Subagents { parent: Some(parent), ..Subagents::default() })?
            {
                let (Some(Parent { conversation, message }), Some(which)) = (run.parent(), run.subagent())
                else {
                    continue;
                };
                if met.contains(&run.id) || !self.exports().may_leave(&run) {
                    continue;
                }
                met.push(run.id);
                started_by.push(run.id);
                let started = (conversation, message, which.name().to_owned(), which.run_id().to_owned());
                let messages = self.reader().all_messages(run.id, Order::OldestFirst, 0, u64::MAX)?;
                self.say_where(&mut run)?;
                add_to_tree(tree, naming, &run, &messages, Some(started), named);
            }
        }
        Ok(())
    }

    /// Other programs, and this one elsewhere, know a project by its directory.
    fn say_where(&self, stored: &mut StoredConversation) -> Result<()> {
        if let Some(key) = &mut stored.conversation.project
            && let Some(project) = self.projects().get(key)?
        {
            *key = project.path;
        }
        Ok(())
    }

    /// A conversation that may leave the store.
    fn exportable(&self, id: ConversationId) -> Result<StoredConversation> {
        let stored = self.conversation(id)?;
        if !self.exports().may_leave(&stored) {
            return Err(Error::invalid(format!("conversation `{id}` is marked as not exportable")));
        }
        Ok(stored)
    }
}
