//! Turns to append to a vault, in few words.

use rejoin::store::{
    Anchor, Entry, Facets, ListQuery, Note, Opening, Order, PreviewUpdate, Read, Selection, Stale, Store,
    Turn,
};
use rejoin::{ConversationId, Digest, Message, MessageId, Result, Time};

use crate::look::ReadMessage;

pub(crate) const NOW: Time = Time::from_micros(1_800_000_000_000_000);

pub(crate) fn conversation(number: u8) -> ConversationId {
    ConversationId::new(NOW, [number; 10])
}

/// A message: its id and its digest, which is chained as the archive does it.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub(crate) id: MessageId,
    pub(crate) digest: Digest,
}

/// Opens a conversation without messages.
pub(crate) fn open(store: &dyn Store, id: ConversationId) {
    let opening = Opening { facets: &Facets::default(), header: "{}", created: NOW };
    append(store, id, Some(opening), &[], Some("")).unwrap();
}

/// Appends one message with a name under another.
pub(crate) fn say(
    store: &dyn Store,
    id: ConversationId,
    name: &str,
    parent: Option<Said>,
    text: &str,
) -> Result<Said> {
    let said = append(store, id, None, &[(name.parse().unwrap(), parent, text.to_owned())], None)?;
    Ok(said[0])
}

/// Appends messages in one turn; the first is labelled when there is a label.
pub(crate) fn append(
    store: &dyn Store,
    id: ConversationId,
    opening: Option<Opening<'_>>,
    messages: &[(MessageId, Option<Said>, String)],
    label: Option<&str>,
) -> Result<Vec<Said>> {
    let bodies: Vec<String> =
        messages.iter().map(|(_, _, text)| Message::assistant(text.as_str()).at(NOW).to_body()).collect();
    let mut said: Vec<Said> = Vec::new();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for ((id, parent, _), body) in messages.iter().zip(&bodies) {
        let digest = Digest::chain(parent.map(|parent| parent.digest), body.as_bytes());
        said.push(Said { id: *id, digest });
        let note =
            if entries.is_empty() { Note { label, is_pinned: label.is_some() } } else { Note::default() };
        let parent = parent.map(|parent| Anchor { id: parent.id, link: parent.digest });
        entries.push(Entry { id: *id, parent, link: digest, note, body });
    }
    store.append(&Turn {
        conversation: id,
        opening,
        stale: Stale::Branch,
        entries: &entries,
        previews: PreviewUpdate { first: "beginning", last: "end" },
        branch: None,
        active: NOW,
        now: NOW,
        blobs: &[],
    })?;
    Ok(said)
}

/// Every message of a conversation.
pub(crate) fn messages(store: &dyn Read, id: ConversationId) -> Result<Vec<ReadMessage>> {
    let mut all = Vec::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.read(id, everything, &mut |seen| {
        all.push(seen.into());
        Ok(())
    })?;
    Ok(all)
}

/// The inner names of all conversations, oldest change first.
pub(crate) fn inner_names(inner: &dyn Read) -> Vec<ConversationId> {
    let mut names: Vec<ConversationId> = Vec::new();
    for change in inner.changes(0, std::time::Duration::ZERO).unwrap() {
        if !names.contains(&change.conversation) {
            names.push(change.conversation);
        }
    }
    let there = inner.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() }).unwrap().items;
    names.retain(|name| there.iter().any(|row| row.id == *name));
    names
}
