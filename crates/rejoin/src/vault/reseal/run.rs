//! Re-encrypts a whole vault: replaces every data key, one owner after the other. An interrupted run can be
//! continued.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::sealed::keys::key_cache::RUN;
use crate::store::sealed::records::mark::{RunId, random_run};
use crate::store::sealed::{KEYS, Sealed};
use crate::store::{BlobNames, ListQuery, Put, Read, Safety, Space};
use crate::vault::reseal::Renewed;
use crate::vault::slots::keys::Keys;

/// How many bytes are re-encrypted in a fraction of a second.
const MUCH: usize = 8 << 20;

/// What a re-encryption did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reencrypted {
    /// How many conversations have a new data key.
    pub conversations: u64,
    /// How many of them have records that do not decrypt; these stay as they were, with their key.
    pub damaged: u64,
}

impl Keys {
    /// Re-encrypts every record with a new data key. `report` is called with how many conversations are done,
    /// and how many there are.
    ///
    /// The vault stays in use, and its keys may be rotated. If it is interrupted, everything can be read, and
    /// the next call goes on where this one ended.
    pub fn reencrypt(&self, report: &mut dyn FnMut(u64, u64)) -> Result<Reencrypted> {
        self.reencrypt_all(report).map_err(|error| error.during("seal everything anew"))
    }

    fn reencrypt_all(&self, report: &mut dyn FnMut(u64, u64)) -> Result<Reencrypted> {
        let inner = self.inner.as_ref();
        let vault = Sealed::open(Arc::clone(&self.backend), Arc::new(self.holder.clone()))?;
        let run = self.begin_run(&vault)?;
        // All at once: one that grows while others are listed would be passed over. Those
        // that begin from now on have new keys.
        let rows = inner.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?.items;
        let all = rows.len() as u64;
        let mut sealed = Reencrypted::default();
        report(0, all);
        for (done, row) in (1..).zip(&rows) {
            sealed.add(self.seal_owner(&vault, Some(row.id), run)?, Some(row.id));
            report(done, all);
        }
        // Last: the run ends with the key that its name is encrypted with.
        sealed.add(self.seal_owner(&vault, None, run)?, None);
        // It gets no new key where too many are kept for records that do not decrypt, and the run is over.
        let _turn = self.take_turn()?;
        if vault.run_under_way()? == Some(run) {
            inner.put(&[Put { space: KEYS, owner: None, name: RUN, bytes: None }], Safety::Synced)?;
        }
        Ok(sealed)
    }

    /// Re-encrypts what belongs to no conversation, such as lines of the prompt. Returns what kept its key:
    /// all of it if that would take long, or records that do not decrypt.
    pub(crate) fn reencrypt_unowned(&self, vault: &Sealed) -> Result<Option<&'static str>> {
        if is_much(self.inner.as_ref())? {
            return Ok(Some("what belongs to no conversation kept its key, because it is much"));
        }
        let renewed = self.seal_owner(vault, None, random_run())?;
        Ok((renewed == Renewed::Damaged).then_some("records that do not open kept their key"))
    }

    /// Re-encrypts one conversation, given by inner name.
    pub(crate) fn reencrypt_one(&self, vault: &Sealed, inner: ConversationId) -> Result<()> {
        self.seal_owner(vault, Some(inner), random_run()).map(drop)
    }

    /// One at a time, so that others who change keys get their turn.
    fn seal_owner(&self, vault: &Sealed, owner: Option<ConversationId>, run: RunId) -> Result<Renewed> {
        let _turn = self.take_turn()?;
        vault.reencrypt(owner, run).map_err(|error| match owner.and_then(|inner| vault.outer_name(inner)) {
            Some(id) => error.during(format!("seal conversation `{id}`")),
            None => error,
        })
    }

    /// The run that was interrupted, or a new one.
    fn begin_run(&self, vault: &Sealed) -> Result<RunId> {
        let _turn = self.take_turn()?;
        vault.key_cache.renew()?;
        if let Some(run) = vault.run_under_way()? {
            return Ok(run);
        }
        let run = random_run();
        vault.put_run(run)?;
        Ok(run)
    }
}

/// True when what belongs to no conversation is too much to re-encrypt after every purge.
fn is_much(inner: &dyn Read) -> Result<bool> {
    let mut size = 0;
    for space in Space::ALL {
        let looked = inner.get(space, None, BlobNames::ALL, &mut |_, bytes| {
            size += bytes.len();
            if size > MUCH { Err(Error::new(ErrorKind::Invalid, "that is enough")) } else { Ok(()) }
        });
        if size > MUCH {
            return Ok(true);
        }
        looked?;
    }
    Ok(false)
}

impl Reencrypted {
    fn add(&mut self, renewed: Renewed, owner: Option<ConversationId>) {
        if owner.is_some() && renewed != Renewed::Gone {
            self.conversations += 1;
        }
        self.damaged += u64::from(renewed == Renewed::Damaged);
    }
}
