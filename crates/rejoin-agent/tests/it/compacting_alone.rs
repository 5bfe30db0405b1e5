//! Compaction that nobody asked for: after a turn, within one, after a resume,
//! for a smaller model, and when it fails.

use std::sync::Arc;
use std::time::Duration;

use rejoin::store::SqliteStore;
use rejoin::{Archive, AsyncRecorder, Conversation, Message};
use rejoin_agent::{CompactSettings, Error, ErrorKind, Fullness, History, OnFailure, Talk, Toolbox};
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::scribe::{
    Desk, Says, Scribe, exchange, exchanges, line, says, snapshot, summary_line, summary_told, view_of,
    window, writes,
};
use crate::script::Place;
use crate::stored_talk::Read;

const FAILED: &str = "Compression failed, conversation may hit limits soon";
const REASON: &str = "No summary could be had: the scribe fails.";

fn reading(talk: Talk) -> Talk {
    talk.with_tools(Toolbox::default().with(Arc::new(Read::default())))
}

#[tokio::test]
async fn a_tool_loop_that_fills_the_window_is_compacted_within_the_turn() {
    let replies = [Says::Call(500), Says::Call(900), says("done", 400)];
    let scribe = Scribe::new(replies, [writes("half way")]);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1)).with(reading);

    desk.say("read it all").await.unwrap();

    let sent = scribe.asked().pop().unwrap().messages;
    assert_eq!(sent, ["user: question 1", "user: read it all", &summary_line("half way")]);
    assert_eq!(desk.told(), ["compacting", &summary_told("half way")]);
    let roles: Vec<String> = desk.stored().iter().map(|(_, message)| line(message)).collect();
    assert_eq!(roles.last().unwrap(), "assistant: done");
}

#[tokio::test]
async fn what_waits_for_its_answer_is_not_cut() {
    let long = "word ".repeat(400);
    let settings = CompactSettings { user_tokens: 10, ..window(4_000) };
    let scribe = Scribe::new([says("hm", 3_100), says("done", 900)], [writes("so far")]);
    let mut desk = Desk::new(&scribe, settings, exchanges(3));
    desk.say("short").await.unwrap();

    desk.say(&long).await.unwrap();

    let sent = scribe.asked().pop().unwrap().messages;
    assert_eq!(sent[sent.len() - 2..], [format!("user: {long}"), summary_line("so far")]);
}

#[tokio::test]
async fn what_waits_for_its_answer_is_cut_when_it_would_not_fit() {
    let long = "word ".repeat(4_000);
    let settings = CompactSettings { user_tokens: 100, ..window(2_000) };
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, settings, exchanges(3));

    desk.say(&long).await.unwrap();

    let sent = scribe.asked().pop().unwrap().messages;
    assert!(sent[0].contains("characters truncated"), "{sent:?}");
    assert_eq!(sent[1..], [summary_line("so far")]);
}

