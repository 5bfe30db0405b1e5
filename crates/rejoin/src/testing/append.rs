//! Rules of appending: what is stored, what is refused, and what a conversation then tells.

use std::time::Duration;

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Head, Status};
use crate::store::{Appended, Children, Facets, Put, Row, Safety, Selection, Store, Target};
use crate::testing::draft::{DraftTurn, at, body, conversation, link, message, state};
use crate::testing::look::{ReadMessage, blobs, messages, names, row, size, told, visible};
use crate::testing::trial::Trial;

pub(super) const fn stored(seq: u32) -> Appended {
    Appended { seq, forked: false, replayed: false }
}

/// A conversation of two messages, a and b.
pub(super) fn two(store: &dyn Store) -> Result<ConversationId> {
    let id = conversation(1);
    DraftTurn::opening(id).say("a", "", "hi").say("b", "a", "ho").append(store)?;
    Ok(id)
}

/// Asserts that a turn is refused in this way and that nothing is left of it.
#[track_caller]
pub(super) fn refuses(trial: &mut Trial<'_>, turn: &DraftTurn<'_>, kind: ErrorKind) -> Result<()> {
    let before = visible(trial.store())?;

    let answer = turn.append(trial.store());

    assert_eq!(told(answer), Err(kind));
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// What was appended is there when the store is opened again.
pub(super) fn what_was_appended_is_there_when_opened_again(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let turn = DraftTurn::opening(id).say("a", "", "hi").pinned("start").say("b", "a", "ho");
    let answer = turn.append(trial.store())?;

    let read = trial.observe(|store| messages(store, id))?;

    let first = ReadMessage {
        id: message("a"),
        parent: None,
        seq: 1,
        turn: 1,
        link: link("a"),
        label: Some("start".to_owned()),
        is_pinned: true,
        body: body("hi", 0),
    };
    let second = ReadMessage {
        id: message("b"),
        parent: Some(message("a")),
        seq: 2,
        link: link("b"),
        label: None,
        is_pinned: false,
        body: body("ho", 0),
        ..first.clone()
    };
    assert_eq!((answer, read), (stored(2), vec![first, second]));
    Ok(())
}

/// All messages of a turn are stored or none.
pub(super) fn a_turn_is_stored_whole_or_not_at_all(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let good = DraftTurn::to(id).say("c", "b", "one").say("d", "c", "two");

    refuses(trial, &good.clone().say("e", "x", "three"), ErrorKind::NotFound)?;
    refuses(trial, &good.clone().say("a", "d", "three"), ErrorKind::Conflict)?;
    let opening = DraftTurn::opening(conversation(2)).say("c", "", "one").say("d", "x", "two");
    refuses(trial, &opening, ErrorKind::NotFound)?;

    assert_eq!(good.append(trial.store())?, stored(4));
    assert_eq!(trial.observe(|store| names(store, id, Selection::Path(None)))?, "a b c d ");
    Ok(())
}

/// A turn that opens a conversation creates it.
pub(super) fn a_turn_that_opens_a_conversation_creates_it(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let facets = Facets { kind: "review".to_owned(), status: Status::Paused, ..Facets::default() };
    let opening = DraftTurn::opening(id).about(facets.clone(), r#"{"a":1}"#).active(7);
    let answer = opening.say("a", "", "hi").append(trial.store())?;

    let created = trial.observe(|store| row(store, id))?;

    let expected = Row {
        id,
        version: 1,
        facets,
        header: r#"{"a":1}"#.to_owned(),
        head: Some(Head { id: message("a"), digest: link("a") }),
        branches: Vec::new(),
        created: at(7),
        active: at(7),
        messages: 1,
        bytes: size(trial.store(), id)?,
        first: String::new(),
        last: String::new(),
    };
    assert_eq!((answer, created), (stored(1), Some(expected)));
    Ok(())
}

/// It may do so without messages.
pub(super) fn a_conversation_may_be_opened_without_messages(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let answer = DraftTurn::opening(id).append(trial.store())?;

    let created =
        trial.observe(|store| Ok((row(store, id)?.map(|row| row.messages), messages(store, id)?)))?;

    assert_eq!((answer, created), (stored(0), (Some(0), vec![])));
    Ok(())
}

/// Opening a conversation that exists is a conflict.
pub(super) fn opening_a_conversation_that_exists_is_a_conflict(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::opening(id), ErrorKind::Conflict)?;
    refuses(trial, &DraftTurn::opening(id).say("c", "b", "more"), ErrorKind::Conflict)
}

/// A turn that opens nothing and brings no messages is invalid.
pub(super) fn a_turn_that_does_nothing_is_invalid(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::to(id), ErrorKind::Invalid)
}

