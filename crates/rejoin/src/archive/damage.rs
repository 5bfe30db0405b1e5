//! Reading what is left of a conversation in which something is damaged.
//!
//! A vault and plain files visit all that can be read before they say what cannot. So the rest can be
//! used, and whoever uses it is told what is missing. A database ends a read at what is damaged, and
//! a part is never taken for the whole.

use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, ArchiveReader};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Head, MessageId};
use crate::store::{Selection, Visit};

/// What was passed over, in words, each once.
#[derive(Debug, Default)]
pub(super) struct Damage(Mutex<Vec<String>>);

impl Archive {
    /// The same archive, whose reads of messages pass over records of a vault that do
    /// not open and lines that cannot be used.
    ///
    /// Whoever shows what was read asks [`ArchiveReader::passed_over`], and says what is missing. Without
    /// this such a read is an
    /// error.
    #[must_use]
    pub fn passing_over_damage(mut self) -> Self {
        self.damage = Some(Arc::default());
        self
    }

    /// The head that a talk goes on from, where reads pass over what is damaged: one of which nobody
    /// knows what it is called is replaced by the nearest message before it that opens. One that does
    /// not open and is known can be followed.
    pub(super) fn head_past_damage(&self, id: ConversationId, head: Option<Head>) -> Result<Option<Head>> {
        let Some(known) = head.filter(|_| self.goes_past_damage()) else { return Ok(head) };
        match self.head_at(id, known.id) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.nearest(id, None),
            _ => Ok(head),
        }
    }

    /// The head at a message; at the nearest one before it that opens, where reads pass over what is damaged.
    pub(super) fn readable_head_at(&self, id: ConversationId, message: MessageId) -> Result<Option<Head>> {
        match self.head_at(id, message) {
            Err(error) if error.kind() == ErrorKind::Corrupt && self.goes_past_damage() => {
                self.nearest(id, Some(message))
            }
            head => head.map(Some),
        }
    }

    /// The last message on a path that opens.
    fn nearest(&self, id: ConversationId, target: Option<MessageId>) -> Result<Option<Head>> {
        let path = self.collect_bare(id, Selection::Path(target))?;
        Ok(path.last().map(|stored| Head { id: stored.id, digest: stored.digest }))
    }

    fn goes_past_damage(&self) -> bool {
        self.damage.is_some() && self.store().capabilities().reads_past_damage
    }

    /// The outcome of a read whose visitor has seen everything that opens.
    pub(super) fn or_passed_over(&self, read: Result<()>) -> Result<()> {
        let (Err(error), Some(told)) = (&read, self.damage.as_deref()) else { return read };
        if error.kind() != ErrorKind::Corrupt || !self.goes_past_damage() {
            return read;
        }
        told.add(std::iter::once(Error::to_string(error)).chain(error.others().iter().cloned()));
        Ok(())
    }

    /// Remembers what a list or a search had to leave out.
    pub(super) fn note_left_out(&self, left_out: &[String]) {
        if let Some(damage) = self.damage.as_deref() {
            damage.add(left_out.iter().cloned());
        }
    }
}

impl ArchiveReader<'_> {
    /// The records that were passed over since this was last asked, in words.
    pub fn passed_over(&self) -> Vec<String> {
        let Some(Damage(told)) = self.archive.damage.as_deref() else { return Vec::new() };
        std::mem::take(&mut told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Visits messages as the store keeps them. Where reads pass over what is damaged, so does this.
    pub fn visit(&self, id: ConversationId, what: Selection<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let mut refused = None;
        let read = self
            .archive
            .store()
            .read(id, what, &mut |seen| visit(seen).inspect_err(|error| refused = Some(error.to_string())));
        // Where the visitor ended the read, what comes after was not seen. A store may know better what is
        // wrong with a message that the visitor refused, and then it went on.
        let is_cut = read.as_ref().err().is_some_and(|error| refused == Some(error.to_string()));
        if is_cut { read } else { self.archive.or_passed_over(read) }
    }
}

impl Damage {
    fn add(&self, texts: impl Iterator<Item = String>) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for text in texts {
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
}
