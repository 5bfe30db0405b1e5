//! Writing what was decided, in a transaction that has the conversation locked.

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::Facets;
use crate::store::backend::{Amend, Amendment, Append, Batch, Edit, NewBody, Removal};
use crate::store::postgres::append::{self, AppendManner};
use crate::store::postgres::append_cache::Known;
use crate::store::postgres::blob::{BlobColumns, parts};
use crate::store::postgres::change::ChangeColumns;
use crate::store::postgres::erase;
use crate::store::postgres::rows::{PINNED, PgRows, UNINDEXED};
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::postgres::words::MessageWords;

const ATTEMPT: &str = "store a change";

/// What an edit without messages changes of its conversation.
const CHANGED: &str =
    "UPDATE ~conversation SET revision = revision + 1, version = $2, last = coalesce($3, last)";

pub(super) fn write(rows: &PgRows<'_>, batch: &Batch<'_>, manner: AppendManner) -> Result<()> {
    erase::note(rows, batch)?;
    match &batch.edit {
        Edit::Append(own) => return grow(rows, own, batch, manner),
        // What is locked was committed; the end of this transaction is on disk after it.
        Edit::None | Edit::Confirm(_) => {}
        Edit::Amend(own) => amend(rows, own)?,
        Edit::Remove(own) if own.going.is_empty() => {}
        Edit::Remove(own) => remove(rows, own)?,
        Edit::Delete(id) => delete(rows, *id)?,
    }
    if let Some(id) = batch.edit.conversation() {
        rows.learn(id, None);
    }
    if !batch.blobs.is_empty() {
        let sql = format!("WITH {} SELECT 1", parts(1, "(SELECT 1) AS one"));
        run(rows, &sql, &BlobColumns::of(&batch.blobs).values())?;
    }
    let noted = batch.change.as_ref().map(|entry| ChangeColumns::of(entry, manner.stamped));
    noted.map_or(Ok(()), |noted| noted.write(rows.session))
}

fn run(rows: &PgRows<'_>, sql: &str, values: &[TypedValue<'_>]) -> Result<()> {
    rows.ask(ATTEMPT, sql, values).map(drop)
}

fn grow(rows: &PgRows<'_>, own: &Append<'_>, batch: &Batch<'_>, manner: AppendManner) -> Result<()> {
    let id = own.conversation;
    let known = match rows.known(id)? {
        Some(known) => known,
        None => Known::fresh(manner.stamped.tag >> 1, own.active),
    };
    if !append::append(rows.session, (own, batch), &known, manner)? {
        return Err(Error::corrupt(format!("conversation `{id}` changed while it was locked")));
    }
    rows.learn(id, Some(known.after(own)));
    Ok(())
}

fn amend(rows: &PgRows<'_>, amend: &Amend<'_>) -> Result<()> {
    let (id, version, last) = (Uuid::from(amend.conversation), amend.version.cast_signed(), amend.last);
    let changed = values![id => UUID, version => INT8, last => BYTEA];
    let with = |sql: &str, more: &[TypedValue<'_>]| {
        let all: Vec<TypedValue<'_>> = changed.iter().chain(more).cloned().collect();
        run(rows, sql, &all)
    };
    let whole = format!("{CHANGED} WHERE id = $1");
    match &amend.change {
        Amendment::Header(facets, header) => {
            let Facets { project, kind, slug, .. } = facets;
            let (status, hold) = (facets.status as i16, facets.hold as i16);
            let expires = facets.expires.map(|time| time.as_micros());
            let sql = format!(
                "{CHANGED}, project = $4, kind = $5, slug = $6, status = $7, hold = $8, expires = $9, header = $10
                 WHERE id = $1"
            );
            with(
                &sql,
                &values![project => TEXT, kind => TEXT, slug => TEXT, status => INT2, hold => INT2,
                    expires => INT8, header => BYTEA],
            )
        }
        Amendment::Head(head) => {
            let seq = head.map(|(_, seq)| i64::from(seq));
            with(&format!("{CHANGED}, head = $4 WHERE id = $1"), &values![seq => INT8])
        }
        Amendment::Note(_, seq, label, is_pinned) => {
            let (seq, pinned) = (i64::from(*seq), if *is_pinned { PINNED } else { 0 });
            let sql = format!(
                "WITH noted AS (UPDATE ~message SET label = $5, flags = (flags & (-2)::int2) | $6
                     WHERE conversation = $1 AND seq = $4)
                 {whole}"
            );
            with(&sql, &values![seq => INT8, label => BYTEA, pinned => INT2])
        }
        Amendment::Branch(branch, head) => {
            let (own, head, title) = (branch.id.as_str(), i64::from(*head), branch.title.as_bytes());
            // Versions only grow, so a branch's place is the version it was made at.
            let sql = format!(
                "WITH put AS (INSERT INTO ~branch VALUES ($1, $4, $2 - 1, $6, $5)
                     ON CONFLICT (conversation, id) DO UPDATE SET title = excluded.title, head = excluded.head
                     RETURNING position = $2 - 1 AS is_new)
                 {CHANGED}, branches = branches + (SELECT count(*) FROM put WHERE is_new) WHERE id = $1"
            );
            with(&sql, &values![own => TEXT, head => INT8, title => BYTEA])
        }
        Amendment::Unbranch(branch) => {
            let sql = format!(
                "WITH gone AS (DELETE FROM ~branch WHERE conversation = $1 AND id = $4 RETURNING 1)
                 {CHANGED}, branches = branches - (SELECT count(*) FROM gone) WHERE id = $1"
            );
            let own = branch.as_str();
            with(&sql, &values![own => TEXT])
        }
        Amendment::Rewrite(bodies, first, new_last) => {
            rewrite(rows, id, bodies)?;
            let sql = "UPDATE ~conversation SET revision = revision + 1, version = $2, last = coalesce($3, $5), first = $4
                 WHERE id = $1";
            with(sql, &values![first => BYTEA, new_last => BYTEA])
        }
    }
}

