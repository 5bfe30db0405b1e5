//! A store that cannot be written: the talk goes on, says so, and everything is saved once it can be again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::SqliteStore;
use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId, Message, SavingState, SavingWatch};
use rejoin_agent::TurnEvent;
use tokio::time::timeout;

use crate::script::{Conversing, Place, Script, done, text};
use crate::skip::skip;

/// How long the stores of these tests wait for another process.
const WAIT: Duration = Duration::from_millis(100);

/// Nothing here takes so long unless it never happens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A small file system in memory, mounted for one test.
#[derive(Debug)]
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it over a directory; without the right to, the test is skipped.
    fn mount(over: &Path, size: &str) -> Option<Self> {
        let disk = Self(over.to_owned());
        if mount(&["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"], over) {
            return Some(disk);
        }
        std::mem::forget(disk);
        skip("mounting a small file system takes root");
        None
    }

    fn allow_writes(&self) {
        assert!(mount(&["-o", "remount,rw"], &self.0));
    }

    fn forbid_writes(&self) {
        assert!(mount(&["-o", "remount,ro"], &self.0));
    }

    /// Takes up all room that is left.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("ballast");
        let _ = fs::write(&path, vec![b'x'; 64 << 20]);
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(options: &[&str], over: &Path) -> bool {
    let mounted = Command::new("mount").args(options).arg(over).stderr(Stdio::null()).status();
    mounted.is_ok_and(|status| status.success())
}

fn open(path: &Path) -> rejoin::Result<Archive> {
    Ok(Archive::with_store(Arc::new(SqliteStore::open_waiting(path, WAIT)?)))
}

/// A talk whose store is opened again when it is in doubt.
fn talk(path: &Path, id: ConversationId, script: &Arc<Script>) -> Conversing {
    let (archive, path) = (open(path).unwrap(), path.to_owned());
    let recorder = archive.record(archive.resume(id).unwrap(), "1@1").reopening(move || open(&path));
    Conversing::new(AsyncRecorder::start(recorder), script, id)
}

fn begin(path: &Path) -> ConversationId {
    let mut handle = open(path).unwrap().start(Conversation::new()).unwrap();
    handle.append(Message::user("before")).unwrap();
    handle.id()
}

/// A script with that many short replies.
fn replies(count: usize) -> Arc<Script> {
    Script::new((1..=count).map(|number| vec![text("re"), done(&format!("reply {number}"))]).collect())
}

/// Waits until everything is saved, and returns what waited and why.
async fn saved_again(mut state: SavingWatch) -> (usize, String) {
    let SavingState::Waiting { messages, reason } = state.state() else {
        panic!("everything is saved");
    };
    let saved =
        async { while state.changed().await.expect("the recorder is there") != SavingState::Saved {} };
    timeout(PATIENCE, saved).await.expect("the store comes back");
    (messages, reason)
}

fn expected(turns: usize) -> Vec<String> {
    let turns = (1..=turns)
        .flat_map(|number| [format!("user: message {number}"), format!("assistant (stop): reply {number}")]);
    ["user: before".to_owned()].into_iter().chain(turns).collect()
}

fn is_sound(archive: &Archive, id: ConversationId) -> bool {
    archive.maintenance().verify(id).unwrap().is_sound()
}

