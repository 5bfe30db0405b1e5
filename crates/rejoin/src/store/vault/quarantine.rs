//! Quarantine: a record that does not open is copied with the reason, and stays where it is.
//!
//! What is damaged may still be repaired by somebody who has another copy. So nothing is removed, and the copy outlives whatever
//! happens to the original.

use std::sync::atomic::Ordering;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::model::{ConversationId, Time};
use crate::store::vault::VaultStore;
use crate::store::vault::envelope::Broken;
use crate::store::{Named, Put, Read, Safety, Space};

/// How many copies are made while a store is open. Where more is damaged, the whole store has to be copied by hand.
const MOST: u32 = 1_000;

/// A record that does not open.
pub(super) struct Record<'a> {
    /// What it is: `message`, `header`, `note`.
    pub(super) what: &'static str,
    /// The inner name of the conversation.
    pub(super) inner: Option<ConversationId>,
    /// Its own inner name, where it has one.
    pub(super) name: String,
    /// The sealed bytes.
    pub(super) sealed: &'a str,
    pub(super) why: Broken,
}

/// A record in quarantine, as it is kept.
#[derive(Serialize)]
struct Kept<'a> {
    at: Time,
    what: &'static str,
    why: String,
    conversation: Option<ConversationId>,
    inner_conversation: Option<ConversationId>,
    inner_name: &'a str,
    record: &'a str,
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
        let kept = Kept {
            at: Time::now(),
            what: record.what,
            why: record.why.to_string(),
            conversation,
            inner_conversation: record.inner,
            inner_name: &record.name,
            record: record.sealed,
        };
        let text = serde_json::to_vec(&kept).expect("what is kept is plain");
        let put = Put { space: Space::Quarantine, owner: None, name: &name, bytes: Some(&text) };
        if let Err(error) = self.put_sealed(&[put], Safety::Synced) {
            tracing::warn!(%error, "a record that does not open could not be copied");
        }
    }
}
