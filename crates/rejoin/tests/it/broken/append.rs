//! Stores that append wrongly.

use rejoin::store::{
    Anchor, Appended, Change, Entry, Facets, ListQuery, Opening, Order, Read, Row, Safety, Selection, Stale,
    Store, Turn,
};
use rejoin::{Branch, ConversationId, Digest, Error, ErrorKind, MessageId, Result, Time};

use super::{Broken, Fault, Hook};

fn row(store: &Broken, id: ConversationId) -> Option<Row> {
    let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
    store.inner.list(&query).unwrap().items.pop()
}

/// The messages a conversation has, with their links.
fn links(store: &Broken, id: ConversationId) -> Vec<(MessageId, Digest)> {
    let mut links = Vec::new();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = store.inner.read(id, all, &mut |seen| {
        links.push((seen.id, seen.link));
        Ok(())
    });
    drop(read);
    links
}

/// Appends the turn with its entries changed.
fn altered(
    store: &Broken,
    turn: &Turn<'_>,
    alter: impl for<'a> FnOnce(&mut Vec<Entry<'a>>),
) -> Result<Appended> {
    let mut entries = turn.entries.to_vec();
    alter(&mut entries);
    store.inner.append(&Turn { entries: &entries, ..*turn })
}

/// Answers as if an error of this kind were a success.
fn forgiving(store: &Broken, turn: &Turn<'_>, kind: ErrorKind) -> Result<Appended> {
    match store.inner.append(turn) {
        Err(error) if error.kind() == kind => Ok(Appended { seq: 0, forked: false, replayed: false }),
        other => other,
    }
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "there_is_one_answer_per_turn",
        Hook::AppendAll(|store, turns| {
            let mut answers = store.inner.append_all(turns)?;
            answers.reverse();
            Ok(answers)
        }),
    ),
    (
        "a_turn_may_go_on_from_one_before_it",
        Hook::AppendAll(|store, turns| {
            let mut answers: Vec<_> = turns.iter().rev().map(|turn| store.inner.append(turn)).collect();
            answers.reverse();
            answers.into_iter().collect()
        }),
    ),
    (
        "a_turn_that_is_refused_ends_it",
        Hook::AppendAll(|store, turns| {
            let answers: Vec<_> = turns.iter().map(|turn| store.inner.append(turn)).collect();
            answers.into_iter().collect()
        }),
    ),
    (
        "a_turn_is_stored_whole_or_not_at_all",
        Hook::Append(|store, turn| {
            let mut answer = None;
            for (place, entry) in turn.entries.iter().enumerate() {
                let opening = turn.opening.filter(|_| place == 0);
                answer = Some(store.inner.append(&Turn { opening, entries: &[*entry], ..*turn })?);
            }
            answer.map_or_else(|| store.inner.append(turn), Ok)
        }),
    ),
    (
        "a_turn_that_opens_a_conversation_creates_it",
        Hook::Append(|store, turn| {
            let opening = turn.opening.map(|opening| Opening { header: "{}", ..opening });
            store.inner.append(&Turn { opening, ..*turn })
        }),
    ),
    (
        "a_conversation_may_be_opened_without_messages",
        Hook::Append(|store, turn| {
            if turn.entries.is_empty() {
                return Err(Error::new(ErrorKind::Invalid, "there are no messages"));
            }
            store.inner.append(turn)
        }),
    ),
    (
        "opening_a_conversation_that_exists_is_a_conflict",
        Hook::Append(|store, turn| {
            let opening = turn.opening.filter(|_| row(store, turn.conversation).is_none());
            store.inner.append(&Turn { opening, ..*turn })
        }),
    ),
    (
        "a_turn_that_does_nothing_is_invalid",
        Hook::Append(|store, turn| forgiving(store, turn, ErrorKind::Invalid)),
    ),
    (
        "appending_to_an_unknown_conversation_is_not_found",
        Hook::Append(|store, turn| {
            let facets = Facets::default();
            let made = Opening { facets: &facets, header: "{}", created: turn.active };
            let opening = turn.opening.or(row(store, turn.conversation).is_none().then_some(made));
            store.inner.append(&Turn { opening, ..*turn })
        }),
    ),
    (
        "a_parent_may_be_any_message",
        Hook::Append(|store, turn| {
            let head = row(store, turn.conversation).and_then(|row| row.head);
            altered(store, turn, |entries| {
                let own: Vec<MessageId> = entries.iter().map(|entry| entry.id).collect();
                for entry in entries
                    .iter_mut()
                    .filter(|entry| entry.parent.is_some_and(|parent| !own.contains(&parent.id)))
                {
                    entry.parent = head.map(|head| Anchor { id: head.id, link: head.digest });
                }
            })
        }),
    ),
    (
        "a_parent_may_be_any_message",
        // Parents are told apart by their links.
        Hook::Append(|store, turn| {
            let known = links(store, turn.conversation);
            altered(store, turn, |entries| {
                for parent in entries.iter_mut().filter_map(|entry| entry.parent.as_mut()) {
                    parent.id =
                        known.iter().find(|(_, link)| *link == parent.link).map_or(parent.id, |(id, _)| *id);
                }
            })
        }),
    ),
    (
        "a_parent_may_be_an_earlier_entry",
        Hook::Append(|store, turn| {
            let own = |id| turn.entries.iter().any(|entry| entry.id == id);
            if turn.entries.iter().any(|entry| entry.parent.is_some_and(|parent| own(parent.id))) {
                return Err(Error::new(ErrorKind::NotFound, "there is no such parent"));
            }
            store.inner.append(turn)
        }),
    ),
    (
        "any_other_parent_is_not_found",
        Hook::Append(|store, turn| {
            let known = links(store, turn.conversation);
            altered(store, turn, |entries| {
                let own: Vec<MessageId> = entries.iter().map(|entry| entry.id).collect();
                for entry in entries {
                    let is_known = |id| own.contains(&id) || known.iter().any(|(known, _)| *known == id);
                    entry.parent = entry.parent.filter(|parent| is_known(parent.id));
                }
            })
        }),
    ),
    (
        "a_parent_with_another_link_is_a_conflict",
        Hook::Append(|store, turn| {
            let mut known = links(store, turn.conversation);
            known.extend(turn.entries.iter().map(|entry| (entry.id, entry.link)));
            altered(store, turn, |entries| {
                for parent in entries.iter_mut().filter_map(|entry| entry.parent.as_mut()) {
                    parent.link =
                        known.iter().find(|(id, _)| *id == parent.id).map_or(parent.link, |(_, link)| *link);
                }
            })
        }),
    ),
    (
        "the_head_becomes_the_last_entry",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            let (first, row) = (turn.entries.first(), row(store, turn.conversation));
            if let (Some(first), Some(row)) = (first, row) {
                store.inner.amend(
                    turn.conversation,
                    Some(row.version),
                    &Change::Head(Some(first.id)),
                    turn.active,
                )?;
            }
            Ok(appended)
        }),
    ),
    (
        "a_parent_with_a_child_is_a_fork",
        Hook::Append(|store, turn| Ok(Appended { forked: false, ..store.inner.append(turn)? })),
    ),
    (
        "a_second_root_is_a_fork",
        Hook::Append(|store, turn| {
            let has_root = turn.entries.iter().any(|entry| entry.parent.is_none());
            let appended = store.inner.append(turn)?;
            Ok(Appended { forked: appended.forked && !has_root, ..appended })
        }),
    ),
    (
        "a_stale_turn_can_be_refused",
        Hook::Append(|store, turn| store.inner.append(&Turn { stale: Stale::Branch, ..*turn })),
    ),
    (
        "an_id_that_is_taken_is_a_conflict",
        Hook::Append(|store, turn| forgiving(store, turn, ErrorKind::Conflict)),
    ),
    (
        "an_id_twice_in_one_turn_is_a_conflict",
        Hook::Append(|store, turn| altered(store, turn, |entries| entries.dedup_by_key(|entry| entry.id))),
    ),
    (
        "another_conversation_may_have_the_same_ids",
        Hook::Append(|store, turn| {
            let known = |id: MessageId| {
                store.inner.find(id.as_str(), 99).is_ok_and(|found| {
                    found
                        .iter()
                        .any(|found| found.message == Some(id) && found.conversation != turn.conversation)
                })
            };
            if turn.entries.iter().any(|entry| known(entry.id)) {
                return Err(Error::new(ErrorKind::Conflict, "the id is taken"));
            }
            store.inner.append(turn)
        }),
    ),
    (
        "the_same_turn_again_is_replayed",
        Hook::Append(|store, turn| match store.inner.append(turn)? {
            Appended { replayed: true, .. } => Err(Error::new(ErrorKind::Conflict, "the id is taken")),
            appended => Ok(appended),
        }),
    ),
    (
        "the_same_turn_again_is_replayed",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            Ok(Appended { forked: appended.forked && !appended.replayed, ..appended })
        }),
    ),
    (
        "a_replay_changes_nothing",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            store.inner.put(turn.blobs, Safety::Synced)?;
            Ok(appended)
        }),
    ),
    (
        "last_activity_far_ahead_of_a_turn_is_replaced",
        Hook::Append(|store, turn| store.inner.append(&Turn { now: Time::from_micros(i64::MAX), ..*turn })),
    ),
    (
        "blobs_of_a_turn_are_stored_with_it_or_not_at_all",
        Hook::Append(|store, turn| {
            for blob in turn.blobs.iter().filter(|blob| blob.owner.is_none()) {
                store.inner.put(&[*blob], Safety::Synced)?;
            }
            store.inner.append(turn)
        }),
    ),
    (
        "an_append_does_not_change_the_version",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            if let Some(row) = row(store, turn.conversation).filter(|_| turn.opening.is_none()) {
                store.inner.amend(
                    row.id,
                    Some(row.version),
                    &Change::Head(row.head.map(|head| head.id)),
                    turn.active,
                )?;
            }
            Ok(appended)
        }),
    ),
    (
        "the_branch_that_a_turn_names_moves_along",
        Hook::Append(|store, turn| store.inner.append(&Turn { branch: None, ..*turn })),
    ),
    (
        "a_branch_that_is_gone_stays_gone",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            if let (Some(id), Some(last)) = (turn.branch, turn.entries.last()) {
                let branch = Branch { id, title: String::new(), head: last.id };
                store.inner.amend(turn.conversation, None, &Change::Branch(&branch), turn.active)?;
            }
            Ok(appended)
        }),
    ),
    (
        "sequences_of_removed_messages_are_not_used_again",
        Hook::Append(|store, turn| {
            let appended = store.inner.append(turn)?;
            let count = links(store, turn.conversation).len();
            Ok(Appended { seq: u32::try_from(count).unwrap(), ..appended })
        }),
    ),
];
