//! Sealed blobs under hashed names.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::vault::VaultStore;
use crate::store::vault::data_key::{DataKey, Use};
use crate::store::vault::envelope::Broken;
use crate::store::vault::failed::{MOST_COPIED, to_error};
use crate::store::vault::held::{DataKeys, Ring, Trouble};
use crate::store::vault::names::{BLOB_NAME, Names, owner_bytes, space_byte};
use crate::store::vault::quarantine::Record;
use crate::store::vault::text::to_text;
use crate::store::{Named, Put, Read, Safety, Space, VisitBlob};

pub(super) const BLOB: &str = "rejoin/vault/blob/1\n";

/// How many bytes of blobs are kept while they are put in order. What is beyond is read again, one by one.
const AT_ONCE: usize = 16 << 20;

/// A blob to store, sealed.
pub(super) struct SealedPut {
    space: Space,
    owner: Option<ConversationId>,
    name: [u8; BLOB_NAME],
    bytes: Option<Vec<u8>>,
}

impl SealedPut {
    /// Seals a blob of an owner, who is named by the inner name, with a key that is not asked for to erase one.
    pub(super) fn seal<'k>(
        put: &Put<'_>,
        names: &Names,
        key: impl FnOnce(Option<ConversationId>) -> Result<&'k DataKey>,
    ) -> Result<Self> {
        let owner = put.owner.map(|owner| names.conversation(owner));
        let name = names.blob(put.space, owner, put.name);
        let bytes = put.bytes.map(|bytes| {
            let length = u32::try_from(put.name.len()).expect("a name is short").to_be_bytes();
            let place: [&[u8]; 3] = [&[space_byte(put.space)], &owner_bytes(owner), &name];
            Ok::<_, Error>(key(owner)?.seal(Use::Blobs, BLOB, &place, &[&length, put.name, bytes]))
        });
        Ok(Self { space: put.space, owner, name, bytes: bytes.transpose()? })
    }

    pub(super) fn as_put(&self) -> Put<'_> {
        Put { space: self.space, owner: self.owner, name: &self.name, bytes: self.bytes.as_deref() }
    }
}

/// The name of a blob as it is told.
pub(super) fn to_hex(name: &[u8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens a blob as the inner store shows it: its name and its bytes.
fn open<'e>(
    ring: &mut Ring<'_>,
    space: Space,
    owner: Option<ConversationId>,
    name: &[u8],
    envelope: &'e mut [u8],
) -> Result<(&'e [u8], &'e [u8]), Trouble> {
    let place: [&[u8]; 3] = [&[space_byte(space)], &owner_bytes(owner), name];
    let inside = ring.open(Use::Blobs, BLOB, &place, envelope)?;
    let (length, rest) = inside.split_first_chunk().ok_or(Broken::Inside)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Broken::Inside)?;
    Ok(rest.split_at_checked(length).ok_or(Broken::Inside)?)
}

impl VaultStore {
    /// Stores blobs, each sealed with the key of its owner.
    pub(super) fn put_sealed(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        let workspace = self.held.workspace();
        let names = workspace.names();
        let held = self.held.hold()?;
        let mut used: Vec<(Option<ConversationId>, Arc<DataKeys>)> = Vec::new();
        for blob in blobs.iter().filter(|blob| blob.bytes.is_some()) {
            let owner = blob.owner.map(|owner| names.conversation(owner));
            if !used.iter().any(|(known, _)| *known == owner) {
                used.push((owner, self.keys_of(blob.owner, owner)?));
            }
        }
        let key = |owner: Option<ConversationId>| {
            let keys = used.iter().find(|(known, _)| *known == owner);
            Ok(keys.map(|(_, keys)| keys.newest()).expect("the keys of all owners were just looked up"))
        };
        let sealed: Vec<SealedPut> =
            blobs.iter().map(|blob| SealedPut::seal(blob, names, key)).collect::<Result<_>>()?;
        let puts: Vec<Put<'_>> = sealed.iter().map(SealedPut::as_put).collect();
        self.inner.put(&puts, safety).map_err(|error| self.renamed_owners(error, blobs))?;
        self.held.confirm(used.iter().map(|(owner, keys)| (*owner, keys.as_ref())), held)
    }

