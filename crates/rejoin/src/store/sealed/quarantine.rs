//! Quarantine: a record that does not open is copied with the reason, told to
//! those who follow, and stays where it is.
//!
//! What is damaged may still be repaired by somebody who has another copy. So the copy outlives
//! whatever happens to the original, until whoever decides about it erases the copy. Then the original
//! goes too, where it was changed or cut since it was sealed, and is still the same. A record whose key
//! is missing may open again one day; one that names a key which its owner never had does not. What
//! belongs to a conversation goes with it.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::sealed::keys::encoding::from_text;
use crate::store::sealed::keys::envelope::{Broken, key_of};
use crate::store::sealed::keys::key::KeyId;
use crate::store::sealed::keys::key_cache::KeyCache;
use crate::store::sealed::{QUARANTINE, Sealed};
use crate::store::{BlobNames, Keeper, Put, Safety, Space, put_notice};

/// How many copies are made while a store is open. Where more is damaged, the
/// whole store has to be copied by hand.
const MOST: u32 = 1_000;

/// A record that does not open.
pub(crate) struct BrokenRecord {
    /// What it is: `message`, `header`, `note`.
    pub(crate) what: &'static str,
    /// The space of a blob.
    pub(crate) space: Option<Space>,
    /// The inner name of the conversation.
    pub(crate) inner: Option<ConversationId>,
    /// Its own inner name, where it has one.
    pub(crate) name: String,
    /// The sealed bytes, as text.
    pub(crate) sealed: String,
    pub(crate) why: Broken,
}

/// A record in quarantine, as it is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct QuarantinedRecord {
    pub(crate) at: Time,
    pub(crate) what: String,
    pub(crate) why: String,
    /// True when nothing will ever open it.
    pub(crate) is_lost: bool,
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) inner_conversation: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<i64>,
    pub(crate) inner_name: String,
    pub(crate) record: String,
}

/// What those who follow the events are told of a record.
#[derive(Serialize)]
#[serde(tag = "event", rename = "record.quarantined")]
struct QuarantineNotice<'a> {
    what: &'a str,
    reason: &'a str,
}

impl QuarantinedRecord {
    fn of(record: &BrokenRecord, conversation: Option<ConversationId>, key_cache: &KeyCache) -> Self {
        let can_go = matches!(record.what, "message" | "note" | "blob" | "header");
        let is_damaged = match record.why {
            Broken::Seal | Broken::Shape => true,
            Broken::Key(id) => key_cache.lacks_key(record.inner, id),
            Broken::Inside | Broken::Numbers | Broken::Parent | Broken::NoKey | Broken::WrappedKey => false,
        };
        Self {
            at: Time::now(),
            what: record.what.to_owned(),
            why: record.why.to_string(),
            is_lost: can_go && is_damaged,
            conversation,
            inner_conversation: record.inner,
            space: record.space.map(Space::number),
            inner_name: record.name.clone(),
            record: record.sealed.clone(),
        }
    }

    /// The entry of the audit log that tells of it, as the archive reads it.
    fn to_audit(&self) -> serde_json::Value {
        let mut entry = serde_json::json!({
            "version": 1,
            "at": self.at,
            "action": "quarantined",
            "reason": "corruption-detected",
            "bytes": self.record.len(),
            "extra": { "record": self.what },
        });
        if let Some(conversation) = self.conversation {
            entry["conversation"] = serde_json::json!(conversation);
            entry["conversations"] = serde_json::json!(1);
        }
        if self.what == "message" {
            entry["messages"] = serde_json::json!(1);
        }
        entry
    }

    /// The key it named, where that was why it did not open. Whoever wrote it
    /// may have put the key back since.
    pub(crate) fn unknown_key(&self) -> Option<KeyId> {
        let id = from_text(&self.record).and_then(|envelope| key_of(&envelope)).ok()?;
        (self.why == Broken::Key(id).to_string()).then_some(id)
    }
}

impl Sealed {
    /// Notes a record, to be copied to quarantine when nothing is being read or written.
    pub(crate) fn quarantine(&self, record: BrokenRecord) {
        self.lost().push(record);
    }

