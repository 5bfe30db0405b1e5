//! What two stores had in common when one was copied into the other, kept in the copy: so that copying again
//! knows which of them has changed since, and what was changed in the copy stays.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::model::{ConversationId, Digest, Time};
use crate::ops::convert::{Blobs, Links, add};
use crate::store::{BlobNames, Put, Read, Row, Safety, Space, Store};

/// Where it is kept, beside notes about other sources, whose names are longer.
const PLACE: (Space, &[u8]) = (Space::Import, b"converted");

/// True for the blob that is no part of what is copied.
pub(super) fn is_own(space: Space, name: &[u8]) -> bool {
    (space, name) == PLACE
}

/// What was the same in both stores, by its hash.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Base {
    /// True when the copy was whole once.
    is_whole: bool,
    conversations: BTreeMap<ConversationId, Digest>,
    /// By the number of the space, and of those that belong to conversations by owner; none while they
    /// are copied. What is not here was empty.
    blobs: BTreeMap<String, Option<Digest>>,
}

/// How something in the copy stands to what it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// Nobody knows how it was: the source counts.
    Unknown,
    /// The source is as it was when it was copied, so whatever the copy has is its own.
    Kept,
    /// Only the source has changed.
    Source,
    /// Both have changed.
    Both,
}

impl Base {
    /// What is known of a copy; nothing, if it was never whole.
    pub(crate) fn read(copy: &dyn Read) -> Result<Self> {
        let mut base = Self::default();
        copy.get(PLACE.0, None, BlobNames::One(PLACE.1), &mut |_, bytes| {
            base = serde_json::from_slice(bytes).unwrap_or_default();
            Ok(())
        })?;
        Ok(base)
    }

    /// Keeps it in the copy.
    pub(crate) fn write(&self, copy: &dyn Store) -> Result<()> {
        let bytes = serde_json::to_vec(self).expect("it is plain data");
        copy.put(&[Put { space: PLACE.0, owner: None, name: PLACE.1, bytes: Some(&bytes) }], Safety::Synced)
    }

    /// True when the copy was whole once.
    pub(super) const fn is_of_whole_copy(&self) -> bool {
        self.is_whole
    }

    /// Notes that the copy is whole.
    pub(super) const fn note_whole(&mut self) {
        self.is_whole = true;
    }

    /// How a conversation of the copy stands, given what both have of it.
    pub(super) fn conversation(
        &self,
        id: ConversationId,
        ours: Option<Digest>,
        theirs: Option<Digest>,
    ) -> Since {
        since(self.conversations.get(&id).copied(), ours, theirs)
    }

    /// How the blobs of a space and an owner stand.
    pub(super) fn blobs(&self, of: BlobOwner, ours: Digest, theirs: Digest) -> Since {
        let empty = || self.is_whole.then(|| hash(&Blobs::new()));
        let base = self.blobs.get(&of.name()).copied().unwrap_or_else(empty);
        since(base, Some(ours), Some(theirs))
    }

    /// Notes what both have of a conversation.
    pub(super) fn note(&mut self, id: ConversationId, both: Digest) {
        self.conversations.insert(id, both);
    }

    /// Notes what both have of blobs.
    pub(super) fn note_blobs(&mut self, of: BlobOwner, both: &Blobs) {
        match both.is_empty() {
            true => self.blobs.remove(&of.name()),
            false => self.blobs.insert(of.name(), Some(hash(both))),
        };
    }

    /// Forgets a conversation before it is copied, so that a copy which is cut off is gone on with.
    pub(super) fn forget(&mut self, id: ConversationId, copy: &dyn Store) -> Result<()> {
        if self.conversations.remove(&id).is_some() { self.write(copy) } else { Ok(()) }
    }

    /// The same of blobs.
    pub(super) fn forget_blobs(&mut self, of: BlobOwner, copy: &dyn Store) -> Result<()> {
        let before = self.blobs.insert(of.name(), None);
        // Of a copy that was never whole nothing is known, so there is nothing to forget.
        if self.is_whole && before != Some(None) { self.write(copy) } else { Ok(()) }
    }
}

/// A space, and whose blobs in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlobOwner(pub(super) Space, pub(super) Option<ConversationId>);

impl BlobOwner {
    fn name(self) -> String {
        let owner = self.1.map_or_else(String::new, |owner| format!("-{owner}"));
        format!("{}{owner}", self.0.number())
    }
}

fn since(base: Option<Digest>, ours: Option<Digest>, theirs: Option<Digest>) -> Since {
    match base {
        None => Since::Unknown,
        Some(_) if base == ours => Since::Kept,
        Some(_) if base == theirs => Since::Source,
        Some(_) => Since::Both,
    }
}

/// The hash of all that is copied of a conversation but its blobs.
pub(super) fn state(row: &Row, links: &Links) -> Digest {
    let facets = &row.facets;
    let branches: Vec<_> =
        row.branches.iter().map(|branch| json!([branch.id, branch.title, branch.head])).collect();
    let about = json!([
        row.header,
        [facets.project, facets.kind, facets.slug],
        [facets.status as u8, facets.hold as u8],
        facets.expires.map(Time::as_micros),
        row.head.as_ref().map(|head| json!([head.id, head.digest])),
        branches,
        row.created.as_micros(),
    ]);
    let mut all = Sha256::new();
    all.update(about.to_string());
    for (id, link) in links {
        let link = json!([id, link.parent, link.digest, link.label, link.is_pinned]);
        all.update(link.to_string());
    }
    Digest::from_bytes(all.finalize().into())
}

/// The hash of blobs.
pub(super) fn hash(blobs: &Blobs) -> Digest {
    let mut all = Sha256::new();
    add(&mut all, blobs);
    Digest::from_bytes(all.finalize().into())
}
