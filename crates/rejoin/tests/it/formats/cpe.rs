//! Conversations of CPE.

use rejoin::formats::{SourceConversation, SourceMessage, SourceParent, Tree};
use rejoin::{Block, Json, Media, MediaKind, Message, Other, Role, Snapshot, Time, Usage};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::formats::database::{TABLES, said};
use crate::formats::import::Desk;
use crate::formats::round::{round, written};
use crate::formats::{fixture, outline, read};

/// What is read from a database that these statements made.
fn read_of(statements: &str) -> (TempDir, Tree) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".cpeconvo");
    Connection::open(&path).unwrap().execute_batch(statements).unwrap();
    let tree = read(&path);
    (directory, tree)
}

fn plain() -> String {
    [
        TABLES,
        &said("aaaaaa", None, "user", "one"),
        &said("rrrrrr", None, "user", "do it"),
        &said("bbbbbb", Some("aaaaaa"), "assistant", "1"),
        &said("cccccc", Some("bbbbbb"), "user", "two"),
        &said("ssssss", Some("rrrrrr"), "assistant", "done"),
        &said("dddddd", Some("bbbbbb"), "user", "two, but other"),
        "UPDATE messages SET title = 'Lisbon' WHERE id = 'aaaaaa';
         UPDATE messages SET title = 'subagent:reviewer:7f' WHERE id IN ('rrrrrr', 'ssssss');
         UPDATE messages SET title = 'cheap' WHERE id = 'dddddd';",
    ]
    .join("\n")
}

#[test]
fn a_tree_is_a_conversation_with_all_its_branches() {
    let (_directory, tree) = read_of(&plain());

    let expected = [
        "aaaa < - user: one",
        "bbbb < aaaa assistant: 1",
        "cccc < bbbb user: two",
        "dddd < bbbb user: two, but other",
        "rrrr < - user: do it",
        "ssss < rrrr assistant: done",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!(tree.messages[3].message.label.as_deref(), Some("cheap"));
    assert_eq!(tree.skipped, []);
}

#[test]
fn titles_tell_conversations_and_runs_of_sub_agents() {
    let (_directory, tree) = read_of(&plain());

    let told: Vec<_> = tree
        .conversations
        .iter()
        .map(|found| (found.id.as_str(), found.header.title.as_deref(), found.parent.clone()))
        .collect();

    let run = SourceParent {
        conversation: String::new(),
        message: None,
        name: "reviewer".to_owned(),
        run: "7f".to_owned(),
    };
    assert_eq!(told, [("aaaaaa", Some("Lisbon"), None), ("rrrrrr", Some("subagent:reviewer:7f"), Some(run))]);
}

#[test]
fn blocks_become_calls_results_thinking_and_pictures() {
    let statements = [
        TABLES,
        &said("aaaaaa", None, "user", "look"),
        &said("bbbbbb", Some("aaaaaa"), "assistant", "so"),
        &said("cccccc", Some("bbbbbb"), "tool_result", "a.txt"),
        r#"INSERT INTO blocks VALUES
             ('c1', 'bbbbbb', 'tool_call', 0, 'text/plain', '{"name":"ls","parameters":{"path": "."}}', NULL, 1, ''),
             (NULL, 'bbbbbb', 'thinking', 0, 'text/plain', 'hm', '{"thinking_generator":"anthropic","anthropic_thinking_signature":"s"}', 2, ''),
             (NULL, 'bbbbbb', 'hologram', 0, 'x/y', 'zz', NULL, 3, ''),
             (NULL, 'aaaaaa', 'content', 1, 'image/png', 'AAAA', NULL, 1, '');
           UPDATE blocks SET id = 'c1' WHERE message_id = 'cccccc';
           UPDATE messages SET tool_result_error = 1 WHERE id = 'cccccc';"#,
    ];

    let (_directory, tree) = read_of(&statements.join("\n"));

    let expected = [
        "aaaa < - user: look | <image>",
        "bbbb < aaaa assistant: so | ls>{\"path\": \".\"} | (hm) | [hologram]",
        "cccc < bbbb tool: =\"a.txt\"",
    ];
    assert_eq!(outline(&tree.messages), expected);
    let Block::ToolResult(result) = &tree.messages[2].message.blocks[0] else { panic!("{tree:?}") };
    let Block::Thinking(thinking) = &tree.messages[1].message.blocks[2] else { panic!("{tree:?}") };
    assert_eq!((result.is_error, thinking.signature.as_deref()), (true, Some("s")));
    assert!(tree.messages[1].source.contains("hologram"), "{}", tree.messages[1].source);
}

#[test]
fn a_summary_goes_on_with_the_conversation_it_stands_for() {
    let statements = [
        TABLES,
        "ALTER TABLE messages ADD COLUMN compaction_parent_id TEXT;
         CREATE TABLE acp_sessions (id TEXT PRIMARY KEY, last_message_id TEXT, cwd TEXT NOT NULL, title TEXT NOT NULL,
            model_ref TEXT NOT NULL);
         INSERT INTO acp_sessions VALUES ('s1', 'cccccc', '/home/me/trip', 'Lisbon', 'sonnet'),
            ('s2', 'bbbbbb', '/home/me/trip', 'older', 'sonnet');",
        &said("aaaaaa", None, "user", "one"),
        &said("bbbbbb", None, "user", "so far"),
        &said("cccccc", Some("bbbbbb"), "assistant", "on"),
        "UPDATE messages SET compaction_parent_id = 'aaaaaa' WHERE id = 'bbbbbb';",
    ];

    let (_directory, tree) = read_of(&statements.join("\n"));

    let expected = ["aaaa < - user: one", "bbbb < aaaa user: summary so far", "cccc < bbbb assistant: on"];
    assert_eq!(outline(&tree.messages), expected);
    let conversation = &tree.conversations[0];
    assert_eq!(tree.conversations.len(), 1);
    assert_eq!(conversation.head.as_deref(), Some("cccccc"));
    assert_eq!(conversation.header.title.as_deref(), Some("Lisbon"));
    assert_eq!(conversation.header.project.as_deref(), Some("/home/me/trip"));
    assert_eq!(tree.asides.len(), 2);
}

#[test]
fn what_nests_too_deep_is_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let statements = [
        TABLES,
        &said("aaaaaa", None, "assistant", "look"),
        &format!(
            r#"INSERT INTO blocks VALUES
                 ('c1', 'aaaaaa', 'tool_call', 0, 'text/plain', '{{"name":"ls","parameters":{deep}}}', '{{"x":{deep}}}', 1, '');"#
        ),
    ];

    let (_directory, tree) = read_of(&statements.join("\n"));

    assert_eq!(outline(&tree.messages), ["aaaa < - assistant: look | [tool_call]"]);
}

