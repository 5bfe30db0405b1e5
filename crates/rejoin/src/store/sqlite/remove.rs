//! Removing conversations and messages, together with every trace of them in indexes and previews.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::Result;
use crate::model::{ConversationId, MessageId, Time};
use crate::store::sqlite::append::key;
use crate::store::sqlite::fault::During;
use crate::store::sqlite::{blob, change, index};
use crate::store::tip::previews;
use crate::store::turn::after_removal;
use crate::store::{Children, Outcome, Target};

const ATTEMPT: &str = "remove";

struct Conversation {
    n: i64,
    head: Option<i64>,
    messages: i64,
    bytes: i64,
}

pub(super) fn remove(
    transaction: &Transaction<'_>,
    target: &Target<'_>,
    reason: &str,
    at: Time,
) -> Result<Outcome> {
    match target {
        Target::Conversation(id) => {
            let Some(conversation) = find(transaction, *id)? else { return Ok(Outcome::NotFound) };
            remove_conversation(transaction, *id, &conversation)?;
            change::deleted(transaction, at, *id, reason)?;
            Ok(Outcome::Removed {
                messages: conversation.messages.unsigned_abs(),
                bytes: conversation.bytes.unsigned_abs(),
            })
        }
        Target::Messages { conversation: id, ids, children } => {
            let Some(conversation) = find(transaction, *id)? else { return Ok(Outcome::NotFound) };
            let outcome = remove_messages(transaction, &conversation, ids, *children)?;
            if matches!(outcome, Outcome::Removed { messages: 1.., .. }) {
                change::trimmed(transaction, at, *id, reason)?;
            }
            Ok(outcome)
        }
    }
}

fn run(transaction: &Transaction<'_>, sql: &str, values: impl rusqlite::Params) -> Result<()> {
    transaction.prepare_cached(sql).during(ATTEMPT)?.execute(values).during(ATTEMPT)?;
    Ok(())
}

fn find(transaction: &Transaction<'_>, id: ConversationId) -> Result<Option<Conversation>> {
    transaction
        .prepare_cached("SELECT n, head, messages, bytes FROM conversation WHERE id = ?1")
        .during(ATTEMPT)?
        .query_row([id.as_bytes()], |row| {
            Ok(Conversation { n: row.get(0)?, head: row.get(1)?, messages: row.get(2)?, bytes: row.get(3)? })
        })
        .optional()
        .during(ATTEMPT)
}

fn remove_conversation(
    transaction: &Transaction<'_>,
    id: ConversationId,
    conversation: &Conversation,
) -> Result<()> {
    let n = conversation.n;
    let (first, last) = (key(n, 1), key(n, i64::from(u32::MAX)));
    let indexed: Vec<i64> = transaction
        .prepare_cached("SELECT key FROM document WHERE key BETWEEN ?1 AND ?2")
        .during(ATTEMPT)?
        .query_map([first, last], |row| row.get(0))
        .during(ATTEMPT)?
        .collect::<rusqlite::Result<_>>()
        .during(ATTEMPT)?;
    indexed.into_iter().try_for_each(|key| index::forget(transaction, key).map(drop))?;
    run(transaction, "DELETE FROM message WHERE key BETWEEN ?1 AND ?2", [first, last])?;
    run(transaction, "DELETE FROM conversation WHERE n = ?1", [n])?;
    blob::disown(transaction, id)
}

