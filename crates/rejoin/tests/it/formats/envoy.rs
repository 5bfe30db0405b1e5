//! Conversations of Envoy.

use std::fs;
use std::path::Path;

use rejoin::formats::{Format, ReadLimits, Source, Tree};
use rejoin::{Archive, Block, Conversation, Extent, Message, Role};

use crate::formats::{file_of, fixture, outline, read};

const WITH_META: &str = "envoy/conversations/Users_dev_myproject/01932d4c-89ab-7890-abcd-123456789ghi.jsonl";
const WITHOUT: &str = "envoy/conversations/Users_dev_myproject/01932d4b-4567-7890-abcd-123456789def.jsonl";

fn line(index: u64, message: serde_json::Value) -> String {
    serde_json::json!({"timestamp": "2025-01-15T10:30:00.000Z", "messageIndex": index,
        "messageType": "conversation", "sessionId": "s", "message": message})
    .to_string()
}

fn user(index: u64, text: &str) -> String {
    line(index, serde_json::json!({"role": "user", "content": text}))
}

#[test]
fn the_example_of_the_document_is_read_whole() {
    let tree = read(&fixture(WITH_META));

    let conversation = &tree.conversations[0];
    let header = &conversation.header;
    assert_eq!(
        outline(&tree.messages),
        [
            "l2 < - user: Help me implement a new featur",
            "l3 < l2 assistant: (I'd be happy to help you imple)",
            "l4.c < l3 assistant: Read>{\"file_path\":\"src/app.ts\"}",
            "l4 < l4.c tool: =\"// App.tsx content here...\"",
            "l5 < l4 assistant: Based on your current code str",
        ]
    );
    assert_eq!(
        (conversation.id.as_str(), conversation.created_at.to_string()),
        ("01932d4c-89ab-7890-abcd-123456789ghi", "2025-01-15T10:30:00.000000Z".to_owned())
    );
    assert_eq!(
        (header.project.as_deref(), header.settings.provider.as_deref(), header.git_commit.as_deref()),
        (Some("/Users/dev/myproject"), Some("anthropic"), Some("abc123"))
    );
    assert_eq!((tree.asides.len(), tree.skipped.len(), conversation.head.as_deref()), (1, 0, Some("l5")));
}

#[test]
fn a_file_without_its_first_line_and_with_parts_is_read_whole() {
    let tree = read(&fixture(WITHOUT));

    assert_eq!(
        outline(&tree.messages),
        [
            "l1 < - user: What does app.ts do?",
            "l2 < l1 assistant: (I should read it.) | Let me look. | Read>{\"file_path\":\"src/app.ts\"}",
            "l3 < l2 tool: =\"no such file\"",
            "l4 < l3 assistant: There is no such file.",
        ]
    );
    let [Block::ToolResult(result)] = tree.messages[2].message.blocks.as_slice() else { panic!("{tree:?}") };
    assert!(result.is_error);
    assert_eq!(tree.conversations[0].created_at.to_string(), "2025-01-15T10:20:15.123000Z");
}

