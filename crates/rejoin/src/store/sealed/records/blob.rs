//! Sealed blobs under hashed names.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{Batch, CommitHint};
use crate::store::sealed::failed::{MOST_COPIED, to_error};
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::to_text;
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{DataKeys, OpenError, OwnerKeys};
use crate::store::sealed::keys::names::{BLOB_NAME, InnerNames, owner_bytes, space_byte};
use crate::store::sealed::quarantine::BrokenRecord;
use crate::store::sealed::{KEYS, QUARANTINE, Sealed};
use crate::store::{BlobNames, Put, Safety, Space, VisitBlob};

pub(crate) const BLOB: &str = "rejoin/vault/blob/1\n";

/// How many bytes of blobs are kept while they are put in order. What is beyond is read again, one by one.
const AT_ONCE: usize = 16 << 20;

/// A blob to store, sealed.
pub(crate) struct SealedPut {
    space: Space,
    owner: Option<ConversationId>,
    name: Vec<u8>,
    bytes: Option<Vec<u8>>,
}

impl SealedPut {
    /// Seals a blob with the key of its owner, which one that is erased does not need.
    pub(crate) fn seal(put: &Put<'_>, names: &InnerNames, key: Option<&DataKey>) -> Self {
        let owner = put.owner.map(|owner| names.conversation(owner));
        let name = names.blob(put.space, owner, put.name);
        let bytes = put.bytes.zip(key).map(|(bytes, key)| {
            let length = u32::try_from(put.name.len()).expect("a name is short").to_be_bytes();
            let place: [&[u8]; 3] = [&[space_byte(put.space)], &owner_bytes(owner), &name];
            key.seal(KeyUse::Blobs, BLOB, &place, &[&length, put.name, bytes])
        });
        Self { space: put.space, owner, name: name.to_vec(), bytes }
    }

    /// One of the vault's own blobs of a conversation, which is named by its inner name.
    pub(crate) fn own(inner: ConversationId, name: &[u8], bytes: Vec<u8>) -> Self {
        Self { space: KEYS, owner: Some(inner), name: name.to_vec(), bytes: Some(bytes) }
    }

    pub(crate) fn as_put(&self) -> Put<'_> {
        Put { space: self.space, owner: self.owner, name: &self.name, bytes: self.bytes.as_deref() }
    }
}

/// The name of a blob as it is told.
pub(crate) fn to_hex(name: &[u8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens a blob as the inner store shows it: its name and its bytes.
fn open<'e>(
    owner_keys: &mut OwnerKeys<'_>,
    space: Space,
    owner: Option<ConversationId>,
    name: &[u8],
    envelope: &'e mut [u8],
) -> Result<(&'e [u8], &'e [u8]), OpenError> {
    let place: [&[u8]; 3] = [&[space_byte(space)], &owner_bytes(owner), name];
    let inside = owner_keys.open(KeyUse::Blobs, BLOB, &place, envelope)?;
    let (length, rest) = inside.split_first_chunk().ok_or(Broken::Inside)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Broken::Inside)?;
    Ok(rest.split_at_checked(length).ok_or(Broken::Inside)?)
}

/// Shows blobs of the backend: of a space, an owner's by the inner name, in order of name.
pub(crate) type BlobSource<'s> =
    dyn Fn(Space, Option<ConversationId>, BlobNames<'_>, &mut VisitBlob<'_>) -> Result<()> + 's;

impl Sealed {
    /// One blob as it is now.
    pub(crate) fn blob_opened(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.visit_blobs(
            &|space, inner, named, visit| self.inner.get(space, inner, named, visit),
            space,
            owner,
            BlobNames::One(name),
            &mut |_, bytes| {
                found = Some(bytes.to_vec());
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Visits blobs as they are now.
    pub(crate) fn get(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let source: &BlobSource<'_> =
            &|space, inner, named, visit| self.inner.get(space, inner, named, visit);
        self.visit_blobs(source, space, owner, named, visit)
    }

    /// Stores blobs of the vault itself.
    pub(crate) fn put(&self, blobs: &[Put<'_>], safety: Safety) -> Result<()> {
        let hint = CommitHint { attempt: "store blobs", ..CommitHint::default() };
        self.commit_sealed(&hint, safety, &mut |_| Ok(Batch { blobs: blobs.into(), ..Batch::NOTHING }))
    }

    /// Visits blobs of a source, opened and in order of their outer names.
    pub(crate) fn visit_blobs(
        &self,
        source: &BlobSource<'_>,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let workspace = self.key_cache.workspace();
        let names = workspace.names();
        let inner = owner.map(|owner| names.conversation(owner));
        if let (Some(inner), Some(owner)) = (inner, owner) {
            self.learn_name(inner, owner);
        }
        match named {
            BlobNames::One(name) => {
                let hashed = names.blob(space, inner, name);
                self.visit_opened(source, space, inner, BlobNames::One(&hashed), visit)
            }
            BlobNames::Prefix(prefix) => {
                let start = names.beginning(space, inner, prefix);
                let start = start.as_ref().map_or(&[][..], <[u8; 16]>::as_slice);
                let (mut found, mut held) = (Vec::new(), 0);
                let got =
                    self.visit_opened(source, space, inner, BlobNames::Prefix(start), &mut |name, bytes| {
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
                    None => self.visit_blobs(source, space, owner, BlobNames::One(name), visit),
                })?;
                got
            }
        }
    }

    /// Opens blobs in the order of their inner names. One that does not open is
    /// passed over, and named at the end.
    pub(crate) fn visit_opened(
        &self,
        source: &BlobSource<'_>,
        space: Space,
        inner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        let mut owner_keys = self.key_cache.owner_keys(inner);
        let (mut failed, mut told) = (Vec::new(), Vec::new());
        // A copy of what does not open is made of everything but the copies, and what tells of them.
        let is_of_interest = !matches!(space, QUARANTINE | Space::Notice);
        source(space, inner, named, &mut |name, bytes| {
            if name.len() != BLOB_NAME {
                // The vault's own.
                return Ok(());
            }
            let mut envelope = bytes.to_vec();
            let why = match open(&mut owner_keys, space, inner, name, &mut envelope) {
                Ok((name, bytes)) => return visit(name, bytes),
                Err(OpenError::Failed(error)) => return Err(error),
                Err(OpenError::Broken(why)) => why,
            };
            let hashed = to_hex(name);
            let what = format!("the blob `{hashed}` of space {}", space.number());
            told.push(OpenError::Broken(why).of(&what).to_string());
            if is_of_interest && failed.len() < MOST_COPIED {
                failed.push((hashed, to_text(bytes), why));
            }
            Ok(())
        })?;
        for (name, sealed, why) in failed {
            self.quarantine(BrokenRecord { what: "blob", space: Some(space), inner, name, sealed, why });
        }
        to_error(told)
    }

    /// The keys of an owner; one who is not there is not found.
    pub(crate) fn keys_of(
        &self,
        owner: Option<ConversationId>,
        inner: Option<ConversationId>,
    ) -> Result<Arc<DataKeys>> {
        let keys = self.key_cache.keys(inner);
        keys.map_err(|failure| match (failure, owner, inner) {
            (OpenError::Broken(Broken::NoKey), Some(owner), Some(inner)) if !self.is_there(inner) => {
                Error::not_found(format!("no conversation `{owner}`"))
            }
            (failure, Some(owner), _) => failure.of(&format!("the key of conversation `{owner}`")),
            (failure, None, _) => failure.of("the key of what belongs to no conversation"),
        })
    }
}
