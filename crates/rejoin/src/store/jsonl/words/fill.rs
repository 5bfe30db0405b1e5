//! Filling the word index behind the append, a slice at a time.

use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::Progress;
use crate::store::backend::text;
use crate::store::body::{Searchable, is_json};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{FileIdentity, Grown, LockedFile, Purpose};
use crate::store::jsonl::list::index::IndexEntry;
use crate::store::jsonl::loaded::LocatedMessage;
use crate::store::jsonl::scan::ScannedFile;
use crate::store::jsonl::words::contents::{NOTHING, PrefixChecksums};
use crate::store::jsonl::words::document::Document;
use crate::store::jsonl::words::parts::Drafting;
use crate::store::jsonl::words::publish::{ReadVersion, Revision};
use crate::store::jsonl::words::{CoveredRun, RunChain};
use crate::store::jsonl::{Jsonl, lock};

/// How much of the files one segment takes at first, so that little is in memory.
const SLICE: u64 = 4 << 20;

/// How much of a file is read when the store is closed. What is left is indexed later.
const CLOSING: u64 = 4 << 20;

/// How long closing waits for others who write.
const PATIENCE: Duration = Duration::from_millis(5);

/// A conversation with messages that are not indexed yet.
struct Behind {
    id: ConversationId,
    /// The last run that covers something of it, and how many messages are covered.
    covered: Option<(CoveredRun, usize)>,
    /// How its file looked when it was compared.
    seen: FileIdentity,
    /// How many messages it has.
    messages: u64,
}

/// A segment that is being filled.
struct Slice {
    drafting: Drafting,
    read: Vec<ReadVersion>,
    messages: u64,
}

impl Slice {
    fn new() -> Self {
        Self { drafting: Drafting::new(), read: Vec::new(), messages: 0 }
    }
}

impl Jsonl {
    /// Indexes what is not indexed yet, until the budget is spent. What does
    /// not fit its file any more goes first.
    pub(in crate::store::jsonl) fn fill_words(&self, budget: Duration) -> Result<Progress> {
        let until = Instant::now().checked_add(budget);
        let entries = self.check_index()?;
        let mut behind = self.find_behind(&entries)?.into_iter();
        let (mut slice, mut done, mut is_over) = (Slice::new(), 0, false);
        let mut left = 0;
        for conversation in behind.by_ref() {
            let Some((opened, known)) = self.glance_at(conversation.id)? else { continue };
            let mut covered = conversation.covered;
            // It was written to since, and perhaps replaced.
            if let Some((run, _)) = &covered
                && opened.seen != conversation.seen
                && !covers(&opened, run)?
            {
                left += conversation.messages;
                continue;
            }
            loop {
                let added = self.add_to(&mut slice, &opened, &known, covered.take())?;
                if slice.drafting.size() >= SLICE {
                    let published = self.publish_slice(&mut slice, self.options.wait)?;
                    (done, left) = (done + published.done, left + published.left);
                    // What follows on what was not published would be loose.
                    is_over = published.left > 0 || until.is_some_and(|until| Instant::now() >= until);
                }
                let messages = known.kept.tree.messages().len();
                match added {
                    Some((run, count)) if count < messages && !is_over => covered = Some((run, count)),
                    Some((_, count)) => {
                        left += (messages - count) as u64;
                        break;
                    }
                    None => break,
                }
            }
            if is_over {
                break;
            }
        }
        let published = self.publish_slice(&mut slice, self.options.wait)?;
        (done, left) = (done + published.done, left + published.left);
        left += behind.map(|rest| rest.messages).sum::<u64>();
        tracing::debug!(done, left, "search index filled");
        Ok(Progress { done, left, ..Progress::default() })
    }

