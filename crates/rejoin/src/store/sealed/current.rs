//! Writes that the vault itself makes: what they store was encrypted before their
//! commit, and the trailer is encrypted in it.
//!
//! They are refused when the key was replaced meanwhile.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::backend::{
    Amend, Amendment, Backend, Batch, CommitHint, ConversationRow, Decide, DecideEach, Edit, Removal, Rows,
    Trim, Which, forward_but_commits, one_by_one,
};
use crate::store::body::{first_preview, last_preview};
use crate::store::keeper::amend_rows;
use crate::store::sealed::batch::Attempts;
use crate::store::sealed::failed::gone_past;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key::KeyId;
use crate::store::sealed::keys::key_cache::{DATA, DataKeys, OpenError};
use crate::store::sealed::records::message::PlainMessage;
use crate::store::sealed::records::row::{SealedTrailer, seal_first};
use crate::store::sealed::records::trailer_cache::Trailer;
use crate::store::sealed::rows::SealedRows;
use crate::store::sealed::{KEYS, Sealed};
use crate::store::{
    BlobNames, Capabilities, Changed, Found, Hit, Keeper, ListQuery, Order, Page, Progress, Safety,
    SearchQuery, Space, Stamp, Task, Version, What,
};

/// The backend of a vault, for what was encrypted with this key.
pub(crate) struct CurrentRecords<'v> {
    vault: &'v Sealed,
    owner: ConversationId,
    /// None where nothing was encrypted.
    key: Option<KeyId>,
}

impl Sealed {
    /// The store inside, for what was encrypted with this key of a conversation. A write is a
    /// conflict when the newest is another.
    pub(crate) fn inner_for(&self, owner: ConversationId, key: &DataKey) -> Keeper<CurrentRecords<'_>> {
        Keeper::over(CurrentRecords { vault: self, owner, key: Some(key.id()) })
    }

    /// Changes a conversation with what was encrypted with this key, unless it has another version.
    pub(crate) fn amend_raw<'a>(
        &self,
        key: &DataKey,
        (owner, version): (ConversationId, Version),
        what: What,
        decide: &mut dyn FnMut(&dyn Rows) -> Result<Amendment<'a>>,
    ) -> Result<Version> {
        let at = self.key_cache.workspace().names().time(Time::now());
        amend_rows(self.inner_for(owner, key).backend(), (owner, Some(version)), (what, at), decide)
    }

    /// The store inside, for changes of a conversation that hold nothing encrypted.
    pub(crate) fn inner_of(&self, owner: ConversationId) -> Keeper<CurrentRecords<'_>> {
        Keeper::over(CurrentRecords { vault: self, owner, key: None })
    }
}

impl CurrentRecords<'_> {
    fn check(&self, rows: &dyn Rows) -> Result<()> {
        let Some(key) = self.key else { return Ok(()) };
        let mut stored = None;
        rows.blobs(KEYS, Some(self.owner), BlobNames::One(DATA), &mut |_, bytes| {
            stored = Some(bytes.to_vec());
            Ok(())
        })?;
        // Where there is no key, there is no conversation either, and whoever decides says so.
        let Some(stored) = stored else { return Ok(()) };
        let now = self.vault.key_cache.unwrapped(Some(self.owner), stored);
        let now = now.map_err(|failure| failure.of("the key of the conversation"))?;
        if now.newest().id() == key {
            Ok(())
        } else {
            Err(Error::conflict("the key of the conversation was replaced meanwhile"))
        }
    }
}

impl Backend for CurrentRecords<'_> {
    fn commit<'a>(&self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        let attempts = Attempts::new();
        self.vault.backend.commit(hint, safety, &mut |rows| {
            self.check(rows)?;
            let Batch { edit, blobs, change } = decide(rows)?;
            let snapshot = SealedRows::new(self.vault, rows);
            let edit = match edit {
                Edit::Amend(amend) => {
                    let trailer: &Vec<u8> = attempts.keep(trailer_after(&snapshot, &amend)?);
                    Edit::Amend(with_trailer(amend, trailer))
                }
                Edit::Remove(removal) if !removal.going.is_empty() => {
                    Edit::Remove(trimmed(&snapshot, removal)?)
                }
                edit => edit,
            };
            Ok(Batch { edit, blobs: Cow::Owned(blobs.into_owned()), change })
        })
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        one_by_one(self, hints, safety, decide)
    }

    forward_but_commits!(self, self.vault.backend);
}

