//! Reading messages, and the tree they make.

use rejoin::store::Order;
use rejoin::{Archive, Branch, Conversation, ErrorKind, EventKind, Handle, Message, MessageId, Result};
use tempfile::TempDir;

use super::{archive, archive_at, ids, said, talk};

fn chain(archive: &Archive) -> (Handle, Vec<MessageId>) {
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let receipt = handle.append_turn(talk(&["a", "b", "c", "d"])).unwrap();
    (handle, receipt.messages)
}

#[test]
fn a_path_ends_at_its_target() {
    let archive = archive();
    let (handle, messages) = chain(&archive);

    let paths =
        [3, 0, 1].map(|place: usize| said(&archive.path(handle.id(), Some(messages[place])).unwrap()));

    assert_eq!(paths, ["a b c d", "a", "a b"]);
    assert_eq!(said(&archive.path(handle.id(), None).unwrap()), "a b c d");
}

#[test]
fn messages_are_listed_from_either_end() {
    let archive = archive();
    let (handle, _) = chain(&archive);
    let slices = [
        (Order::NewestFirst, 0, 9, "d c b a"),
        (Order::OldestFirst, 0, 9, "a b c d"),
        (Order::NewestFirst, 1, 2, "c b"),
        (Order::OldestFirst, 3, 2, "d"),
        (Order::OldestFirst, 4, 2, ""),
        (Order::NewestFirst, 99, 2, ""),
    ];

    let read = slices.map(|(order, offset, limit, _)| {
        said(&archive.reader().all_messages(handle.id(), order, offset, limit).unwrap())
    });

    assert_eq!(read, slices.map(|(_, _, _, expected)| expected));
}

#[test]
fn messages_are_read_by_id() {
    let archive = archive();
    let (handle, messages) = chain(&archive);
    let asked = [messages[2], messages[0], messages[2]];

    let read = archive.messages(handle.id(), &asked).unwrap();

    assert_eq!(ids(&read), asked);
    assert_eq!(archive.messages(handle.id(), &[]).unwrap(), []);
    let missing = archive.messages(handle.id(), &[messages[0], "nobody".parse().unwrap()]);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_does_not_exist_is_not_found() {
    let archive = archive();
    let (handle, messages) = chain(&archive);
    let other = archive.start(Conversation::default()).unwrap();
    archive.removal().delete(&[handle.id()], "tidying");
    let (gone, stays, head) = (handle.id(), other.id(), messages[0]);

    let kinds = [
        archive.resume(gone).map(drop),
        archive.conversation(gone).map(drop),
        archive.path(gone, None).map(drop),
        archive.maintenance().verify(gone).map(drop),
        archive.update(gone, |_| ()).map(drop),
        archive.rewind(gone, head),
        archive.fork(gone, head, "x").map(drop),
        archive.marks().label(gone, head, None),
        archive.removal().delete_messages(gone, &[head], rejoin::store::Children::Refuse, "x").map(drop),
        handle.clone().append(Message::user("late")).map(drop),
        archive.resume_at(stays, head).map(drop),
        archive.path(stays, Some(head)).map(drop),
        archive.rewind(stays, head),
        archive.fork(stays, head, "x").map(drop),
        archive.marks().label(stays, head, Some("x")),
    ]
    .map(|answer: Result<()>| answer.unwrap_err().kind());

    assert_eq!(kinds, [ErrorKind::NotFound; 15]);
}

#[test]
fn a_chain_with_a_hole_is_an_error() {
    for hole in [1, 2, 3] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("store.db");
        let archive = archive_at(&path);
        let (handle, messages) = chain(&archive);
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.execute("DELETE FROM message WHERE key & 0xffffffff = ?1", [hole]).unwrap();

        let read = archive.path(handle.id(), Some(messages[3]));

        assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt, "message {hole} is missing");
    }
}

#[test]
fn a_turn_on_a_branch_is_one_write() {
    let archive = archive();
    let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
    let root = trip.append(Message::user("Where to eat?")).unwrap().head;
    let mut cheap = trip.fork(root, "on a budget").unwrap();
    let mut events = archive.subscribe().unwrap();

    cheap.append(Message::assistant("A tasca.")).unwrap();

    let told = events.next(std::time::Duration::ZERO).unwrap();
    let kinds: Vec<_> = told.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Stored { messages: 2 }]);
}

#[test]
fn a_branch_that_is_taken_up_at_its_head_goes_on() {
    let archive = archive();
    let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
    let root = trip.append(Message::user("Where to eat?")).unwrap().head;
    trip.append(Message::assistant("Anywhere.")).unwrap();
    let branch = archive.fork(trip.id(), root, "on a budget").unwrap();

    let first = archive.resume_at(trip.id(), root).unwrap().append(Message::assistant("A tasca.")).unwrap();
    let second = archive.resume_at(trip.id(), first.head).unwrap().append(Message::user("Where?")).unwrap();

    let branches = archive.conversation(trip.id()).unwrap().branches;
    assert_eq!(branches, [Branch { head: second.head, ..branch }]);
}

#[test]
fn forks_share_what_came_before() {
    let archive = archive();
    let (handle, messages) = chain(&archive);

    let mut cheap = handle.fork(messages[1], "on a budget").unwrap();
    let first = cheap.append(Message::assistant("e")).unwrap();
    let second = cheap.append(Message::user("f")).unwrap();

    assert_eq!([said(&cheap.path().unwrap()), said(&handle.path().unwrap())], ["a b e f", "a b c d"]);
    assert_eq!((first.forked, second.forked), (true, false));
    let stored = handle.conversation().unwrap();
    let branches: Vec<_> =
        stored.branches.iter().map(|branch| (branch.title.as_str(), branch.head)).collect();
    assert_eq!((stored.messages, branches), (6, vec![("on a budget", second.head)]));
    assert!(archive.maintenance().verify(handle.id()).unwrap().is_sound());
}

#[test]
fn rewinding_removes_nothing() {
    let archive = archive();
    let (mut handle, messages) = chain(&archive);

    handle.rewind(messages[1]).unwrap();
    let receipt = handle.append(Message::user("e")).unwrap();

    assert!(receipt.forked);
    assert_eq!(said(&archive.path(handle.id(), None).unwrap()), "a b e");
    assert_eq!(said(&archive.path(handle.id(), Some(messages[3])).unwrap()), "a b c d");
}

#[test]
fn a_label_changes_nothing_else() {
    let archive = archive();
    let (handle, messages) = chain(&archive);
    let mut expected = handle.path().unwrap();
    expected[1].message.label = Some("here".to_owned());

    archive.marks().label(handle.id(), messages[1], Some("here")).unwrap();

    assert_eq!(handle.path().unwrap(), expected);
    archive.marks().label(handle.id(), messages[1], None).unwrap();
    assert_eq!(handle.path().unwrap()[1].message.label, None);
    assert!(archive.maintenance().verify(handle.id()).unwrap().is_sound());
}
