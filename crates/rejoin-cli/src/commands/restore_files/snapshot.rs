//! Which snapshot shows the files as they were before a message.

use std::collections::HashSet;

use rejoin::{Archive, ConversationId, FileSnapshot, MessageId, Role, StoredMessage};

use crate::error::Failure;

/// A snapshot, and the message that has it.
pub(super) struct FoundSnapshot {
    pub(super) snapshot: FileSnapshot,
    pub(super) message: MessageId,
}

/// The first snapshot of the message's turn, or of a later one: until that one, no tool changed anything. The
/// conversation's own path comes first, then what was said after the message on other branches.
pub(super) fn snapshot_for(
    archive: &Archive,
    id: ConversationId,
    message: MessageId,
) -> Result<Option<FoundSnapshot>, Failure> {
    let until = archive.path(id, Some(message))?;
    let turn = until.iter().rposition(|stored| stored.message.role == Role::User).unwrap_or(0);
    let head = archive.path(id, None)?;
    let after = head.iter().position(|stored| stored.id == message).map_or(head.len(), |place| place + 1);
    if let Some(found) = until[turn..].iter().chain(&head[after..]).find_map(of) {
        return Ok(Some(found));
    }
    let own = until[turn..].iter().map(|stored| stored.id);
    let (mut following, mut found) = (own.collect::<HashSet<_>>(), None);
    archive.reader().each_message(id, &mut |stored| {
        if found.is_none() && stored.parent.is_some_and(|parent| following.contains(&parent)) {
            following.insert(stored.id);
            found = of(&stored);
        }
        Ok(())
    })?;
    if found.is_some() {
        return Ok(found);
    }
    // The turn may have been killed while its tools ran.
    let unfinished = archive.open_turns().list(id)?;
    Ok(unfinished.iter().find_map(|open| {
        let message = open.base.filter(|base| following.contains(base))?;
        let snapshot = open.partial.blocks.iter().find_map(FileSnapshot::of)?;
        Some(FoundSnapshot { snapshot, message })
    }))
}

fn of(stored: &StoredMessage) -> Option<FoundSnapshot> {
    let snapshot = stored.message.blocks.iter().find_map(FileSnapshot::of)?;
    Some(FoundSnapshot { snapshot, message: stored.id })
}
