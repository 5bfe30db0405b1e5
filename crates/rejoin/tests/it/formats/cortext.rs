//! Folders of Cortext.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::formats::{Format, ReadLimits, Source, Tree};
use rejoin::{Block, ErrorKind, Json, Message, Role, Status};

use crate::formats::documents::{read_below, write_below};
use crate::formats::{fixture, outline, read};

const FOLDER: &str = "cortext/conversations/2025-11-22/001-brainstorm-topic";

/// A folder with this state and these lines.
fn folder(state: Option<&str>, lines: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("conversations/2025-11-22/001-debug-x");
    fs::create_dir_all(own.join(".session")).unwrap();
    if let Some(state) = state {
        fs::write(own.join(".session/session.json"), state).unwrap();
    }
    fs::write(own.join(".session/messages.jsonl"), lines).unwrap();
    (directory, own)
}

fn line(role: &str, content: &str, second: u8) -> String {
    let time = format!("2025-11-22T10:00:{second:02}Z");
    serde_json::json!({"role": role, "content": content, "timestamp": time}).to_string() + "\n"
}

fn why(tree: &Tree) -> Vec<(u64, &str)> {
    tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect()
}

#[test]
fn a_session_is_read_whole() {
    let tree = read(&fixture(FOLDER));

    let conversation = &tree.conversations[0];
    let header = &conversation.header;
    let settings = &header.settings;
    assert_eq!(
        outline(&tree.messages),
        [
            "l1 < - user: Should our internal APIs be RE",
            "l2 < l1 assistant: REST is simpler to cache and t",
            "l3 < l2 user: Leaning toward REST then.",
            "l4 < l3 assistant: Session saved.",
        ]
    );
    assert_eq!(
        (conversation.id.as_str(), conversation.created_at.to_string(), header.kind.as_str(), header.status),
        ("001-brainstorm-topic", "2025-11-22T10:00:00.000000Z".to_owned(), "brainstorm", Status::Paused)
    );
    assert_eq!(
        (header.title.as_deref(), header.synopsis.as_ref().map(|synopsis| synopsis.text.as_str())),
        (Some("API Design Discussion"), Some("Exploring REST vs GraphQL, leaning toward REST"))
    );
    assert_eq!(
        (settings.command.as_deref(), settings.model.as_deref(), settings.tools.as_slice()),
        (
            Some("/workspace.brainstorm"),
            Some("claude-sonnet-4"),
            ["read".to_owned(), "search".to_owned()].as_slice()
        )
    );
    assert_eq!(header.project.as_deref(), fixture("cortext").canonicalize().unwrap().to_str());
    assert_eq!((tree.asides.len(), tree.skipped.len()), (3, 0));
}

#[test]
fn the_files_are_named_as_the_program_names_them() {
    let mut tree = read(&fixture(FOLDER));
    let written = |tree: &Tree| -> Vec<String> {
        let files = Format::named("cortext").unwrap().write(tree).unwrap();
        files.iter().map(|file| file.path.to_str().unwrap().to_owned()).collect()
    };

    let own = written(&tree);
    tree.conversations[0].header.extra.remove("cortext");
    let named = written(&tree);

    let files = |folder: &str| {
        [".session/session.json", ".session/messages.jsonl", "brainstorm.md"]
            .map(|file| format!("conversations/2025-11-22/{folder}/{file}"))
    };
    assert_eq!(own, files("001-brainstorm-topic"));
    assert_eq!(named, files("417-brainstorm-api-design-discussion"));
}

#[test]
fn the_state_says_what_the_document_asks_for() {
    let tree = read(&fixture(FOLDER));
    let files = Format::named("cortext").unwrap().write(&tree).unwrap();

    let mut state: serde_json::Value = serde_json::from_slice(&files[0].bytes).unwrap();
    state.as_object_mut().unwrap().remove("rejoin");
    state.as_object_mut().unwrap().remove("title");

    let text = fs::read_to_string(fixture(FOLDER).join(".session/session.json")).unwrap();
    let mut expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    expected["created_at"] = "2025-11-22T10:00:00.000000Z".into();
    expected["last_active"] = "2025-11-22T10:42:10.000000Z".into();
    assert_eq!(state, expected);
}

