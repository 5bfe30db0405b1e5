//! What a conversation is called, sealed a second time beside its header, so that a
//! header that is lost can be written again.
//!
//! Its inner name does not tell. What else the header said is lost: the title, the project, how it goes on.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::to_text;
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{OpenError, blob};
use crate::store::sealed::quarantine::BrokenRecord;
use crate::store::sealed::records::blob::to_hex;
use crate::store::sealed::{KEYS, Sealed};

pub(crate) const NAME: &str = "rejoin/vault/name/1\n";

/// The blob that holds it.
pub(crate) const NAME_NAME: &[u8] = b"name";

/// What never changes about a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedName {
    pub(crate) id: ConversationId,
    pub(crate) created: i64,
}

/// Seals what a conversation is called.
pub(crate) fn seal_name(id: ConversationId, created: Time, key: &DataKey, inner: ConversationId) -> Vec<u8> {
    let name = SealedName { id, created: created.as_micros() };
    let text = serde_json::to_vec(&name).expect("a name is plain");
    key.seal(KeyUse::About, NAME, &[inner.as_bytes()], &[&text])
}

impl Sealed {
    /// Opens what a conversation is called.
    pub(crate) fn open_name(
        &self,
        inner: ConversationId,
        mut envelope: Vec<u8>,
    ) -> Result<SealedName, OpenError> {
        let mut owner_keys = self.key_cache.owner_keys(Some(inner));
        let inside = owner_keys.open(KeyUse::About, NAME, &[inner.as_bytes()], &mut envelope)?;
        let name: SealedName = serde_json::from_slice(inside).map_err(|_| Broken::Inside)?;
        if self.key_cache.workspace().names().conversation(name.id) != inner {
            return Err(Broken::Inside.into());
        }
        Ok(name)
    }

    /// What is wrong with the name of a conversation. Nobody else looks at it before it is needed.
    pub(crate) fn check_name(&self, inner: ConversationId) -> Result<Option<String>> {
        let Some(envelope) = blob(self.inner.as_ref(), Some(inner), NAME_NAME)? else { return Ok(None) };
        let sealed = to_text(&envelope);
        match self.open_name(inner, envelope) {
            Ok(_) => Ok(None),
            Err(OpenError::Failed(error)) => Err(error),
            Err(OpenError::Broken(why)) => {
                let (what, space, name) = ("blob", Some(KEYS), to_hex(NAME_NAME));
                self.quarantine(BrokenRecord { what, space, inner: Some(inner), name, sealed, why });
                Ok(Some(format!("its name does not open: {why}")))
            }
        }
    }
}
