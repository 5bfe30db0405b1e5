//! A storage service for conversations, as programs know it that kept one blob
//! for each: records and snapshots.
//!
//! It is a thin front of an [`Archive`]. A record is a conversation and its frames are messages, so whatever
//! else is done with the store sees them too. Nothing is written that an archive would not write.
//!
//! ```
//! use rejoin::service::{ConversationRecordInput, ConversationStorageService, ListOptions};
//! use rejoin::{Archive, Time};
//!
//! let storage = ConversationStorageService::new(Archive::open("memory:")?);
//! let input: ConversationRecordInput = serde_json::from_str(r#"{
//!     "conversationId": "3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b",
//!     "title": "Debugging failing test",
//!     "createdAt": "2026-11-16T09:00:00Z",
//!     "participants": [{"id": "user-default", "role": "user", "displayName": "You"}],
//!     "messages": [{
//!         "frameId": "f1", "sequence": 1, "role": "user", "content": "Why is the build failing?",
//!         "createdAt": "2026-11-16T09:00:00Z",
//!         "privacy": {"containsSecrets": false, "redactionRulesApplied": []}
//!     }]
//! }"#).unwrap();
//!
//! let record = storage.create_record(&input)?; // on disk when this returns
//!
//! assert_eq!(storage.get_record(&record.conversation_id)?, Some(record));
//! assert_eq!(storage.list_records(&ListOptions::default())?.items[0].title, "Debugging failing test");
//! # Ok::<(), rejoin::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/service.md")]
struct ServicePage;

mod input;
mod list;
mod purge;
mod repack;
mod snapshot;
mod waiting;
mod write;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use input::{ConversationRecordInput, ConversationRecordMutation, PartialMetrics, PartialRetention};
pub use list::{ConversationRecordSummary, ListOptions, ListResult};
pub use purge::{PurgeFailure, PurgeReport};
pub use snapshot::RecoverySnapshot;

use crate::archive::{Archive, Clock, Events, Retention, Strain};
use crate::error::{ErrorKind, Result};
pub use crate::formats::agent_voice::schema::{
    AttachmentRef, AudioArtifactRef, ConversationMetrics, ConversationRecord, ConversationSummary,
    FramePrivacy, MessageFrame, ParticipantRef, PrivacyEnvelope, RetentionInfo, StorageEnvelope,
};
pub use crate::formats::agent_voice::string_enum::{
    AttachmentType, AudioFormat, Classification, ParticipantRole, RetentionPolicy,
};
use crate::formats::agent_voice::{frame, record};
use crate::model::{ConversationId, Hold, StoredConversation, StoredMessage, Time};
use crate::store::REPACK_EVERY;
use waiting::WaitingWrites;

/// Records are kept so long unless another retention is set.
const DAYS: u32 = 30;

/// Keeps records of conversations in an archive.
pub struct ConversationStorageService {
    /// None while it cannot be opened again.
    archive: Mutex<Option<Archive>>,
    clock: Clock,
    retention: Retention,
    /// After how many changes a record is repacked.
    repack_every: u32,
    waiting: Mutex<WaitingWrites>,
    /// Held by whoever makes a write that waited, or purges.
    making: Mutex<()>,
}

impl ConversationStorageService {
    /// A service over an archive, which keeps records for 30 days after somebody last spoke.
    pub fn new(archive: Archive) -> Self {
        let retention = Retention { days: Some(DAYS), ..Retention::FOREVER };
        let clock = archive.clock();
        Self {
            archive: Mutex::new(Some(archive)),
            clock,
            retention,
            repack_every: REPACK_EVERY,
            waiting: Mutex::default(),
            making: Mutex::default(),
        }
    }

    /// Sets how long records are kept that say nothing else.
    #[must_use]
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// The archive underneath, opened again if its store failed and somebody said how. It
    /// is an error while it cannot be opened.
    pub fn archive(&self) -> Result<Archive> {
        self.opened()
    }

    /// A record, if there is one of this id.
    ///
    /// One that cannot be read is corrupt. In a vault a copy of what does not open is in quarantine then,
    /// and every other record stays readable.
    pub fn get_record(&self, conversation_id: &str) -> Result<Option<ConversationRecord>> {
        match self.read(conversation_id.parse()?) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            record => record.map(Some),
        }
    }

    /// Follows what happens from now on, here and in other processes: `conversationStored`,
    /// `conversationDeleted`, `privacy.purge.completed` and the rest.
    pub fn subscribe(&self) -> Result<Events> {
        self.opened()?.subscribe()
    }

    /// Signs that the store is under strain, such as a write that took more than 150 ms or a disk
    /// that is full, since this was last asked.
    pub fn take_strains(&self) -> Vec<Strain> {
        self.waiting().strains.take()
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingWrites> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, id: ConversationId) -> Result<ConversationRecord> {
        let archive = self.opened()?;
        // The version is looked at before the messages: what is said meanwhile
        // makes it too old, never too new.
        let stored = archive.conversation(id)?;
        let path = archive.bare_path(id)?;
        let around = record::StoredContext {
            id: id.to_string(),
            created_at: stored.created_at,
            last_interaction_at: stored.last_active_at,
            expires_at: self.expires_at(&stored),
            counted: record::counted(path.iter().map(|found| found.message.role)),
        };
        let mut record = record::of_header(&stored.conversation, around, frames(&path, stored.created_at));
        stored.title().clone_into(&mut record.title);
        record.storage = StorageEnvelope {
            blob_uri: format!("rejoin:{id}"),
            blob_version: blob_version(&stored),
            size_bytes: stored.bytes,
            checksum: stored.head.map(|head| head.digest.to_string()).unwrap_or_default(),
            last_compacted_at: repack::repacked_at(&archive, id)?,
        };
        Ok(record)
    }

    /// When a record expires by the policy, if nobody held it.
    fn expires_at(&self, stored: &StoredConversation) -> Option<Time> {
        let mut released = stored.clone();
        released.conversation.hold = Hold::None;
        self.retention.expires_at(&released)
    }
}

/// The version of a record: it grows with each change of the header and with
/// each message, and when messages go.
const fn blob_version(stored: &StoredConversation) -> u64 {
    stored.version + stored.messages
}

fn frames(path: &[StoredMessage], created_at: Time) -> Vec<MessageFrame> {
    let mut time = created_at;
    path.iter()
        .zip(1..)
        .map(|(stored, place)| {
            time = stored.message.created_at.unwrap_or(time);
            frame::of_message(&stored.message, stored.id.as_str(), place, time)
        })
        .collect()
}

impl fmt::Debug for ConversationStorageService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationStorageService")
            .field("archive", &self.archive)
            .field("retention", &self.retention)
            .field("waiting", &self.waiting_writes())
            .finish_non_exhaustive()
    }
}
