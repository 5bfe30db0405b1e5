//! Conversations whose files are gone.

use std::fs;

use rejoin::{Conversation, ConversationId, ErrorKind, List, Message};

use crate::jsonl::{Place, files, lines};

/// What a list names as left out, without the directory.
fn left_out(place: &Place) -> Vec<String> {
    place.without_root(place.archive().list(&List::default()).unwrap().left_out)
}

/// What is said of a conversation whose file was in the usual folder.
fn gone(id: ConversationId) -> String {
    format!("conversation `{id}` was stored here, and its file `home_ada_trip/{id}.jsonl` is gone")
}

/// The same, where nobody knows the folder.
fn gone_from_somewhere(id: ConversationId) -> String {
    format!("conversation `{id}` was stored here, and its file is gone")
}

#[test]
fn a_conversation_whose_file_is_gone_is_missed_by_lists_checks_and_whoever_opens_it() {
    let place = Place::new();
    let (id, _other) = (place.talk(&[&["one"]]), place.talk(&[&["two"]]));
    assert_eq!(left_out(&place), [""; 0]);

    fs::remove_file(place.file(id)).unwrap();

    let archive = place.archive();
    let found = archive.names().conversation(id.short().as_str()).unwrap();
    let opened =
        [archive.conversation(id).map(drop), archive.resume(id).map(drop), archive.path(id, None).map(drop)];
    let opened = opened
        .map(|opened| opened.map_err(|error| (error.kind(), place.without_root(vec![error.to_string()]))));
    assert_eq!(found, id);
    assert_eq!(
        opened,
        [const { Err(()) }; 3].map(|_: Result<(), ()>| Err((ErrorKind::Corrupt, vec![gone(id)])))
    );
    // From the files, from the index that was written then, and without one.
    assert_eq!(
        [left_out(&place), left_out(&place), place.faults()],
        [vec![gone(id)], vec![gone(id)], vec![gone(id)]]
    );
    fs::remove_file(place.root.join(".store/index")).unwrap();
    assert_eq!(
        [left_out(&place), place.faults()],
        [vec![gone_from_somewhere(id)], vec![gone_from_somewhere(id)]]
    );
    assert!(!place.archive().maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn a_file_that_goes_right_after_it_was_stored_is_missed() {
    let place = Place::new();
    place.talk(&[&["one"]]);
    left_out(&place);
    let id = place.talk(&[&["two"]]);

    fs::remove_file(place.file(id)).unwrap();

    assert_eq!(left_out(&place), [gone_from_somewhere(id)]);
}

#[test]
fn a_conversation_that_was_put_back_moved_or_deleted_is_not_missed() {
    let place = Place::new();
    let [back, moved, deleted] = [["one"], ["two"], ["three"]].map(|turn| place.talk(&[&turn]));
    let bytes = fs::read(place.file(back)).unwrap();
    fs::remove_file(place.file(back)).unwrap();
    let missed = left_out(&place);

    fs::write(place.file(back), bytes).unwrap();
    place.archive().update(moved, |conversation| conversation.project = Some("/srv".to_owned())).unwrap();
    place.archive().removal().delete(&[deleted], "by request");

    assert_eq!(missed, [gone_from_somewhere(back)]);
    assert_eq!([left_out(&place), left_out(&place), place.faults()], [const { Vec::<String>::new() }; 3]);
    fs::remove_file(place.root.join(".store/index")).unwrap();
    assert_eq!([left_out(&place), place.faults()], [const { Vec::<String>::new() }; 2]);
}

#[test]
fn a_conversation_that_was_never_acknowledged_is_not_missed() {
    let place = Place::new();
    let id = place.archive().start(Conversation::titled("Lisbon")).unwrap().id();
    fs::write(place.log(), place.log_before_the_last_acknowledgement()).unwrap();

    fs::remove_file(place.root.join(format!("no-project/{id}.jsonl"))).unwrap();

    assert_eq!([left_out(&place), place.faults()], [const { Vec::<String>::new() }; 2]);
    assert_eq!(place.archive().conversation(id).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_copy_without_the_log_of_changes_misses_nothing() {
    let place = Place::new();
    let (one, other) = (place.talk(&[&["one"]]), place.talk(&[&["two"]]));
    left_out(&place);
    let copy = Place { root: place.root.with_file_name("copy"), _directory: tempfile::tempdir().unwrap() };
    let is_copied = |path: &std::path::PathBuf| *path != place.log() && *path != place.file(other);
    for path in files(&place.root).into_iter().filter(is_copied) {
        let to = copy.root.join(path.strip_prefix(&place.root).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, &to).unwrap();
    }

    assert_eq!([left_out(&copy), copy.faults()], [const { Vec::<String>::new() }; 2]);
    assert_eq!(copy.texts(one), ["one"]);
}

#[test]
fn a_conversation_of_which_nothing_is_left_can_be_given_up() {
    let place = Place::new();
    let [gone, emptied, foreign] = [["one"], ["two"], ["three"]].map(|turn| place.talk(&[&turn]));
    fs::remove_file(place.file(gone)).unwrap();
    fs::write(place.file(emptied), "").unwrap();
    let unknown = ConversationId::from_bytes([7; 16]);
    fs::write(place.file(unknown), "by hand\n").unwrap();
    let before = place.faults().len();

    let deleted = place.archive().removal().delete(&[gone, emptied, unknown], "by request");

    let given_up: Vec<_> = deleted.gone.iter().map(|(id, bytes)| (*id, *bytes)).collect();
    assert_eq!((before, given_up), (3, vec![(gone, 0), (emptied, 0)]));
    assert_eq!(
        (place.faults().len(), place.file(emptied).exists(), place.file(unknown).exists()),
        (1, false, true)
    );
    assert_eq!(place.texts(foreign), ["three"]);
}

#[test]
fn a_conversation_that_is_missed_can_be_stored_again() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let bytes = fs::read(place.file(id)).unwrap();
    fs::remove_file(place.file(id)).unwrap();
    let refused = place.archive().resume(id).unwrap_err().kind();
    let folder = place.root.join("srv");
    fs::create_dir(&folder).unwrap();

    fs::write(folder.join(format!("{id}.jsonl")), bytes).unwrap();
    place.archive().resume(id).unwrap().append(Message::user("three")).unwrap();

    assert_eq!((refused, place.texts(id).len(), left_out(&place)), (ErrorKind::Corrupt, 3, vec![]));
}

#[test]
fn whole_turns_that_were_cut_off_are_told_by_a_check() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let kept = lines(&place.file(id))[..2].join("\n") + "\n";

    fs::write(place.file(id), kept).unwrap();

    assert_eq!(
        place.faults(),
        [format!("`home_ada_trip/{id}.jsonl` ends before a change that was acknowledged")]
    );
}
