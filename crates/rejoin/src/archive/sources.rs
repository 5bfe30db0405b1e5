//! What imported messages were read from, and what becomes of it when they go:
//! also in a build that imports nothing.

use std::collections::HashSet;

use crate::archive::Archive;
use crate::error::Result;
use crate::model::ConversationId;
use crate::store::{BlobNames, Order, Put, Safety, Selection, Space};

impl Archive {
    /// Erases the sources of messages that are no longer there. Lines that are no messages
    /// may repeat their text, so they go too.
    pub(super) fn forget_sources(&self, id: ConversationId) -> Result<()> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        self.store().get(Space::Source, Some(id), BlobNames::ALL, &mut |name, _| {
            names.push(name.to_vec());
            Ok(())
        })?;
        if names.is_empty() {
            return Ok(());
        }
        let mut left = HashSet::new();
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.store().read(id, all, &mut |seen| {
            left.insert(seen.id.as_str().as_bytes().to_vec());
            Ok(())
        })?;
        names.retain(|name| !left.contains(name));
        let erased: Vec<Put<'_>> = names
            .iter()
            .map(|name| Put { space: Space::Source, owner: Some(id), name, bytes: None })
            .collect();
        if erased.is_empty() { Ok(()) } else { self.store().put(&erased, Safety::Synced) }
    }
}
