//! One conversation while it is imported: what it has, and what it is given.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::Result;
use crate::formats::{
    Format, KEPT_AFTER, SOURCE, Skipped, Source, SourceBranch, SourceConversation, SourceKept, SourceMessage,
    SourceParent, unfinished,
};
use crate::model::{Block, Conversation, ConversationId, Digest, Json, Message, MessageId, Summary, Time};
use crate::ops::import::activity::{self, Dating};
use crate::ops::import::attached::Attached;
use crate::ops::import::batch::{Batch, Creation, Pin};
use crate::ops::import::bookmark::Bookmark;
use crate::ops::import::counterpart::Counterparts;
use crate::ops::import::header::{header_of, row_of};
use crate::ops::import::identity::{Names, source_hash};
use crate::ops::import::location::began_here;
use crate::ops::import::names;
use crate::ops::import::regrow::{Half, Regrowth};
use crate::ops::import::route::Route;
use crate::ops::import::{Destination, ImportMode, Known};
use crate::ops::prepare::Encoded;
use crate::ops::redact::{Tally, is_same};
use crate::ops::view::{Compaction, Kept, KeptPlace};
use crate::store::{Anchor, Facets, Named, Order, Put, Row, Selection, Space};

/// The longest text of a message that is compared; a line has a limit, too.
const SOURCE_BYTES: usize = 1 << 30;

/// What stands in each message that was imported, and in hardly any other.
const NOTED: &str = "\"source\":";

/// The message that asked for a run of a sub-agent.
pub(super) struct Above {
    pub(super) conversation: ConversationId,
    pub(super) message: Option<MessageId>,
}

/// One conversation while it is imported.
pub(super) struct Growing<'a> {
    pub(super) into: Destination<'a>,
    pub(super) format: &'static Format,
    pub(super) names: Names,
    pub(super) mode: ImportMode,
    pub(super) route: Route,
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
    time: Time,
    pub(super) bytes: u64,
    pub(super) attached: Attached,
    pub(super) batch: Batch,
    pub(super) read: u64,
    pub(super) added: u64,
    pub(super) grown: u64,
    pub(super) branched: u64,
    /// What was taken out of what is added.
    pub(super) tally: Tally,
}

