//! Files whose last write did not end.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rejoin::Message;
use rejoin::store::{Children, JsonlStore, Store, Task};

use crate::jsonl::{Place, lines};

/// A file as a cut-off write of its last turn could leave it; what must be read of it follows.
fn torn_copies(bytes: &[u8], kept: usize) -> Vec<(Vec<u8>, bool)> {
    let cut = (kept..=bytes.len()).map(|length| (bytes[..length].to_vec(), length + 1 >= bytes.len()));
    // Blocks reach a disk in any order: what was not written reads as zeros.
    let zeroed = (kept..bytes.len()).step_by(7).map(|from| {
        let mut torn = bytes.to_vec();
        let until = bytes.len().min(from + 64);
        torn[from..until].fill(0);
        (torn, false)
    });
    cut.chain(zeroed).collect()
}

#[test]
fn a_turn_whose_write_did_not_end_is_not_there_and_the_next_one_is() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two", "three"]]);
    let whole = fs::read(place.file(id)).unwrap();
    let log = place.log_before_the_last_acknowledgement();
    let kept = lines(&place.file(id))[..2].iter().map(|line| line.len() + 1).sum();

    for (number, (torn, is_whole)) in torn_copies(&whole, kept).into_iter().enumerate() {
        fs::write(place.file(id), &torn).unwrap();
        fs::write(place.log(), &log).unwrap();
        let expected: &[&str] = if is_whole { &["one", "two", "three"] } else { &["one"] };
        assert_eq!(place.texts(id), expected, "{number}");
        // A sync takes its time.
        if !number.is_multiple_of(16) {
            continue;
        }

        place.archive().resume(id).unwrap().append(Message::user("next")).unwrap();
        assert_eq!(place.texts(id), [expected, &["next"]].concat());
        assert_eq!(place.faults(), [""; 0]);
        assert!(place.archive().maintenance().verify(id).unwrap().is_sound());
    }
}

#[test]
fn what_was_cut_off_is_told_before_and_noted_in_the_file_after() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    fs::write(place.file(id), fs::read_to_string(place.file(id)).unwrap() + "{\"torn").unwrap();

    let checked = place.archive().maintenance().check().unwrap();
    place.archive().resume(id).unwrap().append(Message::user("two")).unwrap();

    let file = format!("`home_ada_trip/{id}.jsonl`");
    let told = place.without_root(checked.unfinished.into_iter().map(|left| left.what).collect());
    assert_eq!(told, [format!("{file} ends with 6 bytes of a turn that was never acknowledged")]);
    assert_eq!(checked.faults, []);
    let noted = lines(&place.file(id));
    assert!(
        noted[2].ends_with(r#""message":{"type":"repaired","bytes":6,"kept":"{\"torn"}}"#),
        "{}",
        noted[2]
    );
    assert_eq!((place.texts(id), place.faults()), (vec!["one".to_owned(), "two".to_owned()], vec![]));
    let told =
        place.archive().maintenance().check().unwrap().unfinished.into_iter().map(|left| left.what).collect();
    let keeps = format!("line 3 of {file} keeps 6 bytes of a turn that was never acknowledged");
    assert_eq!(place.without_root(told), [keeps]);
}

#[test]
fn an_end_of_zero_bytes_that_was_cut_off_is_not_kept() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    fs::write(place.file(id), [fs::read(place.file(id)).unwrap(), vec![0; 4096]].concat()).unwrap();

    place.archive().resume(id).unwrap().append(Message::user("two")).unwrap();

    let noted = lines(&place.file(id));
    assert!(noted[2].ends_with(r#""message":{"type":"repaired","bytes":4096}}"#), "{}", noted[2]);
    assert_eq!(place.archive().maintenance().check().unwrap().unfinished, []);
}

#[test]
fn a_turn_that_was_acknowledged_and_is_not_whole_is_damage_and_stays_in_the_file() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two", "three"]]);
    let whole = fs::read(place.file(id)).unwrap();
    let log = fs::read(place.log()).unwrap();
    let kept: usize = lines(&place.file(id))[..2].iter().map(|line| line.len() + 1).sum();

    for (number, (torn, is_whole)) in torn_copies(&whole, kept + 1).into_iter().enumerate().step_by(16) {
        fs::write(place.file(id), &torn).unwrap();
        fs::write(place.log(), &log).unwrap();
        let is_told =
            (!place.faults().is_empty(), !place.archive().maintenance().verify(id).unwrap().is_sound());
        place.reader().resume(id).unwrap().append(Message::user("next")).unwrap();

        assert_eq!(is_told, (!is_whole, !is_whole), "{number}");
        assert!(fs::read(place.file(id)).unwrap().starts_with(&torn), "{number}");
        assert_eq!(place.faults().is_empty(), is_whole, "{number}");
        assert_eq!(place.texts(id).last().unwrap(), "next");
    }
}

#[test]
fn a_line_that_says_that_more_were_written_with_it_than_there_are_is_damage() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let text = fs::read_to_string(place.file(id)).unwrap();
    let at = text.rfind("\"of\":1").unwrap();
    fs::write(place.file(id), format!("{}\"of\":2{}", &text[..at], &text[at + 6..])).unwrap();
    // What only the last line of a turn says stands in it, so it is told without the log too.
    fs::write(place.log(), "").unwrap();

    let missing =
        format!("lines that were written together with line 3 of `home_ada_trip/{id}.jsonl` are missing");
    assert_eq!((place.texts(id), place.faults()), (vec!["one".to_owned(), "two".to_owned()], vec![missing]));
    place.reader().resume(id).unwrap().append(Message::user("three")).unwrap();
    assert_eq!((place.texts(id).len(), place.faults().len()), (3, 1));
}

