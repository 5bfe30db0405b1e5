//! One conversation while it is imported: what it has, and what it is given.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::Result;
use crate::formats::{
    Format, Skipped, Source, SourceBranch, SourceConversation, SourceMessage, SourceParent,
};
use crate::model::{Conversation, ConversationId, Digest, MessageId, Time};
use crate::ops::import::activity::{self, Dating};
use crate::ops::import::attached::AttachmentSizes;
use crate::ops::import::batch::{Creation, ImportBatch, PinChange};
use crate::ops::import::bookmark::Bookmark;
use crate::ops::import::counterpart::Counterparts;
use crate::ops::import::header::header_of;
use crate::ops::import::identity::ImportNames;
use crate::ops::import::location::began_here;
use crate::ops::import::names;
use crate::ops::import::ready::ImportReady;
use crate::ops::import::regrow::{Half, Regrowth};
use crate::ops::import::route::ImportRoute;
use crate::ops::import::same::AddedMessages;
use crate::ops::import::{ImportDestination, ImportMode, KnownConversation, ReadingDepth};
use crate::ops::redact::RedactionTally;
use crate::store::{Anchor, Facets, Order, Put, Row, Selection};

/// What stands in each message that was imported, and in hardly any other.
const NOTED: &str = "\"source\":";

/// A message is not so many times as long as what it was read from: letters are
/// escaped, markers stand for secrets.
const GROWTH: u64 = 4;

/// What an import adds to a message takes no more.
const NOTE_BYTES: u64 = 1 << 10;

/// The message that asked for a run of a sub-agent.
pub(super) struct Above {
    pub(super) conversation: ConversationId,
    pub(super) message: Option<MessageId>,
}

/// One conversation while it is imported.
pub(super) struct Growing<'a> {
    pub(super) into: ImportDestination<'a>,
    pub(super) format: &'static Format,
    pub(super) names: ImportNames,
    pub(super) mode: ImportMode,
    depth: ReadingDepth,
    pub(super) route: ImportRoute,
    pub(super) id: ConversationId,
    pub(super) found: SourceConversation,
    pub(super) header: Conversation,
    pub(super) above: Option<Above>,
    /// The conversation as it was stored before; none when it is new.
    pub(super) stored: Option<Row>,
    /// True once it is in the store.
    pub(super) exists: bool,
    /// True when someone went on here before.
    pub(super) has_own: bool,
    /// What it has in common with a source that has other ids.
    counterparts: Counterparts,
    /// Where the head belongs, if an append may leave it elsewhere.
    pub(super) bookmark: Option<Bookmark>,
    /// When it was last active, as far as this import says.
    dating: Dating,
    /// Every message it has, with what it vouches for.
    pub(super) known: HashMap<MessageId, Digest>,
    /// The messages that this reading has met so far.
    pub(super) met: HashSet<MessageId>,
    /// The messages that this reading added.
    pub(super) fresh: AddedMessages,
    /// Messages that are other than they were, with the ids that they have now.
    changed: HashMap<MessageId, MessageId>,
    /// What the reading before has found out about messages that went on.
    pub(super) regrowth: Regrowth,
    /// Messages that went on, as this reading meets them.
    pub(super) halves: Vec<Half>,
    /// Messages that were taken away with them, with the hashes of what they were read from.
    pub(super) regrown: HashMap<MessageId, String>,
    /// Those of them that came again.
    pub(super) given: HashSet<MessageId>,
    /// Messages of the source that survive every compaction.
    pinned: HashSet<String>,
    pub(super) branches: Vec<SourceBranch>,
    /// The names of the lines that are kept without being messages; none before one is asked for.
    pub(super) asides: Option<HashSet<Vec<u8>>>,
    pub(super) last: Option<MessageId>,
    pub(super) time: Time,
    pub(super) bytes: u64,
    /// As many bytes as it can come to, with what an outline has not looked at.
    most_bytes: u64,
    pub(super) attached: AttachmentSizes,
    pub(super) batch: ImportBatch,
    pub(super) read: u64,
    pub(super) added: u64,
    pub(super) grown: u64,
    pub(super) branched: u64,
    /// What was taken out of what is added.
    pub(super) tally: RedactionTally,
}

