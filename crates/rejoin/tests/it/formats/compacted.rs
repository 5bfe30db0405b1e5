//! Compacted sessions: what is sent of one here is what its own program sends.

use std::fs;

use rejoin::formats::SourceKept;
use rejoin::view::Recipient;
use serde_json::{Value, json};

use crate::formats::claude::{line, reply, text, user};
use crate::formats::import::Desk;
use crate::formats::{file_of, fixture, kept, outline, read};

const MAIN: &str = "claude/compacted-2.1.326/aaaaaaaa-1111-4111-8111-111111111111.jsonl";
const FORK: &str = "claude/compacted-2.1.326/035d6566-fa75-4c18-aa9e-8e75cc4d9a9b.jsonl";
const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";
const ROLLOUT: &str =
    "codex/compacted-0.169/rollout-2026-11-17T20-09-05-01a1eb20-9d48-7771-a475-0ee9f77793d9.jsonl";

/// Roles and texts.
type Sent = Vec<(String, Vec<String>)>;

/// What a recipient is sent of a session, what was repaired, and what was skipped when it was read.
fn sent(path: &str, recipient: &Recipient) -> (Sent, Vec<String>, Vec<String>) {
    let desk = Desk::new();
    let imported = desk.import(&fixture(path));
    let (sent, repairs) = desk.sent(imported.conversations[0].id, recipient);
    (sent, repairs, imported.reasons.into_iter().map(|skipped| skipped.why).collect())
}

/// What Claude Code itself sent, without the reply that came to it.
fn sent_by_claude(name: &str) -> Sent {
    let text = fs::read_to_string(fixture("claude/compacted-2.1.326/sent.json")).unwrap();
    let sent: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(sent[name].clone()).unwrap()
}

/// The same without the newest reply, which the request of the program was for.
fn before_reply(
    (mut sent, repairs, skipped): (Sent, Vec<String>, Vec<String>),
) -> (Sent, Vec<String>, Vec<String>) {
    assert_eq!(sent.pop().map(|(role, _)| role).as_deref(), Some("assistant"));
    (sent, repairs, skipped)
}

#[test]
fn a_compacted_session_is_sent_as_claude_code_sends_it() {
    let shown = before_reply(sent(MAIN, &Recipient::anthropic()));

    assert_eq!(shown, (sent_by_claude("main"), vec![], vec![]));
}

#[test]
fn a_fork_of_a_compacted_session_is_sent_as_claude_code_sends_it_and_nothing_in_it_is_missing() {
    let shown = before_reply(sent(FORK, &Recipient::anthropic()));

    assert_eq!(shown, (sent_by_claude("fork"), vec![], vec![]));
}

#[test]
fn what_claude_code_attaches_and_notes_is_kept_and_is_no_message() {
    let tree = read(&fixture(MAIN));

    let roles: Vec<&str> = tree.messages.iter().map(|found| found.message.role.as_str()).collect();
    assert!(!roles.contains(&"system"), "{roles:?}");
    let file = fs::read_to_string(fixture(MAIN)).unwrap();
    let lines: u64 = tree.messages.iter().map(|found| found.source.lines().count() as u64).sum();
    assert_eq!(lines + tree.asides.len() as u64, file.lines().count() as u64);
}

/// A compaction after two turns that keeps messages, and what follows it.
fn compacted(boundary: Value, summary: Value) -> Vec<String> {
    let mut flags = json!({"message": {"role": "user", "content": "THE SUMMARY"}, "isCompactSummary": true});
    for (name, value) in summary.as_object().unwrap() {
        flags[name] = value.clone();
    }
    let above = if boundary.is_null() { "a2" } else { "b1" };
    let mut lines = vec![
        user("u1", None, "Q1"),
        reply("a1", "u1", "m1", text("R1")),
        user("u2", Some("a1"), "Q2"),
        reply("a2", "u2", "m2", text("R2")),
    ];
    if !boundary.is_null() {
        let mark =
            json!({"subtype": "compact_boundary", "logicalParentUuid": "a2", "compactMetadata": boundary});
        lines.push(line("system", "b1", None, mark));
    }
    lines.push(line("user", "s1", Some(above), flags));
    lines.push(reply("a3", "s1", "m3", text("R3")));
    lines
}

fn shown(lines: &[String]) -> Vec<String> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);
    let desk = Desk::new();
    let imported = desk.import(&path);
    let (sent, _) = desk.sent(imported.conversations[0].id, &Recipient::anthropic());
    sent.into_iter().flat_map(|(_, texts)| texts).collect()
}