#[test]
fn a_change_is_marked_in_the_log_once_it_is_safe() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let archive = place.archive();
    archive.update(id, |conversation| conversation.title = Some("Porto".to_owned())).unwrap();
    let head = archive.conversation(id).unwrap().head.unwrap().id;
    archive.removal().delete_messages(id, &[head], Children::Remove, "by request").unwrap();

    let log = fs::read_to_string(place.log()).unwrap();

    assert_eq!((log.lines().count(), log.matches("\"done\":1}\n").count()), (5, 5), "{log}");
}

#[test]
fn a_log_of_an_older_version_is_gone_on_with_and_vouches_for_nothing() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let old = fs::read_to_string(place.log()).unwrap().replace(",\"done\":1", "");
    fs::write(place.log(), &old).unwrap();
    let bytes = fs::read(place.file(id)).unwrap();
    fs::write(place.file(id), &bytes[..bytes.len() - 9]).unwrap();

    let faults = place.faults();
    place.archive().resume(id).unwrap().append(Message::user("three")).unwrap();

    let log = fs::read_to_string(place.log()).unwrap();
    assert_eq!((faults, place.texts(id)), (vec![], vec!["one".to_owned(), "three".to_owned()]));
    assert!(log.starts_with(&old) && log.ends_with("\"done\":1}\n"), "{log}");
    // What cannot be known is kept.
    assert!(lines(&place.file(id))[2].contains(r#""kept":"{\"timestamp"#));
}

#[test]
fn a_turn_that_is_recognised_is_marked_as_well() {
    let place = Place::new();
    let id = place.talk(&[&["Where to eat?"]]);
    let archive = place.archive();
    assert!(archive.record(archive.resume(id).unwrap(), "1@1").save_open(&Message::assistant("In Al"), &[]));
    let turn = archive.open_turns().list(id).unwrap().remove(0);
    place.archive().open_turns().keep(id, &turn).unwrap();
    fs::write(place.log(), place.log_before_the_last_acknowledgement()).unwrap();

    let again = place.archive().open_turns().keep(id, &turn).unwrap();

    let log = fs::read_to_string(place.log()).unwrap();
    assert_eq!((again.replayed, log.ends_with("\"done\":1}\n")), (true, true), "{log}");
}

#[test]
fn a_conversation_whose_first_write_did_not_end_is_not_there_and_can_be_started_again() {
    let place = Place::new();
    let id = place.talk(&[]);
    let whole = fs::read(place.file(id)).unwrap();

    let seen: Vec<usize> = (0..whole.len() - 1)
        .filter(|length| {
            fs::write(place.file(id), &whole[..*length]).unwrap();
            !place.titles().is_empty() || place.archive().resume(id).is_ok()
        })
        .collect();

    assert_eq!(seen, [0; 0]);
}

#[test]
fn a_last_line_without_its_end_counts_and_gets_it_with_the_next_append() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let whole = fs::read_to_string(place.file(id)).unwrap();
    fs::write(place.file(id), whole.trim_end()).unwrap();

    let read = place.texts(id);
    let untouched = fs::read_to_string(place.file(id)).unwrap();
    place.archive().resume(id).unwrap().append(Message::user("two")).unwrap();

    assert_eq!((read, untouched.as_str()), (vec!["one".to_owned()], whole.trim_end()));
    assert!(fs::read_to_string(place.file(id)).unwrap().starts_with(&whole));
    assert_eq!((place.texts(id).len(), lines(&place.file(id)).len()), (2, 3));
}

#[test]
fn reading_changes_no_file_of_a_conversation() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let bytes = fs::read(place.file(id)).unwrap();
    fs::write(place.file(id), &bytes[..bytes.len() - 9]).unwrap();
    let look = || {
        let metadata = place.file(id).metadata().unwrap();
        (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
    };
    let before = look();

    let store = JsonlStore::open(&place.root).unwrap();
    for task in [Task::Index, Task::Checkpoint, Task::Check] {
        store.maintain(task, std::time::Duration::MAX).unwrap();
    }
    place.texts(id);
    place.titles();
    drop(store);

    assert_eq!(look(), before);
}

#[test]
fn a_torn_file_of_an_open_turn_is_passed_over_and_the_next_save_writes_it_whole() {
    let place = Place::new();
    let id = place.talk(&[&["Where to eat?"]]);
    let archive = place.archive();
    let mut recorder = archive.record(archive.resume(id).unwrap(), "1@1");
    assert!(recorder.save_open(&Message::assistant("In Al"), &[]));
    let file = place.root.join(format!(".store/blobs/3-{id}.jsonl"));
    let whole = fs::read(&file).unwrap();

    fs::write(&file, &whole[..whole.len() - 20]).unwrap();
    let while_torn = place.archive().open_turns().list(id).unwrap();
    let is_saved = recorder.save_open(&Message::assistant("In Alfama"), &[]);

    let texts: Vec<String> =
        place.archive().open_turns().list(id).unwrap().iter().map(|turn| turn.partial.text()).collect();
    assert_eq!((while_torn, is_saved, texts), (vec![], true, vec!["In Alfama".to_owned()]));
}
