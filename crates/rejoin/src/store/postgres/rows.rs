//! `Rows` of PostgreSQL: what a transaction sees.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tokio_postgres::Row;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{ConversationRow, Node, Presence, Rows, State, VisitMessage, Which};
use crate::store::postgres::append_cache::Known;
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::{TypedValue, Uuid, values};
use crate::store::postgres::{blob, list, messages};
use crate::store::{BlobNames, Space, VisitBlob};

const ATTEMPT: &str = "read the store";

/// The columns of a conversation that decisions need, and the depth of its head.
const STATE: &str =
    "SELECT c.revision, c.version, c.next, c.messages, c.roots, c.bytes, c.head, c.active, c.first <> '',
    (SELECT m.depth FROM ~message m WHERE m.conversation = c.id AND m.seq = c.head)
    FROM ~conversation c WHERE c.id = $1";

/// A message without its body, with the columns in the order that [`node`] expects.
const NODE: &str = "SELECT seq, id, parent, depth, children, flags, digest, octet_length(body) FROM ~message";

pub(super) const PINNED: i16 = 1;
pub(super) const FORKED: i16 = 2;
pub(super) const UNINDEXED: i16 = 4;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowsPurpose {
    /// To read one snapshot.
    Read,
    /// To decide and write. What is read is locked.
    Decide,
}

impl RowsPurpose {
    const fn begin(self) -> &'static str {
        match self {
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Decide => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        }
    }
}

/// The rows that a transaction sees.
pub(super) struct PgRows<'s> {
    pub(super) session: &'s PgSession,
    pub(super) purpose: RowsPurpose,
    /// What was found of conversations. A decision locked them, so it stays true.
    known: RefCell<HashMap<ConversationId, Option<Known>>>,
    /// Conversations that changed otherwise than by an append.
    changed: RefCell<Vec<ConversationId>>,
    /// True when a row was shown to a visitor.
    pub(super) has_visited: Cell<bool>,
    holds_blobs: Cell<bool>,
}

impl<'s> PgRows<'s> {
    pub(super) fn new(session: &'s PgSession, purpose: RowsPurpose) -> Self {
        Self {
            session,
            purpose,
            known: RefCell::default(),
            changed: RefCell::default(),
            has_visited: Cell::new(false),
            holds_blobs: Cell::new(false),
        }
    }

