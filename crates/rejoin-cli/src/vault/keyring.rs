//! The keyring of the system as a place for the secrets of slots.

use rejoin::vault::{Secret, SecretStore, SlotId, VaultId};
use rejoin::{Error, ErrorKind, Result};

use crate::provider::{Keyring, KeyringEntry, KeyringReach, Unusable};
use crate::surroundings::Surroundings;

/// Keeps secrets in the keyring, as hexadecimal text.
#[derive(Debug)]
pub(super) struct KeyringStore {
    keyring: Keyring,
}

impl KeyringStore {
    pub(super) fn of(surroundings: &Surroundings) -> Self {
        Self { keyring: Keyring::of(surroundings) }
    }
}

impl SecretStore for KeyringStore {
    fn get(&self, vault: VaultId, slot: SlotId) -> Result<Option<Secret>> {
        // Where there is no keyring, the secret is on another machine, and nothing is to be waited for.
        let kind_of = |unusable: &Unusable| match unusable.reach {
            KeyringReach::Absent => ErrorKind::Unsupported,
            KeyringReach::Silent => ErrorKind::Unavailable,
        };
        let read = self.keyring.read(&KeyringEntry::slot(vault, slot));
        let Some(text) = read.map_err(|unusable| as_error(kind_of(&unusable), unusable))? else {
            return Ok(None);
        };
        let text = Secret::from(text);
        let bytes = text.as_text().and_then(from_hex);
        let secret = bytes.map(Secret::new);
        secret.map(Some).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, format!("the keyring does not hold a secret for slot `{slot}`"))
        })
    }

    fn set(&self, vault: VaultId, slot: SlotId, secret: &Secret) -> Result<()> {
        self.keyring.write(&KeyringEntry::slot(vault, slot), to_hex(secret)).map_err(unavailable)
    }

    fn remove(&self, vault: VaultId, slot: SlotId) -> Result<()> {
        self.keyring.remove(&KeyringEntry::slot(vault, slot)).map(drop).map_err(unavailable)
    }
}

fn unavailable(unusable: Unusable) -> Error {
    as_error(ErrorKind::Unavailable, unusable)
}

fn as_error(kind: ErrorKind, unusable: Unusable) -> Error {
    Error::new(kind, unusable.attempt).because(unusable.why)
}

/// Written into one place that is large enough, so that no copy of it is left behind; a [`Secret`] is wiped.
fn to_hex(secret: &Secret) -> Secret {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).expect("it is below sixteen");
    let mut text = String::with_capacity(2 * secret.as_bytes().len());
    for byte in secret.as_bytes() {
        text.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    Secret::from(text)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_the_keyring_s_text() {
        let secret = Secret::new((0..=255).collect());

        let text = to_hex(&secret);

        assert_eq!(text.as_text().and_then(from_hex), Some(secret.as_bytes().to_vec()));
    }
}
