//! Futures that are dropped while the store is at work: memory and disk stay the same, and nothing is done twice.

use std::sync::mpsc;

use futures_util::FutureExt;
use rejoin::view::Compaction;
use rejoin::{Block, Message, MessageId, Role};
use rejoin_agent::{CompactSettings, Talk};

use crate::scribe::{Desk, Scribe, exchanges, writes};
use crate::script::call;

/// Keeps the recorder's thread busy until what this returns is dropped.
fn busy(talk: &Talk) -> mpsc::Sender<()> {
    let (hold, held) = mpsc::channel::<()>();
    let work = talk.recording().with(move |_| held.recv().is_err()).now_or_never();
    assert!(work.is_none());
    hold
}

/// Lets the recorder's thread do all that it was told.
async fn settle(talk: &Talk, hold: mpsc::Sender<()>) {
    drop(hold);
    talk.recording().with(|_| ()).await.unwrap();
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
