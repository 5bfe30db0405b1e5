//! Sessions of opencode.

use std::fs;
use std::path::PathBuf;

use rejoin::formats::{Format, ReadLimits, Source, SourceParent, Tree};
use rejoin::{Block, Status};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::formats::import::Desk;
use crate::formats::{fixture, kept, read};

const REAL: &str = "ses_e1f9d9aeeffewo5vWTAZ6s94gG";

/// A copy of the real database that can be changed.
struct Copy {
    _directory: TempDir,
    path: PathBuf,
    connection: Connection,
}

impl Copy {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opencode.db");
        fs::copy(fixture("opencode/opencode.db"), &path).unwrap();
        let connection = Connection::open(&path).unwrap();
        Self { _directory: directory, path, connection }
    }

    fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    /// A session of its own, with nothing in it.
    fn session(&self, id: &str, parent: Option<&str>) {
        let sql = "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated, agent)
                   VALUES (?1, 'global', ?2, 's', '/tmp', ?1, '1', 1794766000000, 1794766000000, 'general')";
        self.connection.execute(sql, params![id, parent]).unwrap();
    }

    fn message(&self, session: &str, id: &str, time: i64, info: Value, parts: &[Value]) {
        let sql = "INSERT OR REPLACE INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
        self.connection.execute(sql, params![id, session, time, info.to_string()]).unwrap();
        for (place, part) in parts.iter().enumerate() {
            let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
            let name = format!("prt_{id}_{place}");
            self.connection.execute(sql, params![name, id, session, time, part.to_string()]).unwrap();
        }
    }

    fn messages_of(&self, session: &str) -> Tree {
        let mut tree = read(&self.path);
        tree.messages.retain(|found| found.conversation == session);
        tree.conversations.retain(|found| found.id == session);
        tree
    }
}

fn user(time: i64) -> Value {
    json!({"role": "user", "time": {"created": time}, "agent": "build"})
}

