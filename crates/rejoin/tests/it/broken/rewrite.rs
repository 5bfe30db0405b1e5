//! Stores that replace what messages say wrongly.

use rejoin::store::{Change, Note, Order, PreviewUpdate, Read, Rewritten, Selection, Store, What};
use rejoin::{ConversationId, Digest, ErrorKind, Result, Time};

use super::{Broken, Fault, Hook};

use crate::look::ReadMessage;

/// Amends, and does a rewrite in a way of its own.
fn rewriting(
    (store, id, expected, change, at): (&Broken, ConversationId, Option<u64>, &Change<'_>, Time),
    rewrite: impl FnOnce(&[Rewritten<'_>], PreviewUpdate<'_>) -> Result<u64>,
) -> Result<u64> {
    match change {
        Change::Rewrite { messages, previews } => rewrite(messages, *previews),
        other => store.inner.amend(id, expected, other, at),
    }
}

/// All messages as they stand in the store.
fn everything(store: &Broken, id: ConversationId) -> Result<Vec<ReadMessage>> {
    let mut shown = Vec::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    store.inner.read(id, all, &mut |seen| {
        shown.push(ReadMessage::from(seen));
        Ok(())
    })?;
    Ok(shown)
}

/// These messages as they stand in the store.
fn stored(store: &Broken, id: ConversationId, messages: &[Rewritten<'_>]) -> Result<Vec<ReadMessage>> {
    let shown = everything(store, id)?;
    let of = |message: &Rewritten<'_>| shown.iter().find(|shown| shown.id == message.id).cloned();
    Ok(messages.iter().filter_map(of).collect())
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "a_rewrite_replaces_bodies_and_links_only",
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, _| {
                for message in messages {
                    store.inner.amend(id, None, &Change::Note(message.id, Note::default()), at)?;
                }
                store.inner.amend(id, None, change, at).map(|_| 2)
            })
        }),
    ),
    (
        "messages_are_rewritten_all_or_none",
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let mut version = expected;
                for message in messages {
                    let one = Change::Rewrite { messages: std::slice::from_ref(message), previews };
                    version = Some(store.inner.amend(id, version, &one, at)?);
                }
                Ok(version.unwrap_or_default())
            })
        }),
    ),
    (
        "rewriting_an_unknown_message_is_not_found",
        Hook::Amend(|store, id, expected, change, at| match store.inner.amend(id, expected, change, at) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(2),
            other => other,
        }),
    ),
    (
        "a_message_twice_in_one_rewrite_is_a_conflict",
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let mut last: Vec<Rewritten<'_>> = Vec::new();
                for message in messages {
                    last.retain(|earlier| earlier.id != message.id);
                    last.push(*message);
                }
                store.inner.amend(id, expected, &Change::Rewrite { messages: &last, previews }, at)
            })
        }),
    ),
    (
        "a_parent_that_is_rewritten_without_its_child_is_a_conflict",
        // What is not named is given some link.
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let all = everything(store, id)?;
                let mut whole: Vec<Rewritten<'_>> = all
                    .iter()
                    .map(|shown| Rewritten {
                        id: shown.id,
                        link: Digest::chain(Some(shown.link), b"some"),
                        body: &shown.body,
                    })
                    .collect();
                for message in messages {
                    whole.retain(|other| other.id != message.id);
                    whole.push(*message);
                }
                store.inner.amend(id, expected, &Change::Rewrite { messages: &whole, previews }, at)
            })
        }),
    ),
    (
        "both_previews_are_replaced_by_those_of_a_rewrite",
        // An empty one keeps what was there, as it does in an append.
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let last = if previews.last.is_empty() { "found it" } else { previews.last };
                let kept = Change::Rewrite { messages, previews: PreviewUpdate { last, ..previews } };
                store.inner.amend(id, expected, &kept, at)
            })
        }),
    ),
    (
        "the_link_of_the_head_follows_a_rewrite",
        // The head remembers the link that it was first stored with.
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            for head in page.items.iter_mut().filter_map(|row| row.head.as_mut()) {
                head.digest = Digest::chain(None, head.id.as_str().as_bytes());
            }
            Ok(page)
        }),
    ),
    (
        "the_bytes_follow_a_rewrite",
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            page.items.iter_mut().for_each(|row| row.bytes = 1_000);
            Ok(page)
        }),
    ),
    (
        "what_was_written_against_a_link_that_is_gone_is_a_conflict",
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let links: Vec<Digest> =
                    stored(store, id, messages)?.into_iter().map(|shown| shown.link).collect();
                let kept: Vec<Rewritten<'_>> = messages
                    .iter()
                    .zip(links)
                    .map(|(message, link)| Rewritten { link, ..*message })
                    .collect();
                store.inner.amend(id, expected, &Change::Rewrite { messages: &kept, previews }, at)
            })
        }),
    ),
    (
        "a_search_finds_what_messages_say_since_they_were_rewritten",
        // What was prepared for searching stays as it was.
        Hook::Amend(|store, id, expected, change, at| {
            rewriting((store, id, expected, change, at), |messages, previews| {
                let bodies = stored(store, id, messages)?;
                let kept: Vec<Rewritten<'_>> = messages
                    .iter()
                    .zip(&bodies)
                    .map(|(message, shown)| Rewritten { body: &shown.body, ..*message })
                    .collect();
                store.inner.amend(id, expected, &Change::Rewrite { messages: &kept, previews }, at)
            })
        }),
    ),
    (
        "a_rewrite_is_reported_as_one",
        Hook::Changes(|store, after, wait| {
            let mut changes = store.inner.changes(after, wait)?;
            for change in changes.iter_mut().filter(|change| change.what == What::Rewritten) {
                change.what = What::Changed;
            }
            Ok(changes)
        }),
    ),
];
