//! Compaction: when a summary is asked for, what is asked, and what the model is sent afterwards.

use std::sync::Arc;

use rejoin::view::{Compaction, KeptMessage};
use rejoin::{Block, Message, Role, Usage};
use rejoin_agent::{CompactSettings, ErrorKind, Fullness, Toolbox};

use crate::scribe::{
    Asked, Desk, Says, Scribe, exchanges, prompt_line, says, snapshot, summary_line, summary_told, window,
    writes,
};
use crate::stored_talk::Read;

#[tokio::test]
async fn a_talk_far_below_its_window_asks_for_no_summary() {
    let mut desk = Desk::new(&Scribe::new([says("hi", 1_000)], []), window(100_000), exchanges(3));

    desk.say("hello").await.unwrap();

    assert_eq!((desk.scribe.asked().len(), desk.scribe.summarising()), (1, vec![]));
    assert_eq!(desk.talk.fullness(), Fullness { tokens: 1_000, window: Some(100_000) });
    assert_eq!(desk.told(), <[String; 0]>::default());
}

#[tokio::test]
async fn a_talk_above_the_threshold_is_summarised_before_the_turn_returns() {
    let scribe = Scribe::new([says("hi", 85_000)], [says("so far", 86_000)]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(3));

    let ended = desk.say("hello").await.unwrap();

    let asked = scribe.summarising();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].messages.last().unwrap().contains("concise summary"), "{asked:?}");
    assert_eq!((ended.input_tokens, ended.output_tokens), (84_999 + 85_999, 2));
    assert_eq!(desk.told(), ["compacting", &summary_told("so far")]);
    assert!(desk.talk.history().is_compacted());
}

#[tokio::test]
async fn compaction_begins_strictly_above_the_limit() {
    let counts = [80_000, 80_001];
    let mut summaries = Vec::new();
    for count in counts {
        let scribe = Scribe::new([says("hi", count)], [writes("so far")]);
        Desk::new(&scribe, window(100_000), exchanges(3)).say("hello").await.unwrap();
        summaries.push(scribe.summarising().len());
    }

    assert_eq!(summaries, [0, 1]);
}

#[tokio::test]
async fn without_a_window_nothing_is_compacted_by_itself() {
    let scribe = Scribe::new([says("hi", 10_000_000)], []);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(3));

    desk.say("hello").await.unwrap();

    assert_eq!(scribe.summarising(), []);
    assert_eq!(desk.talk.fullness(), Fullness { tokens: 10_000_000, window: None });
}

#[tokio::test]
async fn the_summary_is_asked_of_the_same_model_with_the_same_beginning() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(1))
        .with(|talk| talk.with_tools(Toolbox::default().with(Arc::new(Read::default()))));

    desk.say("hello").await.unwrap();
    desk.compact().await.unwrap();

    let reply = scribe.asked().remove(0);
    let messages = [reply.messages, vec!["assistant: fine".to_owned(), prompt_line()]].concat();
    let tools = vec!["read".to_owned()];
    let (model, system) = ("m".to_owned(), "be brief".to_owned());
    assert_eq!(scribe.summarising(), [Asked { model, system, tools, messages }]);
}

#[tokio::test]
async fn another_model_may_write_the_summary() {
    let scribe = Scribe::new([], [writes("so far")]);
    let settings = CompactSettings { model: Some("small".to_owned()), ..CompactSettings::default() };
    let mut desk = Desk::new(&scribe, settings, exchanges(1));

    desk.compact().await.unwrap();
    desk.say("hello").await.unwrap();

    let models = [&scribe.summarising()[0].model, &scribe.asked()[0].model].map(String::clone);
    assert_eq!(models, ["small", "m"]);
}

