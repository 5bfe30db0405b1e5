//! Rules of replacing what messages say.

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Head};
use crate::store::{Change, Children, PreviewUpdate, Rewritten, Row, Store, Target, Version};
use crate::testing::append::refuses;
use crate::testing::draft::{DraftTurn, at, body, conversation, link, message};
use crate::testing::look::{ReadMessage, messages, row, size, told, visible};
use crate::testing::search::finds;
use crate::testing::trial::Trial;

const TIP: PreviewUpdate<'static> = PreviewUpdate { first: "a bicycle", last: "found it" };

/// A conversation with a branch, and a blob that its turn brought.
fn three(store: &dyn Store) -> Result<ConversationId> {
    let id = conversation(1);
    let turn = DraftTurn::opening(id).say("a", "", "my green secret").pinned("first").say("b", "a", "ho");
    turn.say("c", "a", "a fork").previews("my green secret", "ho").append(store)?;
    Ok(id)
}

/// Rewrites messages: their names, and what they say and are linked as from now on.
fn rewrite(
    store: &dyn Store,
    id: ConversationId,
    expected: Option<Version>,
    all: &[(&str, &str)],
    previews: PreviewUpdate<'_>,
) -> Result<Version> {
    let bodies: Vec<String> = all.iter().map(|(_, text)| body(text, 0)).collect();
    let messages: Vec<Rewritten<'_>> = all
        .iter()
        .zip(&bodies)
        .map(|((name, text), body)| Rewritten { id: message(name), link: link(text), body })
        .collect();
    store.amend(id, expected, &Change::Rewrite { messages: &messages, previews }, at(900))
}

/// A rewrite replaces the bodies and links of messages, and leaves everything else about them alone.
pub(super) fn a_rewrite_replaces_bodies_and_links_only(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    let other = conversation(2);
    DraftTurn::opening(other).say("a", "", "elsewhere").append(trial.store())?;
    let (before, untouched) = (messages(trial.store(), id)?, messages(trial.store(), other)?);
    let branches = row(trial.store(), id)?.map(|row| row.branches);

    let all = [("c", "a longer fork"), ("a", "my green bicycle"), ("b", "hum")];
    let answer = rewrite(trial.store(), id, Some(1), &all, TIP)?;

    let seen = trial.observe(|store| {
        Ok((messages(store, id)?, messages(store, other)?, row(store, id)?.map(|row| row.branches)))
    })?;
    let changed = |place: usize, text: &str| ReadMessage {
        link: link(text),
        body: body(text, 0),
        ..before[place].clone()
    };
    let after = vec![changed(0, "my green bicycle"), changed(1, "hum"), changed(2, "a longer fork")];
    assert_eq!((answer, seen), (2, (after, untouched, branches)));
    Ok(())
}

