//! Searching: segments say which messages have the words, and what they do not cover is read.
//!
//! A message is read before it is answered. One that is not what its segment says makes the search begin
//! again without what said so, so that the answer is the one that reading every message gives.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::backend::{Presence, Rows};
use crate::store::body::Searchable;
use crate::store::hits::{Hits, SearchDamage};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{FileIdentity, LockedFile};
use crate::store::jsonl::line::body;
use crate::store::jsonl::lines::read_at;
use crate::store::jsonl::list::index::RowFilter;
use crate::store::jsonl::list::is_forbidden;
use crate::store::jsonl::read::told;
use crate::store::jsonl::rows::JsonlRows;
use crate::store::jsonl::scan::ScannedFile;
use crate::store::jsonl::words::document::Document;
use crate::store::jsonl::words::fill::{covers, divides};
use crate::store::jsonl::words::{RunChain, Segments};
use crate::store::{Hit, ListQuery, Page, SearchQuery};

impl Jsonl {
    /// A page of hits.
    pub(in crate::store::jsonl) fn search_page(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let mut doubts = Doubts::default();
        loop {
            match PlainSearch::begin(self, query, &doubts)?.run()? {
                SearchOutcome::Found(page) => return Ok(page),
                // Each is doubted once, so this comes to an end.
                SearchOutcome::Doubtful(SearchDoubt::Conversation(id)) => {
                    doubts.conversations.insert(id);
                }
                SearchOutcome::Doubtful(SearchDoubt::Segment(path)) => drop(doubts.segments.insert(path)),
            }
        }
    }
}

/// What is not believed.
#[derive(Default)]
struct Doubts {
    conversations: HashSet<ConversationId>,
    segments: HashSet<PathBuf>,
}

/// What turned out to be different from what was said of it.
enum SearchDoubt {
    Conversation(ConversationId),
    Segment(PathBuf),
}

enum SearchOutcome {
    Found(Page<Hit>),
    Doubtful(SearchDoubt),
}

/// A message that has the words, as a segment says.
struct SegmentCandidate {
    conversation: ConversationId,
    document: Document,
}

impl SegmentCandidate {
    /// What hits are ordered by.
    const fn key(&self) -> (Time, ConversationId, u32) {
        (self.document.time, self.conversation, self.document.seq)
    }
}

/// Messages of a block that have the words, as its segment says.
struct BlockHits {
    newest: Time,
    segment: usize,
    block: usize,
    places: Vec<usize>,
}

/// Keeps the first so many in the order of hits.
fn keep_first(candidates: &mut Vec<SegmentCandidate>, count: usize) {
    if candidates.len() > count {
        candidates.select_nth_unstable_by_key(count, |candidate| Reverse(candidate.key()));
        candidates.truncate(count);
    }
}

/// A search under way.
struct PlainSearch<'s> {
    store: &'s Jsonl,
    query: &'s SearchQuery<'s>,
    segments: Segments,
    chains: HashMap<ConversationId, RunChain>,
    /// The runs that count, by segment.
    runs: HashMap<usize, HashSet<usize>>,
    /// How the files of covered conversations look.
    seen: HashMap<ConversationId, FileIdentity>,
    hits: Hits<'s>,
    damage: SearchDamage,
}

impl<'s> PlainSearch<'s> {
    fn begin(store: &'s Jsonl, query: &'s SearchQuery<'s>, doubts: &Doubts) -> Result<Self> {
        let folder = store.layout.words();
        // An index that cannot be looked at is one that covers nothing.
        let segments = Segments::open(&folder, &doubts.segments)
            .unwrap_or_else(|_| Segments { all: Vec::new(), broken: Vec::new() });
        let (mut chains, _) = segments.chains();
        chains.retain(|id, _| !doubts.conversations.contains(id));
        Ok(Self {
            store,
            query,
            segments,
            chains,
            runs: HashMap::new(),
            seen: HashMap::new(),
            hits: Hits::of(query, true),
            damage: SearchDamage::default(),
        })
    }

