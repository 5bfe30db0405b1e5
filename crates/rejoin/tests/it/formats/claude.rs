//! Sessions of Claude Code.

use std::fs;

use rejoin::formats::{Format, Source, Sources};
use serde_json::{Value, json};

use crate::formats::{file_of, fixture, kept, outline, read};

const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";

/// A line of the tree, one second after the other.
pub(crate) fn line(kind: &str, uuid: &str, parent: Option<&str>, more: Value) -> String {
    let second = uuid.bytes().fold(0u32, |sum, byte| (sum * 31 + u32::from(byte)) % 60);
    let mut line = json!({
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION,
        "timestamp": format!("2026-01-02T03:04:{second:02}.000Z"), "isSidechain": false,
    });
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line.to_string()
}

pub(crate) fn user(uuid: &str, parent: Option<&str>, text: &str) -> String {
    line("user", uuid, parent, json!({"message": {"role": "user", "content": text}}))
}

/// One block of a reply.
pub(crate) fn reply(uuid: &str, parent: &str, response: &str, block: Value) -> String {
    let message = json!({"id": response, "model": "m", "role": "assistant", "content": [block]});
    line("assistant", uuid, Some(parent), json!({ "message": message }))
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"n": id}})
}

fn result(uuid: &str, parent: &str, call: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": format!("out {call}")}]);
    line("user", uuid, Some(parent), json!({"message": {"role": "user", "content": content}}))
}

/// What is read from these lines: the messages and the skipped lines.
fn read_lines(lines: &[String]) -> (Vec<String>, Vec<String>) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);
    let tree = read(&path);
    let skipped = tree.skipped.iter().map(|skipped| format!("{}: {}", skipped.line, skipped.why)).collect();
    (outline(&tree.messages), skipped)
}

