//! The recorder for async programs: ordered, and nothing is lost by dropping a future.

use std::time::{Duration, Instant};

use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId, Message, SavingState};

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
