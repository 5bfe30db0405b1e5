//! The blobs of an owner.

use crate::error::Result;
use crate::store::vault::anew::piece::{At, Mode, Piece};
use crate::store::vault::blob::BLOB;
use crate::store::vault::data_key::Use;
use crate::store::vault::held::blob;
use crate::store::vault::named::{NAME, NAME_NAME};
use crate::store::vault::names::{BLOB_NAME, owner_bytes, space_byte};
use crate::store::vault::row::{TIP, TIP_NAME};
use crate::store::{Named, Put, Safety, Space};

/// How many bytes are stored with one write.
const BATCH: usize = 4 << 20;

impl Piece<'_> {
    /// Seals the blobs of the owner, but for search segments: they are made anew.
    pub(super) fn blobs(&mut self) -> Result<()> {
        for space in Space::ALL {
            let mut old = Vec::new();
            self.vault.inner.get(space, self.owner, Named::ALL, &mut |name, bytes| {
                if name.len() == BLOB_NAME && self.is_old(bytes) {
                    old.push(name.to_vec());
                }
                Ok(())
            })?;
            if self.mode == Mode::Look {
                self.sealed += old.len() as u64;
            } else {
                self.seal_blobs(space, &old)?;
            }
        }
        self.own()
    }

    /// A batch at a time, during which nobody writes: what somebody replaced or erased must not come back.
    fn seal_blobs(&mut self, space: Space, names: &[Vec<u8>]) -> Result<()> {
        let mut left = names.iter();
        while left.len() > 0 {
            let _alone = self.turns.alone()?;
            let (mut sealed, mut size) = (Vec::new(), 0);
            for name in left.by_ref() {
                let mut found = None;
                self.vault.inner.get(space, self.owner, Named::One(name), &mut |_, bytes| {
                    found = Some(bytes.to_vec());
                    Ok(())
                })?;
                let place: [&[u8]; 3] = [&[space_byte(space)], &owner_bytes(self.owner), name];
                let at = At(Use::Blobs, BLOB, &place);
                let again = found.map_or(Ok(None), |envelope| self.sealed(at, &envelope))?;
                size += again.as_ref().map_or(0, Vec::len);
                sealed.extend(again.map(|bytes| (name, bytes)));
                if size >= BATCH {
                    break;
                }
            }
            let puts: Vec<Put<'_>> = sealed
                .iter()
                .map(|(name, bytes)| Put { space, owner: self.owner, name, bytes: Some(bytes) })
                .collect();
            if !puts.is_empty() {
                self.vault.inner.put(&puts, Safety::Synced)?;
            }
        }
        Ok(())
    }

    /// The time of last activity, where messages were removed, and what the conversation is called.
    fn own(&mut self) -> Result<()> {
        let Some(inner) = self.owner else { return Ok(()) };
        let _alone = self.turns.alone()?;
        for (name, domain) in [(TIP_NAME, TIP), (NAME_NAME, NAME)] {
            let Some(own) = blob(self.vault.inner.as_ref(), self.owner, name)? else { continue };
            if let Some(own) = self.sealed(At(Use::About, domain, &[inner.as_bytes()]), &own)? {
                let put = Put { space: Space::Key, owner: self.owner, name, bytes: Some(&own) };
                self.vault.inner.put(&[put], Safety::Synced)?;
            }
        }
        Ok(())
    }
}
