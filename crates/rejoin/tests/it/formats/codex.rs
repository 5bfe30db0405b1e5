//! Rollouts of Codex.

use std::fs;
use std::path::Path;

use rejoin::Status;
use rejoin::formats::{Format, Source, Tree};
use serde_json::{Value, json};

use crate::formats::round::round;
use crate::formats::{fixture, kept, outline, read};

const THREAD: &str = "01a1e059-7bf2-7302-8c1e-a7466ee2f7dc";
const FORK: &str = "01a1e059-aaf0-7402-a1be-741b1091c000";

fn line(kind: &str, payload: Value) -> String {
    json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": kind, "payload": payload}).to_string()
}

fn meta() -> String {
    let payload = json!({"id": THREAD, "timestamp": "2026-11-15T12:00:00.000Z", "cwd": "/tmp",
                         "originator": "codex", "cli_version": "0"});
    line("session_meta", payload)
}

fn user(text: &str) -> String {
    let content = json!([{"type": "input_text", "text": text}]);
    line("response_item", json!({"type": "message", "role": "user", "content": content}))
}

fn assistant(text: &str) -> String {
    let content = json!([{"type": "output_text", "text": text}]);
    line("response_item", json!({"type": "message", "role": "assistant", "content": content}))
}

fn event(payload: Value) -> String {
    line("event_msg", payload)
}

/// What is read from these lines at this place below a home of the program.
fn read_at(place: &str, lines: &[String]) -> Tree {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let bytes = lines.join("\n") + "\n";
    let index = format!(
        "{{\"id\":\"{THREAD}\",\"thread_name\":\"old\"}}\n{{\"id\":\"{THREAD}\",\"thread_name\":\"Lisbon\"}}\n"
    );
    fs::write(home.path().join("session_index.jsonl"), index).unwrap();
    fs::write(&path, bytes).unwrap();
    read(&path)
}

fn place() -> String {
    format!("sessions/2026/11/15/rollout-2026-11-15T12-00-00-{THREAD}.jsonl")
}

fn outline_of(fixture_path: &str) -> Vec<String> {
    let tree = read(&fixture(fixture_path));
    assert_eq!(tree.skipped, []);
    outline(&tree.messages)
}

#[test]
fn a_legacy_rollout_is_read_whole() {
    let expected = [
        "l2 < - user: # AGENTS.md instructions for /",
        "l3 < l2 user: <environment_context>\n  <cwd>/",
        "l4 < l3 user: first question",
        "l9 < l4 assistant: (thinking) | shell_command>{\"command\": \"echo hello-from-t",
        "l12 < l9 tool: =\"Exit code: 0\\nWall time: 0 se",
        "l16 < l12 assistant: first answer",
        "l18 < l16 user: second question",
        "l23 < l18 assistant: second answer",
        "l29 < l23 user: summary Another language model started",
        "l31 < l29 user: third question",
        "l36 < l31 assistant: third answer",
    ];
    assert_eq!(outline_of("codex/legacy-compacted-0.80.jsonl"), expected);
}

#[test]
fn a_fork_begins_with_the_messages_of_the_other_file() {
    let expected = [
        "o2 < - system: <skills_instructions>\n## Skill | <permissions instructions>\nFil",
        "o3 < o2 user: <environment_context>\n  <cwd>/",
        "o7 < o3 user: first question",
        "o9 < o7 assistant: exec_command>{\"cmd\": \"echo hello-from-tool\"",
        "o12 < o9 tool: =\"Chunk ID: 5e3621\\nWall time: ",
        "o15 < o12 assistant: first answer",
        "o22 < o15 user: second question",
        "o25 < o22 assistant: second answer",
        "o34 < o25 user: forked question",
        "o37 < o34 assistant: fork answer",
    ];
    assert_eq!(outline_of(&format!("codex/forked-0.166/rollout-2026-11-15T17-55-35-{FORK}.jsonl")), expected);
    assert_eq!(
        outline_of(&format!("codex/forked-0.166/rollout-2026-11-15T17-55-23-{THREAD}.jsonl")),
        expected[..8]
    );
}

#[test]
fn a_fork_that_was_copied_is_read_under_its_own_name() {
    let id = "01a1e060-6bbf-7641-a7b3-26701b18ba2b";
    let tree = read(&fixture(&format!("codex/forked-0.149/rollout-2026-11-15T18-02-57-{id}.jsonl")));

    let conversation = &tree.conversations[0];
    let forked = conversation.header.extra.field("forked_from").unwrap().as_str();
    assert_eq!((conversation.id.as_str(), forked), (id, "\"e21d1aac-ba3f-4e19-a7fa-a1b88612a8c8\""));
    assert_eq!(tree.skipped, []);
}

#[test]
fn a_fork_without_its_beginning_is_read_as_far_as_it_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let name = format!("rollout-2026-11-15T17-55-35-{FORK}.jsonl");
    fs::copy(fixture(&format!("codex/forked-0.166/{name}")), directory.path().join(&name)).unwrap();

    let tree = read(&directory.path().join(name));

    assert_eq!(
        outline(&tree.messages),
        ["o34 < - user: forked question", "o37 < o34 assistant: fork answer"]
    );
    assert_eq!(tree.skipped[0].why, format!("its beginning is missing: there is no rollout `{THREAD}`"));
}

