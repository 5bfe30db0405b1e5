//! The index is never the truth.

use std::fs;
use std::path::PathBuf;

use rejoin::Conversation;

use crate::jsonl::Place;

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
        writer.delete_conversations(&[id], "by request");
        counts.push(listed(&reader));
    }

    assert_eq!(counts, [3, 4, 3, 4, 3, 4, 3]);
}