fn assistant(time: i64) -> Value {
    json!({"role": "assistant", "time": {"created": time}, "modelID": "m", "providerID": "p", "finish": "stop"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool(call: &str, state: Value) -> Value {
    json!({"type": "tool", "callID": call, "tool": "bash", "state": state})
}

fn done(output: &str) -> Value {
    json!({"status": "completed", "input": {"command": "ls"}, "output": output, "title": "", "metadata": {}, "time": {"start": 1, "end": 2}})
}

#[test]
fn a_real_database_is_read_whole() {
    let tree = read(&fixture("opencode/opencode.db"));

    let titles: Vec<_> =
        tree.conversations.iter().map(|found| found.header.title.as_deref().unwrap()).collect();
    assert_eq!(titles, ["MOCK-REPLY 166; saw 1 messages", "MOCK-REPLY 166; saw 1 messages (fork #1)"]);
    let first: Vec<_> = tree.messages_of(REAL).map(|found| super::said(&found.message)).collect();
    let expected = [
        "user: \"hello opencode\"",
        "assistant: MOCK-REPLY 167; saw 1 messages",
        "user: \"second opencode q\"",
        "assistant: MOCK-REPLY 168; saw 3 messages",
    ];
    assert_eq!(first, expected);
    assert_eq!((tree.messages.len(), tree.skipped.len()), (10, 0));
    let usage = tree.messages[1].message.usage.as_ref().unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (10, 20));
    assert_eq!(tree.conversations[0].header.project.as_deref(), Some("/home/dev/src/agents/proj/oc"));
    assert_eq!(tree.conversations[0].header.settings.model.as_deref(), Some("mock-model"));
}

#[test]
fn an_export_has_the_same_messages_as_the_database() {
    let whole = read(&fixture("opencode/opencode.db"));
    let export = read(&fixture("opencode/export.json"));

    let own: Vec<_> = whole.messages_of(REAL).cloned().collect();
    assert_eq!(export.messages, own);
    assert_eq!(export.conversations[..], whole.conversations[..1]);
}

#[test]
fn what_follows_from_a_result_stands_after_it() {
    let tree = read(&fixture("opencode/handwritten-import.json"));

    let expected =
        ["user: OLDQ", "assistant: bash>{\"command\":\"ls\"}", "tool: =\"a.txt\"", "assistant: OLDA"];
    let said: Vec<_> = tree.messages.iter().map(|found| super::said(&found.message)).collect();
    assert_eq!(said, expected);
}

#[test]
fn steps_of_one_reply_are_messages_with_their_results_between() {
    let copy = Copy::new();
    copy.session("ses_x", None);
    let start = json!({"type": "step-start"});
    let failed =
        json!({"status": "error", "input": {}, "error": "no such file", "time": {"start": 1, "end": 2}});
    let running = json!({"status": "running", "input": {}, "time": {"start": 1}});
    let parts = [
        start.clone(),
        json!({"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}, "time": {"start": 1}}),
        tool("c1", done("a")),
        tool("c2", failed),
        start,
        text("so"),
        json!({"type": "patch", "hash": "h", "files": ["a"]}),
        json!({"type": "hologram", "depth": 3}),
        tool("c3", running),
    ];
    copy.message("ses_x", "msg_1", 1_794_766_000_001, assistant(1_794_766_000_001), &parts);

    let tree = copy.messages_of("ses_x");

    let said: Vec<_> = tree.messages.iter().map(|found| super::said(&found.message)).collect();
    let expected = [
        "assistant: (hm) | bash>{\"command\":\"ls\"} | bash>{}",
        "tool: =\"a\" | =\"no such file\"",
        "assistant: so | [patch] | [hologram] | bash>{}",
    ];
    assert_eq!(said, expected);
    let ids: Vec<_> = tree.messages.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(ids, ["msg_1", "msg_1/results", "msg_1/1"]);
    let Block::Thinking(thinking) = &tree.messages[0].message.blocks[0] else { panic!("{tree:?}") };
    assert_eq!(thinking.signature.as_deref(), Some("sig"));
}

#[test]
fn a_child_session_is_a_run_of_the_message_that_asked_for_it() {
    let copy = Copy::new();
    copy.session("ses_child", Some("ses_x"));
    copy.session("ses_x", None);
    let mut state = done("found it");
    state["metadata"] = json!({"sessionId": "ses_child"});
    copy.message("ses_x", "msg_1", 1_794_766_000_001, assistant(1_794_766_000_001), &[tool("c1", state)]);
    copy.message("ses_child", "msg_2", 1_794_766_000_002, user(1_794_766_000_002), &[text("find it")]);

    let tree = read(&copy.path);

    let ids: Vec<_> = tree.conversations.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(ids[2..], ["ses_x", "ses_child"]);
    let parent = SourceParent {
        conversation: "ses_x".to_owned(),
        message: Some("msg_1".to_owned()),
        name: "general".to_owned(),
        run: "ses_child".to_owned(),
    };
    assert_eq!(tree.conversations[3].parent, Some(parent));
}

#[test]
fn a_compaction_is_a_summary_that_keeps_its_tail() {
    let copy = Copy::new();
    copy.session("ses_x", None);
    let mark = json!({"type": "compaction", "auto": true, "tail_start_id": "msg_3"});
    let mut summary = assistant(5);
    summary["summary"] = json!(true);
    summary["parentID"] = json!("msg_4");
    for (id, info, part) in [
        ("msg_1", user(1), text("one")),
        ("msg_2", assistant(2), text("1")),
        ("msg_3", user(3), text("two")),
        ("msg_4", user(4), mark),
        ("msg_5", summary, text("so far")),
        ("msg_6", user(6), text("three")),
    ] {
        let time = info["time"]["created"].as_i64().unwrap();
        copy.message("ses_x", id, time, info, &[part]);
    }

    let tree = copy.messages_of("ses_x");

    let said: Vec<_> = tree.messages.iter().map(|found| super::said(&found.message)).collect();
    let expected = [
        "user: one",
        "assistant: 1",
        "user: two",
        "user: [compaction]",
        "user: summary so far",
        "user: three",
    ];
    assert_eq!(said, expected);
    assert_eq!(tree.messages[4].keeps, kept(&["msg_3"]));
}

#[test]
fn what_was_taken_back_is_kept_and_the_head_stands_before_it() {
    let copy = Copy::new();
    copy.run(&format!(
        "UPDATE session SET revert = '{{\"messageID\":\"msg_1e0630870001JTBgLy2iRWZxVP\"}}', time_archived = 1
         WHERE id = '{REAL}'"
    ));

    let tree = copy.messages_of(REAL);

    assert_eq!(tree.messages.len(), 4);
    assert_eq!(tree.conversations[0].head.as_deref(), Some("msg_1e0626c2d001O2eq7aFZlT7u03"));
    assert_eq!(tree.conversations[0].header.status, Status::Completed);
}

#[test]
fn what_the_program_notes_later_changes_no_message() {
    let copy = Copy::new();
    let desk = Desk::new();
    let first = desk.import(&copy.path);
    copy.run(
        "UPDATE message SET data = json_set(data, '$.summary', json('{\"title\":\"t\",\"diffs\":[1]}')), time_updated = 9
           WHERE json_extract(data, '$.role') = 'user';
         UPDATE part SET time_updated = 9;
         UPDATE session SET cost = 3, tokens_input = 99, time_updated = 9;",
    );

    let again = desk.import(&copy.path);
    copy.message(REAL, "msg_new", 1_794_765_990_000, user(1_794_765_990_000), &[text("more")]);
    let grown = desk.import(&copy.path);

    assert_eq!([first.added(), again.added(), grown.added()], [10, 0, 1]);
}

#[test]
fn an_export_that_was_cut_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("export.json");
    let whole = fs::read(fixture("opencode/export.json")).unwrap();
    fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    let source = Source::open(&path).unwrap();

    let format = Format::of(&source).unwrap();
    let error = Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading)).unwrap_err();

    assert_eq!((format.name, error.kind()), ("opencode", rejoin::ErrorKind::Corrupt));
    assert!(format!("{error:?}").contains("it is not an export of opencode"), "{error:?}");
}

#[test]
fn messages_that_are_no_json_are_told() {
    let copy = Copy::new();
    copy.run(
        "UPDATE message SET data = 'broken' WHERE id = 'msg_1e0626c2d001O2eq7aFZlT7u03';
         UPDATE part SET data = '[]' WHERE id = 'prt_1e06265de0017iB84KONWWoSWC';",
    );

    let tree = read(&copy.path);

    let why: Vec<_> = tree.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "a part of message `msg_1e06265ca001yeOCD6AuX1SbIT` is not JSON",
            "message `msg_1e0626c2d001O2eq7aFZlT7u03` is not JSON"
        ]
    );
    assert_eq!(tree.messages.len(), 9);
}