fn rewrite(rows: &PgRows<'_>, id: Uuid, bodies: &[NewBody<'_>]) -> Result<()> {
    let indexed: Vec<MessageWords> = bodies.iter().map(|new| MessageWords::of(new.body)).collect();
    let seqs: Vec<i64> = bodies.iter().map(|new| new.seq.into()).collect();
    let digests: Vec<&[u8]> = bodies.iter().map(|new| &new.link.as_bytes()[..]).collect();
    let words: Vec<Option<&str>> = indexed.iter().map(|indexed| indexed.words.as_deref()).collect();
    let times: Vec<i64> = indexed.iter().map(|indexed| indexed.time.as_micros()).collect();
    let flags: Vec<i16> =
        indexed.iter().map(|indexed| if indexed.is_unindexed { UNINDEXED } else { 0 }).collect();
    let new: Vec<&[u8]> = bodies.iter().map(|new| new.body).collect();
    let size: i64 = bodies.iter().map(|new| new.body.len() as i64).sum();
    run(
        rows,
        "WITH old AS (SELECT coalesce(sum(octet_length(body)), 0) AS bytes FROM ~message
             WHERE conversation = $1 AND seq = ANY($2)),
         said AS (UPDATE ~message m SET digest = n.digest, time = n.time, body = n.body,
                 words = array_to_tsvector(string_to_array(n.words, ' ')), flags = (m.flags & (-5)::int2) | n.flags
             FROM unnest($2::int8[], $3::bytea[], $4::text[], $5::int8[], $6::int2[], $7::bytea[])
                 AS n (seq, digest, words, time, flags, body)
             WHERE m.conversation = $1 AND m.seq = n.seq)
         UPDATE ~conversation SET bytes = bytes + $8 - (SELECT bytes FROM old) WHERE id = $1",
        &values![id => UUID, seqs => INT8_ARRAY, digests => BYTEA_ARRAY, words => TEXT_ARRAY, times => INT8_ARRAY,
            flags => INT2_ARRAY, new => BYTEA_ARRAY, size => INT8],
    )
}

fn remove(rows: &PgRows<'_>, removal: &Removal<'_>) -> Result<()> {
    let (id, going) = (Uuid::from(removal.conversation), &removal.going);
    let seqs: Vec<i64> = going.iter().map(|node| node.seq.into()).collect();
    let stays = |seq: &u32| going.binary_search_by_key(seq, |node| node.seq).is_err();
    let parents: Vec<i64> =
        going.iter().filter_map(|node| node.parent).filter(stays).map(i64::from).collect();
    let bytes = going.iter().map(|node| node.size).sum::<u64>().cast_signed();
    let roots = going.iter().filter(|node| node.parent.is_none()).count() as i64;
    let (many, left) = (going.len() as i64, removal.branches.len() as i64);
    let (head, version) = (removal.head.map(|(_, seq)| i64::from(seq)), removal.version.cast_signed());
    let branches: Vec<&str> = removal.branches.iter().map(|(branch, _)| branch.id.as_str()).collect();
    let heads: Vec<i64> = removal.branches.iter().map(|(_, head)| i64::from(*head)).collect();
    run(
        rows,
        "WITH gone AS (DELETE FROM ~message WHERE conversation = $1 AND seq = ANY($2)),
         childless AS (UPDATE ~message m SET children = m.children - p.many
             FROM (SELECT seq, count(*) AS many FROM unnest($3) AS seq GROUP BY seq) p
             WHERE m.conversation = $1 AND m.seq = p.seq),
         unnamed AS (DELETE FROM ~branch WHERE conversation = $1 AND id <> ALL($4)),
         moved AS (UPDATE ~branch b SET head = n.head FROM unnest($4::text[], $5::int8[]) AS n (id, head)
             WHERE b.conversation = $1 AND b.id = n.id AND b.head <> n.head)
         UPDATE ~conversation SET revision = revision + 1, messages = messages - $6, bytes = bytes - $7,
             roots = roots - $8, head = $9, version = $10, branches = $11, first = $12, last = $13 WHERE id = $1",
        &values![id => UUID, seqs => INT8_ARRAY, parents => INT8_ARRAY, branches => TEXT_ARRAY, heads => INT8_ARRAY,
            many => INT8, bytes => INT8, roots => INT8, head => INT8, version => INT8, left => INT8,
            removal.first => BYTEA, removal.last => BYTEA],
    )
}

fn delete(rows: &PgRows<'_>, id: ConversationId) -> Result<()> {
    let id = Uuid::from(id);
    run(
        rows,
        "WITH said AS (DELETE FROM ~message WHERE conversation = $1),
         named AS (DELETE FROM ~branch WHERE conversation = $1),
         owned AS (DELETE FROM ~blob WHERE owner = $1)
         DELETE FROM ~conversation WHERE id = $1",
        &values![id => UUID],
    )
}