#[tokio::test]
async fn a_talk_survives_a_store_that_another_process_keeps_locked() {
    let place = Place::new();
    let id = begin(&place.database());
    let mut talk = talk(&place.database(), id, &replies(3));
    talk.say("message 1").await.unwrap();
    let holder = rusqlite::Connection::open(place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();

    talk.say("message 2").await.unwrap();
    talk.say("message 3").await.unwrap();
    let state = talk.talk.recorder().watch();
    let stored = place.stored(id);
    holder.execute_batch("COMMIT").unwrap();
    let (messages, reason) = saved_again(state).await;

    assert_eq!((stored, messages), (expected(1), 4));
    assert_eq!(reason, "append a turn: database is locked");
    assert_eq!(place.stored(id), expected(3));
    assert!(is_sound(&place.archive(), id));
}

#[tokio::test]
async fn a_talk_survives_a_full_disk() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.directory(), "4m") else { return };
    let id = begin(&place.database());
    let mut talk = talk(&place.database(), id, &replies(80));
    talk.say("message 1").await.unwrap();
    let ballast = disk.fill();
    let mut said = 1;
    // The log may have room for a few turns more.
    while said < 80 && talk.talk.recorder().state() == SavingState::Saved {
        said += 1;
        talk.say(&format!("message {said}")).await.unwrap();
    }

    let state = talk.talk.recorder().watch();
    fs::remove_file(ballast).unwrap();
    let (messages, reason) = saved_again(state).await;

    assert!((1..=2).contains(&messages), "{messages}");
    assert!(reason.ends_with("append a turn: the disk is full"), "{reason}");
    assert_eq!(place.stored(id), expected(said));
    assert!(is_sound(&place.archive(), id));
    drop(talk);
}

#[tokio::test]
async fn a_talk_survives_a_store_that_is_read_only() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.directory(), "8m") else { return };
    let id = begin(&place.database());
    disk.forbid_writes();
    let mut talk = talk(&place.database(), id, &replies(2));

    talk.say("message 1").await.unwrap();
    talk.say("message 2").await.unwrap();
    let state = talk.talk.recorder().watch();
    let stored = place.stored(id);
    disk.allow_writes();
    let (messages, reason) = saved_again(state).await;

    assert_eq!((stored, messages), (expected(0), 4));
    assert!(reason.contains("read"), "{reason}");
    assert_eq!(place.stored(id), expected(2));
    assert!(is_sound(&place.archive(), id));
    drop(talk);
}

#[tokio::test]
async fn what_could_not_be_saved_is_given_back_at_the_end() {
    let place = Place::new();
    let id = begin(&place.database());
    let mut talk = talk(&place.database(), id, &replies(1));
    let holder = rusqlite::Connection::open(place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    talk.say("message 1").await.unwrap();

    let unsaved = talk.talk.close().await.unwrap_err();

    let texts: Vec<String> = unsaved.messages.iter().map(Message::text).collect();
    assert_eq!(
        (texts, unsaved.interrupted),
        (vec!["message 1".to_owned(), "reply 1".to_owned()], Vec::new())
    );
    assert_eq!(unsaved.reason, "append a turn: database is locked");
}

#[tokio::test]
async fn a_talk_whose_store_comes_back_at_the_last_moment_loses_nothing() {
    let place = Place::new();
    let id = begin(&place.database());
    let mut talk = talk(&place.database(), id, &replies(1));
    let holder = rusqlite::Connection::open(place.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    talk.say("message 1").await.unwrap();
    holder.execute_batch("COMMIT").unwrap();

    // The pause after the failure is not over, but there is no later.
    drop(talk);

    assert_eq!(place.stored(id), expected(1));
}

#[tokio::test]
async fn a_talk_goes_on_in_a_new_conversation_when_its_own_is_deleted() {
    let place = Place::new();
    let id = begin(&place.database());
    let mut talk = talk(&place.database(), id, &replies(2));
    talk.say("message 1").await.unwrap();
    place.archive().removal().delete(&[id], "asked");

    talk.say("message 2").await.unwrap();

    let now = talk.talk.recorder().conversation();
    let told = std::iter::from_fn(|| talk.heard.try_recv().ok()).find_map(|event| match event {
        TurnEvent::BegunAgain(begun_again) => Some((begun_again.deleted, begun_again.conversation)),
        _ => None,
    });
    assert_ne!(now, id);
    assert_eq!(told, Some((id, now)));
    assert_eq!(place.stored(now), ["user: message 2", "assistant (stop): reply 2"]);
    assert_eq!(talk.history().len(), 4);
}