#[test]
fn a_real_session_is_read_whole() {
    let tree = read(&fixture(&format!("claude/session-with-agent/{SESSION}.jsonl")));

    let expected = [
        "4bac < - user: Hello there, TOOLTURN please",
        "3270 < 4bac assistant: (mock thinking 2) | I'll run a command. | Bash>{\"command\":\"echo hello-from-to",
        "e294 < 3270 tool: =\"hello-from-tool\"",
        "ac78 < e294 assistant: (mock thinking 3) | MOCK-REPLY 3; saw 4 messages",
        "b35b < ac78 user: second question",
        "d8df < b35b assistant: (mock thinking 5) | MOCK-REPLY 5; saw 6 messages",
        "4076 < d8df user: third: WRITEFILE",
        "c75f < 4076 assistant: (mock thinking 7) | Write>{\"file_path\":\"/home/dev/src/ag",
        "79c1 < c75f tool: =\"File created successfully at:",
        "e596 < 79c1 assistant: (mock thinking 8) | MOCK-REPLY 8; saw 10 messages",
        "99ad < e596 user: fourth: AGENTTURN",
        "4a14 < 99ad assistant: (mock thinking 10) | Agent>{\"description\":\"sub task\",\"pro",
        "2b1a < 4a14 tool: =[{\"type\":\"text\",\"text\":\"MOCK-R",
        "fbae < 2b1a assistant: (mock thinking 12) | MOCK-REPLY 12; saw 14 messages",
        "1c17 < fbae user: summary This session is being continue",
        "2238 < 1c17 user: <local-command-caveat>Caveat: ",
        "9d3e < 2238 user: <command-name>/compact</comman",
        "7719 < 9d3e user: <local-command-stdout>Compacte",
        "8048 < 7719 user: Continue from where you left o",
        "478c < 8048 assistant: No response requested.",
        "ab59 < 478c user: after compact question",
        "a976 < ab59 assistant: (mock thinking 18) | MOCK-REPLY 18; saw 7 messages",
        "e898 < - user: SUBAGENT please reply",
        "1e0a < e898 assistant: MOCK-REPLY 11; saw 2 messages",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!(tree.skipped, []);
}

#[test]
fn a_real_session_tells_its_place_its_head_and_its_sub_agent() {
    let tree = read(&fixture(&format!("claude/session-with-agent/{SESSION}.jsonl")));

    let [main, agent] = tree.conversations.as_slice() else { panic!("{:?}", tree.conversations) };
    let parent = agent.parent.as_ref().unwrap();
    assert_eq!(
        (main.id.as_str(), main.header.project.as_deref(), main.head.as_deref()),
        (
            SESSION,
            Some("/home/dev/src/agents/proj/my app_v1.2"),
            Some("a976d3c0-f4a3-4016-8992-98bf7e8b0577")
        )
    );
    assert_eq!(
        [&agent.id, &parent.conversation, parent.message.as_ref().unwrap(), &parent.name, &parent.run],
        [
            "c833a56b-45d4-4ced-8b45-47d6a5359b48/agent-a92545b2c32de9584",
            SESSION,
            "4a14f10c-5d62-4154-8313-9928d7993b20",
            "general-purpose",
            "a92545b2c32de9584",
        ]
    );
}

#[test]
fn a_compaction_keeps_what_its_boundary_preserved() {
    let tree = read(&fixture(&format!("claude/session-with-agent/{SESSION}.jsonl")));

    let keeping: Vec<_> = tree.messages.iter().filter(|message| !message.keeps.is_empty()).collect();

    let [summary] = keeping.as_slice() else { panic!("{keeping:?}") };
    // The two preserved lines are one reply.
    assert_eq!(summary.keeps, kept(&["fbae52e6-a196-4e0d-a37e-a831f079e8c4"]));
}

#[test]
fn a_boundary_that_names_only_two_ends_keeps_all_between() {
    let metadata = json!({"trigger": "auto", "preservedSegment": {"headUuid": "u2", "tailUuid": "a2"}});
    let boundary = json!({
        "subtype": "compact_boundary", "content": "Conversation compacted",
        "logicalParentUuid": "a2", "compactMetadata": metadata,
    });
    let summary = json!({"isCompactSummary": true, "message": {"role": "user", "content": "So far"}});
    let lines = [
        user("u1", None, "one"),
        reply("a1", "u1", "m1", text("1")),
        user("u2", Some("a1"), "two"),
        reply("a2", "u2", "m2", text("2")),
        line("system", "b", None, boundary),
        line("user", "s", Some("b"), summary),
        user("u3", Some("s"), "three"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);

    let tree = read(&path);

    assert_eq!(tree.messages[4].keeps, kept(&["u2", "a2"]));
    assert_eq!(outline(&tree.messages)[4..], ["s < a2 user: summary So far", "u3 < s user: three"]);
}

#[test]
fn parallel_calls_are_one_reply_and_their_results_follow_in_a_row() {
    let lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", text("both")),
        reply("a2", "a1", "m1", call("c1")),
        result("r1", "a2", "c1"),
        reply("a3", "a2", "m1", call("c2")),
        result("r2", "a3", "c2"),
        reply("a4", "r2", "m2", text("done")),
    ];

    let (messages, skipped) = read_lines(&lines);

    let expected = [
        "u1 < - user: go",
        "a1 < u1 assistant: both | Bash>{\"n\":\"c1\"} | Bash>{\"n\":\"c2\"}",
        "r1 < a1 tool: =\"out c1\"",
        "r2 < r1 tool: =\"out c2\"",
        "a4 < r2 assistant: done",
    ];
    assert_eq!((messages, skipped.len()), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn whatever_follows_one_of_parallel_results_follows_the_last() {
    let lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("c1")),
        reply("a2", "a1", "m1", call("c2")),
        result("r1", "a1", "c1"),
        result("r2", "a2", "c2"),
        reply("a3", "r1", "m2", text("done")),
    ];

    let (messages, _) = read_lines(&lines);

    assert_eq!(messages[3..], ["r2 < r1 tool: =\"out c2\"", "a3 < r2 assistant: done"]);
}

#[test]
fn two_that_resumed_at_once_are_two_branches() {
    let lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", text("1")),
        user("u2", Some("a1"), "mine"),
        user("u3", Some("a1"), "yours"),
        reply("a2", "u2", "m2", text("to me")),
        reply("a3", "u3", "m3", text("to you")),
    ];

    let (messages, _) = read_lines(&lines);

    let expected = [
        "u2 < a1 user: mine",
        "u3 < a1 user: yours",
        "a2 < u2 assistant: to me",
        "a3 < u3 assistant: to you",
    ];
    assert_eq!(messages[2..], expected);
}

#[test]
fn a_call_that_was_answered_twice_has_two_branches() {
    let lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", text("I will")),
        reply("a2", "a1", "m1", call("c1")),
        result("r1", "a2", "c1"),
        result("r2", "a2", "c1"),
    ];

    let (messages, _) = read_lines(&lines);

    assert_eq!(messages[2..], ["r1 < a1 tool: =\"out c1\"", "r2 < a1 tool: =\"out c1\""]);
}

#[test]
fn a_sub_agent_within_the_file_is_a_conversation_of_its_own() {
    let aside = |uuid, parent, text: &str| {
        let message = json!({"message": {"role": "user", "content": text}, "isSidechain": true});
        line("user", uuid, parent, message)
    };
    let lines = [
        user("u1", None, "go"),
        aside("s1", None, "explore"),
        aside("s2", Some("s1"), "more"),
        user("u2", Some("u1"), "on"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);

    let tree = read(&path);

    let told: Vec<_> =
        tree.messages.iter().map(|message| (message.conversation.clone(), message.id.as_str())).collect();
    let (own, side) = (SESSION.to_owned(), format!("{SESSION}/agent-s1"));
    assert_eq!(told, [(own.clone(), "u1"), (side.clone(), "s1"), (side, "s2"), (own, "u2")]);
}

#[test]
fn the_persons_own_title_comes_first_and_the_last_one_wins() {
    let titles = [
        json!({"type": "summary", "summary": "legacy", "leafUuid": "u1"}),
        json!({"type": "custom-title", "customTitle": "first"}),
        json!({"type": "custom-title", "customTitle": "mine", "uuid": "t", "timestamp": "x"}),
        json!({"type": "ai-title", "aiTitle": "computed"}),
    ];
    let mut lines = vec![user("u1", None, "go")];
    lines.extend(titles.iter().map(Value::to_string));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &lines);

    let tree = read(&path);

    assert_eq!(tree.conversations[0].header.title.as_deref(), Some("mine"));
    assert_eq!(tree.asides.len(), 4);
}