#[tokio::test]
async fn a_resumed_talk_that_is_over_the_limit_is_compacted_before_it_is_asked() {
    let scribe = Scribe::new([says("hi", 850)], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    desk.say("hello").await.unwrap();

    let mut desk = desk.resume(window(1_000));
    let fullness = desk.talk.fullness();
    desk.say("again").await.unwrap();

    assert_eq!(fullness, Fullness { tokens: 850, window: Some(1_000) });
    let sent = scribe.asked().pop().unwrap().messages;
    let users = ["user: question 1", "user: question 2", "user: hello", "user: again"];
    assert_eq!(sent, [&users[..], &[&summary_line("so far")]].concat());
}

#[tokio::test]
async fn a_switch_to_a_model_with_a_smaller_window_compacts() {
    let scribe = Scribe::new([says("hi", 850)], [writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(5));
    desk.say("hello").await.unwrap();

    desk.talk.ask_instead(scribe.clone(), "small");
    desk.talk.set_compaction(window(1_000));
    desk.say("again").await.unwrap();

    let models: Vec<String> = scribe.summarising().into_iter().map(|asked| asked.model).collect();
    assert_eq!(models, ["small"]);
    assert!(scribe.asked()[1].messages.contains(&summary_line("so far")));
}

#[tokio::test]
async fn what_another_model_counted_is_not_believed() {
    let scribe = Scribe::new([says("hi", 900_000)], []);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    desk.say("hello").await.unwrap();

    desk.talk.ask_instead(scribe.clone(), "other");
    desk.talk.set_compaction(window(100_000));
    desk.say("again").await.unwrap();

    assert_eq!(scribe.summarising(), []);
    assert!(desk.talk.fullness().tokens < 2_000, "{:?}", desk.talk.fullness());
}

#[tokio::test]
async fn a_request_that_the_provider_calls_too_long_is_compacted_once_and_repeated() {
    let replies = [Says::Fails(ErrorKind::TooLong), writes("fits"), Says::Fails(ErrorKind::TooLong)];
    let scribe =
        Scribe::new([replies.to_vec(), vec![replies[0].clone()]].concat(), [writes("one"), writes("two")]);
    let mut desk = Desk::new(&scribe, window(1_000_000), exchanges(2));

    let first = desk.say("hello").await.map(|ended| ended.stop).is_ok();
    let second = desk.say(&"again ".repeat(100)).await.unwrap_err();

    assert_eq!((first, second.kind(), scribe.summarising().len()), (true, ErrorKind::TooLong, 2));
    let told = ["compacting", &summary_told("one"), "compacting", &summary_told("two")];
    assert_eq!(desk.told(), told);
}

#[tokio::test]
async fn a_failed_attempt_leaves_the_view_and_is_made_once_a_turn_and_in_three_turns() {
    let replies = [Says::Call(900), Says::Call(900), says("one", 900), says("two", 900), says("three", 900)];
    let failures = std::iter::repeat_n(Says::Fails(ErrorKind::Overloaded), 3);
    let scribe = Scribe::new(replies, failures.chain([writes("at last")]));
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1)).with(reading);

    let mut told = Vec::new();
    for text in ["a", "b", "c", "d"] {
        desk.say(text).await.unwrap();
        told.push(desk.told());
    }
    let view = desk.view();
    desk.compact().await.unwrap();

    let given_up = "Compacting did not help in 3 turns in a row, and is not tried again by itself. Ask for it with `/compact`.";
    let expected = [
        vec!["compacting", FAILED, REASON],
        vec!["compacting", FAILED, REASON],
        vec!["compacting", FAILED, REASON, given_up],
        vec![],
    ];
    assert_eq!(told, expected);
    assert_eq!(view.len(), 2 + 6 + 2 + 2 + 2, "{view:?}");
    assert_eq!(desk.told(), ["compacting", &summary_told("at last")]);
}

#[tokio::test]
async fn a_failure_can_be_stood_for() {
    let scribe = Scribe::new([], [Says::Fails(ErrorKind::Overloaded)]);
    let settings = CompactSettings { on_failure: OnFailure::Placeholder, ..CompactSettings::default() };
    let mut desk = Desk::new(&scribe, settings, exchanges(1));

    desk.compact().await.unwrap();

    assert_eq!(desk.view(), ["user: question 1", &summary_line("(summary unavailable)")]);
}

