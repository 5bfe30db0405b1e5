//! Deleting messages and conversations.

use rejoin::store::{Children, Order};
use rejoin::{Archive, Conversation, DeletedMessages, ErrorKind, Handle, Message, MessageId, Result, Search};

use super::{archive, said, talk};

/// a, b, c in a line, and d beside c.
fn tree(archive: &Archive) -> (Handle, Vec<MessageId>) {
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let mut messages = handle.append_turn(talk(&["a", "b", "c"])).unwrap().messages;
    let mut fork = handle.fork(messages[1], "beside").unwrap();
    messages.push(fork.append(Message::user("d")).unwrap().head);
    (handle, messages)
}

fn left(archive: &Archive, handle: &Handle) -> String {
    said(&archive.reader().all_messages(handle.id(), Order::OldestFirst, 0, 99).unwrap())
}

/// Deletes by position; answers how many went, or why none did.
fn delete(places: &[usize], children: Children) -> (Result<u64, ErrorKind>, String) {
    let archive = archive();
    let (handle, messages) = tree(&archive);
    let ids: Vec<MessageId> = places.iter().map(|place| messages[*place]).collect();
    let deleted = archive.removal().delete_messages(handle.id(), &ids, children, "by request");
    assert!(archive.maintenance().verify(handle.id()).unwrap().is_sound());
    (deleted.map(|deleted| deleted.messages).map_err(|error| error.kind()), left(&archive, &handle))
}

#[test]
fn messages_are_deleted_whole_or_not_at_all() {
    let refused = Err(ErrorKind::Conflict);
    let cases = [
        (&[2][..], Children::Refuse, Ok(1), "a b d"),
        (&[1], Children::Refuse, refused, "a b c d"),
        (&[3, 2, 0], Children::Refuse, refused, "a b c d"),
        (&[1], Children::Remove, Ok(3), "a"),
        (&[3, 1, 2], Children::Refuse, Ok(3), "a"),
        (&[0], Children::Remove, Ok(4), ""),
        (&[], Children::Refuse, Ok(0), "a b c d"),
    ];

    let deleted = cases.map(|(places, children, _, _)| delete(places, children));

    assert_eq!(deleted, cases.map(|(_, _, count, left)| (count, left.to_owned())));
}

#[test]
fn a_refusal_names_the_message_that_has_children() {
    let archive = archive();
    let (handle, messages) = tree(&archive);

    let error =
        archive.removal().delete_messages(handle.id(), &[messages[1]], Children::Refuse, "x").unwrap_err();

    assert_eq!(error.to_string(), format!("cannot delete message `{}`: it has children", messages[1]));
}

#[test]
fn a_message_that_is_not_there_counts_as_deleted() {
    let archive = archive();
    let (handle, messages) = tree(&archive);
    let delete =
        || archive.removal().delete_messages(handle.id(), &[messages[3]], Children::Refuse, "x").unwrap();

    let (first, second) = (delete(), delete());

    assert_eq!((first.messages, second), (1, DeletedMessages { messages: 0, bytes: 0 }));
}

#[test]
fn deleting_one_fork_leaves_the_other() {
    let archive = archive();
    let (handle, messages) = tree(&archive);

    archive.removal().delete_messages(handle.id(), &[messages[3]], Children::Refuse, "x").unwrap();

    assert_eq!(said(&handle.path().unwrap()), "a b c");
    let branch = &handle.conversation().unwrap().branches[0];
    assert_eq!((branch.title.as_str(), branch.head), ("beside", messages[1]));
}

#[test]
fn one_conversation_that_cannot_be_deleted_does_not_stop_the_others() {
    let archive = archive();
    let (one, _) = tree(&archive);
    let (two, _) = tree(&archive);
    let (kept, _) = tree(&archive);
    archive.removal().delete(&[one.id()], "first");

    let deleted = archive.removal().delete(&[one.id(), two.id()], "second");

    assert_eq!(deleted.gone, [(two.id(), deleted.bytes())]);
    assert_eq!(deleted.failed, [(one.id(), format!("no conversation `{}`", one.id()))]);
    assert_eq!(left(&archive, &kept), "a b c d");
}

#[test]
fn what_is_deleted_is_not_found_again() {
    let archive = archive();
    let (handle, messages) = tree(&archive);
    let search = Search { text: "d".to_owned(), ..Search::default() };
    assert_eq!(archive.search(&search).unwrap().items.len(), 1);

    archive.removal().delete_messages(handle.id(), &[messages[3]], Children::Refuse, "x").unwrap();

    assert_eq!(archive.search(&search).unwrap().items, []);
    assert_eq!(archive.names().resolve(messages[3].as_str()).unwrap_err().kind(), ErrorKind::NotFound);
}
