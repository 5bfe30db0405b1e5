//! Rules of looking up what a person typed.

use crate::error::Result;
use crate::model::{ConversationId, MessageId};
use crate::store::{Facets, Found, Read, Task};
use crate::testing::draft::{DraftTurn, conversation, message};
use crate::testing::trial::Trial;

const MANY: usize = 100;

const fn whole(conversation: ConversationId) -> Found {
    Found { conversation, message: None }
}

const fn part(conversation: ConversationId, message: MessageId) -> Found {
    Found { conversation, message: Some(message) }
}

/// What is found, in an order that does not depend on the store.
fn found(store: &dyn Read, text: &str) -> Result<Vec<Found>> {
    let mut found = store.find(text, MANY)?;
    found.sort_by_key(|found| (found.conversation, found.message));
    Ok(found)
}

fn named(slug: &str) -> Facets {
    Facets { slug: slug.to_owned(), ..Facets::default() }
}

/// A conversation is found by the beginning of its id, in either case, with or without hyphens.
pub(super) fn a_conversation_is_found_by_the_beginning_of_its_id(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(10), conversation(11));
    DraftTurn::opening(one).append(trial.store())?;
    DraftTurn::opening(two).append(trial.store())?;
    let text = one.to_string();
    let bare = text.replace('-', "");
    let typed = [&text, &bare, &text[..20], &bare[..17], &text[..1], &text.to_uppercase()[..10]];

    let lookups =
        trial.observe(|store| typed.iter().map(|text| found(store, text)).collect::<Result<Vec<_>>>())?;

    assert_eq!(lookups, vec![vec![whole(one)]; typed.len()]);
    assert_eq!(trial.observe(|store| found(store, "-"))?, []);
    Ok(())
}

/// It is found by the beginning of its short id.
pub(super) fn a_conversation_is_found_by_the_beginning_of_its_short_id(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).append(trial.store())?;
    DraftTurn::opening(two).append(trial.store())?;
    let short = one.short();

    let lookups =
        trial.observe(|store| Ok([found(store, short.as_str())?, found(store, &short.as_str()[..4])?]))?;

    assert_eq!(lookups, [[whole(one)], [whole(one)]]);
    Ok(())
}

/// It is found by its whole slug.
pub(super) fn a_conversation_is_found_by_its_whole_slug(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two, bare) = (conversation(1), conversation(2), conversation(3));
    for id in [one, two] {
        DraftTurn::opening(id).about(named("lisbon-trip"), "{}").append(trial.store())?;
    }
    DraftTurn::opening(bare).append(trial.store())?;

    let lookups = trial.observe(|store| Ok([found(store, "lisbon-trip")?, found(store, "lisbon-t")?]))?;

    assert_eq!(lookups, [vec![whole(one), whole(two)], vec![]]);
    Ok(())
}

/// A message is found by the beginning of its id.
pub(super) fn a_message_is_found_by_the_beginning_of_its_id(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).say("Zebra1", "", "one").append(trial.store())?;
    // Half of them are found through whatever the store prepares behind the append, half without.
    trial.store().maintain(Task::Index, std::time::Duration::ZERO)?;
    DraftTurn::opening(two)
        .say("Zebra1", "", "two")
        .say("Zebra2", "Zebra1", "three")
        .append(trial.store())?;

    let lookups = trial.observe(|store| {
        Ok([found(store, "Zebra1")?, found(store, "Zeb")?, found(store, "zebra1")?, found(store, "Zebra11")?])
    })?;

    let [first, second] = ["Zebra1", "Zebra2"].map(message);
    let both = vec![part(one, first), part(two, first)];
    let all = vec![part(one, first), part(two, first), part(two, second)];
    assert_eq!(lookups, [both, all, vec![], vec![]]);
    Ok(())
}

/// At most `limit` are found.
pub(super) fn at_most_limit_are_found(trial: &mut Trial<'_>) -> Result<()> {
    for number in 1..=3 {
        let turn = DraftTurn::opening(conversation(number)).about(named("Zebra"), "{}");
        turn.say("Zebra1", "", "one").say("Zebra2", "", "two").append(trial.store())?;
    }

    let counts = trial.observe(|store| {
        let count = |limit: &usize| Ok(store.find("Zebra", *limit)?.len());
        [0, 1, 3, 4, 9, MANY].iter().map(count).collect::<Result<Vec<_>>>()
    })?;

    assert_eq!(counts, [0, 1, 3, 4, 9, 9]);
    Ok(())
}

/// Conversations are found before messages.
pub(super) fn conversations_are_found_before_messages(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).say("Zebra", "", "one").append(trial.store())?;
    DraftTurn::opening(two).about(named("Zebra"), "{}").append(trial.store())?;

    let lookups = trial.observe(|store| Ok([store.find("Zebra", MANY)?, store.find("Zebra", 1)?]))?;

    assert_eq!(lookups, [vec![whole(two), part(one, message("Zebra"))], vec![whole(two)]]);
    Ok(())
}
