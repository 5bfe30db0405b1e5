//! Futures that are dropped while the store is at work: memory and disk stay
//! the same, and nothing is done twice.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures_util::FutureExt;
use rejoin::store::SqliteStore;
use rejoin::view::Compaction;
use rejoin::{Archive, AsyncRecorder, Block, ErrorKind, Message, MessageId, Role};
use rejoin_agent::{CompactSettings, History, Talk};
use rusqlite::Connection;

use crate::scribe::{Desk, Scribe, exchange, exchanges, line, summary_line, view_of, writes};
use crate::script::call;

/// Keeps the recorder's thread busy until what this returns is dropped.
fn busy(talk: &Talk) -> mpsc::Sender<()> {
    let (hold, held) = mpsc::channel::<()>();
    let work = talk.recorder().with(move |_| held.recv().is_err()).now_or_never();
    assert!(work.is_none());
    hold
}

/// Lets the recorder's thread do all that it was told.
async fn settle(talk: &Talk, hold: mpsc::Sender<()>) {
    drop(hold);
    talk.recorder().with(|_| ()).await.unwrap();
}

/// A talk that was compacted twice, and its summaries.
async fn compacted_twice() -> (Desk, [MessageId; 2]) {
    let scribe = Scribe::new([writes(&"blah ".repeat(200))], [writes("one"), writes("two")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(1));
    let one = desk.compact().await.unwrap().message.unwrap();
    desk.say("next").await.unwrap();
    let two = desk.compact().await.unwrap().message.unwrap();
    (desk, [one, two])
}

/// What another process would send.
fn stored_view(desk: &Desk) -> Vec<String> {
    let history = History::load(&desk.place.archive().resume(desk.id).unwrap()).unwrap();
    view_of(&history, desk.scribe.as_ref())
}

fn ignored(desk: &Desk) -> Vec<MessageId> {
    desk.place.archive().conversation(desk.id).unwrap().conversation.ignored_summaries
}

#[tokio::test]
async fn a_refused_turn_that_was_dropped_takes_no_other_message_for_its_own() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(2));
    let refused = Message::new(Role::User, vec![Block::text("never stored"), call("c", "read")]);
    let hold = busy(&desk.talk);
    assert!(desk.talk.turn(refused, &desk.events).now_or_never().is_none());
    settle(&desk.talk, hold).await;
    desk.say("hello").await.unwrap();

    desk.compact().await.unwrap();

    let stored = desk.stored();
    let compaction = Compaction::from_message(&stored.last().unwrap().1).unwrap().unwrap();
    let said = |id: MessageId| stored.iter().find(|(stored, _)| *stored == id).unwrap().1.text();
    let kept: Vec<String> = compaction.kept.iter().map(|kept| said(kept.message)).collect();
    assert_eq!(kept, ["question 1", "question 2", "hello"]);
    assert_eq!(compaction.unsaved, ["never stored"]);
}

#[tokio::test]
async fn an_undoing_that_is_dropped_holds_in_memory_and_on_disk() {
    let (mut desk, [_, two]) = compacted_twice().await;

    let hold = busy(&desk.talk);
    assert!(desk.talk.uncompact().now_or_never().is_none());
    settle(&desk.talk, hold).await;

    let lines = ["user: question 1", &summary_line("one"), "user: next"].map(str::to_owned);
    assert_eq!(desk.view()[..3], lines);
    assert_eq!((stored_view(&desk), ignored(&desk)), (desk.view(), vec![two]));
}

#[tokio::test]
async fn an_undoing_that_was_dropped_is_the_one_that_is_done_again() {
    let (mut desk, [one, two]) = compacted_twice().await;
    let hold = busy(&desk.talk);
    assert!(desk.talk.uncompact().now_or_never().is_none());
    settle(&desk.talk, hold).await;

    let again = desk.talk.uncompact().await.unwrap();
    let after = (ignored(&desk), stored_view(&desk) == desk.view());
    let older = desk.talk.uncompact().await.unwrap();
    let none = desk.talk.uncompact().await.unwrap();

    assert_eq!((again, after), (Some(two), (vec![two], true)));
    assert_eq!((older, none, ignored(&desk)), (Some(one), None, vec![two, one]));
    assert_eq!(stored_view(&desk), desk.view());
}

#[tokio::test]
async fn a_pin_that_is_dropped_holds_in_memory_and_on_disk() {
    let scribe = Scribe::new([], [writes("so far")]);
    let mut desk = Desk::new(&scribe, CompactSettings::default(), exchanges(3));
    let reply = desk.stored()[1].0;
    desk.compact().await.unwrap();
    let unpinned = desk.view();

    let hold = busy(&desk.talk);
    assert!(desk.talk.pin(reply).now_or_never().is_none());
    settle(&desk.talk, hold).await;
    let pinned = (desk.view(), stored_view(&desk));
    let hold = busy(&desk.talk);
    assert!(desk.talk.unpin(reply).now_or_never().is_none());
    settle(&desk.talk, hold).await;

    assert!(pinned.0.contains(&line(&exchange(1)[1])), "{pinned:?}");
    assert_eq!(pinned.0, pinned.1);
    assert_eq!((desk.view(), stored_view(&desk)), (unpinned.clone(), unpinned));
}

#[tokio::test]
async fn a_store_that_fails_leaves_pins_and_summaries_as_they_were() {
    let (desk, _) = compacted_twice().await;
    let [question, reply] = [0, 1].map(|place| desk.stored()[place].0);
    desk.place.archive().marks().pin(desk.id, reply).unwrap();
    let store = SqliteStore::open_waiting(desk.place.database(), Duration::from_millis(50)).unwrap();
    let archive = Archive::with_store(Arc::new(store));
    let handle = archive.resume(desk.id).unwrap();
    let history = History::load(&handle).unwrap();
    let recording = AsyncRecorder::start(archive.record(handle, "2@2"));
    let mut talk = Talk::new(desk.scribe.clone(), "m", recording, history.clone());
    let holder = Connection::open(desk.place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();

    let failed = [
        talk.pin(question).await.is_err(),
        talk.unpin(reply).await.is_err(),
        talk.uncompact().await.is_err(),
    ];

    assert_eq!(failed, [true; 3]);
    assert_eq!(view_of(talk.history(), desk.scribe.as_ref()), view_of(&history, desk.scribe.as_ref()));
    assert!(talk.history().is_compacted());
    holder.execute_batch("COMMIT").unwrap();
}

#[tokio::test]
async fn only_a_summary_of_the_conversation_can_be_undone_and_often() {
    let (desk, [one, _]) = compacted_twice().await;
    let archive = desk.place.archive();
    let question = desk.stored()[0].0;

    let kinds = [question, "none".parse().unwrap(), one, one]
        .map(|message| archive.marks().uncompact(desk.id, message).map_err(|error| error.kind()));

    assert_eq!(kinds, [Err(ErrorKind::Invalid), Err(ErrorKind::NotFound), Ok(()), Ok(())]);
    assert_eq!(ignored(&desk), [one]);
}