/// What is known of a reply that is being written.
fn writing(time: i64) -> Value {
    let mut info = assistant(time);
    info.as_object_mut().unwrap().remove("finish");
    info
}

#[test]
fn a_reply_that_is_imported_while_it_is_written_is_one_message() {
    const TIME: i64 = 1_794_766_000_001;
    let (copy, desk) = (Copy::new(), Desk::new());
    copy.session("ses_x", None);
    copy.message("ses_x", "msg_1", TIME, user(TIME), &[text("go")]);
    let import = || desk.import_one(&copy.path, "ses_x");
    let write = |info: Value, parts: &[Value]| copy.message("ses_x", "msg_2", TIME + 1, info, parts);
    let (start, input) = (json!({"type": "step-start"}), json!({"command": "ls"}));
    let running = json!({"status": "running", "input": input, "time": {"start": 1}});
    let mut complete = assistant(TIME + 1);
    complete["time"]["completed"] = json!(TIME + 9);

    let mut told = Vec::new();
    write(writing(TIME + 1), &[]);
    told.push(import());
    write(writing(TIME + 1), &[start.clone(), text("I l")]);
    told.push(import());
    write(writing(TIME + 1), &[start.clone(), text("I look."), tool("c1", running.clone())]);
    told.push(import());
    let first = [start.clone(), text("I look."), tool("c1", done("a")), tool("c2", running)];
    write(writing(TIME + 1), &first);
    told.push(import());
    let all =
        [start.clone(), text("I look."), tool("c1", done("a")), tool("c2", done("b")), start, text("So.")];
    write(writing(TIME + 1), &all);
    told.push(import());
    write(complete, &all);
    told.push(import());
    told.push(import());

    let call = r#"bash>{"command":"ls"}"#;
    let whole = owned(&[
        "user: go",
        &format!("assistant: I look. | {call} | {call}"),
        r#"tool: ="a" | ="b""#,
        "assistant: So.",
    ]);
    let expected = [
        (owned(&["user: go", "assistant: "]), 0, (2, 0, 0)),
        (owned(&["user: go", "assistant: I l"]), 0, (0, 1, 0)),
        (owned(&["user: go", &format!("assistant: I look. | {call}")]), 0, (0, 1, 0)),
        (
            owned(&["user: go", &format!("assistant: I look. | {call} | {call}"), r#"tool: ="a""#]),
            0,
            (1, 1, 0),
        ),
        (whole.clone(), 0, (1, 1, 0)),
        (whole.clone(), 0, (0, 1, 0)),
        (whole, 0, (0, 0, 0)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_reply_that_changes_after_it_was_complete_stays_beside_what_it_becomes() {
    const TIME: i64 = 1_794_766_000_001;
    let (copy, desk) = (Copy::new(), Desk::new());
    copy.session("ses_x", None);
    let mut complete = assistant(TIME);
    complete["time"]["completed"] = json!(TIME + 9);
    copy.message("ses_x", "msg_1", TIME, complete.clone(), &[text("one")]);
    desk.import(&copy.path);
    copy.message("ses_x", "msg_1", TIME, complete, &[text("two")]);

    let told = desk.import_one(&copy.path, "ses_x");

    assert_eq!(told, (owned(&["assistant: two"]), 1, (1, 0, 1)));
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