    /// The error in the words of those who asked.
    pub(super) fn renamed_owners(&self, error: Error, blobs: &[Put<'_>]) -> Error {
        blobs.iter().filter_map(|blob| blob.owner).fold(error, |error, owner| self.renamed(error, owner, &[]))
    }

    pub(super) fn get_opened(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let workspace = self.held.workspace();
        let names = workspace.names();
        let inner = owner.map(|owner| names.conversation(owner));
        if let (Some(inner), Some(owner)) = (inner, owner) {
            self.learn_name(inner, owner);
        }
        match named {
            Named::One(name) => {
                let hashed = names.blob(space, inner, name);
                self.get_inner(space, inner, Named::One(&hashed), visit)
            }
            Named::Beginning(prefix) => {
                let start = names.beginning(space, inner, prefix);
                let start = start.as_ref().map_or(&[][..], <[u8; 16]>::as_slice);
                let (mut found, mut held) = (Vec::new(), 0);
                let got = self.get_inner(space, inner, Named::Beginning(start), &mut |name, bytes| {
                    if name.starts_with(prefix) {
                        held += bytes.len();
                        found.push((name.to_vec(), (held <= AT_ONCE).then(|| bytes.to_vec())));
                    }
                    Ok(())
                });
                if let Err(error) = &got
                    && error.kind() != ErrorKind::Corrupt
                {
                    return got;
                }
                found.sort();
                found.iter().try_for_each(|(name, bytes)| match bytes {
                    Some(bytes) => visit(name, bytes),
                    None => self.get(space, owner, Named::One(name), visit),
                })?;
                got
            }
        }
    }

    /// Opens blobs in the order of their inner names. One that does not open is passed over, and named at the end.
    fn get_inner(
        &self,
        space: Space,
        inner: Option<ConversationId>,
        named: Named<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let mut ring = self.held.ring(inner);
        let (mut failed, mut told) = (Vec::new(), Vec::new());
        // A copy of what does not open is made of everything but the copies, and what tells of them.
        let is_of_interest = !matches!(space, Space::Quarantine | Space::Notice);
        self.inner.get(space, inner, named, &mut |name, bytes| {
            if name.len() != BLOB_NAME {
                // The vault's own.
                return Ok(());
            }
            let mut envelope = bytes.to_vec();
            let why = match open(&mut ring, space, inner, name, &mut envelope) {
                Ok((name, bytes)) => return visit(name, bytes),
                Err(Trouble::Failed(error)) => return Err(error),
                Err(Trouble::Broken(why)) => why,
            };
            let hashed = to_hex(name);
            let what = format!("the blob `{hashed}` of space {}", space.number());
            told.push(Trouble::Broken(why).of(&what).to_string());
            if is_of_interest && failed.len() < MOST_COPIED {
                failed.push((hashed, to_text(bytes), why));
            }
            Ok(())
        })?;
        for (name, sealed, why) in failed {
            let record = Record { what: "blob", space: Some(space), inner, name, sealed: &sealed, why };
            self.quarantine(&record);
        }
        to_error(told)
    }

    /// The keys of an owner; one who is not there is not found.
    pub(super) fn keys_of(
        &self,
        owner: Option<ConversationId>,
        inner: Option<ConversationId>,
    ) -> Result<Arc<DataKeys>> {
        let keys = self.held.keys(inner);
        keys.map_err(|trouble| match (trouble, owner, inner) {
            (Trouble::Broken(Broken::NoKey), Some(owner), Some(inner)) if !self.is_there(inner) => {
                Error::not_found(format!("there is no conversation `{owner}`"))
            }
            (trouble, Some(owner), _) => trouble.of(&format!("the key of conversation `{owner}`")),
            (trouble, None, _) => trouble.of("the key of what belongs to no conversation"),
        })
    }
}
