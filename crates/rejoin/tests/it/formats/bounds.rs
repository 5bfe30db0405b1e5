//! Files that are made to take for ever, or all memory: time goes with their
//! size, and what is held has a limit.

use std::path::Path;
use std::time::{Duration, Instant};

use rejoin::formats::{Format, ReadLimits, Reading, Source, SourcePiece};
use serde_json::{Value, json};

use crate::formats::claude::{line, reply, text, user};
use crate::formats::file_of;

/// What each of these takes many times over where time grows with the square of the size.
const SOON: Duration = Duration::from_secs(60);

const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";
const ROLLOUT: &str = "rollout-01a1e059-7bf2-7302-8c1e-a7466ee2f7dc.jsonl";

/// How many messages are in a file, and whether that was known soon.
fn count(path: &Path) -> (usize, bool) {
    let (started, mut messages) = (Instant::now(), 0);
    let source = Source::open(path).unwrap();
    let mut take = |piece| {
        messages += usize::from(matches!(piece, SourcePiece::Message(_)));
        Ok(())
    };
    let mut reading = Reading::new(ReadLimits::default(), &mut take);
    Format::of(&source).unwrap().read(&source, &mut reading).unwrap();
    (messages, started.elapsed() < SOON)
}

fn count_of(name: &str, lines: &[String]) -> (usize, bool) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(name, &lines);
    count(&path)
}

/// Why a file is refused when a line may have 10,000 bytes.
fn refused(name: &str, lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(name, &lines);
    let source = Source::open(&path).unwrap();
    let limits = ReadLimits { line_bytes: 10_000, ..ReadLimits::default() };
    let error =
        Format::of(&source).unwrap().read(&source, &mut Reading::new(limits, &mut |_| Ok(()))).unwrap_err();
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn item(payload: Value) -> String {
    json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": "response_item", "payload": payload}).to_string()
}

fn thread() -> String {
    let payload = json!({"id": "01a1e059-7bf2-7302-8c1e-a7466ee2f7dc", "timestamp": "2026-11-15T12:00:00.000Z",
                         "cwd": "/tmp"});
    json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": "session_meta", "payload": payload}).to_string()
}

fn said(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

#[test]
fn a_block_with_very_many_fields_is_read_soon() {
    let mut block = text("one");
    (0..150_000).for_each(|n| block[format!("field{n}")] = json!(n));

    let lines = [user("u1", None, "go"), reply("a1", "u1", "m1", block)];

    assert_eq!(count_of(SESSION, &lines), (2, true));
}

#[test]
fn a_reply_of_very_many_lines_is_read_soon() {
    let mut lines = vec![user("u1", None, "go"), reply("a0", "u1", "m1", text("0"))];
    lines.extend((1..100_000).map(|n| reply(&format!("a{n}"), &format!("a{}", n - 1), "m1", text("x"))));

    assert_eq!(count_of(SESSION, &lines), (2, true));
}

#[test]
fn very_many_sub_agents_in_one_file_are_read_soon() {
    let side = |n: usize| {
        let said = json!({"message": {"role": "user", "content": "x"}, "isSidechain": true});
        line("user", &format!("s{n}"), None, said)
    };
    let mut lines = vec![user("u1", None, "go")];
    lines.extend((0..40_000).map(side));

    assert_eq!(count_of(SESSION, &lines), (40_001, true));
}

#[test]
fn a_compaction_that_keeps_very_many_messages_is_read_soon() {
    let uuids: Vec<String> = (0..60_000).map(|n| format!("kept-{n}")).collect();
    let boundary =
        json!({"subtype": "compact_boundary", "compactMetadata": {"preservedMessages": {"uuids": uuids}}});
    let summary = json!({"isCompactSummary": true, "message": {"role": "user", "content": "in short"}});
    let lines = [
        user("u1", None, "go"),
        line("system", "b1", None, boundary),
        line("user", "u2", Some("b1"), summary),
    ];

    assert_eq!(count_of(SESSION, &lines), (2, true));
}

#[test]
fn a_thread_that_keeps_very_many_messages_is_read_soon() {
    let prompts =
        |from: usize| (from..from + 12_000).map(|n| said("user", "input_text", &format!("prompt {n}")));
    let history: Vec<Value> = prompts(0).collect();
    let compacted = json!({"message": "in short", "replacement_history": history});
    let mut lines = vec![thread()];
    lines.extend(prompts(0).map(item));
    lines.push(
        json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": "compacted", "payload": compacted})
            .to_string(),
    );

    assert_eq!(count_of(ROLLOUT, &lines), (12_001, true));
}

#[test]
fn a_message_that_goes_on_for_ever_is_an_error() {
    let long = "x".repeat(1_000);
    let mut session = vec![user("u1", None, "go"), reply("a0", "u1", "m1", text(&long))];
    session.extend((1..20).map(|n| reply(&format!("a{n}"), &format!("a{}", n - 1), "m1", text(&long))));
    let mut rollout = vec![thread()];
    rollout.extend((0..20).map(|_| item(said("assistant", "output_text", &long))));

    let why = [refused(SESSION, &session), refused(ROLLOUT, &rollout)];

    assert_eq!(why, ["a reply has more than 10000 bytes", "a message has more than 10000 bytes"]);
}

#[test]
fn marks_before_the_first_message_have_a_limit() {
    let mark =
        |n: usize| json!({"type": "queue-operation", "n": n, "content": "x".repeat(1_000)}).to_string();
    let mut session: Vec<String> = (0..20).map(mark).collect();
    session.push(user("u1", None, "go"));
    let event = |n: usize| {
        let payload = json!({"type": "agent_reasoning", "n": n, "text": "x".repeat(1_000)});
        json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": "event_msg", "payload": payload}).to_string()
    };
    let mut rollout = vec![thread()];
    rollout.extend((0..20).map(event));

    let why = [refused(SESSION, &session), refused(ROLLOUT, &rollout)];

    assert_eq!(why, ["what comes before the first message has more than 10000 bytes"; 2]);
}

#[test]
fn results_that_are_too_large_to_hold_go_out_as_they_come() {
    let call = |n: usize| json!({"type": "tool_use", "id": format!("t{n}"), "name": "Read", "input": {}});
    let result = |n: usize| {
        let content =
            json!([{"type": "tool_result", "tool_use_id": format!("t{n}"), "content": "x".repeat(4_000)}]);
        let said = json!({"message": {"role": "user", "content": content}});
        line("user", &format!("r{n}"), Some(&format!("a{n}")), said)
    };
    let mut lines = vec![user("u1", None, "go"), reply("a0", "u1", "m1", call(0))];
    lines.extend((1..6).map(|n| reply(&format!("a{n}"), &format!("a{}", n - 1), "m1", call(n))));
    lines.extend((0..6).map(result));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(SESSION, &lines);
    let source = Source::open(&path).unwrap();
    let (mut messages, limits) = (Vec::new(), ReadLimits { line_bytes: 10_000, ..ReadLimits::default() });

    let mut take = |piece| {
        if let SourcePiece::Message(found) = piece {
            messages.push(found.id);
        }
        Ok(())
    };
    Format::of(&source).unwrap().read(&source, &mut Reading::new(limits, &mut take)).unwrap();

    assert_eq!(messages, ["u1", "a0", "r0", "r1", "r2", "r3", "r4", "r5"]);
}
