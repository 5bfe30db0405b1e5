//! The model that stores are compared with: the rules of the contract written a
//! second time, as plainly as they can be.
//!
//! It shares no decision with the stores, so that a rule that is wrong there is not wrong here as well.

mod conversation;
mod rules;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::oracle::conversation::{Kept, no_message};
use crate::oracle::rules::{check_change, check_turn, found_at, page_of_hits, page_of_rows};
use rejoin::store::{
    Appended, BlobNames, Capabilities, Change, Changed, Found, Hit, ListQuery, Note, Order, Outcome, Page,
    Progress, Put, Read, Row, Safety, SearchQuery, Seen, Selection, Space, Store, Target, Task, Turn, What,
};
use rejoin::{ConversationId, Error, ErrorKind, MessageId, Result, Time};

/// A store in memory that is as simple as the contract allows. A clone is another handle on the same memory.
#[derive(Clone, Default)]
pub(crate) struct Model {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    conversations: BTreeMap<ConversationId, Kept>,
    blobs: BTreeMap<(Space, Option<ConversationId>, Vec<u8>), Vec<u8>>,
    log: Vec<Changed>,
}

impl Model {
    /// An empty store.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in a visitor cannot happen under the lock: visitors run on copies.
        self.shared.state.lock().expect("no panic happens while the state is locked")
    }

    fn tell(&self, mut state: MutexGuard<'_, State>, at: Time, conversation: ConversationId, what: What) {
        let stamp = state.log.len() as u64 + 1;
        state.log.push(Changed { stamp, at, conversation, what });
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("conversations", &self.state().conversations.len()).finish()
    }
}

fn unknown(id: ConversationId) -> Error {
    Error::new(ErrorKind::NotFound, format!("no conversation `{id}`"))
}

impl State {
    fn kept(&self, id: ConversationId) -> Result<&Kept> {
        self.conversations.get(&id).ok_or_else(|| unknown(id))
    }
}

impl Read for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn read(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()> {
        // The visitor may call back into the store, so it works on a copy,
        // which is also the one moment it sees.
        let kept = self.state().kept(id)?.clone();
        let seq_of = |id: MessageId| kept.seq_of(id).ok_or_else(|| no_message(id));
        let seqs: Vec<u32> = match what {
            Selection::Path(Some(target)) => kept.path_to(seq_of(target)?),
            Selection::Path(None) => kept.head.map(|head| kept.path_to(head)).unwrap_or_default(),
            Selection::Ids(ids) => ids.iter().map(|id| seq_of(*id)).collect::<Result<_>>()?,
            Selection::All { order, offset, limit } => {
                let mut seqs: Vec<u32> = kept.messages.keys().copied().collect();
                if order == Order::NewestFirst {
                    seqs.reverse();
                }
                let (offset, limit) = (usize::try_from(offset), usize::try_from(limit));
                seqs.into_iter()
                    .skip(offset.unwrap_or(usize::MAX))
                    .take(limit.unwrap_or(usize::MAX))
                    .collect()
            }
        };
        for seq in seqs {
            let held = &kept.messages[&seq];
            visit(Seen {
                id: held.id,
                parent: held.parent.map(|parent| kept.id_of(parent)),
                seq,
                turn: held.turn,
                link: held.link,
                note: Note { label: held.label.as_deref(), is_pinned: held.is_pinned },
                body: &held.body,
                size: held.body.len() as u64,
            })?;
        }
        Ok(())
    }

    fn list(&self, query: &ListQuery<'_>) -> Result<Page<Row>> {
        let rows = self.state().conversations.iter().map(|(id, kept)| kept.row(*id)).collect();
        Ok(page_of_rows(query, rows))
    }

    fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let state = self.state();
        let digits = text.replace('-', "").to_lowercase();
        let conversations = state.conversations.iter().filter(|(id, kept)| {
            let bare = id.to_string().replace('-', "");
            (!digits.is_empty() && bare.starts_with(&digits))
                || id.short().as_str().starts_with(text)
                || kept.facets.slug == text
        });
        let conversations = conversations.map(|(id, _)| Found { conversation: *id, message: None });
        let messages = state.conversations.iter().flat_map(|(id, kept)| {
            let ids = kept.messages.values().map(|held| held.id).filter(|id| id.as_str().starts_with(text));
            ids.map(|message| Found { conversation: *id, message: Some(message) })
        });
        Ok(conversations.chain(messages).take(limit).collect())
    }

    fn search(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let state = self.state();
        let mut hits = Vec::new();
        for (id, kept) in &state.conversations {
            if query.conversation.is_some_and(|only| only != *id)
                || query.project.is_some_and(|project| kept.facets.project != project)
            {
                continue;
            }
            for (seq, held) in &kept.messages {
                if let Some(time) = found_at(query, &held.body) {
                    let body = held.body.to_string();
                    hits.push(Hit { conversation: *id, message: held.id, seq: *seq, time, body });
                }
            }
        }
        Ok(page_of_hits(query, hits))
    }

    fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
        let seen = usize::try_from(after).unwrap_or(usize::MAX);
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.state(), wait, |state| state.log.len() <= seen)
            .expect("no panic happens while the state is locked");
        Ok(state.log.get(seen..).map(<[_]>::to_vec).unwrap_or_default())
    }

    fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let found: Vec<(Vec<u8>, Vec<u8>)> = self
            .state()
            .blobs
            .range((space, owner, named.start().to_vec())..)
            .take_while(|((s, o, name), _)| *s == space && *o == owner && named.admit(name))
            .map(|((_, _, name), bytes)| (name.clone(), bytes.clone()))
            .collect();
        found.iter().try_for_each(|(name, bytes)| visit(name, bytes))
    }
}

