//! Rules of appending several turns at once.

use crate::error::{ErrorKind, Result};
use crate::store::Selection;
use crate::testing::append::stored;
use crate::testing::draft::{DraftTurn, conversation};
use crate::testing::look::{names, told};
use crate::testing::trial::Trial;

/// There is one answer per turn, in the order given.
pub(super) fn there_is_one_answer_per_turn(trial: &mut Trial<'_>) -> Result<()> {
    let turns = [
        DraftTurn::opening(conversation(2)).say("a", "", "hi").say("b", "a", "ho"),
        DraftTurn::opening(conversation(1)).say("a", "", "one"),
        DraftTurn::opening(conversation(3)).say("a", "", "one").say("b", "a", "two").say("c", "b", "three"),
    ];

    let answers = DraftTurn::append_all(&turns, trial.store())?;
    let none = DraftTurn::append_all(&[], trial.store())?;

    let read = |number| {
        move |store: &dyn crate::store::Store| names(store, conversation(number), Selection::Path(None))
    };
    assert_eq!((answers, none), (vec![stored(2), stored(1), stored(3)], Vec::new()));
    assert_eq!(trial.observe(read(1))?, "a ");
    assert_eq!(trial.observe(read(2))?, "a b ");
    assert_eq!(trial.observe(read(3))?, "a b c ");
    Ok(())
}

/// A turn may go on from one before it.
pub(super) fn a_turn_may_go_on_from_one_before_it(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let turns = [
        DraftTurn::opening(id).say("a", "", "hi"),
        DraftTurn::opening(conversation(2)).say("a", "", "hi"),
        DraftTurn::to(id).say("b", "a", "ho"),
    ];

    let answers = DraftTurn::append_all(&turns, trial.store())?;

    assert_eq!(answers, [stored(1), stored(1), stored(2)]);
    assert_eq!(trial.observe(|store| names(store, id, Selection::Path(None)))?, "a b ");
    Ok(())
}

/// A turn that is refused ends it: what comes before it is stored, and what comes after it is not.
pub(super) fn a_turn_that_is_refused_ends_it(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let good = [DraftTurn::opening(id).say("a", "", "hi"), DraftTurn::to(id).say("c", "a", "ho")];
    let refused = [
        (DraftTurn::to(conversation(2)).say("b", "", "no"), ErrorKind::NotFound),
        (DraftTurn::opening(id).say("b", "", "no"), ErrorKind::Conflict),
        (DraftTurn::to(id), ErrorKind::Invalid),
    ];

    for (bad, kind) in refused {
        let turns = [good[0].clone(), bad, good[1].clone()];
        assert_eq!(told(DraftTurn::append_all(&turns, trial.store())), Err(kind));
        assert_eq!(trial.observe(|store| names(store, id, Selection::Path(None)))?, "a ");
    }

    let answers = DraftTurn::append_all(&good, trial.store())?;
    assert_eq!(answers.iter().map(|answer| answer.replayed).collect::<Vec<_>>(), [true, false]);
    assert_eq!(trial.observe(|store| names(store, id, Selection::Path(None)))?, "a c ");
    Ok(())
}
