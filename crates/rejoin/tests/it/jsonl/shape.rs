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
    let folders =
        ["", ".store", "home_ada_trip"].map(|name| place.root.join(name).metadata().unwrap().mode() & 0o777);

    assert_eq!((modes, folders), (vec![0o600; 5], [0o700; 3]));
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
    assert!(place.archive().verify(id).unwrap().is_sound());
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
