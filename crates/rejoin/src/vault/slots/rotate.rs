//! Rotation: replaces the workspace key while the vault is in use.
//!
//! ```text
//! 1  new secrets of keyring and file slots are stored, under new slot ids
//! 2  one write: the new record, with the old key as retired, and every data key rewrapped
//! 3  data keys that others wrapped with the old key meanwhile are rewrapped
//! 4  the old secrets are removed
//! 5  one write: the record without the retired key
//! ```
//!
//! Before step 2 the old record unlocks everything, from then on the new one. If steps 3 to 5 are
//! interrupted, the next change of keys completes them.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::newest_stamp;
use crate::store::sealed::{KeyId, SealingKey, Workspace};
use crate::store::{Put, Safety, Stamp};
use crate::vault::slots::keys::Keys;
use crate::vault::slots::passphrase::Cost;
use crate::vault::slots::record;
use crate::vault::slots::record::{KeysRecord, ReplacedSlot};
use crate::vault::slots::slot::Slot;
use crate::vault::slots::{Secret, SlotId, VaultId, wraps};

/// How often conversations that were removed meanwhile may make the write start over.
const ATTEMPTS: usize = 10;

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The new epoch.
    pub epoch: u64,
    /// How many data keys were rewrapped.
    pub keys: u64,
    /// Data keys that do not open, and stay as they were.
    pub unreadable: u64,
    /// Keyring and file slots that got no new secret, because their place could not be used: an older copy of
    /// the store opens with the secrets they have.
    pub kept: Vec<SlotId>,
    /// Those of them whose place did not answer. Trying again may help; the others are on another machine.
    pub unreached: Vec<SlotId>,
}

/// What the one write did.
struct RotatedKeys {
    /// How many data keys were rewrapped.
    keys: u64,
    /// Whose data keys did not open. Whoever makes a conversation may be about to wrap its key with the key
    /// before, which is no change of the store, so these are looked at again.
    unreadable: Vec<Option<ConversationId>>,
    /// Up to which change keys were looked for.
    seen: Stamp,
}

impl Keys {
    /// Makes a new workspace key, and new secrets for keyring and file slots.
    pub fn rotate(&self, at: Time) -> Result<Rotated> {
        let _turn = self.take_turn()?;
        self.rotate_without(None, at).map_err(|error| error.during("rotate the vault's keys"))
    }

    /// Removes a slot and rotates, so that what opened it opens nothing that the store holds from now on.
    ///
    /// The last slot is refused.
    pub fn remove_slot(&self, id: SlotId, at: Time) -> Result<Rotated> {
        let _turn = self.take_turn()?;
        self.rotate_without(Some(id), at).map_err(|error| error.during(format!("remove slot `{id}`")))
    }

    /// Refuses a slot that [`Keys::remove_slot`] would refuse, before anybody is asked about it.
    pub fn check_removal(&self, id: SlotId) -> Result<()> {
        let (record, _) = self.holder.open(self.inner.as_ref())?;
        refuse_last(&record, id).map_err(|error| error.during(format!("remove slot `{id}`")))
    }

    /// Does what an interrupted rotation left undone. Answers whether there was anything.
    pub fn finish_rotation(&self) -> Result<bool> {
        let _turn = self.take_turn()?;
        let (record, workspace) = self.holder.open(self.inner.as_ref())?;
        let is_unfinished = record.is_rotating() || !record.replaced.is_empty();
        if is_unfinished {
            self.finish(record, &workspace, &wraps::owners(self.inner.as_ref())?)?;
        }
        Ok(is_unfinished)
    }

