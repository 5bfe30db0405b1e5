//! Files that are damaged, foreign or malicious.

use std::fs;
use std::os::unix::fs::symlink;

use rejoin::store::{JsonlOptions, JsonlStore, Order, Read, Selection};
use rejoin::{Archive, ErrorKind, Message, Search};

use crate::jsonl::{Place, files, lines, replace_line};

#[test]
fn a_bad_line_is_passed_over_and_told_and_its_neighbours_are_kept() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"]]);
    replace_line(&place.file(id), 3, "{\"this is\": no JSON");

    let read = (place.texts(id), place.all_texts(id), place.titles());

    let expected = ["one", "three"].map(str::to_owned).to_vec();
    assert_eq!(read, (expected.clone(), expected, vec!["Lisbon".to_owned()]));
    let told = format!("line 3 of `home_ada_trip/{id}.jsonl` cannot be used: it is no line of Rejoin's");
    assert_eq!(place.faults(), [told]);
    assert!(!place.archive().maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn a_bad_line_is_an_error_that_names_it_unless_damage_is_passed_over() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    replace_line(&place.file(id), 2, "rubbish");

    let error = place.archive().resume(id).and_then(|talk| talk.path()).unwrap_err();

    let told = format!("{error:?}");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(told.contains("line 2 of `"), "{told}");
}

#[test]
fn a_turn_that_was_cut_off_is_no_damage() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    fs::write(place.file(id), fs::read_to_string(place.file(id)).unwrap() + "{\"torn").unwrap();

    assert_eq!(place.archive().resume(id).unwrap().path().unwrap().len(), 1);
}

#[test]
fn a_bad_line_within_a_turn_loses_that_line_only() {
    let place = Place::new();
    let id = place.talk(&[&["one", "two", "three"], &["four"]]);
    replace_line(&place.file(id), 3, "rubbish");
    let in_the_middle = place.texts(id);
    replace_line(&place.file(id), 5, "rubbish");
    let last = place.texts(id);
    place.archive().resume(id).unwrap().append(Message::user("five")).unwrap();

    assert_eq!(
        (in_the_middle, last),
        (["one", "three", "four"].map(str::to_owned).to_vec(), ["one", "three"].map(str::to_owned).to_vec(),)
    );
    assert_eq!(place.texts(id), ["one", "three", "five"]);
    assert_eq!(lines(&place.file(id))[4], "rubbish");
}

#[test]
fn a_file_whose_first_line_is_bad_still_has_its_messages() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    replace_line(&place.file(id), 1, "rubbish");

    assert_eq!(
        (place.texts(id), place.archive().list(&Default::default()).unwrap().items.len()),
        (vec!["one".to_owned(), "two".to_owned()], 1,)
    );
    assert_eq!(place.faults().len(), 2);
}

#[test]
fn a_line_that_is_too_long_is_passed_over() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &[&"long ".repeat(100_000)], &["three"]]);
    let mut options = JsonlOptions::default();
    options.longest_line = 100_000;
    let store = std::sync::Arc::new(JsonlStore::open_with(&place.root, options).unwrap());

    let path = Archive::with_store(store).passing_over_damage().resume(id).unwrap().path().unwrap();

    let texts: Vec<String> = path.into_iter().map(|stored| stored.message.text()).collect();
    assert_eq!(texts, ["one", "three"]);
}

#[test]
fn no_single_wrong_byte_goes_unnoticed_or_takes_anything_else_along() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"]]);
    let sound = fs::read(place.file(id)).unwrap();
    let start = lines(&place.file(id))[0].len() + 1;

    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };

    for at in (start..sound.len()).step_by(5) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x15;
        fs::write(place.file(id), &bytes).unwrap();

        let verdict = place.archive().maintenance().verify(id).unwrap();
        let is_noticed = !place.faults().is_empty() || !verdict.is_sound();
        let mut texts = Vec::new();
        let read = place.store().read(id, everything, &mut |seen| {
            texts.extend(Message::from_body(seen.body).map(|message| message.text()));
            Ok(())
        });

        let lost = ["one", "two", "three"].into_iter().filter(|text| !texts.iter().any(|own| own == text));
        let is_told = read.err().is_none_or(|error| error.kind() == ErrorKind::Corrupt);
        assert!(is_told && lost.count() <= 1, "byte {at}: {texts:?}");
        assert!(is_noticed || texts == ["one", "two", "three"], "byte {at}: {texts:?}");
    }
}

