//! Writes that are encrypted before their commit: they are refused when the key was replaced meanwhile.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::backend::{Ask, Backend, Decide, Lists, Prefixes, Rows, Trim, Words, forward_but_commits};
use crate::store::vault::data_key::DataKey;
use crate::store::vault::held::DATA;
use crate::store::vault::key::KeyId;
use crate::store::vault::{KEYS, Sealed};
use crate::store::{Capabilities, Changed, Keeper, Named, Progress, Safety, Space, Stamp, Task};

/// The backend of a vault, for what was encrypted with this key.
pub(super) struct Current<'v> {
    vault: &'v Sealed,
    owner: ConversationId,
    key: KeyId,
}

impl Sealed {
    /// The store inside, for what was encrypted with this key of a conversation. A write is a conflict when the newest is another.
    pub(super) fn inner_for(&self, owner: ConversationId, key: &DataKey) -> Keeper<Current<'_>> {
        Keeper::over(Current { vault: self, owner, key: key.id() })
    }
}

impl Current<'_> {
    fn check(&self, rows: &dyn Rows) -> Result<()> {
        let mut stored = None;
        rows.blobs(KEYS, Some(self.owner), Named::One(DATA), &mut |_, bytes| {
            stored = Some(bytes.to_vec());
            Ok(())
        })?;
        // Where there is no key, there is no conversation either, and whoever decides says so.
        let Some(stored) = stored else { return Ok(()) };
        let now = self.vault.held.unwrapped(Some(self.owner), stored);
        let now = now.map_err(|trouble| trouble.of("the key of the conversation"))?;
        if now.newest().id() == self.key {
            Ok(())
        } else {
            Err(Error::conflict("the key of the conversation was replaced meanwhile"))
        }
    }
}

impl Backend for Current<'_> {
    fn commit<'a>(&self, ask: &Ask<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        self.vault.backend.commit(ask, safety, &mut |rows| {
            self.check(rows)?;
            decide(rows)
        })
    }

    forward_but_commits!(self, self.vault.backend);
}
