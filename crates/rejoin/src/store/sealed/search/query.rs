//! Answers searches: reads the segments of every conversation, on all cores, and message by message what they
//! do not cover.
//!
//! What segments say is a hint. Every message is opened and looked at before it is answered,
//! so that one that was removed or rewritten meanwhile is not. What does not open is passed
//! over, and named beside what was found.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::body::Searchable;
use crate::store::index::IndexedMessage;
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::key_cache::OwnerKeys;
use crate::store::sealed::scan::{ScanNext, Scanned};
use crate::store::sealed::search::fill::SegmentDoubt;
use crate::store::sealed::search::parallel::spread;
use crate::store::sealed::search::segments::{IndexCoverage, SegmentMatches};
use crate::store::{Hit, Order, Page, SearchQuery, Selection};

/// A conversation in the inner store, by its inner name.
type CountedConversation = (ConversationId, IndexCoverage);

/// A message that may be a hit.
#[derive(Clone, Copy, Debug)]
struct VaultCandidate {
    inner: ConversationId,
    held: IndexedMessage,
}

impl Sealed {
    pub(crate) fn search_opened(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        if query.words.words().is_empty() || query.limit == 0 {
            return Ok(query.page_of(Vec::new()));
        }
        let workspace = self.key_cache.workspace();
        let only = query.conversation.map(|id| workspace.names().conversation(id));
        let begin = || VaultSearch {
            vault: self,
            query,
            named: HashMap::new(),
            candidates: Vec::new(),
            hits: Vec::new(),
            damaged: BTreeSet::new(),
        };
        let searches = spread(&self.counted(only)?, begin, |search, (inner, extent)| {
            match search.look_at(*inner, *extent) {
                // It was removed since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                looked => looked,
            }
        })?;
        let mut search = searches.into_iter().fold(begin(), VaultSearch::joined);
        search.look_at_quarantined(only)?;
        search.answer()
    }

    /// Looks at one message by its own id.
    fn scan_one(
        &self,
        inner: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        id: MessageId,
        visit: &mut dyn FnMut(Scanned<'_>) -> ScanNext,
    ) -> Result<Vec<String>> {
        let name = self.key_cache.workspace().names().message(inner, id);
        self.scan(inner, owner_keys, Selection::Ids(&[name]), visit)
    }

    /// The conversations of the inner store, or the one that is asked for, with how much each has.
    fn counted(&self, only: Option<ConversationId>) -> Result<Vec<CountedConversation>> {
        let only = only.map(|inner| [inner]);
        let raws = self.raw_rows(only.as_ref().map(<[_; 1]>::as_slice))?;
        Ok(raws.iter().map(|raw| (raw.id, IndexCoverage::of(raw))).collect())
    }
}

/// A search under way.
struct VaultSearch<'v> {
    vault: &'v Sealed,
    query: &'v SearchQuery<'v>,
    /// What conversations with candidates are called outside; none for those
    /// that are gone or in another project.
    named: HashMap<ConversationId, Option<ConversationId>>,
    /// What segments say.
    candidates: Vec<VaultCandidate>,
    /// What was opened and matches.
    hits: Vec<Hit>,
    /// What does not open, in words.
    damaged: BTreeSet<String>,
}

