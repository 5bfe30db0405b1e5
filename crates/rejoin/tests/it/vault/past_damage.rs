//! Reading on past records that do not open: what opens is found, and all that is missing is named.

use std::time::Duration;

use rejoin::store::Task;
use rejoin::{Archive, Listed, Search, SearchHit};

use crate::vault::altered::kept;
use crate::vault::quarantine::{CHANGED, Stage, texts};
use crate::vault::write::conversation;

/// The name of a message by its place, as a reader is told of it.
fn missing(stage: &Stage, place: usize) -> String {
    let (message, id) = (kept(stage.inner.as_ref(), stage.name)[place].id, conversation(1));
    let number = place + 1;
    format!("the message `{message}` of conversation `{id}`, number {number}, does not open: {CHANGED}")
}

fn search(archive: &Archive, text: &str) -> Listed<SearchHit> {
    archive.search(&Search { text: text.to_owned(), ..Search::default() }).unwrap()
}

fn said(found: &Listed<SearchHit>) -> Vec<String> {
    found.items.iter().map(|hit| hit.read().unwrap().text()).collect()
}

fn fill_index(archive: &Archive) {
    archive.maintenance().run(Task::Index, Duration::MAX).unwrap();
}

#[test]
fn every_record_that_was_passed_over_is_named() {
    let stage = Stage::new();
    stage.damage(0);
    stage.damage(1);
    let archive = stage.archive().passing_over_damage();

    let path = archive.path(conversation(1), None).unwrap();

    assert_eq!(texts(&path), ["three"]);
    assert_eq!(archive.reader().passed_over(), [missing(&stage, 0), missing(&stage, 1)]);
}

#[test]
fn a_search_finds_what_opens_and_names_what_does_not() {
    let stage = Stage::new();
    stage.damage(0);
    stage.damage(1);

    let found = search(&stage.archive(), "three");

    let mut expected = vec![missing(&stage, 0), missing(&stage, 1)];
    expected.sort_unstable();
    assert_eq!((said(&found), found.left_out), (vec!["three".to_owned()], expected));
}

#[test]
fn a_message_that_was_indexed_and_then_damaged_is_named_by_who_searches_its_words() {
    let stage = Stage::new();
    fill_index(&stage.archive());
    stage.damage(1);

    let found = search(&stage.archive(), "two");

    assert_eq!((said(&found), found.left_out), (vec![], vec![missing(&stage, 1)]));
}

#[test]
fn a_message_that_was_damaged_and_then_indexed_is_named() {
    let stage = Stage::new();
    stage.damage(1);
    fill_index(&stage.archive());

    let found = search(&stage.archive(), "three");

    assert_eq!((said(&found), found.left_out), (vec!["three".to_owned()], vec![missing(&stage, 1)]));
}

#[test]
fn a_search_elsewhere_does_not_tell_of_it() {
    let stage = Stage::new();
    stage.damage(1);
    stage.archive().path(conversation(1), None).unwrap_err();

    let elsewhere =
        Search { text: "two".to_owned(), project: Some("/home/ada/lisbon".to_owned()), ..Search::default() };
    let found = stage.archive().search(&elsewhere).unwrap();

    assert_eq!((said(&found), found.left_out), (vec![], vec![]));
}

#[test]
fn a_conversation_whose_header_does_not_open_is_named_by_a_search() {
    let stage = Stage::new();
    stage.damage_header();

    let found = search(&stage.archive(), "three");

    let told = format!("conversation `{}` cannot be read: its header does not open: {CHANGED}", stage.name);
    assert_eq!((said(&found), found.left_out), (vec![], vec![told]));
}
