//! Rules of searching.

use std::time::Duration;

use crate::error::Result;
use crate::model::{ConversationId, Role, Time, WordQuery};
use crate::store::{Children, Facets, Hit, Read, SearchOrder, SearchQuery, Store, Target, Task};
use crate::testing::draft::{DraftTurn, at, body, conversation, message};
use crate::testing::trial::Trial;

/// What to search for, with everything else left open.
const fn query(words: &WordQuery) -> SearchQuery<'_> {
    SearchQuery {
        words,
        conversation: None,
        project: None,
        role: None,
        since: None,
        order: SearchOrder::Newest,
        after: None,
        limit: 100,
    }
}

/// The ids of the hits, in order, with a space after each.
fn hits(store: &dyn Read, query: &SearchQuery<'_>) -> Result<String> {
    Ok(store.search(query)?.items.iter().map(|hit| format!("{} ", hit.message)).collect())
}

fn hits_of(store: &dyn Read, text: &str) -> Result<String> {
    hits(store, &query(&WordQuery::parse(text)))
}

/// Asserts what each text finds, before the store has prepared anything for searching and after.
#[track_caller]
pub(super) fn finds<const N: usize>(trial: &mut Trial<'_>, cases: [(&str, &str); N]) -> Result<()> {
    let look =
        |store: &dyn Store| cases.iter().map(|(text, _)| hits_of(store, text)).collect::<Result<Vec<_>>>();
    let before = look(trial.store())?;
    prepare(trial.store())?;

    let after = trial.observe(look)?;

    assert_eq!(before, cases.map(|(_, expected)| expected));
    assert_eq!(after, before);
    Ok(())
}

/// Lets the store do all that it can to answer searches.
fn prepare(store: &dyn Store) -> Result<()> {
    while store.maintain(Task::Index, Duration::from_secs(1))?.left > 0 {}
    Ok(())
}

/// Every word must be in the message.
pub(super) fn every_word_must_be_in_the_message(trial: &mut Trial<'_>) -> Result<()> {
    let turn =
        DraftTurn::opening(conversation(1)).say("a", "", "the green bicycle").say("b", "a", "a green apple");
    turn.append(trial.store())?;

    finds(trial, [("bicycle green ", "a "), ("green ", "b a "), ("green pear ", ""), ("", ""), ("?!", "")])
}

/// The last may be the beginning of one.
pub(super) fn the_last_word_may_be_a_beginning(trial: &mut Trial<'_>) -> Result<()> {
    let turn =
        DraftTurn::opening(conversation(1)).say("a", "", "the green bicycle").say("b", "a", "greenish");
    turn.append(trial.store())?;

    finds(
        trial,
        [("green bicy", "a "), ("green", "b a "), ("green ", "a "), ("bicy green", ""), ("cycle", "")],
    )
}

/// Case and accents do not matter.
pub(super) fn case_and_accents_do_not_matter(trial: &mut Trial<'_>) -> Result<()> {
    let turn =
        DraftTurn::opening(conversation(1)).say("a", "", "Café ÉCLAIR").say("b", "a", "cafe eclair 東京");
    turn.append(trial.store())?;

    finds(trial, [("cafe ", "b a "), ("CAFÉ éclair ", "b a "), ("京", "b ")])
}

/// The newest message comes first.
pub(super) fn the_newest_message_comes_first(trial: &mut Trial<'_>) -> Result<()> {
    // By the time of the message, not by when it arrived; also for times that are hardly possible.
    let id = conversation(1);
    let far = Time::from_micros(i64::MAX).as_micros() / 1_000_000 - 1_800_000_000 - 10;
    DraftTurn::opening(id).put("a", "", &body("word", 2)).append(trial.store())?;
    prepare(trial.store())?;
    let turn = DraftTurn::to(id).put("b", "a", &body("word", 3)).put("c", "b", &body("word", 1));
    turn.put("d", "c", &body("word", far)).put("e", "d", &body("word", far + 1)).append(trial.store())?;
    let long_ago = DraftTurn::to(id).put("f", "e", &body("word", -1_900_000_000));
    long_ago.put("g", "f", &body("word", -2_000_000_000)).append(trial.store())?;

    finds(trial, [("word", "e d b a c f g ")])
}