/// All of them are replaced or none.
pub(super) fn messages_are_rewritten_all_or_none(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    let before = visible(trial.store())?;

    let unknown = told(rewrite(trial.store(), id, Some(1), &[("a", "one"), ("x", "two")], TIP));
    let stale = told(rewrite(trial.store(), id, Some(2), &[("a", "one"), ("b", "two"), ("c", "three")], TIP));

    assert_eq!([unknown, stale], [Err(ErrorKind::NotFound), Err(ErrorKind::Conflict)]);
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// Rewriting an unknown message is not found.
pub(super) fn rewriting_an_unknown_message_is_not_found(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    DraftTurn::opening(conversation(2)).say("z", "", "elsewhere").append(trial.store())?;
    let before = visible(trial.store())?;

    let answers = ["x", "z"].map(|name| told(rewrite(trial.store(), id, Some(1), &[(name, "one")], TIP)));

    assert_eq!(answers, [Err(ErrorKind::NotFound); 2]);
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// A message that stands twice in one rewrite is a conflict.
pub(super) fn a_message_twice_in_one_rewrite_is_a_conflict(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    let before = visible(trial.store())?;

    let answer =
        told(rewrite(trial.store(), id, Some(1), &[("b", "one"), ("c", "two"), ("b", "three")], TIP));

    assert_eq!(answer, Err(ErrorKind::Conflict));
    assert_eq!(trial.observe(|store| visible(store))?, before);
    Ok(())
}

/// So is one that gets another link while a child of it does not get one.
pub(super) fn a_parent_that_is_rewritten_without_its_child_is_a_conflict(
    trial: &mut Trial<'_>,
) -> Result<()> {
    let id = three(trial.store())?;
    // As if it had been appended while the others were looked at.
    DraftTurn::to(id).say("d", "b", "meanwhile").append(trial.store())?;
    let before = visible(trial.store())?;

    let all = [("a", "one"), ("b", "two"), ("c", "three")];
    let answer = told(rewrite(trial.store(), id, Some(1), &all, TIP));
    let same = [Rewritten { id: message("d"), link: link("d"), body: "{}" }];
    let mut whole: Vec<Rewritten<'_>> = all
        .iter()
        .map(|(name, text)| Rewritten { id: message(name), link: link(text), body: "{}" })
        .collect();
    whole.extend(same);
    let change = Change::Rewrite { messages: &whole, previews: TIP };
    let unlinked = told(trial.store().amend(id, Some(1), &change, at(900)));

    assert_eq!([answer, unlinked], [Err(ErrorKind::Conflict); 2]);
    assert_eq!(trial.observe(|store| visible(store))?, before);
    // With the same link as before, a message can be rewritten by itself.
    let kept = [Rewritten { id: message("a"), link: link("a"), body: "{}" }];
    trial.store().amend(id, Some(1), &Change::Rewrite { messages: &kept, previews: TIP }, at(900))?;
    Ok(())
}

/// Both previews are replaced by those of the rewrite.
pub(super) fn both_previews_are_replaced_by_those_of_a_rewrite(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    let all_previews = [TIP, PreviewUpdate { first: "", last: "" }];

    let mut seen = Vec::new();
    for previews in all_previews {
        rewrite(trial.store(), id, None, &[("b", "my bicycle")], previews)?;
        seen.push(trial.observe(|store| Ok(row(store, id)?.map(|row| (row.first, row.last))))?);
    }

    assert_eq!(
        seen,
        all_previews.map(|previews| Some((previews.first.to_owned(), previews.last.to_owned())))
    );
    // So are those that were made when a message went.
    let leaf = Target::Messages { conversation: id, ids: &[message("c")], children: Children::Refuse };
    trial.store().remove(&[leaf], "tidying", at(900))?;
    let made = trial.observe(|store| Ok(row(store, id)?.map(|row| row.first)))?;
    rewrite(trial.store(), id, None, &[("b", "my bicycle")], PreviewUpdate { first: "", last: "" })?;
    let after = trial.observe(|store| Ok(row(store, id)?.map(|row| row.first)))?;
    assert_eq!([made, after], ["my green secret", ""].map(|first| Some(first.to_owned())));
    Ok(())
}

/// The link of the head follows a rewrite.
pub(super) fn the_link_of_the_head_follows_a_rewrite(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    rewrite(trial.store(), id, Some(1), &[("b", "one"), ("c", "two")], TIP)?;

    let head = trial.observe(|store| Ok(row(store, id)?.and_then(|row| row.head)))?;

    assert_eq!(head, Some(Head { id: message("c"), digest: link("two") }));
    // Nor does it move.
    trial.store().amend(id, Some(2), &Change::Head(Some(message("b"))), at(900))?;
    rewrite(trial.store(), id, Some(3), &[("b", "three"), ("c", "four")], TIP)?;
    let head = trial.observe(|store| Ok(row(store, id)?.and_then(|row| row.head)))?;
    assert_eq!(head, Some(Head { id: message("b"), digest: link("three") }));
    Ok(())
}

/// So do the bytes.
pub(super) fn the_bytes_follow_a_rewrite(trial: &mut Trial<'_>) -> Result<()> {
    let id = three(trial.store())?;
    let before = row(trial.store(), id)?;
    let longer = "word ".repeat(1_000);

    let all = [("a", longer.as_str()), ("b", ""), ("c", "a fork")];
    rewrite(trial.store(), id, Some(1), &all, PreviewUpdate { first: "x", last: "y" })?;

    let (after, bytes) = trial.observe(|store| Ok((row(store, id)?, size(store, id)?)))?;
    let expected = before.map(|row| Row {
        version: 2,
        bytes,
        head: Some(Head { id: message("c"), digest: link("a fork") }),
        first: "x".to_owned(),
        last: "y".to_owned(),
        ..row
    });
    assert_eq!(after, expected);
    assert!(bytes >= longer.len() as u64);
    Ok(())
}

/// What was written against a link that is gone is a conflict.
pub(super) fn what_was_written_against_a_link_that_is_gone_is_a_conflict(
    trial: &mut Trial<'_>,
) -> Result<()> {
    let id = three(trial.store())?;
    rewrite(trial.store(), id, Some(1), &[("b", "one")], TIP)?;

    refuses(trial, &DraftTurn::to(id).say("d", "b", "goes on"), ErrorKind::Conflict)?;
    // The first turn again is not the one that is stored.
    let again = DraftTurn::to(id).say("a", "", "my green secret").say("b", "a", "ho").say("c", "a", "a fork");
    refuses(trial, &again, ErrorKind::Conflict)?;

    let answer = DraftTurn::to(id).say("d", "b", "goes on").against("one").append(trial.store())?;
    assert_eq!((answer.seq, answer.forked), (4, false));
    Ok(())
}

/// A search finds what messages say since they were rewritten, and nothing of what they said.
pub(super) fn a_search_finds_what_messages_say_since_they_were_rewritten(
    trial: &mut Trial<'_>,
) -> Result<()> {
    let id = three(trial.store())?;
    finds(trial, [("secret", "a "), ("bicycle", "")])?;
    // One is prepared for searching when it is rewritten, and one is not.
    DraftTurn::to(id).say("d", "b", "another secret").append(trial.store())?;
    let all = [("a", "my green bicycle"), ("b", "ho"), ("c", "a fork"), ("d", "another bicycle")];
    rewrite(trial.store(), id, Some(1), &all, TIP)?;

    finds(
        trial,
        [("secret", ""), ("bicycle", "d a "), ("green bicycle", "a "), ("fork", "c "), ("another", "d ")],
    )
}
