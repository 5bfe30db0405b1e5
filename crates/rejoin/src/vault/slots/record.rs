//! The record of a vault's keys: which slots there are, and what is sealed to them.
//!
//! It is read before anything vouches for it, so every figure in it has a limit. Once it is open, its last
//! field vouches for the rest: nobody adds a slot without the workspace key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{Error, ErrorKind, Result};
use crate::store::sealed::KEYS;
use crate::store::sealed::keys::key::{KeyId, SealingKey};
use crate::store::sealed::keys::key_cache::RECORD;
use crate::store::sealed::keys::workspace::Workspace;
use crate::store::{BlobNames, Put, Read};
use crate::vault::slots::encoding::{Base64, Hex};
use crate::vault::slots::key_pair::Pair;
use crate::vault::slots::slot::Slot;
use crate::vault::slots::{SlotId, SlotKind, VaultId};

/// The version of the vault's format.
const VERSION: u32 = 3;
const NAMES: &str = "rejoin/vault/names/1\n";
const MAC: &str = "rejoin/vault/mac/1\n";
const MAC_FIELD: &[u8] = b",\"mac\":\"";

/// What a record may hold at most; a few slots take a few kilobytes.
const LONGEST: usize = 1 << 20;
pub(crate) const MOST_SLOTS: usize = 64;
const MOST_RETIRED: usize = 8;

/// The record of a vault's keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeysRecord {
    version: u32,
    pub(crate) vault: VaultId,
    pub(crate) epoch: u64,
    key: Hex<16>,
    names: Base64,
    /// Workspace keys from before a rotation that is under way.
    pub(crate) retired: Vec<Retired>,
    /// Slots whose secrets are still to be removed from their places.
    #[serde(default)]
    pub(crate) replaced: Vec<ReplacedSlot>,
    pub(crate) slots: Vec<Slot>,
}

/// A workspace key from before a rotation, as it was sealed to the slots of then.
///
/// It is not sealed with the key of now: a disk may keep these bytes for ever, and
/// the secrets of now must not open them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Retired {
    epoch: u64,
    key: Hex<16>,
    pub(crate) slots: Vec<Slot>,
}

impl Retired {
    /// The key, which one of its slots opens.
    pub(crate) fn open(&self, vault: VaultId, slot: &Slot, pair: &Pair) -> Result<(KeyId, SealingKey)> {
        let id = KeyId::from_bytes(self.key.0);
        Ok((id, slot.unseal(vault, self.epoch, id, pair)?))
    }
}

/// A slot that is gone, while its secret may still be in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplacedSlot {
    pub(crate) id: SlotId,
    pub(crate) kind: SlotKind,
}

/// The version alone, which says whether the rest can be understood.
#[derive(Deserialize)]
struct KeysRecordVersion {
    version: u32,
}

impl KeysRecord {
    /// The record of a workspace whose slots were made for it.
    pub(crate) fn new(workspace: &Workspace, slots: Vec<Slot>) -> Self {
        let vault = VaultId::of(workspace.vault());
        let names = workspace.wrapping().seal(NAMES, &[vault.as_bytes()], &[workspace.name_key().expose()]);
        Self {
            version: VERSION,
            vault,
            epoch: workspace.epoch(),
            key: Hex(*workspace.id().as_bytes()),
            names: Base64(names),
            retired: Vec::new(),
            replaced: Vec::new(),
            slots,
        }
    }

    /// The same, which also tells the workspace key of the record before, to whoever opens one of its slots.
    pub(crate) fn retire(mut self, before: Self) -> Self {
        self.retired.push(Retired { epoch: before.epoch, key: before.key, slots: before.slots });
        self
    }

    /// The same, without keys from before.
    pub(crate) fn without_retired(mut self) -> Self {
        self.retired.clear();
        self
    }

