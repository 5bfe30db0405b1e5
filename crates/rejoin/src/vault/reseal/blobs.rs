//! The pass over an owner's blobs; search segments are rebuilt instead.

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::backend::{Batch, CommitHint, Rows};
use crate::store::sealed::batch::Attempts;
use crate::store::sealed::keys::data_key::KeyUse;
use crate::store::sealed::keys::key_cache::RUN;
use crate::store::sealed::keys::names::{BLOB_NAME, owner_bytes, space_byte};
use crate::store::sealed::records::blob::BLOB;
use crate::store::sealed::records::mark::RUN_CONTEXT;
use crate::store::sealed::records::named::{NAME, NAME_NAME};
use crate::store::sealed::search::fill::{REACHED, REACHED_CONTEXT};
use crate::store::sealed::{KEYS, SEGMENTS};
use crate::store::{BlobNames, Put, Safety, Space};
use crate::vault::reseal::pass::{At, ResealPass};

/// How many bytes are stored with one write.
const BATCH: usize = 4 << 20;

/// A blob that was encrypted again: its space, its inner name, its bytes.
type Resealed = (Space, Vec<u8>, Vec<u8>);

/// Re-encrypts blobs of a snapshot.
type Reseal<'r, 'v> = dyn FnMut(&mut ResealPass<'v>, &dyn Rows) -> Result<Vec<Resealed>> + 'r;

impl<'v> ResealPass<'v> {
    /// Re-encrypts the blobs of the owner, except search segments: they are rebuilt.
    pub(crate) fn blobs(&mut self) -> Result<()> {
        for space in Space::ALL {
            let mut old = Vec::new();
            self.vault.inner.get(space, self.owner, BlobNames::ALL, &mut |name, bytes| {
                if name.len() == BLOB_NAME && self.is_old(bytes) {
                    old.push(name.to_vec());
                }
                Ok(())
            })?;
            self.seal_blobs(space, &old)?;
        }
        self.own()
    }

    /// A batch at a time, each read and written in one commit: what somebody
    /// replaced or erased must not come back.
    fn seal_blobs(&mut self, space: Space, names: &[Vec<u8>]) -> Result<()> {
        let mut left = names;
        while !left.is_empty() {
            let mut looked = 0;
            self.reseal(&mut |pass, rows| {
                let (mut sealed, mut size) = (Vec::new(), 0);
                looked = 0;
                for name in left {
                    let place: [&[u8]; 3] = [&[space_byte(space)], &owner_bytes(pass.owner), name];
                    let again = pass.sealed_blob(rows, space, name, At(KeyUse::Blobs, BLOB, &place))?;
                    size += again.as_ref().map_or(0, Vec::len);
                    sealed.extend(again.map(|bytes| (space, name.clone(), bytes)));
                    looked += 1;
                    if size >= BATCH {
                        break;
                    }
                }
                Ok(sealed)
            })?;
            left = &left[looked..];
        }
        Ok(())
    }

    /// What the vault stores for itself.
    fn own(&mut self) -> Result<()> {
        let Some(inner) = self.owner else { return self.unowned() };
        self.reseal(&mut |pass, rows| {
            let at = At(KeyUse::About, NAME, &[inner.as_bytes()]);
            let own = pass.sealed_blob(rows, KEYS, NAME_NAME, at)?;
            Ok(own.map(|bytes| (KEYS, NAME_NAME.to_vec(), bytes)).into_iter().collect())
        })
    }

    /// What the vault stores for itself beside conversations. What does not decrypt there says nothing, so no
    /// key is kept for it.
    fn unowned(&mut self) -> Result<()> {
        let own = [
            (SEGMENTS, REACHED, At(KeyUse::Blobs, REACHED_CONTEXT, &[])),
            (KEYS, RUN, At(KeyUse::About, RUN_CONTEXT, &[])),
        ];
        self.reseal(&mut |pass, rows| {
            let mut again = Vec::new();
            for (space, name, at) in own {
                let Some(envelope) = one(rows, space, None, name)? else { continue };
                let Some(inside) = pass.opened(at, &envelope)? else { continue };
                // The name of this run goes with the key that it is encrypted with.
                if name != RUN || inside != pass.run {
                    again.extend(pass.sealed(at, &envelope)?.map(|bytes| (space, name.to_vec(), bytes)));
                }
            }
            Ok(again)
        })
    }

    /// Stores the blobs that `seal` makes of those that its commit reads.
    fn reseal(&mut self, seal: &mut Reseal<'_, 'v>) -> Result<()> {
        let attempts = Attempts::new();
        let (vault, owner) = (self.vault, self.owner);
        let hint = CommitHint { attempt: "encrypt blobs again", ..CommitHint::default() };
        vault.backend.commit(&hint, Safety::Synced, &mut |rows| {
            let sealed = attempts.keep(seal(self, rows)?);
            let puts = sealed.iter().map(|(space, name, bytes)| Put {
                space: *space,
                owner,
                name,
                bytes: Some(bytes),
            });
            let blobs = puts.collect();
            Ok(Batch { blobs, ..Batch::NOTHING })
        })
    }

    /// A blob of the owner, encrypted again; none when it need not be, or is not there.
    fn sealed_blob(
        &mut self,
        rows: &dyn Rows,
        space: Space,
        name: &[u8],
        at: At<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let found = one(rows, space, self.owner, name)?;
        found.map_or(Ok(None), |envelope| self.sealed(at, &envelope))
    }
}

/// One blob of a snapshot.
fn one(rows: &dyn Rows, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    rows.blobs(space, owner, BlobNames::One(name), &mut |_, bytes| {
        found = Some(bytes.to_vec());
        Ok(())
    })?;
    Ok(found)
}