#[test]
fn a_compaction_keeps_the_messages_that_it_repeats() {
    let tree = read(&fixture("codex/compacted-0.166.jsonl"));

    let expected = [
        "o7 < o3 user: question one",
        "o9 < o7 assistant: exec_command>{\"cmd\": \"echo one\"}",
        "o12 < o9 tool: =\"Chunk ID: 37e403\\nWall time: ",
        "o15 < o12 assistant: answer one",
        "o22 < o15 assistant: THE SUMMARY",
        "o25 < o22 user: summary Another language model started",
        "o31 < o25 user: question two",
        "o34 < o31 assistant: answer two",
    ];
    assert_eq!(outline(&tree.messages)[2..], expected);
    let keeps: Vec<_> = tree.messages.iter().flat_map(|found| found.keeps.clone()).collect();
    assert_eq!(keeps, kept(&["o7"]));
}

#[test]
fn the_developers_text_survives_the_way_through_a_session_of_claude_code() {
    let tree = read(&fixture("codex/compacted-0.166.jsonl"));

    let after = round("claude", &tree);

    let said = |tree: &Tree| tree.messages[0].message.clone();
    assert_eq!((said(&after).blocks.len(), said(&after)), (2, said(&tree)));
}

#[test]
fn an_old_compaction_keeps_every_prompt_before_it() {
    let tree = read(&fixture("codex/legacy-compacted-0.80.jsonl"));

    let keeps: Vec<_> = tree.messages.iter().flat_map(|found| found.keeps.clone()).collect();

    assert_eq!(keeps, kept(&["l4", "l18"]));
}

#[test]
fn a_sealed_compaction_hides_nothing() {
    let sealed =
        json!({"message": "", "replacement_history": [{"type": "compaction", "encrypted_content": "x"}]});
    let lines = [meta(), user("one"), assistant("1"), line("compacted", sealed), user("two")];

    let tree = read_at(&place(), &lines);

    let expected =
        ["l2 < - user: one", "l3 < l2 assistant: 1", "l4 < l3 system: [compacted]", "l5 < l4 user: two"];
    assert_eq!(outline(&tree.messages), expected);
}

#[test]
fn what_was_rolled_back_is_a_branch() {
    let lines = [
        meta(),
        user("one"),
        assistant("1"),
        user("two"),
        assistant("2"),
        event(json!({"type": "thread_rolled_back", "num_turns": 1})),
        user("other"),
        assistant("3"),
    ];

    let tree = read_at(&place(), &lines);

    let expected = [
        "l2 < - user: one",
        "l3 < l2 assistant: 1",
        "l4 < l3 user: two",
        "l5 < l4 assistant: 2",
        "l7 < l3 user: other",
        "l8 < l7 assistant: 3",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!(tree.conversations[0].head.as_deref(), Some("l8"));
}

#[test]
fn a_thread_has_the_name_it_was_given_last_and_may_be_put_away() {
    let lines = [meta(), user("one")];

    let kept = read_at(&place(), &lines);
    let away = read_at(&format!("archived_sessions/rollout-2026-11-15T12-00-00-{THREAD}.jsonl"), &lines);

    let told = [kept, away].map(|tree| {
        let header = tree.conversations[0].header.clone();
        (header.title, header.status)
    });
    let title = Some("Lisbon".to_owned());
    assert_eq!(told, [(title.clone(), Status::Active), (title, Status::Completed)]);
}

#[test]
fn a_compressed_rollout_is_read_like_a_plain_one() {
    let directory = tempfile::tempdir().unwrap();
    let plain = fixture("codex/legacy-compacted-0.80.jsonl");
    let packed = directory.path().join("rollout.jsonl.zst");
    let is_packed = std::process::Command::new("zstd").arg("-q").arg(&plain).arg("-o").arg(&packed).status();
    if !is_packed.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `zstd` is not installed; reading compressed lines is tested with them");
        return;
    }

    assert_eq!(read(&packed).messages, read(&plain).messages);
}

#[test]
fn unknown_items_are_kept_and_the_tokens_of_a_reply_told() {
    let usage = json!({"last_token_usage": {"input_tokens": 7, "output_tokens": 9}});
    let lines = [
        meta(),
        user("one"),
        line("response_item", json!({"type": "web_search_call", "status": "completed"})),
        assistant("1"),
        event(json!({"type": "token_count", "info": usage})),
        line("rejoin_custom", json!({"x": 1})),
        "{\"timestamp\":\"x\",\"type\":\"respo".to_owned(),
    ];

    let tree = read_at(&place(), &lines);

    assert_eq!(outline(&tree.messages)[1..], ["l3 < l2 assistant: [web_search_call] | 1"]);
    let used = tree.messages[1].message.usage.as_ref().unwrap();
    assert_eq!((used.input_tokens, used.output_tokens), (7, 9));
    assert_eq!((tree.asides.len(), tree.skipped.len()), (3, 1));
}

