//! Commits: one round trip where what is remembered suffices, else a transaction that locks what it reads.
//!
//! A commit is never cancelled. Where the connection breaks before the answer came, nobody knows whether it
//! was stored: it is looked for by its tag, and decided and sent again if it is not there. Both wait for
//! the end of the transaction that may still be under way, by the lock of its conversation.

use std::cell::Cell;
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Safety;
use crate::store::backend::{Batch, CommitHint, DecideEach, Edit, taken};
use crate::store::postgres::Postgres;
use crate::store::postgres::append::{self, AppendManner};
use crate::store::postgres::append_cache::{CachedRows, Known};
use crate::store::postgres::blob::{BlobColumns, parts};
use crate::store::postgres::change::ChangeTag;
use crate::store::postgres::erase::leaves;
use crate::store::postgres::fault::{Cure, cure, explained, is_duplicate};
use crate::store::postgres::rows::{PgRows, RowsPurpose};
use crate::store::postgres::session::PgSession;
use crate::store::postgres::value::{Uuid, values};
use crate::store::postgres::write;

/// How much longer than for others a commit waits for the server itself.
const GRACE: Duration = Duration::from_secs(2);

/// The first pause before another attempt; later ones are longer.
const PAUSE: Duration = Duration::from_millis(5);

/// An attempt of which nobody knows whether it was stored.
struct SentCommit {
    conversation: ConversationId,
    tag: i64,
}

/// How conversations are left.
type LeftBehind = HashMap<ConversationId, Option<Known>>;

/// What is committed.
struct PendingCommit<'h, 'd> {
    hints: &'h [CommitHint<'h>],
    safety: Safety,
    until: Instant,
    /// Attempts that may have been stored.
    sent: Vec<SentCommit>,
    /// The message ids of the append that was written last.
    ids: Vec<(ConversationId, MessageId)>,
    is_logged: &'d Cell<bool>,
}