/// Appending to an unknown conversation is not found.
pub(super) fn appending_to_an_unknown_conversation_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    two(trial.store())?;

    refuses(trial, &DraftTurn::to(conversation(2)).say("c", "", "hi"), ErrorKind::NotFound)?;
    refuses(trial, &DraftTurn::to(conversation(2)).say("c", "b", "hi"), ErrorKind::NotFound)
}

/// The head becomes the last entry.
pub(super) fn the_head_becomes_the_last_entry(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    DraftTurn::to(id).say("c", "b", "one").say("d", "a", "two").append(trial.store())?;

    let head = trial.observe(|store| Ok(row(store, id)?.and_then(|row| row.head)))?;

    assert_eq!(head, Some(Head { id: message("d"), digest: link("d") }));
    Ok(())
}

/// An id that the conversation already has is a conflict.
pub(super) fn an_id_that_is_taken_is_a_conflict(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::to(id).say("a", "b", "again").linked("other"), ErrorKind::Conflict)?;
    refuses(trial, &DraftTurn::to(id).say("b", "b", "again").linked("other"), ErrorKind::Conflict)
}

/// So is an id that stands twice in one turn.
pub(super) fn an_id_twice_in_one_turn_is_a_conflict(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;

    refuses(trial, &DraftTurn::to(id).say("c", "b", "one").say("c", "b", "two"), ErrorKind::Conflict)
}

/// Another conversation may have the same ids.
pub(super) fn another_conversation_may_have_the_same_ids(trial: &mut Trial<'_>) -> Result<()> {
    two(trial.store())?;
    let id = conversation(2);
    let answer = DraftTurn::opening(id).say("a", "", "here").say("b", "a", "there").append(trial.store())?;

    let read = trial.observe(|store| messages(store, id))?;

    let bodies: Vec<_> = read.into_iter().map(|shown| shown.body).collect();
    assert_eq!((answer, bodies), (stored(2), vec![body("here", 0), body("there", 0)]));
    Ok(())
}

/// The same ids with the same links again give the first answer as replayed.
pub(super) fn the_same_turn_again_is_replayed(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let turns = [
        DraftTurn::opening(id).say("a", "", "hi").say("b", "a", "ho"),
        DraftTurn::to(id).linear().say("c", "b", "on"),
        DraftTurn::to(id).say("d", "b", "branch"),
    ];
    let first = turns.iter().map(|turn| turn.append(trial.store())).collect::<Result<Vec<_>>>()?;

    let again =
        trial.observe(|store| turns.iter().map(|turn| turn.append(store)).collect::<Result<Vec<_>>>())?;

    let replayed = |answer: &Appended| Appended { replayed: true, ..*answer };
    assert_eq!(first, [stored(2), stored(3), Appended { forked: true, ..stored(4) }]);
    assert_eq!(again, first.iter().map(replayed).collect::<Vec<_>>());
    Ok(())
}

/// A replay changes nothing.
pub(super) fn a_replay_changes_nothing(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    let turn =
        DraftTurn::to(id).say("c", "b", "on").previews("x", "y").active(5).blob(state(b"n", Some(b"old")));
    turn.append(trial.store())?;
    let before = visible(trial.store())?;
    let told = |store: &dyn Store| Ok(store.changes(0, Duration::ZERO)?.len());
    let changes = told(trial.store())?;

    turn.clone().previews("z", "z").active(9).blob(state(b"n", Some(b"new"))).append(trial.store())?;

    assert_eq!(trial.observe(|store| visible(store))?, before);
    assert_eq!(trial.observe(told)?, changes);
    // Nothing is left that would make the next message a branch.
    let ids = [message("c")];
    let target = Target::Messages { conversation: id, ids: &ids, children: Children::Refuse };
    trial.store().remove(&[target], "to begin again", at(900))?;
    assert_eq!(DraftTurn::to(id).say("d", "b", "once more").append(trial.store())?, stored(4));
    Ok(())
}

/// Sequences start at one and have no gaps.
pub(super) fn sequences_start_at_one_and_have_no_gaps(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    // A refused turn and a replayed one take no numbers.
    let lost = DraftTurn::to(id).say("c", "x", "lost").append(trial.store());
    assert_eq!(told(lost), Err(ErrorKind::NotFound));
    DraftTurn::to(id).say("b", "a", "ho").append(trial.store())?;
    let answer = DraftTurn::to(id).say("c", "a", "on").say("d", "", "again").append(trial.store())?;

    let read =
        trial.observe(|store| Ok(messages(store, id)?.iter().map(|shown| shown.seq).collect::<Vec<_>>()))?;

    assert_eq!((answer.seq, read), (4, vec![1, 2, 3, 4]));
    Ok(())
}

