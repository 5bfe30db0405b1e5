//! The key of the hashes in markers: random, one for each store, kept in it. A vault has one of its own, made of its keys, so
//! that the hashes mean nothing outside.

use std::fmt;

use aws_lc_rs::hmac;

use crate::error::Result;
use crate::ops::redact::find::Rule;
use crate::store::{Named, Put, Safety, Space, Store, TOKEN_KEY};

/// What the key is stored under.
pub(crate) const KEY_NAME: &[u8] = b"redact.key";

/// So many bytes of a hash are told: enough to tell the secrets of one store apart.
const TOLD: usize = 4;

/// The key of the hashes in markers.
#[derive(Clone)]
pub(crate) struct HashKey([u8; 32]);

impl HashKey {
    /// A key of these bytes.
    pub(crate) const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of a store, which is made of `random` when it has none.
    ///
    /// Two who make it at once agree on the one that is there afterwards.
    pub(super) fn of(store: &dyn Store, random: [u8; 32]) -> Result<Self> {
        if let Some(key) = Self::stored(store)? {
            return Ok(key);
        }
        let put = Put { space: Space::State, owner: None, name: KEY_NAME, bytes: Some(&random) };
        store.put(&[put], Safety::Synced)?;
        Ok(Self::stored(store)?.unwrap_or(Self(random)))
    }

    fn stored(store: &dyn Store) -> Result<Option<Self>> {
        let mut key = None;
        for (space, name) in [(Space::Key, TOKEN_KEY), (Space::State, KEY_NAME)] {
            if key.is_none() {
                store.get(space, None, Named::One(name), &mut |_, bytes| {
                    key = bytes.try_into().ok().map(Self);
                    Ok(())
                })?;
            }
        }
        Ok(key)
    }

    /// What is told of a secret. Numbers and addresses are the same however they are written.
    pub(super) fn hash(&self, rule: Rule, secret: &str) -> String {
        let same: String = match rule {
            Rule::Named("phone" | "card") => secret.chars().filter(char::is_ascii_digit).collect(),
            Rule::Named("email") => secret.to_ascii_lowercase(),
            _ => secret.to_owned(),
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let hash = hmac::sign(&key, same.as_bytes());
        hash.as_ref()[..TOLD].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
