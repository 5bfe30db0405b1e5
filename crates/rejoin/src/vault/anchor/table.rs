//! The table of an anchor: a hash of what the store shows of each conversation, and the change it is of, kept
//! outside of the store beside the anchor, which vouches for it.
//!
//! It is brought up to date by looking at what has changed since, so that it
//! costs the same in a store of any size.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::backend::{Backend, ConversationRow};
use crate::store::keeper::list_rows;
use crate::store::sealed::keys::key::Hasher;
use crate::store::{Changed, Cursor, ListQuery, Stamp};

const ROW: &str = "rejoin/vault/row/1\n";

/// How the table begins.
const MAGIC: &[u8; 8] = b"RJrows1\n";

/// How long an entry is: a conversation, a stamp and a hash.
const ENTRY: usize = 16 + 8 + 32;

const PAGE: usize = 10_000;

/// How many conversations are asked for by name at a time.
const SOME: usize = 100;

/// What was known of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AnchorEntry {
    stamp: Stamp,
    hash: [u8; 32],
}

/// What was known of all of them, by inner name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnchorTable(BTreeMap<ConversationId, AnchorEntry>);

impl AnchorTable {
    /// The table of a store as it is. What is changed meanwhile counts as changed after it.
    pub(crate) fn of(inner: &dyn Backend, hasher: &Hasher, stamp: Stamp) -> Result<Self> {
        let mut table = Self::default();
        each_row(inner, &mut |row| {
            table.0.insert(row.id, AnchorEntry { stamp, hash: hash(row, hasher) });
        })?;
        Ok(table)
    }

    /// Takes in what has changed.
    pub(crate) fn update(
        &mut self,
        inner: &dyn Backend,
        hasher: &Hasher,
        changes: &AnchorChanges,
    ) -> Result<()> {
        let changed: Vec<ConversationId> = changes.0.keys().copied().collect();
        let rows = rows_of(inner, &changed)?;
        for (id, stamp) in &changes.0 {
            match rows.get(id) {
                Some(row) => self.0.insert(*id, AnchorEntry { stamp: *stamp, hash: hash(row, hasher) }),
                None => self.0.remove(id),
            };
        }
        Ok(())
    }

    /// Conversations that are not as they were, and of which no change after a stamp is told.
    pub(crate) fn differing(
        &self,
        inner: &dyn Backend,
        hasher: &Hasher,
        after: Stamp,
        extent: CheckExtent,
    ) -> Result<BTreeSet<ConversationId>> {
        let (changes, newest) = AnchorChanges::after(inner, after)?;
        let mut differing = self.differing_but(inner, hasher, &changes, extent)?;
        if !differing.is_empty() {
            // What was changed since the first look at the log is told by now.
            let (later, _) = AnchorChanges::after(inner, newest)?;
            differing.retain(|id| !later.0.contains_key(id));
        }
        Ok(differing)
    }

    fn differing_but(
        &self,
        inner: &dyn Backend,
        hasher: &Hasher,
        changes: &AnchorChanges,
        extent: CheckExtent,
    ) -> Result<BTreeSet<ConversationId>> {
        let is_meant = |id: &ConversationId| !changes.0.contains_key(id);
        let mut found = BTreeMap::new();
        let mut differing = BTreeSet::new();
        match extent {
            CheckExtent::All => each_row(inner, &mut |row| {
                found.insert(row.id, hash(row, hasher));
            })?,
            CheckExtent::Newest(count) => {
                let mut newest: Vec<_> = self
                    .0
                    .iter()
                    .filter(|(id, _)| is_meant(id))
                    .map(|(id, entry)| (entry.stamp, *id))
                    .collect();
                newest.sort_unstable();
                let newest: Vec<_> = newest.iter().rev().take(count).map(|(_, id)| *id).collect();
                let rows = rows_of(inner, &newest)?;
                differing.extend(newest.iter().filter(|id| !rows.contains_key(id)));
                found.extend(rows.values().map(|row| (row.id, hash(row, hasher))));
            }
        }
        let is_same =
            |id: &ConversationId, hash: &[u8; 32]| self.0.get(id).is_some_and(|entry| entry.hash == *hash);
        differing.extend(found.iter().filter(|(id, hash)| !is_same(id, hash)).map(|(id, _)| *id));
        if extent == CheckExtent::All {
            differing.extend(self.0.keys().filter(|id| !found.contains_key(id)));
        }
        differing.retain(is_meant);
        Ok(differing)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAGIC.len() + self.0.len() * ENTRY);
        bytes.extend_from_slice(MAGIC);
        for (id, entry) in &self.0 {
            bytes.extend_from_slice(id.as_bytes());
            bytes.extend_from_slice(&entry.stamp.to_be_bytes());
            bytes.extend_from_slice(&entry.hash);
        }
        bytes
    }

    /// Reads a table; none when it is none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (entries, rest) = bytes.strip_prefix(MAGIC)?.as_chunks::<ENTRY>();
        let entry = |bytes: &[u8; ENTRY]| {
            let (id, rest) = bytes.split_first_chunk()?;
            let (stamp, hash) = rest.split_first_chunk()?;
            let entry = AnchorEntry { stamp: Stamp::from_be_bytes(*stamp), hash: hash.try_into().ok()? };
            Some((ConversationId::from_bytes(*id), entry))
        };
        if rest.is_empty() { entries.iter().map(entry).collect::<Option<_>>().map(Self) } else { None }
    }
}