/// The change, which leaves this trailer.
fn with_trailer<'a>(amend: Amend<'a>, trailer: &'a [u8]) -> Amend<'a> {
    let change = match amend.change {
        Amendment::Rewrite(bodies, first, _) => Amendment::Rewrite(bodies, first, trailer),
        change => change,
    };
    Amend { change, last: Some(trailer), ..amend }
}

/// The keys that encrypt the trailer; none when they do not open.
fn keys(snapshot: &SealedRows<'_>, inner: ConversationId) -> Result<Option<Arc<DataKeys>>> {
    match snapshot.keys(Some(inner)) {
        Ok(keys) => Ok(Some(keys)),
        Err(OpenError::Broken(_)) => Ok(None),
        Err(OpenError::Failed(error)) => Err(error),
    }
}

fn stored(snapshot: &SealedRows<'_>, envelope: Vec<u8>) -> Vec<u8> {
    snapshot.vault.key_cache.encoding().write(envelope)
}

/// The trailer that a change leaves, encrypted. One that does not open stays as it is.
fn trailer_after(snapshot: &SealedRows<'_>, amend: &Amend<'_>) -> Result<Vec<u8>> {
    let inner = amend.conversation;
    let raw = snapshot.raw(inner)?;
    match (keys(snapshot, inner)?, snapshot.opened_trailer(&raw)?) {
        (Some(keys), Some(trailer)) => {
            let trailer = snapshot.amended_trailer(trailer, &snapshot.stored(inner)?, amend)?;
            Ok(stored(snapshot, SealedTrailer::of(&trailer).seal(keys.newest(), inner)))
        }
        (None, _) | (_, None) => Ok(raw.last),
    }
}

/// The removal with previews of what stays. They stay as they are where no key encrypts others.
fn trimmed<'a>(snapshot: &SealedRows<'_>, mut removal: Removal<'a>) -> Result<Removal<'a>> {
    let inner = removal.conversation;
    let Some(keys) = keys(snapshot, inner)? else {
        let raw = snapshot.raw(inner)?;
        (removal.first, removal.last) = (raw.first, raw.last);
        return Ok(removal);
    };
    let state = snapshot.stored(inner)?;
    let (first, last) = previews(snapshot, &removal)?;
    let trailer =
        snapshot.trimmed_trailer(Trailer { last, ..snapshot.trailer(inner, &state)? }, &state, &removal)?;
    removal.first = stored(snapshot, seal_first(first.as_bytes(), keys.newest(), inner));
    removal.last = stored(snapshot, SealedTrailer::of(&trailer).seal(keys.newest(), inner));
    Ok(removal)
}

/// The first and the last preview without the messages that go, of those that open.
fn previews(snapshot: &SealedRows<'_>, removal: &Removal<'_>) -> Result<(String, String)> {
    let (vault, inner) = (snapshot.vault, removal.conversation);
    let (mut owner_keys, mut buffer) = (vault.key_cache.owner_keys(Some(inner)), Vec::new());
    let (mut first, mut last) = (None, None);
    let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
    let visited = snapshot.rows.messages(inner, all, &mut |row| {
        if removal.going.binary_search_by_key(&row.seq, |node| node.seq).is_ok() {
            return Ok(());
        }
        match PlainMessage::open(&mut owner_keys, snapshot.names(), inner, row, &mut buffer) {
            Ok(plain) => {
                first = first.take().or_else(|| first_preview(plain.body));
                last = last_preview(plain.body).or_else(|| last.take());
                Ok(())
            }
            Err(OpenError::Broken(_)) => Ok(()),
            Err(OpenError::Failed(error)) => Err(error),
        }
    });
    gone_past(vault.backend.capabilities(), visited)?;
    Ok((first.unwrap_or_default(), last.unwrap_or_default()))
}
