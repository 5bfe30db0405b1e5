//! What a conversation is made of: messages, notes, header, previews, branches.
//!
//! A change names the version it was read at, so that nobody's change is undone. An append changes no version; what one has
//! moved meanwhile, the head of a branch, is looked at again after the write.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, ConversationId, Digest, MessageId, Time};
use crate::store::vault::anew::piece::{At, Piece};
use crate::store::vault::data_key::Use;
use crate::store::vault::failed::gone_past;
use crate::store::vault::message::{MESSAGE, NOTE};
use crate::store::vault::names::message_bytes;
use crate::store::vault::row::{BRANCH, FIRST, HEADER, LAST};
use crate::store::{Change, Facets, Note, Order, Rewritten, Row, Selection, Store as _, Tip, Version};

/// How many bytes of messages are held and rewritten at once.
const BATCH: usize = 4 << 20;

/// Messages of one batch.
#[derive(Default)]
struct Batch {
    seen: u64,
    size: usize,
    messages: Vec<(MessageId, Digest, String)>,
    notes: Vec<(MessageId, String)>,
}

impl Piece<'_> {
    pub(super) fn conversation(&mut self, inner: ConversationId) -> Result<()> {
        let mut version = self.row(inner)?.version;
        let (before, mut offset) = (self.sealed, 0);
        loop {
            let batch = self.batch(inner, offset)?;
            if batch.seen == 0 {
                break;
            }
            offset += batch.seen;
            version = self.store(inner, batch, version)?;
        }
        if self.sealed > before {
            self.vault.forget_segments(inner)?;
        }
        version = self.header(inner, version)?;
        version = self.previews(inner, version)?;
        self.branches(inner, version)
    }

    fn row(&self, inner: ConversationId) -> Result<Row> {
        self.vault.raw_row(inner)
    }

    fn amend(&self, inner: ConversationId, version: Version, change: &Change<'_>) -> Result<Version> {
        let at = self.vault.held.workspace().names().time(Time::now());
        self.vault.inner_for(inner, self.key).amend(inner, Some(version), change, at)
    }

    /// Reads messages from an offset on, and seals those that another key sealed.
    fn batch(&mut self, inner: ConversationId, offset: u64) -> Result<Batch> {
        let mut batch = Batch::default();
        let all = Selection::All { order: Order::OldestFirst, offset, limit: u64::MAX };
        let vault = self.vault;
        let read = vault.inner.read(inner, all, &mut |seen| {
            let (own, parent) = (message_bytes(Some(seen.id)), message_bytes(seen.parent));
            let place: [&[u8]; 3] = [inner.as_bytes(), &own, &parent];
            if let Some(body) = self.sealed_text(At(Use::Bodies, MESSAGE, &place), seen.body)? {
                batch.size += body.len();
                batch.messages.push((seen.id, seen.link, body));
            }
            if let Some(label) = seen.note.label
                && let Some(label) =
                    self.sealed_text(At(Use::About, NOTE, &[inner.as_bytes(), &own]), label)?
            {
                batch.notes.push((seen.id, label));
            }
            batch.seen += 1;
            if batch.size >= BATCH { Err(Error::new(ErrorKind::Invalid, "that is enough")) } else { Ok(()) }
        });
        if batch.size < BATCH {
            gone_past(vault.inner.capabilities(), read)?;
        }
        Ok(batch)
    }

    fn store(&mut self, inner: ConversationId, batch: Batch, mut version: Version) -> Result<Version> {
        if !batch.messages.is_empty() {
            let messages: Vec<Rewritten<'_>> = batch
                .messages
                .iter()
                .map(|(id, link, body)| Rewritten { id: *id, link: *link, body })
                .collect();
            version = self.rewrite(inner, &messages, version)?;
        }
        for (id, label) in &batch.notes {
            let note = Note { label: Some(label), is_pinned: false };
            version = self.amend(inner, version, &Change::Note(*id, note))?;
        }
        Ok(version)
    }

    fn header(&mut self, inner: ConversationId, version: Version) -> Result<Version> {
        let row = self.row(inner)?;
        match self.sealed_text(At(Use::About, HEADER, &[inner.as_bytes()]), &row.header)? {
            None => Ok(version),
            Some(header) => {
                let change = Change::Header { facets: &Facets::default(), header: &header };
                self.amend(inner, version, &change)
            }
        }
    }

    fn previews(&mut self, inner: ConversationId, version: Version) -> Result<Version> {
        let row = self.row(inner)?;
        if !self.is_old_text(&row.first) && !self.is_old_text(&row.last) {
            return Ok(version);
        }
        self.rewrite(inner, &[], version)
    }

    /// Rewrites messages, with previews that the newest key seals.
    fn rewrite(
        &mut self,
        inner: ConversationId,
        messages: &[Rewritten<'_>],
        version: Version,
    ) -> Result<Version> {
        let row = self.row(inner)?;
        let first = self.sealed_text(At(Use::About, FIRST, &[inner.as_bytes()]), &row.first)?;
        // It is only counted: the tip is encrypted in every commit.
        self.sealed_text(At(Use::About, LAST, &[inner.as_bytes()]), &row.last)?;
        let tip = Tip { first: first.as_ref().unwrap_or(&row.first), last: "" };
        self.amend(inner, version, &Change::Rewrite { messages, tip })
    }

    fn branches(&mut self, inner: ConversationId, mut version: Version) -> Result<()> {
        let row = self.row(inner)?;
        for branch in &row.branches {
            let place: [&[u8]; 2] = [inner.as_bytes(), &message_bytes(Some(branch.id))];
            if let Some(title) = self.sealed_text(At(Use::About, BRANCH, &place), &branch.title)? {
                let before = self.row(inner)?;
                let Some(now) = before.branches.iter().find(|now| now.id == branch.id) else { continue };
                let renewed = Branch { title, ..now.clone() };
                version = self.amend(inner, version, &Change::Branch(&renewed))?;
                version = self.mend_branch(inner, &before, &renewed, version)?;
            }
        }
        Ok(())
    }

    /// Where somebody went on on the branch between the look at its head and the write, it ends where they ended.
    fn mend_branch(
        &self,
        inner: ConversationId,
        before: &Row,
        branch: &Branch,
        version: Version,
    ) -> Result<Version> {
        let now = self.row(inner)?;
        let limit = now.messages.saturating_sub(before.messages);
        let is_as_written = now.branches.iter().any(|now| now.id == branch.id && now.head == branch.head);
        if limit == 0 || !is_as_written {
            return Ok(version);
        }
        let mut newest = Vec::new();
        let what = Selection::All { order: Order::NewestFirst, offset: 0, limit };
        self.vault.inner.read(inner, what, &mut |seen| {
            newest.push((seen.id, seen.parent));
            Ok(())
        })?;
        let follow = |head, (id, parent): &(MessageId, Option<MessageId>)| {
            if *parent == Some(head) { *id } else { head }
        };
        let head = newest.iter().rev().fold(branch.head, follow);
        if head == branch.head {
            return Ok(version);
        }
        self.amend(inner, now.version, &Change::Branch(&Branch { head, ..branch.clone() }))
    }
}
