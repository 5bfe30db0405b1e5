//! Attachments that are text, without their secrets.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ErrorKind, Result};
use crate::model::{AttachmentKind, Block, ConversationId, Digest, Message};
use crate::ops::attachment::{Detached, read, renamed};
use crate::ops::redact::{Redactor, Tally, is_text};
use crate::store::{Order, Selection, Store};

/// What takes the place of attachments that hold secrets.
#[derive(Debug, Default)]
pub(super) struct Cleansed {
    by_digest: BTreeMap<Digest, Clean>,
}

/// An attachment without its secrets.
#[derive(Debug)]
struct Clean {
    detached: Detached,
    tally: Tally,
}

impl Cleansed {
    pub(super) fn of(store: &dyn Store, redactor: &Redactor<'_>, id: ConversationId) -> Result<Self> {
        let mut cleansed = Self::default();
        for (digest, kind) in texts(store, id)? {
            let mut bytes = Vec::new();
            let whole = read(store, id, digest, &mut |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            });
            match whole {
                Ok(_) => {}
                // What is damaged is for a check to tell.
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => continue,
                Err(error) => return Err(error),
            }
            let mut tally = Tally::default();
            let text = String::from_utf8(bytes).ok();
            if let Some(clean) = text.and_then(|text| redactor.line(&text, &mut tally)) {
                let detached = Detached::new(kind, clean.into_bytes());
                cleansed.by_digest.insert(digest, Clean { detached, tally });
            }
        }
        Ok(cleansed)
    }

    /// Lets a message refer to what is clean, and tells what was taken out.
    pub(super) fn apply(&self, message: &mut Message) -> Tally {
        let mut tally = Tally::default();
        if self.by_digest.is_empty() {
            return tally;
        }
        for block in &mut message.blocks {
            let Block::Media(media) = block else { continue };
            let Some(clean) = media.attachment().and_then(|digest| self.by_digest.get(&digest)) else {
                continue;
            };
            let (digest, length) = clean.detached.size();
            if let Some(changed) = renamed(media, digest, length).filter(|_| is_text(media)) {
                *media = changed;
                tally.extend(&clean.tally);
            }
        }
        if !tally.is_empty() {
            message.privacy = Some(tally.to_notes(message.privacy.as_ref()));
        }
        tally
    }

    /// What has to be kept before messages refer to it.
    pub(super) fn clean(&self) -> impl Iterator<Item = &Detached> {
        self.by_digest.values().map(|clean| &clean.detached)
    }

    /// What must not stay.
    pub(super) fn dirty(&self) -> Vec<Digest> {
        self.by_digest.keys().copied().collect()
    }
}

/// The attachments that blocks of text refer to.
fn texts(store: &dyn Store, id: ConversationId) -> Result<BTreeSet<(Digest, AttachmentKind)>> {
    let mut found = BTreeSet::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, all, &mut |seen| {
        let message = Message::from_body(seen.body).ok();
        for block in message.iter().flat_map(|message| &message.blocks) {
            if let Block::Media(media) = block
                && is_text(media)
                && let Some(digest) = media.attachment()
            {
                found.insert((digest, media.kind.into()));
            }
        }
        Ok(())
    })?;
    Ok(found)
}
