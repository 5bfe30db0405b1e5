//! The log of changes, and the lock of those who write.

use std::fs::{self, File};
use std::time::Duration;

use rejoin::store::{JsonlOptions, JsonlStore, Read, What};
use rejoin::{Archive, ConversationId, ErrorKind, Message};
use rustix::fs::{FlockOperation, flock};

use crate::jsonl::Place;

fn stamps(place: &Place, after: u64) -> Vec<u64> {
    let changes = place.store().changes(after, Duration::ZERO).unwrap();
    changes.into_iter().map(|change| change.stamp).collect()
}

#[test]
fn a_follower_can_go_on_anywhere_in_a_long_log() {
    let place = Place::new();
    let id = place.talk(&[]);
    let archive = place.archive();
    for number in 0..200 {
        archive.update(id, |conversation| conversation.title = Some(number.to_string())).unwrap();
    }

    let all: Vec<u64> = (1..=201).collect();

    assert_eq!(stamps(&place, 0), all);
    for after in [1, 7, 60, 99, 100, 150, 200, 201, 500] {
        let rest: Vec<u64> = all.iter().copied().filter(|stamp| *stamp > after).collect();
        assert_eq!(stamps(&place, after), rest, "after {after}");
    }
}

#[test]
fn what_a_power_cut_took_from_the_log_is_told_again() {
    let place = Place::new();
    let (one, other) = (place.talk(&[&["one"]]), place.talk(&[&["two"], &["three"]]));
    let log = place.root.join(".store/changes.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let kept: usize = whole.lines().take(2).map(|line| line.len() + 1).sum();
    // The end of the log was never written, and what was is cut in the middle of a line.
    fs::write(&log, &whole[..kept + 9]).unwrap();
    fs::write(place.root.join(".store/boot"), "another start of the machine").unwrap();

    place.archive().resume(one).unwrap().append(Message::user("after")).unwrap();

    let told: Vec<(u64, ConversationId, What)> = place
        .store()
        .changes(2, Duration::ZERO)
        .unwrap()
        .into_iter()
        .map(|change| (change.stamp, change.conversation, change.what))
        .collect();
    assert_eq!(told, [(5, other, What::Stored { messages: 2 }), (6, one, What::Stored { messages: 2 })]);
}

#[test]
fn whoever_writes_waits_for_the_lock_and_whoever_reads_does_not() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    place.titles();
    let held = File::open(place.root.join(".store/changes.jsonl")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let mut options = JsonlOptions::default();
    options.wait = Duration::from_millis(20);
    let store = std::sync::Arc::new(JsonlStore::open_with(&place.root, options).unwrap());
    let archive = Archive::with_store(store);

    let refused = archive.resume(id).unwrap().append(Message::user("two")).unwrap_err();
    let read =
        (archive.path(id, None).unwrap().len(), archive.list(&Default::default()).unwrap().items.len());
    drop(held);
    archive.resume(id).unwrap().append(Message::user("two")).unwrap();

    assert_eq!((refused.kind(), read, place.texts(id).len()), (ErrorKind::Locked, (1, 1), 2));
}

#[test]
fn a_store_that_was_moved_away_takes_nothing_more() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let archive = place.archive();
    archive.resume(id).unwrap().append(Message::user("two")).unwrap();
    fs::rename(&place.root, place.root.with_extension("away")).unwrap();

    let error = archive.update(id, |conversation| conversation.title = Some("x".to_owned())).unwrap_err();

    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NotFound), "{error:?}");
    assert!(!place.root.exists());
}

#[test]
fn a_log_that_was_lost_begins_after_all_that_the_files_tell() {
    let place = Place::new();
    let (one, other) = (place.talk(&[&["one"]]), place.talk(&[&["two"], &["three"]]));
    place.titles();
    fs::remove_file(place.root.join(".store/changes.jsonl")).unwrap();

    place.archive().resume(one).unwrap().append(Message::user("after")).unwrap();

    let told = place.store().changes(0, Duration::ZERO).unwrap();
    let told: Vec<_> = told.into_iter().map(|change| (change.stamp, change.conversation)).collect();
    assert_eq!(told, [(2, one), (5, other), (6, one)]);
    let first = place.archive().list(&Default::default()).unwrap().items[0].id;
    assert_eq!(first, one);
}

#[test]
fn a_copy_of_a_store_that_was_made_while_it_was_written_to_goes_on_where_its_files_are() {
    let place = Place::new();
    let one = place.talk(&[&["one"]]);
    let early = fs::read(place.root.join(".store/changes.jsonl")).unwrap();
    place.archive().resume(one).unwrap().append(Message::user("two")).unwrap();
    // The log was copied first, the files later.
    let copy = Place { root: place.root.with_file_name("copy"), _directory: tempfile::tempdir().unwrap() };
    for path in crate::jsonl::files(&place.root) {
        let to = copy.root.join(path.strip_prefix(&place.root).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, &to).unwrap();
    }
    fs::write(copy.root.join(".store/changes.jsonl"), early).unwrap();

    copy.archive().resume(one).unwrap().append(Message::user("three")).unwrap();

    assert_eq!(stamps(&copy, 0), [1, 2, 3, 4]);
    assert_eq!(copy.texts(one), ["one", "two", "three"]);
}