    fn rotate_without(&self, removed: Option<SlotId>, at: Time) -> Result<Rotated> {
        let inner = self.inner.as_ref();
        let (mut record, mut before) = self.holder.open(inner)?;
        if let Some(id) = removed {
            refuse_last(&record, id)?;
        }
        if record.is_rotating() {
            self.finish(record, &before, &wraps::owners(inner)?)?;
            (record, before) = self.holder.open(inner)?;
        }
        let next = Workspace::of(
            before.vault(),
            before.epoch() + 1,
            KeyId::random(),
            SealingKey::random(),
            before.name_key().clone(),
        );
        let (mut kept, mut unreached) = (Vec::new(), Vec::new());
        let mut fresh = Vec::new();
        let mut replaced = record.replaced.clone();
        let mut slots = Vec::new();
        for slot in &record.slots {
            let gone = ReplacedSlot { id: slot.id, kind: slot.kind };
            if removed == Some(slot.id) {
                replaced.extend(slot.kind.has_place().then_some(gone));
                continue;
            }
            match self.renewed(slot, &next, at) {
                Ok(Some(renewed)) => {
                    replaced.push(gone);
                    fresh.push(renewed.clone());
                    slots.push(renewed);
                }
                failed @ (Ok(None) | Err(_)) => {
                    let may_answer = |error: Error| error.kind() != ErrorKind::Unsupported;
                    unreached.extend(failed.is_err_and(may_answer).then_some(slot.id));
                    kept.extend(slot.kind.has_place().then_some(slot.id));
                    let mut slot = slot.clone();
                    slot.pass_on(&before, &next)?;
                    slots.push(slot);
                }
            }
        }
        let mut record = KeysRecord::new(&next, slots).retire(record);
        record.replaced = replaced;
        let switched = match self.switch(&record, &before, &next) {
            Ok(done) => done,
            Err(error) => {
                let is_old = |found: &KeysRecord| found.epoch == before.epoch();
                if self.shows_what_it_holds()
                    && matches!(KeysRecord::read(inner), Ok(Some((found, _))) if is_old(&found))
                {
                    self.forget(&next, &fresh);
                }
                return Err(error);
            }
        };
        let next = next.retiring(before.id(), before.key());
        let mut late = wraps::changed_since(inner, switched.seen)?;
        late.extend(&switched.unreadable);
        self.finish(record, &next, &late)?;
        let (keys, unreadable) = (switched.keys, switched.unreadable.len() as u64);
        Ok(Rotated { epoch: next.epoch(), keys, unreadable, kept, unreached })
    }

    /// A slot of the same kind with a secret of its own; none where nobody but a person has the secret.
    fn renewed(&self, slot: &Slot, next: &Workspace, at: Time) -> Result<Option<Slot>> {
        if !slot.kind.has_place() {
            return Ok(None);
        }
        // A machine without such a place has no secret of its own to replace.
        let Ok(place) = self.holder.stores().of(slot.kind) else { return Ok(None) };
        // The secret of another machine's keyring is not ours to replace: that machine would be locked out.
        if place.get(VaultId::of(next.vault()), slot.id)?.is_none() {
            return Ok(None);
        }
        let secret = Secret::random();
        let renewed = Slot::new(next, slot.kind, &secret, Cost::default(), at)?;
        self.keep(next, &renewed, &secret)?;
        Ok(Some(renewed))
    }

    /// The one write.
    fn switch(&self, record: &KeysRecord, before: &Workspace, next: &Workspace) -> Result<RotatedKeys> {
        let inner = self.inner.as_ref();
        let bytes = record.to_bytes(next);
        let mut attempt = 1;
        loop {
            // Conversations that grow while they are listed may be passed over;
            // they are among what changed since.
            let seen = newest_stamp(inner, 0)?;
            let found = wraps::rewrap(inner, &wraps::owners(inner)?, before, next)?;
            let mut puts: Vec<Put<'_>> = found.wraps.iter().map(wraps::Wrap::put).collect();
            puts.push(record::put(&bytes));
            match inner.put(&puts, Safety::Synced) {
                Ok(()) => {
                    let keys = found.wraps.len() as u64;
                    return Ok(RotatedKeys { keys, unreadable: found.unreadable, seen });
                }
                // A conversation was removed after it was listed; nothing was written.
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Steps 3 to 5, for these owners.
    fn finish(
        &self,
        mut record: KeysRecord,
        workspace: &Workspace,
        owners: &[Option<ConversationId>],
    ) -> Result<()> {
        let inner = self.inner.as_ref();
        if record.is_rotating() {
            let late = wraps::rewrap(inner, owners, workspace, workspace)?;
            for wrap in &late.wraps {
                match inner.put(&[wrap.put()], Safety::Synced) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    other => other?,
                }
            }
        }
        let vault = record.vault;
        // A place that cannot be used keeps its secret until the next time.
        record.replaced.retain(|gone| {
            let place = self.holder.stores().of(gone.kind);
            place.and_then(|place| place.remove(vault, gone.id)).is_err()
        });
        self.write(&record.without_retired(), workspace)
    }
}

fn refuse_last(record: &KeysRecord, id: SlotId) -> Result<()> {
    if record.slots.iter().all(|slot| slot.id != id) {
        return Err(Error::not_found(format!("the vault has no slot `{id}`")));
    }
    if record.slots.len() == 1 {
        return Err(Error::invalid(
            "it is the last slot, and nothing else would open the vault; add another first",
        ));
    }
    Ok(())
}