    fn run(mut self) -> Result<SearchOutcome> {
        match self.query.conversation {
            None => self.look_at_all()?,
            Some(only) => self.look_at_one(only)?,
        }
        let candidates = match self.candidates() {
            Ok(candidates) => candidates,
            Err(doubt) => return Ok(SearchOutcome::Doubtful(doubt)),
        };
        match self.open(candidates)? {
            Some(doubt) => Ok(SearchOutcome::Doubtful(doubt)),
            None => Ok(SearchOutcome::Found(self.hits.into_page(self.damage))),
        }
    }

    fn look_at_all(&mut self) -> Result<()> {
        let mut found = self.store.found(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?;
        self.damage.add(found.damaged.iter());
        let wanted = RowFilter::of(&ListQuery { project: self.query.project, ..ListQuery::default() });
        found.entries.retain(|entry| entry.passes(&wanted));
        found.entries.sort_by_key(|entry| Reverse(entry.key()));
        for entry in &found.entries {
            if entry.is_sound() && self.is_covered(entry.id, &entry.seen) {
                self.take(entry.id, entry.seen);
            } else if let Some((opened, known)) = self.store.glance_at(entry.id)? {
                self.look_through(&opened, &known)?;
            }
        }
        Ok(())
    }

    fn look_at_one(&mut self, id: ConversationId) -> Result<()> {
        let seen = self.store.only_file(id);
        if let Some(seen) = seen.filter(|seen| self.query.project.is_none() && self.is_covered(id, seen)) {
            self.take(id, seen);
            return Ok(());
        }
        let snapshot = JsonlRows::to_read(self.store);
        match snapshot.state(id)? {
            Presence::Absent => Ok(()),
            Presence::Lost(error) => self.damage.take_told(Err(error)),
            Presence::Stored(_) => {
                let row = snapshot.conversation(id)?;
                let is_meant = row.is_some_and(|row| {
                    self.query.project.is_none_or(|project| row.facets.project == project)
                });
                match snapshot.into_decided(id)?.filter(|_| is_meant) {
                    Some(look) => self.look_through(&look.0, &look.1),
                    None => Ok(()),
                }
            }
        }
    }

    /// True when segments cover all of a file that looks so.
    fn is_covered(&self, id: ConversationId, seen: &FileIdentity) -> bool {
        self.chains.get(&id).is_some_and(|chain| chain.last.is_current(seen))
    }

    /// Uses what segments say of a conversation.
    fn take(&mut self, id: ConversationId, seen: FileIdentity) {
        let Some(chain) = self.chains.get(&id) else { return };
        for (segment, run) in &chain.places {
            self.runs.entry(*segment).or_default().insert(*run);
        }
        self.seen.insert(id, seen);
    }

    /// Reads what segments do not cover of a conversation; all of it where they do not fit.
    fn look_through(&mut self, opened: &LockedFile, known: &ScannedFile) -> Result<()> {
        let (id, messages, mut damage) = (known.kept.id, known.kept.tree.messages(), opened.damage(known));
        let covered = match self.chains.get(&id).filter(|_| damage.is_empty()) {
            Some(chain) if divides(messages, chain.messages, chain.last.end) => {
                covers(opened, &chain.last)?.then_some(chain.messages)
            }
            _ => None,
        };
        if covered.is_some() {
            self.take(id, opened.seen);
        }
        let rest = messages[covered.unwrap_or(0)..].iter();
        let (hits, store) = (&mut self.hits, self.store);
        let visited = store.visit_held(opened, rest, &mut |row| hits.look_at(id, row));
        let visited = visited.and_then(|mut bodies| {
            damage.append(&mut bodies);
            told(damage)
        });
        match self.damage.take_told(visited) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// The messages that segments name, the first of them in order: a page, and one more.
    fn candidates(&self) -> std::result::Result<Vec<SegmentCandidate>, SearchDoubt> {
        let mut named = self.named()?;
        named.sort_unstable_by_key(|named| Reverse(named.newest));
        let page = self.query.limit.saturating_add(1);
        let (mut candidates, mut oldest) = (Vec::new(), self.query.since);
        for BlockHits { newest, segment, block, places } in named {
            // All that follow are older than what is on the page, or than what is asked for.
            if oldest.is_some_and(|oldest| newest < oldest) {
                break;
            }
            let segment = &self.segments.all[segment];
            let block = segment.block(block);
            let documents =
                segment.documents(block).map_err(|_| SearchDoubt::Segment(segment.path.clone()))?;
            let conversation = segment.runs[block.run].conversation;
            let here = places.into_iter().filter_map(|place| documents.get(place).copied());
            let here = here.map(|document| SegmentCandidate { conversation, document });
            candidates.extend(here.filter(|candidate| self.admits(candidate)));
            if candidates.len() > page.saturating_mul(2).saturating_add(64) {
                keep_first(&mut candidates, page);
                oldest = candidates.iter().map(|candidate| candidate.document.time).min();
            }
        }
        keep_first(&mut candidates, page);
        Ok(candidates)
    }

    /// The blocks of runs that count in which segments name messages.
    fn named(&self) -> std::result::Result<Vec<BlockHits>, SearchDoubt> {
        let mut all: Vec<BlockHits> = Vec::new();
        for (number, runs) in &self.runs {
            let segment = &self.segments.all[*number];
            let matches = segment.matches(self.query.words);
            for match_number in matches.map_err(|_| SearchDoubt::Segment(segment.path.clone()))? {
                let Some((block, place)) = segment.place_of(match_number) else { continue };
                match all.last_mut() {
                    Some(last) if (last.segment, last.block) == (*number, block) => last.places.push(place),
                    _ if runs.contains(&segment.block(block).run) => {
                        let newest = segment.block(block).sums.newest;
                        all.push(BlockHits { newest, segment: *number, block, places: vec![place] });
                    }
                    _ => {}
                }
            }
        }
        Ok(all)
    }

    fn admits(&self, candidate: &SegmentCandidate) -> bool {
        let query = self.query;
        query.role.is_none_or(|role| candidate.document.role == role)
            && query.since.is_none_or(|since| candidate.document.time >= since)
            && query.after.is_none_or(|after| candidate.key() < after.key())
    }

    /// Reads what was named. The answer says what turned out to be different.
    fn open(&mut self, candidates: Vec<SegmentCandidate>) -> Result<Option<SearchDoubt>> {
        let mut files: HashMap<ConversationId, LockedFile> = HashMap::new();
        for SegmentCandidate { conversation, document } in candidates {
            let opened = match files.entry(conversation) {
                Entry::Occupied(own) => own.into_mut(),
                Entry::Vacant(free) => match self.file_of(conversation)? {
                    Some(opened) => free.insert(opened),
                    None => return Ok(Some(SearchDoubt::Conversation(conversation))),
                },
            };
            match self.hit(opened, conversation, &document)? {
                Some(hit) => self.hits.add(hit),
                None => return Ok(Some(SearchDoubt::Conversation(conversation))),
            }
        }
        Ok(None)
    }

    /// Opens the file of a covered conversation; none unless it looks as it did.
    fn file_of(&self, id: ConversationId) -> Result<Option<LockedFile>> {
        let opened = match self.store.open_file(id) {
            Err(error) if is_forbidden(&error) => None,
            opened => opened?,
        };
        Ok(opened.filter(|opened| self.seen.get(&id).is_some_and(|seen| *seen == opened.seen)))
    }

    /// A message where it should stand; none unless it is there and has the words.
    fn hit(
        &self,
        opened: &LockedFile,
        conversation: ConversationId,
        document: &Document,
    ) -> Result<Option<Hit>> {
        let mut bytes = vec![0; document.length as usize];
        let read = read_at(&opened.file, &mut bytes, document.offset);
        let read = read.during(|| format!("read `{}`", opened.path.display()))?;
        let Some(body) = body(&bytes[..read]) else { return Ok(None) };
        let said = Searchable::of(&body).filter(|said| said.time == document.time && self.query.finds(said));
        let (message, seq, time): (MessageId, u32, Time) = (document.id, document.seq, document.time);
        Ok(said.map(|_| Hit { conversation, message, seq, time, body: body.into_owned() }))
    }
}

impl Jsonl {
    /// How the file of a conversation looks, if there is one and no copy of it.
    fn only_file(&self, id: ConversationId) -> Option<FileIdentity> {
        let folders = self.layout.find_all(id).ok()?;
        let [folder] = folders.as_slice() else { return None };
        let there = self.layout.file(folder, id).symlink_metadata().ok()?;
        there.is_file().then(|| FileIdentity::of(&there))
    }
}
