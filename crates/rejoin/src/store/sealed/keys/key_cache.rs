//! Cache of unlocked keys: the workspace, and the data keys of conversations, unwrapped when they are first
//! needed.
//!
//! Another process may make new keys at any time, so a key that is not cached is read from the store before
//! it is reported missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::backend::Rows;
use crate::store::sealed::KEYS;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::EnvelopeEncoding;
use crate::store::sealed::keys::envelope::{Broken, key_of};
use crate::store::sealed::keys::key::KeyId;
use crate::store::sealed::keys::unlock::Unlock;
use crate::store::sealed::keys::workspace::Workspace;
use crate::store::{BlobNames, Read, Store};

/// The blob that holds who can open the vault.
pub(crate) const RECORD: &[u8] = b"vault";

/// The blob that holds the data keys of its owner.
pub(crate) const DATA: &[u8] = b"data";

/// The blob that holds how far the re-encryption of its owner is. On-disk name; cannot change.
pub(crate) const MARK: &[u8] = b"anew";

/// The blob, without owner, that names the run that is under way.
pub(crate) const RUN: &[u8] = b"run";

/// Why something could not be opened.
pub(crate) enum OpenError {
    /// It is damaged.
    Broken(Broken),
    /// The store failed.
    Failed(Error),
}

impl From<Broken> for OpenError {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl OpenError {
    /// The error of a thing that does not open.
    pub(crate) fn of(self, what: &str) -> Error {
        match self {
            Self::Broken(broken) => Error::corrupt(format!("{what} does not open: {broken}")),
            Self::Failed(error) => error,
        }
    }
}

/// Data keys by owner, with the bytes they were unwrapped from.
type Unwrapped = HashMap<Option<ConversationId>, (Vec<u8>, Arc<DataKeys>)>;

/// The unlocked keys of a vault.
pub(crate) struct KeyCache {
    inner: Arc<dyn Store>,
    unlock: Arc<dyn Unlock>,
    unlocked: RwLock<Unlocked>,
    keys: Mutex<Unwrapped>,
    encoding: EnvelopeEncoding,
}

struct Unlocked {
    /// The record that was opened, to see whether there is another.
    record: Option<Vec<u8>>,
    workspace: Arc<Workspace>,
}

/// The data keys of a conversation: one, and more while it is re-encrypted.
pub(crate) struct DataKeys(Vec<DataKey>);

impl DataKeys {
    /// The only key of what is being made.
    pub(crate) fn only(key: DataKey) -> Self {
        Self(vec![key])
    }

    /// The key that encrypts.
    pub(crate) fn newest(&self) -> &DataKey {
        self.0.first().expect("there is at least one")
    }

    /// The one with this id.
    pub(crate) fn find(&self, id: KeyId) -> Option<&DataKey> {
        self.0.iter().find(|key| key.id() == id)
    }
}

impl KeyCache {
    /// Unlocks the vault in a store.
    pub(crate) fn unlock(inner: Arc<dyn Store>, unlock: Arc<dyn Unlock>) -> Result<Self> {
        let unlocked = open_record(inner.as_ref(), unlock.as_ref())?;
        let encoding = EnvelopeEncoding::of(inner.capabilities());
        Ok(Self { inner, unlock, unlocked: RwLock::new(unlocked), keys: Mutex::default(), encoding })
    }

    /// How envelopes stand in the backend.
    pub(crate) const fn encoding(&self) -> &EnvelopeEncoding {
        &self.encoding
    }

