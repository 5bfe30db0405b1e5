//! The word index can be deleted, damaged or behind, and several may write and search at once.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use rejoin::store::{Read, SearchOrder, SearchQuery, Store, Task, WordQuery};
use rejoin::{Conversation, Message, PurgeReason};

use crate::jsonl::{Place, files};
use crate::residue::{SENTINELS, holding};

/// How many messages have a word, for a handle that was opened to ask.
fn found(place: &Place, word: &str) -> usize {
    let words = WordQuery::parse(word);
    let query = SearchQuery {
        words: &words,
        conversation: None,
        project: None,
        role: None,
        since: None,
        order: SearchOrder::Newest,
        after: None,
        limit: 10_000,
    };
    place.store().search(&query).unwrap().items.len()
}

fn index(place: &Place) {
    while place.store().maintain(Task::Index, Duration::MAX).unwrap().left > 0 {}
}

fn segments(place: &Place) -> Vec<PathBuf> {
    files(&place.root.join(".store/words"))
}

#[test]
fn a_missing_or_damaged_word_index_changes_no_answer() {
    let place = Place::new();
    place.talk(&[&["a green bicycle", "a green apple"], &["greenish"]]);
    place.talk(&[&["a red bicycle"]]);
    index(&place);
    let answers = || ["green", "green ", "bicycle ", "red "].map(|word| found(&place, word));
    let expected = answers();
    let path = segments(&place).pop().unwrap();
    let sound = fs::read(&path).unwrap();

    let damaged = (0..sound.len()).step_by(7).map(|at| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let flipped = answers();
        fs::write(&path, &sound[..at]).unwrap();
        (at, flipped, answers())
    });
    let wrong: Vec<_> =
        damaged.filter(|(_, flipped, cut)| *flipped != expected || *cut != expected).collect();
    fs::remove_dir_all(place.root.join(".store/words")).unwrap();

    assert_eq!(expected, [3, 2, 2, 1]);
    assert_eq!((wrong, answers()), (Vec::new(), expected));
}

#[test]
fn closing_a_store_merges_what_it_indexes_and_leaves_few_segments() {
    let place = Place::new();
    let id = place.talk(&[&["word"]]);

    for number in 0..40 {
        place.archive().resume(id).unwrap().append(Message::user(format!("word number{number}"))).unwrap();
    }

    let count = segments(&place).len();
    assert_eq!((found(&place, "word "), found(&place, "number39 "), count <= 17), (41, 1, true), "{count}");
}

#[test]
fn an_edit_between_two_appends_of_one_handle_is_found() {
    let place = Place::new();
    let id = place.talk(&[&["a green bicycle"]]);
    index(&place);
    let path = place.file(id);

    let archive = place.archive();
    let mut talk = archive.resume(id).unwrap();
    talk.append(Message::user("one")).unwrap();
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("bicycle", "unicorn")).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(SystemTime::now() + Duration::from_secs(1)))
        .unwrap();
    talk.append(Message::user("two")).unwrap();
    drop((talk, archive));

    assert_eq!(["bicycle ", "unicorn ", "one ", "two "].map(|word| found(&place, word)), [0, 1, 1, 1]);
}

#[test]
fn closing_a_store_indexes_what_was_appended_to_a_long_conversation() {
    let place = Place::new();
    let id = place.talk(&[&[&"a long story ".repeat(400_000)], &["and more"]]);
    index(&place);

    place.archive().resume(id).unwrap().append(Message::user("the end")).unwrap();

    let progress = place.store().maintain(Task::Index, Duration::MAX).unwrap();
    assert_eq!((progress.done, progress.left, found(&place, "end ")), (0, 0, 1));
}

#[test]
fn a_deleted_conversation_leaves_no_word_in_the_index() {
    let place = Place::new();
    let gone = place.talk(&[&["said zanzibarquokka once"]]);
    place.talk(&[&["something else"]]);
    index(&place);
    assert!(!holding(&place.root.join(".store/words"), &SENTINELS).is_empty());

    place.archive().removal().delete(&[gone], "by request");

    assert_eq!(holding(&place.root, &SENTINELS), Vec::<PathBuf>::new());
    assert_eq!(found(&place, "else "), 1);
}

#[test]
fn searches_find_all_that_was_appended_while_others_write_and_index() {
    const TURNS: usize = 25;
    let place = Place::new();
    place.store();
    let is_over = AtomicBool::new(false);

    let finished = thread::scope(|scope| {
        let writers = [0, 1].map(|_| {
            scope.spawn(|| {
                let id = place.archive().start(Conversation::titled("Lisbon")).unwrap().id();
                for _ in 0..TURNS {
                    let before = found(&place, "word ");
                    let archive = place.archive();
                    archive.resume(id).unwrap().append(Message::user("a word")).unwrap();
                    assert!(found(&place, "word ") > before);
                }
            })
        });
        let indexer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                index(&place);
            }
        });
        let finished = writers.map(|writer| writer.join().is_ok());
        is_over.store(true, Ordering::Relaxed);
        indexer.join().unwrap();
        finished
    });

    assert_eq!((finished, found(&place, "word ")), ([true; 2], 2 * TURNS));
}

/// Puts something among the segments that is none.
type Stray = (&'static str, fn(&Path));

#[test]
fn what_is_no_segment_neither_keeps_words_nor_stops_those_who_write() {
    let strays: [Stray; 5] = [
        ("dangling link", |path| symlink("/nonexistent", path).unwrap()),
        ("link", |path| symlink(path.parent().unwrap(), path).unwrap()),
        ("folder", |path| fs::create_dir(path).unwrap()),
        ("pipe", |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("socket", |path| drop(UnixListener::bind(path).unwrap())),
    ];

    let outcomes = strays.map(|(name, put)| {
        let place = Place::new();
        let (gone, other) =
            (place.talk(&[&["said zanzibarquokka once"]]), place.talk(&[&["something else"]]));
        index(&place);
        let path = place.root.join(".store/words/00000000000000aa");
        put(&path);
        let report = place.archive().removal().purge(&[gone], PurgeReason::UserRequested, &mut |_| ());
        let is_left = path.symlink_metadata().is_ok();
        place.archive().resume(other).unwrap().append(Message::user("after")).unwrap();
        let left = holding(&place.root, &SENTINELS).len();
        (name, report.failures.len(), report.is_erased, left, is_left, place.faults())
    });

    let gone = |name| (name, 0, true, 0, false, vec![]);
    let told = "`.store/words/00000000000000aa` is a folder and is passed over".to_owned();
    let stays = ("folder", 0, true, 0, true, vec![told]);
    assert_eq!(outcomes, [gone("dangling link"), gone("link"), stays, gone("pipe"), gone("socket")]);
}

#[test]
fn a_removal_that_is_not_finished_is_named() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let name = format!(".store/temporary/{id}.jsonl.gone-1-0");
    place.store().maintain(Task::Checkpoint, Duration::MAX).unwrap();
    fs::write(place.root.join(&name), "a secret").unwrap();

    let unfinished = place.archive().maintenance().check().unwrap().unfinished;

    let told = place.without_root(unfinished.into_iter().map(|left| left.what).collect());
    assert_eq!(told, [format!("`{name}` is left of a removal that is not finished")]);
}