fn remove_messages(
    transaction: &Transaction<'_>,
    conversation: &Conversation,
    ids: &[MessageId],
    children: Children,
) -> Result<Outcome> {
    let n = conversation.n;
    let tree = read_tree(transaction, n)?;
    let mut going: BTreeSet<i64> = tree
        .iter()
        .filter(|(_, node)| ids.iter().any(|id| id.as_str() == node.id))
        .map(|(seq, _)| *seq)
        .collect();
    // A child's sequence is above its parent's, so one pass in order reaches the whole subtree.
    for (seq, node) in &tree {
        let Some(parent) = node.parent.filter(|parent| going.contains(parent) && !going.contains(seq)) else {
            continue;
        };
        match children {
            Children::Remove => going.insert(*seq),
            Children::Refuse => return Ok(Outcome::HasChildren(tree[&parent].id.parse()?)),
        };
    }
    if going.is_empty() {
        return Ok(Outcome::Removed { messages: 0, bytes: 0 });
    }
    let remaining = |mut seq: Option<i64>| {
        while let Some(now) = seq.filter(|now| going.contains(now)) {
            seq = tree[&now].parent;
        }
        seq
    };
    let bytes: i64 = going.iter().map(|seq| tree[seq].bytes).sum();
    let roots = going.iter().filter(|seq| tree[*seq].parent.is_none()).count();
    for seq in going.iter().rev() {
        index::forget(transaction, key(n, *seq))?;
        run(transaction, "DELETE FROM message WHERE key = ?1", [key(n, *seq)])?;
        if let Some(parent) = tree[seq].parent.filter(|parent| !going.contains(parent)) {
            run(transaction, "UPDATE message SET children = children - 1 WHERE key = ?1", [key(n, parent)])?;
        }
    }
    move_branches(transaction, n, remaining)?;
    run(
        transaction,
        "UPDATE conversation SET messages = messages - ?2, bytes = bytes - ?3, roots = roots - ?4, head = ?5,
             version = version + ?6, branches = (SELECT count(*) FROM branch WHERE n = ?1) WHERE n = ?1",
        params![
            n,
            going.len() as i64,
            bytes,
            roots as i64,
            remaining(conversation.head),
            after_removal(going.len()).cast_signed(),
        ],
    )?;
    refresh_previews(transaction, n)?;
    Ok(Outcome::Removed { messages: going.len() as u64, bytes: bytes.unsigned_abs() })
}

struct Node {
    id: String,
    parent: Option<i64>,
    bytes: i64,
}

fn read_tree(transaction: &Transaction<'_>, n: i64) -> Result<BTreeMap<i64, Node>> {
    transaction
        .prepare_cached(
            "SELECT key & 0xffffffff, id, parent, octet_length(body) FROM message WHERE key BETWEEN ?1 AND ?2",
        )
        .during(ATTEMPT)?
        .query_map([key(n, 1), key(n, i64::from(u32::MAX))], |row| {
            Ok((row.get(0)?, Node { id: row.get(1)?, parent: row.get(2)?, bytes: row.get(3)? }))
        })
        .during(ATTEMPT)?
        .collect::<rusqlite::Result<_>>()
        .during(ATTEMPT)
}

fn move_branches(
    transaction: &Transaction<'_>,
    n: i64,
    remaining: impl Fn(Option<i64>) -> Option<i64>,
) -> Result<()> {
    let branches: Vec<(String, i64)> = transaction
        .prepare_cached("SELECT id, head FROM branch WHERE n = ?1")
        .during(ATTEMPT)?
        .query_map([n], |row| Ok((row.get(0)?, row.get(1)?)))
        .during(ATTEMPT)?
        .collect::<rusqlite::Result<_>>()
        .during(ATTEMPT)?;
    for (id, head) in branches {
        match remaining(Some(head)) {
            Some(seq) if seq == head => {}
            Some(seq) => {
                run(
                    transaction,
                    "UPDATE branch SET head = ?3 WHERE n = ?1 AND id = ?2",
                    params![n, id, seq],
                )?;
            }
            None => run(transaction, "DELETE FROM branch WHERE n = ?1 AND id = ?2", params![n, id])?,
        }
    }
    Ok(())
}

/// The previews may show what was removed, so they are computed again from what is left.
fn refresh_previews(transaction: &Transaction<'_>, n: i64) -> Result<()> {
    let range = [key(n, 1), key(n, i64::from(u32::MAX))];
    let first = transaction
        .prepare_cached("SELECT body FROM message WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT 1")
        .during(ATTEMPT)?
        .query_row(range, |row| row.get::<_, String>(0))
        .optional()
        .during(ATTEMPT)?
        .map(|body| previews(&body).0)
        .unwrap_or_default();
    let mut statement = transaction
        .prepare_cached("SELECT body FROM message WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC")
        .during(ATTEMPT)?;
    let mut rows = statement.query(range).during(ATTEMPT)?;
    let mut last = String::new();
    while let Some(row) = rows.next().during(ATTEMPT)? {
        if let (_, Some(preview)) = previews(&row.get::<_, String>(0).during(ATTEMPT)?) {
            last = preview;
            break;
        }
    }
    run(transaction, "UPDATE conversation SET first = ?2, last = ?3 WHERE n = ?1", params![n, first, last])
}
