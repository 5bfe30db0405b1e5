//! A reply that went on after it was imported.
//!
//! Programs write a reply piece by piece, so an import may meet half of it. What it says later begins with what it said
//! then: the half is replaced, with whatever followed it at the source, and is not kept as a branch. A message that
//! anyone went on from here, marked or pinned stays as it is; then the whole reply stands beside the half.

use std::collections::HashMap;

use crate::error::Result;
use crate::formats::SourceMessage;
use crate::model::{Message, MessageId};
use crate::ops::import::growing::{Growing, SOURCE};
use crate::store::{Children, Note, Order, Selection, Space, Target};

const REASON: &str = "it went on at its source";

/// The longest text of a message that is compared; a line has a limit, too.
const SOURCE_BYTES: usize = 1 << 30;

impl Growing<'_> {
    /// What has to go so that a message can take the place of the half that is here, with its bytes; none when it is
    /// no such half.
    pub(super) fn half_of(
        &self,
        own: MessageId,
        parent: Option<MessageId>,
        found: &SourceMessage,
    ) -> Result<Option<HashMap<MessageId, u64>>> {
        let Some(row) = &self.stored else { return Ok(None) };
        if !self.begins_with_what_is_here(own, &found.source)? {
            return Ok(None);
        }
        let mut going: HashMap<MessageId, u64> = HashMap::new();
        let mut is_of_source = true;
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.into.store.read(self.id, all, &mut |seen| {
            let is_half = seen.id == own;
            if is_half || seen.parent.is_some_and(|above| going.contains_key(&above)) {
                let is_in_place = !is_half || seen.parent == parent;
                is_of_source &=
                    is_in_place && seen.note == Note::default() && self.is_named(seen.id, seen.body)?;
                going.insert(seen.id, seen.body.len() as u64);
            }
            Ok(())
        })?;
        let is_marked = row.branches.iter().any(|branch| going.contains_key(&branch.head));
        Ok((is_of_source && !is_marked && going.contains_key(&own)).then_some(going))
    }

    /// Takes messages away that the source is about to give again.
    pub(super) fn take_away(&mut self, half: MessageId, going: HashMap<MessageId, u64>) -> Result<()> {
        if self.mode == super::ImportMode::Store {
            self.flush()?;
            let target = Target::Messages { conversation: self.id, ids: &[half], children: Children::Remove };
            self.into.store.remove(&[target], REASON, self.into.now)?;
        }
        self.grown += 1;
        for (id, bytes) in going {
            self.known.remove(&id);
            self.bytes = self.bytes.saturating_sub(bytes);
            self.regrown.insert(id);
        }
        Ok(())
    }

    /// True when the text of a message begins with the text that it was read from before.
    fn begins_with_what_is_here(&self, own: MessageId, source: &str) -> Result<bool> {
        let name = own.as_str().as_bytes();
        let mut begins = false;
        self.into.store.get(Space::Source, Some(self.id), name, &mut |found, packed| {
            if found == name {
                let before = zstd::bulk::decompress(packed, source.len().min(SOURCE_BYTES));
                // One that is longer than what is there now does not fit.
                let after = before.ok().and_then(|before| source.as_bytes().strip_prefix(before.as_slice()));
                begins = after.is_some_and(|after| after.starts_with(b"\n"));
            }
            Ok(())
        })?;
        Ok(begins)
    }

    /// True when a stored message was imported and goes by the name that the source gives it.
    fn is_named(&self, id: MessageId, body: &str) -> Result<bool> {
        let message = Message::from_body(body)?;
        let Some(source) = message.extra.field(SOURCE) else { return Ok(false) };
        let source: serde_json::Value = source.to()?;
        let name = source["id"].as_str().unwrap_or_default();
        Ok(self.names.message(&self.found.id, name) == id)
    }
}