#[tokio::test]
async fn the_oldest_is_left_out_when_the_summariser_finds_it_too_long() {
    let scribe = Scribe::new([], [Says::Fails(ErrorKind::TooLong), writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(3));

    let compacted = desk.compact().await.unwrap();

    let asked = scribe.summarising();
    assert_eq!((asked.len(), compacted.trimmed), (2, 1));
    assert_eq!(asked[0].messages[1..], asked[1].messages);
    let trimmed = "Trimmed 1 older item(s) before compacting to fit context window";
    assert_eq!(desk.told(), ["compacting", trimmed, &summary_told("so far")]);
}

#[tokio::test]
async fn a_call_is_left_out_with_its_result() {
    let too_long = Says::Fails(ErrorKind::TooLong);
    let scribe = Scribe::new([Says::Call(10)], [too_long.clone(), too_long, writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), vec![]).with(reading);
    desk.say("read").await.unwrap();
    desk.say("thanks").await.unwrap();

    let compacted = desk.compact().await.unwrap();

    let last = scribe.summarising().pop().unwrap().messages;
    assert_eq!((compacted.trimmed, &*last[0], last.len()), (3, "assistant: fine", 4));
}

#[tokio::test]
async fn ever_more_is_left_out_and_what_must_stay_stays() {
    let scribe = Scribe::new([], std::iter::repeat_n(Says::Fails(ErrorKind::TooLong), 8));
    let mut messages = exchanges(20);
    messages.insert(0, snapshot(r#"{"a":1}"#));
    messages.insert(0, Message::user("<user_instructions>be kind</user_instructions>"));
    let mut desk = Desk::new(&scribe, window(100_000), messages);
    let pinned = desk.stored()[3].0;
    desk.talk.pin(pinned).await.unwrap();
    let before = (desk.view(), desk.stored());

    let error = desk.compact().await.unwrap_err();

    let asked: Vec<usize> = scribe.summarising().iter().map(|asked| asked.messages.len() - 1).collect();
    assert_eq!(asked, [42, 41, 40, 38, 34, 26, 10, 4]);
    let last = scribe.summarising().pop().unwrap().messages;
    let starts = [
        "user: <user_instructions>",
        "user: State to carry along",
        "assistant: reply 1:",
        "user: question 20",
    ];
    assert!(last.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{last:?}");
    assert_eq!(error.kind(), ErrorKind::TooLong);
    assert_eq!(desk.told(), ["compacting", "Cannot compact: history too large even after truncation"]);
    assert_eq!((desk.view(), desk.stored()), before);
}

#[tokio::test]
async fn a_summary_that_does_not_help_is_refused() {
    let long = "blah ".repeat(2_000);
    let cases = [
        (
            CompactSettings::default(),
            "The summary is no shorter than what it stands for, so nothing was compacted.",
        ),
        (window(2_000), "so nothing was compacted."),
    ];
    for (settings, told) in cases {
        let scribe = Scribe::new([], [writes(&long)]);
        let count = if settings.window.is_some() { 40 } else { 1 };
        let mut desk = Desk::new(&scribe, settings, exchanges(count));
        let before = (desk.view(), desk.stored());

        let error = desk.compact().await.unwrap_err();

        let warning = desk.told().pop().unwrap();
        assert!(warning.ends_with(told), "{warning}");
        assert!(format!("{error:?}").contains("nothing was compacted"), "{error:?}");
        assert_eq!((desk.view(), desk.stored()), before);
    }
}

#[tokio::test]
async fn a_window_smaller_than_the_initial_context_is_told_without_asking() {
    let scribe = Scribe::new([], []);
    let mut desk =
        Desk::new(&scribe, window(5), exchanges(2)).with(|talk| talk.with_system("be brief ".repeat(20)));

    let error = desk.compact().await.unwrap_err();

    let told = desk.told();
    assert_eq!((error.kind(), told.len(), scribe.summarising()), (ErrorKind::TooLong, 1, vec![]));
    assert!(told[0].ends_with("tokens and the window has 5, so compacting cannot help."), "{told:?}");
}

#[tokio::test]
async fn a_compaction_that_is_dropped_leaves_everything_as_it_was() {
    let scribe = Scribe::new([], [Says::Waits, writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(2));
    let before = (desk.view(), desk.stored());

    tokio::select! {
        ended = desk.talk.compact(&desk.events) => panic!("it ended: {ended:?}"),
        () = scribe.is_asked.notified() => {}
    }
    let after = (desk.view(), desk.stored());
    desk.compact().await.unwrap();

    assert_eq!(after, before);
    assert_eq!(desk.told(), ["compacting", "compacting", &summary_told("so far")]);
}

#[tokio::test]
async fn a_turn_that_is_dropped_while_it_is_compacted_is_complete() {
    let scribe = Scribe::new([says("hi", 900), says("more", 300)], [Says::Waits, writes("so far")]);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1));

    tokio::select! {
        ended = desk.talk.turn(Message::user("hello"), &desk.events) => panic!("it ended: {ended:?}"),
        () = scribe.is_asked.notified() => {}
    }
    let (view, stored) = (desk.view(), desk.stored().len());
    desk.say("again").await.unwrap();

    assert_eq!((&view[2..], stored), (&["user: hello".to_owned(), "assistant: hi".to_owned()][..], 4));
    let users = ["user: question 1", "user: hello", "user: again"];
    assert_eq!(scribe.asked()[1].messages, [&users[..], &[&summary_line("so far")]].concat());
}

#[tokio::test]
async fn a_small_window_keeps_fewer_words_of_the_user() {
    let scribe = Scribe::new([], [writes("so far")]);
    let messages = (1..=40).flat_map(|number| {
        [Message::user(format!("question {number} {}", "word ".repeat(100))), Message::assistant("yes")]
    });
    let mut desk = Desk::new(&scribe, window(2_000), messages.collect());

    let compacted = desk.compact().await.unwrap();

    assert!(compacted.tokens_after < 1_000, "{compacted:?}");
    assert!(desk.view().len() < 12, "{:?}", desk.view());
}

#[tokio::test]
async fn a_compaction_that_leaves_too_little_room_is_not_repeated_for_ever() {
    let replies = (0..4).flat_map(|_| [Says::Call(990), says("so", 990)]);
    let scribe = Scribe::new(replies, (0..3).map(|number| writes(&format!("summary {number}"))));
    let settings = CompactSettings { threshold: 0.5, ..window(1_000) };
    let mut messages = exchanges(1);
    messages.push(Message::user("green ".repeat(520)));
    messages.extend(exchanges(2));
    let mut desk = Desk::new(&scribe, settings, messages).with(reading);
    let pinned = desk.stored()[2].0;
    desk.talk.pin(pinned).await.unwrap();

    for text in ["a", "b", "c", "d"] {
        desk.say(text).await.unwrap();
    }

    assert_eq!(scribe.summarising().len(), 3);
    assert!(desk.told().pop().unwrap().starts_with("Compacting did not help in 3 turns in a row"));
}

#[tokio::test]
async fn a_provider_that_finds_every_view_long_is_not_asked_for_summaries_for_ever() {
    let scribe = Scribe::new((0..6).map(|_| says("so", 990)), (0..3).map(|_| writes("so far")));
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1));

    for text in ["a", "b", "c", "d", "e", "f"] {
        desk.say(text).await.unwrap();
    }

    assert_eq!(scribe.summarising().len(), 3);
    assert!(desk.told().pop().unwrap().starts_with("Compacting did not help in 3 turns in a row"));
}

#[tokio::test]
async fn what_the_user_said_last_is_shown_to_every_summariser_of_its_turn() {
    let replies = [Says::Call(990), Says::Call(300), Says::Call(990), says("done", 300)];
    let too_long = std::iter::repeat_n(Says::Fails(ErrorKind::TooLong), 3);
    let summaries = [writes("one")].into_iter().chain(too_long).chain([writes("two")]);
    let scribe = Scribe::new(replies, summaries);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1)).with(reading);

    desk.say("read it all").await.unwrap();

    let last = scribe.summarising().pop().unwrap().messages;
    assert_eq!(last[..2], ["user: read it all", &summary_line("one")]);
}

