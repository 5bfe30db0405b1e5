//! The pass over messages, notes, header, previews and branches.
//!
//! A change names the version it was read at, so that nobody's change is undone. An append changes no
//! version; what one has moved meanwhile, the head of a branch, is looked at again after the write.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, ConversationId, Digest, MessageId, Time};
use crate::store::backend::{Amendment, ConversationRow};
use crate::store::keeper::rewrite;
use crate::store::sealed::failed::gone_past;
use crate::store::sealed::keys::data_key::KeyUse;
use crate::store::sealed::keys::names::message_bytes;
use crate::store::sealed::records::message::{MESSAGE, NOTE};
use crate::store::sealed::records::row::{BRANCH, FIRST, HEADER, LAST};
use crate::store::{Change, Facets, Order, Selection, Store as _, Version, What};
use crate::vault::reseal::pass::{At, ResealPass};

/// How many bytes of messages are held and rewritten at once.
const BATCH: usize = 4 << 20;

/// Messages of one batch.
#[derive(Default)]
struct ResealBatch {
    seen: u64,
    size: usize,
    messages: Vec<(MessageId, Digest, Vec<u8>)>,
    notes: Vec<(MessageId, u32, Vec<u8>)>,
}

impl ResealPass<'_> {
    pub(crate) fn conversation(&mut self, inner: ConversationId) -> Result<()> {
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

    fn row(&self, inner: ConversationId) -> Result<ConversationRow> {
        self.vault.raw_row(inner)
    }

    fn amend<'a>(
        &self,
        inner: ConversationId,
        version: Version,
        change: &dyn Fn() -> Amendment<'a>,
    ) -> Result<Version> {
        self.vault.amend_raw(self.key, (inner, version), What::Changed, &mut |_| Ok(change()))
    }

    fn set_branch(&self, inner: ConversationId, version: Version, branch: &Branch) -> Result<Version> {
        let at = self.vault.key_cache.workspace().names().time(Time::now());
        let inside = self.vault.inner_for(inner, self.key);
        inside.amend(inner, Some(version), &Change::Branch(branch), at)
    }

    /// Reads messages from an offset on, and re-encrypts those of old keys.
    fn batch(&mut self, inner: ConversationId, offset: u64) -> Result<ResealBatch> {
        let mut batch = ResealBatch::default();
        let all = Selection::All { order: Order::OldestFirst, offset, limit: u64::MAX };
        let vault = self.vault;
        let read = vault.visit_sealed(inner, all, &mut |seen| {
            let (own, parent) = (message_bytes(Some(seen.id)), message_bytes(seen.parent));
            let place: [&[u8]; 3] = [inner.as_bytes(), &own, &parent];
            if let Some(body) = self.sealed_in_row(At(KeyUse::Bodies, MESSAGE, &place), seen.body)? {
                batch.size += body.len();
                batch.messages.push((seen.id, seen.link, body));
            }
            if let Some(label) = seen.label
                && let Some(label) =
                    self.sealed_in_row(At(KeyUse::About, NOTE, &[inner.as_bytes(), &own]), label)?
            {
                batch.notes.push((seen.id, seen.seq, label));
            }
            batch.seen += 1;
            if batch.size >= BATCH { Err(Error::new(ErrorKind::Invalid, "that is enough")) } else { Ok(()) }
        });
        if batch.size < BATCH {
            gone_past(vault.inner.capabilities(), read)?;
        }
        Ok(batch)
    }

    fn store(&mut self, inner: ConversationId, batch: ResealBatch, mut version: Version) -> Result<Version> {
        if !batch.messages.is_empty() {
            version = self.rewrite(inner, &batch.messages, version)?;
        }
        for (id, seq, label) in &batch.notes {
            version = self.amend(inner, version, &|| Amendment::Note(*id, *seq, Some(label), false))?;
        }
        Ok(version)
    }

    fn header(&mut self, inner: ConversationId, version: Version) -> Result<Version> {
        let row = self.row(inner)?;
        let facets = Facets::default();
        match self.sealed_in_row(At(KeyUse::About, HEADER, &[inner.as_bytes()]), &row.header)? {
            None => Ok(version),
            Some(header) => self.amend(inner, version, &|| Amendment::Header(&facets, &header)),
        }
    }

    fn previews(&mut self, inner: ConversationId, version: Version) -> Result<Version> {
        let row = self.row(inner)?;
        if !self.is_old_in_row(&row.first) && !self.is_old_in_row(&row.last) {
            return Ok(version);
        }
        self.rewrite(inner, &[], version)
    }

    /// Rewrites messages, with previews encrypted with the newest key.
    fn rewrite(
        &mut self,
        inner: ConversationId,
        messages: &[(MessageId, Digest, Vec<u8>)],
        version: Version,
    ) -> Result<Version> {
        let row = self.row(inner)?;
        let first = self.sealed_in_row(At(KeyUse::About, FIRST, &[inner.as_bytes()]), &row.first)?;
        // It is only counted: the trailer is encrypted in every commit.
        self.sealed_in_row(At(KeyUse::About, LAST, &[inner.as_bytes()]), &row.last)?;
        let first = first.as_ref().unwrap_or(&row.first);
        self.vault.amend_raw(self.key, (inner, version), What::Rewritten, &mut |rows| {
            let new = messages.iter().map(|(id, link, body)| (*id, *link, body.as_slice()));
            Ok(Amendment::Rewrite(rewrite(rows, inner, new)?, first, &[]))
        })
    }

    fn branches(&mut self, inner: ConversationId, mut version: Version) -> Result<()> {
        let row = self.row(inner)?;
        for branch in &row.branches {
            let place: [&[u8]; 2] = [inner.as_bytes(), &message_bytes(Some(branch.id))];
            if let Some(title) = self.sealed_title(At(KeyUse::About, BRANCH, &place), &branch.title)? {
                let before = self.row(inner)?;
                let Some(now) = before.branches.iter().find(|now| now.id == branch.id) else { continue };
                let renewed = Branch { title, ..now.clone() };
                version = self.set_branch(inner, version, &renewed)?;
                version = self.mend_branch(inner, &before, &renewed, version)?;
            }
        }
        Ok(())
    }

    /// Where somebody went on on the branch between the look at its head and
    /// the write, it ends where they ended.
    fn mend_branch(
        &self,
        inner: ConversationId,
        before: &ConversationRow,
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
        self.vault.visit_sealed(inner, what, &mut |seen| {
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
        self.set_branch(inner, now.version, &Branch { head, ..branch.clone() })
    }
}