impl Store for Model {
    fn append(&self, turn: &Turn<'_>) -> Result<Appended> {
        check_turn(turn)?;
        let mut state = self.state();
        let id = turn.conversation;
        let existing = state.conversations.get(&id);
        if let Some(appended) = existing.and_then(|kept| kept.replay(turn.entries)) {
            return Ok(appended);
        }
        let mut kept = match (existing, &turn.opening) {
            (Some(kept), None) => kept.clone(),
            (None, Some(opening)) => Kept {
                version: 1,
                facets: opening.facets.clone(),
                header: opening.header.to_owned(),
                created: opening.created,
                active: turn.active,
                head: None,
                next: 1,
                first: String::new(),
                last: String::new(),
                branches: Vec::new(),
                messages: BTreeMap::new(),
            },
            (Some(_), Some(_)) => {
                return Err(Error::new(ErrorKind::Conflict, format!("conversation `{id}` already exists")));
            }
            (None, None) => return Err(unknown(id)),
        };
        let forked = kept.grow(turn)?;
        state.put(turn.blobs, Some(id))?;
        let appended = Appended { seq: kept.next - 1, forked, replayed: false };
        let messages = kept.messages.len() as u64;
        state.conversations.insert(id, kept);
        self.tell(state, turn.active, id, What::Stored { messages });
        Ok(appended)
    }

    fn append_all(&self, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
        turns.iter().map(|turn| self.append(turn)).collect()
    }

    fn amend(&self, id: ConversationId, expected: Option<u64>, change: &Change<'_>, at: Time) -> Result<u64> {
        check_change(change)?;
        let mut state = self.state();
        let mut kept = state.kept(id)?.clone();
        if expected.is_some_and(|expected| kept.version != expected) {
            return Err(Error::new(ErrorKind::Conflict, format!("conversation `{id}` changed meanwhile")));
        }
        let seq_of = |kept: &Kept, id: MessageId| kept.seq_of(id).ok_or_else(|| no_message(id));
        match change {
            Change::Header { facets, header } => {
                kept.facets = (*facets).clone();
                kept.header = (*header).to_owned();
            }
            Change::Head(head) => kept.head = head.map(|head| seq_of(&kept, head)).transpose()?,
            Change::Note(message, note) => {
                let seq = seq_of(&kept, *message)?;
                let held = kept.messages.get_mut(&seq).expect("the sequence was just found");
                held.label = note.label.map(str::to_owned);
                held.is_pinned = note.is_pinned;
            }
            Change::Branch(branch) => {
                seq_of(&kept, branch.head)?;
                match kept.branches.iter_mut().find(|old| old.id == branch.id) {
                    Some(old) => *old = (*branch).clone(),
                    None => kept.branches.push((*branch).clone()),
                }
            }
            Change::Unbranch(branch) => kept.branches.retain(|old| old.id != *branch),
            Change::Rewrite { messages, previews } => kept.rewrite(messages, previews)?,
        }
        kept.version += 1;
        let version = kept.version;
        state.conversations.insert(id, kept);
        let is_rewrite = matches!(change, Change::Rewrite { .. });
        self.tell(state, at, id, if is_rewrite { What::Rewritten } else { What::Changed });
        Ok(version)
    }

    fn remove(&self, targets: &[Target<'_>], reason: &str, at: Time) -> Result<Vec<Outcome>> {
        let reason = || reason.to_owned();
        targets
            .iter()
            .map(|target| {
                let mut state = self.state();
                match target {
                    Target::Conversation(id) => {
                        let Some(kept) = state.conversations.remove(id) else { return Ok(Outcome::NotFound) };
                        state.blobs.retain(|(_, owner, _), _| *owner != Some(*id));
                        let row = kept.row(*id);
                        self.tell(state, at, *id, What::Deleted { reason: reason() });
                        Ok(Outcome::Removed { messages: row.messages, bytes: row.bytes })
                    }
                    Target::Messages { conversation, ids, children } => {
                        let Some(kept) = state.conversations.get_mut(conversation) else {
                            return Ok(Outcome::NotFound);
                        };
                        let outcome = kept.shrink(ids, *children);
                        if matches!(outcome, Outcome::Removed { messages: 1.., .. }) {
                            self.tell(state, at, *conversation, What::Trimmed { reason: reason() });
                        }
                        Ok(outcome)
                    }
                }
            })
            .collect()
    }

    fn put(&self, blobs: &[Put<'_>], _safety: Safety) -> Result<()> {
        self.state().put(blobs, None)
    }

    fn maintain(&self, _task: Task, _budget: Duration) -> Result<Progress> {
        Ok(Progress::default())
    }
}

impl State {
    fn put(&mut self, blobs: &[Put<'_>], being_made: Option<ConversationId>) -> Result<()> {
        for owner in blobs.iter().filter_map(|blob| blob.owner) {
            if Some(owner) != being_made && !self.conversations.contains_key(&owner) {
                return Err(unknown(owner));
            }
        }
        for blob in blobs {
            let key = (blob.space, blob.owner, blob.name.to_vec());
            match blob.bytes {
                Some(bytes) => self.blobs.insert(key, bytes.to_vec()),
                None => self.blobs.remove(&key),
            };
        }
        Ok(())
    }
}