impl<'a> Growing<'a> {
    pub(super) fn begin(
        into: ImportDestination<'a>,
        format: &'static Format,
        source: &Source,
        known: KnownConversation,
        route: ImportRoute,
        above: Option<Above>,
        (mode, depth): (ImportMode, ReadingDepth),
    ) -> Result<Self> {
        let KnownConversation { found, regrowth, .. } = known;
        let (names, id) = (ImportNames(format), route.id());
        let mut header = header_of(&found, format, source, above.as_ref(), into.now)?;
        into.store.capabilities().restrict(&mut header);
        let redactor = into.redactor.filter(|_| depth == ReadingDepth::Full);
        let clean = redactor.and_then(|redactor| redactor.header(&header, &mut RedactionTally::default()));
        let header = clean.unwrap_or(header);
        let stored = into.row_of(id)?;
        let (mut known, mut has_own) = (HashMap::new(), false);
        if stored.is_some() {
            let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
            into.store.read(id, all, &mut |seen| {
                known.insert(seen.id, seen.link);
                has_own |= !seen.body.contains(NOTED);
                Ok(())
            })?;
        }
        let dating = Dating::by(route, into.store, stored.as_ref())?;
        let is_into = matches!(route, ImportRoute::Into(_));
        let counterparts = if is_into { Counterparts::of(into.store, id)? } else { Counterparts::default() };
        // What is only compared is never written to.
        let is_compared = matches!(route, ImportRoute::Compared(_));
        let (mode, depth) =
            if is_compared { (ImportMode::Try, ReadingDepth::Outline) } else { (mode, depth) };
        let bytes = stored.as_ref().map_or(0, |row| row.bytes);
        let mut growing = Self {
            into,
            format,
            names,
            mode,
            depth,
            route,
            id,
            time: found.created_at,
            bytes,
            most_bytes: bytes,
            exists: stored.is_some(),
            has_own,
            counterparts,
            bookmark: None,
            dating,
            found,
            header,
            above,
            stored,
            known,
            met: HashSet::new(),
            fresh: AddedMessages::default(),
            changed: HashMap::new(),
            regrowth,
            halves: Vec::new(),
            regrown: HashMap::new(),
            given: HashSet::new(),
            pinned: HashSet::new(),
            branches: Vec::new(),
            asides: None,
            last: None,
            attached: AttachmentSizes::default(),
            batch: ImportBatch::default(),
            read: 0,
            added: 0,
            grown: 0,
            branched: 0,
            tally: RedactionTally::default(),
        };
        if mode == ImportMode::Store {
            growing.bookmark = growing.needed_bookmark()?;
        }
        Ok(growing)
    }

    pub(super) fn source_id(&self) -> &str {
        &self.found.id
    }

    /// Learns what the reader knows at the end.
    pub(super) fn learn(&mut self, found: SourceConversation) {
        self.found = found;
    }

    /// Where a run of a sub-agent hangs that this conversation started. One that began here starts no runs in
    /// files: they would be purged with it.
    pub(super) fn parent_of(&self, parent: &SourceParent) -> Result<Option<Above>> {
        let row = self.stored.as_ref().filter(|_| matches!(self.route, ImportRoute::Compared(_)));
        if row.map(began_here).transpose()? == Some(true) {
            return Ok(None);
        }
        let message = parent.message.as_deref().map(|message| self.name(message));
        let message = message.filter(|id| self.known.contains_key(id));
        Ok(Some(Above { conversation: self.id, message }))
    }

    /// True when a source has something that is not here.
    pub(super) const fn has_news(&self) -> bool {
        self.added + self.grown > 0
    }

    /// The id under which a message of the source is kept.
    pub(super) fn name(&self, message: &str) -> MessageId {
        let id = self.names.message(&self.found.id, message);
        self.changed.get(&id).copied().unwrap_or(id)
    }

    /// Learns the name of a branch.
    pub(super) fn name_branch(&mut self, mut branch: SourceBranch) {
        names::cut(&mut branch.title);
        self.branches.push(branch);
    }

    /// Learns that a message, which has not come yet, is pinned.
    pub(super) fn pin(&mut self, message: &str) {
        self.pinned.insert(message.to_owned());
    }

