//! Blobs: stored together or not at all, whatever becomes of the process that stores them.

use std::fs;

use rejoin::store::{Named, Put, Read, Safety, Space, Store};
use rejoin::{ConversationId, Message};

use crate::jsonl::Place;

fn blob(owner: ConversationId, bytes: &'static [u8]) -> Put<'static> {
    Put { space: Space::State, owner: Some(owner), name: b"name", bytes: Some(bytes) }
}

fn read(place: &Place, owner: ConversationId) -> Vec<String> {
    let mut found = Vec::new();
    place
        .store()
        .get(Space::State, Some(owner), Named::ALL, &mut |_, bytes| {
            found.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn blobs_of_several_owners_that_were_cut_off_are_all_there() {
    let place = Place::new();
    let owners = [place.talk(&[&["one"]]), place.talk(&[&["two"]])];
    let store = place.store();
    store.put(&owners.map(|owner| blob(owner, b"before")), Safety::Synced).unwrap();
    // As if the process had been killed when the first of them was in place.
    let pending = owners
        .map(|owner| format!("{{\"space\":1,\"owner\":\"{owner}\",\"name\":\"name\",\"bytes\":\"after\"}}"))
        .join(",");
    fs::write(place.root.join(".store/blobs/pending"), format!("[{pending}]")).unwrap();

    let while_pending = owners.map(|owner| read(&place, owner));
    store.put(&[blob(owners[0], b"later")], Safety::Synced).unwrap();

    let (after, later) = (vec!["after".to_owned()], vec!["later".to_owned()]);
    assert_eq!(while_pending, [after.clone(), after.clone()]);
    assert_eq!(owners.map(|owner| read(&place, owner)), [later, after]);
    assert!(!place.root.join(".store/blobs/pending").exists());
}

#[test]
fn a_blob_that_goes_with_a_turn_counts_when_the_log_was_lost() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    place.store().put(&[blob(id, b"before")], Safety::Synced).unwrap();
    fs::write(place.root.join(".store/changes.jsonl"), "").unwrap();
    fs::remove_file(place.file(id)).unwrap();
    let other = place.talk(&[&["three"]]);
    let stamp = fs::read_to_string(place.root.join(format!(".store/blobs/1-{id}.jsonl"))).unwrap();

    // A file of blobs may be ahead of the log and of every conversation.
    fs::write(place.root.join(format!(".store/blobs/1-{other}.jsonl")), stamp).unwrap();
    place.archive().resume(other).unwrap().append(Message::user("four")).unwrap();
    place.store().put(&[Put { bytes: None, ..blob(other, b"") }], Safety::Synced).unwrap();

    assert_eq!(
        (read(&place, other), place.texts(other)),
        (vec![], vec!["three".to_owned(), "four".to_owned()])
    );
}
