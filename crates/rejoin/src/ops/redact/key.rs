//! The key of the hashes in markers: random, kept outside of the store by whoever can, else in it, one for
//! each store. Whoever redacts for a vault sets the key that this has of its own.

use std::fmt;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::ops::redact::find::SecretRule;
use crate::store::{BlobNames, Put, Safety, Space, Store, Task};

/// What the key is stored under.
pub(crate) const KEY_NAME: &[u8] = b"redact.key";

/// So many bytes of a hash are told: enough to tell the secrets of one store apart.
const TOLD: usize = 4;

/// How long erasing a key from the store's log may take.
const ERASING: Duration = Duration::from_millis(200);

/// Keeps the key outside of a store: given a key, returns the one that is kept there, which
/// is the given one when there was none.
pub(crate) type KeepKey = dyn Fn([u8; 32]) -> Result<[u8; 32]> + Send + Sync;

/// The key of the hashes in markers.
#[derive(Clone)]
pub(crate) struct HashKey([u8; 32]);

/// How a key was come by.
#[derive(Debug)]
pub(super) enum Had {
    /// It was there.
    Found(HashKey),
    /// It was made. Another who looked before it was there may replace it, so
    /// the next time it is looked up again.
    Made(HashKey),
}

impl HashKey {
    /// A key of these bytes.
    pub(crate) const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a store, which is made of `random` when it has none.
    ///
    /// Two who make it at once agree on the one that is there afterwards, from the second secret on.
    pub(super) fn of(store: &dyn Store, random: [u8; 32]) -> Result<Had> {
        if let Some(key) = Self::stored(store)? {
            return Ok(Had::Found(key));
        }
        let put = Put { space: Space::State, owner: None, name: KEY_NAME, bytes: Some(&random) };
        store.put(&[put], Safety::Synced)?;
        Ok(Had::Made(Self::stored(store)?.unwrap_or(Self(random))))
    }

    /// The key that is kept outside. One that the store has goes there, or away when there is another.
    pub(crate) fn outside(store: &dyn Store, keep: &KeepKey, random: [u8; 32]) -> Result<Self> {
        let own = Self::stored(store)?;
        // It is kept outside before it goes here, so that a crash in between leaves both.
        let key = keep(own.as_ref().map_or(random, |own| own.0))?;
        if own.is_some() {
            let put = Put { space: Space::State, owner: None, name: KEY_NAME, bytes: None };
            store.put(&[put], Safety::Synced)?;
            // It still stands in the store's log.
            store.maintain(Task::Checkpoint, ERASING)?;
        }
        Ok(Self(key))
    }

    /// True when the key lies in the store itself, beside what it was made for.
    pub(crate) fn is_inside(store: &dyn Store) -> Result<bool> {
        Ok(Self::stored(store)?.is_some())
    }

    fn stored(store: &dyn Store) -> Result<Option<Self>> {
        let mut key = None;
        store.get(Space::State, None, BlobNames::One(KEY_NAME), &mut |_, bytes| {
            key = bytes.try_into().ok().map(Self);
            Ok(())
        })?;
        Ok(key)
    }

    /// What is told of a secret. Numbers and addresses are the same however they are written.
    pub(super) fn hash(&self, rule: SecretRule, secret: &str) -> String {
        let same: String = match rule {
            SecretRule::Named("phone" | "card") => secret.chars().filter(char::is_ascii_digit).collect(),
            SecretRule::Named("email") => secret.to_ascii_lowercase(),
            _ => secret.to_owned(),
        };
        let hash = hmac(&self.0, same.as_bytes());
        let digits = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        // Digits alone may be a number that somebody said, so there is a letter among them.
        let mut told = hash.chunks_exact(TOLD).map(digits);
        let is_hash = |told: &String| told.contains(|letter: char| letter.is_ascii_alphabetic());
        told.find(is_hash).unwrap_or_else(|| digits(&hash[..TOLD]))
    }
}

/// HMAC with SHA-256, of a key that is no longer than a block.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        Sha256::new_with_prefix(block)
    };
    let inner = padded(0x36).chain_update(text).finalize();
    padded(0x5c).chain_update(inner).finalize().into()
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyed_hash_is_that_of_the_published_vectors() {
        let hex = |bytes: [u8; 32]| bytes.map(|byte| format!("{byte:02x}")).concat();

        // RFC 4231, the first two cases.
        assert_eq!(
            [hmac(&[0x0b; 20], b"Hi There"), hmac(b"Jefe", b"what do ya want for nothing?")].map(hex),
            [
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ]
        );
    }
}
