//! The recorder for async programs: ordered, and nothing is lost by dropping a future.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rejoin::store::{MemoryStore, Store};
use rejoin::{
    Archive, AsyncRecorder, Conversation, ConversationId, Error, ErrorKind, Message, Result, SavingState,
};

use crate::doubles::{Around, Write, a_store};

/// A store in memory whose appends can be made to fail, or to wait.
#[derive(Debug, Default)]
struct Troubled {
    inner: MemoryStore,
    fails: AtomicBool,
    /// An append waits while a test holds it.
    gate: Mutex<()>,
}

impl Around for Troubled {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn writing<T>(&self, write: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        if write == Write::Append {
            drop(self.gate.lock().unwrap());
            if self.fails.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
            }
        }
        work(&self.inner)
    }
}

a_store!(Troubled);

fn in_trouble() -> (Arc<Troubled>, Archive, ConversationId, AsyncRecorder) {
    let store = Arc::new(Troubled::default());
    let archive = Archive::with_store(store.clone());
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let recorder = AsyncRecorder::start(archive.record(handle, "1@1"));
    (store, archive, id, recorder)
}

fn shut(store: &Troubled) -> MutexGuard<'_, ()> {
    store.gate.lock().unwrap()
}

/// Waits until the thread of a recorder has stored as many messages.
fn wait_for(archive: &Archive, id: ConversationId, count: usize) {
    let begun = Instant::now();
    while texts(archive, id).len() < count {
        assert!(begun.elapsed() < Duration::from_secs(30), "the messages were not stored");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn begun() -> (Archive, ConversationId, AsyncRecorder) {
    let archive = Archive::open("memory:").unwrap();
    let handle = archive.start(Conversation::new()).unwrap();
    let id = handle.id();
    let recorder = AsyncRecorder::start(archive.record(handle, "1@1"));
    (archive, id, recorder)
}

fn texts(archive: &Archive, id: ConversationId) -> Vec<String> {
    archive.path(id, None).unwrap().iter().map(|stored| stored.message.text()).collect()
}

#[tokio::test]
async fn an_append_whose_future_is_dropped_is_stored() {
    let (archive, id, recorder) = begun();

    drop(recorder.append(vec![Message::user("one")]));
    recorder.close().await.unwrap();

    assert_eq!(texts(&archive, id), ["one"]);
}

#[tokio::test]
async fn appends_are_stored_in_the_order_of_the_calls_not_of_the_awaits() {
    let (archive, id, recorder) = begun();

    let first = recorder.append(vec![Message::user("one")]);
    let second = recorder.append(vec![Message::user("two")]);
    let between = recorder.with(|recorder| recorder.handle().path().unwrap().len());
    let third = recorder.append(vec![Message::user("three")]);
    let receipts = [third.await.unwrap(), second.await.unwrap(), first.await.unwrap()];

    assert_eq!(texts(&archive, id), ["one", "two", "three"]);
    assert_eq!(between.await.unwrap(), 2);
    assert_eq!(receipts.map(|receipt| receipt.is_some()), [true; 3]);
    assert_eq!(recorder.state(), SavingState::Saved);
}

#[tokio::test]
async fn a_turn_that_is_invalid_is_an_error_and_the_next_is_stored() {
    let (archive, id, recorder) = begun();

    let refused = recorder.append(Vec::new()).await;
    let stored = recorder.append(vec![Message::user("one")]).await.unwrap();

    assert!(refused.is_err() && stored.is_some());
    assert_eq!(texts(&archive, id), ["one"]);
}

#[tokio::test]
async fn a_reply_that_arrives_is_saved_before_it_is_complete_and_replaced_by_its_append() {
    let (archive, id, recorder) = begun();
    recorder.append(vec![Message::user("Where to eat?")]).await.unwrap();
    let reply = recorder.open_reply();

    reply.push_text("Try a ");
    reply.push_text("tasca");
    let begun = Instant::now();
    while archive.open_turns().list(id).unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the open turn was not saved");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let arrived =
        archive.open_turns().list(id).unwrap().iter().flat_map(|turn| turn.messages()).collect::<Vec<_>>();
    reply.push_text(" in Alfama.");
    recorder.append(vec![reply.take().0]).await.unwrap();

    assert_eq!(arrived.iter().map(Message::text).collect::<Vec<_>>(), ["Try a tasca"]);
    assert_eq!(archive.open_turns().list(id).unwrap(), []);
    assert_eq!(texts(&archive, id), ["Where to eat?", "Try a tasca in Alfama."]);
}

#[tokio::test]
async fn work_whose_future_is_dropped_is_done_in_its_turn() {
    let (archive, id, recorder) = begun();

    let first = recorder.append(vec![Message::user("one")]);
    drop(recorder.with(|recorder| recorder.append(vec![Message::user("two")])));
    let third = recorder.append(vec![Message::user("three")]);
    recorder.close().await.unwrap();

    assert_eq!(texts(&archive, id), ["one", "two", "three"]);
    assert_eq!([first.await.unwrap().is_some(), third.await.unwrap().is_some()], [true; 2]);
}

#[test]
fn a_close_that_is_given_up_waits_for_nothing_and_saves_all_the_same() {
    let (store, archive, id, recorder) = in_trouble();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let held = shut(&store);

    drop(recorder.append(vec![Message::user("one")]));
    let given_up = runtime
        .block_on(async { tokio::time::timeout(Duration::from_millis(10), recorder.close()).await.is_err() });
    let before = texts(&archive, id);
    drop(held);
    wait_for(&archive, id, 1);

    assert!(given_up && before.is_empty());
}

#[test]
fn a_close_that_is_never_awaited_saves_all_the_same() {
    let (archive, id, recorder) = begun();

    drop(recorder.append(vec![Message::user("one")]));
    drop(recorder.close());
    wait_for(&archive, id, 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_drop_on_the_only_thread_of_a_runtime_saves_before_it_returns() {
    let (archive, id, recorder) = begun();
    let append = recorder.append(vec![Message::user("one")]);
    recorder.open_reply().push_text("Try a ");

    drop(recorder);

    let arrived = archive.open_turns().list(id).unwrap();
    let arrived: Vec<_> = arrived.iter().flat_map(|turn| turn.messages()).map(|part| part.text()).collect();
    assert_eq!((texts(&archive, id), arrived), (vec!["one".to_owned()], vec!["Try a ".to_owned()]));
    assert!(append.await.unwrap().is_some());
}

#[tokio::test]
async fn a_store_that_is_closed_is_no_longer_used() {
    let (store, archive, _, recorder) = in_trouble();
    drop(archive);

    recorder.close().await.unwrap();

    assert_eq!(Arc::strong_count(&store), 1);
}

#[tokio::test]
async fn what_a_failing_store_refuses_waits_and_is_given_back_by_a_close() {
    let (store, archive, id, recorder) = in_trouble();
    store.fails.store(true, Ordering::SeqCst);

    let receipt = recorder.append(vec![Message::user("one")]).await.unwrap();
    let state = recorder.state();
    let unsaved = recorder.close().await.unwrap_err();

    assert_eq!((receipt, state.waiting()), (None, 1));
    assert_eq!(unsaved.messages.iter().map(Message::text).collect::<Vec<_>>(), ["one"]);
    assert!(unsaved.reason.contains("the disk is full"), "{}", unsaved.reason);
    assert_eq!(texts(&archive, id), Vec::<String>::new());
}

#[tokio::test]
async fn a_drop_with_a_failing_store_ends() {
    let (store, archive, id, recorder) = in_trouble();
    store.fails.store(true, Ordering::SeqCst);

    drop(recorder.append(vec![Message::user("one")]));
    drop(recorder);

    assert_eq!(texts(&archive, id), Vec::<String>::new());
}

#[tokio::test]
async fn what_waited_is_saved_when_the_store_works_again() {
    let (store, archive, id, recorder) = in_trouble();
    let mut watch = recorder.watch();
    store.fails.store(true, Ordering::SeqCst);

    recorder.append(vec![Message::user("one")]).await.unwrap();
    store.fails.store(false, Ordering::SeqCst);
    while watch.state() != SavingState::Saved {
        watch.changed().await.unwrap();
    }

    assert_eq!(texts(&archive, id), ["one"]);
}