    /// Copies what was noted.
    pub(crate) fn settle_lost(&self) {
        let lost = std::mem::take(&mut *self.lost());
        lost.iter().for_each(|record| self.copy(record));
    }

    fn lost(&self) -> MutexGuard<'_, Vec<BrokenRecord>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies a record to quarantine, once. A store that takes no copy does not make the matter worse.
    fn copy(&self, record: &BrokenRecord) {
        let conversation = record.inner.and_then(|inner| self.outer_name(inner));
        let name = Sha256::new()
            .chain_update(record.what)
            .chain_update(record.inner.map_or([0; 16], |inner| *inner.as_bytes()))
            .chain_update(&record.name)
            .chain_update(&record.sealed)
            .finalize();
        let mut is_there = false;
        let looked = self.get(QUARANTINE, None, BlobNames::One(&name), &mut |_, _| {
            is_there = true;
            Ok(())
        });
        // A record that was copied before is not counted again, however often it is read.
        if is_there || looked.is_err() || self.quarantined.fetch_add(1, Ordering::Relaxed) >= MOST {
            return;
        }
        let kept = QuarantinedRecord::of(record, conversation, &self.key_cache);
        let text = serde_json::to_vec(&kept).expect("what is kept is plain");
        let audit = serde_json::to_vec(&kept.to_audit()).expect("an audit entry is plain");
        let mut audit_name = kept.at.as_micros().max(0).to_be_bytes().to_vec();
        audit_name.extend_from_slice(&name[..8]);
        let puts = [
            Put { space: QUARANTINE, owner: None, name: &name, bytes: Some(&text) },
            Put { space: Space::Audit, owner: None, name: &audit_name, bytes: Some(&audit) },
        ];
        if let Err(error) = self.put(&puts, Safety::Synced) {
            tracing::warn!(%error, "a record that does not open could not be copied");
            return;
        }
        let told = QuarantineNotice { what: &kept.what, reason: &kept.why };
        let log = self.inner.as_ref();
        if let Err(error) =
            put_notice(&Keeper::over(self), log, kept.at, conversation, &told, Safety::Unsynced)
        {
            tracing::warn!(%error, "a record that does not open could not be told");
        }
    }

    /// The messages of which there are copies, by inner names.
    pub(crate) fn quarantined_messages(&self) -> Result<Vec<(ConversationId, MessageId)>> {
        let mut found = Vec::new();
        self.each_kept(&mut |_, kept| {
            let message = (kept.what == "message").then(|| kept.inner_name.parse().ok()).flatten();
            found.extend(kept.inner_conversation.zip(message));
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Shows every copy with its name. One that is damaged itself tells nothing.
    pub(crate) fn each_kept(&self, visit: &mut dyn FnMut(&[u8], QuarantinedRecord)) -> Result<()> {
        let looked = self.get(QUARANTINE, None, BlobNames::ALL, &mut |name, bytes| {
            match serde_json::from_slice(bytes) {
                Ok(kept) => visit(name, kept),
                Err(cause) => tracing::warn!(%cause, "a record in quarantine cannot be read"),
            }
            Ok(())
        });
        match looked {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(%error, "a record in quarantine does not decrypt");
                Ok(())
            }
            other => other,
        }
    }

    /// Erases the copies of what belonged to conversations that are gone, which
    /// are named by their inner names.
    pub(crate) fn forget_quarantined(&self, gone: &[ConversationId]) -> Result<()> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        self.each_kept(&mut |name, kept| {
            if kept.inner_conversation.is_some_and(|inner| gone.contains(&inner)) {
                names.push(name.to_vec());
            }
        })?;
        let erased = |name| Put { space: QUARANTINE, owner: None, name, bytes: None };
        let puts: Vec<Put<'_>> = names.iter().map(|name| erased(name.as_slice())).collect();
        if puts.is_empty() { Ok(()) } else { self.put(&puts, Safety::Synced) }
    }
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes().chunks(2);
    bytes.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
