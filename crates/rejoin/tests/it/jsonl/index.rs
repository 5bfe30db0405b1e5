//! The index is never the truth.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rejoin::{Conversation, ConversationId, List, Message};

use crate::jsonl::{Place, replace_line};

fn filled() -> (Place, PathBuf) {
    let place = Place::new();
    for title in ["one", "two", "three"] {
        place.archive().start(Conversation::titled(title)).unwrap();
    }
    assert_eq!(place.titles(), ["three", "two", "one"]);
    let index = place.root.join(".store/index");
    (place, index)
}

#[test]
fn a_missing_or_damaged_index_changes_no_answer() {
    let (place, index) = filled();
    let sound = fs::read(&index).unwrap();

    fs::remove_file(&index).unwrap();
    assert_eq!(place.titles(), ["three", "two", "one"]);
    for at in (0..sound.len()).step_by(11) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs::write(&index, &bytes).unwrap();
        assert_eq!(place.titles(), ["three", "two", "one"], "byte {at}");
        fs::write(&index, &sound[..at]).unwrap();
        assert_eq!(place.titles(), ["three", "two", "one"], "cut at {at}");
    }
}

#[test]
fn a_file_that_was_carried_into_a_folder_is_listed() {
    let (place, _) = filled();
    let (other, _) = filled();
    let id = other.archive().start(Conversation::titled("carried")).unwrap().id();

    fs::copy(
        other.root.join(format!("no-project/{id}.jsonl")),
        place.root.join(format!("no-project/{id}.jsonl")),
    )
    .unwrap();

    assert_eq!(place.titles(), ["carried", "three", "two", "one"]);
}

#[test]
fn a_file_that_was_taken_away_is_not_listed() {
    let (place, _) = filled();
    let id = place.archive().list(&Default::default()).unwrap().items[1].id;

    fs::remove_file(place.root.join(format!("no-project/{id}.jsonl"))).unwrap();

    assert_eq!(place.titles(), ["three", "one"]);
}

#[test]
fn a_file_that_was_edited_in_place_is_shown_as_it_is() {
    let (place, _) = filled();
    let id = place.archive().list(&Default::default()).unwrap().items[1].id;
    let file = place.root.join(format!("no-project/{id}.jsonl"));
    let text = fs::read_to_string(&file).unwrap();

    fs::write(&file, text.replace("\"two\"", "\"2\"")).unwrap();

    assert_eq!(place.titles(), ["three", "2", "one"]);
}

#[test]
fn a_list_sees_what_another_handle_wrote() {
    let (place, _) = filled();
    let (reader, writer) = (place.archive(), place.archive());
    let listed = |archive: &rejoin::Archive| archive.list(&Default::default()).unwrap().items.len();

    let mut counts = vec![listed(&reader)];
    for _ in 0..3 {
        let id = writer.start(Conversation::titled("more")).unwrap().id();
        counts.push(listed(&reader));
        writer.removal().delete(&[id], "by request");
        counts.push(listed(&reader));
    }

    assert_eq!(counts, [3, 4, 3, 4, 3, 4, 3]);
}

/// What lists and lookups answer: pages, a project, a total, what is left out, and an id by its beginning.
fn answers(place: &Place, id: ConversationId) -> impl PartialEq + std::fmt::Debug + use<> {
    let archive = place.archive();
    let first = archive.list(&List { limit: 2, ..List::default() }).unwrap();
    let second = archive.list(&List { cursor: first.next_cursor.clone(), ..List::default() }).unwrap();
    let elsewhere =
        archive.list(&List { project: Some("/elsewhere".to_owned()), ..List::default() }).unwrap();
    let mut left_out = place.without_root(first.left_out);
    left_out.sort();
    let ids = |items: Vec<rejoin::StoredConversation>| {
        items.into_iter().map(|stored| (stored.id, stored.messages)).collect::<Vec<_>>()
    };
    (
        ids(first.items),
        ids(second.items),
        elsewhere.items.len(),
        archive.reader().count(&List::default()).unwrap(),
        left_out,
        archive.names().conversation(&id.to_string()[..13]).ok(),
    )
}

#[test]
fn a_list_from_the_index_says_what_a_list_from_the_files_says() {
    let place = Place::new();
    let [one, damaged, emptied, linked, last] =
        ["one", "two", "three", "four", "five"].map(|text| place.talk(&[&[text], &["and more"]]));
    replace_line(&place.file(damaged), 2, "rubbish");
    fs::write(place.file(emptied), "").unwrap();
    fs::remove_file(place.file(linked)).unwrap();
    symlink("elsewhere", place.file(linked)).unwrap();
    // A folder that changed a moment ago may change again without its time telling so.
    let folder = fs::File::open(place.root.join("home_ada_trip")).unwrap();
    folder.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();

    let from_files = answers(&place, one);
    let from_index = answers(&place, one);
    place.archive().resume(last).unwrap().append(Message::user("later")).unwrap();
    let changed_since = answers(&place, one);
    fs::remove_file(place.root.join(".store/index")).unwrap();
    let read_again = answers(&place, one);

    assert_eq!(from_index, from_files);
    assert_eq!(changed_since, read_again);
}

#[test]
fn an_index_that_lacks_a_row_hides_no_conversation() {
    let place = Place::new();
    for text in ["one", "two", "three"] {
        place.talk(&[&[text]]);
    }
    let folder = fs::File::open(place.root.join("home_ada_trip")).unwrap();
    folder.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let listed = || place.archive().list(&List::default()).unwrap().items.len();
    let index = place.root.join(".store/index");

    let before = listed();
    let lines: Vec<String> = fs::read_to_string(&index).unwrap().lines().map(str::to_owned).collect();
    fs::write(&index, [&lines[..2], &lines[3..]].concat().join("\n") + "\n").unwrap();

    assert_eq!((before, listed()), (3, 3));
}

#[test]
fn a_conversation_that_could_not_be_read_for_a_while_is_found_by_its_name_again() {
    let (place, index) = filled();
    let id = place.archive().names().resolve("two").unwrap().conversation();
    let file = place.root.join(format!("no-project/{id}.jsonl"));
    let text = fs::read_to_string(&file).unwrap();
    let folder = fs::File::open(place.root.join("no-project")).unwrap();

    fs::write(&file, text.replace("\"format\":1", "\"format\":9")).unwrap();
    folder.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let without = place.titles();
    let noted = fs::read(&index).unwrap();
    fs::write(&file, &text).unwrap();
    let found = place.archive().names().resolve("two").map(|named| named.conversation());

    assert_eq!(without, ["three", "one"]);
    // It was found with the index that says that it cannot be read.
    assert_eq!((found.ok(), fs::read(&index).unwrap()), (Some(id), noted));
}
