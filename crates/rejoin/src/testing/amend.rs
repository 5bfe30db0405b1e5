//! Rules of changing what is known about a conversation.

use crate::error::{ErrorKind, Result};
use crate::model::{Branch, Head, Hold, MessageId, Status};
use crate::store::{Change, Facets, Note, PreviewUpdate, Row, Selection, Version};
use crate::testing::append::{stored, two};
use crate::testing::draft::{DraftTurn, at, conversation, link, message};
use crate::testing::look::{messages, names, row, told, visible};
use crate::testing::trial::Trial;

/// A rewrite of no message.
const NOTHING: Change<'static> =
    Change::Rewrite { messages: &[], previews: PreviewUpdate { first: "none", last: "none" } };

const NOTE: Note<'static> = Note { label: Some("later"), is_pinned: true };

fn branch(name: &str, title: &str, head: &str) -> Branch {
    Branch { id: message(name), title: title.to_owned(), head: message(head) }
}

/// Asserts that changes to the conversation of [`two`] are refused in this way, and that nothing changes.
#[track_caller]
fn refuses(trial: &mut Trial<'_>, expected: Version, changes: &[Change<'_>], kind: ErrorKind) -> Result<()> {
    let id = two(trial.store())?;
    let before = visible(trial.store())?;

    let answers: Vec<_> =
        changes.iter().map(|change| told(trial.store().amend(id, Some(expected), change, at(900)))).collect();

    assert_eq!(answers, vec![Err(kind); changes.len()]);
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// The answer is the new version, which the next change has to name.
pub(super) fn a_change_answers_the_next_version(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let branch = branch("q", "here", "a");
    let facets = Facets::default();
    let changes = [
        Change::Note(message("a"), NOTE),
        Change::Branch(&branch),
        Change::Head(Some(message("a"))),
        Change::Header { facets: &facets, header: "{}" },
        Change::Unbranch(message("q")),
        NOTHING,
    ];

    let mut answers = vec![1];
    for change in &changes {
        let version = *answers.last().expect("it begins with one");
        answers.push(trial.store().amend(id, Some(version), change, at(900))?);
    }

    let version = trial.observe(|store| Ok(row(store, id)?.map(|row| row.version)))?;
    assert!(answers.is_sorted_by(|before, after| before < after), "versions grow: {answers:?}");
    assert_eq!(version.as_ref(), answers.last());
    Ok(())
}

/// A version other than the expected one is a conflict, and nothing changes.
pub(super) fn another_version_is_a_conflict_and_nothing_changes(trial: &mut Trial<'_>) -> Result<()> {
    let branch = branch("q", "here", "a");
    let facets = Facets { kind: "review".to_owned(), ..Facets::default() };
    let changes = [
        Change::Note(message("a"), NOTE),
        Change::Branch(&branch),
        Change::Head(Some(message("a"))),
        Change::Header { facets: &facets, header: r#"{"a":1}"# },
        Change::Unbranch(message("q")),
        NOTHING,
    ];

    refuses(trial, 2, &changes, ErrorKind::Conflict)?;

    let old = trial.observe(|store| Ok(told(store.amend(conversation(1), Some(0), &changes[0], at(900)))))?;
    assert_eq!(old, Err(ErrorKind::Conflict));
    Ok(())
}

/// Without an expected version, any will do.
pub(super) fn without_an_expected_version_any_will_do(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").append(trial.store())?;

    let first = trial.store().amend(id, None, &Change::Note(message("a"), NOTE), at(900))?;
    let second = trial.store().amend(id, None, &Change::Head(None), at(900))?;

    assert_eq!([first, second], [2, 3]);
    Ok(())
}

/// An append does not change the version.
pub(super) fn an_append_does_not_change_the_version(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let version = trial.store().amend(id, Some(1), &Change::Note(message("a"), NOTE), at(900))?;
    DraftTurn::to(id).say("c", "b", "on").append(trial.store())?;

    let kept = trial.observe(|store| Ok(row(store, id)?.map(|row| row.version)))?;

    assert_eq!(kept, Some(version));
    trial.store().amend(id, Some(version), &Change::Note(message("c"), NOTE), at(900))?;
    Ok(())
}

/// A header is replaced together with its facets.
pub(super) fn a_header_is_replaced_together_with_its_facets(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let facets = Facets {
        project: "red".to_owned(),
        kind: "review".to_owned(),
        slug: "lisbon".to_owned(),
        status: Status::Completed,
        hold: Hold::Import,
        expires: Some(at(9)),
    };
    let before = row(trial.store(), id)?;
    let version = trial.store().amend(
        id,
        Some(1),
        &Change::Header { facets: &facets, header: "{\"a\":1}" },
        at(900),
    )?;

    let after = trial.observe(|store| row(store, id))?;

    let expected = before.map(|row| Row { version, facets, header: "{\"a\":1}".to_owned(), ..row });
    assert_eq!(after, expected);
    Ok(())
}

/// A head can be moved to any message, and the next root needs none.
pub(super) fn a_head_can_be_moved(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    DraftTurn::to(id).say("c", "a", "branch").append(trial.store())?;

    let mut seen = Vec::new();
    for (version, head) in [(1, Some("b")), (2, Some("a")), (3, None)] {
        trial.store().amend(id, Some(version), &Change::Head(head.map(message)), at(900))?;
        let path = trial.observe(|store| names(store, id, Selection::Path(None)))?;
        seen.push((trial.observe(|store| Ok(row(store, id)?.and_then(|row| row.head)))?, path));
    }

    let head = |name: &str| Some(Head { id: message(name), digest: link(name) });
    let expected = [(head("b"), "a b ".to_owned()), (head("a"), "a ".to_owned()), (None, String::new())];
    assert_eq!(seen, expected);
    let root = DraftTurn::to(id).linear().say("d", "", "a root at the head").append(trial.store())?;
    assert_eq!(root.seq, stored(4).seq);
    Ok(())
}

/// A head that names no message of the conversation is not found.
pub(super) fn a_head_that_names_no_message_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    DraftTurn::opening(conversation(2)).say("z", "", "elsewhere").append(trial.store())?;

    refuses(trial, 1, &["x", "z"].map(|name| Change::Head(Some(message(name)))), ErrorKind::NotFound)
}

/// A branch is added, or replaced where it stands.
pub(super) fn a_branch_is_added_or_replaced(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let changes = [
        branch("q", "one", "a"),
        branch("p", "two", "b"),
        branch("r", "three", "a"),
        branch("q", "four", "b"),
    ];

    for (version, branch) in (1..).zip(&changes) {
        trial.store().amend(id, Some(version), &Change::Branch(branch), at(900))?;
    }

    let branches = trial.observe(|store| Ok(row(store, id)?.map(|row| row.branches)))?;
    let [_, second, third, replaced] = changes;
    assert_eq!(branches, Some(vec![replaced, second, third]));
    Ok(())
}

/// A branch whose head is no message of the conversation is not found.
pub(super) fn a_branch_whose_head_is_no_message_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    DraftTurn::opening(conversation(2)).say("z", "", "elsewhere").append(trial.store())?;
    let branches = ["x", "z"].map(|head| branch("q", "here", head));

    refuses(trial, 1, &[Change::Branch(&branches[0]), Change::Branch(&branches[1])], ErrorKind::NotFound)
}