/// How many conversations are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckExtent {
    /// Every one.
    All,
    /// Those that were changed last.
    Newest(usize),
}

/// Conversations that were changed, with the newest stamp of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnchorChanges(BTreeMap<ConversationId, Stamp>);

impl AnchorChanges {
    /// What has changed after a stamp, and the newest stamp.
    pub(crate) fn after(inner: &dyn Backend, mut newest: Stamp) -> Result<(Self, Stamp)> {
        let mut changes = Self::default();
        loop {
            let told = inner.changes(newest, std::time::Duration::ZERO)?;
            let Some(last) = told.last() else { return Ok((changes, newest)) };
            newest = last.stamp;
            changes.0.extend(told.iter().map(|Changed { conversation, stamp, .. }| (*conversation, *stamp)));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

fn each_row(inner: &dyn Backend, visit: &mut dyn FnMut(&ConversationRow)) -> Result<()> {
    let mut after: Option<Cursor> = None;
    loop {
        let page = list_rows(inner, &ListQuery { after, limit: PAGE, ..ListQuery::default() })?;
        page.items.iter().for_each(&mut *visit);
        let Some(next) = page.next else { return Ok(()) };
        after = Some(next);
    }
}

fn rows_of(inner: &dyn Backend, ids: &[ConversationId]) -> Result<BTreeMap<ConversationId, ConversationRow>> {
    let mut rows = BTreeMap::new();
    for some in ids.chunks(SOME) {
        let page = list_rows(inner, &ListQuery { only: Some(some), limit: SOME, ..ListQuery::default() })?;
        rows.extend(page.items.into_iter().map(|row| (row.id, row)));
    }
    Ok(rows)
}

/// The hash of what the inner store shows of a conversation: its counts, its
/// head, and all that is sealed in its row.
fn hash(row: &ConversationRow, hasher: &Hasher) -> [u8; 32] {
    let link = row.head.as_ref().map_or([0; 32], |head| *head.digest.as_bytes());
    let mut text = Vec::new();
    let mut add = |part: &[u8]| {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part);
    };
    [&row.header, &row.first, &row.last].into_iter().for_each(|part| add(part));
    for branch in &row.branches {
        [branch.id.as_str(), &branch.title, branch.head.as_str()]
            .into_iter()
            .for_each(|part| add(part.as_bytes()));
    }
    let (version, messages) = (row.version.to_be_bytes(), row.messages.to_be_bytes());
    hasher.hash(&[ROW.as_bytes(), row.id.as_bytes(), &version, &messages, &link, &text])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_as_it_was_written() {
        let entry = |number: u8| {
            (
                ConversationId::from_bytes([number; 16]),
                AnchorEntry { stamp: u64::from(number), hash: [number; 32] },
            )
        };
        let table = AnchorTable((0..9).map(entry).collect());
        let bytes = table.to_bytes();

        assert_eq!(AnchorTable::from_bytes(&bytes), Some(table));
        assert_eq!(AnchorTable::from_bytes(&bytes[..bytes.len() - 1]), None);
    }
}
