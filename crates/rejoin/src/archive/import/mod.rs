//! Importing into the archive, and what imported messages were read from.

use std::collections::HashSet;

use crate::archive::audit::{AuditAction, AuditEntry};
use crate::archive::{Archive, ArchiveImports};
use crate::error::Result;
use crate::formats::{Format, SOURCE, Source};
use crate::model::{ConversationId, MessageId, StoredConversation, StoredMessage};
use crate::ops::{
    Import, ImportDestination, ImportMode, ImportQueue, Imported, import, is_used_here, unpack,
};
use crate::store::{BlobNames, Space};

impl ArchiveImports<'_> {
    /// Imports a source. Importing it again adds only what is new; what is there stays as it is.
    ///
    /// A conversation that began here, or was read from another place, does not grow from a
    /// source that has its id: what is new becomes a separate conversation.
    /// [`ArchiveImports::add_into`] adds it as a branch instead.
    ///
    /// A source that is damaged or cannot be read is [`Invalid`](crate::ErrorKind::Invalid), one that is gone
    /// [`NotFound`](crate::ErrorKind::NotFound): other kinds are of the store.
    pub fn add(&self, source: &Source, format: &'static Format, how: &mut Import<'_>) -> Result<Imported> {
        self.archive.import_alone(None, source, format, how)
    }

    /// Imports the one conversation of a source as a branch of another one, where the two begin to differ.
    ///
    /// Only messages are added: the head, the header, pins and branches of the other one stay as they are.
    /// Runs of sub-agents are imported as [`ArchiveImports::add`] does. A source with several conversations
    /// is [`Invalid`](crate::ErrorKind::Invalid).
    pub fn add_into(
        &self,
        id: ConversationId,
        source: &Source,
        format: &'static Format,
        how: &mut Import<'_>,
    ) -> Result<Imported> {
        let target = Some(self.archive.conversation(id)?.id);
        self.archive.import_alone(target, source, format, how)
    }

    /// The text that an imported message was read from; none when it was not imported.
    pub fn source_of(&self, id: ConversationId, message: MessageId) -> Result<Option<String>> {
        let name = BlobNames::One(message.as_str().as_bytes());
        let mut text = None;
        self.archive.store().get(Space::Source, Some(id), name, &mut |_, packed| {
            text = Some(unpack(packed)?);
            Ok(())
        })?;
        Ok(text)
    }

    /// True when a conversation began here, or was written to here after it was imported.
    /// What an import adds is no use of it.
    pub fn was_used_here(&self, stored: &StoredConversation) -> Result<bool> {
        is_used_here(self.archive.store(), stored.id, &stored.conversation, stored.last_active_at)
    }

    /// True when an import added a message to a conversation that was here, or
    /// read it from a file of another program.
    pub fn was_imported(&self, id: ConversationId, said: &StoredMessage) -> Result<bool> {
        Ok(said.message.extra.field(SOURCE).is_some() || self.source_of(id, said.id)?.is_some())
    }
}

impl Archive {
    fn import_alone(
        &self,
        target: Option<ConversationId>,
        source: &Source,
        format: &'static Format,
        how: &mut Import<'_>,
    ) -> Result<Imported> {
        let (queue, none) = (ImportQueue::default(), HashSet::new());
        let number = queue.begin_source();
        let destination = ImportDestination { target, ..self.destination(&queue, &none) };
        let read = import(destination, source, format, how);
        queue.flush(self.store());
        let refusal = queue.take_refusal(number).map_or(Ok(()), Err);
        self.settled(source, read.and_then(|read| refusal.map(|()| read)), how.mode)
    }

    /// Where an import goes: what is small waits in the queue, and some
    /// conversations that are no longer here stay away.
    pub(super) fn destination<'a>(
        &'a self,
        queue: &'a ImportQueue,
        except: &'a HashSet<ConversationId>,
    ) -> ImportDestination<'a> {
        ImportDestination {
            store: self.store(),
            queue,
            now: self.now(),
            conversation_bytes: self.limits.conversation_bytes,
            attachment_chunk_bytes: self.limits.attachment_chunk_bytes,
            except,
            redactor: self.redactor(),
            target: None,
        }
    }

    /// What is told of a source of which nothing waits.
    pub(super) fn settled(
        &self,
        source: &Source,
        read: Result<Imported>,
        mode: ImportMode,
    ) -> Result<Imported> {
        let imported = read.map_err(|error| error.during(format!("import `{}`", source.path().display())))?;
        if mode == ImportMode::Store && !imported.redacted.is_empty() {
            self.note_redacted(&imported);
        }
        Ok(imported)
    }

    /// Notes what was taken out of a source: one entry, of the conversation if it has only one.
    fn note_redacted(&self, imported: &Imported) {
        let entry = AuditEntry::new(AuditAction::Redacted, "import");
        let entry = match imported.conversations.as_slice() {
            [only] => entry.to(only.id),
            all => AuditEntry { conversations: all.len() as u64, ..entry },
        };
        self.note_done(entry.ruled(&imported.redacted));
    }
}

#[cfg(test)]
mod tests;