/// Messages of one turn share the sequence of its first.
pub(super) fn messages_of_one_turn_share_its_first_sequence(trial: &mut Trial<'_>) -> Result<()> {
    let id = two(trial.store())?;
    DraftTurn::to(id).say("c", "b", "one").append(trial.store())?;
    DraftTurn::to(id).say("d", "c", "one").say("e", "b", "two").append(trial.store())?;

    let turns =
        trial.observe(|store| Ok(messages(store, id)?.iter().map(|shown| shown.turn).collect::<Vec<_>>()))?;

    assert_eq!(turns, [1, 1, 3, 4, 4]);
    Ok(())
}

/// Counts and bytes follow.
pub(super) fn counts_and_bytes_follow(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    DraftTurn::opening(id).put("a", "", "12345").append(trial.store())?;
    DraftTurn::to(id).put("b", "a", "é").put("c", "a", "\0").append(trial.store())?;

    let counted = trial.observe(|store| {
        let row = row(store, id)?.map(|row| (row.messages, row.bytes));
        Ok((row, size(store, id)?))
    })?;

    // Three messages of eight bytes together; where they are sealed, each takes some more.
    assert_eq!(counted.0, Some((3, counted.1)));
    assert!(counted.1 >= 8);
    Ok(())
}

/// The first preview is kept, the last one is replaced unless it is empty.
pub(super) fn the_previews_follow(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let previews = |store: &dyn Store| Ok(row(store, id)?.map(|row| (row.first, row.last)));
    DraftTurn::opening(id).append(trial.store())?;
    let turns = [("a", "", "one", "1"), ("b", "a", "two", "2"), ("c", "b", "three", "")];

    let mut seen = Vec::new();
    for (name, parent, first, last) in turns {
        DraftTurn::to(id).say(name, parent, "hi").previews(first, last).append(trial.store())?;
        seen.extend(trial.observe(previews)?);
    }

    let expected = [("one", "1"), ("one", "2"), ("one", "2")];
    assert_eq!(seen, expected.map(|(first, last)| (first.to_owned(), last.to_owned())));
    Ok(())
}

/// Last activity follows the turn, and never moves back from a plausible time.
pub(super) fn last_activity_follows_and_never_goes_back(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let active = |store: &dyn Store| Ok(row(store, id)?.map(|row| row.active));
    DraftTurn::opening(id).active(10).append(trial.store())?;

    let mut seen = Vec::new();
    for (name, seconds) in [("a", 20), ("b", 5), ("c", 20), ("d", 21)] {
        DraftTurn::to(id).active(seconds).say(name, "", "hi").append(trial.store())?;
        seen.extend(trial.observe(active)?);
    }

    assert_eq!(seen, [20, 20, 20, 21].map(at));
    Ok(())
}

/// A time more than a day ahead of the turn's clock is not plausible, and is replaced.
pub(super) fn last_activity_far_ahead_of_a_turn_is_replaced(trial: &mut Trial<'_>) -> Result<()> {
    const DAY: i64 = 86_400;
    let id = conversation(1);
    let active = |store: &dyn Store| Ok(row(store, id)?.map(|row| row.active));
    DraftTurn::opening(id).active(10).append(trial.store())?;

    let mut seen = Vec::new();
    for (name, seconds) in [("a", 100 * DAY), ("b", 99 * DAY), ("c", 30), ("d", 20)] {
        DraftTurn::to(id).active(seconds).say(name, "", "hi").append(trial.store())?;
        seen.extend(trial.observe(active)?);
    }
    let gone = Target::Messages { conversation: id, ids: &[message("c")], children: Children::Refuse };
    trial.store().remove(&[gone], "test", at(40))?;
    seen.extend(trial.observe(active)?);

    assert_eq!(seen, [100 * DAY, 100 * DAY, 30, 30, 30].map(at));
    Ok(())
}

/// Blobs of a turn are stored with it or not at all.
pub(super) fn blobs_of_a_turn_are_stored_with_it_or_not_at_all(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let own = Put { owner: Some(id), ..state(b"own", Some(b"1")) };
    let stray = Put { owner: Some(conversation(2)), ..own };
    trial.store().put(&[state(b"gone", Some(b"2"))], Safety::Synced)?;
    let turn = DraftTurn::opening(id).say("a", "", "hi").blob(own).blob(state(b"gone", None));

    refuses(trial, &turn.clone().blob(stray), ErrorKind::NotFound)?;
    refuses(trial, &turn.clone().say("b", "x", "ho"), ErrorKind::NotFound)?;
    turn.append(trial.store())?;

    let kept = trial.observe(|store| {
        Ok([blobs(store, own.space, Some(id), b"")?, blobs(store, own.space, None, b"")?])
    })?;
    assert_eq!(kept, [vec![(b"own".to_vec(), b"1".to_vec())], vec![]]);
    Ok(())
}