#[test]
fn a_line_says_role_content_and_timestamp_and_a_call_is_told_in_words() {
    let mut tree = read(&fixture(FOLDER));
    tree.messages.truncate(1);
    tree.conversations[0].head = None;
    let call = Block::tool_call("c1", "read", Json::parse(r#"{"path":"a.rs"}"#).unwrap());
    tree.messages[0].message = Message::new(Role::Assistant, vec![Block::text("Look:"), call])
        .at("2025-11-22T10:00:05Z".parse().unwrap());

    let files = Format::named("cortext").unwrap().write(&tree).unwrap();

    let text = str::from_utf8(&files[1].bytes).unwrap();
    let head = r#"{"role":"assistant","content":"Look:\n[calls read: {\"path\":\"a.rs\"}]","timestamp":"2025-11-22T10:00:05.000000Z","rejoin":{"id":"l1","#;
    assert!(text.starts_with(head), "{text}");
    let markdown = "# API Design Discussion\n\n## Assistant, 2025-11-22 10:00\n\nLook:\n[calls read: {\"path\":\"a.rs\"}]\n";
    assert_eq!(str::from_utf8(&files[2].bytes).unwrap(), markdown);
}

#[test]
fn bad_lines_torn_tails_and_unknown_roles_are_told_and_the_rest_is_read() {
    let lines = line("user", "one", 1)
        + "{\"role\": \"user\", \"con\n"
        + &line("moderator", "calm down", 2)
        + &line("assistant", "two", 3)
        + "{\"role\":\"user\",\"content\":\"thr";
    let (_directory, own) = folder(None, &lines);

    let tree = read(&own);

    assert_eq!(outline(&tree.messages), ["l1 < - user: one", "l4 < l1 assistant: two"]);
    assert_eq!(tree.asides.iter().map(|aside| aside.line).collect::<Vec<_>>(), [3]);
    let expected = [
        (0, "there is no state of the session"),
        (2, "it is not JSON"),
        (5, "the file ends in the middle of this line"),
    ];
    assert_eq!(why(&tree), expected);
    assert_eq!(tree.conversations[0].id, "001-debug-x");
    assert_eq!(tree.conversations[0].created_at.to_string(), "2025-11-22T10:00:01.000000Z");
}

#[test]
fn a_torn_state_is_an_error_because_it_says_which_conversation_it_is() {
    let (_directory, own) = folder(Some("{\"version\":"), &line("user", "one", 1));
    let source = Source::open(&own).unwrap();

    let error = Tree::gather(ReadLimits::default(), |reading| {
        Format::named("cortext").unwrap().read(&source, reading)
    })
    .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(format!("{error:?}").contains("session.json` is not a complete session state"), "{error:?}");
}

#[test]
fn a_session_that_goes_on_keeps_what_is_kept_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("001-x");
    fs::create_dir_all(own.join(".session")).unwrap();
    for name in [".session/session.json", ".session/messages.jsonl", "brainstorm.md"] {
        fs::copy(fixture(FOLDER).join(name), own.join(name)).unwrap();
    }
    let before = read(&own).asides;
    let change = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(own.join(name)).unwrap();
        fs::write(own.join(name), text.replacen(from, to, 1)).unwrap();
    };
    change(".session/session.json", "\"message_count\": 4", "\"message_count\": 5");
    change(".session/session.json", "10:42:10Z", "11:42:10Z");
    change(
        "brainstorm.md",
        "- GraphQL for flexible queries\n",
        "- GraphQL for flexible queries\n\n## More\n\n- gRPC\n",
    );

    let after = read(&own).asides;

    let lines: Vec<u64> = after.iter().map(|aside| aside.line).collect();
    assert_eq!((&after[..3], lines), (&before[..], vec![0, 1, 3, 8]));
}

#[test]
fn what_the_program_appends_to_a_written_session_goes_on_from_its_head() {
    let directory = tempfile::tempdir().unwrap();
    write_below(directory.path(), "cortext", &read(&fixture(FOLDER)));
    let own = directory.path().join("conversations/2025-11-22/001-brainstorm-topic/.session/messages.jsonl");
    let text = fs::read_to_string(&own).unwrap();
    fs::write(&own, text + &line("user", "and caching?", 59)).unwrap();

    let tree = read_below(directory.path(), "cortext");

    assert_eq!(outline(&tree.messages)[4], "l5 < l4 user: and caching?");
    assert_eq!(tree.conversations[0].head.as_deref(), Some("l5"));
}

#[test]
fn a_text_that_was_changed_by_hand_is_read_as_it_stands() {
    let mut tree = read(&fixture(FOLDER));
    let call = Block::tool_call("c1", "read", Json::parse("{}").unwrap());
    tree.messages[1].message.blocks.push(call);
    let directory = tempfile::tempdir().unwrap();
    write_below(directory.path(), "cortext", &tree);
    let own = directory.path().join("conversations/2025-11-22/001-brainstorm-topic/.session/messages.jsonl");
    let before = read_below(directory.path(), "cortext").messages[1].message.blocks.len();
    let text = fs::read_to_string(&own).unwrap();
    fs::write(&own, text.replacen("simpler to cache", "easier to cache", 1)).unwrap();

    let after = read_below(directory.path(), "cortext").messages[1].message.clone();

    assert_eq!((before, after.blocks.len()), (2, 1));
    assert!(after.text().starts_with("REST is easier to cache"), "{after:?}");
}

#[test]
fn a_link_in_a_folder_leads_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("001-x");
    fs::create_dir_all(own.join(".session")).unwrap();
    let there = fixture(FOLDER).join(".session/messages.jsonl");
    std::os::unix::fs::symlink(there, own.join(".session/messages.jsonl")).unwrap();

    assert!(Format::of(&Source::open(&own).unwrap()).is_none());
    assert!(Format::of(&Source::open(Path::new(directory.path())).unwrap()).is_none());
}
