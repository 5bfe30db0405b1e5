//! One conversation while it is imported: what it has, and what it is given.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::Result;
use crate::formats::{
    Aside, Format, KEPT_AFTER, SOURCE, Skipped, Source, SourceBranch, SourceConversation, SourceKept,
    SourceMessage, SourceParent, unfinished,
};
use crate::model::{
    Block, Branch, Conversation, ConversationId, Digest, Json, Message, MessageId, Summary, Time,
};
use crate::ops::import::attached::{Attached, Stored};
use crate::ops::import::batch::{Batch, Creation, Pin};
use crate::ops::import::bookmark::Bookmark;
use crate::ops::import::header::{self, header_of, row_of};
use crate::ops::import::identity::{Names, source_hash};
use crate::ops::import::regrow::{Half, Regrowth};
use crate::ops::import::{Destination, ImportMode, ImportedConversation, Known};
use crate::ops::redact::{Tally, is_same};
use crate::ops::view::{Compaction, Kept, KeptPlace};
use crate::store::{Anchor, Change, Facets, Named, Order, Row, Selection, Space};

/// The longest text of a message that is compared; a line has a limit, too.
const SOURCE_BYTES: usize = 1 << 30;

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
    pub(super) id: ConversationId,
    pub(super) found: SourceConversation,
    header: Conversation,
    above: Option<Above>,
    /// The conversation as it was stored before; none when it is new.
    pub(super) stored: Option<Row>,
    /// True once it is in the store.
    pub(super) exists: bool,
    /// Where the head belongs, if an append may leave it elsewhere.
    pub(super) bookmark: Option<Bookmark>,
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
    branches: Vec<SourceBranch>,
    /// The names of the lines that are kept without being messages; none before one is asked for.
    asides: Option<HashSet<Vec<u8>>>,
    pub(super) last: Option<MessageId>,
    time: Time,
    pub(super) bytes: u64,
    pub(super) attached: Attached,
    pub(super) batch: Batch,
    read: u64,
    pub(super) added: u64,
    pub(super) grown: u64,
    branched: u64,
    /// What was taken out of what is added.
    pub(super) tally: Tally,
}