#[test]
fn messages_in_a_circle_and_messages_without_a_parent_end() {
    let statements = [
        TABLES,
        &said("aaaaaa", Some("bbbbbb"), "user", "one"),
        &said("bbbbbb", Some("aaaaaa"), "assistant", "two"),
        &said("cccccc", Some("gone00"), "martian", "three"),
    ];

    let (_directory, tree) = read_of(&statements.join("\n"));

    let expected = ["aaaa < - user: one", "bbbb < aaaa assistant: two", "cccc < - system: three"];
    assert_eq!(outline(&tree.messages), expected);
}

#[test]
fn what_is_written_has_the_tables_ids_and_order_of_the_program() {
    let source = read(&fixture("claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl"));

    let (_directory, path) = written("cpe", &source);

    let connection = Connection::open(&path).unwrap();
    let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let bad = "SELECT count(*) FROM messages WHERE length(id) != 6 OR id GLOB '*[^0-9A-Za-z]*' \
               OR role NOT IN ('user', 'assistant', 'tool_result')";
    let late =
        "SELECT count(*) FROM messages m JOIN messages p ON m.parent_id = p.id WHERE p.rowid >= m.rowid";
    let known = "SELECT count(*) FROM blocks WHERE block_type NOT IN ('content', 'thinking', 'tool_call')";
    let runs = "SELECT count(*) FROM messages WHERE title LIKE 'subagent:%:%' AND parent_id IS NULL";
    let heads = "SELECT count(*) FROM acp_sessions s JOIN messages m ON m.id = s.last_message_id";
    assert_eq!([bad, late, known, runs, heads].map(one), [0, 0, 0, 1, 1]);
    // The columns that its versions name, the oldest and the newest.
    for sql in [
        "SELECT id, parent_id, title, role, tool_result_error, created_at FROM messages",
        "SELECT id, parent_id, compaction_parent_id, role, tool_result_error, message_extra_fields, model_ref, model_id, \
         model_type, model_display_name, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, created_at \
         FROM messages",
        "SELECT id, message_id, block_type, modality_type, mime_type, content, extra_fields, sequence_order FROM blocks",
        "SELECT id, last_message_id, cwd, title, model_ref, thinking_level, cost_usd, created_at FROM acp_sessions",
    ] {
        connection.prepare(sql).unwrap();
    }
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn a_session_of_claude_code_survives_with_its_sub_agent() {
    let mut source = read(&fixture("claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl"));

    let read = round("cpe", &source);

    source.asides.clear();
    for found in &mut source.messages {
        found.line = 0;
        found.source.clear();
    }
    assert_eq!(read.messages, source.messages);
    let plain = |tree: &Tree| -> Vec<_> {
        let each = tree.conversations.iter();
        each.map(|found| (found.id.clone(), found.created_at, found.header.clone(), found.parent.clone()))
            .collect()
    };
    assert_eq!(plain(&read), plain(&source));
}

#[test]
fn what_was_read_from_the_program_keeps_its_ids() {
    let (_directory, mut tree) = read_of(&plain());
    tree.conversations.truncate(1);
    tree.messages.truncate(4);

    let (_place, path) = written("cpe", &tree);

    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT id FROM messages ORDER BY rowid").unwrap();
    let ids: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(ids, ["aaaaaa", "bbbbbb", "cccccc", "dddddd"]);
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Messages that CPE has no words for.
fn odd() -> Vec<Message> {
    let media = |kind, mime: &str, data: Option<&str>, uri: Option<&str>| {
        Block::Media(Media {
            kind,
            mime_type: mime.to_owned(),
            data: data.map(str::to_owned),
            uri: uri.map(str::to_owned),
            extra: Default::default(),
        })
    };
    let mut named = Block::tool_result("c3", json(r#"[{"type":"text","text":"x","n":1}, {"type":"odd"}]"#));
    if let Block::ToolResult(result) = &mut named {
        result.extra.set("name", json("\"ls\""));
        result.is_error = true;
    }
    let mut failed = Message::assistant("no");
    failed.is_error = true;
    failed.finish = Some("refusal".to_owned());
    failed.usage = Some(Usage {
        input_tokens: 1,
        output_tokens: u64::MAX,
        detail: Some(json(r#"{"cache_read_tokens": 7}"#)),
    });
    let mut own = Message::user("mine").labelled("cheap");
    own.extra.set("rejoin", json("\"not a tag\""));
    vec![
        Message::new(
            Role::Assistant,
            vec![
                Block::tool_call("c1", "ls", json("[1, 2.50]")),
                Block::tool_call("", "", json("null")),
                Block::tool_call("c1", "ls", json(r#"{ "a" : 1 }"#)),
            ],
        ),
        Message::new(
            Role::Tool,
            vec![
                Block::tool_result("c1", json("\"\"")),
                Block::tool_result("c1", json("{\"a\": 1}")),
                named,
                Block::text("and more"),
                Block::tool_result(
                    "c4",
                    json(
                        r#"[{"type":"text","text":"x"},{"type":"image","mime_type":"image/png","data":"AAAA"}]"#,
                    ),
                ),
                Block::tool_result("c5", json("[]")),
            ],
        ),
        Message::new(Role::Tool, Vec::new()),
        Message::new(Role::User, vec![Block::tool_result("c6", json("\"from a user\"")), Block::text("")]),
        Message::new(
            Role::User,
            vec![
                media(MediaKind::File, "application/pdf", Some("AAAA"), None),
                media(MediaKind::File, "text/plain", Some("AAAA"), None),
                media(MediaKind::Image, "image/png", None, Some("https://x/y.png")),
                media(MediaKind::Audio, "audio/wav", Some("AAAA"), None),
                media(MediaKind::Video, "video/mp4", Some("AAAA"), Some("/tmp/x")),
                Block::Snapshot(Snapshot { data: json("{\"commit\":1}"), ..Snapshot::default() }),
                Block::Other(Other { kind: "hologram".to_owned(), ..Other::default() }),
            ],
        ),
        failed,
        own,
        Message::new(Role::System, Vec::new()),
        Message::user("nul \0, '; DROP TABLE messages; -- and \u{1F600}"),
    ]
}

#[test]
fn whatever_a_message_has_survives() {
    let began = Time::from_micros(1_700_000_000_000_001);
    let mut messages: Vec<SourceMessage> = Vec::new();
    for (place, message) in odd().into_iter().enumerate() {
        messages.push(SourceMessage {
            conversation: "c".to_owned(),
            id: format!("m{place}"),
            parent: messages.last().map(|found| found.id.clone()),
            message: message.at(began),
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        });
    }
    messages[5].message.created_at = None;
    let mut own = SourceConversation::new("c", began);
    own.head = Some("m3".to_owned());
    let tree = Tree { conversations: vec![own], messages, ..Tree::default() };

    assert_eq!(round("cpe", &tree), tree);
}

#[test]
fn a_database_that_grows_adds_only_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".cpeconvo");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&plain()).unwrap();
    let desk = Desk::new();

    let first = desk.import(&path);
    let again = desk.import(&path);
    connection.execute_batch(&said("eeeeee", Some("cccccc"), "assistant", "2")).unwrap();
    let grown = desk.import(&path);

    assert_eq!([first.added(), again.added(), grown.added()], [6, 0, 1]);
    assert_eq!(desk.path(grown.conversations[0].id), ["one", "1", "two", "2"]);
}
