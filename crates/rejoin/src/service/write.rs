//! Creating and changing records, and what a session leaves when it ends.

use std::collections::HashSet;

use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::agent_voice::{frame, record};
use crate::model::{Conversation, ConversationId, Message, Metrics, StoredConversation, StoredMessage};
use crate::service::input::{check_frames, count, messages};
use crate::service::waiting::PendingWrite;
use crate::service::{
    ConversationRecord, ConversationRecordInput, ConversationRecordMutation, ConversationStorageService,
    MessageFrame, blob_version, snapshot,
};

/// How often a change is tried when others are faster.
const ATTEMPTS: usize = 10;

/// How many bytes a record can have, without the chunks of its attachments.
const RECORD_BYTES: u64 = 10_000_000;

impl ConversationStorageService {
    /// Stores a record, in one write. It is on disk when this returns. An id that is taken is a conflict.
    ///
    /// On a full disk the error says so, and the record waits: see [`ConversationStorageService::retry`].
    pub fn create_record(&self, record: &ConversationRecordInput) -> Result<ConversationRecord> {
        let id = record.conversation_id.parse()?;
        self.write(id, || PendingWrite::Create(record.clone()), |archive| begin(archive, id, record))?;
        self.read(id)
    }

    /// Changes a record. A version that is no longer the record's is a conflict:
    /// nothing is stored, and nothing is lost.
    ///
    /// Without a version, what was said is added after whatever is there. Frames
    /// come first, as one turn, then the rest.
    pub fn update_record(
        &self,
        conversation_id: &str,
        mutation: &ConversationRecordMutation,
    ) -> Result<ConversationRecord> {
        let id = conversation_id.parse()?;
        self.write(
            id,
            || PendingWrite::Change(id, mutation.clone()),
            |archive| change(archive, id, mutation, &|_| ()),
        )?;
        self.repack_if_due(id);
        self.read(id)
    }

    /// Stores the final record of a session and takes its snapshot away. What the store has already is not
    /// stored again, so whoever was interrupted calls it again.
    pub fn commit_conversation(&self, record: &ConversationRecordInput) -> Result<ConversationRecord> {
        let id = record.conversation_id.parse()?;
        let later = || {
            // What cannot be looked at is not taken away later.
            let seen = self.opened().and_then(|archive| snapshot::digest(&archive, id)).unwrap_or_default();
            PendingWrite::Commit(record.clone(), seen)
        };
        self.write(id, later, |archive| commit(archive, id, record))?;
        snapshot::forget(&self.opened()?, id)?;
        self.repack_if_due(id);
        self.read(id)
    }
}

fn begin(archive: &Archive, id: ConversationId, record: &ConversationRecordInput) -> Result<()> {
    check_frames(&record.messages)?;
    let given = messages(&record.messages, 0);
    let mut header = record.header()?;
    // The rule of a vault is a default for those who say nothing, and a record that brings its privacy says
    // whether it may leave, as `rejoin keep ID --exportable yes` does: whoever sent it decided, and what was
    // decided must not change on the way from one store to another. docs/service.md promises it.
    if record.privacy.is_none() {
        archive.store().capabilities().restrict(&mut header);
    }
    check_size(&header, given.iter()).map_err(|error| error.during(format!("create record `{id}`")))?;
    let begun = archive.begin(id, &header, record.created_at, given);
    begun.map_err(|error| error.during(format!("create record `{id}`")))
}

/// Stores a record that is new, unless that was done before.
pub(super) fn create(archive: &Archive, id: ConversationId, record: &ConversationRecordInput) -> Result<()> {
    match begin(archive, id, record) {
        Err(error) if error.kind() == ErrorKind::Conflict && is_same(archive, id, record)? => Ok(()),
        other => other,
    }
}

/// True when the record of this id is the given one, whatever was said after it.
fn is_same(archive: &Archive, id: ConversationId, record: &ConversationRecordInput) -> Result<bool> {
    let path = archive.bare_path(id)?;
    let stored = path.iter().map(|stored| frame::frame_id(&stored.message)).take(record.messages.len());
    let given = record.messages.iter().map(|given| Some(given.frame_id.clone()));
    Ok(archive.conversation(id)?.created_at == record.created_at && stored.eq(given))
}

/// Makes the store have a record, whatever it has of it.
pub(super) fn commit(archive: &Archive, id: ConversationId, record: &ConversationRecordInput) -> Result<()> {
    match archive.conversation(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => begin(archive, id, record),
        Err(error) => Err(error),
        Ok(_) => change(archive, id, &record.as_mutation(), &|header| record.complete(header)),
    }
}

