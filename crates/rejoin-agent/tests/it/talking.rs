//! One turn, from a message to what is on disk.

use std::sync::Arc;

use rejoin::{Archive, Conversation, Message};
use rejoin_agent::{Offline, Recording, Stop, Talk};
use tokio::sync::mpsc;

#[tokio::test]
async fn a_turn_is_on_disk_when_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("a.db").display());
    let archive = Archive::open(&url).unwrap();
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let recording = Recording::start(archive.record(handle, "1@1"));
    let mut talk = Talk::new(Arc::new(Offline), "none", recording, Vec::new());
    let (events, _heard) = mpsc::unbounded_channel();

    let ended = talk.turn(Message::user("my bicycle is green"), &events).await.unwrap();

    let again = Archive::open(&url).unwrap();
    let said: Vec<String> =
        again.path(id, None).unwrap().iter().map(|seen| seen.message.role.as_str().to_owned()).collect();
    assert_eq!((ended.stop, said), (Stop::Done, vec!["user".to_owned(), "assistant".to_owned()]));
    assert_eq!(again.open_turns(id).unwrap(), []);
}