impl<'a> Growing<'a> {
    pub(super) fn begin(
        into: Destination<'a>,
        format: &'static Format,
        source: &Source,
        id: ConversationId,
        known: Known,
        above: Option<Above>,
        mode: ImportMode,
    ) -> Result<Self> {
        let (names, Known { found, regrowth }) = (Names(format), known);
        let mut header = header_of(&found, format, source, above.as_ref(), into.now)?;
        if into.store.capabilities().is_sealed {
            header.privacy.exportable = false;
        }
        let clean = into.redactor.and_then(|redactor| redactor.header(&header, &mut Tally::default()));
        let header = clean.unwrap_or(header);
        let stored = row_of(into.store, id)?;
        let mut known = HashMap::new();
        if stored.is_some() {
            let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
            into.store.read(id, all, &mut |seen| {
                known.insert(seen.id, seen.link);
                Ok(())
            })?;
        }
        let mut growing = Self {
            into,
            format,
            names,
            mode,
            id,
            time: found.created_at,
            bytes: stored.as_ref().map_or(0, |row| row.bytes),
            exists: stored.is_some(),
            bookmark: None,
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

    /// Where a run of a sub-agent hangs that this conversation started.
    pub(super) fn parent_of(&self, parent: &SourceParent) -> Above {
        let message = parent.message.as_deref().map(|message| self.name(message));
        Above { conversation: self.id, message: message.filter(|id| self.known.contains_key(id)) }
    }

    /// The id under which a message of the source is kept.
    pub(super) fn name(&self, message: &str) -> MessageId {
        let id = self.names.message(&self.found.id, message);
        self.changed.get(&id).copied().unwrap_or(id)
    }

    /// Learns the name of a branch.
    pub(super) fn name_branch(&mut self, branch: SourceBranch) {
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
        let anchor = parent.map(|id| Anchor { id, link: self.known[&id] });
        let nothing = Message::new(found.message.role, Vec::new());
        let said = std::mem::replace(&mut found.message, nothing);
        let source = self.redacted_line(&found.source);
        let hash = source_hash(&source);
        let message = self.finished(said, &found, &hash)?;
        let body = message.to_body();
        let link = anchor.map(|anchor| anchor.link);
        // What is here from before there was redaction, or attachments, is the same message.
        let mut as_said = vec![Digest::chain(link, body.as_bytes())];
        let mut taken = None;
        let stored = match self.into.redactor.and_then(|redactor| redactor.message(&message, &body)) {
            Some(clean) => {
                taken = Some(clean.tally);
                as_said.push(Stored::of(message, body, link).digest);
                Stored::of(clean.message, clean.body, link)
            }
            None => Stored::of(message, body, link),
        };
        let digest = stored.digest;
        let own = self.names.message(&self.found.id, &found.id);
        let mut is_half = false;
        let id = match self.known.get(&own) {
            // A parent that has not come yet is there by an earlier import only, and says nothing about the place.
            Some(known)
                if *known != digest
                    && !as_said.contains(known)
                    && !self.is_same(own, is_above.then_some(parent), &hash, &found.source)? =>
            {
                // What stands twice in one source did not grow since.
                is_half = !self.met.contains(&own) && self.regrow(own, parent, &found)?;
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
        if let Some(taken) = &taken {
            self.tally.extend(taken);
        }
        self.known.insert(id, digest);
        self.bytes += stored.body.len() as u64;
        self.count_attached(&stored.detached)?;
        self.check_size()?;
        self.added += u64::from(!self.regrown.contains_key(&id));
        self.branched += u64::from(id != own);
        if self.mode == ImportMode::Store {
            let pin = if self.pinned.contains(&found.id) { Pin::Set } else { Pin::Unset };
            self.keep_attached(&stored)?;
            self.batch.add(id, anchor, digest, stored.body, &stored.message, pin);
            if !self.format.is_own() {
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

    /// Takes the message as it is stored: with a time, with what it was read from, and with what it keeps.
    fn finished(&mut self, mut message: Message, found: &SourceMessage, hash: &str) -> Result<Message> {
        self.time = *message.created_at.get_or_insert(self.time);
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
    fn redacted_line<'s>(&self, line: &'s str) -> Cow<'s, str> {
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

    /// Keeps a line that is no message.
    pub(super) fn put_aside(&mut self, aside: &Aside) -> Result<()> {
        if self.mode == ImportMode::Try {
            return Ok(());
        }
        let source = self.redacted_line(&aside.source).into_owned();
        let name = |source: &str| format!("line:{:012}:{}", aside.line, source_hash(source));
        let is_as_said =
            source != aside.source && self.known_asides()?.contains(name(&aside.source).as_bytes());
        if !is_as_said && self.known_asides()?.insert(name(&source).into_bytes()) {
            self.batch.add_source(name(&source).as_bytes(), &source)?;
        }
        self.flush_when_full()
    }

    /// The names of the lines that are kept already.
    fn known_asides(&mut self) -> Result<&mut HashSet<Vec<u8>>> {
        let mut names = HashSet::new();
        if self.asides.is_none() && self.stored.is_some() {
            self.into.store.get(
                Space::Source,
                Some(self.id),
                Named::Beginning(b"line:"),
                &mut |name, _| {
                    names.insert(name.to_vec());
                    Ok(())
                },
            )?;
        }
        Ok(self.asides.get_or_insert(names))
    }

    fn flush_when_full(&mut self) -> Result<()> {
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
        let bookmark = self.bookmark.map(Bookmark::to_bytes).transpose()?;
        self.batch.store(self.into.store, self.id, creation, bookmark.as_deref(), self.into.now)?;
        self.batch = Batch::default();
        self.exists = true;
        Ok(())
    }

    /// Stores what is left, sets the head, and tells what was done. A conversation without messages is none.
    pub(super) fn finish(mut self) -> Result<Option<ImportedConversation>> {
        if self.read == 0 {
            return Ok(None);
        }
        if self.mode == ImportMode::Store {
            self.flush()?;
            self.erase_unused()?;
            self.place_head()?;
            self.place_branches()?;
            if self.stored.is_some() {
                header::complete(self.into.store, self.id, &self.header, self.into.now)?;
            }
        }
        Ok(Some(ImportedConversation {
            id: self.id,
            source_id: self.found.id.clone(),
            title: self.redacted_title(),
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
