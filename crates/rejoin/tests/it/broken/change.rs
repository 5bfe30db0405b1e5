//! Stores that amend, remove, put or maintain wrongly.

use rejoin::store::{
    BlobNames, Change, Children, Facets, Fault as Damage, ListQuery, Note, Outcome, Progress, Put, Read, Row,
    Safety, Selection, Space, Store, Target,
};
use rejoin::{ConversationId, Error, ErrorKind, MessageId, Result, Time};

use super::{Broken, Fault, Hook};

fn row(store: &Broken, id: ConversationId) -> Option<Row> {
    let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
    store.inner.list(&query).unwrap().items.pop()
}

/// Answers as if what is not found were changed.
fn forgiving(answer: Result<u64>, expected: Option<u64>) -> Result<u64> {
    match answer {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(expected.unwrap_or(0) + 1),
        other => other,
    }
}

/// Removes with every target changed.
fn altered(
    store: &Broken,
    targets: &[Target<'_>],
    reason: &str,
    at: Time,
    mut alter: impl for<'a> FnMut(Target<'a>) -> Target<'a>,
) -> Result<Vec<Outcome>> {
    let targets: Vec<_> = targets.iter().map(|target| alter(*target)).collect();
    store.inner.remove(&targets, reason, at)
}

fn with_children(target: Target<'_>, children: Children) -> Target<'_> {
    match target {
        Target::Messages { conversation, ids, .. } => Target::Messages { conversation, ids, children },
        Target::Conversation(id) => Target::Conversation(id),
    }
}

/// The parents of all messages of a conversation.
fn parents(store: &Broken, id: ConversationId) -> Vec<MessageId> {
    let mut parents = Vec::new();
    let all = Selection::All { order: rejoin::store::Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = store.inner.read(id, all, &mut |seen| {
        parents.extend(seen.parent);
        Ok(())
    });
    drop(read);
    parents
}

fn names(store: &Broken, space: Space, owner: Option<ConversationId>) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let got = store.inner.get(space, owner, BlobNames::ALL, &mut |name, _| {
        names.push(name.to_vec());
        Ok(())
    });
    drop(got);
    names
}

/// Removes, then changes what is left of the conversation.
fn and_then(
    store: &Broken,
    targets: &[Target<'_>],
    reason: &str,
    at: Time,
    change: impl Fn(&Row, &Row) -> Option<Change<'static>>,
) -> Result<Vec<Outcome>> {
    let Some(Target::Messages { conversation, .. }) = targets.first() else {
        return store.inner.remove(targets, reason, at);
    };
    let before = row(store, *conversation);
    let outcomes = store.inner.remove(targets, reason, at)?;
    if let (Some(before), Some(after)) = (before, row(store, *conversation))
        && let Some(change) = change(&before, &after)
    {
        store.inner.amend(*conversation, Some(after.version), &change, at)?;
    }
    Ok(outcomes)
}

pub(super) const FAULTS: &[Fault] = &[
    (
        "a_change_answers_the_next_version",
        Hook::Amend(|store, id, expected, change, at| {
            store.inner.amend(id, expected, change, at).map(|_| expected.unwrap_or(0))
        }),
    ),
    (
        "another_version_is_a_conflict_and_nothing_changes",
        Hook::Amend(|store, id, _, change, at| {
            let version = row(store, id).map(|row| row.version);
            store.inner.amend(id, version, change, at)
        }),
    ),
    (
        "without_an_expected_version_any_will_do",
        Hook::Amend(|store, id, expected, change, at| {
            store.inner.amend(id, expected.or(Some(1)), change, at)
        }),
    ),
    (
        "a_change_is_reported_with_its_time",
        Hook::Amend(|store, id, expected, change, _| {
            let active = row(store, id).map_or_else(Time::default, |row| row.active);
            store.inner.amend(id, expected, change, active)
        }),
    ),
    (
        "a_header_is_replaced_together_with_its_facets",
        Hook::Amend(|store, id, expected, change, at| match change {
            Change::Header { header, .. } => {
                let facets = Facets::default();
                store.inner.amend(id, expected, &Change::Header { facets: &facets, header }, at)
            }
            other => store.inner.amend(id, expected, other, at),
        }),
    ),
    (
        "a_head_can_be_moved",
        Hook::Amend(|store, id, expected, change, at| match change {
            Change::Head(None) => Err(Error::new(ErrorKind::Invalid, "there must be a head")),
            other => store.inner.amend(id, expected, other, at),
        }),
    ),
    (
        "a_head_that_names_no_message_is_not_found",
        Hook::Amend(|store, id, expected, change, at| {
            forgiving(store.inner.amend(id, expected, change, at), expected)
        }),
    ),
    (
        "a_branch_whose_head_is_no_message_is_not_found",
        Hook::Amend(|store, id, expected, change, at| {
            forgiving(store.inner.amend(id, expected, change, at), expected)
        }),
    ),
    (
        "a_branch_can_be_taken_away",
        Hook::Amend(|store, id, expected, change, at| match change {
            Change::Unbranch(_) => store.inner.amend(id, expected, &Change::Unbranch("none".parse()?), at),
            other => store.inner.amend(id, expected, other, at),
        }),
    ),
    (
        "a_note_replaces_label_and_pin_only",
        Hook::Amend(|store, id, expected, change, at| match change {
            Change::Note(message, note) => {
                let kept = Note { is_pinned: true, ..*note };
                store.inner.amend(id, expected, &Change::Note(*message, kept), at)
            }
            other => store.inner.amend(id, expected, other, at),
        }),
    ),
    (
        "a_note_on_an_unknown_message_is_not_found",
        Hook::Amend(|store, id, expected, change, at| {
            forgiving(store.inner.amend(id, expected, change, at), expected)
        }),
    ),
    (
        "changing_an_unknown_conversation_is_not_found",
        Hook::Amend(|store, id, expected, change, at| {
            forgiving(store.inner.amend(id, expected, change, at), expected)
        }),
    ),
    (
        "there_is_one_outcome_per_target_in_order",
        Hook::Remove(|store, targets, reason, at| {
            let mut outcomes = store.inner.remove(targets, reason, at)?;
            outcomes.dedup();
            outcomes.reverse();
            Ok(outcomes)
        }),
    ),
    (
        "a_removed_conversation_takes_everything_along",
        // What it owned stays behind, and waits for the next of its id.
        Hook::Get(|store, space, owner, named, visit| match owner {
            Some(_) => visit(b"n", b"goes"),
            None => store.inner.get(space, owner, named, visit),
        }),
    ),
    (
        "a_missing_conversation_is_an_outcome",
        Hook::Remove(|store, targets, reason, at| {
            let outcomes = store.inner.remove(targets, reason, at)?;
            if outcomes.contains(&Outcome::NotFound) {
                return Err(Error::new(ErrorKind::NotFound, "there is no such conversation"));
            }
            Ok(outcomes)
        }),
    ),
    (
        "messages_of_one_target_go_together_or_not_at_all",
        Hook::Remove(|store, targets, reason, at| {
            let [Target::Messages { conversation, ids, children }] = *targets else {
                return store.inner.remove(targets, reason, at);
            };
            let each: Vec<_> = ids
                .iter()
                .map(|id| Target::Messages { conversation, ids: std::slice::from_ref(id), children })
                .collect();
            Ok(vec![store.inner.remove(&each, reason, at)?.pop().unwrap_or(Outcome::NotFound)])
        }),
    ),
    (
        "a_missing_message_is_a_success",
        Hook::Remove(|store, targets, reason, at| {
            let mut outcomes = store.inner.remove(targets, reason, at)?;
            for outcome in &mut outcomes {
                if matches!(outcome, Outcome::Removed { messages: 0, .. }) {
                    *outcome = Outcome::NotFound;
                }
            }
            Ok(outcomes)
        }),
    ),
    (
        "a_message_with_children_that_stay_is_refused",
        Hook::Remove(|store, targets, reason, at| {
            altered(store, targets, reason, at, |target| with_children(target, Children::Remove))
        }),
    ),
    (
        "a_message_goes_when_its_children_are_also_named",
        Hook::Remove(|store, targets, reason, at| {
            let [Target::Messages { conversation, ids, children: Children::Refuse }] = targets else {
                return store.inner.remove(targets, reason, at);
            };
            let parents = parents(store, *conversation);
            match ids.iter().find(|id| parents.contains(id)) {
                Some(parent) => Ok(vec![Outcome::HasChildren(*parent)]),
                None => store.inner.remove(targets, reason, at),
            }
        }),
    ),
    (
        "a_whole_subtree_goes_when_asked_for",
        Hook::Remove(|store, targets, reason, at| {
            altered(store, targets, reason, at, |target| with_children(target, Children::Refuse))
        }),
    ),
    (
        "a_head_that_goes_falls_back",
        Hook::Remove(|store, targets, reason, at| {
            and_then(store, targets, reason, at, |before, after| {
                (before.head != after.head).then_some(Change::Head(None))
            })
        }),
    ),
    (
        "a_branch_that_goes_falls_back",
        Hook::Remove(|store, targets, reason, at| {
            and_then(store, targets, reason, at, |before, after| {
                let moved = after.branches.iter().find(|branch| !before.branches.contains(branch));
                moved.map(|branch| Change::Unbranch(branch.id))
            })
        }),
    ),
    (
        "what_is_removed_is_gone_from_lists_and_previews",
        Hook::Remove(|store, targets, reason, at| match targets {
            [Target::Conversation(_)] => Ok(vec![Outcome::Removed { messages: 0, bytes: 0 }]),
            _ => store.inner.remove(targets, reason, at),
        }),
    ),
    (
        "what_is_removed_is_gone_from_lists_and_previews",
        Hook::List(|store, query| {
            let mut page = store.inner.list(query)?;
            page.items.iter_mut().for_each(|row| row.first = "my secret".to_owned());
            Ok(page)
        }),
    ),
    (
        "what_is_removed_is_gone_from_lookups",
        Hook::Remove(|store, targets, reason, at| match targets {
            [Target::Messages { .. }] => Ok(vec![Outcome::Removed { messages: 2, bytes: 2 }]),
            _ => store.inner.remove(targets, reason, at),
        }),
    ),
    (
        "blobs_are_stored_all_or_none",
        Hook::Put(|store, blobs, safety| {
            blobs.iter().try_for_each(|blob| store.inner.put(std::slice::from_ref(blob), safety))
        }),
    ),
    (
        "a_blob_of_the_same_name_is_replaced",
        Hook::Put(|store, blobs, safety| {
            let is_new =
                |blob: &&Put<'_>| !names(store, blob.space, blob.owner).iter().any(|name| name == blob.name);
            let fresh: Vec<_> = blobs.iter().filter(is_new).copied().collect();
            store.inner.put(&fresh, safety)
        }),
    ),
    (
        "a_blob_without_bytes_is_erased",
        Hook::Put(|store, blobs, safety| {
            let kept: Vec<_> = blobs.iter().filter(|blob| blob.bytes.is_some()).copied().collect();
            store.inner.put(&kept, safety)
        }),
    ),
    (
        "an_erased_blob_stays_erased",
        Hook::Put(|store, blobs, safety| {
            let is_kept = |blob: &&Put<'_>| blob.bytes.is_some() || blob.owner.is_none();
            let kept: Vec<_> = blobs.iter().filter(is_kept).copied().collect();
            store.inner.put(&kept, safety)
        }),
    ),
    (
        "erasing_what_is_not_there_succeeds",
        Hook::Put(|store, blobs, safety| {
            let is_there =
                |blob: &Put<'_>| names(store, blob.space, blob.owner).iter().any(|name| name == blob.name);
            if blobs.iter().any(|blob| blob.bytes.is_none() && !is_there(blob)) {
                return Err(Error::new(ErrorKind::NotFound, "there is no such blob"));
            }
            store.inner.put(blobs, safety)
        }),
    ),
    (
        "a_blob_of_an_unknown_conversation_is_not_found",
        Hook::Put(|store, blobs, safety| store.inner.put(blobs, safety).or(Ok(()))),
    ),
    (
        "maintenance_changes_nothing_a_reader_can_see",
        Hook::Maintain(|store, task, budget| {
            let trace = Put { space: Space::State, owner: None, name: b"maintained", bytes: Some(b"") };
            store.inner.put(&[trace], Safety::Unsynced)?;
            store.inner.maintain(task, budget)
        }),
    ),
    (
        "maintenance_ends_whatever_the_budget",
        Hook::Maintain(|_, _, budget| {
            Ok(Progress { left: u64::from(budget.is_zero()), ..Progress::default() })
        }),
    ),
    (
        "a_sound_store_has_no_faults",
        Hook::Maintain(|_, _, _| {
            let faults = vec![Damage { conversation: None, what: "a hunch".to_owned() }];
            Ok(Progress { faults, ..Progress::default() })
        }),
    ),
];
