//! Finds the wrapped data keys of a store while others write, and rewraps them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::sealed::keys::key_cache::{DATA, blob};
use crate::store::sealed::keys::workspace::is_wrapped_with;
use crate::store::sealed::{KEYS, Workspace};
use crate::store::{Cursor, ListQuery, Put, Read, Stamp};

/// Large, because a store of files goes over all of its index for each page.
const PAGE: usize = 10_000;

/// A wrapped key and whose it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrap {
    pub(crate) owner: Option<ConversationId>,
    pub(crate) bytes: Vec<u8>,
}

impl Wrap {
    pub(crate) fn put(&self) -> Put<'_> {
        Put { space: KEYS, owner: self.owner, name: DATA, bytes: Some(&self.bytes) }
    }
}

/// What a search for data keys found.
#[derive(Debug, Default)]
pub(crate) struct Rewrapped {
    /// Keys that were wrapped with another key, rewrapped.
    pub(crate) wraps: Vec<Wrap>,
    /// Conversations whose keys do not open; they stay as they are.
    pub(crate) unreadable: Vec<Option<ConversationId>>,
}

/// Every owner of a data key: all conversations, and what belongs to none.
pub(crate) fn owners(inner: &dyn Read) -> Result<Vec<Option<ConversationId>>> {
    let mut owners = vec![None];
    let mut after: Option<Cursor> = None;
    loop {
        let page = inner.list(&ListQuery { after, limit: PAGE, ..ListQuery::default() })?;
        owners.extend(page.items.iter().map(|row| Some(row.id)));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(owners),
        }
    }
}

/// Conversations that changed after a stamp.
pub(crate) fn changed_since(inner: &dyn Read, mut after: Stamp) -> Result<Vec<Option<ConversationId>>> {
    let mut changed = BTreeSet::new();
    loop {
        let changes = inner.changes(after, Duration::ZERO)?;
        let Some(last) = changes.last() else {
            return Ok(changed.into_iter().map(Some).collect());
        };
        after = last.stamp;
        changed.extend(changes.into_iter().map(|change| change.conversation));
    }
}

/// Wraps the keys of these owners anew that are not wrapped with the key of `to`; `from` opens them.
pub(crate) fn rewrap(
    inner: &dyn Read,
    owners: &[Option<ConversationId>],
    from: &Workspace,
    to: &Workspace,
) -> Result<Rewrapped> {
    let mut found = Rewrapped::default();
    for owner in owners {
        // A conversation that was removed meanwhile has no key.
        let Some(wrapped) = blob(inner, *owner, DATA)? else { continue };
        if is_wrapped_with(&wrapped, to.id()) {
            continue;
        }
        match from.unwrap(&wrapped, *owner) {
            Ok(keys) => {
                let bytes = keys.iter().flat_map(|key| to.wrap(key, *owner)).collect();
                found.wraps.push(Wrap { owner: *owner, bytes });
            }
            Err(_) => found.unreadable.push(*owner),
        }
    }
    Ok(found)
}