/// Of one time, the greater conversation comes first, then the greater sequence.
pub(super) fn of_one_time_the_greater_key_comes_first(trial: &mut Trial<'_>) -> Result<()> {
    for (number, names) in [(2, ["c", "d"]), (1, ["a", "b"])] {
        let turn = DraftTurn::opening(conversation(number))
            .say(names[0], "", "word")
            .say(names[1], names[0], "word");
        turn.append(trial.store())?;
    }

    finds(trial, [("word", "d c b a ")])
}

/// Everything that was appended before the call is found.
pub(super) fn everything_appended_before_the_call_is_found(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).say("a", "", "word").append(trial.store())?;
    prepare(trial.store())?;
    DraftTurn::opening(two).active(1).say("b", "", "word").append(trial.store())?;
    DraftTurn::to(one).active(2).say("c", "a", "word").append(trial.second().as_ref())?;

    let expected = |conversation, name, seq, seconds| Hit {
        conversation,
        message: message(name),
        seq,
        time: at(seconds),
        body: body("word", seconds),
    };
    let words = WordQuery::parse("word");
    let found = trial.observe(|store| Ok(store.search(&query(&words))?.items))?;
    assert_eq!(found, [expected(one, "c", 2, 2), expected(two, "b", 1, 1), expected(one, "a", 1, 0)]);
    finds(trial, [("word", "c b a ")])
}

/// Removed messages are not found.
pub(super) fn removed_messages_are_not_found(trial: &mut Trial<'_>) -> Result<()> {
    let (one, two) = (conversation(1), conversation(2));
    DraftTurn::opening(one).say("a", "", "word").say("b", "a", "word").append(trial.store())?;
    DraftTurn::opening(two).say("c", "", "word").append(trial.store())?;
    prepare(trial.store())?;
    let turn = DraftTurn::to(one).say("d", "a", "word").say("e", "a", "word");
    turn.append(trial.store())?;

    let ids = ["b", "d"].map(message);
    let messages = Target::Messages { conversation: one, ids: &ids, children: Children::Refuse };
    trial.store().remove(&[messages, Target::Conversation(two)], "tidying", at(900))?;

    finds(trial, [("word", "e a ")])
}

/// A search cursor continues where a page ended.
pub(super) fn a_search_cursor_continues_where_a_page_ended(trial: &mut Trial<'_>) -> Result<()> {
    // Some share a time, so that the cursor has to tell them apart.
    let turn = |id: ConversationId, names: [&str; 3]| {
        let [first, second, third] = names;
        DraftTurn::to(id).put(first, "", &body("word", 1)).put(second, "", &body("word", 1)).put(
            third,
            "",
            &body("word", 2),
        )
    };
    DraftTurn::opening(conversation(1)).append(trial.store())?;
    DraftTurn::opening(conversation(2)).append(trial.store())?;
    turn(conversation(1), ["a", "b", "c"]).append(trial.store())?;
    prepare(trial.store())?;
    turn(conversation(2), ["d", "e", "f"]).append(trial.store())?;
    let words = WordQuery::parse("word");

    let pages = trial.observe(|store| {
        [1, 2, 4, 6]
            .iter()
            .map(|limit| paged(store, SearchQuery { limit: *limit, ..query(&words) }))
            .collect::<Result<Vec<_>>>()
    })?;

    assert_eq!(pages, ["f |c |e |d |b |a |", "f c |e d |b a |", "f c e d |b a |", "f c e d b a |"]);
    Ok(())
}

/// All pages of a search, with a bar after each.
fn paged(store: &dyn Read, mut query: SearchQuery<'_>) -> Result<String> {
    let mut pages = String::new();
    loop {
        let page = store.search(&query)?;
        pages.extend(page.items.iter().map(|hit| format!("{} ", hit.message)));
        pages.push('|');
        query.after = page.next;
        if page.next.is_none() || pages.len() > 200 {
            return Ok(pages);
        }
    }
}

/// Two conversations in two projects, each with a message before and after it was prepared for searching.
fn two_projects(trial: &Trial<'_>) -> Result<()> {
    for (number, project, name) in [(1, "red", "a"), (2, "blue", "b")] {
        let facets = Facets { project: project.to_owned(), ..Facets::default() };
        let turn = DraftTurn::opening(conversation(number)).about(facets, "{}");
        turn.active(i64::from(number)).say(name, "", "word").append(trial.store())?;
    }
    prepare(trial.store())?;
    for (number, name, parent) in [(1, "c", "a"), (2, "d", "b")] {
        let turn = DraftTurn::to(conversation(number)).active(i64::from(number) + 2);
        turn.say(name, parent, "word").append(trial.store())?;
    }
    Ok(())
}

