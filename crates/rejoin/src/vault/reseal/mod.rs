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

mod blobs;
mod conversation;
mod mark;
mod pass;
mod run;

pub use run::Reencrypted;

use mark::{ResealMark, ResealStage, RunId};

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key_cache::{DATA, MARK, blob};
use crate::store::sealed::keys::workspace::MOST_KEYS;
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
        match ResealMark::read(self.inner.as_ref(), owner)?
            .filter(|mark| mark.run == run)
            .map(|mark| mark.stage)
        {
            Some(ResealStage::Done) => return Ok(Renewed::Done),
            Some(ResealStage::Begun) => {}
            // Each time before, there were records that do not open.
            None if keys.len() == MOST_KEYS => return Ok(Renewed::Damaged),
            None => keys.insert(0, DataKey::random()),
        }
        self.put_keys(owner, &keys, ResealMark::new(run, ResealStage::Begun))?;
        let damaged = self.reencrypt_until_done(owner, &keys)?;
        if damaged == 0 {
            keys.truncate(1);
        }
        self.put_keys(owner, &keys, ResealMark::new(run, ResealStage::Done))?;
        Ok(if damaged == 0 { Renewed::Done } else { Renewed::Damaged })
    }

    /// Makes passes until one finds nothing to re-encrypt. Returns how many records of the last one do not
    /// decrypt.
    fn reencrypt_until_done(&self, owner: Option<ConversationId>, keys: &[DataKey]) -> Result<u64> {
        for _ in 0..ATTEMPTS {
            let mut pass = ResealPass::new(self, owner, &keys[0]);
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

    /// Stores the keys of an owner, and how far it is, in one write.
    fn put_keys(&self, owner: Option<ConversationId>, keys: &[DataKey], mark: ResealMark) -> Result<()> {
        let workspace = self.key_cache.workspace();
        let keys: Vec<u8> = keys.iter().flat_map(|key| workspace.wrap(key, owner)).collect();
        self.inner.put(&[own(owner, DATA, &keys), own(owner, MARK, &mark.to_bytes())], Safety::Synced)?;
        self.key_cache.forget(owner);
        Ok(())
    }
}

const fn own<'a>(owner: Option<ConversationId>, name: &'a [u8], bytes: &'a [u8]) -> Put<'a> {
    Put { space: KEYS, owner, name, bytes: Some(bytes) }
}
