//! Removing: nothing of what was removed is left in any file.

use std::fs;
use std::time::Duration;

use rejoin::Message;
use rejoin::store::{Children, Read, Selection, Store, Target, Task};

use crate::jsonl::{Place, files};

/// How many files below the store hold a text.
fn holding(place: &Place, text: &str) -> usize {
    let holds = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    files(&place.root).iter().filter(|path| holds(path)).count()
}

#[test]
fn a_removed_conversation_is_overwritten_cut_and_gone() {
    let place = Place::new();
    let id = place.talk(&[&["a secret"]]);
    place.titles();
    // Another name for the same bytes shows what became of them.
    let witness = place.root.join("witness");
    fs::hard_link(place.file(id), &witness).unwrap();

    place.archive().delete_conversations(&[id], "by request");
    place.store().maintain(Task::Index, Duration::MAX).unwrap();

    assert_eq!((fs::metadata(&witness).unwrap().len(), holding(&place, "a secret")), (0, 0));
    assert!(!place.file(id).exists());
}

#[test]
fn a_removed_message_is_in_no_file_any_more() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["a secret"]]);
    let last = place.archive().resume(id).unwrap().path().unwrap().pop().unwrap().id;
    let inode_before = fs::read(place.file(id)).unwrap();

    let target = Target::Messages { conversation: id, ids: &[last], children: Children::Refuse };
    place.store().remove(&[target], "by request", rejoin::Time::now()).unwrap();
    place.store().maintain(Task::Index, Duration::MAX).unwrap();

    assert_ne!(fs::read(place.file(id)).unwrap(), inode_before);
    assert_eq!((holding(&place, "a secret"), place.texts(id)), (0, vec!["one".to_owned(), "two".to_owned()]));
    assert!(place.archive().verify(id).unwrap().is_sound());
    place.archive().resume(id).unwrap().append(Message::user("three")).unwrap();
    assert_eq!((place.texts(id).len(), place.faults()), (3, vec![]));
}

#[test]
fn whoever_reads_while_a_conversation_is_removed_reads_to_the_end() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let (store, other) = (place.store(), place.store());
    let mut read = 0;

    store
        .read(id, Selection::Path(None), &mut |seen| {
            if seen.seq == 1 {
                other.remove(&[Target::Conversation(id)], "by request", rejoin::Time::now())?;
            }
            read += 1;
            Ok(())
        })
        .unwrap();
    let waiting = holding(&place, "\"two\"");
    store.maintain(Task::Repack, Duration::MAX).unwrap();

    assert_eq!((read, waiting, holding(&place, "\"two\""), place.titles().len()), (2, 1, 0, 0));
}
