//! An append: one statement, which is one round trip and one transaction.
//!
//! It changes nothing unless the conversation is as the decision saw it: its revision guards everything
//! else.

use crate::error::{Error, Result};
use crate::store::backend::{Append, Batch, NewMessage};
use crate::store::postgres::append_cache::Known;
use crate::store::postgres::blob::{BlobColumns, parts};
use crate::store::postgres::change::{ChangeColumns, ChangeTag};
use crate::store::postgres::rows::{FORKED, PINNED, UNINDEXED};
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::postgres::words::MessageWords;
use crate::store::{Facets, Safety};

pub(super) const ATTEMPT: &str = "append a turn";

/// Makes the conversation.
const MADE: &str = "
    INSERT INTO ~conversation (id, revision, short, project, kind, slug, status, hold, expires, created, active,
        version, next, messages, bytes, roots, branches, head, first, last, header)
    VALUES ($1, $2 + 1, $10, $11, $12, $13, $14, $15, $16, $17, $9, 1, 1 + $3, $3, $4, $5, 0, $6,
        coalesce($7, ''), coalesce($8, ''), $18) RETURNING id";

/// Makes it grow, if it is as it was seen.
const GREW: &str = "
    UPDATE ~conversation SET revision = revision + 1, next = next + $3, messages = messages + $3,
        bytes = bytes + $4, roots = roots + $5, head = coalesce($6, head), first = coalesce($7, first),
        last = coalesce($8, last), active = $9
    WHERE id = $1 AND revision = $2 RETURNING id";

/// What goes with it.
const REST: &str = "
    added AS (
        INSERT INTO ~message (conversation, seq, id, parent, children, depth, turn, flags, digest, time, label,
            words, body)
        SELECT grown.id, m.seq, m.id, m.parent, m.children, m.depth, m.turn, m.flags, m.digest, m.time, m.label,
            array_to_tsvector(string_to_array(m.words, ' ')), m.body
        FROM grown, unnest($19::int8[], $20::text[], $21::int8[], $22::int8[], $23::int8[], $24::int8[],
            $25::int2[], $26::bytea[], $27::int8[], $28::bytea[], $29::text[], $30::bytea[])
            AS m (seq, id, parent, children, depth, turn, flags, digest, time, label, words, body)),
    followed AS (
        UPDATE ~message m SET children = m.children + p.children
        FROM grown, unnest($31::int8[], $32::int8[]) AS p (seq, children)
        WHERE m.conversation = $1 AND m.seq = p.seq),
    moved AS (UPDATE ~branch b SET head = $6 FROM grown WHERE b.conversation = $1 AND b.id = $33)";

/// The number of the first value of a change, and of the first of blobs.
const CHANGE: usize = 34;
const BLOBS: usize = 40;

/// How an append is stored.
#[derive(Clone, Copy)]
pub(super) struct AppendManner {
    pub(super) stamped: ChangeTag,
    pub(super) safety: Safety,
}

/// Stores an append that was decided on what is known; false when that is out of date.
pub(super) fn append(
    session: &PgSession,
    (append, batch): (&Append<'_>, &Batch<'_>),
    known: &Known,
    manner: AppendManner,
) -> Result<bool> {
    let statement = statement(append, batch, manner.safety);
    let columns = MessageColumns::of(append);
    let opening = append.opening.as_ref();
    let (facets, id) = (opening.map(|opening| opening.facets), Uuid::from(append.conversation));
    let text = |of: fn(&Facets) -> &str| facets.map(of);
    let short = append.conversation.short();
    let head = append.messages.last().map(|message| i64::from(message.seq));
    let (short, branch) = (short.as_str(), append.branch);
    let (project, kind) = (text(|facets| &facets.project), text(|facets| &facets.kind));
    let slug = text(|facets| &facets.slug);
    let (status, hold) = (facets.map(|facets| facets.status as i16), facets.map(|facets| facets.hold as i16));
    let expires = facets.and_then(|facets| Some(facets.expires?.as_micros()));
    let (created, header) =
        (opening.map(|opening| opening.created.as_micros()), opening.map(|opening| opening.header));
    let (many, active) = (append.messages.len() as i64, append.active.as_micros());
    let branch = branch.as_ref().map(|branch| branch.as_str());
    let mut values: Vec<TypedValue<'_>> = values![
        id => UUID, known.revision => INT8, many => INT8, columns.size => INT8, columns.roots => INT8,
        head => INT8, append.first => BYTEA, append.last => BYTEA, active => INT8,
        short => TEXT, project => TEXT, kind => TEXT, slug => TEXT, status => INT2, hold => INT2,
        expires => INT8, created => INT8, header => BYTEA,
    ]
    .to_vec();
    values.extend(columns.values());
    values.extend(values![branch => TEXT]);
    let noted = batch.change.as_ref().map(|entry| ChangeColumns::of(entry, manner.stamped));
    let noted = noted.ok_or_else(|| Error::invalid("an append without an entry in the log"))?;
    values.extend(noted.values());
    let blobs = BlobColumns::of(&batch.blobs);
    if !batch.blobs.is_empty() {
        values.extend(blobs.values());
    }
    let grown = session.ask(ATTEMPT, &statement, &values)?;
    Ok(grown.first().is_some_and(|row| row.get::<_, i64>(0) == 1))
}