impl<'a> Growing<'a> {
    pub(super) fn begin(
        into: Destination<'a>,
        format: &'static Format,
        source: &Source,
        known: Known,
        route: Route,
        above: Option<Above>,
        mode: ImportMode,
    ) -> Result<Self> {
        let Known { found, regrowth, .. } = known;
        let (names, id) = (Names(format), route.id());
        let mut header = header_of(&found, format, source, above.as_ref(), into.now)?;
        into.store.capabilities().restrict(&mut header);
        let clean = into.redactor.and_then(|redactor| redactor.header(&header, &mut Tally::default()));
        let header = clean.unwrap_or(header);
        let stored = row_of(into.store, id)?;
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
        let is_into = matches!(route, Route::Into(_));
        let counterparts = if is_into { Counterparts::of(into.store, id)? } else { Counterparts::default() };
        // What is only compared is never written to.
        let mode = if matches!(route, Route::Compared(_)) { ImportMode::Try } else { mode };
        let mut growing = Self {
            into,
            format,
            names,
            mode,
            route,
            id,
            time: found.created_at,
            bytes: stored.as_ref().map_or(0, |row| row.bytes),
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
            changed: HashMap::new(),
            regrowth,
            halves: Vec::new(),
            regrown: HashMap::new(),
            given: HashSet::new(),
            pinned: HashSet::new(),
            branches: Vec::new(),
            asides: None,
            last: None,
            attached: Attached::default(),
            batch: Batch::default(),
            read: 0,
            added: 0,
            grown: 0,
            branched: 0,
            tally: Tally::default(),
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

    /// Where a run of a sub-agent hangs that this conversation started. One that began here starts no runs in files: they
    /// would be purged with it.
    pub(super) fn parent_of(&self, parent: &SourceParent) -> Result<Option<Above>> {
        let row = self.stored.as_ref().filter(|_| matches!(self.route, Route::Compared(_)));
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
        let nothing = Message::new(found.message.role, Vec::new());
        let said = std::mem::replace(&mut found.message, nothing);
        let source = self.redacted_line(&found.source);
        let hash = source_hash(&source);
        let message = self.finished(said, &found, &hash)?;
        let link = anchor.map(|anchor| anchor.link);
        let stored = Encoded::of(Cow::Borrowed(&message), self.into.redactor.as_ref());
        let digest = stored.digest(link);
        // What is here from before there was redaction, or attachments, is the same message.
        let was_stored_as = |known: Digest| {
            known == Digest::chain(link, message.to_body().as_bytes())
                || known == Encoded::of(Cow::Borrowed(&message), None).digest(link)
        };
        let own = self.names.message(&self.found.id, &found.id);
        let mut is_half = false;
        let id = match self.known.get(&own) {
            // A parent that has not come yet is there by an earlier import only, and says nothing about the place.
            Some(known)
                if *known != digest
                    && !was_stored_as(*known)
                    && !self.is_same(own, is_above.then_some(parent), &hash, &found.source)? =>
            {
                // What stands twice in one source did not grow since.
                let is_into = matches!(self.route, Route::Into(_));
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
        self.last = Some(id);
        self.met.insert(id);
        self.see_again(id, &hash, &found)?;
        if self.known.contains_key(&id) {
            return Ok(skipped);
        }
        self.tally.extend(&stored.tally);
        self.known.insert(id, digest);
        self.bytes += stored.body.len() as u64;
        self.count_attached(&stored.detached)?;
        self.check_size()?;
        self.added += u64::from(!self.regrown.contains_key(&id));
        self.branched += u64::from(id != own);
        if self.mode == ImportMode::Store {
            // Who asked for a branch pinned nothing.
            let is_pinned = self.pinned.contains(&found.id) && !matches!(self.route, Route::Into(_));
            let pin = if is_pinned { Pin::Set } else { Pin::Unset };
            self.keep_attached(&stored)?;
            self.batch.add(id, anchor, digest, stored.body, &stored.message, pin);
            // What joins messages that are here can be told apart from them.
            if !self.format.is_own() || self.stored.is_some() {
                self.batch.add_source(id.as_str().as_bytes(), &source)?;
            }
            if is_half {
                // Its half is gone already.
                self.flush()?;
            }
            self.flush_when_full()?;
        }
        Ok(skipped)
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

    /// Takes the message as it is stored: with a time, with what it was read from, and with what it keeps.
    fn finished(&mut self, mut message: Message, found: &SourceMessage, hash: &str) -> Result<Message> {
        self.time = *message.created_at.get_or_insert(self.time);
        message.label.as_mut().map(names::cut);
        // What Rejoin wrote has everything in it, and its digest is known.
        if self.format.is_own() && found.keeps.is_empty() {
            return Ok(message);
        }
        message.extra.set(SOURCE, Json::of(&unfinished::noted(&message, &found.id, hash))?);
        for block in &mut message.blocks {
            if let Block::Summary(summary) = block {
                self.keep(summary, &found.keeps)?;
            }
        }
        Ok(message)
    }

    /// Writes down what a compaction keeps, by the ids here.
    fn keep(&self, summary: &mut Summary, keeps: &[SourceKept]) -> Result<()> {
        let number = |name: &str| summary.extra.field(name).and_then(|tokens| tokens.to().ok()).unwrap_or(0);
        let kept = keeps.iter();
        let kept =
            kept.map(|kept| Kept { message: self.name(&kept.message), text: kept.text.clone() }).collect();
        let is_after = summary.extra.field(KEPT_AFTER).is_some();
        let place = if is_after { KeptPlace::AfterSummary } else { KeptPlace::BeforeSummary };
        let compaction = Compaction {
            kept,
            place,
            tokens_before: number("tokens_before"),
            tokens_after: number("tokens_after"),
            ..Compaction::default()
        };
        for block in compaction.to_message("")?.blocks {
            if let Block::Summary(written) = block {
                written.extra.iter().for_each(|(name, value)| summary.extra.set(name, value.clone()));
            }
        }
        Ok(())
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
        let is_text =
            before == hash || self.stored_source(id, source)?.is_some_and(|before| is_same(&before, source));
        Ok(is_text && parent.map_or(Ok(true), |parent| self.leads_to(above, parent))?)
    }

    /// What a stored message was read from, if that can have been this text; none when it is not kept.
    pub(super) fn stored_source(&self, id: MessageId, source: &str) -> Result<Option<String>> {
        let name = Named::One(id.as_str().as_bytes());
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

    /// A line of the source as it is stored.
    pub(super) fn redacted_line<'s>(&self, line: &'s str) -> Cow<'s, str> {
        let clean = self.into.redactor.and_then(|redactor| redactor.line(line, &mut Tally::default()));
        clean.map_or(Cow::Borrowed(line), Cow::Owned)
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
        if matches!(self.route, Route::Into(_)) {
            self.batch.without_previews();
        }
        let (id, now) = (self.id, self.into.now);
        let dated = now.to_string();
        let is_dated = self.stored.is_some() && self.dating == Dating::BySource;
        let dated = is_dated.then(|| activity::note(id, dated.as_bytes()));
        let bookmark = bookmark.as_deref().map(|bytes| Bookmark::put(id, Some(bytes)));
        let notes: Vec<Put<'_>> = bookmark.into_iter().chain(dated).collect();
        self.batch.store(self.into.store, id, creation, &notes, self.dating, now)?;
        self.batch = Batch::default();
        self.exists = true;
        Ok(())
    }
}