    /// Indexes what this handle wrote, as far as that is short work.
    pub(in crate::store::jsonl) fn fill_what_was_written(&self) -> Result<()> {
        let grown = lock(&self.files).grown();
        let (mut slice, mut indexed) = (Slice::new(), None);
        for (id, grown) in grown {
            let Some((opened, known)) = self.look(Purpose::Read, id)? else { continue };
            if !ends_in_words(self, &opened, &known)? {
                continue;
            }
            // Segments are opened only where there is something to index.
            if indexed.is_none() {
                indexed = Some(self.segments()?.chains());
            }
            let Some((chains, loose)) = &indexed else { continue };
            let chain = chains.get(&id);
            let covered = chain.map_or(0, |chain| chain.last.end);
            let is_long = opened.seen.length.saturating_sub(covered) > CLOSING;
            if loose.contains(&id) || is_long || !is_covered_still(&opened, &grown, chain)? {
                continue;
            }
            let covered = chain.map(|chain| (chain.last.clone(), chain.messages));
            self.add_to(&mut slice, &opened, &known, covered)?;
            if slice.drafting.size() >= SLICE {
                break;
            }
        }
        self.publish_slice(&mut slice, PATIENCE).map(drop)
    }

    fn publish_slice(&self, slice: &mut Slice, wait: Duration) -> Result<Progress> {
        let Slice { drafting, read, messages } = std::mem::replace(slice, Slice::new());
        if drafting.is_empty() || self.add_segment(drafting, &read, wait)? {
            return Ok(Progress { done: messages, ..Progress::default() });
        }
        Ok(Progress { left: messages, ..Progress::default() })
    }

    /// Compares the index with the files, and takes out of it what does not fit.
    fn find_behind(&self, entries: &[IndexEntry]) -> Result<Vec<Behind>> {
        let segments = self.segments()?;
        let (mut chains, loose) = segments.chains();
        let (mut behind, mut revision) = (Vec::new(), Revision::default());
        revision.stale = loose;
        for entry in entries.iter().filter(|entry| !entry.is_unlistable()) {
            let chain = chains.remove(&entry.id).filter(|_| !revision.stale.contains(&entry.id));
            if chain.as_ref().is_some_and(|chain| chain.last.is_current(&entry.seen)) {
                continue;
            }
            let (covered, seen) = match chain {
                Some(chain) => self.check_chain(entry, &chain, &mut revision)?,
                None => (None, entry.seen),
            };
            let messages = entry.row().map_or(0, |row| row.messages);
            let has_more = covered.as_ref().is_none_or(|(run, _)| run.end < entry.seen.length);
            if has_more && entry.is_sound() {
                behind.push(Behind { id: entry.id, covered, seen, messages });
            }
        }
        // What is left has no file.
        revision.stale.extend(chains.into_keys());
        if !revision.is_empty() || !segments.broken.is_empty() {
            let _lock = self.lock_words(self.options.wait)?;
            self.revise_words(&revision)?;
        }
        Ok(behind)
    }

    /// What a chain covers of a file that looks different; none when that is not the
    /// same any more. Also how the file looked.
    fn check_chain(
        &self,
        entry: &IndexEntry,
        chain: &RunChain,
        revision: &mut Revision,
    ) -> Result<(Option<(CoveredRun, usize)>, FileIdentity)> {
        let opened = self.open_file(entry.id)?;
        let is_same = match &opened {
            Some(opened) => covers(opened, &chain.last)?,
            None => false,
        };
        let Some(opened) = opened.filter(|_| is_same) else {
            revision.stale.insert(entry.id);
            return Ok((None, entry.seen));
        };
        if chain.last.end == opened.seen.length {
            revision.seen.insert(entry.id, opened.seen);
        }
        Ok((Some((chain.last.clone(), chain.messages)), opened.seen))
    }

