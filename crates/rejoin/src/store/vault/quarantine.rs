//! Quarantine: a record that does not open is copied with the reason, told to those who follow, and stays where it is.
//!
//! What is damaged may still be repaired by somebody who has another copy. So the copy outlives whatever happens to the
//! original, until whoever decides about it erases the copy. Then the original goes too, where it was changed since it was
//! sealed, is still the same, and nothing readable hangs on it. A record whose key is missing may open again one day.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::vault::VaultStore;
use crate::store::vault::changes::SealedReason;
use crate::store::vault::envelope::Broken;
use crate::store::vault::text::to_text;
use crate::store::{
    Change, Children, Named, Note, Outcome, Put, Read, Safety, Selection, Space, Target, Told, put_notice,
};

/// How many copies are made while a store is open. Where more is damaged, the whole store has to be copied by hand.
const MOST: u32 = 1_000;

/// A record that does not open.
pub(super) struct Record<'a> {
    /// What it is: `message`, `header`, `note`.
    pub(super) what: &'static str,
    /// The space of a blob.
    pub(super) space: Option<Space>,
    /// The inner name of the conversation.
    pub(super) inner: Option<ConversationId>,
    /// Its own inner name, where it has one.
    pub(super) name: String,
    /// The sealed bytes.
    pub(super) sealed: &'a str,
    pub(super) why: Broken,
}

/// A record in quarantine, as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    at: Time,
    what: String,
    why: String,
    /// True when nothing will ever open it, and the rest can do without.
    is_lost: bool,
    conversation: Option<ConversationId>,
    inner_conversation: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    space: Option<i64>,
    inner_name: String,
    record: String,
}

impl Kept {
    fn of(record: &Record<'_>, conversation: Option<ConversationId>) -> Self {
        let can_go = matches!(record.what, "message" | "note" | "blob");
        Self {
            at: Time::now(),
            what: record.what.to_owned(),
            why: record.why.to_string(),
            is_lost: can_go && matches!(record.why, Broken::Seal),
            conversation,
            inner_conversation: record.inner,
            space: record.space.map(Space::number),
            inner_name: record.name.clone(),
            record: record.sealed.to_owned(),
        }
    }
}

impl VaultStore {
    /// Copies a record to quarantine, once. A store that takes no copy does not make the matter worse.
    pub(super) fn quarantine(&self, record: &Record<'_>) {
        if self.quarantined.fetch_add(1, Ordering::Relaxed) >= MOST {
            return;
        }
        let conversation = record.inner.and_then(|inner| self.outer_name(inner));
        let name = Sha256::new()
            .chain_update(record.what)
            .chain_update(record.inner.map_or([0; 16], |inner| *inner.as_bytes()))
            .chain_update(&record.name)
            .chain_update(record.sealed)
            .finalize();
        let mut is_there = false;
        let looked = self.get(Space::Quarantine, None, Named::One(&name), &mut |_, _| {
            is_there = true;
            Ok(())
        });
        if is_there || looked.is_err() {
            return;
        }
        let kept = Kept::of(record, conversation);
        let text = serde_json::to_vec(&kept).expect("what is kept is plain");
        let put = Put { space: Space::Quarantine, owner: None, name: &name, bytes: Some(&text) };
        if let Err(error) = self.put_sealed(&[put], Safety::Synced) {
            tracing::warn!(%error, "a record that does not open could not be copied");
            return;
        }
        let told = Told::Quarantined { what: kept.what, reason: kept.why };
        if let Err(error) = put_notice(self, self.inner.as_ref(), kept.at, conversation, told) {
            tracing::warn!(%error, "a record that does not open could not be told");
        }
    }

    /// Erases the originals of copies that are about to be erased, where they are lost.
    pub(super) fn erase_lost(&self, blobs: &[Put<'_>]) -> Result<()> {
        let erased = |blob: &&Put<'_>| blob.space == Space::Quarantine && blob.bytes.is_none();
        for blob in blobs.iter().filter(erased) {
            let mut kept: Option<Kept> = None;
            self.get(Space::Quarantine, blob.owner, Named::One(blob.name), &mut |_, bytes| {
                kept = serde_json::from_slice(bytes).ok();
                Ok(())
            })?;
            if let Some(kept) = kept.filter(|kept| kept.is_lost) {
                self.erase_original(&kept)?;
            }
        }
        Ok(())
    }

    /// Erases a record that is still as it was copied. One that was put right, or went, is left alone.
    fn erase_original(&self, kept: &Kept) -> Result<()> {
        let inner = kept.inner_conversation;
        let outcome = match (kept.what.as_str(), inner, kept.inner_name.parse::<MessageId>()) {
            ("blob", _, _) => self.erase_lost_blob(kept),
            ("message", Some(inner), Ok(name)) => self.erase_lost_message(kept, inner, name),
            ("note", Some(inner), Ok(name)) => self.erase_lost_note(kept, inner, name),
            _ => Ok(()),
        };
        match outcome {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn erase_lost_blob(&self, kept: &Kept) -> Result<()> {
        let space = Space::ALL.into_iter().find(|space| Some(space.number()) == kept.space);
        let (Some(space), Some(name)) = (space, from_hex(&kept.inner_name)) else { return Ok(()) };
        let owner = kept.inner_conversation;
        let mut is_same = false;
        self.inner.get(space, owner, Named::One(&name), &mut |_, bytes| {
            is_same = to_text(bytes) == kept.record;
            Ok(())
        })?;
        if !is_same {
            return Ok(());
        }
        self.inner.put(&[Put { space, owner, name: &name, bytes: None }], Safety::Synced)
    }

    /// A message that others follow stays: they are readable, and would go with it.
    fn erase_lost_message(&self, kept: &Kept, inner: ConversationId, name: MessageId) -> Result<()> {
        let mut is_same = false;
        self.inner.read(inner, Selection::Ids(&[name]), &mut |seen| {
            is_same = seen.body == kept.record;
            Ok(())
        })?;
        if !is_same {
            return Ok(());
        }
        let target = Target::Messages { conversation: inner, ids: &[name], children: Children::Refuse };
        self.keep_activity(&[target])?;
        let reason = SealedReason {
            reason: "corruption-detected".to_owned(),
            conversations: kept.conversation.into_iter().collect(),
        };
        let reason = reason.seal(self.held.workspace().reasons());
        let at = self.held.workspace().names().time(Time::now());
        if let [Outcome::Removed { messages: 1.., .. }] = self.inner.remove(&[target], &reason, at)?[..] {
            self.forget_segments(inner)?;
        }
        Ok(())
    }

    fn erase_lost_note(&self, kept: &Kept, inner: ConversationId, name: MessageId) -> Result<()> {
        let mut is_same = false;
        self.inner.read(inner, Selection::Ids(&[name]), &mut |seen| {
            is_same = seen.note.label == Some(&kept.record);
            Ok(())
        })?;
        if !is_same {
            return Ok(());
        }
        let at = self.held.workspace().names().time(Time::now());
        self.inner.amend(inner, None, &Change::Note(name, Note::default()), at).map(drop)
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes().chunks(2);
    bytes.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
