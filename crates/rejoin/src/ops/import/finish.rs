//! The end of a conversation's import: its head, its branches, its header, and what is told.

use crate::error::Result;
use crate::model::Branch;
use crate::ops::import::growing::Growing;
use crate::ops::import::header;
use crate::ops::import::queue::{WholeConversation, is_small};
use crate::ops::import::route::ImportRoute;
use crate::ops::import::{ImportMode, ImportedAs, ImportedConversation, ReadingDepth};
use crate::store::{Change, Facets};

impl Growing<'_> {
    /// Stores what is left, sets the head, and tells what was done, as far as the reading went. A
    /// conversation without messages is none.
    pub(super) fn finish(mut self, depth: ReadingDepth) -> Result<Option<ImportedConversation>> {
        if self.read == 0 {
            return Ok(None);
        }
        if self.mode == ImportMode::Store && !self.wait_if_whole()? {
            self.flush()?;
            self.erase_unused()?;
            self.place_head()?;
            let is_into = matches!(self.route, ImportRoute::Into(_));
            if !is_into {
                self.place_branches()?;
            }
            if self.stored.is_some() && !is_into {
                header::complete(self.into.store, self.id, &self.header, self.into.now)?;
            }
        }
        Ok(Some(ImportedConversation {
            id: self.id,
            source_id: self.found.id.clone(),
            title: if depth == ReadingDepth::Full { self.redacted_title() } else { None },
            imported_as: self.imported_as(),
            is_new: self.stored.is_none(),
            parent: self.above.as_ref().map(|above| above.conversation),
            is_waiting: self.found.parent.as_ref().is_some_and(|parent| parent.message.is_some())
                && self.above.as_ref().is_some_and(|above| above.message.is_none()),
            messages: self.read,
            added: self.added,
            grown: self.grown,
            changed: self.branched,
        }))
    }

    /// Has a conversation wait that is new and small, and that one append makes
    /// what it should be. False when it is not.
    fn wait_if_whole(&mut self) -> Result<bool> {
        let is_head_last = self.head().or(self.last) == self.batch.last();
        let is_whole = !self.exists && self.bookmark.is_none() && self.branches.is_empty() && is_head_last;
        let header = self.header.to_header();
        if !is_whole || !is_small(&self.batch, &header) {
            return Ok(false);
        }
        let whole = WholeConversation {
            id: self.id,
            facets: Facets::of(&self.header),
            header,
            created: self.found.created_at,
            now: self.into.now,
            batch: std::mem::take(&mut self.batch),
        };
        self.into.queue.add(self.into.store, whole).map(|()| true)
    }

    /// Which conversation took it.
    fn imported_as(&self) -> ImportedAs {
        match self.route {
            ImportRoute::Own(_) => ImportedAs::Own,
            ImportRoute::Separate { beside, .. } => ImportedAs::Separate { beside },
            ImportRoute::Compared(_) => ImportedAs::Here,
            ImportRoute::Into(_) => ImportedAs::Branch { head: self.last.filter(|_| self.has_news()) },
        }
    }

    /// The title at the source, without what is not stored.
    fn redacted_title(&self) -> Option<String> {
        self.found.header.title.as_deref().map(|title| self.redacted_line(title).into_owned())
    }

    /// Gives branches their names, where none has the same.
    fn place_branches(&self) -> Result<()> {
        let there = self.stored.as_ref().map_or(&[][..], |row| &row.branches);
        for branch in &self.branches {
            let (id, head) = (self.names.message(&self.found.id, &branch.id), self.name(&branch.head));
            if there.iter().any(|own| own.id == id) || !self.known.contains_key(&head) {
                continue;
            }
            let title = self.redacted_line(&branch.title).into_owned();
            let branch = Branch { id, title, head };
            self.into.store.amend(self.id, None, &Change::Branch(&branch), self.into.now)?;
        }
        Ok(())
    }
}
