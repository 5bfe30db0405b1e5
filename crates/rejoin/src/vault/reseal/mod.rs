//! Re-encryption: gives an owner (a conversation, or everything without one) a new data key and re-encrypts
//! its records while the vault is in use.
//!
//! ```text
//! 1  one write: the new key ahead of the old ones, and the mark "begun"
//! 2  records of old keys are re-encrypted with the new one, a batch at a time, until a pass finds none
//! 3  one write: the new key alone, and the mark "done"
//! ```
//!
//! New records always use the newest key, so after step 1 nothing is written with an old key. At any time
//! every record decrypts with a key of its owner. Links, digests and contents do not change.
//!
//! A run over the whole vault ends with what belongs to no conversation, whose key encrypts its name.

mod blobs;
mod conversation;
mod pass;
mod run;

pub use run::Reencrypted;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key_cache::{DATA, MARK, RUN, blob};
use crate::store::sealed::keys::workspace::MOST_KEYS;
use crate::store::sealed::records::mark::{ResealMark, ResealStage, RunId, open_run, seal_run};
use crate::store::sealed::{KEYS, Sealed};
use crate::store::{Put, Safety};
use crate::vault::reseal::pass::ResealPass;

/// How many passes concurrent writes may cause.
const ATTEMPTS: usize = 100;

/// What became of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// Every record is encrypted with a key that was made in this run.
    Done,
    /// The same, except for records that do not decrypt; their keys stay.
    Damaged,
    /// The owner was removed meanwhile.
    Gone,
}

impl Sealed {
    /// Re-encrypts the records of an owner, given by inner name, with a new key, unless this run has done so.
    ///
    /// The caller makes sure that nobody else changes keys meanwhile.
    pub(crate) fn reencrypt(&self, owner: Option<ConversationId>, run: RunId) -> Result<Renewed> {
        match self.try_reencrypt(owner, run) {
            Err(error) if error.kind() == ErrorKind::NotFound && owner.is_some() => Ok(Renewed::Gone),
            other => other,
        }
    }

    fn try_reencrypt(&self, owner: Option<ConversationId>, run: RunId) -> Result<Renewed> {
        self.key_cache.renew()?;
        let Some(mut keys) = self.keys_at_hand(owner)? else { return Ok(Renewed::Gone) };
        match self.mark(owner, &keys[0])?.filter(|mark| mark.run == run).map(|mark| mark.stage) {
            Some(ResealStage::Done) => return Ok(Renewed::Done),
            Some(ResealStage::Begun) => {}
            // Each time before, there were records that do not open.
            None if keys.len() == MOST_KEYS => return Ok(Renewed::Damaged),
            None => keys.insert(0, DataKey::random()),
        }
        self.put_keys(owner, &keys, ResealMark::new(run, ResealStage::Begun))?;
        let damaged = self.reencrypt_until_done(owner, &keys, run)?;
        if damaged == 0 {
            keys.truncate(1);
        }
        self.put_keys(owner, &keys, ResealMark::new(run, ResealStage::Done))?;
        Ok(if damaged == 0 { Renewed::Done } else { Renewed::Damaged })
    }

    /// Makes passes until one finds nothing to re-encrypt. Returns how many records of the last one do not
    /// decrypt.
    fn reencrypt_until_done(
        &self,
        owner: Option<ConversationId>,
        keys: &[DataKey],
        run: RunId,
    ) -> Result<u64> {
        for _ in 0..ATTEMPTS {
            let mut pass = ResealPass::new(self, owner, &keys[0], run);
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
        Err(Error::new(ErrorKind::Locked, "re-encryption cannot keep up with concurrent writes"))
    }

    /// The keys of an owner; none when the owner is gone.
    fn keys_at_hand(&self, owner: Option<ConversationId>) -> Result<Option<Vec<DataKey>>> {
        let Some(wrapped) = blob(self.inner.as_ref(), owner, DATA)? else { return Ok(None) };
        let broken = |broken| Error::corrupt(format!("the keys do not open: {broken}"));
        self.key_cache.workspace().unwrap(&wrapped, owner).map(Some).map_err(broken)
    }

    /// Stores the keys of an owner, and how far it is, in one write. The last write of a run erases its name.
    fn put_keys(&self, owner: Option<ConversationId>, keys: &[DataKey], mark: ResealMark) -> Result<()> {
        let workspace = self.key_cache.workspace();
        let wrapped: Vec<u8> = keys.iter().flat_map(|key| workspace.wrap(key, owner)).collect();
        let sealed = mark.seal(owner, &keys[0]);
        let put = |name, bytes| Put { space: KEYS, owner, name, bytes };
        let mut puts = vec![put(DATA, Some(wrapped.as_slice())), put(MARK, Some(sealed.as_slice()))];
        if mark.stage == ResealStage::Done && owner.is_none() && self.run_under_way()? == Some(mark.run) {
            puts.push(put(RUN, None));
        }
        self.inner.put(&puts, Safety::Synced)?;
        self.key_cache.forget(owner);
        Ok(())
    }

    /// The mark of an owner. One that was not encrypted with the newest key is none: it was forged, or it is
    /// older than the key.
    fn mark(&self, owner: Option<ConversationId>, newest: &DataKey) -> Result<Option<ResealMark>> {
        let sealed = blob(self.inner.as_ref(), owner, MARK)?;
        Ok(sealed.and_then(|sealed| ResealMark::open(owner, newest, &sealed).ok()))
    }

    /// The run that was begun and is not over; none when its name does not open.
    ///
    /// The key before the newest opens it in its last step only. After that, this key is there for records
    /// that do not decrypt, and the name may have been put back.
    fn run_under_way(&self) -> Result<Option<RunId>> {
        let Some(sealed) = blob(self.inner.as_ref(), None, RUN)? else { return Ok(None) };
        let Some(keys) = self.keys_at_hand(None)? else { return Ok(None) };
        if let Ok(run) = open_run(&keys[0], &sealed) {
            return Ok(Some(run));
        }
        let before = keys.get(1).and_then(|key| open_run(key, &sealed).ok());
        let last = self.mark(None, &keys[0])?.filter(|mark| mark.stage == ResealStage::Begun);
        Ok(before.filter(|run| last.is_some_and(|mark| mark.run == *run)))
    }

    /// Names a run that begins.
    fn put_run(&self, run: RunId) -> Result<()> {
        let keys = self.keys_at_hand(None)?;
        let keys =
            keys.ok_or_else(|| Error::corrupt("the vault has no key for what belongs to no conversation"))?;
        let sealed = seal_run(run, &keys[0]);
        self.inner.put(&[Put { space: KEYS, owner: None, name: RUN, bytes: Some(&sealed) }], Safety::Synced)
    }
}
