//! What belongs to a conversation beside its messages: replies that were not finished, what imported messages
//! were read from, and what programs remember.
//!
//! How imports looked, keys and the audit log hold no text that anybody wrote.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Fields, Json, MessageId};
use crate::ops::attachment::CARDS;
use crate::ops::redact::{KEY_NAME, RedactionTally, Redactor};
use crate::ops::scrub::{ScrubFindings, ScrubPlace};
use crate::ops::sources::{Packer, source_hash, unpack};
use crate::store::{BlobNames, Put, Space, Store};

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
        findings: &mut ScrubFindings,
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
        findings: &mut ScrubFindings,
    ) -> Result<Self> {
        let mut shelves = Self::default();
        shelves.take_texts(store, redactor, None, Space::State, findings)?;
        shelves.take_projects(store, redactor, findings)?;
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
        findings: &mut ScrubFindings,
    ) -> Result<()> {
        let place = if space == Space::OpenTurn { ScrubPlace::OpenTurn } else { ScrubPlace::State };
        let there = names(store, space, owner)?;
        store.get(space, owner, BlobNames::ALL, &mut |name, bytes| {
            let mut tally = RedactionTally::default();
            let text = str::from_utf8(bytes).ok().filter(|_| name != KEY_NAME && !name.starts_with(CARDS));
            let clean = text.and_then(|text| redactor.line(text, &mut tally));
            // A name may have the path of a project in it.
            let clean_name = str::from_utf8(name).ok().and_then(|name| redactor.name(name, &mut tally));
            if clean.is_some() || clean_name.is_some() {
                findings.add(place, None, &tally);
                let bytes = clean.map_or_else(|| bytes.to_vec(), String::into_bytes);
                self.rename(space, name, clean_name, bytes, &there);
            }
            Ok(())
        })
    }

    /// Projects whose path holds a secret: what they are stored under, and what is stored.
    fn take_projects(
        &mut self,
        store: &dyn Store,
        redactor: &Redactor<'_>,
        findings: &mut ScrubFindings,
    ) -> Result<()> {
        let there = names(store, Space::Project, None)?;
        store.get(Space::Project, None, BlobNames::ALL, &mut |name, bytes| {
            let mut tally = RedactionTally::default();
            let clean_name = str::from_utf8(name).ok().and_then(|name| redactor.name(name, &mut tally));
            let clean = serde_json::from_slice(bytes).ok().and_then(|mut fields: Fields| {
                let mut has_changed = false;
                for field in ["key", "path"] {
                    let text = fields.field(field).and_then(|text| text.to::<String>().ok());
                    if let Some(clean) = text.and_then(|text| redactor.name(&text, &mut tally)) {
                        fields.set(field, Json::of(&clean).expect("a text is JSON"));
                        has_changed = true;
                    }
                }
                has_changed.then(|| serde_json::to_vec(&fields).expect("fields are JSON"))
            });
            if clean.is_some() || clean_name.is_some() {
                findings.add(ScrubPlace::Project, None, &tally);
                let bytes = clean.unwrap_or_else(|| bytes.to_vec());
                self.rename(Space::Project, name, clean_name, bytes, &there);
            }
            Ok(())
        })
    }

    /// Stores bytes under a name from now on, or under another one, unless that has some: those are newer.
    fn rename(
        &mut self,
        space: Space,
        name: &[u8],
        clean_name: Option<String>,
        bytes: Vec<u8>,
        there: &HashSet<Vec<u8>>,
    ) {
        let Some(clean) = clean_name.map(String::into_bytes) else {
            self.changed.push((space, name.to_vec(), Some(bytes)));
            return;
        };
        self.changed.push((space, name.to_vec(), None));
        if !there.contains(&clean) {
            self.changed.push((space, clean, Some(bytes)));
        }
    }

    fn take_sources(
        &mut self,
        store: &dyn Store,
        redactor: &Redactor<'_>,
        id: ConversationId,
        findings: &mut ScrubFindings,
    ) -> Result<()> {
        store.get(Space::Source, Some(id), BlobNames::ALL, &mut |name, packed| {
            let mut tally = RedactionTally::default();
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

/// What blobs are stored under.
fn names(store: &dyn Store, space: Space, owner: Option<ConversationId>) -> Result<HashSet<Vec<u8>>> {
    let mut names = HashSet::new();
    store.get(space, owner, BlobNames::ALL, &mut |name, _| {
        names.insert(name.to_vec());
        Ok(())
    })?;
    Ok(names)
}

/// The name of a line that is no message: its number in the source, and the hash of what is kept.
fn renamed(name: &str, hash: &str) -> String {
    let number = name.strip_prefix(LINE).and_then(|rest| rest.split(':').next()).unwrap_or("0");
    format!("{LINE}{number}:{hash}")
}
