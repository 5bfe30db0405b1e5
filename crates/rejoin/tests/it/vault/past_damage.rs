//! Reading on past records that do not open: what opens is found, and all that is missing is named.

use std::time::Duration;

use rejoin::store::{Change, Facets, ListQuery, Put, Read as _, Safety, Store as _, Task};
use rejoin::{Archive, ErrorKind, Hold, List, Listed, Search, SearchHit, Status, Time};

use crate::vault::altered::kept;
use crate::vault::quarantine::{CHANGED, Stage, texts};
use crate::vault::write::{NOW, conversation};
use crate::vault_spaces::KEYS;

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

/// Every list there is: all conversations, and those of a project.
fn lists() -> [List; 2] {
    [List::default(), List { project: Some("/home/ada/lisbon".to_owned()), ..List::default() }]
}

#[test]
fn facets_in_plaintext_hide_no_conversation_and_are_a_fault() {
    let forged = [
        Facets { project: "/x".to_owned(), ..Facets::default() },
        Facets { kind: "subagent".to_owned(), ..Facets::default() },
        Facets { slug: "lisbon".to_owned(), ..Facets::default() },
        Facets { status: Status::Completed, ..Facets::default() },
        Facets { hold: Hold::Import, ..Facets::default() },
        Facets { expires: Some(Time::from_micros(1)), ..Facets::default() },
    ];
    for facets in forged {
        let stage = Stage::new();
        let before = stage.archive().list(&List::default()).unwrap();
        let row = stage.inner.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);
        let change = Change::Header { facets: &facets, header: &row.header };
        stage.inner.amend(stage.name, None, &change, NOW).unwrap();

        let archive = stage.archive();
        let listed = archive.list(&List::default()).unwrap();

        assert_eq!(listed.left_out, [""; 0]);
        assert_eq!(listed.items.len(), 1);
        assert_eq!(listed.items[0].id, conversation(1));
        assert_eq!(listed.items[0].conversation, before.items[0].conversation);
        assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), ["one", "two", "three"]);
        let told: Vec<String> =
            archive.maintenance().check().unwrap().faults.into_iter().map(|fault| fault.what).collect();
        assert!(told.contains(&"it has facets that are not encrypted".to_owned()), "{facets:?}: {told:?}");
    }
}

#[test]
fn a_conversation_that_no_list_can_name_is_told_by_every_list_and_by_who_asks_for_it() {
    let header = |stage: &Stage| stage.damage_header();
    let key = |stage: &Stage| {
        let put = Put { space: KEYS, owner: Some(stage.name), name: b"data", bytes: Some(b"x") };
        stage.inner.put(&[put], Safety::Synced).unwrap();
    };
    for damage in [&header as &dyn Fn(&Stage), &key] {
        let stage = Stage::new();
        damage(&stage);

        let left_out = lists().map(|list| stage.archive().list(&list).unwrap().left_out);
        let asked = stage.archive().conversation(conversation(1)).unwrap_err();
        let named = stage.archive().names().conversation(&conversation(1).to_string());
        let unknown = stage.archive().conversation(conversation(2)).unwrap_err();

        let told = |id| format!("conversation `{id}` cannot be read: its header does not open: ");
        assert!(left_out.iter().all(|told_of| told_of.len() == 1), "{left_out:?}");
        assert!(left_out.iter().all(|told_of| told_of[0].starts_with(&told(stage.name))), "{left_out:?}");
        assert_eq!((asked.kind(), unknown.kind()), (ErrorKind::Corrupt, ErrorKind::NotFound));
        assert!(asked.to_string().starts_with(&told(conversation(1))), "{asked}");
        assert_eq!(named.unwrap(), conversation(1));
    }
}
