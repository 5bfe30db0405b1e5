//! Writes that the vault itself makes: what they store was encrypted before their commit, and the tip is encrypted in it.
//!
//! They are refused when the key was replaced meanwhile.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::backend::{
    Amend, Amendment, Ask, Backend, Batch, Decide, Edit, Lists, Prefixes, Removal, Rows, Trim, Which, Words,
    forward_but_commits,
};
use crate::store::keeper::amend_rows;
use crate::store::sealed::batch::Attempts;
use crate::store::sealed::failed::gone_past;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::held::{DATA, DataKeys, Trouble};
use crate::store::sealed::keys::key::KeyId;
use crate::store::sealed::moment::Moment;
use crate::store::sealed::records::message::Plain;
use crate::store::sealed::records::row::{SealedLast, seal_first};
use crate::store::sealed::records::tips::Tip;
use crate::store::sealed::{KEYS, Sealed};
use crate::store::tip::{first_preview, last_preview};
use crate::store::{
    Capabilities, Changed, Keeper, Named, Order, Progress, Safety, Space, Stamp, Task, Version, What,
};

/// The backend of a vault, for what was encrypted with this key.
pub(crate) struct Current<'v> {
    vault: &'v Sealed,
    owner: ConversationId,
    /// None where nothing was encrypted.
    key: Option<KeyId>,
}

impl Sealed {
    /// The store inside, for what was encrypted with this key of a conversation. A write is a conflict when the newest is another.
    pub(crate) fn inner_for(&self, owner: ConversationId, key: &DataKey) -> Keeper<Current<'_>> {
        Keeper::over(Current { vault: self, owner, key: Some(key.id()) })
    }

    /// Changes a conversation with what was encrypted with this key, unless it has another version.
    pub(crate) fn amend_raw<'a>(
        &self,
        key: &DataKey,
        (owner, version): (ConversationId, Version),
        what: What,
        decide: &mut dyn FnMut(&dyn Rows) -> Result<Amendment<'a>>,
    ) -> Result<Version> {
        let at = self.held.workspace().names().time(Time::now());
        amend_rows(self.inner_for(owner, key).backend(), (owner, Some(version)), (what, at), decide)
    }

    /// The store inside, for changes of a conversation that hold nothing encrypted.
    pub(crate) fn inner_of(&self, owner: ConversationId) -> Keeper<Current<'_>> {
        Keeper::over(Current { vault: self, owner, key: None })
    }
}

impl Current<'_> {
    fn check(&self, rows: &dyn Rows) -> Result<()> {
        let Some(key) = self.key else { return Ok(()) };
        let mut stored = None;
        rows.blobs(KEYS, Some(self.owner), Named::One(DATA), &mut |_, bytes| {
            stored = Some(bytes.to_vec());
            Ok(())
        })?;
        // Where there is no key, there is no conversation either, and whoever decides says so.
        let Some(stored) = stored else { return Ok(()) };
        let now = self.vault.held.unwrapped(Some(self.owner), stored);
        let now = now.map_err(|trouble| trouble.of("the key of the conversation"))?;
        if now.newest().id() == key {
            Ok(())
        } else {
            Err(Error::conflict("the key of the conversation was replaced meanwhile"))
        }
    }
}

impl Backend for Current<'_> {
    fn commit<'a>(&self, ask: &Ask<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        let attempts = Attempts::new();
        self.vault.backend.commit(ask, safety, &mut |rows| {
            self.check(rows)?;
            let Batch { edit, blobs, change } = decide(rows)?;
            let moment = Moment::new(self.vault, rows);
            let edit = match edit {
                Edit::Amend(amend) => {
                    let tip: &Vec<u8> = attempts.keep(tip_after(&moment, &amend)?);
                    Edit::Amend(with_tip(amend, tip))
                }
                Edit::Remove(removal) if !removal.going.is_empty() => {
                    Edit::Remove(trimmed(&moment, removal)?)
                }
                edit => edit,
            };
            Ok(Batch { edit, blobs: Cow::Owned(blobs.into_owned()), change })
        })
    }

    forward_but_commits!(self, self.vault.backend);
}

/// The change, which leaves this tip.
fn with_tip<'a>(amend: Amend<'a>, tip: &'a [u8]) -> Amend<'a> {
    let change = match amend.change {
        Amendment::Rewrite(bodies, first, _) => Amendment::Rewrite(bodies, first, tip),
        change => change,
    };
    Amend { change, tip: Some(tip), ..amend }
}

/// The keys that encrypt the tip; none when they do not open.
fn keys(moment: &Moment<'_>, inner: ConversationId) -> Result<Option<Arc<DataKeys>>> {
    match moment.keys(Some(inner)) {
        Ok(keys) => Ok(Some(keys)),
        Err(Trouble::Broken(_)) => Ok(None),
        Err(Trouble::Failed(error)) => Err(error),
    }
}

fn stored(moment: &Moment<'_>, envelope: Vec<u8>) -> Vec<u8> {
    moment.vault.held.encoding().write(envelope)
}

/// The tip that a change leaves, encrypted. One that does not open stays as it is.
fn tip_after(moment: &Moment<'_>, amend: &Amend<'_>) -> Result<Vec<u8>> {
    let inner = amend.conversation;
    let raw = moment.raw(inner)?;
    match (keys(moment, inner)?, moment.opened_tip(&raw)?) {
        (Some(keys), Some(tip)) => {
            let tip = moment.amended_tip(tip, &moment.stored(inner)?, amend)?;
            Ok(stored(moment, SealedLast::of(&tip).seal(keys.newest(), inner)))
        }
        (None, _) | (_, None) => Ok(raw.last),
    }
}

/// The removal with previews of what stays. They stay as they are where no key encrypts others.
fn trimmed<'a>(moment: &Moment<'_>, mut removal: Removal<'a>) -> Result<Removal<'a>> {
    let inner = removal.conversation;
    let Some(keys) = keys(moment, inner)? else {
        let raw = moment.raw(inner)?;
        (removal.first, removal.last) = (raw.first, raw.last);
        return Ok(removal);
    };
    let state = moment.stored(inner)?;
    let (first, last) = previews(moment, &removal)?;
    let tip = moment.trimmed_tip(Tip { last, ..moment.tip(inner, &state)? }, &state, &removal)?;
    removal.first = stored(moment, seal_first(first.as_bytes(), keys.newest(), inner));
    removal.last = stored(moment, SealedLast::of(&tip).seal(keys.newest(), inner));
    Ok(removal)
}

/// The first and the last preview without the messages that go, of those that open.
fn previews(moment: &Moment<'_>, removal: &Removal<'_>) -> Result<(String, String)> {
    let (vault, inner) = (moment.vault, removal.conversation);
    let (mut ring, mut buffer) = (vault.held.ring(Some(inner)), Vec::new());
    let (mut first, mut last) = (None, None);
    let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
    let visited = moment.rows.messages(inner, all, &mut |row| {
        if removal.going.binary_search_by_key(&row.seq, |node| node.seq).is_ok() {
            return Ok(());
        }
        match Plain::open(&mut ring, moment.names(), inner, row, &mut buffer) {
            Ok(plain) => {
                first = first.take().or_else(|| first_preview(plain.body));
                last = last_preview(plain.body).or_else(|| last.take());
                Ok(())
            }
            Err(Trouble::Broken(_)) => Ok(()),
            Err(Trouble::Failed(error)) => Err(error),
        }
    });
    gone_past(vault.backend.capabilities(), visited)?;
    Ok((first.unwrap_or_default(), last.unwrap_or_default()))
}
