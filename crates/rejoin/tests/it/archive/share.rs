//! Several handles on one file.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use rejoin::store::{Change, SqliteStore, Task};
use rejoin::{Archive, Conversation, ErrorKind, Event, EventKind, List, Message, Search, StoreUrl};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{archive_at, said, talk};
use crate::held::Held;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn the_first_opening_may_happen_many_times_at_once() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sub/store.db");
    let ready = Barrier::new(8);

    std::thread::scope(|scope| {
        for number in 0..8 {
            let (path, ready) = (&path, &ready);
            scope.spawn(move || {
                ready.wait();
                archive_at(path).start(Conversation::titled(number.to_string())).unwrap();
            });
        }
    });

    assert_eq!(archive_at(&path).reader().count(&List::default()).unwrap(), 8);
}

#[test]
fn one_handle_sees_what_another_wrote() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let (one, two) = (archive_at(&path), archive_at(&path));

    let mut handle = one.start(Conversation::titled("Lisbon")).unwrap();
    handle.append_turn(talk(&["question", "answer"])).unwrap();

    let search = Search { text: "answer".to_owned(), ..Search::default() };
    assert_eq!(said(&two.path(handle.id(), None).unwrap()), "question answer");
    assert_eq!(two.search(&search).unwrap().items.len(), 1);
    assert_eq!(two.names().resolve("lisbon").unwrap().conversation(), handle.id());
}

#[test]
fn readers_go_on_while_another_process_writes() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let archive = archive_at(&path);
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    handle.append(Message::user("before")).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM message").unwrap();

    let read = said(&archive.path(handle.id(), None).unwrap());
    let listed = archive.list(&List::default()).unwrap().items[0].messages;

    assert_eq!((read.as_str(), listed), ("before", 1));
}

#[test]
fn a_writer_that_waits_too_long_says_that_the_store_is_locked() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let archive =
        Archive::with_store(Arc::new(SqliteStore::open_waiting(&path, Duration::from_millis(20)).unwrap()));
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();

    let refused = handle.append(Message::user("now")).unwrap_err();
    writer.execute_batch("COMMIT").unwrap();

    assert_eq!(refused.kind(), ErrorKind::Locked);
    handle.append(Message::user("later")).unwrap();
}

#[test]
fn a_second_writer_waits_for_the_first() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let archive = archive_at(&path);
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Barrier::new(2);

    let appended = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            begun.wait();
            handle.append(Message::user("patient"))
        });
        begun.wait();
        writer.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap()
    });

    assert_eq!(appended.unwrap().seq, 1);
}

#[test]
fn many_writers_lose_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let start = archive_at(&path).start(Conversation::titled("Lisbon")).unwrap();
    let (id, writers, each) = (start.id(), 4, 15);

    let heads: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let path = &path;
                scope.spawn(move || {
                    let archive = archive_at(path);
                    let mut handle = archive.resume(id).unwrap();
                    for number in 0..each {
                        handle.append(Message::user(format!("{writer}-{number}"))).unwrap();
                        // The index is filled while the others append.
                        archive.maintenance().run(Task::Index, Duration::ZERO).unwrap();
                    }
                    handle.head().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    let archive = archive_at(&path);
    for (writer, head) in heads.into_iter().enumerate() {
        let own: Vec<_> = (0..each).map(|number| format!("{writer}-{number}")).collect();
        let path = said(&archive.path(id, Some(head)).unwrap());
        assert!(path.ends_with(&own.join(" ")), "{path}");
    }
    assert_eq!(archive.conversation(id).unwrap().messages, writers * each);
    assert!(archive.maintenance().verify(id).unwrap().is_sound());
    let search = Search { text: "0".to_owned(), limit: 100, ..Search::default() };
    let zeros = archive.search(&search).unwrap().items.len();
    assert_eq!(zeros as u64, writers + each - 1, "each writer's first, and all of the first writer's");
    assert_eq!(archive.maintenance().check().unwrap().faults, []);
}

#[test]
fn of_two_linear_appends_one_wins() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let (one, two) = (archive_at(&path), archive_at(&path));
    let mut first = one.start(Conversation::titled("Lisbon")).unwrap();
    first.append(Message::user("root")).unwrap();
    let mut second = two.resume(first.id()).unwrap();

    let answers = std::thread::scope(|scope| {
        let threads = [&mut first, &mut second].map(|handle| {
            scope.spawn(|| handle.append_linear(talk(&["next"])).map_err(|error| error.kind()))
        });
        threads.map(|thread| thread.join().unwrap())
    });

    let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    let lost: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!((won.len(), lost), (1, vec![&ErrorKind::Conflict]));
    let stored = one.conversation(won[0].conversation).unwrap();
    assert_eq!((stored.head.unwrap().id, stored.messages), (won[0].head, 2));
}