/// Changes a record, and `also` its header, again if another writer was faster
/// and the caller named no version.
pub(super) fn change(
    archive: &Archive,
    id: ConversationId,
    mutation: &ConversationRecordMutation,
    also: &dyn Fn(&mut Conversation),
) -> Result<()> {
    mutation.check()?;
    for _ in 0..ATTEMPTS {
        match change_once(archive, id, mutation, also) {
            Err(error) if error.kind() == ErrorKind::Conflict && mutation.blob_version.is_none() => {}
            other => return other.map_err(|error| error.during(format!("update record `{id}`"))),
        }
    }
    Err(Error::conflict(format!("record `{id}` keeps changing; try again")))
}

fn change_once(
    archive: &Archive,
    id: ConversationId,
    mutation: &ConversationRecordMutation,
    also: &dyn Fn(&mut Conversation),
) -> Result<()> {
    let stored = archive.conversation(id)?;
    let version = blob_version(&stored);
    if let Some(expected) = mutation.blob_version.filter(|expected| *expected != version) {
        return Err(Error::conflict(format!(
            "the record is of version `{version}`, not `{expected}`: read it again"
        )));
    }
    mutation.check_retention(&stored.conversation)?;
    if mutation.changes_header() {
        // Before the frames are stored, which cannot be taken back.
        let (mut header, none) = (stored.conversation.clone(), Metrics::default());
        mutation.apply(&mut header, &none, &none);
        also(&mut header);
        archive.check_header(&header)?;
    }
    let added = append(archive, &stored, &mutation.append_messages)?;
    let said = record::counted(added.iter().map(|frame| frame.role));
    let counts = stored.conversation.metrics.is_some() && !added.is_empty();
    if !mutation.changes_header() && !counts {
        return Ok(());
    }
    let path = archive.bare_path(id)?;
    let all = record::counted(path.iter().map(|stored| stored.message.role));
    let change = |header: &mut Conversation| {
        mutation.apply(header, &said, &all);
        also(header);
    };
    if mutation.blob_version.is_none() || !mutation.changes_header() {
        return archive.update(id, change).map(drop);
    }
    match archive.update_version(id, stored.version, change) {
        // What was said is stored. The rest stays as somebody else made it
        // meanwhile, but for who spoke how often.
        Err(error) if error.kind() == ErrorKind::Conflict && !added.is_empty() => {
            if counts {
                archive.update(id, |header| count(header, &said))?;
            }
            Err(error.during("the frames are stored and the rest is not: read the record again"))
        }
        other => other,
    }
}

/// Appends the frames that are not there yet, and returns them. A head that moved meanwhile is a conflict.
fn append<'f>(
    archive: &Archive,
    stored: &StoredConversation,
    frames: &'f [MessageFrame],
) -> Result<Vec<&'f MessageFrame>> {
    if frames.is_empty() {
        return Ok(Vec::new());
    }
    let mut handle = archive.resume(stored.id)?;
    if handle.head() != stored.head.map(|head| head.id) {
        return Err(Error::conflict("messages were added in the meantime"));
    }
    let path = archive.bare_path(stored.id)?;
    // What others said in the conversation is given as frames with the ids of their messages.
    let id_of = |stored: &StoredMessage| {
        frame::frame_id(&stored.message).unwrap_or_else(|| stored.id.as_str().to_owned())
    };
    let known: HashSet<String> = path.iter().map(id_of).collect();
    let added: Vec<&MessageFrame> = frames.iter().filter(|frame| !known.contains(&frame.frame_id)).collect();
    if !added.is_empty() {
        let given = messages(added.iter().copied(), path.len() as u64);
        let said = path.iter().map(|stored| &stored.message);
        check_size(&stored.conversation, said.chain(&given))?;
        handle.append_linear(given)?;
    }
    Ok(added)
}

/// Refuses a record that would be too large. What was said is counted, not what a store makes of it:
/// a vault in plain files takes a third more.
fn check_size<'m>(header: &Conversation, messages: impl Iterator<Item = &'m Message>) -> Result<()> {
    let size = |bytes: serde_json::Result<Vec<u8>>| bytes.expect("it is plain data").len() as u64;
    let said: u64 = messages.map(|message| size(serde_json::to_vec(message))).sum();
    let bytes = said + size(serde_json::to_vec(header));
    if bytes > RECORD_BYTES {
        return Err(Error::invalid(format!("the record would have {bytes} bytes, more than {RECORD_BYTES}")));
    }
    Ok(())
}
