//! Whether a message of a source is here already, whatever was taken out of it when it was stored.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::error::Result;
use crate::formats::{SOURCE, SourceMessage};
use crate::model::{Digest, Message, MessageId};
use crate::ops::import::growing::Growing;
use crate::ops::marker::is_same;
use crate::ops::prepare::Encoded;
use crate::ops::sources::source_hash;
use crate::store::{BlobNames, Selection, Space};

/// The longest text of a message that is compared; a line has a limit, too.
const SOURCE_BYTES: usize = 1 << 30;

/// The messages that a reading added: what each follows, and a hash of what it was read from. They may wait
/// to be stored, and an outline stores none.
#[derive(Default)]
pub(super) struct AddedMessages {
    hasher: RandomState,
    read_from: HashMap<MessageId, (Option<MessageId>, u64)>,
}

impl AddedMessages {
    pub(super) fn note(&mut self, id: MessageId, parent: Option<MessageId>, source: &str) {
        // What Rejoin wrote has no text beside the message.
        if !source.is_empty() {
            self.read_from.insert(id, (parent, self.hasher.hash_one(source)));
        }
    }

    /// True when this text added the message before, and it follows the same one where that is known.
    fn has(&self, id: MessageId, parent: Option<Option<MessageId>>, source: &str) -> bool {
        self.read_from.get(&id).is_some_and(|(above, hash)| {
            *hash == self.hasher.hash_one(source) && parent.is_none_or(|parent| *above == parent)
        })
    }
}

impl Growing<'_> {
    /// True when a message is here as it is at the source, whatever was taken out of
    /// it. Nothing is taken out to find out.
    pub(super) fn is_here(
        &self,
        own: MessageId,
        place: Option<Option<MessageId>>,
        link: Option<Digest>,
        found: &mut SourceMessage,
    ) -> Result<bool> {
        let hash = source_hash(&found.source);
        self.note_source(found, &hash)?;
        let (known, message) = (self.known[&own], &found.message);
        // What is here from before there were attachments is the same message.
        Ok(known == Digest::chain(link, message.to_body().as_bytes())
            || known == Encoded::of(Cow::Borrowed(message), None).digest(link)
            || self.fresh.has(own, place, &found.source)
            || self.is_same(own, place, &hash, &found.source)?)
    }

    /// True when a stored message was read from the same text, and follows the same one where that is known.
    ///
    /// Then only its reader has changed since, or what is redacted.
    fn is_same(
        &self,
        id: MessageId,
        parent: Option<Option<MessageId>>,
        hash: &str,
        source: &str,
    ) -> Result<bool> {
        let Some((above, before)) = self.source_of(id)? else { return Ok(false) };
        let is_text = before == hash || self.was_read_from(id, source)?;
        Ok(is_text && parent.map_or(Ok(true), |parent| self.leads_to(above, parent))?)
    }

    /// True when a stored message was read from this text, before secrets were taken out of it.
    pub(super) fn was_read_from(&self, id: MessageId, source: &str) -> Result<bool> {
        Ok(self.stored_source(id, source)?.is_some_and(|before| is_same(&before, source)))
    }

    /// What a stored message was read from, if that can have been this text; none when it is not kept.
    pub(super) fn stored_source(&self, id: MessageId, source: &str) -> Result<Option<String>> {
        let name = BlobNames::One(id.as_str().as_bytes());
        let mut stored = None;
        // A marker is longer than what it stands for, but never by so much.
        let most = source.len().saturating_mul(16).saturating_add(1 << 10).min(SOURCE_BYTES);
        self.into.store.get(Space::Source, Some(self.id), name, &mut |_, packed| {
            let text = zstd::bulk::decompress(packed, most).ok();
            stored = text.and_then(|text| String::from_utf8(text).ok());
            Ok(())
        })?;
        Ok(stored)
    }

    /// The parent of a stored message and the hash of what it was read from; none when it was not imported.
    pub(super) fn source_of(&self, id: MessageId) -> Result<Option<(Option<MessageId>, String)>> {
        let Some((parent, message)) = self.stored_message(id)? else { return Ok(None) };
        let source = message.extra.field(SOURCE).and_then(|source| source.to::<serde_json::Value>().ok());
        Ok(source.and_then(|source| source["text"].as_str().map(|hash| (parent, hash.to_owned()))))
    }

    /// A message as it is stored, and the one it follows; none when it is not there.
    pub(super) fn stored_message(&self, id: MessageId) -> Result<Option<(Option<MessageId>, Message)>> {
        if !self.exists {
            return Ok(None);
        }
        let mut found = None;
        let looked = self.into.store.read(self.id, Selection::Ids(&[id]), &mut |seen| {
            found = Some((seen.parent, Message::from_body(seen.body)?));
            Ok(())
        });
        match looked {
            // It stands twice in this source, and its first form waits in the batch.
            Err(error) if error.kind() == crate::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(found),
        }
    }
}
