//! Messages that are stored together, with what they were read from.

use crate::error::Result;
use crate::model::{ConversationId, Digest, Message, MessageId, PreviewTexts, Time};
use crate::ops::attachment::SettledCard;
use crate::ops::import::activity::Dating;
use crate::ops::sources::Packer;
use crate::store::{
    Anchor, Entry, Facets, Note, Opening, PreviewUpdate, Put, Safety, Space, Stale, Store, Turn,
};

/// So many messages are one append. Their ids are spread over an index, so that each append writes most pages
/// of it: fewer appends write fewer pages, and sync less often.
const MESSAGES: usize = 4_000;

/// So many bytes are one append: enough for as many messages, and little beside
/// the memory that an import may take.
const BYTES: usize = 8 << 20;

/// Messages that wait to be stored together.
#[derive(Default)]
pub(super) struct ImportBatch {
    drafts: Vec<DraftMessage>,
    /// Names and bytes of what the messages were read from.
    sources: Vec<(Vec<u8>, Vec<u8>)>,
    /// The cards of attachments that the messages refer to.
    settled: Vec<SettledCard>,
    packer: Packer,
    bytes: usize,
    previews: PreviewTexts,
}

struct DraftMessage {
    id: MessageId,
    parent: Option<Anchor>,
    digest: Digest,
    body: String,
    label: Option<String>,
    pin: PinChange,
    said_at: Option<Time>,
}

/// Whether a message survives every compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PinChange {
    Set,
    Unset,
}

/// What creates a conversation together with its first messages.
pub(super) struct Creation<'a> {
    pub(super) facets: &'a Facets,
    pub(super) header: &'a str,
    pub(super) created: Time,
}

/// What a turn of a batch borrows.
pub(super) struct TurnParts<'a> {
    entries: Vec<Entry<'a>>,
    blobs: Vec<Put<'a>>,
}

impl ImportBatch {
    /// Adds a message.
    pub(super) fn add(
        &mut self,
        id: MessageId,
        parent: Option<Anchor>,
        digest: Digest,
        mut body: String,
        message: &Message,
        pin: PinChange,
    ) {
        self.bytes += body.len();
        // It may wait for long, and was written into a buffer that grew.
        body.shrink_to_fit();
        self.previews.note(message);
        let (label, said_at) = (message.label.clone(), message.created_at);
        self.drafts.push(DraftMessage { id, parent, digest, body, label, pin, said_at });
    }

    /// Adds what something was read from, under its name.
    pub(super) fn add_source(&mut self, name: &[u8], source: &str) -> Result<()> {
        let mut packed = self.packer.pack(source)?;
        self.bytes += packed.len();
        // The buffer has room for a text that cannot be compressed.
        packed.shrink_to_fit();
        self.sources.push((name.to_vec(), packed));
        Ok(())
    }

    /// Adds cards of attachments that the messages refer to.
    pub(super) fn settle(&mut self, settled: Vec<SettledCard>) {
        self.settled.extend(settled);
    }

    pub(super) fn is_full(&self) -> bool {
        self.drafts.len() >= MESSAGES || self.sources.len() >= 2 * MESSAGES || self.bytes >= BYTES
    }

    /// The message that an append makes the head.
    pub(super) fn last(&self) -> Option<MessageId> {
        self.drafts.last().map(|draft| draft.id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty() && self.sources.is_empty()
    }

    /// Messages of a conversation that keeps its own previews.
    pub(super) fn without_previews(&mut self) {
        self.previews = PreviewTexts::default();
    }

    /// When something was last said, which is not when it was imported. What is dated far ahead of the clock
    /// says nothing about that: it must not make a conversation the newest.
    fn active(&self, created: Option<Time>, now: Time) -> Time {
        let said = self.drafts.iter().filter_map(|draft| draft.said_at);
        let is_possible = |time: &Time| !time.is_far_ahead_of(now);
        let newest = said.filter(is_possible).max().or(created.filter(is_possible));
        newest.map_or_else(Time::default, |newest| newest.min(now))
    }

    /// How many bytes it has.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lets go of what it takes to add something.
    pub(super) fn rest(&mut self) {
        self.packer = Packer::default();
    }

    /// Stores the messages, and creates the conversation if it is not there.
    pub(super) fn store(
        &self,
        store: &dyn Store,
        conversation: ConversationId,
        creation: Option<Creation<'_>>,
        notes: &[Put<'_>],
        dating: Dating,
        now: Time,
    ) -> Result<()> {
        let parts = self.parts(conversation, notes);
        if self.drafts.is_empty() && creation.is_none() {
            return store.put(&parts.blobs, Safety::Synced);
        }
        store.append(&self.turn(&parts, conversation, creation, dating, now)).map(drop)
    }

    /// What a turn of the messages borrows.
    pub(super) fn parts<'a>(&'a self, conversation: ConversationId, notes: &[Put<'a>]) -> TurnParts<'a> {
        let mut blobs: Vec<Put<'a>> = self
            .sources
            .iter()
            .map(|(name, bytes)| Put {
                space: Space::Source,
                owner: Some(conversation),
                name,
                bytes: Some(bytes),
            })
            .collect();
        // In the order of an index each page of it is changed once.
        blobs.sort_unstable_by_key(|blob| blob.name);
        blobs.extend(self.settled.iter().map(|card| card.put(conversation)));
        blobs.extend_from_slice(notes);
        let entries = self
            .drafts
            .iter()
            .map(|draft| Entry {
                id: draft.id,
                parent: draft.parent,
                link: draft.digest,
                note: Note { label: draft.label.as_deref(), is_pinned: draft.pin == PinChange::Set },
                body: &draft.body,
            })
            .collect();
        TurnParts { entries, blobs }
    }

    /// The messages as a turn, which creates the conversation if it is not there.
    pub(super) fn turn<'a>(
        &'a self,
        parts: &'a TurnParts<'a>,
        conversation: ConversationId,
        creation: Option<Creation<'a>>,
        dating: Dating,
        now: Time,
    ) -> Turn<'a> {
        let created = creation.as_ref().map(|creation| creation.created);
        let opening =
            creation.map(|Creation { facets, header, created }| Opening { facets, header, created });
        Turn {
            conversation,
            opening,
            stale: Stale::Branch,
            entries: &parts.entries,
            previews: PreviewUpdate { first: &self.previews.first, last: &self.previews.last },
            branch: None,
            active: match dating {
                Dating::BySource => self.active(created, now),
                Dating::Left(active) => active,
            },
            now,
            blobs: &parts.blobs,
        }
    }
}