/// A branch that is taken away leaves its messages, and may be gone already.
pub(super) fn a_branch_can_be_taken_away(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let kept = branch("p", "stays", "b");
    trial.store().amend(id, Some(1), &Change::Branch(&branch("q", "goes", "a")), at(900))?;
    trial.store().amend(id, Some(2), &Change::Branch(&kept), at(900))?;
    let before = messages(trial.store(), id)?;

    trial.store().amend(id, Some(3), &Change::Unbranch(message("q")), at(900))?;
    trial.store().amend(id, Some(4), &Change::Unbranch(message("q")), at(900))?;

    let after = trial.observe(|store| Ok((row(store, id)?.map(|row| row.branches), messages(store, id)?)))?;
    assert_eq!(after, (Some(vec![kept]), before));
    Ok(())
}

/// A note replaces the label and pin of a message, and leaves its body and link alone.
pub(super) fn a_note_replaces_label_and_pin_only(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").pinned("first").say("b", "", "a fork").append(trial.store())?;
    let mut expected = messages(trial.store(), id)?;
    expected[0].label = None;
    expected[0].is_pinned = false;
    expected[1].label = Some("later".to_owned());
    expected[1].is_pinned = true;

    trial.store().amend(id, Some(1), &Change::Note(message("a"), Note::default()), at(900))?;
    trial.store().amend(id, Some(2), &Change::Note(message("b"), NOTE), at(900))?;

    assert_eq!(trial.observe(|store| messages(store, id))?, expected);
    // What the store remembers about the turn stays too.
    let turn = DraftTurn::opening(id).say("a", "", "hi").say("b", "", "a fork");
    assert!(turn.append(trial.store())?.forked, "the first answer said forked");
    Ok(())
}

/// A note on an unknown message is not found.
pub(super) fn a_note_on_an_unknown_message_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    DraftTurn::opening(conversation(2)).say("z", "", "elsewhere").append(trial.store())?;

    refuses(trial, 1, &["x", "z"].map(|name| Change::Note(message(name), NOTE)), ErrorKind::NotFound)
}

/// Changing an unknown conversation is not found.
pub(super) fn changing_an_unknown_conversation_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    two(trial.store())?;
    let (facets, a): (_, MessageId) = (Facets::default(), message("a"));
    let branch = branch("q", "here", "a");

    let answers = trial.observe(|store| {
        let of = |change| told(store.amend(conversation(2), Some(1), &change, at(900)));
        Ok([
            of(Change::Header { facets: &facets, header: "{}" }),
            of(Change::Head(None)),
            of(Change::Note(a, NOTE)),
            of(Change::Branch(&branch)),
            of(Change::Unbranch(a)),
            of(NOTHING),
        ])
    })?;

    assert_eq!(answers, [Err(ErrorKind::NotFound); 6]);
    Ok(())
}
