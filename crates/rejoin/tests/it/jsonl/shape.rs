//! Where files are and what stands in them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rejoin::{Conversation, Message, Settings};
use serde_json::{Value, json};

use crate::jsonl::{Place, files, lines};

#[test]
fn a_conversation_is_a_file_in_its_projects_folder() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);

    let made: Vec<String> = files(&place.root)
        .iter()
        .map(|path| path.strip_prefix(&place.root).unwrap().display().to_string())
        .collect();

    let expected = [
        ".store/boot".to_owned(),
        ".store/changes.jsonl".to_owned(),
        ".store/reserve".to_owned(),
        ".store/words/0000000000000001".to_owned(),
        "home_ada_trip/.project".to_owned(),
        format!("home_ada_trip/{id}.jsonl"),
    ];
    assert_eq!(made, expected);
}

#[test]
fn nobody_else_may_read_what_is_kept() {
    let place = Place::new();
    place.talk(&[&["one"]]);
    place.titles();

    let modes: Vec<u32> =
        files(&place.root).iter().map(|path| path.metadata().unwrap().mode() & 0o777).collect();
    let folders = ["", ".store", ".store/words", "home_ada_trip"]
        .map(|name| place.root.join(name).metadata().unwrap().mode() & 0o777);

    assert_eq!((modes, folders), (vec![0o600; 7], [0o700; 4]));
}

#[test]
fn lines_are_as_the_document_shows_them() {
    let place = Place::new();
    let archive = place.archive();
    let settings = Settings { provider: Some("anthropic".to_owned()), ..Settings::default() };
    let conversation = Conversation {
        project: Some("/home/ada/trip".to_owned()),
        git_commit: Some("abc123".to_owned()),
        settings,
        ..Conversation::titled("Lisbon")
    };
    let mut talk = archive.start(conversation).unwrap();
    let question = talk.append(Message::user("Where to eat?")).unwrap();

    let read: Vec<Value> =
        lines(&place.file(talk.id())).iter().map(|line| serde_json::from_str(line).unwrap()).collect();

    let field = |line: &Value, name: &str| line[name].clone();
    let common = ["messageIndex", "messageType", "sessionId"]
        .map(|name| (field(&read[0], name), field(&read[1], name)));
    let id = json!(talk.id().to_string());
    assert_eq!(
        common,
        [(json!(0), json!(1)), (json!("session-meta"), json!("conversation")), (id.clone(), id)]
    );
    let start = ["type", "projectPath", "provider", "gitCommit"].map(|name| field(&read[0]["message"], name));
    assert_eq!(start, [json!("session-start"), json!("/home/ada/trip"), json!("anthropic"), json!("abc123")]);
    assert_eq!(read[1]["message"]["role"], "user");
    assert_eq!(read[1]["digest"], json!(question.digest));
    assert_eq!((&read[1]["turn"], &read[1]["n"], &read[1]["of"]), (&json!(1), &json!(1), &json!(1)));
}

#[test]
fn a_body_stands_in_its_line_byte_for_byte() {
    let place = Place::new();
    let id = place.talk(&[&["a \"quoted\" word, ü and \u{2028}"]]);

    let line = lines(&place.file(id)).pop().unwrap();

    let body = line.split_once(",\"message\":").unwrap().1.strip_suffix('}').unwrap();
    assert_eq!(Message::from_body(body).unwrap().to_body(), body);
    assert!(place.archive().maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn projects_whose_names_become_alike_stay_apart() {
    let place = Place::new();
    let archive = place.archive();
    let start = |project: &str| {
        let conversation =
            Conversation { project: Some(project.to_owned()), ..Conversation::titled(project) };
        archive.start(conversation).unwrap().id()
    };
    let (one, other) = (start("/a/b_c"), start("/a_b/c"));

    let listed = ["/a/b_c", "/a_b/c"].map(|project| {
        let list = rejoin::List { project: Some(project.to_owned()), ..Default::default() };
        archive.list(&list).unwrap().items.into_iter().map(|stored| stored.id).collect::<Vec<_>>()
    });

    assert_eq!(listed, [vec![one], vec![other]]);
    assert!(place.root.join(format!("a_b_c/{one}.jsonl")).exists());
    assert!(place.root.join(format!("a_b_c~2/{other}.jsonl")).exists());
    assert_eq!(fs::read_to_string(place.root.join("a_b_c~2/.project")).unwrap(), "/a_b/c");
}

#[test]
fn a_conversation_that_changes_its_project_changes_its_folder() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);

    place.archive().update(id, |conversation| conversation.project = Some("/srv/trip".to_owned())).unwrap();

    assert!(!place.file(id).exists());
    assert!(place.root.join(format!("srv_trip/{id}.jsonl")).exists());
    assert_eq!((place.texts(id), place.titles()), (vec!["one".to_owned()], vec!["Lisbon".to_owned()]));
}