fn statement(append: &Append<'_>, batch: &Batch<'_>, safety: Safety) -> String {
    let grown = if append.opening.is_some() { MADE } else { GREW };
    let noted = ChangeColumns::sql(CHANGE, "grown");
    let blobs = if batch.blobs.is_empty() { String::new() } else { format!(", {}", parts(BLOBS, "grown")) };
    let lax = match safety {
        Safety::Synced => "",
        Safety::Unsynced => ", set_config('synchronous_commit', 'off', true)",
    };
    format!("WITH grown AS ({grown}), {REST}, noted AS ({noted}){blobs} SELECT count(*){lax} FROM grown")
}

/// Messages as columns.
#[derive(Default)]
struct MessageColumns<'a> {
    seqs: Vec<i64>,
    ids: Vec<&'a str>,
    parents: Vec<Option<i64>>,
    children: Vec<i64>,
    depths: Vec<i64>,
    turns: Vec<i64>,
    flags: Vec<i16>,
    digests: Vec<&'a [u8]>,
    times: Vec<i64>,
    labels: Vec<Option<&'a [u8]>>,
    words: Vec<Option<String>>,
    bodies: Vec<&'a [u8]>,
    /// Stored messages that get children, and how many.
    followed: (Vec<i64>, Vec<i64>),
    size: i64,
    roots: i64,
}

impl<'a> MessageColumns<'a> {
    fn of(append: &'a Append<'_>) -> Self {
        let mut columns = Self::default();
        let start = append.messages.first().map_or(1, |message| message.seq);
        for message in &append.messages {
            columns.push(message);
            match message.parent.map(|(_, parent)| (parent.checked_sub(start), parent)) {
                None => columns.roots += 1,
                Some((Some(place), _)) => columns.children[place as usize] += 1,
                Some((None, parent)) => columns.follow(parent.into()),
            }
        }
        columns
    }

    fn push(&mut self, message: &'a NewMessage<'_>) {
        let indexed = MessageWords::of(message.body);
        self.seqs.push(message.seq.into());
        self.ids.push(message.id.as_str());
        self.parents.push(message.parent.map(|(_, parent)| parent.into()));
        self.children.push(0);
        self.depths.push(message.depth.into());
        self.turns.push(message.turn.into());
        self.flags.push(
            if message.is_pinned { PINNED } else { 0 }
                | if message.forked { FORKED } else { 0 }
                | if indexed.is_unindexed { UNINDEXED } else { 0 },
        );
        self.digests.push(message.link.as_bytes());
        self.times.push(indexed.time.as_micros());
        self.labels.push(message.label);
        self.words.push(indexed.words);
        self.bodies.push(message.body);
        self.size += message.body.len() as i64;
    }

    fn follow(&mut self, parent: i64) {
        match self.followed.0.iter().position(|known| *known == parent) {
            Some(place) => self.followed.1[place] += 1,
            None => {
                self.followed.0.push(parent);
                self.followed.1.push(1);
            }
        }
    }

    fn values(&self) -> [TypedValue<'_>; 14] {
        values![
            self.seqs => INT8_ARRAY, self.ids => TEXT_ARRAY, self.parents => INT8_ARRAY,
            self.children => INT8_ARRAY, self.depths => INT8_ARRAY, self.turns => INT8_ARRAY,
            self.flags => INT2_ARRAY, self.digests => BYTEA_ARRAY, self.times => INT8_ARRAY,
            self.labels => BYTEA_ARRAY, self.words => TEXT_ARRAY, self.bodies => BYTEA_ARRAY,
            self.followed.0 => INT8_ARRAY, self.followed.1 => INT8_ARRAY,
        ]
    }
}