impl VaultSearch<'_> {
    /// What both found.
    fn joined(mut self, other: Self) -> Self {
        self.named.extend(other.named);
        self.candidates.extend(other.candidates);
        self.hits.extend(other.hits);
        self.damaged.extend(other.damaged);
        self
    }

    /// Looks at one conversation.
    fn look_at(&mut self, inner: ConversationId, extent: IndexCoverage) -> Result<()> {
        let mut owner_keys = self.vault.key_cache.owner_keys(Some(inner));
        let looked = self.vault.look_up_words(inner, &mut owner_keys, self.query.words)?;
        if looked.chain.extent() != extent {
            return self.look_through(inner, extent, &mut owner_keys, looked);
        }
        self.take(inner, looked.candidates);
        Ok(())
    }

    /// Looks again at messages that did not open once: segments cover them, and have no words of theirs.
    fn look_at_quarantined(&mut self, only: Option<ConversationId>) -> Result<()> {
        for (inner, message) in self.vault.quarantined_messages()? {
            if only.is_some_and(|only| only != inner) || self.name_of(inner)?.is_none() {
                continue;
            }
            let mut owner_keys = self.vault.key_cache.owner_keys(Some(inner));
            let looked =
                self.vault.scan(inner, &mut owner_keys, Selection::Ids(&[message]), &mut |_| ScanNext::Go);
            match looked {
                // It was removed since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                looked => self.damaged.extend(looked?),
            }
        }
        Ok(())
    }

    /// Looks at what segments do not cover; at everything where they do not fit.
    fn look_through(
        &mut self,
        inner: ConversationId,
        extent: IndexCoverage,
        owner_keys: &mut OwnerKeys<'_>,
        looked: SegmentMatches,
    ) -> Result<()> {
        let Some(conversation) = self.name_of(inner)? else { return Ok(()) };
        let (tail, hits) = self.tail(inner, conversation, owner_keys, looked.chain.covered())?;
        let covered = looked.chain.extent();
        let seen =
            IndexCoverage { messages: covered.messages + tail.messages, bytes: covered.bytes + tail.bytes };
        // What was appended meanwhile is no reason to look at everything.
        if seen == extent || self.vault.extent_now(inner)? == Some(seen) {
            let doubt = if looked.chain.is_broken { SegmentDoubt::Unfit } else { SegmentDoubt::Behind };
            self.vault.suspect(inner, doubt);
            self.hits.extend(hits);
            self.take(inner, looked.candidates);
        } else {
            self.vault.suspect(inner, SegmentDoubt::Unfit);
            let (_, hits) = self.tail(inner, conversation, owner_keys, 0)?;
            self.hits.extend(hits);
        }
        keep_a_page(self.query, &mut self.hits);
        Ok(())
    }

    /// The hits after a sequence, and how much was looked at.
    fn tail(
        &mut self,
        inner: ConversationId,
        conversation: ConversationId,
        owner_keys: &mut OwnerKeys<'_>,
        covered: u32,
    ) -> Result<(IndexCoverage, Vec<Hit>)> {
        let (mut extent, mut hits) = (IndexCoverage::default(), Vec::new());
        let newest = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
        let query = self.query;
        let damaged = self.vault.scan(inner, owner_keys, newest, &mut |scanned| {
            if scanned.seq <= covered {
                return ScanNext::Stop;
            }
            extent.add(scanned.size);
            hits.extend(matching(query, conversation, &scanned));
            keep_a_page(query, &mut hits);
            ScanNext::Go
        })?;
        self.damaged.extend(damaged);
        Ok((extent, hits))
    }

    /// Keeps candidates that the query's times admit.
    fn take(&mut self, inner: ConversationId, held: Vec<IndexedMessage>) {
        let (oldest, newest) = (self.query.since, self.query.after.map(|after| after.time));
        let admitted = held.into_iter().filter(|held| {
            oldest.is_none_or(|oldest| held.time >= oldest) && newest.is_none_or(|newest| held.time <= newest)
        });
        self.candidates.extend(admitted.map(|held| VaultCandidate { inner, held }));
    }

    /// Opens candidates, newest first, until there are enough.
    fn answer(mut self) -> Result<Page<Hit>> {
        self.candidates.sort_unstable_by_key(|candidate| Reverse(candidate.held.time));
        let candidates = std::mem::take(&mut self.candidates);
        let mut opened = 0;
        // All of one time are opened together: which comes first depends on names that are known only then.
        for same_time in candidates.chunk_by(|one, other| one.held.time == other.held.time) {
            let before = self.hits.len();
            for candidate in same_time {
                let hit = self.open(candidate)?;
                self.hits.extend(hit);
            }
            opened += self.hits.len() - before;
            if opened > self.query.limit {
                break;
            }
        }
        Ok(Page { damaged: self.damaged.into_iter().collect(), ..self.query.page_of(self.hits) })
    }

    /// Opens a candidate; none unless it matches.
    fn open(&mut self, candidate: &VaultCandidate) -> Result<Option<Hit>> {
        let VaultCandidate { inner, held } = *candidate;
        let Some(conversation) = self.name_of(inner)? else { return Ok(None) };
        let key = (held.time, conversation, held.seq);
        if self.query.after.is_some_and(|after| key >= after.key()) {
            return Ok(None);
        }
        let mut owner_keys = self.vault.key_cache.owner_keys(Some(inner));
        let (query, mut hit) = (self.query, None);
        let looked = self.vault.scan_one(inner, &mut owner_keys, held.id, &mut |scanned| {
            // An id may have been given to another message since.
            hit = matching(query, conversation, &scanned).filter(|hit| hit.cursor().key() == key);
            ScanNext::Go
        });
        match looked {
            // It was removed since it was indexed.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            looked => {
                self.damaged.extend(looked?);
                Ok(hit)
            }
        }
    }

    /// What a conversation is called outside, if it is there, has a name, and is one that is asked for.
    fn name_of(&mut self, inner: ConversationId) -> Result<Option<ConversationId>> {
        if let Some(named) = self.named.get(&inner) {
            return Ok(*named);
        }
        let known = self.vault.row_now(inner)?;
        if let Some(nameless) = known.as_ref().filter(|known| !known.is_named) {
            self.damaged.insert(nameless.told());
        }
        let asked = known.filter(|known| known.is_named);
        let asked =
            asked.filter(|known| self.query.project.is_none_or(|own| known.row.facets.project == own));
        let named = asked.map(|known| known.row.id);
        self.named.insert(inner, named);
        Ok(named)
    }
}

/// The hit that a message is; none unless it matches, and is of the times that are asked for.
fn matching(query: &SearchQuery<'_>, conversation: ConversationId, scanned: &Scanned<'_>) -> Option<Hit> {
    let body = scanned.body?;
    let said = Searchable::of(body)?;
    let (message, seq, time) = (scanned.id, scanned.seq, said.time);
    let is_asked_for = query.since.is_none_or(|since| time >= since)
        && query.after.is_none_or(|after| (time, conversation, seq) < after.key());
    (is_asked_for && query.finds(&said)).then(|| Hit {
        conversation,
        message,
        seq,
        time,
        body: body.to_owned(),
    })
}

/// Lets go of what cannot be on the page, now and then. One more than the page
/// tells that there is a next one.
fn keep_a_page(query: &SearchQuery<'_>, hits: &mut Vec<Hit>) {
    if hits.len() > query.limit.saturating_mul(2).saturating_add(64) {
        hits.sort_by_key(|hit| Reverse(hit.cursor().key()));
        hits.truncate(query.limit.saturating_add(1));
    }
}