    /// Adds the next messages of a conversation, after those that are covered, as far as the slice has room.
    /// The caller has compared the file with what covers it. What comes after the last message is covered
    /// too, so that the file is. The answer is the last run from then on, with how many messages are covered;
    /// none when the rest of it cannot be indexed.
    fn add_to(
        &self,
        slice: &mut Slice,
        opened: &LockedFile,
        known: &ScannedFile,
        covered: Option<(CoveredRun, usize)>,
    ) -> Result<Option<(CoveredRun, usize)>> {
        let messages = known.kept.tree.messages();
        if !is_whole(opened, known) {
            return Ok(None);
        }
        let (start, before, pieces, count) = covered
            .as_ref()
            .map_or((0, NOTHING, NOTHING, 0), |(run, count)| (run.end, run.contents, run.pieces, *count));
        if !divides(messages, count, start) || start == known.end {
            return Ok(None);
        }
        let mut size = slice.drafting.size();
        let room = messages[count..].iter().take_while(|held| {
            let has_room = size < SLICE;
            size += u64::from(held.content.length);
            has_room
        });
        let reached = count + room.count();
        let end = messages.get(reached).map_or(known.end, |next| next.content.offset);
        let mut contents = PrefixChecksums::after(&opened.file, start, pieces);
        let attempt = || format!("read `{}`", opened.path.display());
        let Some(said) = self.said(opened, &messages[count..reached])? else { return Ok(None) };
        let Some(sum) = contents.until(end).during(attempt)? else { return Ok(None) };
        let run = CoveredRun {
            conversation: known.kept.id,
            start,
            end,
            before,
            contents: sum,
            pieces: contents.pieces(),
            messages: (reached - count) as u32,
            seen: opened.seen,
            documents: said.len() as u32,
        };
        slice.drafting.add(run.clone(), said);
        slice.read.push((opened.path.clone(), opened.seen));
        slice.messages += (reached - count) as u64;
        Ok(Some((run, reached)))
    }

    /// What messages say, of those that can be searched; none when one of them is damaged.
    fn said(&self, opened: &LockedFile, held: &[LocatedMessage]) -> Result<Option<Vec<(Document, String)>>> {
        let mut all = Vec::new();
        let mut place = 0;
        let visited = self.visit_held(opened, held.iter(), &mut |row| {
            place += held[place..].iter().take_while(|held| held.node.seq < row.seq).count();
            let body = text(row.body);
            let Some(said) = Searchable::of(&body) else {
                return if is_json(&body) { Ok(()) } else { Err(Error::corrupt("it is not JSON")) };
            };
            let Some(spot) = held.get(place).map(|held| held.content) else { return Ok(()) };
            let (seq, id, time, role) = (row.seq, row.id, said.time, said.role);
            let document = Document { seq, time, role, offset: spot.offset, length: spot.length, id };
            all.push((document, said.text));
            Ok(())
        });
        match visited {
            Ok(damage) => Ok(damage.is_empty().then_some(all)),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// True when a file still is, up to the end of a run, what it was.
pub(super) fn covers(opened: &LockedFile, run: &CoveredRun) -> Result<bool> {
    let attempt = || format!("read `{}`", opened.path.display());
    Ok(run.end <= opened.seen.length
        && PrefixChecksums::of(&opened.file).until(run.end).during(attempt)? == Some(run.contents))
}

/// True when a file, up to where a chain ends, is what it was. If nobody but the handle that asks wrote to it
/// since, its looks tell; otherwise it is compared, unless it is long.
fn is_covered_still(opened: &LockedFile, grown: &Grown, chain: Option<&RunChain>) -> Result<bool> {
    let Some(chain) = chain else { return Ok(true) };
    let is_own =
        opened.seen == grown.after && grown.before.is_some_and(|before| chain.last.is_current(&before));
    Ok(is_own || (chain.last.end <= CLOSING && covers(opened, &chain.last)?))
}

/// True when so many messages stand before a place in the file, and the others after it.
pub(super) fn divides(messages: &[LocatedMessage], count: usize, place: u64) -> bool {
    messages.get(..count).is_some_and(|before| before.last().is_none_or(|held| held.content.offset < place))
        && messages.get(count).is_none_or(|held| held.content.offset >= place)
}

/// True when nothing is wrong with a file, and nobody is writing to it.
fn is_whole(opened: &LockedFile, known: &ScannedFile) -> bool {
    known.torn == 0
        && known.is_terminated
        && known.end == opened.seen.length
        && opened.damage(known).is_empty()
}

/// True when the last message can be searched. Those of a vault cannot, and there is nothing to index then.
fn ends_in_words(store: &Jsonl, opened: &LockedFile, known: &ScannedFile) -> Result<bool> {
    let messages = known.kept.tree.messages();
    let last = &messages[messages.len().saturating_sub(1)..];
    Ok(store.said(opened, last)?.is_some_and(|said| !said.is_empty()))
}