#[test]
fn what_is_not_rejoins_is_left_alone() {
    let place = Place::new();
    place.talk(&[&["one"]]);
    let folder = place.root.join("home_ada_trip");
    let foreign = "01932d4c-89ab-7890-abcd-1234567890ab";
    let line = format!(
        "{{\"timestamp\":\"2025-01-15T10:30:15.123Z\",\"messageIndex\":1,\"messageType\":\"conversation\",\
         \"sessionId\":\"{foreign}\",\"message\":{{\"role\":\"user\",\"content\":\"Help me\"}}}}\n"
    );
    fs::write(folder.join(format!("{foreign}.jsonl")), &line).unwrap();
    for name in ["README.md", ".DS_Store", "short.jsonl", "invalid-session-id.jsonl"] {
        fs::write(folder.join(name), "mine").unwrap();
    }

    let (titles, faults) = (place.titles(), place.faults());

    assert_eq!(titles, ["Lisbon"]);
    let told = format!(
        "line 1 of `home_ada_trip/{foreign}.jsonl` cannot be used: it repeats a message or comes out of order"
    );
    assert_eq!(faults, [told]);
    assert_eq!(fs::read_to_string(folder.join(format!("{foreign}.jsonl"))).unwrap(), line);
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let elsewhere = place.root.join("elsewhere");
    fs::rename(place.file(id), &elsewhere).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    symlink(&elsewhere, place.file(id)).unwrap();

    let opened = place.archive().resume(id).map(|_| ());

    assert_eq!(opened.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
}

#[test]
fn a_conversation_of_a_newer_rejoin_is_not_misread() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let other = place.talk(&[&["two"]]);
    let text = fs::read_to_string(place.file(id)).unwrap().replace("\"format\":1", "\"format\":9");
    fs::write(place.file(id), text).unwrap();

    let listed = place.archive().list(&Default::default()).unwrap().items;

    assert_eq!(listed.iter().map(|stored| stored.id).collect::<Vec<_>>(), [other]);
    assert_eq!(place.archive().resume(id).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(place.faults().len(), 1);
}

#[test]
fn a_place_that_is_no_directory_is_refused() {
    let place = Place::new();
    fs::write(&place.root, "a file").unwrap();

    let error = JsonlStore::open(&place.root).unwrap_err();

    assert_eq!((error.kind(), files(place.root.parent().unwrap()).len()), (ErrorKind::Invalid, 1));
}

#[test]
fn the_line_of_a_message_that_cannot_be_read_is_named() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"]]);
    let text = fs::read_to_string(place.file(id)).unwrap();
    fs::write(place.file(id), text.replace("\"text\":\"two\"", "\"text\":two")).unwrap();

    let error = place.archive().path(id, None).unwrap_err();

    let told = format!("{error:?}");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(told.contains("line 3 of `"), "{told}");
    assert_eq!(place.texts(id), ["one", "three"]);
}

#[test]
fn a_list_names_what_it_leaves_out_also_from_the_index() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    let emptied = place.talk(&[&["three"]]);
    let sound = place.talk(&[&["four"]]);
    replace_line(&place.file(id), 2, "rubbish");
    fs::write(place.file(emptied), "").unwrap();
    let listed = || {
        let listed = place.archive().list(&Default::default()).unwrap();
        let ids: Vec<_> = listed.items.into_iter().map(|stored| stored.id).collect();
        let mut left_out = place.without_root(listed.left_out);
        left_out.sort();
        (ids, left_out)
    };

    let (first, again) = (listed(), listed());

    let bad = format!("line 2 of `home_ada_trip/{id}.jsonl` cannot be used: it is no line of Rejoin's");
    let expected = (vec![sound, id], vec![format!("Conversation {emptied} has no turns"), bad]);
    assert_eq!((first, again), (expected.clone(), expected));
}

#[test]
fn a_conversation_whose_file_was_emptied_has_no_turns() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    fs::write(place.file(id), "\n\n").unwrap();

    let archive = place.archive();
    let found = archive.names().conversation(id.short().as_str()).unwrap();
    let told =
        [archive.conversation(id).map(drop), archive.resume(id).map(drop), archive.path(id, None).map(drop)]
            .map(|read| read.map_err(|error| (error.kind(), error.to_string())));

    let expected = (ErrorKind::Corrupt, format!("Conversation {id} has no turns"));
    assert_eq!((found, told), (id, [expected.clone(), expected.clone(), expected].map(Err)));
    assert_eq!(place.faults(), [format!("Conversation {id} has no turns")]);
}

#[test]
fn a_search_names_what_it_could_not_look_at() {
    let place = Place::new();
    let id = place.talk(&[&["green one"], &["green two"], &["green three"]]);
    let text = fs::read_to_string(place.file(id)).unwrap();
    fs::write(place.file(id), text.replace("\"text\":\"green two\"", "\"text\":green two")).unwrap();

    let found = place.archive().search(&Search { text: "green".to_owned(), ..Search::default() }).unwrap();

    let left_out = place.without_root(found.left_out);
    assert_eq!((found.items.len(), left_out.len()), (2, 1));
    assert!(
        left_out[0].starts_with(&format!("line 3 of `home_ada_trip/{id}.jsonl` cannot be used")),
        "{left_out:?}"
    );
}

#[test]
fn every_line_that_was_passed_over_is_named() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"], &["three"], &["four"]]);
    let text = fs::read_to_string(place.file(id)).unwrap();
    fs::write(place.file(id), text.replace("\"text\":\"two\"", "\"text\":two")).unwrap();
    replace_line(&place.file(id), 4, "rubbish");
    let reader = place.reader();

    let path = reader.path(id, None).unwrap();

    let numbers =
        place.without_root(reader.reader().passed_over()).into_iter().map(|told| told[..6].to_owned());
    assert_eq!(
        (path.len(), numbers.collect::<Vec<_>>()),
        (2, vec!["line 4".to_owned(), "line 3".to_owned()])
    );
}
