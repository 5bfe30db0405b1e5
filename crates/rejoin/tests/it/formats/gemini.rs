//! Sessions of Gemini CLI.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::Block;
use rejoin::formats::{Detection, Format, ReadLimits, Source, Sources, Tree};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::formats::import::Desk;
use crate::formats::{fixture, outline, read};

const RESUMED: &str = "gemini/tmp/gem2/chats/session-2026-11-15T18-09-9b591c14.jsonl";

const SESSION: &str = "aaaaaaaa-1111-4111-8111-111111111111";

fn begin(id: &str) -> Value {
    json!({"sessionId": id, "projectHash": "h", "startTime": "2026-05-01T10:00:00Z", "kind": "main"})
}

/// A record, with its place in time after its name.
fn record(kind: &str, id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-05-01T10:00:05Z", "type": kind, "content": text})
}

/// A reply that calls a tool, with what the tool answered.
fn calling(id: &str, result: Value) -> Value {
    let mut reply = record("gemini", id, "I look.");
    reply["toolCalls"] = json!([
        {"id": "c1", "name": "read_file", "args": {"path": "a"}, "result": result, "status": "success"}
    ]);
    reply
}

fn answer(text: &str) -> Value {
    json!([{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": text}}}])
}

fn chats(directory: &TempDir) -> PathBuf {
    directory.path().join("tmp/short/chats")
}

fn write(path: &Path, lines: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

fn replayed(lines: &[Value]) -> Tree {
    let directory = tempfile::tempdir().unwrap();
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    write(&path, &[&[begin(SESSION)], lines].concat());
    read(&path)
}

/// The messages, and the head.
fn shown(lines: &[Value]) -> (Vec<String>, Option<String>) {
    let tree = replayed(lines);
    assert_eq!(tree.skipped, []);
    (outline(&tree.messages), tree.conversations[0].head.clone())
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_session_that_was_resumed_twice_with_parallel_calls_is_one_line_of_messages() {
    let tree = read(&fixture("gemini-0.61/session-2026-11-17T20-38-6bc5428e.jsonl"));

    let expected = [
        "d049 < - user: <session_context>\nThis is the ",
        "5cf5 < d049 user: NTH1 PARTURN",
        "9aed < 5cf5 assistant: (**Plan** mock thinking 718) | I'll run a command 718. | \
         run_shell_command>{\"command\":\"echo hello-from-to | run_shell_command>{\"command\":\"echo hello-from-to | \
         run_shell_command>{\"command\":\"echo hello-from-to",
        "9aed < 9aed tool: =\"<untrusted_context>\\nOutput:  | =\"<untrusted_context>\\nOutput:  | \
         =\"<untrusted_context>\\nOutput: ",
        "1eed < 9aed assistant: (**Plan** mock thinking 719) | MOCK-REPLY 719; saw 3 messages",
        "c71c < 1eed user: NTH2 end",
        "a5ba < c71c assistant: (**Plan** mock thinking 720) | MOCK-REPLY 720; saw 5 messages",
        "be5f < a5ba user: NTH3 PARTURN",
        "76e2 < be5f assistant: (**Plan** mock thinking 721) | I'll run a command 721. | \
         run_shell_command>{\"command\":\"echo hello-from-to | run_shell_command>{\"command\":\"echo hello-from-to | \
         run_shell_command>{\"command\":\"echo hello-from-to",
        "76e2 < 76e2 tool: =\"<untrusted_context>\\nOutput:  | =\"<untrusted_context>\\nOutput:  | \
         =\"<untrusted_context>\\nOutput: ",
        "2eef < 76e2 assistant: (**Plan** mock thinking 722) | MOCK-REPLY 722; saw 9 messages",
        "f8be < 2eef user: NTH4 after",
        "ae03 < f8be assistant: (**Plan** mock thinking 723) | MOCK-REPLY 723; saw 11 message",
    ];
    assert_eq!((outline(&tree.messages), tree.skipped.len()), (owned(&expected), 0));
}

#[test]
fn only_the_answer_to_a_call_is_its_result() {
    let answer = |id: Value, text: &str| json!({"functionResponse": {"id": id, "name": "read_file", "response": {"output": text}}});
    let all = json!([answer(json!("c0"), "other"), answer(json!("c1"), "own"), answer(json!("c2"), "third")]);
    let results = |result: Value| {
        let tree = replayed(&[record("user", "u1", "go"), calling("g1", result)]);
        outline(&tree.messages)[2..].to_vec()
    };

    let told = [
        results(all),
        results(json!([answer(json!("c2"), "third")])),
        results(json!([answer(Value::Null, "unnamed")])),
    ];

    let result = |text: &str| vec![format!("g1/r < g1 tool: =\"{text}\"")];
    assert_eq!(told, [result("own"), vec![], result("unnamed")]);
}

#[test]
fn a_resumed_session_is_one_line_of_messages() {
    let tree = read(&fixture(RESUMED));

    let expected = [
        "d049 < - user: <session_context>\nThis is the ",
        "b165 < d049 user: question one",
        "244f < b165 assistant: (**Plan** thought) | GEMINI-MOCK 6; saw 1 contents",
        "d65d < 244f user: question two",
        "302f < d65d assistant: (**Plan** thought) | GEMINI-MOCK 7; saw 3 contents",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!(tree.skipped, []);
    let [found] = tree.conversations.as_slice() else { panic!("{:?}", tree.conversations) };
    let header = &found.header;
    let known = [&found.id, header.project.as_ref().unwrap(), header.title.as_ref().unwrap()];
    let expected = [
        "9b591c14-ca6c-49fb-9a2c-16a0b5bd5bcb",
        "/home/dev/src/agents/proj/gem2",
        "GEMINI-MOCK 8; saw 1 contents",
    ];
    assert_eq!(known, expected);
    assert_eq!(header.settings.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(found.created_at.to_string(), "2026-11-15T18:09:43.158000Z");
}

#[test]
fn a_reply_that_comes_again_with_more_is_the_same_message() {
    let lines = [
        record("user", "u1", "go"),
        calling("g1", Value::Null),
        json!({"$set": {"lastUpdated": "2026-05-01T10:00:06Z"}}),
        calling("g1", answer("contents")),
        record("gemini", "g2", "Done."),
    ];

    let expected = [
        "u1 < - user: go",
        "g1 < u1 assistant: I look. | read_file>{\"path\":\"a\"}",
        "g1/r < g1 tool: =\"contents\"",
        "g2 < g1/r assistant: Done.",
    ];
    assert_eq!(shown(&lines), (owned(&expected), Some("g2".to_owned())));
}

#[test]
fn a_message_that_is_replaced_stays_as_a_branch() {
    let lines = [
        record("user", "u1", "first"),
        record("user", "u1", "second"),
        record("gemini", "g1", "one"),
        record("user", "u2", "more"),
        record("gemini", "g1", "two"),
    ];

    let expected = [
        "u1 < - user: first",
        "u1#2 < - user: second",
        "g1 < u1#2 assistant: one",
        "u2 < g1 user: more",
        "g1#2 < u1#2 assistant: two",
        "u2#2 < g1#2 user: more",
    ];
    assert_eq!(shown(&lines), (owned(&expected), Some("u2#2".to_owned())));
}

#[test]
fn what_was_rewound_stays_as_a_branch() {
    let lines = [
        record("user", "u1", "go"),
        record("gemini", "g1", "one"),
        record("user", "u2", "wrong"),
        record("gemini", "g2", "two"),
        json!({"$rewindTo": "u2"}),
        record("user", "u3", "right"),
    ];

    let expected = [
        "u1 < - user: go",
        "g1 < u1 assistant: one",
        "u2 < g1 user: wrong",
        "g2 < u2 assistant: two",
        "u3 < g1 user: right",
    ];
    assert_eq!(shown(&lines), (owned(&expected), Some("u3".to_owned())));
}

#[test]
fn a_new_list_keeps_what_it_repeats_and_leaves_the_rest_as_a_branch() {
    let (first, reply) = (record("user", "u1", "go"), record("gemini", "g1", "one"));
    let lines = [
        first.clone(),
        reply.clone(),
        record("user", "u2", "dropped"),
        json!({"$set": {"messages": [first.clone(), reply, record("user", "u3", "added")]}}),
        json!({"$set": {"messages": [first]}}),
    ];

    let expected =
        ["u1 < - user: go", "g1 < u1 assistant: one", "u2 < g1 user: dropped", "u3 < g1 user: added"];
    assert_eq!(shown(&lines), (owned(&expected), Some("u1".to_owned())));
}

#[test]
fn results_that_are_written_twice_are_read_once() {
    let mut again = record("user", "u2", "");
    again["content"] = answer("contents");
    let lines = [
        record("user", "u1", "go"),
        calling("g1", answer("contents")),
        again,
        record("info", "i1", "printed"),
    ];

    let expected = [
        "u1 < - user: go",
        "g1 < u1 assistant: I look. | read_file>{\"path\":\"a\"}",
        "g1/r < g1 tool: =\"contents\"",
        "i1 < g1/r system: [info]",
    ];
    assert_eq!(shown(&lines), (owned(&expected), Some("i1".to_owned())));
}

#[test]
fn an_old_file_is_one_object() {
    let directory = tempfile::tempdir().unwrap();
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.json");
    let mut whole = begin(SESSION);
    whole["messages"] = json!([record("user", "u1", "go"), record("gemini", "g1", "one")]);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(directory.path().join("projects.json"), r#"{"projects": {"/src/fox": "short"}}"#).unwrap();

    fs::write(&path, serde_json::to_string_pretty(&whole).unwrap()).unwrap();
    let pretty = read(&path);
    fs::write(&path, whole.to_string()).unwrap();
    let dense = read(&path);

    assert_eq!(outline(&pretty.messages), ["u1 < - user: go", "g1 < u1 assistant: one"]);
    assert_eq!(outline(&dense.messages), outline(&pretty.messages));
    assert_eq!(pretty.conversations[0].header.project.as_deref(), Some("/src/fox"));
}

#[test]
fn a_sub_agent_is_read_with_its_session() {
    let directory = tempfile::tempdir().unwrap();
    let main = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let run = chats(&directory).join(SESSION).join("run1.jsonl");
    let mut begun = begin("bbbbbbbb-2222");
    begun["startTime"] = json!("2026-05-01T10:00:07Z");
    write(&main, &[begin(SESSION), record("user", "u1", "go"), calling("g1", answer("x"))]);
    write(&run, &[begun, record("user", "s1", "look")]);

    let tree = read(&main);
    let found = Sources::find(directory.path(), None).unwrap();
    let detected = Format::named("gemini").unwrap().detect(&Source::open(&run).unwrap());

    let parent = tree.conversations[1].parent.as_ref().unwrap();
    assert_eq!((parent.conversation.as_str(), parent.message.as_deref()), (SESSION, Some("g1")));
    assert_eq!((found.found.len(), detected), (1, Detection::Part));
}

#[test]
fn pictures_and_unknown_parts_are_kept() {
    let mut said = record("user", "u1", "");
    said["content"] = json!([
        {"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://x"}}, {"executableCode": {"code": "1"}},
    ]);

    let tree = replayed(&[said]);

    let kinds: Vec<&str> = tree.messages[0].message.blocks.iter().map(Block::kind).collect();
    assert_eq!(kinds, ["text", "image", "file", "executableCode"]);
}

#[test]
fn a_record_that_comes_again_without_end_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let again = vec![record("user", "u1", "the same"); 20];
    write(&path, &[&[begin(SESSION)], &again[..]].concat());
    let source = Source::open(&path).unwrap();
    let limits = ReadLimits { line_bytes: 1_000, ..ReadLimits::default() };

    let error = Tree::gather(limits, |reading| Format::named("gemini").unwrap().read(&source, reading));

    let error = format!("{:?}", error.unwrap_err());
    assert!(error.contains("a message has more than 1000 bytes"), "{error}");
}

/// A reply that calls a tool that is at work.
fn at_work(id: &str, text: &str) -> Value {
    let mut reply = record("gemini", id, text);
    reply["toolCalls"] = json!([
        {"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "executing", "resultDisplay": "50 %"}
    ]);
    reply
}

/// The forms of a reply while it is written.
fn forms() -> [Value; 4] {
    [record("gemini", "g1", "I"), record("gemini", "g1", "I look."), at_work("g1", "I look."), {
        let mut reply = calling("g1", answer("contents"));
        reply["tokens"] = json!({"input": 1, "output": 2});
        reply
    }]
}

/// What each import of a reply is expected to leave.
fn expected_of_forms(after: &[&str]) -> Vec<crate::formats::import::Told> {
    let call = r#"assistant: I look. | read_file>{"path":"a"}"#;
    let forms: [(&[&str], _); 4] = [
        (&["user: go", "assistant: I"], (2 + after.len() as u64, 0, 0)),
        (&["user: go", "assistant: I look."], (0, 1, 0)),
        (&["user: go", call], (0, 1, 0)),
        (&["user: go", call, r#"tool: ="contents""#], (1, 1, 0)),
    ];
    forms.map(|(said, counts)| (owned(&[said, after].concat()), 0, counts)).to_vec()
}

#[test]
fn a_reply_that_is_imported_while_it_is_written_is_one_message() {
    let (directory, desk) = (tempfile::tempdir().unwrap(), Desk::new());
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let mut lines = vec![begin(SESSION), record("user", "u1", "go")];

    let mut told = Vec::new();
    for form in forms() {
        lines.extend([form, json!({"$set": {"lastUpdated": "2026-05-01T10:00:06Z"}})]);
        write(&path, &lines);
        told.push(desk.import_one(&path, SESSION));
    }

    assert_eq!(told, expected_of_forms(&[]));
}

#[test]
fn what_the_program_prints_while_a_reply_is_written_stands_after_it() {
    let (directory, desk) = (tempfile::tempdir().unwrap(), Desk::new());
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let [first, forms @ ..] = forms();
    let mut lines = vec![begin(SESSION), record("user", "u1", "go"), first, record("info", "i1", "printed")];
    write(&path, &lines);

    let mut told = vec![desk.import_one(&path, SESSION)];
    for form in forms {
        lines.push(form);
        write(&path, &lines);
        told.push(desk.import_one(&path, SESSION));
    }

    assert_eq!(told, expected_of_forms(&["system: [info]"]));
}

#[test]
fn a_reply_in_an_old_file_that_is_imported_while_it_is_written_is_one_message() {
    let (directory, desk) = (tempfile::tempdir().unwrap(), Desk::new());
    let path = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();

    let mut told = Vec::new();
    for form in forms() {
        let mut whole = begin(SESSION);
        whole["messages"] = json!([record("user", "u1", "go"), form]);
        fs::write(&path, serde_json::to_string_pretty(&whole).unwrap()).unwrap();
        told.push(desk.import_one(&path, SESSION));
    }

    assert_eq!(told, expected_of_forms(&[]));
}

#[test]
fn an_old_file_that_becomes_a_log_is_the_same_session() {
    let (directory, desk) = (tempfile::tempdir().unwrap(), Desk::new());
    let old = chats(&directory).join("session-2026-05-01T10-00-aaaaaaaa.json");
    let records = [record("user", "u1", "say \"a  b\" \\"), calling("g1", answer("x"))];
    let mut whole = begin(SESSION);
    whole["messages"] = json!(records);
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::write(&old, serde_json::to_string_pretty(&whole).unwrap()).unwrap();
    let first = desk.import_one(&old, SESSION);

    let new = old.with_extension("jsonl");
    write(&new, &[&[begin(SESSION)], &records[..], &[record("user", "u2", "more")]].concat());
    let second = desk.import_one(&new, SESSION);

    assert_eq!((first.1, first.2), (0, (3, 0, 0)));
    assert_eq!((second.0.len(), second.1, second.2), (4, 0, (1, 0, 0)));
}