    /// Runs a statement in the transaction, which begins with the first one.
    pub(super) fn ask(&self, attempt: &str, sql: &str, values: &[TypedValue<'_>]) -> Result<Vec<Row>> {
        if self.session.is_open.replace(true) {
            self.session.ask(attempt, sql, values)
        } else {
            self.session.ask_after(self.purpose.begin(), attempt, sql, values)
        }
    }

    /// Visits the rows of a statement in the transaction.
    pub(super) fn each(
        &self,
        attempt: &str,
        sql: &str,
        values: &[TypedValue<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        if !self.session.is_open.replace(true) {
            self.session.run(attempt, self.purpose.begin())?;
        }
        self.session.each(attempt, sql, values, &mut |row| {
            self.has_visited.set(true);
            visit(row)
        })
    }

    /// What is known of a conversation, if it is there. For a decision, it is locked.
    pub(super) fn known(&self, id: ConversationId) -> Result<Option<Known>> {
        if let Some(known) = self.known.borrow().get(&id) {
            return Ok(known.clone());
        }
        let known = match self.purpose {
            RowsPurpose::Read => self.read_state(id, STATE)?,
            RowsPurpose::Decide => self.read_state(id, &format!("{STATE} FOR UPDATE OF c"))?,
        };
        self.known.borrow_mut().insert(id, known.clone());
        Ok(known)
    }

    fn read_state(&self, id: ConversationId, sql: &str) -> Result<Option<Known>> {
        let rows = self.ask(ATTEMPT, sql, &values![Uuid::from(id) => UUID])?;
        Ok(rows.first().map(|row| {
            let number = |place: usize| row.get::<_, i64>(place).unsigned_abs();
            let state = State {
                version: number(1),
                next: sequence(row.get(2)),
                messages: number(3),
                roots: sequence(row.get(4)),
                bytes: number(5),
                head: row.get::<_, Option<i64>>(6).map(sequence),
                active: Time::from_micros(row.get(7)),
                has_first: row.get(8),
            };
            let depth = row.get::<_, Option<i64>>(9).map(sequence);
            Known { revision: row.get(0), state, nodes: Vec::new(), head_depth: depth }
        }))
    }

    /// Notes how a commit leaves a conversation; none when it has to be read again.
    pub(super) fn learn(&self, id: ConversationId, known: Option<Known>) {
        match known {
            Some(known) => self.known.borrow_mut().insert(id, Some(known)),
            None => {
                self.changed.borrow_mut().push(id);
                self.known.borrow_mut().remove(&id)
            }
        };
    }

    /// What is known of the conversations that were looked at.
    pub(super) fn into_known(self) -> HashMap<ConversationId, Option<Known>> {
        let mut known = self.known.into_inner();
        for id in self.changed.into_inner() {
            known.entry(id).or_default();
        }
        known
    }

    /// Keeps others from storing blobs until the end of the transaction: what a decision read of them, such
    /// as the keys of a vault, must not change before it is stored.
    fn hold_blobs(&self) -> Result<()> {
        if self.purpose == RowsPurpose::Decide && !self.holds_blobs.replace(true) {
            self.ask(ATTEMPT, blob::HOLD, &[])?;
        }
        Ok(())
    }
}

impl Rows for PgRows<'_> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        if let Some(known) = self.known.borrow().get(&id) {
            return Ok(known.is_some());
        }
        let found = match self.purpose {
            RowsPurpose::Read => "SELECT 1 FROM ~conversation WHERE id = $1",
            RowsPurpose::Decide => "SELECT 1 FROM ~conversation WHERE id = $1 FOR SHARE",
        };
        Ok(!self.ask(ATTEMPT, found, &values![Uuid::from(id) => UUID])?.is_empty())
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        Ok(self.known(id)?.map_or(Presence::Absent, |known| Presence::Stored(known.state)))
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        if let Some(Some(known)) = self.known.borrow().get(&id)
            && let Some(node) = known.node(message)
        {
            return Ok(Some(node));
        }
        let sql = format!("{NODE} WHERE conversation = $1 AND id = $2");
        let rows = self.ask(ATTEMPT, &sql, &values![Uuid::from(id) => UUID, message.as_str() => TEXT])?;
        let found = rows.first().map(node).transpose()?;
        if let (Some(Some(known)), Some(node)) = (self.known.borrow_mut().get_mut(&id), found) {
            known.nodes.push(node);
        }
        Ok(found)
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let sql = format!("{NODE} WHERE conversation = $1 ORDER BY seq");
        self.each(ATTEMPT, &sql, &values![Uuid::from(id) => UUID], &mut |row| visit(&node(row)?))
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()> {
        match which {
            Which::Path(target) => {
                let known = self.known.borrow().get(&id).cloned().flatten();
                let depth = known.filter(|known| known.state.head == Some(target));
                messages::path(self, id, (target, depth.and_then(|known| known.head_depth)), visit)
            }
            Which::Range(order, offset, limit) => messages::range(self, id, order, (offset, limit), visit),
            Which::These(seqs) => messages::these(self, id, seqs, visit),
        }
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        list::one(self, id)
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        list::all(self)?.into_iter().try_for_each(visit)
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.hold_blobs()?;
        blob::get(self, (space, owner), named, visit)
    }
}

pub(super) fn sequence(seq: i64) -> u32 {
    u32::try_from(seq).unwrap_or(u32::MAX)
}

fn node(row: &Row) -> Result<Node> {
    let id: MessageId = row.get::<_, &str>(1).parse()?;
    Ok(Node {
        id,
        seq: sequence(row.get(0)),
        parent: row.get::<_, Option<i64>>(2).map(sequence),
        depth: sequence(row.get(3)),
        children: sequence(row.get(4)),
        forked: row.get::<_, i16>(5) & FORKED != 0,
        link: link(row.get(6), id)?,
        size: i64::from(row.get::<_, i32>(7)).unsigned_abs(),
    })
}

/// The digest of a message.
pub(super) fn link(bytes: &[u8], id: MessageId) -> Result<Digest> {
    let bytes = <[u8; 32]>::try_from(bytes);
    Ok(Digest::from_bytes(bytes.map_err(|_| Error::corrupt(format!("message `{id}` has no digest")))?))
}
