//! A data key: what one conversation is sealed with, and what belongs to none.

use std::fmt;
use std::sync::OnceLock;

use crate::store::sealed::keys::envelope::{Broken, Sealer};
use crate::store::sealed::keys::key::{KeyId, SealingKey};

/// What a part of a data key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// Bodies of messages.
    Bodies,
    /// Headers, previews, notes, branches, reasons.
    About,
    /// Blobs and parts of the search index.
    Blobs,
}

/// A data key with its three subkeys, which are derived when they are first needed.
pub(crate) struct DataKey {
    id: KeyId,
    key: SealingKey,
    bodies: OnceLock<Sealer>,
    about: OnceLock<Sealer>,
    blobs: OnceLock<Sealer>,
}

impl DataKey {
    /// A key that nobody knows.
    pub(crate) fn random() -> Self {
        Self::new(KeyId::random(), SealingKey::random())
    }

    /// The data key with this id and these bytes.
    pub(crate) const fn new(id: KeyId, key: SealingKey) -> Self {
        Self { id, key, bodies: OnceLock::new(), about: OnceLock::new(), blobs: OnceLock::new() }
    }

    /// What it is known by.
    pub(crate) const fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself, to be wrapped.
    pub(crate) const fn key(&self) -> &SealingKey {
        &self.key
    }

    /// Seals the parts of `inside` for a use, under a tag, for a place.
    pub(crate) fn seal(&self, usage: KeyUse, context: &str, place: &[&[u8]], inside: &[&[u8]]) -> Vec<u8> {
        self.sealer(usage).seal(context, place, inside)
    }

    /// Opens an envelope where it lies.
    pub(crate) fn open_in_place<'e>(
        &self,
        usage: KeyUse,
        context: &str,
        place: &[&[u8]],
        envelope: &'e mut [u8],
    ) -> Result<&'e [u8], Broken> {
        self.sealer(usage).open_in_place(context, place, envelope)
    }

    /// What seals for a use.
    pub(crate) fn sealer(&self, usage: KeyUse) -> &Sealer {
        let (sealer, info) = match usage {
            KeyUse::Bodies => (&self.bodies, "rejoin/vault/body/1\n"),
            KeyUse::About => (&self.about, "rejoin/vault/about/1\n"),
            KeyUse::Blobs => (&self.blobs, "rejoin/vault/blob/1\n"),
        };
        sealer.get_or_init(|| Sealer::new(self.id, &self.key.derive(info)))
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataKey").field("id", &self.id).finish_non_exhaustive()
    }
}
