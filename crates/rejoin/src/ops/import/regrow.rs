//! A reply that went on after it was imported.
//!
//! Programs write a reply piece by piece, so an import may meet half of it. What it is read from later begins
//! with what it was read from then, or its reader saw that it was being written: the half is replaced, with
//! whatever followed it at the source, and is not kept as a branch. It is only if the source gives all of
//! that again, which the first reading finds out. A message that anyone went on from here, marked or pinned
//! stays as it is; then the whole reply stands beside the half.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::formats::{SOURCE, SourceMessage, in_progress};
use crate::model::{Message, MessageId};
use crate::ops::import::ImportMode;
use crate::ops::import::growing::Growing;
use crate::ops::marker::continues;
use crate::ops::sources::source_hash;
use crate::store::{Children, Note, Order, Outcome, Selection, Target};

const REASON: &str = "it went on at its source";

/// What one reading has found out for the next about messages that went on.
#[derive(Clone, Debug, Default)]
pub(super) struct Regrowth {
    /// Messages that may be taken away, because the source gives them again.
    given: HashSet<MessageId>,
    /// Messages that went on and stay all the same, because not all that followed them comes again.
    refused: HashSet<MessageId>,
}

/// A message that went on.
pub(super) struct Half {
    id: MessageId,
    /// It, and whatever followed it at the source.
    going: Vec<MessageId>,
}

/// A message that has to go so that one that went on can take its place.
struct ReplacedMessage {
    bytes: u64,
    /// The hash of what it was read from.
    hash: String,
}

impl Regrowth {
    /// True when it refuses more than one before it.
    pub(super) fn is_stricter_than(&self, before: &Self) -> bool {
        self.refused.len() > before.refused.len()
    }
}

impl Growing<'_> {
    /// Takes the half of a message away that went on, with whatever followed it. False when it has to stay.
    pub(super) fn regrow(
        &mut self,
        own: MessageId,
        parent: Option<MessageId>,
        found: &SourceMessage,
    ) -> Result<bool> {
        if self.stored.is_none()
            || self.regrowth.refused.contains(&own)
            || !self.goes_on(own, &found.source)?
        {
            return Ok(false);
        }
        if self.mode == ImportMode::Store {
            // It may wait, so it comes before the look at what is there.
            self.flush()?;
        }
        let Some(going) = self.what_goes(own, parent)? else { return Ok(false) };
        let ids: Vec<MessageId> = going.keys().copied().collect();
        if self.mode == ImportMode::Store {
            let is_given = ids.iter().all(|id| self.regrowth.given.contains(id));
            if !is_given || !self.remove(&ids)? {
                return Ok(false);
            }
        }
        self.halves.push(Half { id: own, going: ids });
        self.grown += 1;
        for (id, ReplacedMessage { bytes, hash }) in going {
            self.known.remove(&id);
            // What came before its parent did not come again.
            self.met.remove(&id);
            self.bytes = self.bytes.saturating_sub(bytes);
            self.regrown.insert(id, hash);
        }
        Ok(true)
    }

    /// What has to go so that a message can take the place of the half that is
    /// here; none when it has to stay.
    fn what_goes(
        &self,
        own: MessageId,
        parent: Option<MessageId>,
    ) -> Result<Option<HashMap<MessageId, ReplacedMessage>>> {
        let Some(row) = self.into.row_of(self.id)? else { return Ok(None) };
        let mut going: HashMap<MessageId, ReplacedMessage> = HashMap::new();
        let mut is_of_source = true;
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.into.store.read(self.id, all, &mut |seen| {
            let is_half = seen.id == own;
            if is_half || seen.parent.is_some_and(|above| going.contains_key(&above)) {
                let is_in_place = !is_half || seen.parent == parent;
                let hash = self.hash_of_named(seen.id, seen.body)?;
                is_of_source &= is_in_place && seen.note == Note::default() && hash.is_some();
                let (bytes, hash) = (seen.body.len() as u64, hash.unwrap_or_default());
                going.insert(seen.id, ReplacedMessage { bytes, hash });
            }
            Ok(())
        })?;
        let is_marked = row.branches.iter().any(|branch| going.contains_key(&branch.head));
        Ok((is_of_source && !is_marked && going.contains_key(&own)).then_some(going))
    }

    /// Removes messages. False when someone went on from one of them meanwhile; then all of them stay.
    fn remove(&self, ids: &[MessageId]) -> Result<bool> {
        let target = Target::Messages { conversation: self.id, ids, children: Children::Refuse };
        let outcomes = self.into.store.remove(&[target], REASON, self.into.now)?;
        Ok(matches!(outcomes[..], [Outcome::Removed { .. }]))
    }

    /// Notes that a message came again that would be taken away, and that it is still what it was.
    pub(super) fn see_again(&mut self, id: MessageId, found: &SourceMessage) -> Result<()> {
        let Some(before) = self.regrown.get(&id).filter(|_| self.mode == ImportMode::Try) else {
            return Ok(());
        };
        let is_same = *before == source_hash(&found.source) || self.was_read_from(id, &found.source)?;
        if is_same || self.goes_on(id, &found.source)? {
            self.given.insert(id);
        }
        Ok(())
    }

    /// What this reading has found out for the next.
    pub(super) fn learnt_regrowth(&self) -> Regrowth {
        let mut learnt = Regrowth { given: HashSet::new(), refused: self.regrowth.refused.clone() };
        for half in &self.halves {
            if half.going.iter().all(|id| self.given.contains(id)) {
                learnt.given.extend(&half.going);
            } else {
                learnt.refused.insert(half.id);
            }
        }
        learnt
    }

    /// True when a message is more of the one that is here, and not another one.
    fn goes_on(&self, own: MessageId, source: &str) -> Result<bool> {
        if self.begins_with_what_is_here(own, source)? {
            return Ok(true);
        }
        let stored = self.stored_message(own)?;
        Ok(stored.is_some_and(|(_, message)| in_progress::is_marked(&message)))
    }

    /// True when the text of a message begins with the text that it was read from before.
    fn begins_with_what_is_here(&self, own: MessageId, source: &str) -> Result<bool> {
        Ok(self.stored_source(own, source)?.is_some_and(|before| continues(&before, source)))
    }

    /// The hash of what a stored message was read from; none when it was not imported, or goes by
    /// another name than the source gives it.
    fn hash_of_named(&self, id: MessageId, body: &str) -> Result<Option<String>> {
        let message = Message::from_body(body)?;
        let Some(source) = message.extra.field(SOURCE) else { return Ok(None) };
        let source: serde_json::Value = source.to()?;
        let name = source["id"].as_str().unwrap_or_default();
        let is_named = self.names.message(&self.found.id, name) == id;
        Ok(source["text"].as_str().filter(|_| is_named).map(str::to_owned))
    }
}