#[test]
fn a_summary_replaces_history_only_behind_the_mark_of_a_compaction() {
    let preserved = json!({"preservedMessages": {"uuids": ["u2", "a2"]}});

    let marked = shown(&compacted(preserved.clone(), json!({})));
    let unmarked = shown(&compacted(Value::Null, json!({})));
    let unsummarised = shown(&compacted(preserved, json!({"isCompactSummary": false})));

    // The program was asked what it sends of these.
    assert_eq!(marked, ["THE SUMMARY", "Q2", "R2", "R3"]);
    assert_eq!(unmarked, ["Q1", "R1", "Q2", "R2", "THE SUMMARY", "R3"]);
    assert_eq!(unsummarised, ["Q1", "R1", "Q2", "R2", "THE SUMMARY", "R3"]);
}

#[test]
fn a_preserved_call_goes_with_its_result() {
    let call = json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {"n": 1}});
    let answer = json!([{"type": "tool_result", "tool_use_id": "c1", "content": "out"}]);
    let preserved = json!({"preservedMessages": {"uuids": ["a1", "r1", "a2"]}});
    let mark =
        json!({"subtype": "compact_boundary", "logicalParentUuid": "a2", "compactMetadata": preserved});
    let summary = json!({"message": {"role": "user", "content": "THE SUMMARY"}, "isCompactSummary": true});
    let lines = [
        user("u1", None, "Q1"),
        reply("a1", "u1", "m1", call),
        line("user", "r1", Some("a1"), json!({"message": {"role": "user", "content": answer}})),
        reply("a2", "r1", "m2", text("R2")),
        line("system", "b1", None, mark),
        line("user", "s1", Some("b1"), summary),
        user("u3", Some("s1"), "Q3"),
    ];

    assert_eq!(shown(&lines), ["THE SUMMARY", "Bash {\"n\":1}", "out", "R2", "Q3"]);
}

#[test]
fn an_attachment_between_a_call_and_its_result_parts_neither_from_the_reply() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let result = |uuid: &str, parent: &str, id: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "out"}]);
        line("user", uuid, Some(parent), json!({"message": {"role": "user", "content": content}}))
    };
    let note = |uuid: &str, parent: Option<&str>| {
        line("attachment", uuid, parent, json!({"attachment": {"type": "hook"}}))
    };
    let lines = [
        note("n0", None),
        user("u1", Some("n0"), "go"),
        note("n1", Some("u1")),
        reply("a1", "n1", "m1", call("c1")),
        note("n2", Some("a1")),
        result("r1", "n2", "c1"),
        reply("a2", "r1", "m1", call("c2")),
        result("r2", "a2", "c2"),
        note("n3", Some("r2")),
        user("u2", Some("n3"), "on"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);

    let tree = read(&path);

    let expected = [
        "u1 < - user: go",
        "a1 < u1 assistant: Bash>{} | Bash>{}",
        "r1 < a1 tool: =\"out\"",
        "r2 < r1 tool: =\"out\"",
        "u2 < r2 user: on",
    ];
    assert_eq!((outline(&tree.messages), tree.asides.len()), (expected.map(str::to_owned).to_vec(), 4));
}

#[test]
fn codex_keeps_prompts_by_their_names_and_as_it_sends_them() {
    let (sent, repairs, skipped) = sent(ROLLOUT, &Recipient::responses());

    let prompts = sent.iter().filter(|(role, _)| role == "user").flat_map(|(_, texts)| texts);
    let prompts: Vec<&str> = prompts.map(String::as_str).filter(|text| !text.starts_with('<')).collect();
    let cut: Vec<String> = prompts.iter().map(|text| text.chars().take(33).collect()).collect();
    let expected = [
        "NTH1 hello from Codex UNI Grüße 你",
        "NTH2 TOOLTURN please",
        "NTH3 PARTURN please",
        "NTH4 look at this picture",
        "NTH6 compact before this TOOLTURN",
        "Another language model started to",
        "NTH7 after compaction UNI",
    ];
    assert_eq!((cut, skipped), (expected.map(str::to_owned).to_vec(), vec![]));
    assert!(repairs.iter().all(|repair| !repair.contains("described")), "{repairs:?}");
}

#[test]
fn a_prompt_that_codex_cut_is_kept_with_the_words_that_are_left() {
    let item = |id: &str, text: &str| json!({"type": "message", "role": "user", "id": id, "content": [{"type": "input_text", "text": text}]});
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}).to_string()
    };
    let meta = json!({"id": SESSION, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/p"});
    let history = [item("p1", "a long…prompt"), item("p2", "short"), item("s", "SUMMARY")];
    let lines = [
        line("session_meta", meta),
        line("response_item", item("p1", "a long and winding prompt")),
        line("response_item", item("p2", "short")),
        line("response_item", item("p3", "short")),
        line("compacted", json!({"message": "SUMMARY", "replacement_history": history})),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("rollout-2026-01-02T03-04-05-{SESSION}.jsonl"), &lines);

    let tree = read(&path);

    let mut expected =
        vec![SourceKept { message: "l2".to_owned(), text: Some("a long…prompt".to_owned()) }];
    expected.extend(kept(&["l3"]));
    assert_eq!(tree.messages[3].keeps, expected);
}
