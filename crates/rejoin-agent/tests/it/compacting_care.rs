//! What a compaction takes care of: the question that waits, pictures, answers
//! that are no summary, and other paths.

use std::sync::Arc;

use rejoin::{Block, Fields, Media, MediaKind, Message, Role};
use rejoin_agent::{CompactSettings, ErrorKind, History, Toolbox};

use crate::scribe::{Desk, Says, Scribe, exchanges, line, says, summary_line, summary_told, window, writes};
use crate::stored_talk::Read;

fn picture(words: &str) -> Message {
    let image = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: Some("iVBORw0KGgo=".to_owned()),
        uri: None,
        extra: Fields::new(),
    };
    let text = (!words.is_empty()).then(|| Block::text(words));
    Message::new(Role::User, text.into_iter().chain([Block::Media(image)]).collect())
}

/// How many images the next request would have.
fn images(desk: &Desk) -> usize {
    let recipient = rejoin_agent::Provider::recipient(desk.scribe.as_ref());
    let view = desk.talk.history().view(&recipient);
    let blocks = view.messages.iter().flat_map(|viewed| viewed.message.blocks.clone());
    blocks.filter(|block| matches!(block, Block::Media(_))).count()
}

#[tokio::test]
async fn the_message_that_waits_stays_whatever_it_is() {
    let mut found = Vec::new();
    for waiting in [picture(""), Message::user("Summary: the build fails, mend it")] {
        let scribe = Scribe::new([says("hm", 3_195), says("done", 900)], [writes("so far")]);
        let mut desk = Desk::new(&scribe, window(4_000), exchanges(3));
        desk.say("short").await.unwrap();
        desk.talk.turn(waiting, &desk.events).await.unwrap();
        let sent = scribe.asked().pop().unwrap().messages;
        found.push((images(&desk), sent[sent.len() - 2..].to_vec()));
    }

    let waiting = "user: Summary: the build fails, mend it".to_owned();
    let summary = summary_line("so far");
    assert_eq!(found, [(1, vec!["user: ".to_owned(), summary.clone()]), (0, vec![waiting, summary])]);
}

#[tokio::test]
async fn of_older_messages_the_words_stay_and_the_pictures_go() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), vec![picture("see this"), Message::assistant("ok")]);

    desk.compact().await.unwrap();

    assert_eq!(images(&desk), 0);
    assert_eq!(desk.view()[0], "user: see this");
}

#[tokio::test]
async fn an_answer_that_asks_for_a_tool_is_no_summary() {
    let scribe = Scribe::new([], [Says::Call(10), writes("so far")]);
    let mut desk = Desk::new(&scribe, window(100_000), exchanges(3))
        .with(|talk| talk.with_tools(Toolbox::default().with(Arc::new(Read::default()))));

    let compacted = desk.compact().await.unwrap();

    assert_eq!(compacted.summary, summary_told("so far"));
    let tools: Vec<usize> = scribe.summarising().iter().map(|asked| asked.tools.len()).collect();
    assert_eq!(tools, [1, 0]);
}

#[tokio::test]
async fn a_large_result_after_a_compaction_is_compacted_again() {
    // The provider counts 300 after the first compaction: it helped. Then a result fills the window.
    let replies = [Says::Call(900), Says::Call(300), Says::Call(850), says("done", 400)];
    let scribe = Scribe::new(replies, [writes("first"), writes("second")]);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1))
        .with(|talk| talk.with_tools(Toolbox::default().with(Arc::new(Read::default()))));

    desk.say("read it all").await.unwrap();

    assert_eq!(desk.told(), ["compacting", &summary_told("first"), "compacting", &summary_told("second")]);
    assert!(scribe.asked().pop().unwrap().messages.contains(&summary_line("second")));
}

#[tokio::test]
async fn after_an_undo_the_next_turn_has_everything_also_in_another_process() {
    let scribe = Scribe::new([says("hi", 850)], [writes("so far"), writes("again")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    desk.say("hello").await.unwrap();
    desk.compact().await.unwrap();
    desk.talk.uncompact().await.unwrap().unwrap();

    let mut desk = desk.resume(window(1_000));
    desk.say("go on").await.unwrap();

    let sent = scribe.asked().pop().unwrap().messages;
    assert_eq!(sent.len(), 7, "{sent:?}");
    assert_eq!(line(&Message::user("go on")), sent[6]);
}

#[tokio::test]
async fn failures_on_one_path_do_not_count_on_another() {
    let fails = || Says::Fails(ErrorKind::Overloaded);
    let replies = (0..5).map(|_| says("hm", 950));
    let scribe = Scribe::new(replies, [fails(), fails(), fails(), writes("so far")]);
    let mut desk = Desk::new(&scribe, window(1_000), exchanges(1));
    for text in ["one", "two", "three"] {
        desk.say(text).await.unwrap();
    }

    let archive = desk.place.archive();
    desk.talk.go_on_from(History::load(&archive.resume(desk.id).unwrap()).unwrap());
    desk.say("four").await.unwrap();

    assert_eq!(scribe.summarising().len(), 4);
}
