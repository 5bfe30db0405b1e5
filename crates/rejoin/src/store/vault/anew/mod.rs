//! Sealing anew: an owner gets a new data key, and everything that is sealed with another is sealed with that, while others
//! use the vault.
//!
//! ```text
//! 1  one write: the new key before the others, and that it is begun
//! 2  what another key sealed is sealed with the new one, a batch at a time, until a look finds nothing
//! 3  one write: the new key alone; the others stand aside in the mark
//! 4  another look, for what somebody sealed between the look and 3; if there is anything, from 1 again with these keys
//! 5  one write: that it is done
//! ```
//!
//! Whoever writes holds on to the keys, so that 3 waits for it (`slots/in_use.rs`); where no file can be locked, it looks at
//! the keys after the write, and puts a key back that is gone (`held.rs`). At every moment each record
//! opens with a key of the owner or one that stands aside. Links, digests and what is inside stay as they are.

mod blobs;
mod conversation;
mod mark;
mod piece;

pub(super) use mark::{MARK, RUN, RunId, random_run, split as split_mark};
use mark::{Mark, Stage};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::vault::Sealed;
use crate::store::vault::anew::piece::{Mode, Piece};
use crate::store::vault::data_key::DataKey;
use crate::store::vault::held::{DATA, blob};
use crate::store::vault::slots::Keys;
use crate::store::vault::workspace::MOST_KEYS;
use crate::store::{Put, Safety, Space};

/// How often somebody who writes all the time may make it start over.
const ATTEMPTS: usize = 100;

/// What became of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewed {
    /// Everything is sealed with a key that was made in this run.
    Done,
    /// The same, but for records that do not open; the keys before stay for them.
    Damaged,
    /// It was removed meanwhile.
    Gone,
}

impl Sealed {
    /// Seals everything of an owner, who is named by the inner name, with a new key, unless this run has done so.
    ///
    /// Nobody else may change keys meanwhile.
    pub(super) fn seal_anew(
        &self,
        owner: Option<ConversationId>,
        run: RunId,
        turns: &Keys,
    ) -> Result<Renewed> {
        match self.try_seal_anew(owner, run, turns) {
            Err(error) if error.kind() == ErrorKind::NotFound && owner.is_some() => Ok(Renewed::Gone),
            other => other,
        }
    }

    fn try_seal_anew(&self, owner: Option<ConversationId>, run: RunId, turns: &Keys) -> Result<Renewed> {
        self.held.renew()?;
        let Some(mut keys) = self.keys_at_hand(owner)? else { return Ok(Renewed::Gone) };
        match Mark::read(self.inner.as_ref(), owner)?.filter(|mark| mark.run == run).map(|mark| mark.stage) {
            Some(Stage::Done) => return Ok(Renewed::Done),
            Some(Stage::Begun | Stage::Leaving) => {}
            // Each time before, there were records that do not open.
            None if keys.len() == MOST_KEYS => return Ok(Renewed::Damaged),
            None => keys.insert(0, DataKey::random()),
        }
        for _ in 0..ATTEMPTS {
            self.put_keys(owner, &keys, &[], Mark::new(run, Stage::Begun))?;
            if self.seal_until_nothing_is_left(owner, &keys)? > 0 {
                self.put_keys(owner, &keys, &[], Mark::new(run, Stage::Done))?;
                return Ok(Renewed::Damaged);
            }
            let (newest, before) = keys.split_at(1);
            let alone = turns.take_away()?;
            self.put_keys(owner, newest, before, Mark::new(run, Stage::Leaving))?;
            drop(alone);
            let mut look = Piece::new(self, owner, &keys[0], Mode::Look);
            look.everything()?;
            if look.sealed == 0 {
                let mark = Mark::new(run, Stage::Done).to_bytes(&[]);
                self.inner.put(&[own(owner, MARK, &mark)], Safety::Synced)?;
                return Ok(Renewed::Done);
            }
        }
        Err(Error::new(ErrorKind::Locked, "somebody writes so much that it cannot be sealed anew"))
    }

    /// Seals a pass at a time, and answers how many records of the last one do not open.
    fn seal_until_nothing_is_left(&self, owner: Option<ConversationId>, keys: &[DataKey]) -> Result<u64> {
        for _ in 0..ATTEMPTS {
            let mut pass = Piece::new(self, owner, &keys[0], Mode::Seal);
            match pass.everything() {
                // Somebody has changed the conversation since it was looked at.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                other => {
                    other?;
                    if pass.sealed == 0 {
                        return Ok(pass.damaged);
                    }
                }
            }
        }
        Err(Error::new(ErrorKind::Locked, "somebody writes so much that it cannot be sealed anew"))
    }

    /// The keys of an owner, those that stand aside included; none when the owner is gone.
    fn keys_at_hand(&self, owner: Option<ConversationId>) -> Result<Option<Vec<DataKey>>> {
        let Some(wrapped) = blob(self.inner.as_ref(), owner, DATA)? else { return Ok(None) };
        let broken = |broken| Error::corrupt(format!("the keys do not open: {broken}"));
        let mut keys = self.held.workspace().unwrap(&wrapped, owner).map_err(broken)?;
        for aside in self.held.keys_aside(owner)? {
            if keys.iter().all(|key| key.id() != aside.id()) {
                keys.push(aside);
            }
        }
        Ok(Some(keys))
    }

    /// Stores the keys of an owner, those that stand aside, and how far it is, in one write.
    fn put_keys(
        &self,
        owner: Option<ConversationId>,
        keys: &[DataKey],
        aside: &[DataKey],
        mark: Mark,
    ) -> Result<()> {
        let workspace = self.held.workspace();
        let wrap = |keys: &[DataKey]| -> Vec<u8> {
            keys.iter().flat_map(|key| workspace.wrap(key, owner)).collect()
        };
        let (keys, mark) = (wrap(keys), mark.to_bytes(&wrap(aside)));
        self.inner.put(&[own(owner, DATA, &keys), own(owner, MARK, &mark)], Safety::Synced)?;
        self.held.forget(owner);
        Ok(())
    }
}

const fn own<'a>(owner: Option<ConversationId>, name: &'a [u8], bytes: &'a [u8]) -> Put<'a> {
    Put { space: Space::Key, owner, name, bytes: Some(bytes) }
}
