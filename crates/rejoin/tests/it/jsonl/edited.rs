//! Files that a person or another program changes while a handle is open.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use rejoin::{Archive, Conversation, ConversationId, Message};

use crate::jsonl::{Place, lines};

/// Writes to a file without making a new one, as some editors do.
fn write_in_place(path: &Path, text: &str) {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn texts(archive: &Archive, id: ConversationId) -> Vec<String> {
    archive.path(id, None).unwrap().into_iter().map(|stored| stored.message.text()).collect()
}

#[test]
fn a_file_that_was_edited_and_grew_is_read_anew() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"]]);
    let archive = place.archive();
    let before = texts(&archive, id);
    let text = fs::read_to_string(place.file(id)).unwrap();

    write_in_place(&place.file(id), &text.replace("\"text\":\"one\"", "\"text\":\"one and a half\""));

    assert_eq!(before, ["one", "two", "three"]);
    assert_eq!(texts(&archive, id), ["one and a half", "two", "three"]);
}

#[test]
fn an_append_after_an_edit_cuts_nothing_off() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"]]);
    let archive = place.archive();
    let mut talk = archive.resume(id).unwrap();
    talk.path().unwrap();
    let text = fs::read_to_string(place.file(id)).unwrap();

    // The editor also dropped the last line end.
    let edited = text.replace("\"text\":\"one\"", "\"text\":\"one and a half\"");
    write_in_place(&place.file(id), edited.trim_end());
    talk.append(Message::user("four")).unwrap();

    assert_eq!(place.texts(id), ["one and a half", "two", "three", "four"]);
    assert!(fs::read_to_string(place.file(id)).unwrap().starts_with(edited.trim_end()));
}

#[test]
fn a_file_that_was_replaced_is_gone_on_with_as_it_is() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let archive = place.archive();
    let mut talk = archive.resume(id).unwrap();
    talk.path().unwrap();

    let longer = fs::read_to_string(place.file(id)).unwrap() + "\nby hand\n";
    fs::write(place.root.join("fresh"), &longer).unwrap();
    fs::rename(place.root.join("fresh"), place.file(id)).unwrap();
    talk.append(Message::user("three")).unwrap();

    assert_eq!(place.texts(id), ["one", "two", "three"]);
    assert!(fs::read_to_string(place.file(id)).unwrap().starts_with(&longer));
}

#[test]
fn lines_with_fields_of_others_in_any_place_are_read() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let annotated: Vec<String> = lines(&place.file(id))
        .iter()
        .map(|line| format!("{},\"note\":{{\"by\":[\"me\"]}}}}", line.strip_suffix('}').unwrap()))
        .collect();
    fs::write(place.file(id), annotated.join("\r\n") + "\r\n").unwrap();

    assert_eq!((place.texts(id), place.faults()), (vec!["one".to_owned(), "two".to_owned()], vec![]));
    assert!(place.archive().maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn a_conversation_moves_to_no_folder_that_has_a_copy_of_it() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    place
        .archive()
        .start(Conversation { project: Some("/srv".to_owned()), ..Conversation::titled("other") })
        .unwrap();
    let copy = place.root.join(format!("srv/{id}.jsonl"));
    fs::copy(place.file(id), &copy).unwrap();
    let bytes = fs::read(&copy).unwrap();

    place.archive().update(id, |conversation| conversation.project = Some("/srv".to_owned())).unwrap();

    assert!(place.file(id).exists());
    assert_eq!(fs::read(&copy).unwrap(), bytes);
}