    /// True while data keys may be wrapped with a key from before.
    pub(crate) fn is_rotating(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Reads the record of a store, with the bytes that its last field vouches
    /// for; none when the store has none.
    pub(crate) fn read(inner: &dyn Read) -> Result<Option<(Self, RecordBytes)>> {
        let mut bytes = None;
        inner.get(KEYS, None, BlobNames::One(RECORD), &mut |_, found| {
            bytes = Some(found.to_vec());
            Ok(())
        })?;
        bytes.map(|bytes| Self::parse(&bytes)).transpose()
    }

    /// Reads a record. Nothing vouches for it yet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, RecordBytes)> {
        let broken = |why: &str| Error::corrupt(format!("the vault's key record is damaged: {why}"));
        if bytes.len() > LONGEST {
            return Err(broken("it is too long"));
        }
        let versioned: KeysRecordVersion =
            serde_json::from_slice(bytes).map_err(|cause| broken("it does not read").because(cause))?;
        if versioned.version != VERSION {
            return Err(other_version(versioned.version));
        }
        let written = RecordBytes::of(bytes).ok_or_else(|| broken("nothing vouches for it"))?;
        let record: Self = serde_json::from_slice(&written.body)
            .map_err(|cause| broken("it does not read").because(cause))?;
        if record.slots.is_empty() || record.slots.len() > MOST_SLOTS {
            return Err(broken(&format!("it has {} slots", record.slots.len())));
        }
        if record.retired.len() > MOST_RETIRED
            || record.retired.iter().any(|retired| retired.slots.len() > MOST_SLOTS)
            || record.replaced.len() > MOST_SLOTS * MOST_RETIRED
        {
            return Err(broken("it has too many keys"));
        }
        let retired = record.retired.iter().flat_map(|retired| &retired.slots);
        record.slots.iter().chain(retired).try_for_each(Slot::check)?;
        Ok((record, written))
    }

    /// The bytes to write, with what vouches for them.
    pub(crate) fn to_bytes(&self, workspace: &Workspace) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("it is plain data");
        let mac = mac(workspace, &bytes);
        bytes.pop();
        bytes.extend_from_slice(MAC_FIELD);
        bytes.extend_from_slice(STANDARD_NO_PAD.encode(mac).as_bytes());
        bytes.extend_from_slice(b"\"}");
        bytes
    }

    /// The id of the workspace key.
    pub(crate) const fn key(&self) -> KeyId {
        KeyId::from_bytes(self.key.0)
    }

    /// The workspace of this record, without keys from before, once its key is known. Fails unless
    /// the record is as its owner wrote it.
    pub(crate) fn workspace(&self, key: SealingKey, written: &RecordBytes) -> Result<Workspace> {
        let broken = || Error::corrupt("the vault's key record was changed without the key");
        let wrapping = Workspace::wrapping_of(self.key(), &key);
        let inside = wrapping.open(NAMES, &[self.vault.as_bytes()], &self.names.0).map(Zeroizing::new);
        let names = SealingKey::from_slice(&inside.map_err(|_| broken())?).ok_or_else(broken)?;
        let workspace = Workspace::of(self.vault.to_key_id(), self.epoch, self.key(), key, names);
        if mac(&workspace, &written.body) != written.mac {
            return Err(broken());
        }
        Ok(workspace)
    }
}

/// Refuses a vault of another version of the format, and says what to do with it.
fn other_version(version: u32) -> Error {
    let way_out = if version < VERSION {
        "It can be exported with the version of Rejoin that wrote it, and imported into a new vault"
    } else {
        "Use the newer version of Rejoin that wrote it"
    };
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the vault is in version {version} of its format, and this program reads version {VERSION} only. {way_out}"
        ),
    )
}

/// A record as it was found: the bytes without the last field, and that field.
#[derive(Debug)]
pub(crate) struct RecordBytes {
    body: Vec<u8>,
    mac: [u8; 32],
}

impl RecordBytes {
    fn of(bytes: &[u8]) -> Option<Self> {
        let at = memchr::memmem::rfind(bytes, MAC_FIELD)?;
        let text = bytes[at + MAC_FIELD.len()..].strip_suffix(b"\"}")?;
        let mac = STANDARD_NO_PAD.decode(text).ok()?.try_into().ok()?;
        Some(Self { body: [&bytes[..at], b"}"].concat(), mac })
    }
}

/// The blob that holds a record.
pub(crate) const fn put(bytes: &[u8]) -> Put<'_> {
    Put { space: KEYS, owner: None, name: RECORD, bytes: Some(bytes) }
}

fn mac(workspace: &Workspace, body: &[u8]) -> [u8; 32] {
    workspace.slots_key().hasher().hash(&[MAC.as_bytes(), body])
}