#[test]
fn a_rollout_in_a_circle_ends() {
    let directory = tempfile::tempdir().unwrap();
    let write = |id: &str, base: &str| {
        let payload = json!({"id": id, "timestamp": "2026-11-15T12:00:00.000Z", "cwd": "/tmp", "originator": "c",
            "cli_version": "0", "history_base": {"thread_id": base, "end_ordinal_exclusive": 9}});
        let path = directory.path().join(format!("rollout-{id}.jsonl"));
        fs::write(&path, line("session_meta", payload) + "\n" + &user("one") + "\n").unwrap();
        path
    };
    write(FORK, THREAD);
    let path = write(THREAD, FORK);

    let tree = read(&path);

    let why: Vec<&str> = tree.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    assert_eq!(why, [format!("its beginning is missing: there is no rollout `{THREAD}`")]);
    assert_eq!(outline(&tree.messages), ["b1.l < - user: one", "l2 < b1.l user: one"]);
}

#[test]
fn other_branches_are_files_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let source = fixture("claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl");
    let mut tree = read(&source);
    tree.conversations.truncate(1);
    tree.messages[21].parent = Some(tree.messages[19].parent.clone().unwrap());

    let written = Format::named("codex").unwrap().write(&tree).unwrap();

    let texts: Vec<String> = written
        .iter()
        .map(|file| {
            let path = directory.path().join(file.path.file_name().unwrap());
            fs::write(&path, &file.bytes).unwrap();
            last_said(&path)
        })
        .collect();
    assert_eq!(texts, ["assistant: MOCK-REPLY 18; saw 7 messages", "user: after compact question"]);
}

fn last_said(path: &Path) -> String {
    let source = Source::open(path).unwrap();
    assert_eq!(Format::of(&source).unwrap().name, "codex");
    crate::formats::said(&read(path).messages.last().unwrap().message)
}

#[test]
fn a_thread_whose_first_line_is_very_long_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(format!("rollout-{THREAD}.jsonl"));
    let long = "x".repeat(100_000);
    let meta = format!(
        "{{\"timestamp\":\"2026-11-15T12:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{THREAD}\",\
         \"timestamp\":\"2026-11-15T12:00:00.000Z\",\"cwd\":\"/tmp\",\"base_instructions\":\"{long}\"}}}}"
    );
    fs::write(&path, format!("{meta}\n{}\n", user("one"))).unwrap();

    let format = Format::of(&Source::open(&path).unwrap()).map(|format| format.name);

    assert_eq!(
        (format, outline(&read(&path).messages)),
        (Some("codex"), vec!["l2 < - user: one".to_owned()])
    );
}

/// A thread of these lines that begins with another one, or was started by it.
fn thread(directory: &Path, id: &str, more: Value, lines: &[String]) -> std::path::PathBuf {
    let mut payload = json!({"id": id, "timestamp": "2026-11-15T12:00:00.000Z", "cwd": "/tmp"});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path = directory.join(format!("rollout-{id}.jsonl"));
    fs::write(&path, format!("{}\n{}\n", line("session_meta", payload), lines.join("\n"))).unwrap();
    path
}

#[test]
fn lines_of_two_files_without_ordinals_have_different_names() {
    let directory = tempfile::tempdir().unwrap();
    thread(directory.path(), THREAD, json!({}), &[user("one"), assistant("1")]);
    let base = json!({"history_base": {"thread_id": THREAD, "end_ordinal_exclusive": 9}});
    let path = thread(directory.path(), FORK, base, &[user("two"), assistant("2")]);

    let messages = read(&path).messages;

    let named: Vec<_> = messages
        .iter()
        .map(|found| (found.id.as_str(), found.parent.as_deref(), found.message.text()))
        .collect();
    let expected = [
        ("b1.l2", None, "one".to_owned()),
        ("b1.l3", Some("b1.l2"), "1".to_owned()),
        ("l2", Some("b1.l3"), "two".to_owned()),
        ("l3", Some("l2"), "2".to_owned()),
    ];
    assert_eq!(named, expected);
}

#[test]
fn a_run_that_is_named_long_after_it_began_was_asked_for_before() {
    let later = |text: String| text.replace("T12:00", "T12:30");
    let directory = tempfile::tempdir().unwrap();
    let mut lines = vec![user("one"), assistant("asking")];
    lines.extend((0..50).map(|n| later(user(&format!("more {n}")))));
    lines.extend([later(assistant("later")), later(user(&format!("what did {FORK} say?")))]);
    thread(directory.path(), THREAD, json!({}), &lines);
    let run = thread(directory.path(), FORK, json!({"parent_thread_id": THREAD}), &[user("go")]);

    let tree = read(&run);

    let own = tree.conversations.iter().find(|conversation| conversation.id == FORK).unwrap();
    assert_eq!(own.parent.as_ref().unwrap().message.as_deref(), Some("l3"));
}
