//! Compacted conversations that are resumed, forked, rewound and compacted again.

use proptest::collection::vec;
use proptest::prelude::*;
use rejoin::view::{Recipient, ThinkingRule};
use rejoin::{Message, MessageId};
use rejoin_agent::{CompactSettings, History, Talk};
use tokio::runtime::Builder;

use crate::scribe::{Desk, Scribe, exchanges, line, prompt_line, snapshot, summary_line, view_of, writes};

/// Goes on in a new branch that starts at a message.
async fn fork(talk: &mut Talk, at: MessageId) {
    let history = talk.recorder().with(move |recorder| {
        recorder.fork(at, "another way")?;
        History::load(recorder.handle())
    });
    let history = history.await.unwrap().unwrap();
    talk.go_on_from(history);
}

/// Goes back to a message.
async fn rewind(talk: &mut Talk, to: MessageId) {
    let history = talk.recorder().with(move |recorder| {
        recorder.rewind(to)?;
        History::load(recorder.handle())
    });
    let history = history.await.unwrap().unwrap();
    talk.go_on_from(history);
}

/// The newest message.
async fn head(talk: &Talk) -> MessageId {
    talk.recorder().with(|recorder| recorder.handle().head()).await.unwrap().unwrap()
}

#[tokio::test]
async fn the_view_after_a_compaction_begins_the_view_after_a_resume_and_after_a_fork() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(3));
    desk.compact().await.unwrap();
    let compacted = desk.view();
    desk.say("after").await.unwrap();

    let mut desk = desk.resume(CompactSettings::default());
    let resumed = desk.view();
    let at = head(&desk.talk).await;
    fork(&mut desk.talk, at).await;
    desk.say("forked").await.unwrap();

    let after = ["user: after", "assistant: fine"].map(str::to_owned);
    assert_eq!(resumed, [&compacted[..], &after].concat());
    let forked = ["user: forked", "assistant: fine"].map(str::to_owned);
    assert_eq!(desk.view(), [&resumed[..], &forked].concat());
}

#[tokio::test]
async fn of_two_compactions_the_second_is_shown_and_its_summariser_saw_the_first() {
    let scribe = Scribe::new([], [writes("first"), writes("second")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    desk.compact().await.unwrap();
    let mut desk = desk.resume(CompactSettings::default());
    let at = head(&desk.talk).await;
    fork(&mut desk.talk, at).await;
    desk.say("more").await.unwrap();

    desk.compact().await.unwrap();
    let head = head(&desk.talk).await;
    let archive = desk.place.archive();
    let resumed = History::load(&archive.resume_at(desk.id, head).unwrap()).unwrap();

    let users = ["user: question 1", "user: question 2", "user: more"];
    let (first, second, prompt) = (summary_line("first"), summary_line("second"), prompt_line());
    assert_eq!(view_of(&resumed, scribe.as_ref()), [&users[..], &[&second]].concat());
    let seen = [&users[..2], &[&first, "user: more", "assistant: fine", &prompt]].concat();
    assert_eq!(scribe.summarising()[1].messages, seen);
}

#[tokio::test]
async fn going_back_behind_a_compaction_shows_the_whole_history_again() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    let before = desk.view();
    let last = head(&desk.talk).await;
    desk.compact().await.unwrap();
    desk.say("after").await.unwrap();
    let stored: Vec<String> = desk.stored().iter().map(|(_, message)| line(message)).collect();

    rewind(&mut desk.talk, last).await;

    assert_eq!((desk.view(), desk.talk.history().is_compacted()), (before.clone(), false));
    assert_eq!(stored[..4], before);
    assert_eq!(stored.len(), 7);
}

#[tokio::test]
async fn a_compaction_on_one_branch_leaves_the_other_alone() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    let before = desk.view();
    let shared = head(&desk.talk).await;
    desk.say("here").await.unwrap();
    let there = head(&desk.talk).await;
    fork(&mut desk.talk, shared).await;

    desk.compact().await.unwrap();

    let archive = desk.place.archive();
    let other = History::load(&archive.resume_at(desk.id, there).unwrap()).unwrap();
    let lines = ["user: here", "assistant: fine"].map(str::to_owned);
    assert_eq!(view_of(&other, scribe.as_ref()), [&before[..], &lines].concat());
    assert_eq!(desk.view(), ["user: question 1", "user: question 2", &summary_line("so far")]);
}

