//! Attachments of conversations: what is too large to stand in a message.
//!
//! A block with much data is kept as an attachment by itself, and handed out as it was. Programs may
//! also attach what they want to refer to.

use std::io;

use crate::archive::{Archive, ArchiveAttachments};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Attachment, AttachmentKind, ConversationId, Digest};
use crate::ops::{AttachmentWriter, Cleaning, cards, erase_unused, read_attachment};

impl ArchiveAttachments<'_> {
    /// Keeps what a reader gives as an attachment of a conversation. It is on disk when this returns.
    ///
    /// With redaction, what is text is kept without its secrets, so the digest and the length are of that:
    /// code, documents and transcripts that are UTF-8. More than 1 MiB is looked at in pieces of whole lines.
    ///
    /// The same bytes are kept once. A message whose block refers to it ([`Attachment::to_media`]) makes it
    /// stay; one that no message refers to for an hour goes when messages are deleted.
    pub fn add(
        &self,
        id: ConversationId,
        kind: AttachmentKind,
        bytes: &mut dyn io::Read,
    ) -> Result<Attachment> {
        let stored = self.archive.conversation(id)?;
        let room = self.archive.limits.room_for_attachments(stored.bytes + self.bytes(id)?);
        let mut stand_in = [0; 32];
        self.archive.nature.fill(&mut stand_in);
        let (writer, stand_in) = (self.archive.attachment_writer(id), Digest::from_bytes(stand_in));
        let kept = match self.archive.redactor().filter(|_| may_be_text(kind)) {
            Some(redactor) => writer.keep_stream(kind, &mut Cleaning::new(redactor, bytes), room, stand_in),
            None => writer.keep_stream(kind, bytes, room, stand_in),
        };
        kept.map_err(|error| error.during(format!("attach to conversation `{id}`")))
    }

    /// Writes the bytes of an attachment, and returns how many there are.
    ///
    /// One that lacks a piece, or is not what its digest says, is [`Corrupt`](ErrorKind::Corrupt); what was
    /// written until then has to be thrown away.
    pub fn read(&self, id: ConversationId, digest: Digest, into: &mut dyn io::Write) -> Result<u64> {
        let read = read_attachment(self.archive.store(), id, digest, &mut |piece| {
            into.write_all(piece)
                .map_err(|cause| Error::new(ErrorKind::Unavailable, "write an attachment").because(cause))
        });
        read.map_err(|error| error.during(format!("read an attachment of conversation `{id}`")))
    }

    /// The attachments of a conversation, by digest.
    pub fn list(&self, id: ConversationId) -> Result<Vec<Attachment>> {
        Ok(cards(self.archive.store(), id)?.into_iter().map(|(attachment, _)| attachment).collect())
    }

    /// Erases attachments that no message of a conversation refers to, and
    /// tells which. Deleting messages does this.
    ///
    /// One whose message may be on its way stays: for an hour after it was attached.
    pub fn erase_unused(&self, id: ConversationId) -> Result<Vec<Attachment>> {
        erase_unused(self.archive.store(), id, &[], self.archive.now())
    }

    /// The bytes of all attachments of a conversation.
    pub fn bytes(&self, id: ConversationId) -> Result<u64> {
        Ok(self.list(id)?.iter().map(|attachment| attachment.byte_length).sum())
    }
}

impl Archive {
    pub(super) fn attachment_writer(&self, owner: ConversationId) -> AttachmentWriter<'_> {
        let chunk_bytes = self.limits.attachment_chunk_bytes;
        AttachmentWriter { store: self.store(), owner, chunk_bytes, now: self.now() }
    }
}

const fn may_be_text(kind: AttachmentKind) -> bool {
    match kind {
        AttachmentKind::Code | AttachmentKind::Document | AttachmentKind::Transcript => true,
        AttachmentKind::Audio | AttachmentKind::Image | AttachmentKind::Video => false,
    }
}
