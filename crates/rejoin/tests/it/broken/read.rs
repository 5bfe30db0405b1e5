//! Stores that read messages, blobs or changes wrongly.

use std::time::Duration;

use rejoin::store::{BlobNames, Capabilities, ListQuery, Note, Order, Read, Seen, Selection, Space, What};
use rejoin::{ConversationId, Error, ErrorKind, Result};

use super::{Broken, Fault, Hook};

use crate::look::ReadMessage;

fn shown(store: &Broken, id: ConversationId, what: Selection<'_>) -> Result<Vec<ReadMessage>> {
    let mut all = Vec::new();
    store.inner.read(id, what, &mut |seen| {
        all.push(seen.into());
        Ok(())
    })?;
    Ok(all)
}

fn show(messages: &[ReadMessage], visit: &mut dyn FnMut(Seen<'_>) -> Result<()>) -> Result<()> {
    messages.iter().try_for_each(|shown| {
        visit(Seen {
            id: shown.id,
            parent: shown.parent,
            seq: shown.seq,
            turn: shown.turn,
            link: shown.link,
            note: Note { label: shown.label.as_deref(), is_pinned: shown.is_pinned },
            body: &shown.body,
            size: shown.body.len() as u64,
        })
    })
}

const ALL: Selection<'static> = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };

/// Reads well, then changes what was read.
fn altered(
    (store, id, what): (&Broken, ConversationId, Selection<'_>),
    visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    alter: impl FnOnce(&mut Vec<ReadMessage>),
) -> Result<()> {
    let mut messages = shown(store, id, what)?;
    alter(&mut messages);
    show(&messages, visit)
}

fn gather(
    store: &Broken,
    space: Space,
    owner: Option<ConversationId>,
    named: BlobNames<'_>,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut found = Vec::new();
    store.inner.get(space, owner, named, &mut |name, bytes| {
        found.push((name.to_vec(), bytes.to_vec()));
        Ok(())
    })?;
    Ok(found)
}

fn hand_over(found: &[(Vec<u8>, Vec<u8>)], visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    found.iter().try_for_each(|(name, bytes)| visit(name, bytes))
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "capabilities_are_constant",
        Hook::Capabilities(|store| {
            let all = ListQuery { limit: 1, ..ListQuery::default() };
            let is_empty = store.inner.list(&all).is_ok_and(|page| page.items.is_empty());
            Capabilities { ranks: is_empty, ..Capabilities::NONE }
        }),
    ),
    (
        "a_path_runs_from_the_root_to_its_target",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| drop(messages.remove(0)))
        }),
    ),
    (
        "a_path_never_includes_the_targets_children",
        Hook::Read(|store, id, what, visit| {
            let everything = shown(store, id, ALL)?;
            altered((store, id, what), visit, |messages| {
                let Selection::Path(target @ Some(_)) = what else { return };
                messages.extend(everything.into_iter().filter(|shown| shown.parent == target));
            })
        }),
    ),
    (
        "a_path_without_a_target_ends_at_the_head",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                if let Selection::Path(None) = what {
                    messages.pop();
                }
            })
        }),
    ),
    (
        "a_path_without_a_head_is_empty",
        Hook::Read(|store, id, what, visit| {
            if matches!(what, Selection::Path(None)) && shown(store, id, what)?.is_empty() {
                return Err(Error::new(ErrorKind::NotFound, "there is no head"));
            }
            store.inner.read(id, what, visit)
        }),
    ),
    (
        "all_messages_come_in_order_of_arrival",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                messages.sort_by_key(|shown| std::cmp::Reverse(shown.parent));
            })
        }),
    ),
    (
        "all_messages_come_newest_first_when_asked",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| messages.sort_by_key(|shown| shown.seq))
        }),
    ),
    (
        "an_offset_passes_over_and_a_limit_ends",
        Hook::Read(|store, id, what, visit| {
            let Selection::All { order, limit, .. } = what else { return store.inner.read(id, what, visit) };
            store.inner.read(id, Selection::All { order, offset: 0, limit }, visit)
        }),
    ),
    (
        "an_offset_passes_over_and_a_limit_ends",
        Hook::Read(|store, id, what, visit| {
            let Selection::All { order, offset, .. } = what else { return store.inner.read(id, what, visit) };
            store.inner.read(id, Selection::All { order, offset, limit: u64::MAX }, visit)
        }),
    ),
    (
        "messages_come_in_the_order_asked",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| messages.sort_by_key(|shown| shown.seq))
        }),
    ),
    (
        "a_message_asked_for_twice_comes_twice",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                let mut met = Vec::new();
                messages.retain(|shown| {
                    met.push(shown.id);
                    met.iter().filter(|id| **id == shown.id).count() == 1
                });
            })
        }),
    ),
    (
        "a_missing_id_is_not_found_and_nothing_is_visited",
        Hook::Read(|store, id, what, visit| {
            let Selection::Ids(ids) = what else { return store.inner.read(id, what, visit) };
            ids.iter().try_for_each(|one| store.inner.read(id, Selection::Ids(&[*one]), visit))
        }),
    ),
    (
        "reading_an_unknown_conversation_is_not_found",
        Hook::Read(|store, id, what, visit| match shown(store, id, ALL) {
            Ok(_) => store.inner.read(id, what, visit),
            Err(_) => Ok(()),
        }),
    ),
    (
        "bodies_come_back_byte_for_byte",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                messages.iter_mut().for_each(|shown| shown.body = shown.body.replace("\r\n", "\n"));
            })
        }),
    ),
    (
        "one_read_sees_one_moment",
        Hook::Read(|store, id, what, visit| {
            let Selection::All { order, offset, .. } = what else { return store.inner.read(id, what, visit) };
            let one = |at| shown(store, id, Selection::All { order, offset: offset + at, limit: 1 });
            (0..)
                .map_while(|at| one(at).ok().filter(|page| !page.is_empty()))
                .try_for_each(|page| show(&page, visit))
        }),
    ),
    (
        "an_error_of_the_visitor_ends_the_read",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), &mut |seen| visit(seen).or(Ok(())), |_| ())
        }),
    ),
    (
        "what_was_appended_is_there_when_opened_again",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                messages.truncate(if store.reopened > 1 { 1 } else { 9 });
            })
        }),
    ),
    (
        "sequences_start_at_one_and_have_no_gaps",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                messages.iter_mut().for_each(|shown| shown.seq = shown.seq * 2 - 1);
            })
        }),
    ),
    (
        "messages_of_one_turn_share_its_first_sequence",
        Hook::Read(|store, id, what, visit| {
            altered((store, id, what), visit, |messages| {
                messages.iter_mut().for_each(|shown| shown.turn = shown.seq);
            })
        }),
    ),
    (
        "changes_are_reported_oldest_first",
        Hook::Changes(|store, after, wait| {
            let mut changes = store.inner.changes(after, wait)?;
            changes.reverse();
            Ok(changes)
        }),
    ),
    (
        "every_change_is_reported",
        Hook::Changes(|store, after, wait| {
            let mut changes = store.inner.changes(after, wait)?;
            changes.retain(|change| change.what != What::Changed);
            Ok(changes)
        }),
    ),
    (
        "every_change_is_reported",
        Hook::Changes(|store, after, wait| store.inner.changes(if after == 0 { 0 } else { after + 1 }, wait)),
    ),
    (
        "an_answer_of_few_changes_has_all",
        Hook::Changes(|store, after, wait| {
            let mut changes = store.inner.changes(after, wait)?;
            changes.truncate(9);
            Ok(changes)
        }),
    ),
    (
        "a_removal_is_reported_with_its_reason",
        Hook::Changes(|store, after, wait| {
            let mut changes = store.inner.changes(after, wait)?;
            for change in &mut changes {
                if let What::Trimmed { reason } | What::Deleted { reason } = &mut change.what {
                    reason.clear();
                }
            }
            Ok(changes)
        }),
    ),
    (
        "without_a_change_the_answer_is_empty_after_the_wait",
        Hook::Changes(|store, after, _| store.inner.changes(after, Duration::ZERO)),
    ),
    (
        "a_change_ends_the_wait",
        Hook::Changes(|store, after, wait| match wait {
            Duration::ZERO => store.inner.changes(after, wait),
            _ => Ok(Vec::new()),
        }),
    ),
    (
        "a_stamp_from_before_reopening_stays_good",
        Hook::Changes(|store, after, wait| store.inner.changes(after + store.reopened as u64, wait)),
    ),
    (
        "blobs_come_in_order_of_name",
        Hook::Get(|store, space, owner, named, visit| {
            let mut found = gather(store, space, owner, named)?;
            found.sort_by_key(|(name, _)| name.to_ascii_lowercase());
            hand_over(&found, visit)
        }),
    ),
    (
        "only_names_with_the_prefix_are_visited",
        Hook::Get(|store, space, owner, named, visit| {
            let mut found = gather(store, space, owner, BlobNames::ALL)?;
            found.retain(|(name, _)| name.as_slice() >= named.start());
            hand_over(&found, visit)
        }),
    ),
    (
        "a_blob_asked_for_by_its_name_comes_alone",
        Hook::Get(|store, space, owner, named, visit| match named {
            BlobNames::One(name) => store.inner.get(space, owner, BlobNames::Prefix(name), visit),
            BlobNames::Prefix(_) => store.inner.get(space, owner, named, visit),
        }),
    ),
    (
        "blobs_of_another_space_are_not_visited",
        Hook::Get(|store, _, owner, named, visit| {
            Space::ALL.into_iter().try_for_each(|space| store.inner.get(space, owner, named, visit))
        }),
    ),
    (
        "blobs_of_another_owner_are_not_visited",
        Hook::Get(|store, space, _, named, visit| store.inner.get(space, None, named, visit)),
    ),
    (
        "a_blob_survives_as_its_safety_says",
        Hook::Get(|store, space, owner, named, visit| match store.reopened {
            0 => store.inner.get(space, owner, named, visit),
            _ => Ok(()),
        }),
    ),
];
