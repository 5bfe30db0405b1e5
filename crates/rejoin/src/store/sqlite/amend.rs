//! Changing what is known about a conversation, by compare and swap.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, Digest, Time};
use crate::store::sqlite::append::{PINNED, key};
use crate::store::sqlite::fault::During;
use crate::store::sqlite::read::seq_of;
use crate::store::sqlite::{change, index, unknown};
use crate::store::turn::left_behind;
use crate::store::{Change, Facets, Note, Rewritten, Tip, Version};

const ATTEMPT: &str = "change a conversation";

pub(super) fn amend(
    transaction: &Transaction<'_>,
    id: ConversationId,
    expected: Option<Version>,
    change: &Change<'_>,
    at: Time,
) -> Result<Version> {
    let (n, version): (i64, i64) = transaction
        .prepare_cached("SELECT n, version FROM conversation WHERE id = ?1")
        .during(ATTEMPT)?
        .query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .during(ATTEMPT)?
        .ok_or_else(|| unknown(id))?;
    let version = version.unsigned_abs();
    if expected.is_some_and(|expected| version != expected) {
        return Err(Error::conflict(format!("conversation `{id}` changed meanwhile")));
    }
    match change {
        Change::Header { facets, header } => set_header(transaction, n, facets, header)?,
        Change::Head(head) => {
            let seq = head.map(|head| seq_of(transaction, n, head)).transpose()?;
            run(transaction, "UPDATE conversation SET head = ?2 WHERE n = ?1", params![n, seq])?;
        }
        Change::Note(message, note) => {
            set_note(transaction, key(n, seq_of(transaction, n, *message)?), note)?;
        }
        Change::Branch(branch) => set_branch(transaction, n, version, branch)?,
        Change::Unbranch(branch) => {
            let gone =
                run(transaction, "DELETE FROM branch WHERE n = ?1 AND id = ?2", params![n, branch.as_str()])?;
            run(
                transaction,
                "UPDATE conversation SET branches = branches - ?2 WHERE n = ?1",
                params![n, gone as i64],
            )?;
        }
        Change::Rewrite { messages, tip } => rewrite(transaction, n, messages, tip)?,
    }
    run(transaction, "UPDATE conversation SET version = version + 1 WHERE n = ?1", params![n])?;
    change::changed(transaction, at, id, change)?;
    Ok(version + 1)
}

/// Returns how many rows changed.
fn run(transaction: &Transaction<'_>, sql: &str, values: impl rusqlite::Params) -> Result<usize> {
    transaction.prepare_cached(sql).during(ATTEMPT)?.execute(values).during(ATTEMPT)
}

fn set_header(transaction: &Transaction<'_>, n: i64, facets: &Facets, header: &str) -> Result<()> {
    run(
        transaction,
        "UPDATE conversation SET project = ?2, kind = ?3, slug = ?4, status = ?5, hold = ?6, expires = ?7, header = ?8
         WHERE n = ?1",
        params![
            n,
            facets.project,
            facets.kind,
            facets.slug,
            facets.status as i64,
            facets.hold as i64,
            facets.expires.map(|time| time.as_micros()),
            header,
        ],
    )?;
    Ok(())
}

fn set_note(transaction: &Transaction<'_>, key: i64, note: &Note<'_>) -> Result<()> {
    let pinned = if note.is_pinned { PINNED } else { 0 };
    run(
        transaction,
        "UPDATE message SET label = ?2, flags = (flags & ~1) | ?3 WHERE key = ?1",
        params![key, note.label, pinned],
    )?;
    Ok(())
}

/// Versions only grow, so a branch's place is the version it was made at.
fn set_branch(transaction: &Transaction<'_>, n: i64, version: Version, branch: &Branch) -> Result<()> {
    let head = seq_of(transaction, n, branch.head)?;
    let replace = "UPDATE branch SET title = ?3, head = ?4 WHERE n = ?1 AND id = ?2";
    if run(transaction, replace, params![n, branch.id.as_str(), branch.title, head])? > 0 {
        return Ok(());
    }
    run(
        transaction,
        "INSERT INTO branch (n, id, position, title, head) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![n, branch.id.as_str(), version.cast_signed(), branch.title, head],
    )?;
    run(transaction, "UPDATE conversation SET branches = branches + 1 WHERE n = ?1", params![n])?;
    Ok(())
}

fn rewrite(transaction: &Transaction<'_>, n: i64, messages: &[Rewritten<'_>], tip: &Tip<'_>) -> Result<()> {
    let (mut words, mut numbers) = (String::new(), index::Numbers::default());
    let mut relinked = HashSet::new();
    for message in messages {
        let key = key(n, seq_of(transaction, n, message.id)?);
        if has_other_link(transaction, key, message.link)? {
            relinked.insert(key & 0xffff_ffff);
        }
        // The index is told what to forget in the words of the old body, so that one has to be there still.
        let was_indexed = index::forget(transaction, key)?;
        run(
            transaction,
            "UPDATE conversation SET bytes = bytes + ?3 - (SELECT octet_length(body) FROM message WHERE key = ?2)
             WHERE n = ?1",
            params![n, key, message.body.len() as i64],
        )?;
        run(
            transaction,
            "UPDATE message SET digest = ?2, body = ?3 WHERE key = ?1",
            params![key, message.link.as_bytes(), message.body],
        )?;
        if was_indexed {
            index::add(transaction, (key, message.id.as_str()), message.body, &mut words, &mut numbers)?;
        }
    }
    refuse_to_leave_behind(transaction, n, &relinked)?;
    run(
        transaction,
        "UPDATE conversation SET first = ?2, last = ?3 WHERE n = ?1",
        params![n, tip.first, tip.last],
    )?;
    Ok(())
}

fn has_other_link(transaction: &Transaction<'_>, key: i64, link: Digest) -> Result<bool> {
    transaction
        .prepare_cached("SELECT digest <> ?2 FROM message WHERE key = ?1")
        .during(ATTEMPT)?
        .query_row(params![key, link.as_bytes()], |row| row.get(0))
        .during(ATTEMPT)
}

/// A child that was appended while its parent was being rewritten would vouch for what is gone.
fn refuse_to_leave_behind(transaction: &Transaction<'_>, n: i64, relinked: &HashSet<i64>) -> Result<()> {
    let mut children = transaction
        .prepare_cached(
            "SELECT key & 0xffffffff, parent, id FROM message WHERE key BETWEEN ?1 AND ?2 AND parent IS NOT NULL",
        )
        .during(ATTEMPT)?;
    let mut rows = children.query([key(n, 1), key(n, i64::from(u32::MAX))]).during(ATTEMPT)?;
    while let Some(row) = rows.next().during(ATTEMPT)? {
        let (seq, parent): (i64, i64) = (|| Ok((row.get(0)?, row.get(1)?)))().during(ATTEMPT)?;
        if relinked.contains(&parent) && !relinked.contains(&seq) {
            return Err(left_behind(row.get::<_, String>(2).during(ATTEMPT)?));
        }
    }
    Ok(())
}
