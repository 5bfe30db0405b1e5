//! Attachments: the bytes of large blocks, kept beside their conversation in
//! chunks and named by their SHA-256.
//!
//! Order of a write: the card, which says what will be there; the chunks; the turn that refers to them, which
//! settles the card in the same step. So a crash leaves at most a card that waits, with chunks that nothing
//! refers to, and [`erase_unused`] finds them without reading a chunk.

mod card;
mod chunks;
mod keep;
mod reference;
mod unused;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use card::{CARDS, SettledCard, cards, settle};
pub(crate) use chunks::{digest_of, read};
pub(crate) use keep::AttachmentWriter;
pub(crate) use reference::{
    Detached, Packing, detach, detach_binary, disown, has_attachments, put_back, referred, renamed,
};
pub(crate) use unused::erase_unused;

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Digest, FileSnapshot, Message, MessageId};
use crate::store::Read;

/// Gives the blocks of messages their bytes back. One whose attachment is missing or damaged goes on
/// referring to it, because a conversation must stay readable; a check names it.
pub(crate) fn fill<'m>(
    store: &dyn Read,
    owner: ConversationId,
    messages: impl Iterator<Item = &'m mut Message>,
) -> Result<()> {
    for message in messages {
        for media in reference::references(message) {
            let Some(digest) = media.attachment() else { continue };
            let mut bytes = Vec::new();
            let whole = read(store, owner, digest, &mut |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            });
            match whole {
                Ok(_) => put_back(media, &bytes),
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    tracing::warn!(%owner, %digest, kind = error.kind().as_str(), "an attachment cannot be read");
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Which messages refer to which attachments, gathered while a conversation is read.
#[derive(Debug, Default)]
pub(crate) struct Referred {
    /// A message that refers to each, and whether the archive made the reference.
    by_digest: BTreeMap<Digest, (MessageId, ReferenceOrigin)>,
    /// What each snapshot of files refers to.
    snapshots: Vec<BTreeSet<Digest>>,
}

/// Who made a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceOrigin {
    /// The archive, which had the bytes then.
    Archive,
    /// Whoever wrote the message; it may never have meant anything.
    Writer,
}

impl Referred {
    pub(crate) fn note(&mut self, id: MessageId, message: &Message) {
        for (digest, origin) in reference::with_origins(message) {
            let known = self.by_digest.entry(digest).or_insert((id, origin));
            if origin == ReferenceOrigin::Archive {
                known.1 = origin;
            }
        }
        let snapshots = message.blocks.iter().filter_map(FileSnapshot::of);
        self.snapshots.extend(snapshots.map(|snapshot| snapshot.attachments().collect()));
    }

    /// What is wrong with them, one sentence each.
    pub(crate) fn faults(&self, store: &dyn Read, owner: ConversationId) -> Result<Vec<String>> {
        let (mut faults, mut missing) = (Vec::new(), BTreeSet::new());
        for (digest, (message, origin)) in &self.by_digest {
            match read(store, owner, *digest, &mut |_| Ok(())) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound && *origin == ReferenceOrigin::Writer => {}
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    if error.kind() == ErrorKind::NotFound {
                        missing.insert(*digest);
                    }
                    faults.push((*digest, format!("message {message} refers to an attachment: {error}")));
                }
                Err(error) => return Err(error),
            }
        }
        // A snapshot of which nothing is here came with an imported message, without its files.
        let of = |is_foreign: bool| {
            let snapshots = self.snapshots.iter().filter(|own| own.is_subset(&missing) == is_foreign);
            snapshots.flatten().copied().collect::<BTreeSet<Digest>>()
        };
        let foreign = &of(true) - &of(false);
        faults.retain(|(digest, _)| !foreign.contains(digest));
        Ok(faults.into_iter().map(|(_, fault)| fault).collect())
    }
}