#[tokio::test]
async fn neither_summaries_nor_what_a_program_said_is_collected_as_words_of_the_user() {
    let scribe = Scribe::new([], [writes("first"), writes("second")]);
    let mut messages = vec![
        Message::user("<user_instructions>be kind</user_instructions>"),
        Message::user("<environment_context>here</environment_context>"),
    ];
    messages.extend(exchanges(2));
    let mut desk = Desk::new(&scribe, CompactSettings::default(), messages);
    desk.compact().await.unwrap();
    desk.say("latest").await.unwrap();

    desk.compact().await.unwrap();

    let expected = [
        "user: <user_instructions>be kind</user_instructions>",
        "user: <environment_context>here</environment_context>",
        "user: question 1",
        "user: question 2",
        "user: latest",
        &summary_line("second"),
    ];
    assert_eq!(desk.view(), expected);
    let last = desk.stored().pop().unwrap().1;
    let kept = rejoin::view::Compaction::from_message(&last).unwrap().unwrap().kept;
    assert_eq!(kept.len(), 3);
}

/// What happens to a conversation.
#[derive(Clone, Debug)]
enum Happening {
    /// Somebody says so many words.
    Said(usize),
    /// A state is carried along.
    Snapshot,
    Pinned,
    Compacted,
    Resumed,
    Forked,
    Undone,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        4 => (1_usize..400).prop_map(Happening::Said),
        1 => Just(Happening::Snapshot),
        1 => Just(Happening::Pinned),
        3 => Just(Happening::Compacted),
        2 => Just(Happening::Resumed),
        2 => Just(Happening::Forked),
        1 => Just(Happening::Undone),
    ];
    vec(happening, 1..14)
}

/// Recipients that differ in what they take.
fn recipients() -> [Recipient; 2] {
    let mut strict = Recipient::new("anthropic");
    strict.begins_with_user = true;
    strict.thinking = ThinkingRule::Signed;
    [Recipient::new("openai-chat"), strict]
}

fn views(history: &History) -> [Vec<String>; 2] {
    recipients().map(|recipient| {
        history.view(&recipient).messages.iter().map(|viewed| line(&viewed.message)).collect()
    })
}

async fn live(happenings: Vec<Happening>) -> Result<(), TestCaseError> {
    let summaries = (0..happenings.len()).map(|number| writes(&format!("summary {number}")));
    let scribe = Scribe::new([], summaries);
    let settings = CompactSettings { user_tokens: 150, ..CompactSettings::default() };
    let mut desk = Desk::new(&scribe, settings.clone(), exchanges(1));
    let mut beginning = views(desk.talk.history());
    for happening in happenings {
        let before = views(desk.talk.history());
        match happening {
            Happening::Said(words) => drop(desk.say(&"word ".repeat(words)).await.unwrap()),
            Happening::Snapshot => drop(desk.talk.turn(snapshot(r#"{"a":1}"#), &desk.events).await.unwrap()),
            Happening::Pinned => {
                let newest = head(&desk.talk).await;
                desk.talk.pin(newest).await.unwrap();
            }
            // One that would not help is refused, and leaves the view.
            Happening::Compacted => match desk.compact().await {
                Ok(_) => beginning = views(desk.talk.history()),
                Err(_) => prop_assert_eq!(&views(desk.talk.history()), &before),
            },
            Happening::Resumed => {
                let at = head(&desk.talk).await;
                desk = desk.resume(settings.clone());
                rewind(&mut desk.talk, at).await;
                prop_assert_eq!(&views(desk.talk.history()), &before);
            }
            Happening::Forked => {
                let at = head(&desk.talk).await;
                fork(&mut desk.talk, at).await;
                prop_assert_eq!(&views(desk.talk.history()), &before);
            }
            Happening::Undone => {
                desk.talk.uncompact().await.unwrap();
                beginning = views(desk.talk.history());
            }
        }
        for (view, beginning) in views(desk.talk.history()).iter().zip(&beginning) {
            prop_assert!(view.starts_with(beginning), "{view:#?} does not begin with {beginning:#?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_view_goes_on_as_it_began_until_something_is_compacted_or_undone(happenings in happenings()) {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(live(happenings))?;
    }
}
