//! Working where the disk has hardly any room.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::{Connection, Transaction, params};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::backend::Trim;
use crate::store::sqlite::checkpoint::begin_again;
use crate::store::sqlite::fault::{DuringSql, full};
use crate::store::sqlite::open::{ConnectionUse, set_synchronous};
use crate::store::sqlite::{Sqlite, rows};
use crate::store::{durable, place, reserve};

/// Ends the name of the file that holds the reserve.
pub(super) const RESERVE: &str = "-reserve";

/// A page of memory: SQLite allocates one byte of each in the shared index, and with it one block.
const MEMORY_PAGE: u64 = 4096;

/// So much is removed at once where there is no room for more: with what it
/// touches beside, an eighth of the reserve.
const PIECE: u64 = reserve::BYTES / 8;

/// Has every block of the shared index allocated before it is written to.
///
/// Where a block is smaller than a page of memory, SQLite leaves holes in the file. A hole that
/// is written to on a full disk ends the process. The first commit to a log writes to all of
/// it, so one is made while there is room.
pub(super) fn fill_index(connection: &Connection, path: &Path, usage: ConnectionUse) -> Result<()> {
    let directory = durable::directory_of(path);
    if place::block_bytes(directory).is_ok_and(|block| block >= MEMORY_PAGE) || !has_holes(path) {
        return Ok(());
    }
    if place::is_full(directory) {
        return Err(Error::new(ErrorKind::Unavailable, "share the index of the log").because(full()));
    }
    // Nothing is said by this commit, so it need not be synced.
    set_synchronous(connection, ConnectionUse::Unsynced)?;
    begin_again(connection)?;
    set_synchronous(connection, usage)
}

fn has_holes(path: &Path) -> bool {
    let index = durable::beside(path, "-shm").metadata();
    index.is_ok_and(|index| index.blocks() * 512 < index.len())
}

impl Sqlite {
    /// Has a conversation's messages removed, newest first, and removes its large blobs, until what
    /// is left of it can be removed at once.
    ///
    /// What is removed is overwritten, and stands in the log until then: that takes as
    /// much room as the conversation. Where there is none, it goes in pieces. One that is
    /// cut off leaves a shorter conversation.
    pub(super) fn shrink_to_fit(&self, id: ConversationId, trim: &mut Trim<'_>) -> Result<()> {
        let directory = durable::directory_of(&self.path);
        let Ok(free) = place::free_bytes(directory) else { return Ok(()) };
        let held = self.reading(|connection| held(connection, id))?;
        if held <= PIECE || held.saturating_mul(2) + reserve::BYTES <= free {
            return Ok(());
        }
        while self.remove_piece(id, trim)? {
            self.cut_log()?;
        }
        Ok(())
    }

    /// Removes as much as fits; false when nothing was left to remove.
    fn remove_piece(&self, id: ConversationId, trim: &mut Trim<'_>) -> Result<bool> {
        let ids = self.reading(|connection| last_messages(connection, id))?;
        if !ids.is_empty() {
            return trim(&ids).map(|()| true);
        }
        self.writing("remove", ConnectionUse::Synced, |transaction| disown_piece(transaction, id))
    }
}

const ATTEMPT: &str = "measure a conversation";

/// The bytes of all that a conversation owns.
fn held(connection: &Connection, id: ConversationId) -> Result<u64> {
    let bytes: i64 = connection
        .query_row(
            "SELECT coalesce((SELECT bytes FROM conversation WHERE id = ?1), 0)
                  + coalesce((SELECT sum(length(bytes)) FROM blob WHERE owner = ?1), 0)",
            [id.as_bytes()],
            |row| row.get(0),
        )
        .during(ATTEMPT)?;
    Ok(bytes.unsigned_abs())
}

/// The newest messages of a conversation, as many as make a piece, and one at least.
fn last_messages(connection: &Connection, id: ConversationId) -> Result<Vec<MessageId>> {
    let mut statement = connection
        .prepare(
            "SELECT id, octet_length(body) FROM message
             WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC",
        )
        .during(ATTEMPT)?;
    let n: Option<i64> = connection
        .query_row("SELECT max(n) FROM conversation WHERE id = ?1", [id.as_bytes()], |row| row.get(0))
        .during(ATTEMPT)?;
    let Some(n) = n else { return Ok(Vec::new()) };
    let mut rows = statement.query(rows::range(n)).during(ATTEMPT)?;
    let (mut ids, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let (id, length): (String, i64) = (|| Ok((row.get(0)?, row.get(1)?)))().during(ATTEMPT)?;
        bytes += length.unsigned_abs();
        if bytes > PIECE && !ids.is_empty() {
            break;
        }
        ids.push(id.parse()?);
    }
    Ok(ids)
}

/// Removes one blob of a conversation, the largest; false when it has none that
/// is worth a transaction of its own.
fn disown_piece(transaction: &Transaction<'_>, id: ConversationId) -> Result<bool> {
    let removed = transaction
        .execute(
            "DELETE FROM blob WHERE (space, owner, name) IN
                 (SELECT space, owner, name FROM blob WHERE owner = ?1 AND length(bytes) > ?2
                  ORDER BY length(bytes) DESC LIMIT 1)",
            params![id.as_bytes(), (PIECE / 8).cast_signed()],
        )
        .during("remove blobs")?;
    Ok(removed > 0)
}