#[test]
fn a_change_of_an_old_version_is_a_conflict_and_an_update_tries_again() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let one = Held::over(Arc::new(SqliteStore::open(&path).unwrap()));
    let two = archive_at(&path);
    let id = one.start(Conversation::titled("Lisbon")).unwrap().id();
    let version = one.conversation(id).unwrap().version;
    two.rename(id, "Porto").unwrap();

    let stale = one.store().amend(id, Some(version), &Change::Head(None), one.now()).unwrap_err();
    let updated = std::thread::scope(|scope| {
        let renames = scope
            .spawn(|| (0..5).for_each(|number| drop(two.rename(id, &format!("Porto {number}")).unwrap())));
        for _ in 0..5 {
            one.update(id, |header| header.settings.tools.push("read".to_owned())).unwrap();
        }
        renames.join().unwrap();
        one.conversation(id).unwrap()
    });

    assert_eq!(stale.kind(), ErrorKind::Conflict);
    assert_eq!(
        (updated.conversation.settings.tools.len(), updated.conversation.title.as_deref()),
        (5, Some("Porto 4"))
    );
}

#[test]
fn events_of_another_handle_arrive() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let (one, two) = (archive_at(&path), archive_at(&path));
    let before = one.start(Conversation::titled("before")).unwrap();
    let mut events = two.subscribe().unwrap();

    let mut handle = one.start(Conversation::titled("Lisbon")).unwrap();
    handle.append(Message::user("hi")).unwrap();
    one.rename(before.id(), "renamed").unwrap();
    one.removal().delete(&[before.id()], "too old");

    let mut told: Vec<Event> = Vec::new();
    while told.len() < 4 {
        let more = events.next(SOON).unwrap();
        assert!(!more.is_empty(), "an event is missing after {told:?}");
        told.extend(more);
    }
    let told: Vec<_> = told.into_iter().map(|event| (event.conversation.unwrap(), event.kind)).collect();
    let expected = [
        (handle.id(), EventKind::Stored { messages: 0 }),
        (handle.id(), EventKind::Stored { messages: 1 }),
        (before.id(), EventKind::Changed),
        (before.id(), EventKind::Deleted { reason: "too old".to_owned() }),
    ];
    assert_eq!(told, expected);
    assert_eq!(events.next(Duration::ZERO).unwrap(), []);
}

#[test]
fn a_copy_made_while_another_writes_is_whole() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let url = StoreUrl::Sqlite(path.clone());
    let archive = archive_at(&path);
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    handle.append(Message::user("first")).unwrap();
    let copy = directory.path().join("copy.db");

    std::thread::scope(|scope| {
        let writing =
            scope.spawn(|| (0..20).for_each(|_| drop(handle.append(Message::user("more")).unwrap())));
        url.backup(&copy, &mut |_, _, _| ()).unwrap();
        writing.join().unwrap();
    });

    let copied = archive_at(&copy);
    let id = copied.names().resolve("lisbon").unwrap().conversation();
    assert!(copied.maintenance().verify(id).unwrap().is_sound());
    assert_eq!(url.backup(&copy, &mut |_, _, _| ()).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_restored_copy_takes_the_place_of_the_store_which_is_kept() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("store.db");
    let url = StoreUrl::parse(&format!("sqlite:{}", path.display())).unwrap();
    let copy = directory.path().join("copy.db");
    let archive = archive_at(&path);
    archive.start(Conversation::titled("first")).unwrap();
    url.backup(&copy, &mut |_, _, _| ()).unwrap();
    archive.start(Conversation::titled("second")).unwrap();
    drop(archive);

    let kept = url.restore(&copy, Duration::from_secs(1), &mut |_, _, _| ()).unwrap().kept.unwrap();

    let total = |path| archive_at(path).reader().count(&List::default()).unwrap();
    assert_eq!([total(&path), total(&kept)], [1, 2]);
}

#[test]
fn more_messages_of_one_time_than_its_numbers_hold_are_found_in_order() {
    let directory = TempDir::new().unwrap();
    let archive = archive_at(&directory.path().join("store.db"));
    let mut handle = archive.start(Conversation::default()).unwrap();
    let time = archive.now();
    let messages = (0..5_000).map(|_| Message::user("word").at(time)).collect();
    handle.append_turn(messages).unwrap();
    handle.append(Message::user("word").at(time.plus_micros(1))).unwrap();
    assert_eq!(archive.maintenance().run(Task::Index, Duration::MAX).unwrap(), 0);
    let expected: Vec<_> =
        archive.path(handle.id(), None).unwrap().iter().rev().map(|stored| stored.id).collect();

    let mut found = Vec::new();
    let mut search = Search { text: "word".to_owned(), limit: 700, ..Search::default() };
    loop {
        let page = archive.search(&search).unwrap();
        found.extend(page.items.iter().map(|hit| hit.message));
        search.cursor = page.next_cursor;
        if search.cursor.is_none() || found.len() > 6_000 {
            break;
        }
    }

    assert!(found == expected, "{} of {} were found", found.len(), expected.len());
    assert_eq!(archive.maintenance().check().unwrap().faults, []);
}