impl Postgres {
    pub(super) fn commit_hints<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        let Some(first) = hints.first() else { return Ok(()) };
        let is_logged = Cell::new(false);
        let until = Instant::now() + self.server.wait + GRACE;
        let mut ask =
            PendingCommit { hints, safety, until, sent: Vec::new(), ids: Vec::new(), is_logged: &is_logged };
        if hints.len() > 1 || !self.commit_remembered(&mut ask, first, decide)? {
            self.commit_locked(&mut ask, decide).map_err(|error| match error.kind() {
                // The place is at fault, so it is named.
                ErrorKind::Unavailable => error.during(format!("write to `{}`", self.url)),
                _ => error,
            })?;
        }
        if is_logged.get() {
            self.ring();
        }
        Ok(())
    }

    /// Commits in one round trip; false when that cannot be, or did not work out.
    fn commit_remembered<'a>(
        &self,
        ask: &mut PendingCommit<'_, '_>,
        hint: &CommitHint<'_>,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<bool> {
        let known = hint.conversation.and_then(|id| self.cache().get(id));
        if hint.conversation.is_some() && known.is_none() && !hint.is_made {
            return Ok(false);
        }
        let (id, is_made) = (hint.conversation, hint.is_made);
        let rows = CachedRows { id, known: known.as_ref(), is_made, missed: Cell::new(false) };
        let decided = decide(0, &rows);
        let Ok(batch) = decided else { return Ok(false) };
        if rows.missed.get() {
            return Ok(false);
        }
        if leaves(&batch) {
            return Ok(false);
        }
        let stamped = ChangeTag { tag: tag()?, place: 0 };
        let manner = AppendManner { stamped, safety: ask.safety };
        let known = match (&batch.edit, known) {
            (Edit::None, _) if batch.change.is_none() => {
                return self.put_remembered(ask, &batch);
            }
            (Edit::Append(own), Some(known)) if own.opening.is_none() => known,
            (Edit::Append(own), None) if own.opening.is_some() => Known::fresh(stamped.tag >> 1, own.active),
            _ => return Ok(false),
        };
        let Edit::Append(own) = &batch.edit else { return Ok(false) };
        let session = self.server.session()?;
        session.set_deadline(Some(ask.until));
        match append::append(&session, (own, &batch), &known, manner) {
            Ok(true) => {
                self.cache().insert(own.conversation, known.after(own));
                ask.is_logged.set(true);
                Ok(true)
            }
            Ok(false) => {
                self.cache().forget(own.conversation);
                Ok(false)
            }
            Err(error) => {
                self.cache().forget(own.conversation);
                if cure(&error) == Cure::Reconnect {
                    ask.sent.push(SentCommit { conversation: own.conversation, tag: stamped.tag });
                    return Ok(false);
                }
                if cure(&error) != Cure::None || is_duplicate(&error) { Ok(false) } else { Err(error) }
            }
        }
    }

    /// Stores blobs in one round trip. To store them again changes nothing, so nobody asks what became of
    /// an attempt.
    fn put_remembered(&self, ask: &PendingCommit<'_, '_>, batch: &Batch<'_>) -> Result<bool> {
        if batch.blobs.is_empty() {
            return Ok(true);
        }
        let lax = match ask.safety {
            Safety::Synced => "1",
            Safety::Unsynced => "set_config('synchronous_commit', 'off', true)",
        };
        let sql = format!("WITH {} SELECT {lax}", parts(1, "(SELECT 1) AS one"));
        let session = self.server.session()?;
        session.set_deadline(Some(ask.until));
        match session.ask("store blobs", &sql, &BlobColumns::of(&batch.blobs).values()) {
            Err(error) if cure(&error) == Cure::None => Err(error),
            stored => Ok(stored.is_ok()),
        }
    }

    /// Commits in transactions, until one succeeds or the wait is over.
    fn commit_locked<'a>(
        &self,
        ask: &mut PendingCommit<'_, '_>,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        let mut pause = PAUSE;
        loop {
            let error = match self.attempt(ask, decide) {
                Ok(left) => {
                    self.remember(left);
                    return Ok(());
                }
                Err(error) => error,
            };
            if is_duplicate(&error) {
                if let Some(taken) = self.taken_id(&ask.ids)? {
                    return Err(taken);
                }
            } else if cure(&error) == Cure::None {
                return Err(error);
            }
            if Instant::now() + pause >= ask.until {
                return Err(if ask.sent.is_empty() { explained(error) } else { unknown_outcome(error) });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE * 100);
        }
    }

    fn attempt<'a>(
        &self,
        ask: &mut PendingCommit<'_, '_>,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<LeftBehind> {
        let session = self.server.session()?;
        session.set_deadline(Some(ask.until));
        let rows = PgRows::new(&session, RowsPurpose::Decide);
        if ask.safety == Safety::Unsynced {
            rows.ask(append::ATTEMPT, "SELECT set_config('synchronous_commit', 'off', true)", &[])?;
        }
        for (place, id) in ask.hints.iter().map(|hint| hint.conversation).enumerate() {
            if let (0, Some(id)) = (place, id) {
                rows.known(id)?;
            }
        }
        if self.was_stored(&rows, ask)? {
            // The end of this transaction is on disk, and on standbys, after that of the one it found.
            end(&session)?;
            ask.is_logged.set(true);
            return Ok(LeftBehind::new());
        }
        let tag = tag()?;
        let mut logged = None;
        for place in 0..ask.hints.len() {
            let batch = decide(place, &rows)?;
            let manner = AppendManner { stamped: ChangeTag { tag, place: place as i64 }, safety: ask.safety };
            ask.ids.clear();
            if let Edit::Append(own) = &batch.edit {
                ask.ids.extend(own.messages.iter().map(|message| (own.conversation, message.id)));
            }
            logged = logged.or(batch.change.as_ref().map(|entry| entry.conversation));
            write::write(&rows, &batch, manner)?;
        }
        let ended = end(&session);
        if let (Err(error), Some(conversation)) = (&ended, logged)
            && cure(error) == Cure::Reconnect
        {
            ask.sent.push(SentCommit { conversation, tag });
        }
        ended?;
        ask.is_logged.set(logged.is_some());
        Ok(rows.into_known())
    }

    /// True when an attempt of unknown outcome was stored.
    fn was_stored(&self, rows: &PgRows<'_>, ask: &PendingCommit<'_, '_>) -> Result<bool> {
        for SentCommit { conversation, tag } in &ask.sent {
            rows.known(*conversation)?;
            // It is written, so that the commit waits for whatever the one that is looked for waits for.
            let sql = "UPDATE ~change SET tag = tag WHERE conversation = $1 AND tag = $2 RETURNING 1";
            let found =
                rows.ask(append::ATTEMPT, sql, &values![Uuid::from(*conversation) => UUID, *tag => INT8])?;
            if !found.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first of these message ids that its conversation has, as an error.
    fn taken_id(&self, ids: &[(ConversationId, MessageId)]) -> Result<Option<Error>> {
        let Some((conversation, _)) = ids.first() else { return Ok(None) };
        let names: Vec<&str> = ids.iter().map(|(_, id)| id.as_str()).collect();
        let sql = "SELECT id FROM ~message WHERE conversation = $1 AND id = ANY($2)";
        let values = values![Uuid::from(*conversation) => UUID, names => TEXT_ARRAY];
        let found = self.ask(append::ATTEMPT, sql, &values)?;
        let is_found = |id: &MessageId| found.iter().any(|row| row.get::<_, &str>(0) == id.as_str());
        Ok(ids.iter().map(|(_, id)| *id).find(is_found).map(taken))
    }

    fn remember(&self, left: LeftBehind) {
        let mut cache = self.cache();
        for (id, known) in left {
            match known {
                Some(known) => cache.insert(id, known),
                None => cache.forget(id),
            }
        }
    }
}

/// The answer when the wait ended before the server said what became of a commit.
fn unknown_outcome(cause: Error) -> Error {
    let what = "the server did not say whether this was stored; look before you send it again";
    Error::new(ErrorKind::Unavailable, what).because(cause)
}

fn end(session: &PgSession) -> Result<()> {
    if session.is_open.get() {
        session.run("commit", "COMMIT")?;
        session.is_open.set(false);
    }
    Ok(())
}

/// A random tag, above zero.
fn tag() -> Result<i64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::new(ErrorKind::Unavailable, "get random numbers from the system").because(cause)
    })?;
    Ok(i64::from_ne_bytes(bytes) >> 2 & (i64::MAX >> 2))
}
