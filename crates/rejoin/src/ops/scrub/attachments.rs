//! Attachments that are text, without their secrets.

use std::collections::BTreeMap;

use crate::error::{ErrorKind, Result};
use crate::model::{Block, ConversationId, Digest, Media, Message};
use crate::ops::attachment::{Detached, Packing, read, renamed};
use crate::ops::marker::is_text;
use crate::ops::redact::{RedactionTally, Redactor};
use crate::ops::scrub::files::CleanFiles;
use crate::store::{Order, Selection, Store};

/// What takes the place of attachments that hold secrets.
#[derive(Debug, Default)]
pub(super) struct Cleansed {
    by_name: BTreeMap<AttachmentName, Clean>,
    files: CleanFiles,
}

/// An attachment, by what its bytes are to those who refer to it.
type AttachmentName = (Digest, Packing);

/// An attachment without its secrets.
#[derive(Debug)]
struct Clean {
    detached: Detached,
    tally: RedactionTally,
}

impl Cleansed {
    pub(super) fn of(store: &dyn Store, redactor: &Redactor<'_>, id: ConversationId) -> Result<Self> {
        let mut cleansed = Self::default();
        for ((digest, packing), media) in texts(store, id)? {
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
            let mut tally = RedactionTally::default();
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let clean = match packing {
                Packing::Unpacked => redactor.line(&text, &mut tally),
                Packing::Letters => redactor.data(&media, &text, &mut tally),
            };
            if let Some(clean) = clean {
                let detached = Detached::new(media.kind.into(), clean.into_bytes());
                cleansed.by_name.insert((digest, packing), Clean { detached, tally });
            }
        }
        cleansed.files = CleanFiles::of(store, redactor, id)?;
        Ok(cleansed)
    }

    /// Lets a message refer to what is clean, and tells what was taken out.
    pub(super) fn apply(&self, message: &mut Message) -> RedactionTally {
        let mut tally = RedactionTally::default();
        if self.by_name.is_empty() && self.files.is_empty() {
            return tally;
        }
        for block in &mut message.blocks {
            self.files.apply(block, &mut tally);
            let Block::Media(media) = block else { continue };
            let name = name_of(media).filter(|_| may_be_text(media));
            let Some(clean) = name.and_then(|name| self.by_name.get(&name)) else { continue };
            let (digest, length) = clean.detached.size();
            *media = renamed(media, digest, length);
            tally.extend(&clean.tally);
        }
        if !tally.is_empty() {
            message.privacy = Some(tally.to_notes(message.privacy.as_ref()));
        }
        tally
    }

    /// What has to be kept before messages refer to it.
    pub(super) fn clean(&self) -> impl Iterator<Item = &Detached> {
        self.by_name.values().map(|clean| &clean.detached).chain(self.files.clean())
    }

    /// What must not stay.
    pub(super) fn dirty(&self) -> Vec<Digest> {
        self.by_name.keys().map(|(digest, _)| *digest).chain(self.files.dirty()).collect()
    }
}

/// The attachments that may be text, each with a block that refers to it: one of text, if there is one.
fn texts(store: &dyn Store, id: ConversationId) -> Result<BTreeMap<AttachmentName, Media>> {
    let mut found = BTreeMap::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, all, &mut |seen| {
        let message = Message::from_body(seen.body).ok();
        for block in message.iter().flat_map(|message| &message.blocks) {
            if let Block::Media(media) = block
                && may_be_text(media)
                && let Some(name) = name_of(media)
            {
                let known = found.entry(name).or_insert_with(|| media.clone());
                if !is_text(known) {
                    *known = media.clone();
                }
            }
        }
        Ok(())
    })?;
    Ok(found)
}

fn name_of(media: &Media) -> Option<AttachmentName> {
    Some((media.attachment()?, Packing::of(media)))
}

/// True for text, and for what was written as text whatever it is said to be.
fn may_be_text(media: &Media) -> bool {
    is_text(media) || Packing::of(media) == Packing::Letters
}