#[tokio::test]
async fn an_undone_compaction_shows_everything_and_waits_for_the_end_of_the_next_turn() {
    let replies = [says("hi", 850), says("later", 300), says("more", 900)];
    let scribe = Scribe::new(replies, [writes("one"), writes("two")]);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1));
    desk.say("hello").await.unwrap();
    desk.say("next").await.unwrap();

    let undone = desk.talk.uncompact().await.unwrap();
    let (view, is_compacted) = (desk.view(), desk.talk.history().is_compacted());
    let again = desk.talk.uncompact().await.unwrap();
    let stored = History::load(&desk.place.archive().resume(desk.id).unwrap()).unwrap();
    desk.say("last").await.unwrap();

    assert_eq!((undone.is_some(), is_compacted, again), (true, false, None));
    let reply = line(&exchange(1)[1]);
    let lines =
        ["user: question 1", &reply, "user: hello", "assistant: hi", "user: next", "assistant: later"];
    assert_eq!(
        (view, view_of(&stored, scribe.as_ref())),
        (lines.map(str::to_owned).to_vec(), lines.map(str::to_owned).to_vec())
    );
    assert_eq!(scribe.asked()[2].messages.len(), 7);
    assert_eq!(desk.told(), ["compacting", &summary_told("one"), "compacting", &summary_told("two")]);
}

#[tokio::test]
async fn a_store_that_fails_loses_nothing_of_a_compaction() {
    let scribe = Scribe::new([], [writes("so far")]);
    let place = Place::new();
    let store = SqliteStore::open_waiting(place.database(), Duration::from_millis(50)).unwrap();
    let archive = Archive::with_store(Arc::new(store));
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
    let mut talk = Talk::new(scribe.clone(), "m", recording, History::default());
    let (events, _heard) = mpsc::unbounded_channel();
    talk.turn(Message::user("saved"), &events).await.unwrap();
    let holder = Connection::open(place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    talk.turn(Message::user("not saved"), &events).await.unwrap();
    talk.turn(Message::user(format!("a {}", "long ".repeat(50))), &events).await.unwrap();

    let compacted = talk.compact(&events).await.unwrap();
    let refused = talk.uncompact().await.map_err(|error: Error| error.kind());
    let view = view_of(talk.history(), scribe.as_ref());
    holder.execute_batch("COMMIT").unwrap();
    talk.close().await.unwrap();

    assert_eq!((compacted.message, refused), (None, Err(ErrorKind::Store)));
    let long = format!("user: a {}", "long ".repeat(50));
    assert_eq!(view, ["user: saved", "user: not saved", &long, &summary_line("so far")]);
    let resumed = History::load(&place.archive().resume(id).unwrap()).unwrap();
    assert_eq!(view_of(&resumed, scribe.as_ref()), view);
}
