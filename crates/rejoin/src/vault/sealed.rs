//! A sealed store as a vault: what [`VaultAdmin`] asks of it, with the keys that look after it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::sealed::{QUARANTINE, ReplaceKeys, Sealed};
use crate::store::{Put, Safety};
use crate::vault::{Keys, Quarantined, VaultAdmin, VaultStore};

impl VaultAdmin for VaultStore {
    fn token_key(&self) -> [u8; 32] {
        *self.backend().key_cache.workspace().token_key().expose()
    }

    fn replaces_keys(&self) -> bool {
        self.backend().keys.is_some()
    }

    fn replace_keys(&self, patience: Duration) -> Result<Vec<String>> {
        let vault = self.backend();
        vault.keys.as_ref().map_or(Ok(Vec::new()), |keys| keys.replace(vault, patience))
    }

    fn replace_key_of(&self, id: ConversationId, patience: Duration) -> Result<()> {
        let vault = self.backend();
        let inner = vault.key_cache.workspace().names().conversation(id);
        vault.keys.as_ref().map_or(Ok(()), |keys| keys.replace_of(vault, inner, patience))
    }

    fn quarantined(&self) -> Result<Vec<Quarantined>> {
        let vault = self.backend();
        vault.settled(vault.in_quarantine())
    }

    fn discard(&self, records: &[Quarantined]) -> Result<()> {
        let vault = self.backend();
        let copies: BTreeSet<Vec<u8>> = records.iter().map(|record| record.name.clone()).collect();
        // A copy stays as long as its original does, so the originals go first.
        let staying = vault.settled(vault.erase_lost(&copies))?;
        let erased = |name| Put { space: QUARANTINE, owner: None, name, bytes: None };
        let puts: Vec<Put<'_>> = copies.difference(&staying).map(|name| erased(name.as_slice())).collect();
        if puts.is_empty() { Ok(()) } else { vault.put(&puts, Safety::Synced) }
    }
}

impl VaultStore {
    /// The same, which can replace its keys: those that are given are of the same backend.
    #[must_use]
    pub fn with_keys(self, keys: Keys) -> Self {
        let mut sealed = self.into_backend();
        sealed.keys = Some(Box::new(keys));
        Self::over(sealed)
    }
}

impl Sealed {
    /// What was copied, the oldest first.
    fn in_quarantine(&self) -> Result<Vec<Quarantined>> {
        let mut found = Vec::new();
        self.each_kept(&mut |name, kept| {
            found.push(Quarantined {
                at: kept.at,
                what: kept.what,
                why: kept.why,
                conversation: kept.conversation,
                bytes: kept.record.len() as u64,
                is_lost: kept.is_lost,
                name: name.to_vec(),
            });
        })?;
        found.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
        Ok(found)
    }
}

impl ReplaceKeys for Keys {
    fn replace(&self, vault: &Sealed, patience: Duration) -> Result<Vec<String>> {
        let keys = self.clone().with_patience(patience);
        // In this order: a key that goes is never wrapped with one of those that stay.
        let left = vault.settled(keys.reencrypt_unowned(vault))?;
        let rotated = keys.rotate(Time::now())?;
        if let Some(slot) = rotated.unreached.first() {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("the place of the secret of slot `{slot}` did not answer, so it was not replaced"),
            ));
        }
        let kept = rotated.kept.iter().map(|slot| format!("slot `{slot}` kept its secret"));
        Ok(kept.chain(left.map(str::to_owned)).collect())
    }

    fn replace_of(&self, vault: &Sealed, inner: ConversationId, patience: Duration) -> Result<()> {
        vault.settled(self.clone().with_patience(patience).reencrypt_one(vault, inner))
    }
}
