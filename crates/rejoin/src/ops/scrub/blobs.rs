//! What belongs to a conversation beside its messages: replies that were not finished, what imported messages were read
//! from, and what programs remember.
//!
//! Projects, how imports looked, keys and the audit log hold no text that anybody wrote.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::ops::attachment::CARDS;
use crate::ops::import::{Packer, source_hash, unpack};
use crate::ops::redact::{KEY_NAME, Redactor, Tally};
use crate::ops::scrub::{Findings, ScrubPlace};
use crate::store::{Named, Put, Space, Store};

/// The beginning of the names of lines that are no messages.
const LINE: &str = "line:";

/// The blobs that change.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    /// What is stored under each name from now on; nothing when it goes.
    changed: Vec<(Space, Vec<u8>, Option<Vec<u8>>)>,
    /// The hashes of what messages were read from, where that changes.
    hashes: HashMap<MessageId, String>,
}

impl Shelves {
    pub(super) fn of(
        store: &dyn Store,
        redactor: &Redactor<'_>,
        id: ConversationId,
        findings: &mut Findings,
    ) -> Result<Self> {
        let mut shelves = Self::default();
        shelves.take_texts(store, redactor, Some(id), Space::OpenTurn, findings)?;
        shelves.take_texts(store, redactor, Some(id), Space::State, findings)?;
        shelves.take_sources(store, redactor, id, findings)?;
        Ok(shelves)
    }

    pub(super) fn of_nobody(
        store: &dyn Store,
        redactor: &Redactor<'_>,
        findings: &mut Findings,
    ) -> Result<Self> {
        let mut shelves = Self::default();
        shelves.take_texts(store, redactor, None, Space::State, findings)?;
        Ok(shelves)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// The hash of what a message was read from, if that changes.
    pub(super) fn hash_of(&self, message: MessageId) -> Option<&str> {
        self.hashes.get(&message).map(String::as_str)
    }

    pub(super) fn puts(&self, owner: Option<ConversationId>) -> Vec<Put<'_>> {
        self.changed
            .iter()
            .map(|(space, name, bytes)| Put { space: *space, owner, name, bytes: bytes.as_deref() })
            .collect()
    }

    /// Blobs that are text. What is none is a key or a number.
    fn take_texts(
        &mut self,
        store: &dyn Store,
        redactor: &Redactor<'_>,
        owner: Option<ConversationId>,
        space: Space,
        findings: &mut Findings,
    ) -> Result<()> {
        let place = if space == Space::OpenTurn { ScrubPlace::OpenTurn } else { ScrubPlace::State };
        store.get(space, owner, Named::ALL, &mut |name, bytes| {
            let mut tally = Tally::default();
            let text = str::from_utf8(bytes).ok().filter(|_| name != KEY_NAME && !name.starts_with(CARDS));
            if let Some(clean) = text.and_then(|text| redactor.line(text, &mut tally)) {
                findings.add(place, None, &tally);
                self.changed.push((space, name.to_vec(), Some(clean.into_bytes())));
            }
            Ok(())
        })
    }

    fn take_sources(
        &mut self,
        store: &dyn Store,
        redactor: &Redactor<'_>,
        id: ConversationId,
        findings: &mut Findings,
    ) -> Result<()> {
        store.get(Space::Source, Some(id), Named::ALL, &mut |name, packed| {
            let mut tally = Tally::default();
            let Some(clean) = redactor.line(&unpack(packed)?, &mut tally) else { return Ok(()) };
            let hash = source_hash(&clean);
            let text = str::from_utf8(name).map_err(|cause| Error::corrupt("read a name").because(cause))?;
            let message: Option<MessageId> = text.parse().ok();
            findings.add(ScrubPlace::Source, message, &tally);
            let packed = Some(Packer::default().pack(&clean)?);
            match message {
                Some(message) => {
                    self.hashes.insert(message, hash);
                    self.changed.push((Space::Source, name.to_vec(), packed));
                }
                None => {
                    // Its name has a hash of what it said.
                    self.changed.push((Space::Source, name.to_vec(), None));
                    self.changed.push((Space::Source, renamed(text, &hash).into_bytes(), packed));
                }
            }
            Ok(())
        })
    }
}

/// The name of a line that is no message: its number in the source, and the hash of what is kept.
fn renamed(name: &str, hash: &str) -> String {
    let number = name.strip_prefix(LINE).and_then(|rest| rest.split(':').next()).unwrap_or("0");
    format!("{LINE}{number}:{hash}")
}