#[tokio::test]
async fn a_compacted_view_is_shorter_and_has_the_initial_context_and_the_summary() {
    let scribe = Scribe::new([], [writes(" so far\n")]);
    let mut messages = vec![Message::new(Role::System, vec![Block::text("project: lisbon")])];
    messages.extend(exchanges(3));
    let mut desk = Desk::new(&scribe, window(100_000), messages);

    let compacted = desk.compact().await.unwrap();
    desk.say("and now?").await.unwrap();

    assert!(compacted.tokens_after < compacted.tokens_before, "{compacted:?}");
    let expected = [
        "system: project: lisbon",
        "user: question 1",
        "user: question 2",
        "user: question 3",
        &summary_line("so far"),
        "user: and now?",
    ];
    let asked = scribe.asked().remove(0);
    assert_eq!((asked.system.as_str(), asked.messages), ("be brief", expected.map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn the_newest_words_of_the_user_stay_and_older_ones_give_way() {
    let scribe = Scribe::new([], [writes("so far")]);
    let settings = CompactSettings { user_tokens: 9, ..CompactSettings::default() };
    let mut desk = Desk::new(&scribe, settings, exchanges(10));

    desk.compact().await.unwrap();

    let view = desk.view();
    assert_eq!(view[view.len() - 3..], ["user: question 9", "user: question 10", &summary_line("so far")]);
    assert!(!view.contains(&"user: question 1".to_owned()), "{view:?}");
    assert!(!view.iter().any(|line| line.starts_with("assistant")), "{view:?}");
}

#[tokio::test]
async fn snapshots_and_pinned_messages_survive_every_compaction() {
    let scribe = Scribe::new([], [writes("one"), writes("two")]);
    let settings = CompactSettings { user_tokens: 0, ..CompactSettings::default() };
    let mut messages = exchanges(2);
    messages.insert(2, snapshot(r#"{"open":["a.rs"]}"#));
    let mut desk = Desk::new(&scribe, settings.clone(), messages);
    let pinned = desk.stored()[1].0;
    desk.talk.pin(pinned).await.unwrap();

    desk.compact().await.unwrap();
    let state = r#"user: State to carry along: {"open":["a.rs"]}"#.to_owned();
    let reply = format!("assistant: reply 1: {}", "blah ".repeat(200));
    let first = desk.view();
    desk.say("next").await.unwrap();
    desk.compact().await.unwrap();
    let second = desk.resume(settings).view();

    assert_eq!(first, [reply.clone(), summary_line("one"), state.clone()]);
    assert_eq!(second, [reply, summary_line("two"), state]);
}

#[tokio::test]
async fn a_message_of_the_user_beyond_the_budget_is_cut_in_the_middle() {
    let scribe = Scribe::new([], [writes("so far")]);
    let long = "somewhere over the rainbow ".repeat(10_000);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), vec![]);
    desk.say(&format!("BEGIN {long}END")).await.unwrap();

    desk.compact().await.unwrap();

    let kept = desk.view().remove(0);
    let (head, rest) = kept.split_once("\n\n[... ").unwrap();
    let (number, tail) = rest.split_once(" characters truncated ...]\n\n").unwrap();
    let removed = "user: BEGIN END".len() + long.len() - head.len() - tail.len();
    assert!(head.starts_with("user: BEGIN somewhere") && tail.ends_with("rainbow END"), "{head} … {tail}");
    assert_eq!((number, head.len() - "user: ".len()), (&*removed.to_string(), tail.len()));
}

#[tokio::test]
async fn a_compaction_is_stored_as_a_message_with_what_it_keeps() {
    let scribe = Scribe::new([], [says("so far", 500)]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(1));

    let compacted = desk.compact().await.unwrap();

    let stored = desk.stored();
    let (id, message) = stored.last().unwrap();
    let compaction = Compaction::from_message(message).unwrap().unwrap();
    assert_eq!((Some(*id), message.role, message.text()), (compacted.message, Role::User, compacted.summary));
    assert_eq!(message.blocks[0].kind(), "summary");
    assert_eq!(compaction.kept, [KeptMessage { message: stored[0].0, text: None }]);
    assert_eq!(
        (compaction.trimmed, compaction.tokens_before, compaction.tokens_after),
        (0, compacted.tokens_before, compacted.tokens_after)
    );
    assert_eq!(message.usage, Some(Usage { input_tokens: 499, output_tokens: 1, detail: None }));
}

#[tokio::test]
async fn an_empty_or_malformed_summary_is_stood_for() {
    let answers = [writes(" \n"), Says::Call(7), Says::Fails(ErrorKind::Malformed)];
    let mut outcomes = Vec::new();
    for answer in answers {
        let mut desk = Desk::new(&Scribe::new([], [answer]), CompactSettings::default(), exchanges(1));
        let compacted = desk.compact().await.unwrap();
        outcomes.push((desk.told(), desk.view(), compacted.summary));
    }

    let told = [
        "compacting",
        "The model gave no summary. `(summary unavailable)` stands for it.",
        &summary_told(Compaction::NO_SUMMARY),
    ];
    let view = ["user: question 1".to_owned(), summary_line(Compaction::NO_SUMMARY)];
    let expected = (told.map(str::to_owned).to_vec(), view.to_vec(), summary_told(Compaction::NO_SUMMARY));
    assert_eq!(outcomes, [expected.clone(), expected.clone(), expected]);
}

#[tokio::test]
async fn what_would_happen_is_told_without_asking_or_writing() {
    let scribe = Scribe::new([], []);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(2));

    let foreseen = desk.talk.foresee().await;

    assert_eq!(foreseen.request.as_deref(), Some("5 messages"));
    assert_eq!(foreseen.kept, 2);
    assert!(foreseen.request_tokens > foreseen.tokens_before, "{foreseen:?}");
    assert_eq!((scribe.summarising(), desk.stored().len()), (vec![], 4));
    assert_eq!(desk.told(), <[String; 0]>::default());
}

#[tokio::test]
async fn what_was_compacted_last_is_not_compacted_again() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(2));
    desk.compact().await.unwrap();
    desk.told();

    let error = desk.compact().await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!((desk.told(), desk.stored().len()), (vec!["There is nothing to compact.".to_owned()], 5));
}