#[test]
fn unknown_lines_are_kept_and_broken_ones_told() {
    let lines = [
        user("u1", None, "go"),
        line("marble-origami", "x1", Some("u1"), json!({"depth": [1, 2]})),
        "{\"type\":\"user\",\"uuid\":7}".to_owned(),
        line("user", "x2", Some("x1"), json!({"message": {"role": "user"}})),
        user("u2", Some("x1"), "on"),
        line("assistant", "x3", Some("u2"), json!({})),
        "{\"type\":\"assistant\",\"uu".to_owned(),
    ];

    let (messages, skipped) = read_lines(&lines);

    assert_eq!(messages, ["u1 < - user: go", "u2 < u1 user: on"]);
    assert_eq!(skipped.len(), 4, "{skipped:?}");
    assert!(skipped[0].starts_with("3: a field is not what it should be"), "{skipped:?}");
    assert_eq!(skipped[1..], ["4: it has no content", "6: it has no content", "7: it is not JSON"]);
}

/// A prompt as the program writes it: what is said comes before the name of the line.
fn pasted(text: &str) -> String {
    let said = json!(text);
    format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"promptId\":\"p\",\"type\":\"user\",\"message\":{{\"role\":\"user\",\
         \"content\":{said}}},\"uuid\":\"u1\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"sessionId\":\"{SESSION}\"}}"
    )
}

fn queued(content: &str) -> String {
    json!({"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": content})
        .to_string()
}

#[test]
fn a_session_that_begins_with_a_long_prompt_is_found() {
    let long = "x".repeat(200_000);
    let marks = [queued("one"), queued("two")];
    let prompt = pasted(&long);
    let queue = format!(
        "{{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"{SESSION}\",\"content\":\"{long}\"}}"
    );
    let sessions = [vec![&*marks[0], &*marks[1], &*prompt], vec![&*prompt], vec![&*queue, &*prompt]];

    let found: [Vec<(&str, usize)>; 3] = sessions.map(|lines| {
        let (directory, _) = file_of(&format!("{SESSION}.jsonl"), &lines);
        let found = Sources::find(directory.path(), None).unwrap().found;
        found.iter().map(|(source, format)| (format.name, read(source.path()).messages.len())).collect()
    });

    assert_eq!(found, [vec![("claude", 1)], vec![("claude", 1)], vec![("claude", 1)]]);
}

#[test]
fn what_a_long_line_quotes_says_nothing_about_its_file() {
    let quoted = pasted("x").repeat(300);
    let lines = [
        json!({"note": quoted}).to_string(),
        json!({"note": {"parentUuid": null, "isSidechain": false, "text": quoted}}).to_string(),
        quoted.replace('"', "'"),
    ];

    let claimed = lines.map(|line| {
        let (_directory, path) = file_of("notes.jsonl", &["{}", &line]);
        Format::of(&Source::open(&path).unwrap()).map(|format| format.name)
    });

    assert_eq!(claimed, [None; 3]);
}

#[test]
fn a_run_is_one_by_its_place_whatever_its_first_line_is() {
    let (directory, path) = file_of(&format!("{SESSION}.jsonl"), &[&user("u1", None, "go")]);
    let runs = directory.path().join(SESSION).join("subagents");
    fs::create_dir_all(&runs).unwrap();
    let said = json!({"message": {"role": "user", "content": "explore"}, "isSidechain": true});
    let lines = [queued("explore"), line("user", "s1", None, said)];
    fs::write(runs.join("agent-q.jsonl"), lines.join("\n") + "\n").unwrap();

    let tree = read(&path);

    let told: Vec<_> =
        tree.messages.iter().map(|message| (message.conversation.clone(), message.id.as_str())).collect();
    assert_eq!(told, [(SESSION.to_owned(), "u1"), (format!("{SESSION}/agent-q"), "s1")]);
    let parent = tree.conversations[1].parent.as_ref().unwrap();
    assert_eq!((parent.conversation.as_str(), parent.run.as_str()), (SESSION, "q"));
}

#[test]
fn a_sub_agent_on_the_first_line_is_not_the_session() {
    let said = json!({"message": {"role": "user", "content": "explore"}, "isSidechain": true});
    let lines = [line("user", "s1", None, said), user("u1", None, "go")];
    let (_directory, path) = file_of(&format!("{SESSION}.jsonl"), &[&lines[0], &lines[1]]);

    let tree = read(&path);

    let told: Vec<_> =
        tree.messages.iter().map(|message| (message.conversation.clone(), message.id.as_str())).collect();
    assert_eq!(told, [(format!("{SESSION}/agent-s1"), "s1"), (SESSION.to_owned(), "u1")]);
}
