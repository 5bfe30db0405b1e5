//! Writing what was decided: rows, the counters that follow from them, and the log of changes.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{
    Amend, Amendment, Append, Batch, Edit, NewBody, NewConversation, NewMessage, Removal, taken,
};
use crate::store::sqlite::fault::DuringSql;
use crate::store::sqlite::rows::{FORKED, NumberedConversation, PINNED, SqliteRows, key, range};
use crate::store::sqlite::{blob, change, index};
use crate::store::{Facets, Version};

const ATTEMPT: &str = "store a change";

/// Writes back what an append changes.
const GROWN: &str = "UPDATE conversation SET next = next + ?2, messages = messages + ?2, bytes = bytes + ?3,
         roots = roots + ?4, head = coalesce(?5, head), first = coalesce(?6, first), last = coalesce(?7, last)
     WHERE n = ?1";

/// The same, and when it was active. To set that column, even to what it is, writes the pages of two indexes.
const GROWN_LATER: &str = "UPDATE conversation SET next = next + ?2, messages = messages + ?2, bytes = bytes + ?3,
         roots = roots + ?4, head = coalesce(?5, head), first = coalesce(?6, first), last = coalesce(?7, last),
         active = ?8
     WHERE n = ?1";

pub(super) fn write(snapshot: &SqliteRows<'_>, batch: &Batch<'_>) -> Result<()> {
    let connection = snapshot.connection;
    match &batch.edit {
        // A commit gets visible when it is in the log and synced, so there is nothing to confirm.
        Edit::None | Edit::Confirm(_) => {}
        Edit::Append(own) => append(snapshot, own)?,
        Edit::Amend(own) => amend(connection, known(snapshot, own.conversation)?.n, own)?,
        Edit::Remove(own) if own.going.is_empty() => {}
        Edit::Remove(own) => remove(connection, known(snapshot, own.conversation)?.n, own)?,
        Edit::Delete(id) => delete(connection, known(snapshot, *id)?.n, *id)?,
    }
    blob::put(connection, &batch.blobs)?;
    batch.change.as_ref().map_or(Ok(()), |entry| change::note(connection, entry))
}

/// What is known of a conversation that the decision found.
fn known(snapshot: &SqliteRows<'_>, id: ConversationId) -> Result<NumberedConversation> {
    snapshot.known(id)?.ok_or_else(|| Error::corrupt(format!("conversation `{id}` is missing")))
}

/// Returns how many rows changed.
fn run(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<usize> {
    connection.prepare_cached(sql).during(ATTEMPT)?.execute(values).during(ATTEMPT)
}

/// Text where the bytes are text, so that other programs read it; a blob where they are encrypted.
fn value(bytes: &[u8]) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match str::from_utf8(bytes) {
        Ok(text) => ValueRef::Text(text.as_bytes()),
        Err(_) => ValueRef::Blob(bytes),
    })
}

fn append(snapshot: &SqliteRows<'_>, append: &Append<'_>) -> Result<()> {
    let connection = snapshot.connection;
    let (n, is_later) = match &append.opening {
        Some(opening) => (create(connection, append, opening)?, false),
        None => {
            let known = known(snapshot, append.conversation)?;
            (known.n, known.state.active != append.active)
        }
    };
    insert(connection, n, &append.messages)?;
    let bytes: i64 = append.messages.iter().map(|message| message.body.len() as i64).sum();
    let roots = append.messages.iter().filter(|message| message.parent.is_none()).count();
    let head = append.messages.last().map(|message| i64::from(message.seq));
    let (first, last) = (append.first.map(value), append.last.map(value));
    let many = append.messages.len() as i64;
    if is_later {
        let active = append.active.as_micros();
        run(connection, GROWN_LATER, params![n, many, bytes, roots as i64, head, first, last, active])?;
    } else {
        run(connection, GROWN, params![n, many, bytes, roots as i64, head, first, last])?;
    }
    if let (Some(branch), Some(head)) = (append.branch, head) {
        let moved = "UPDATE branch SET head = ?3 WHERE n = ?1 AND id = ?2";
        run(connection, moved, params![n, branch.as_str(), head])?;
    }
    Ok(())
}