    /// Takes a message. What was wrong with its place is the answer.
    pub(super) fn take(&mut self, mut found: SourceMessage, path: &Path) -> Result<Option<Skipped>> {
        self.read += 1;
        let mut skipped = None;
        let named = found.parent.as_deref().map(|parent| self.name(parent));
        let is_above = named.is_none_or(|parent| self.met.contains(&parent));
        let parent = match named {
            Some(parent) if self.known.contains_key(&parent) => Some(parent),
            Some(_) => {
                let why = "the message that it follows is missing; it follows the one before".to_owned();
                skipped = Some(Skipped { path: path.to_owned(), line: found.line, why });
                self.last
            }
            None => None,
        };
        if self.is_counterpart(parent, &found) {
            return Ok(skipped);
        }
        let anchor = parent.map(|id| Anchor { id, link: self.known[&id] });
        let link = anchor.map(|anchor| anchor.link);
        self.complete(&mut found)?;
        let own = self.names.message(&self.found.id, &found.id);
        // A parent that has not come yet is there by an earlier import only,
        // and says nothing about the place.
        let place = is_above.then_some(parent);
        if self.known.contains_key(&own) && self.is_here(own, place, link, &mut found)? {
            self.meet(own, &found)?;
            return Ok(skipped);
        }
        let ready = if self.looks_closely(own) { Some(self.ready(&mut found)?) } else { None };
        // What an outline finds is told apart from what is here, and no more.
        let digest = ready
            .as_ref()
            .map_or_else(|| Digest::chain(link, found.source.as_bytes()), |ready| ready.stored.digest(link));
        let mut is_half = false;
        let id = match self.known.get(&own) {
            Some(known) if *known != digest => {
                // What stands twice in one source did not grow since.
                let is_into = matches!(self.route, ImportRoute::Into(_));
                is_half = !is_into && !self.met.contains(&own) && self.regrow(own, parent, &found)?;
                if is_half {
                    own
                } else {
                    let other = self.names.changed(&self.found.id, &found.id, &digest);
                    self.changed.insert(own, other);
                    other
                }
            }
            _ => own,
        };
        self.meet(id, &found)?;
        if self.known.contains_key(&id) {
            return Ok(skipped);
        }
        self.known.insert(id, digest);
        self.fresh.note(id, parent, &found.source);
        self.added += u64::from(!self.regrown.contains_key(&id));
        self.branched += u64::from(id != own);
        let Some(ImportReady { stored, line }) = ready else {
            self.estimate(&found);
            return Ok(skipped);
        };
        if self.depth == ReadingDepth::Outline {
            self.most_bytes = self.most_bytes.saturating_add(stored.body.len() as u64);
            return Ok(skipped);
        }
        self.tally.extend(&stored.tally);
        self.bytes += stored.body.len() as u64;
        self.count_attached(&stored.detached)?;
        self.check_size()?;
        if self.mode == ImportMode::Store {
            // Who asked for a branch pinned nothing.
            let is_pinned = self.pinned.contains(&found.id) && !matches!(self.route, ImportRoute::Into(_));
            let pin = if is_pinned { PinChange::Set } else { PinChange::Unset };
            self.keep_attached(&stored)?;
            self.batch.add(id, anchor, digest, stored.body, &stored.message, pin);
            // What joins messages that are here can be told apart from them.
            if !self.format.is_own() || self.stored.is_some() {
                self.batch.add_source(id.as_str().as_bytes(), line.as_deref().unwrap_or(&found.source))?;
            }
            if is_half {
                // Its half is gone already.
                self.flush()?;
            }
            self.flush_when_full()?;
        }
        Ok(skipped)
    }

    /// True when a message is made ready to be stored. To outline a conversation it is enough to know
    /// that a message is new. One that changed since may be here too, under an id that is made of what
    /// is stored, and others follow it there.
    fn looks_closely(&self, own: MessageId) -> bool {
        self.depth == ReadingDepth::Full || self.known.contains_key(&own)
    }

    /// Counts a message that was not made ready.
    fn estimate(&mut self, found: &SourceMessage) {
        let bytes = if found.source.is_empty() { found.message.to_body().len() } else { found.source.len() };
        self.most_bytes = self.most_bytes.saturating_add((bytes as u64).saturating_mul(GROWTH) + NOTE_BYTES);
    }

    /// True when an outline cannot tell that the conversation is not too large.
    pub(super) const fn may_be_too_large(&self) -> bool {
        self.most_bytes > self.into.conversation_bytes
    }

    /// Notes that a message came.
    fn meet(&mut self, id: MessageId, found: &SourceMessage) -> Result<()> {
        self.last = Some(id);
        self.met.insert(id);
        self.see_again(id, found)
    }

    /// True when a message is here under another id: it says the same at the same place.
    fn is_counterpart(&mut self, parent: Option<MessageId>, found: &SourceMessage) -> bool {
        let own = self.names.message(&self.found.id, &found.id);
        let same = self.counterparts.of_message(parent, &found.message);
        let Some(same) = same.filter(|_| !self.known.contains_key(&own)) else { return false };
        self.changed.insert(own, same);
        self.last = Some(same);
        self.met.insert(same);
        true
    }

    pub(super) fn flush_when_full(&mut self) -> Result<()> {
        if self.batch.is_full() { self.flush() } else { Ok(()) }
    }

    /// Stores what waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.store_batch()
    }

    /// Creates the conversation, with what waits, if it is not there.
    pub(super) fn create(&mut self) -> Result<()> {
        if self.exists { Ok(()) } else { self.store_batch() }
    }

    fn store_batch(&mut self) -> Result<()> {
        self.notice_head()?;
        let (facets, header) = (Facets::of(&self.header), self.header.to_header());
        let creation = (!self.exists).then_some(Creation {
            facets: &facets,
            header: &header,
            created: self.found.created_at,
        });
        let bookmark =
            self.bookmark.map(|here| here.left_at(self.batch.last())).map(Bookmark::to_bytes).transpose()?;
        if matches!(self.route, ImportRoute::Into(_)) {
            self.batch.without_previews();
        }
        let (id, now) = (self.id, self.into.now);
        let dated = now.to_string();
        let is_dated = self.stored.is_some() && self.dating == Dating::BySource;
        let dated = is_dated.then(|| activity::note(id, dated.as_bytes()));
        let bookmark = bookmark.as_deref().map(|bytes| Bookmark::put(id, Some(bytes)));
        let notes: Vec<Put<'_>> = bookmark.into_iter().chain(dated).collect();
        self.batch.store(self.into.store, id, creation, &notes, self.dating, now)?;
        self.batch = ImportBatch::default();
        self.exists = true;
        Ok(())
    }
}
