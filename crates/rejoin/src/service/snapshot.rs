//! Snapshots: what a session has that is not in its record yet, kept so that a crash does not lose it.
//!
//! A snapshot belongs to its record and goes with it. It replaces itself, is synced, and is not history.

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::agent_voice::frame;
use crate::formats::agent_voice::schema::kept;
use crate::model::{ConversationId, Digest, Fields, Time};
use crate::service::input::check_frames;
use crate::service::{ConversationStorageService, MessageFrame};

/// What it is stored under.
const NAME: &str = "service.snapshot";

/// The version of what is written; a greater one is not read.
const VERSION: u32 = 1;

/// What a session has that is not in its record yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoverySnapshot {
    /// The record it belongs to.
    pub conversation_id: String,
    /// When it was taken.
    pub saved_at: Time,
    /// What was said since the record was stored.
    #[serde(default)]
    pub messages: Vec<MessageFrame>,
    /// Whatever else the session needs to go on.
    #[serde(flatten, deserialize_with = "kept")]
    pub extra: Fields,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
struct StoredSnapshot<S> {
    version: u32,
    snapshot: S,
}

#[derive(Deserialize)]
struct SnapshotVersion {
    version: u32,
}

impl ConversationStorageService {
    /// Stores a snapshot in place of the one before. It is on disk when this returns. A record must be there.
    ///
    /// What does not read back as it was written is written once more, then taken away and made again.
    pub fn commit_snapshot(&self, snapshot: &RecoverySnapshot) -> Result<()> {
        let id = snapshot.conversation_id.parse()?;
        check_frames(&snapshot.messages)?;
        let archive = self.opened()?;
        archive.conversation(id)?;
        let stored = StoredSnapshot { version: VERSION, snapshot: redacted(&archive, snapshot) };
        let text = serde_json::to_string(&stored).expect("a snapshot is plain data");
        archive.limits().check_turn(text.len() as u64)?;
        let written = put(&archive, id, &text);
        written.map_err(|error| {
            self.note_failure(&error);
            error.during(format!("store the snapshot of record `{id}`"))
        })
    }

    /// The snapshot of a record, if its session left one.
    ///
    /// One that cannot be read is looked at once more. Then it is made again from the record: it says that
    /// nothing is known but what is stored.
    pub fn get_snapshot(&self, conversation_id: &str) -> Result<Option<RecoverySnapshot>> {
        let id: ConversationId = conversation_id.parse()?;
        let archive = self.opened()?;
        match read(&archive, id).or_else(|error| if_torn(error, || read(&archive, id))) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                tracing::warn!(conversation = %id, ?error, "a snapshot cannot be read");
                let saved_at = archive.conversation(id)?.last_active_at;
                let conversation_id = id.to_string();
                Ok(Some(RecoverySnapshot { conversation_id, saved_at, ..RecoverySnapshot::default() }))
            }
            other => other,
        }
    }
}

/// Takes the snapshot of a record away.
pub(super) fn forget(archive: &Archive, id: ConversationId) -> Result<()> {
    archive.replace_for(id, NAME, None)
}

/// What the snapshot of a record is known again by; none when there is none.
pub(super) fn digest(archive: &Archive, id: ConversationId) -> Result<Option<Digest>> {
    let text = archive.state().recall_for(id, NAME)?;
    Ok(text.map(|text| Digest::chain(None, text.as_bytes())))
}

/// The same without what must not be stored.
fn redacted(archive: &Archive, snapshot: &RecoverySnapshot) -> RecoverySnapshot {
    let clean = |given: &MessageFrame| {
        let message = frame::to_message(given, given.sequence);
        match archive.redaction().apply(&message) {
            Some(clean) => frame::of_message(&clean, &given.frame_id, given.sequence, given.created_at),
            None => given.clone(),
        }
    };
    let messages = snapshot.messages.iter().map(clean).collect();
    RecoverySnapshot { messages, ..snapshot.clone() }
}

fn put(archive: &Archive, id: ConversationId, text: &str) -> Result<()> {
    let written = || archive.replace_for(id, NAME, Some(text)).and_then(|()| read(archive, id)).map(drop);
    written().or_else(|error| if_torn(error, written)).or_else(|error| {
        if_torn(error, || {
            forget(archive, id)?;
            written()
        })
    })
}

/// Does something after an error that says that bytes are not what was written.
fn if_torn<T>(error: Error, then: impl FnOnce() -> Result<T>) -> Result<T> {
    if error.kind() == ErrorKind::Corrupt { then() } else { Err(error) }
}

fn read(archive: &Archive, id: ConversationId) -> Result<Option<RecoverySnapshot>> {
    let Some(text) = archive.state().recall_for(id, NAME)? else { return Ok(None) };
    let corrupt = |cause| Error::corrupt("read a snapshot").because(cause);
    let SnapshotVersion { version } = serde_json::from_str(&text).map_err(corrupt)?;
    if version > VERSION {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the snapshot has version `{version}`, this program reads up to `{VERSION}`"),
        ));
    }
    let StoredSnapshot { snapshot, .. } = serde_json::from_str(&text).map_err(corrupt)?;
    Ok(Some(snapshot))
}
