//! Sessions of goose.

use std::fs;

use rejoin::formats::{SourceParent, Sources};
use rejoin::{Block, Time};
use rusqlite::Connection;

use crate::formats::import::Desk;
use crate::formats::{file_of, fixture, outline, read, said};

const DATABASE: &str = "goose/sessions.db";
const FILE: &str = "goose/20250219_212000.jsonl";

#[test]
fn a_database_is_read_whole_with_its_compaction() {
    let tree = read(&fixture(DATABASE));

    let expected = [
        "user: list the files",
        "assistant: (I look) | I look. | developer__shell>{\"command\": \"ls\"} | [toolRequest]",
        "tool: =\"a.txt\" | =\"-32603: bad arguments\"",
        "assistant: There is a.txt.",
        "user: go on with that",
        "user: summary So far: the user has a.txt.",
        "assistant: I go on from the summary.",
        "user: go on with that",
        "assistant: Done. | [systemNotification] | [redactedThinking]",
        "user: find it | <image>",
        "assistant: found",
    ];
    let all: Vec<_> = tree.messages.iter().map(|found| said(&found.message)).collect();
    assert_eq!(all, expected);
    let Block::ToolResult(failed) = &tree.messages[2].message.blocks[1] else { panic!("{tree:?}") };
    assert!(failed.is_error);
    assert_eq!(tree.skipped, []);
}

#[test]
fn sessions_tell_who_where_and_what_for() {
    let tree = read(&fixture(DATABASE));

    let own = &tree.conversations[0];
    assert_eq!((own.id.as_str(), own.header.title.as_deref()), ("20260403_1", Some("Where to eat")));
    assert_eq!(own.header.project.as_deref(), Some("/home/me/trip"));
    assert_eq!(own.header.settings.model.as_deref(), Some("claude-sonnet"));
    assert_eq!(own.created_at, "2026-04-03T12:00:00Z".parse::<Time>().unwrap());
    let run = SourceParent {
        conversation: String::new(),
        message: None,
        name: "explore".to_owned(),
        run: "20260403_2".to_owned(),
    };
    assert_eq!((own.parent.clone(), tree.conversations[1].parent.clone()), (None, Some(run)));
}

#[test]
fn an_older_file_is_read_whole() {
    let tree = read(&fixture(FILE));

    let expected = [
        "l2 < - user: hello",
        "l3 < l2 assistant: ls>{}",
        "l4 < l3 tool: =[{\"type\":\"text\",\"text\":\"a\"},{\"",
        "l5 < l4 assistant: hi",
    ];
    assert_eq!(outline(&tree.messages), expected);
    let own = &tree.conversations[0];
    assert_eq!((own.id.as_str(), own.header.title.as_deref()), ("20250219_212000", Some("An older talk")));
    assert_eq!(tree.messages[0].message.created_at, Some(Time::from_number(1_740_000_000)));
    assert_eq!((tree.skipped.len(), tree.asides.len()), (0, 1));
}

#[test]
fn a_torn_older_file_is_read_as_far_as_it_is_whole() {
    let text = fs::read_to_string(fixture(FILE)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = r#"{"role":"assistant","created":1,"content":"no list"}"#;
    lines[4] = &lines[4][..20];
    let (_directory, path) = file_of("20250219_212000.jsonl", &lines);

    let tree = read(&path);

    assert_eq!(outline(&tree.messages).len(), 2);
    let why: Vec<_> = tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
    assert_eq!(why, [(3, "its contents are no list"), (5, "it is not JSON")]);
}

#[test]
fn an_older_file_that_the_database_took_over_is_a_part_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("sessions.db");
    fs::copy(fixture(DATABASE), &database).unwrap();
    fs::copy(fixture(FILE), directory.path().join("20260403_1.jsonl")).unwrap();
    fs::copy(fixture(FILE), directory.path().join("20250219_212000.jsonl")).unwrap();

    let found = Sources::find(directory.path(), None).unwrap();

    let names: Vec<_> = found.found.iter().map(|(source, _)| source.path().file_name().unwrap()).collect();
    assert_eq!((names, found.others), (vec!["20250219_212000.jsonl".as_ref(), "sessions.db".as_ref()], 0));
}

#[test]
fn a_session_that_is_compacted_adds_only_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions.db");
    fs::copy(fixture(DATABASE), &path).unwrap();
    let connection = Connection::open(&path).unwrap();
    // As it was before the compaction.
    connection
        .execute_batch(
            "CREATE TEMP TABLE later AS SELECT * FROM messages WHERE message_id BETWEEN 'msg_0006' AND 'msg_0009';
             DELETE FROM messages WHERE message_id BETWEEN 'msg_0006' AND 'msg_0009';
             UPDATE messages SET metadata_json = '{\"userVisible\":true,\"agentVisible\":true}';",
        )
        .unwrap();
    let desk = Desk::new();
    let first = desk.import(&path);
    // The program deletes all messages of a session and writes them again.
    connection
        .execute_batch(
            "CREATE TEMP TABLE whole AS SELECT * FROM messages UNION ALL SELECT * FROM later;
             UPDATE whole SET metadata_json = '{\"userVisible\":true,\"agentVisible\":false}' WHERE message_id < 'msg_0005';
             UPDATE whole SET metadata_json = '{\"userVisible\":false,\"agentVisible\":false}' WHERE message_id = 'msg_0005';
             DELETE FROM messages;
             INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
               SELECT message_id, session_id, role, content_json, created_timestamp, metadata_json FROM whole ORDER BY message_id;",
        )
        .unwrap();

    let grown = desk.import(&path);
    let again = desk.import(&path);

    assert_eq!([first.added(), grown.added(), again.added()], [7, 4, 0]);
    let kinds: Vec<u64> = grown.conversations.iter().map(|imported| imported.changed).collect();
    assert_eq!(kinds, [0, 0]);
}