/// Returns the number of the conversation.
fn create(connection: &Connection, append: &Append<'_>, opening: &NewConversation<'_>) -> Result<i64> {
    let (id, facets) = (append.conversation, opening.facets);
    run(
        connection,
        "INSERT INTO conversation (id, short, project, kind, slug, status, hold, expires, created, active,
             version, next, indexed, messages, bytes, roots, branches, head, first, last, header)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, 1, 0, 0, 0, 0, 0, NULL, '', '', ?11)",
        params![
            id.as_bytes(),
            id.short().as_str(),
            facets.project,
            facets.kind,
            facets.slug,
            facets.status as i64,
            facets.hold as i64,
            facets.expires.map(|time| time.as_micros()),
            opening.created.as_micros(),
            append.active.as_micros(),
            value(opening.header),
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

fn insert(connection: &Connection, n: i64, messages: &[NewMessage<'_>]) -> Result<()> {
    let Some(start) = messages.first().map(|message| message.seq) else { return Ok(()) };
    let children = children(connection, n, start, messages)?;
    let mut statement = connection
        .prepare_cached(
            "INSERT INTO message (key, id, parent, children, depth, turn, flags, digest, label, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )
        .during(ATTEMPT)?;
    for (message, children) in messages.iter().zip(children) {
        let flags = if message.is_pinned { PINNED } else { 0 } | if message.forked { FORKED } else { 0 };
        let inserted = statement.execute(params![
            key(n, message.seq.into()),
            message.id.as_str(),
            message.parent.map(|(_, seq)| seq),
            children,
            message.depth,
            message.turn,
            flags,
            message.link.as_bytes(),
            message.label.map(value),
            value(message.body),
        ]);
        if let Err(cause) = inserted {
            let error = Err(cause).during(ATTEMPT);
            let is_taken = |error: &Error| error.kind() == ErrorKind::Conflict;
            return error.map_err(|error| if is_taken(&error) { taken(message.id) } else { error });
        }
    }
    Ok(())
}

/// How many children each message has among the others, so that its row is written once. Those
/// of stored messages are counted there.
fn children(connection: &Connection, n: i64, start: u32, messages: &[NewMessage<'_>]) -> Result<Vec<i64>> {
    let mut children = vec![0; messages.len()];
    for parent in messages.iter().filter_map(|message| message.parent).map(|(_, parent)| parent) {
        match parent.checked_sub(start) {
            Some(place) => children[place as usize] += 1,
            // Zero and one take no space in a record, so the first child of a
            // message changes one byte of its row.
            None => {
                let counted = "UPDATE message SET children = children + 1 WHERE key = ?1";
                run(connection, counted, [key(n, parent.into())])?;
            }
        }
    }
    Ok(children)
}

fn amend(connection: &Connection, n: i64, amend: &Amend<'_>) -> Result<()> {
    let (version, previews) = (amend.version.cast_signed(), amend.last.map(value));
    match &amend.change {
        Amendment::Header(facets, header) => {
            return set_header(connection, n, version, previews, facets, value(header));
        }
        Amendment::Head(head) => {
            let seq = head.map(|(_, seq)| seq);
            let moved =
                "UPDATE conversation SET head = ?2, version = ?3, last = coalesce(?4, last) WHERE n = ?1";
            return run(connection, moved, params![n, seq, version, previews]).map(drop);
        }
        Amendment::Note(_, seq, label, is_pinned) => {
            let pinned = if *is_pinned { PINNED } else { 0 };
            run(
                connection,
                "UPDATE message SET label = ?2, flags = (flags & ~1) | ?3 WHERE key = ?1",
                params![key(n, (*seq).into()), label.map(value), pinned],
            )?;
        }
        Amendment::Branch(branch, head) => {
            let replace = "UPDATE branch SET title = ?3, head = ?4 WHERE n = ?1 AND id = ?2";
            if run(connection, replace, params![n, branch.id.as_str(), branch.title, head])? == 0 {
                // Versions only grow, so a branch's place is the version it was made at.
                run(
                    connection,
                    "INSERT INTO branch (n, id, position, title, head) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![n, branch.id.as_str(), version - 1, branch.title, head],
                )?;
                run(connection, "UPDATE conversation SET branches = branches + 1 WHERE n = ?1", params![n])?;
            }
        }
        Amendment::Unbranch(branch) => {
            let gone =
                run(connection, "DELETE FROM branch WHERE n = ?1 AND id = ?2", params![n, branch.as_str()])?;
            run(
                connection,
                "UPDATE conversation SET branches = branches - ?2 WHERE n = ?1",
                params![n, gone as i64],
            )?;
        }
        Amendment::Rewrite(bodies, first, last) => {
            rewrite(connection, n, bodies)?;
            run(
                connection,
                "UPDATE conversation SET first = ?2, last = ?3 WHERE n = ?1",
                params![n, value(first), value(last)],
            )?;
        }
    }
    let changed = "UPDATE conversation SET version = ?2, last = coalesce(?3, last) WHERE n = ?1";
    run(connection, changed, params![n, version, previews]).map(drop)
}

/// Replaces the header and its facets. To set a column, even to what it is, writes the pages of its
/// indexes, so facets that stay are left alone.
fn set_header(
    connection: &Connection,
    n: i64,
    version: i64,
    previews: Option<ToSqlOutput<'_>>,
    facets: &Facets,
    header: ToSqlOutput<'_>,
) -> Result<()> {
    let expires = facets.expires.map(|time| time.as_micros());
    run(
        connection,
        "UPDATE conversation SET hold = ?2, expires = ?3, header = ?4, version = ?5,
             last = coalesce(?6, last) WHERE n = ?1",
        params![n, facets.hold as i64, expires, header, version, previews],
    )?;
    run(
        connection,
        "UPDATE conversation SET project = ?2, kind = ?3, status = ?4
         WHERE n = ?1 AND (project, kind, status) IS NOT (?2, ?3, ?4)",
        params![n, facets.project, facets.kind, facets.status as i64],
    )?;
    let named = "UPDATE conversation SET slug = ?2 WHERE n = ?1 AND slug IS NOT ?2";
    run(connection, named, params![n, facets.slug]).map(drop)
}

fn rewrite(connection: &Connection, n: i64, bodies: &[NewBody<'_>]) -> Result<()> {
    let (mut words, mut numbers) = (String::new(), index::DocumentNumbers::default());
    for new in bodies {
        let (key, body) = (key(n, new.seq.into()), value(new.body));
        // The index is told what to forget in the words of the old body, so that one has to be there still.
        let was_indexed = index::forget(connection, key)?;
        run(
            connection,
            "UPDATE conversation SET bytes = bytes + ?3 - (SELECT octet_length(body) FROM message WHERE key = ?2)
             WHERE n = ?1",
            params![n, key, new.body.len() as i64],
        )?;
        run(
            connection,
            "UPDATE message SET digest = ?2, body = ?3 WHERE key = ?1",
            params![key, new.link.as_bytes(), body],
        )?;
        if was_indexed {
            let body = str::from_utf8(new.body).unwrap_or_default();
            index::add(connection, (key, new.id.as_str()), body, &mut words, &mut numbers)?;
        }
    }
    Ok(())
}

fn remove(connection: &Connection, n: i64, removal: &Removal<'_>) -> Result<()> {
    let going = &removal.going;
    let stays = |seq: u32| going.binary_search_by_key(&seq, |node| node.seq).is_err();
    for node in going.iter().rev() {
        let own = key(n, node.seq.into());
        index::forget(connection, own)?;
        run(connection, "DELETE FROM message WHERE key = ?1", [own])?;
        if let Some(parent) = node.parent.filter(|parent| stays(*parent)) {
            let counted = "UPDATE message SET children = children - 1 WHERE key = ?1";
            run(connection, counted, [key(n, parent.into())])?;
        }
    }
    set_branches(connection, n, removal)?;
    let bytes: u64 = going.iter().map(|node| node.size).sum();
    let roots = going.iter().filter(|node| node.parent.is_none()).count();
    let version: Version = removal.version;
    run(
        connection,
        "UPDATE conversation SET messages = messages - ?2, bytes = bytes - ?3, roots = roots - ?4, head = ?5,
             version = ?6, branches = ?7, first = ?8, last = ?9 WHERE n = ?1",
        params![
            n,
            going.len() as i64,
            bytes.cast_signed(),
            roots as i64,
            removal.head.map(|(_, seq)| seq),
            version.cast_signed(),
            removal.branches.len() as i64,
            value(&removal.first),
            value(&removal.last),
        ],
    )
    .map(drop)
}

/// Leaves those branches that a removal leaves, with their heads.
fn set_branches(connection: &Connection, n: i64, removal: &Removal<'_>) -> Result<()> {
    let ids: Vec<String> = connection
        .prepare_cached("SELECT id FROM branch WHERE n = ?1")
        .during(ATTEMPT)?
        .query_map([n], |row| row.get(0))
        .during(ATTEMPT)?
        .collect::<rusqlite::Result<_>>()
        .during(ATTEMPT)?;
    for id in ids {
        let left = removal.branches.iter().find(|(branch, _)| branch.id.as_str() == id);
        match left {
            Some((_, head)) => {
                let moved = "UPDATE branch SET head = ?3 WHERE n = ?1 AND id = ?2 AND head <> ?3";
                run(connection, moved, params![n, id, head])?
            }
            None => run(connection, "DELETE FROM branch WHERE n = ?1 AND id = ?2", params![n, id])?,
        };
    }
    Ok(())
}

fn delete(connection: &Connection, n: i64, id: ConversationId) -> Result<()> {
    let [first, last] = range(n);
    let indexed: Vec<i64> = connection
        .prepare_cached("SELECT key FROM document WHERE key BETWEEN ?1 AND ?2")
        .during(ATTEMPT)?
        .query_map([first, last], |row| row.get(0))
        .during(ATTEMPT)?
        .collect::<rusqlite::Result<_>>()
        .during(ATTEMPT)?;
    indexed.into_iter().try_for_each(|key| index::forget(connection, key).map(drop))?;
    run(connection, "DELETE FROM message WHERE key BETWEEN ?1 AND ?2", [first, last])?;
    run(connection, "DELETE FROM conversation WHERE n = ?1", [n])?;
    blob::disown(connection, id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;

    use crate::model::{ConversationId, Digest, Time};
    use crate::store::{Entry, Facets, Note, Opening, PreviewUpdate, SqliteStore, Stale, Store as _, Turn};

    /// Appends a message at a time, and counts the pages that were written for it.
    fn pages((store, path): (&SqliteStore, &Path), name: &str, micros: i64) -> i64 {
        let log = Connection::open(path).unwrap();
        let fold =
            || -> i64 { log.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap() };
        let (facets, active) = (Facets::default(), Time::from_micros(micros));
        let opening = Opening { facets: &facets, header: "{}", created: active };
        let id = name.parse().unwrap();
        let entry =
            Entry { id, parent: None, link: Digest::chain(None, b"d"), note: Note::default(), body: "{}" };
        fold();
        let turn = Turn {
            conversation: ConversationId::from_bytes([7; 16]),
            opening: (name == "a").then_some(opening),
            stale: Stale::Branch,
            entries: &[entry],
            previews: PreviewUpdate::default(),
            branch: None,
            active,
            now: active,
            blobs: &[],
        };
        store.append(&turn).unwrap();
        fold()
    }

    #[test]
    fn a_turn_that_is_no_later_leaves_the_order_of_activity_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.db");
        let store = SqliteStore::open(&path).unwrap();
        pages((&store, &path), "a", 10);

        let [later, same, earlier] =
            [("b", 20), ("c", 20), ("d", 15)].map(|(name, at)| pages((&store, &path), name, at));

        assert_eq!([later - same, later - earlier], [2, 2]);
    }
}