#[test]
fn bad_lines_torn_tails_and_unknown_kinds_are_told_or_kept_and_the_rest_is_read() {
    let odd = line(3, serde_json::json!({"role": "judge", "content": "hm"}));
    let later =
        r#"{"timestamp":"2025-01-15T10:30:00Z","messageType":"weather","sessionId":"s","message":{}}"#;
    let last = user(9, "torn");
    let (_directory, path) =
        file_of("s.jsonl", &[&user(1, "one"), "{\"a\":", &odd, later, &user(1, "two"), &last[..60]]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();

    let tree = read(&path);

    assert_eq!(outline(&tree.messages), ["l1 < - user: one", "l5 < l1 user: two"]);
    assert_eq!(tree.asides.iter().map(|aside| aside.line).collect::<Vec<_>>(), [3, 4]);
    let why: Vec<(u64, &str)> =
        tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
    assert_eq!(why, [(2, "it is not JSON"), (6, "the file ends in the middle of this line")]);
}

#[test]
fn an_empty_result_is_a_result() {
    let results = ["\"\"", "false", "0", "null"].map(|result| {
        let line = line(
            1,
            serde_json::json!({"role": "tool", "content": "", "toolName": "Read", "toolArgs": {},
            "toolCallId": "c", "toolResult": "RESULT"}),
        );
        let (_directory, path) = file_of("s.jsonl", &[&line.replace("\"RESULT\"", result)]);
        outline(&read(&path).messages)[1].clone()
    });

    assert_eq!(results, ["\"\"", "false", "0", "null"].map(|result| format!("l1 < l1.c tool: ={result}")));
}

#[test]
fn lines_are_written_as_the_document_shows_them() {
    let tree = read(&fixture(WITH_META));
    let files = Format::named("envoy").unwrap().write(&tree).unwrap();

    let text = str::from_utf8(&files[0].bytes).unwrap();
    let lines: Vec<String> =
        text.lines().map(|line| line.split(",\"rejoin\":").next().unwrap().to_owned() + "}").collect();
    let own = files[0].path.file_stem().unwrap().to_str().unwrap();
    let expected = [
        r#"{"timestamp":"2025-01-15T10:30:00.000000Z","messageIndex":0,"messageType":"session-meta","sessionId":"SESSION","message":{"type":"session-start","projectPath":"/Users/dev/myproject","provider":"anthropic","gitCommit":"abc123"}}"#,
        r#"{"timestamp":"2025-01-15T10:30:15.123000Z","messageIndex":1,"messageType":"conversation","sessionId":"SESSION","message":{"role":"user","content":"Help me implement a new feature"}}"#,
        r#"{"timestamp":"2025-01-15T10:30:45.789000Z","messageIndex":2,"messageType":"conversation","sessionId":"SESSION","message":{"role":"assistant","content":"I'd be happy to help you implement a new feature. Let me start by reading your current codebase...","thinking":true,"isThinkingComplete":true,"thinkingSignature":"sig_abc123"}}"#,
        r#"{"timestamp":"2025-01-15T10:31:02.456000Z","messageIndex":3,"messageType":"conversation","sessionId":"SESSION","message":{"role":"assistant","content":"[calls Read: {\"file_path\":\"src/app.ts\"}]"}}"#,
        r#"{"timestamp":"2025-01-15T10:31:02.456000Z","messageIndex":4,"messageType":"conversation","sessionId":"SESSION","message":{"role":"tool","content":"Tool call: Read","toolName":"Read","toolArgs":{"file_path":"src/app.ts"},"toolCallId":"tool_123","toolResult":"// App.tsx content here..."}}"#,
        r#"{"timestamp":"2025-01-15T10:31:15.234000Z","messageIndex":5,"messageType":"conversation","sessionId":"SESSION","message":{"role":"assistant","content":"Based on your current code structure, here's how I recommend implementing the new feature..."}}"#,
    ];
    assert_eq!(lines, expected.map(|line| line.replace("SESSION", own)));
    assert_eq!(files[0].path.parent(), Some(Path::new("conversations/Users_dev_myproject")));
}

#[test]
fn a_file_of_the_jsonl_store_is_read_with_its_branches() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::open(&format!("jsonl:{}", directory.path().display())).unwrap();
    let mut handle = archive.start(Conversation::titled("Lisbon").in_project("/home/me/trip")).unwrap();
    let one = handle.append(Message::user("one")).unwrap();
    handle.append(Message::assistant("a")).unwrap();
    let id = one.conversation;
    let mut branch = handle.fork(one.head, "other").unwrap();
    branch.append(Message::new(Role::Assistant, vec![Block::text("b\nb")])).unwrap();
    let expected = archive.exports().tree(id, Extent::Tree).unwrap();
    drop(archive);

    let path = directory.path().join("home_me_trip").join(format!("{id}.jsonl"));
    let source = Source::open(&path).unwrap();
    let format = Format::of(&source).unwrap();
    let tree = Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading)).unwrap();

    assert_eq!((format.name, tree.skipped.len()), ("envoy", 0));
    assert_eq!(outline(&tree.messages), outline(&expected.messages));
    assert_eq!(tree.conversations, expected.conversations);
}

#[test]
fn a_first_line_may_be_long() {
    let text = "é".repeat(100_000);
    let line = format!(
        r#"{{"timestamp":"2025-01-15T10:30:00.000Z","messageIndex":0,"messageType":"conversation","sessionId":"s","message":{{"role":"user","content":"{text}"}}}}"#
    );
    let (_directory, path) = file_of("s.jsonl", &[&line]);

    let tree = read(&path);

    assert_eq!(tree.messages[0].message.text(), text);
}
