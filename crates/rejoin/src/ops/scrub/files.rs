//! Snapshots of files without secrets. A content that holds one is not replaced by something else, because a
//! restored file must be the one that was there: it is left out, and the list says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ErrorKind, Result};
use crate::model::{AttachmentKind, Block, ConversationId, Digest, FileSnapshot, Message};
use crate::ops::attachment::{Detached, read};
use crate::ops::files::{FileManifest, pack, unpack};
use crate::ops::redact::{RedactionTally, Redactor};
use crate::store::{Order, Selection, Store};

/// What takes the place of attachments of snapshots that hold secrets.
#[derive(Debug, Default)]
pub(super) struct CleanFiles {
    by_digest: BTreeMap<Digest, (Detached, RedactionTally)>,
}

/// The attachments of all snapshots of a conversation.
#[derive(Default)]
struct SnapshotAttachments {
    manifests: BTreeSet<Digest>,
    packs: BTreeSet<Digest>,
}

impl CleanFiles {
    pub(super) fn of(store: &dyn Store, redactor: &Redactor<'_>, id: ConversationId) -> Result<Self> {
        let (named, mut clean) = (SnapshotAttachments::of(store, id)?, Self::default());
        let (mut secret, mut all) = (BTreeSet::new(), RedactionTally::default());
        for digest in &named.packs {
            let bytes = whole(store, id, *digest)?;
            let Some(mut objects) = bytes.and_then(|bytes| unpack(&bytes).ok()) else { continue };
            let mut tally = RedactionTally::default();
            objects.retain(|object| {
                let text = str::from_utf8(&object.bytes);
                let is_secret = text.is_ok_and(|text| redactor.line(text, &mut tally).is_some());
                is_secret.then(|| secret.insert(object.digest)).is_none()
            });
            if !tally.is_empty() {
                all.extend(&tally);
                clean.replace(*digest, pack(&objects), tally);
            }
        }
        for digest in &named.manifests {
            let Some(bytes) = whole(store, id, *digest)? else { continue };
            let mut tally = RedactionTally::default();
            let mut is_secret = |path: &str| redactor.name(path, &mut tally).is_some();
            if let Some(bytes) = FileManifest::without(&bytes, &secret, &mut is_secret) {
                // What it listed may be in a pack that only an earlier message refers to.
                tally.extend(&all);
                clean.replace(*digest, bytes, tally);
            }
        }
        Ok(clean)
    }

    fn replace(&mut self, digest: Digest, bytes: Vec<u8>, tally: RedactionTally) {
        self.by_digest.insert(digest, (Detached::new(AttachmentKind::Document, bytes), tally));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_digest.is_empty()
    }

    /// Lets a snapshot refer to what is clean.
    pub(super) fn apply(&self, block: &mut Block, tally: &mut RedactionTally) {
        let Some(mut snapshot) = FileSnapshot::of(block) else { return };
        for digest in snapshot.manifests.iter_mut().chain(&mut snapshot.packs) {
            if let Some((detached, found)) = self.by_digest.get(digest) {
                *digest = detached.digest;
                tally.extend(found);
            }
        }
        if let Block::Snapshot(block) = block {
            block.data = snapshot.to_data();
        }
    }

    pub(super) fn clean(&self) -> impl Iterator<Item = &Detached> {
        self.by_digest.values().map(|(detached, _)| detached)
    }

    pub(super) fn dirty(&self) -> impl Iterator<Item = Digest> {
        self.by_digest.keys().copied()
    }
}

impl SnapshotAttachments {
    fn of(store: &dyn Store, id: ConversationId) -> Result<Self> {
        let mut named = Self::default();
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        store.read(id, all, &mut |seen| {
            let message = Message::from_body(seen.body).ok();
            for snapshot in message.iter().flat_map(|message| &message.blocks).filter_map(FileSnapshot::of) {
                named.manifests.extend(snapshot.manifests);
                named.packs.extend(snapshot.packs);
            }
            Ok(())
        })?;
        Ok(named)
    }
}

/// The bytes of an attachment; none when it is missing or damaged, which is for a check to tell.
fn whole(store: &dyn Store, id: ConversationId, digest: Digest) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = read(store, id, digest, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