    /// The workspace as it was last unlocked.
    pub(crate) fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&self.unlocked.read().unwrap_or_else(PoisonError::into_inner).workspace)
    }

    /// Unlocks again if the record is another than the one that was opened. True when it was.
    pub(crate) fn renew(&self) -> Result<bool> {
        let record = blob(self.inner.as_ref(), None, RECORD)?;
        if self.unlocked.read().unwrap_or_else(PoisonError::into_inner).record == record {
            return Ok(false);
        }
        let unlocked = open_record(self.inner.as_ref(), self.unlock.as_ref())?;
        // Names and the form of what is stored would be those of the vault that was opened.
        if unlocked.workspace.vault() != self.workspace().vault() {
            return Err(Error::conflict("another vault was put in the place of this one while it was open"));
        }
        *self.unlocked.write().unwrap_or_else(PoisonError::into_inner) = unlocked;
        Ok(true)
    }

    /// The keys of a conversation, which is named by its inner name, or of what belongs to none.
    pub(crate) fn keys(&self, owner: Option<ConversationId>) -> Result<Arc<DataKeys>, OpenError> {
        if let Some((_, keys)) = self.cache().get(&owner) {
            return Ok(Arc::clone(keys));
        }
        self.read_keys(owner)
    }

    /// The same, read from the store.
    pub(crate) fn read_keys(&self, owner: Option<ConversationId>) -> Result<Arc<DataKeys>, OpenError> {
        let wrapped = blob(self.inner.as_ref(), owner, DATA)?.ok_or(Broken::NoKey)?;
        self.unwrapped(owner, wrapped)
    }

    /// The keys of an owner in the bytes that were stored for them.
    pub(crate) fn unwrapped(
        &self,
        owner: Option<ConversationId>,
        wrapped: Vec<u8>,
    ) -> Result<Arc<DataKeys>, OpenError> {
        if let Some((_, keys)) = self.cache().get(&owner).filter(|(known, _)| *known == wrapped) {
            return Ok(Arc::clone(keys));
        }
        let mut unwrapped = self.workspace().unwrap(&wrapped, owner);
        if let Err(Broken::Key(_)) = unwrapped
            && self.renew()?
        {
            unwrapped = self.workspace().unwrap(&wrapped, owner);
        }
        let is_unknown = matches!(unwrapped, Err(Broken::Key(_)));
        let keys = unwrapped.map_err(|broken| if is_unknown { broken } else { Broken::WrappedKey })?;
        Ok(self.keep(owner, wrapped, DataKeys(keys)))
    }

    /// Remembers keys, and the bytes they are wrapped in.
    pub(crate) fn keep(
        &self,
        owner: Option<ConversationId>,
        wrapped: Vec<u8>,
        keys: DataKeys,
    ) -> Arc<DataKeys> {
        let keys = Arc::new(keys);
        self.cache().insert(owner, (wrapped, Arc::clone(&keys)));
        keys
    }

    /// Unlocks again if there is another record at this moment than the one that was opened.
    pub(crate) fn renew_at(&self, rows: &dyn Rows) -> Result<()> {
        let mut record = None;
        rows.blobs(KEYS, None, BlobNames::One(RECORD), &mut |_, bytes| {
            record = Some(bytes.to_vec());
            Ok(())
        })?;
        if self.unlocked.read().unwrap_or_else(PoisonError::into_inner).record == record {
            return Ok(());
        }
        self.renew().map(drop)
    }

    /// True when no key of an owner is missing, and none has this id: then there
    /// never was one, or it is gone for good.
    pub(crate) fn lacks_key(&self, owner: Option<ConversationId>, id: KeyId) -> bool {
        let Ok(keys) = self.read_keys(owner) else { return false };
        keys.find(id).is_none()
    }

    /// Forgets the keys of an owner: there are others, or it is gone.
    pub(crate) fn forget(&self, owner: Option<ConversationId>) {
        self.cache().remove(&owner);
    }

    /// The keys that decrypt the records of a conversation, or of what belongs to none.
    pub(crate) const fn owner_keys(&self, owner: Option<ConversationId>) -> OwnerKeys<'_> {
        OwnerKeys { key_cache: self, owner, keys: Vec::new() }
    }

    fn cache(&self) -> MutexGuard<'_, Unwrapped> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many sets of keys one read holds on to.
const MOST_KEY_SETS: usize = 8;

/// The keys that decrypt the records of one owner.
#[derive(Clone)]
pub(crate) struct OwnerKeys<'h> {
    key_cache: &'h KeyCache,
    owner: Option<ConversationId>,
    /// All that were seen: a read sees a snapshot, and the keys of that snapshot may be gone before it ends.
    keys: Vec<Arc<DataKeys>>,
}

impl OwnerKeys<'_> {
    /// Decrypts an envelope in place.
    pub(crate) fn open<'e>(
        &mut self,
        usage: KeyUse,
        context: &str,
        place: &[&[u8]],
        envelope: &'e mut [u8],
    ) -> Result<&'e [u8], OpenError> {
        let id = key_of(envelope)?;
        if self.find(id).is_none() {
            self.look_for(id)?;
        }
        let key = self.find(id).ok_or(Broken::Key(id))?;
        Ok(key.open_in_place(usage, context, place, envelope)?)
    }

    /// Opens an envelope as it is stored, into a buffer.
    pub(crate) fn open_stored<'b>(
        &mut self,
        usage: KeyUse,
        context: &str,
        place: &[&[u8]],
        stored: &[u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], OpenError> {
        self.key_cache.encoding.read(stored, buffer)?;
        self.open(usage, context, place, buffer)
    }

    fn find(&self, id: KeyId) -> Option<&DataKey> {
        self.keys.iter().rev().find_map(|keys| keys.find(id))
    }

    /// Looks for a key: among those at hand, and in the store.
    fn look_for(&mut self, id: KeyId) -> Result<(), OpenError> {
        self.keys.push(self.key_cache.keys(self.owner)?);
        if self.find(id).is_none() {
            self.keys.push(self.key_cache.read_keys(self.owner)?);
        }
        if self.find(id).is_none() {
            // A store full of damage asks for each of its records.
            let surplus = self.keys.len().saturating_sub(MOST_KEY_SETS);
            self.keys.drain(..surplus);
        }
        Ok(())
    }

    /// The same of text.
    pub(crate) fn open_text(
        &mut self,
        usage: KeyUse,
        context: &str,
        place: &[&[u8]],
        stored: &[u8],
    ) -> Result<String, OpenError> {
        let mut buffer = Vec::new();
        let inside = self.open_stored(usage, context, place, stored, &mut buffer)?;
        Ok(str::from_utf8(inside).map_err(|_| Broken::Inside)?.to_owned())
    }
}

fn open_record(inner: &dyn Store, unlock: &dyn Unlock) -> Result<Unlocked> {
    // Read first: if it is replaced meanwhile, the next look sees another record.
    let record = blob(inner, None, RECORD)?;
    Ok(Unlocked { record, workspace: Arc::new(unlock.unlock(inner)?) })
}

/// One of the vault's own blobs of keys.
pub(crate) fn blob(inner: &dyn Read, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut found = None;
    inner.get(KEYS, owner, BlobNames::One(name), &mut |_, bytes| {
        found = Some(bytes.to_vec());
        Ok(())
    })?;
    Ok(found)
}