#[test]
#[cfg(target_os = "linux")] // Elsewhere paths must be shorter.
fn a_change_that_is_stored_is_no_failure_when_the_file_cannot_move() {
    let directory = tempfile::tempdir().unwrap();
    let mut root = directory.path().to_owned();
    // The path of the store is so long that a folder with a long name would have too long a path.
    while root.as_os_str().len() < 3_900 {
        root.push("a".repeat(200.min(3_950 - root.as_os_str().len())));
    }
    fs::create_dir_all(&root).unwrap();
    let place = Place { _directory: directory, root };
    let id = place.talk(&[&["one"]]);
    let project = format!("/srv/{}", "b".repeat(190));

    place.archive().update(id, |conversation| conversation.project = Some(project.clone())).unwrap();

    let list = rejoin::List { project: Some(project), ..Default::default() };
    assert!(place.file(id).exists());
    assert_eq!(place.archive().list(&list).unwrap().items.len(), 1);
    assert_eq!(place.texts(id), ["one"]);
}

#[test]
fn a_file_only_grows() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let before = fs::read(place.file(id)).unwrap();
    let archive = place.archive();

    archive.update(id, |conversation| conversation.title = Some("Porto".to_owned())).unwrap();
    let mut talk = archive.resume(id).unwrap();
    let second = talk.append(Message::user("two")).unwrap();
    archive.fork(id, second.head, "other").unwrap();

    assert!(fs::read(place.file(id)).unwrap().starts_with(&before));
    assert_eq!(lines(&place.file(id)).len(), 5);
    assert_eq!(place.titles(), ["Porto"]);
}

#[test]
fn no_file_is_made_before_something_is_stored() {
    let place = Place::new();
    let archive = place.archive();

    let listed = archive.list(&Default::default()).unwrap().items.len();
    let unknown = archive.resume("01932d4a-0123-7890-abcd-123456789abc".parse().unwrap()).is_err();

    let folders = fs::read_dir(&place.root).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!((listed, unknown, folders.collect::<Vec<_>>()), (0, true, vec![".store".into()]));
}

#[test]
fn a_file_that_would_grow_beyond_its_limit_stays_as_it_is() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let before = fs::read(place.file(id)).unwrap();
    let limits = rejoin::Limits { conversation_bytes: 1_000, ..rejoin::Limits::default() };
    let archive = place.archive().with_limits(limits);

    let error = archive.resume(id).unwrap().append(Message::user("x".repeat(2_000))).unwrap_err();

    assert!(format!("{error:?}").contains("limits.conversation_bytes"), "{error:?}");
    assert_eq!(fs::read(place.file(id)).unwrap(), before);
}

#[test]
fn lines_hold_finished_messages_only_and_their_numbers_go_up_by_one() {
    let place = Place::new();
    let id = place.talk(&[&["one", "two"], &["three"]]);
    let blob = rejoin::store::Put {
        space: rejoin::store::Space::OpenTurn,
        owner: Some(id),
        name: b"writer",
        bytes: Some(b"half a rep"),
    };
    rejoin::store::Store::put(&*place.store(), &[blob], rejoin::store::Safety::Synced).unwrap();

    let read = lines(&place.file(id));
    let numbers: Vec<Value> = read
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["messageIndex"].clone())
        .collect();

    assert_eq!(numbers, [0, 1, 2, 3].map(|number| json!(number)));
    assert!(!read.concat().contains("half a rep"));
}

#[test]
fn names_of_projects_are_cut_where_they_are_too_long_and_stay_apart() {
    let place = Place::new();
    let archive = place.archive();
    let long = format!("/home/{}", "ü".repeat(300));
    let odd = ["/a\tb\nc", "-rf", "/..", "~", "/a b/\u{202e}c", long.as_str(), &format!("{long}x")]
        .map(str::to_owned);

    let started: Vec<_> = odd
        .iter()
        .map(|project| {
            let conversation =
                Conversation { project: Some(project.clone()), ..Conversation::titled(project) };
            archive.start(conversation).unwrap().id()
        })
        .collect();

    let found: Vec<_> = odd
        .iter()
        .flat_map(|project| {
            let list = rejoin::List { project: Some(project.clone()), ..Default::default() };
            place.archive().list(&list).unwrap().items.into_iter().map(|stored| stored.id)
        })
        .collect();
    assert_eq!(found, started);
    let folders = fs::read_dir(&place.root).unwrap().count();
    assert_eq!(folders, odd.len() + 1);
}
