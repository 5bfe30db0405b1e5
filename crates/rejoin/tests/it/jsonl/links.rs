//! Links, pipes and files where folders are expected: what is not Rejoin's own
//! is neither followed nor waited for.

use std::fs;
use std::os::unix::fs::symlink;

use rejoin::ErrorKind;
use rejoin::store::JsonlStore;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::jsonl::{Place, files};

#[test]
fn a_link_in_the_place_of_a_projects_folder_is_passed_by() {
    let place = Place::new();
    let elsewhere = place.root.with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir(&place.root).unwrap();
    symlink(&elsewhere, place.root.join("home_ada_trip")).unwrap();

    let id = place.talk(&[&["one"]]);

    assert_eq!(files(&elsewhere), Vec::<std::path::PathBuf>::new());
    assert!(place.root.join(format!("home_ada_trip~2/{id}.jsonl")).exists());
    assert_eq!((place.texts(id), place.titles()), (vec!["one".to_owned()], vec!["Lisbon".to_owned()]));
}

#[test]
fn a_file_in_the_place_of_a_projects_folder_is_passed_by() {
    let place = Place::new();
    fs::create_dir(&place.root).unwrap();
    fs::write(place.root.join("home_ada_trip"), "mine").unwrap();

    let id = place.talk(&[&["one"]]);

    assert_eq!(fs::read_to_string(place.root.join("home_ada_trip")).unwrap(), "mine");
    assert_eq!(place.texts(id), ["one"]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let place = Place::new();
    let folder = place.root.join("home_ada_trip");
    fs::create_dir_all(&folder).unwrap();
    let pipe = |path: &std::path::Path| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    pipe(&folder.join(".project"));
    pipe(&folder.join("01932d4a-0123-7890-abcd-123456789abc.jsonl"));

    let id = place.talk(&[&["one"]]);

    assert!(place.root.join(format!("home_ada_trip~2/{id}.jsonl")).exists());
    assert_eq!(place.titles(), ["Lisbon"]);
}

#[test]
fn a_store_whose_own_folder_is_a_link_is_refused() {
    let place = Place::new();
    let elsewhere = place.root.with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir(&place.root).unwrap();
    symlink(&elsewhere, place.root.join(".store")).unwrap();

    let error = JsonlStore::open(&place.root).unwrap_err();

    assert_eq!((error.kind(), files(&elsewhere).len()), (ErrorKind::Invalid, 0));
}

#[test]
fn a_directory_that_is_a_link_itself_is_the_users_choice() {
    let place = Place::new();
    let elsewhere = place.root.with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &place.root).unwrap();

    let id = place.talk(&[&["one"]]);

    assert_eq!(place.texts(id), ["one"]);
    assert!(elsewhere.join(format!("home_ada_trip/{id}.jsonl")).exists());
}

#[test]
fn a_link_with_the_name_of_a_conversation_does_not_stand_in_its_way() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    fs::create_dir(place.root.join("aside")).unwrap();
    symlink("/nowhere", place.root.join(format!("aside/{id}.jsonl"))).unwrap();
    fs::create_dir_all(place.root.join(".store/temporary/mine")).unwrap();
    symlink("/nowhere", place.root.join(".store/temporary/link")).unwrap();

    let read = (place.texts(id), place.titles());
    place.archive().resume(id).unwrap().append(rejoin::Message::user("two")).unwrap();

    assert_eq!(read, (vec!["one".to_owned()], vec!["Lisbon".to_owned()]));
    assert_eq!(place.texts(id), ["one", "two"]);
    assert!(place.root.join(".store/temporary/mine").exists());
    assert!(place.root.join(".store/temporary/link").symlink_metadata().is_err());
}