/// A search can be limited to a conversation.
pub(super) fn a_search_can_be_limited_to_a_conversation(trial: &mut Trial<'_>) -> Result<()> {
    two_projects(trial)?;
    let words = WordQuery::parse("word");

    let found = trial.observe(|store| {
        let of =
            |number| hits(store, &SearchQuery { conversation: Some(conversation(number)), ..query(&words) });
        Ok([of(1)?, of(2)?, of(3)?])
    })?;

    assert_eq!(found, ["c a ", "d b ", ""]);
    Ok(())
}

/// It can be limited to a project.
pub(super) fn a_search_can_be_limited_to_a_project(trial: &mut Trial<'_>) -> Result<()> {
    two_projects(trial)?;
    let words = WordQuery::parse("word");

    let found = trial.observe(|store| {
        let of = |project| hits(store, &SearchQuery { project: Some(project), ..query(&words) });
        Ok([of("red")?, of("blue")?, of("")?])
    })?;

    assert_eq!(found, ["c a ", "d b ", ""]);
    Ok(())
}

/// It can be limited to a role.
pub(super) fn a_search_can_be_limited_to_a_role(trial: &mut Trial<'_>) -> Result<()> {
    let id = conversation(1);
    let said = |role: Role, seconds| body("word", seconds).replacen(Role::User.as_str(), role.as_str(), 1);
    let turn = DraftTurn::opening(id).put("a", "", &said(Role::User, 1));
    turn.put("b", "a", &said(Role::Assistant, 2)).append(trial.store())?;
    prepare(trial.store())?;
    let turn = DraftTurn::to(id).put("c", "b", &said(Role::User, 3));
    turn.put("d", "c", &said(Role::Tool, 4)).append(trial.store())?;

    let found = trial.observe(|store| {
        ["word ", "wor"]
            .iter()
            .map(|text| {
                let words = WordQuery::parse(text);
                let of = |role| paged(store, SearchQuery { role: Some(role), limit: 1, ..query(&words) });
                Role::ALL.into_iter().map(of).collect::<Result<Vec<_>>>()
            })
            .collect::<Result<Vec<_>>>()
    })?;

    let expected = ["|", "c |a |", "b |", "d |"].map(str::to_owned).to_vec();
    assert_eq!(found, [expected.clone(), expected]);
    Ok(())
}

/// It can be limited to a time and later.
pub(super) fn a_search_can_be_limited_to_a_time_and_later(trial: &mut Trial<'_>) -> Result<()> {
    two_projects(trial)?;
    let words = WordQuery::parse("word");

    let found = trial.observe(|store| {
        let of = |since| hits(store, &SearchQuery { since: Some(since), ..query(&words) });
        Ok([
            of(at(1))?,
            of(at(2))?,
            of(at(4))?,
            of(at(5))?,
            of(Time::from_micros(i64::MAX))?,
            of(Time::from_micros(i64::MIN))?,
        ])
    })?;

    assert_eq!(found, ["d c b a ", "d c b ", "d ", "", "", "d c b a "]);
    Ok(())
}

/// Another order finds the same messages.
pub(super) fn another_order_finds_the_same_messages(trial: &mut Trial<'_>) -> Result<()> {
    two_projects(trial)?;
    let words = WordQuery::parse("word");
    let best = SearchQuery { order: SearchOrder::Best, ..query(&words) };
    let sorted = |store: &dyn Read, query: &SearchQuery<'_>| {
        let mut ids: Vec<_> = store.search(query)?.items.into_iter().map(|hit| hit.message).collect();
        ids.sort_unstable();
        Ok(ids)
    };

    let found = trial.observe(|store| {
        Ok([
            sorted(store, &best)?,
            sorted(store, &SearchQuery { project: Some("red"), ..best })?,
            sorted(store, &SearchQuery { since: Some(at(3)), ..best })?,
        ])
    })?;

    let expected = [vec!["a", "b", "c", "d"], vec!["a", "c"], vec!["c", "d"]];
    assert_eq!(found, expected.map(|names| names.into_iter().map(message).collect::<Vec<_>>()));
    Ok(())
}
