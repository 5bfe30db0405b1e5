//! Repacking: after so many updates of a record, what earlier ones said is gone from the files of the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Json, Time};
use crate::service::{ConversationStorageService, blob_version};
use crate::store::Task;

/// What it is remembered under.
const NAME: &str = "service.repacked";

/// How long a repack may take.
const BUDGET: Duration = Duration::from_secs(1);

/// From where updates are counted.
#[derive(Serialize, Deserialize)]
struct RepackMark {
    /// When the record was last repacked; none when it never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
    /// The version it had.
    version: u64,
}

impl ConversationStorageService {
    /// Sets after how many changes a record is repacked: five unless it is set, and 0 means never. Each frame
    /// counts, and each update of what else is known.
    #[must_use]
    pub const fn with_repack_every(mut self, updates: u32) -> Self {
        self.repack_every = updates;
        self
    }

    /// Repacks a record that was updated often enough since. What was stored is stored, so
    /// a failure waits for the next update.
    pub(super) fn repack_if_due(&self, id: ConversationId) {
        let tried = self.opened().and_then(|archive| repack_if_due(&archive, id, self.repack_every));
        if let Err(error) = tried {
            tracing::warn!(record = %id, kind = error.kind().as_str(), "a record was not repacked");
        }
    }
}

fn repack_if_due(archive: &Archive, id: ConversationId, every: u32) -> Result<()> {
    if every == 0 {
        return Ok(());
    }
    let stored = archive.conversation(id)?;
    let version = blob_version(&stored);
    // A record is stored in one write, whatever it holds; what replaces
    // something first is where counting begins.
    if stored.version == 1 {
        return Ok(());
    }
    let Some(mark) = recalled(archive, id)? else {
        return remember(archive, id, &RepackMark { at: None, version: version - 1 });
    };
    // Where what is void is little beside the rest it stays, and nothing is claimed.
    if version >= mark.version + u64::from(every)
        && archive.maintenance().run(Task::RepackOne(id), BUDGET)? == 0
    {
        remember(archive, id, &RepackMark { at: Some(archive.now()), version })?;
    }
    Ok(())
}

/// When a record was last repacked.
pub(super) fn repacked_at(archive: &Archive, id: ConversationId) -> Result<Option<Time>> {
    match recalled(archive, id) {
        // The record is sound all the same.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        mark => Ok(mark?.and_then(|mark| mark.at)),
    }
}

fn recalled(archive: &Archive, id: ConversationId) -> Result<Option<RepackMark>> {
    let text = archive.state().recall_for(id, NAME)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn remember(archive: &Archive, id: ConversationId, mark: &RepackMark) -> Result<()> {
    archive.replace_for(id, NAME, Some(Json::of(mark)?.as_str()))
}
