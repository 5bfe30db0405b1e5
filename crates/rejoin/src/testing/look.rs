//! What a reader can see, as owned values that can be compared whole.
//!
//! The tests of the library use it too, so it names the library as another crate does.

use rejoin::store::{BlobNames, ListQuery, Order, Read, Row, Seen, Selection, Space};
use rejoin::{ConversationId, Digest, MessageId};
use rejoin::{ErrorKind, Result};

/// A message as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadMessage {
    /// Its id.
    pub(crate) id: MessageId,
    /// Its parent.
    pub(crate) parent: Option<MessageId>,
    /// Its sequence.
    pub(crate) seq: u32,
    /// The sequence of the first message of its turn.
    pub(crate) turn: u32,
    /// Its link.
    pub(crate) link: Digest,
    /// Its label.
    pub(crate) label: Option<String>,
    /// True when it is pinned.
    pub(crate) is_pinned: bool,
    /// Its bytes.
    pub(crate) body: String,
}

impl From<Seen<'_>> for ReadMessage {
    fn from(seen: Seen<'_>) -> Self {
        Self {
            id: seen.id,
            parent: seen.parent,
            seq: seen.seq,
            turn: seen.turn,
            link: seen.link,
            label: seen.note.label.map(str::to_owned),
            is_pinned: seen.note.is_pinned,
            body: seen.body.to_owned(),
        }
    }
}

/// Everything a store holds, as far as a reader can see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visible {
    /// Every conversation with its messages in order of arrival, newest activity first.
    pub(crate) conversations: Vec<(Row, Vec<ReadMessage>)>,
    /// Every blob that belongs to nothing or to one of the conversations.
    pub(crate) blobs: Vec<ShownBlob>,
}

/// A blob as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownBlob {
    /// What it is for.
    pub(crate) space: Space,
    /// The conversation it goes with.
    pub(crate) owner: Option<ConversationId>,
    /// Its name.
    pub(crate) name: Vec<u8>,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Reads everything a store holds.
pub(crate) fn visible(store: &dyn Read) -> Result<Visible> {
    let rows = rows(store)?;
    let owners = std::iter::once(None).chain(rows.iter().map(|row| Some(row.id)));
    let mut found = Vec::new();
    for owner in owners {
        for space in Space::ALL {
            let own = blobs(store, space, owner, b"")?;
            found.extend(own.into_iter().map(|(name, bytes)| ShownBlob { space, owner, name, bytes }));
        }
    }
    let conversations = rows
        .into_iter()
        .map(|row| {
            let messages = messages(store, row.id)?;
            Ok((row, messages))
        })
        .collect::<Result<_>>()?;
    Ok(Visible { conversations, blobs: found })
}

/// The error's kind, or the answer: what two stores can be compared by.
pub(crate) fn told<T>(result: Result<T>) -> Result<T, ErrorKind> {
    result.map_err(|error| error.kind())
}

pub(crate) const EVERYTHING: ListQuery<'static> = ListQuery {
    project: None,
    status: None,
    idle_since: None,
    kind: None,
    except_kind: None,
    only: None,
    unexpired_at: None,
    after: None,
    limit: usize::MAX,
    counts_total: false,
};

pub(crate) fn rows(store: &dyn Read) -> Result<Vec<Row>> {
    Ok(store.list(&EVERYTHING)?.items)
}

/// The row of one conversation.
pub(crate) fn row(store: &dyn Read, id: ConversationId) -> Result<Option<Row>> {
    let query = ListQuery { only: Some(&[id]), ..EVERYTHING };
    Ok(store.list(&query)?.items.pop())
}

pub(crate) fn read(store: &dyn Read, id: ConversationId, what: Selection<'_>) -> Result<Vec<ReadMessage>> {
    let mut shown = Vec::new();
    store.read(id, what, &mut |seen| {
        shown.push(seen.into());
        Ok(())
    })?;
    Ok(shown)
}

/// All messages in order of arrival.
pub(crate) fn messages(store: &dyn Read, id: ConversationId) -> Result<Vec<ReadMessage>> {
    read(store, id, Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX })
}

/// How many bytes the store counts for each message, in order of arrival: at least those that it has.
pub(crate) fn sizes(store: &dyn Read, id: ConversationId) -> Result<Vec<(MessageId, u64)>> {
    let mut sizes = Vec::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, all, &mut |seen| {
        assert!(seen.size >= seen.body.len() as u64, "message {} is larger than its size", seen.id);
        sizes.push((seen.id, seen.size));
        Ok(())
    })?;
    Ok(sizes)
}

/// How many bytes the store counts for a conversation's messages together.
pub(crate) fn size(store: &dyn Read, id: ConversationId) -> Result<u64> {
    Ok(sizes(store, id)?.iter().map(|(_, size)| size).sum())
}

/// The ids of what was read, in order, with a space after each.
pub(crate) fn names(store: &dyn Read, id: ConversationId, what: Selection<'_>) -> Result<String> {
    Ok(read(store, id, what)?.iter().map(|shown| format!("{} ", shown.id)).collect())
}

pub(crate) fn blobs(
    store: &dyn Read,
    space: Space,
    owner: Option<ConversationId>,
    prefix: &[u8],
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut found = Vec::new();
    store.get(space, owner, BlobNames::Prefix(prefix), &mut |name, bytes| {
        found.push((name.to_vec(), bytes.to_vec()));
        Ok(())
    })?;
    Ok(found)
}
