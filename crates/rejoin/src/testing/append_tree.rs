//! Rules of appending: where a message may hang, and when that is a branch.

use crate::error::{ErrorKind, Result};
use crate::model::Branch;
use crate::store::{Appended, Change, Selection};
use crate::testing::append::{refuses, stored, two};
use crate::testing::draft::{DraftTurn, at, conversation, message};
use crate::testing::look::{messages, names, row};
use crate::testing::trial::Trial;

const fn forked(seq: u32) -> Appended {
    Appended { forked: true, ..stored(seq) }
}

/// Asserts the parents of all messages, in order of arrival; a dot stands for none.
#[track_caller]
fn parents(trial: &mut Trial<'_>, expected: &str) -> Result<()> {
    let parents = trial.observe(|store| {
        let read = messages(store, conversation(1))?;
        Ok(read
            .iter()
            .map(|shown| shown.parent.map_or(".".to_owned(), |id| id.to_string()))
            .collect::<String>())
    })?;
    assert_eq!(parents, expected);
    Ok(())
}

/// A parent may be any message of the conversation.
pub(super) fn a_parent_may_be_any_message(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    DraftTurn::to(id).say("c", "a", "early").append(trial.store())?;
    DraftTurn::to(id).say("d", "b", "late").append(trial.store())?;
    // Two messages may have the same link: the same words under the same parent.
    DraftTurn::to(id).say("e", "b", "late").linked("d").append(trial.store())?;
    DraftTurn::to(id).say("f", "d", "one").say("g", "e", "two").against("d").append(trial.store())?;

    parents(trial, ".aabbde")
}

/// A parent may be an earlier entry of the turn.
pub(super) fn a_parent_may_be_an_earlier_entry(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let turn = DraftTurn::to(id).say("c", "b", "one").say("d", "c", "two").say("e", "c", "three");
    turn.say("f", "", "four").say("g", "f", "five").append(trial.store())?;

    parents(trial, ".abcc.f")?;
    let path = trial.observe(|store| names(store, id, Selection::Path(Some(message("e")))))?;
    assert_eq!(path, "a b c e ");
    Ok(())
}

/// Any other parent is not found.
pub(super) fn any_other_parent_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    DraftTurn::opening(conversation(2)).say("z", "", "elsewhere").append(trial.store())?;
    let turn = DraftTurn::to(id);

    refuses(trial, &turn.clone().say("c", "x", "unknown"), ErrorKind::NotFound)?;
    refuses(trial, &turn.clone().say("c", "z", "of another conversation"), ErrorKind::NotFound)?;
    refuses(trial, &turn.clone().say("c", "d", "later").say("d", "b", "in the turn"), ErrorKind::NotFound)?;
    refuses(trial, &turn.clone().say("c", "c", "itself"), ErrorKind::NotFound)?;
    refuses(trial, &turn.clone().linear().say("c", "x", "unknown"), ErrorKind::NotFound)?;
    // The link alone does not make a parent.
    let twin = turn.say("c", "b", "one").say("d", "x", "two").against("b");
    refuses(trial, &twin, ErrorKind::NotFound)
}

/// A parent whose link is not the one named is a conflict.
pub(super) fn a_parent_with_another_link_is_a_conflict(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::to(id).say("c", "b", "hi").against("x"), ErrorKind::Conflict)?;
    refuses(trial, &DraftTurn::to(id).say("c", "b", "hi").against("a"), ErrorKind::Conflict)?;
    let within = DraftTurn::to(id).say("c", "b", "hi").say("d", "c", "ho").against("b");
    refuses(trial, &within, ErrorKind::Conflict)
}

/// If a parent already has a child, the answer says forked.
pub(super) fn a_parent_with_a_child_is_a_fork(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let turns = [
        DraftTurn::to(id).say("c", "b", "goes on"),
        DraftTurn::to(id).say("d", "a", "branches"),
        DraftTurn::to(id).say("e", "d", "goes on"),
        DraftTurn::to(id).say("f", "e", "goes on").say("g", "b", "and branches"),
        DraftTurn::to(id).say("h", "g", "branches").say("i", "h", "within").say("j", "h", "itself"),
    ];

    let answers = turns.iter().map(|turn| turn.append(trial.store())).collect::<Result<Vec<_>>>()?;

    assert_eq!(answers, [stored(3), forked(4), stored(5), forked(7), forked(10)]);
    parents(trial, ".abadebghh")
}

/// A second root is a fork too.
pub(super) fn a_second_root_is_a_fork(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    let answer = DraftTurn::to(id).say("c", "", "begins again").append(trial.store())?;
    let opening = DraftTurn::opening(conversation(2)).say("a", "", "one").say("b", "", "two");

    assert_eq!((answer, opening.append(trial.store())?), (forked(3), forked(2)));
    parents(trial, ".a.")
}

/// With `Stale::Refuse`, a first parent that is not the head is a conflict.
pub(super) fn a_stale_turn_can_be_refused(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::to(id).linear().say("c", "a", "stale"), ErrorKind::Conflict)?;
    refuses(trial, &DraftTurn::to(id).linear().say("c", "", "a root"), ErrorKind::Conflict)?;
    let fresh =
        DraftTurn::to(id).linear().say("c", "b", "at the head").say("d", "a", "only the first counts");

    assert_eq!(fresh.append(trial.store())?, forked(4));
    parents(trial, ".aba")
}

/// So does the head of the branch that the turn names.
pub(super) fn the_branch_that_a_turn_names_moves_along(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    for (name, head) in [("p", "a"), ("q", "a")] {
        let branch = Branch { id: message(name), title: name.to_owned(), head: message(head) };
        trial.store().amend(id, None, &Change::Branch(&branch), at(900))?;
    }

    DraftTurn::to(id)
        .on_branch("q")
        .say("c", "a", "goes on")
        .say("d", "c", "and on")
        .append(trial.store())?;

    let row = trial.observe(|store| row(store, id))?;
    let seen =
        row.map(|row| (row.version, row.branches.iter().map(|branch| branch.head).collect::<Vec<_>>()));
    assert_eq!(seen, Some((3, vec![message("a"), message("d")])));
    Ok(())
}

/// A branch that is gone stays gone.
pub(super) fn a_branch_that_is_gone_stays_gone(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    DraftTurn::to(id).on_branch("q").say("c", "b", "goes on").append(trial.store())?;

    let branches = trial.observe(|store| Ok(row(store, id)?.map(|row| row.branches)))?;
    assert_eq!(branches, Some(Vec::new()));
    Ok(())
}
