//! Exports of Claude.ai.

use rejoin::Block;

use crate::formats::{fixture, read, said};

const EXPORT: &str = "claude-ai/conversations.json";

/// Messages as `id < parent role: blocks`, ids without their common beginning.
fn outline(path: &str) -> Vec<String> {
    let cut = |id: &str| id.trim_start_matches("00000000-0000-4000-8000-0000000000").to_owned();
    let tree = read(&fixture(path));
    let line = |found: &rejoin::formats::SourceMessage| {
        let parent = found.parent.as_deref().map_or("-".to_owned(), cut);
        format!("{} < {parent} {}", cut(&found.id), said(&found.message))
    };
    tree.messages.iter().map(line).collect()
}

#[test]
fn every_message_of_an_export_is_read() {
    let expected = [
        "01 < - user: How long does this dough rest? | Flour 500 g, water 350 g, salt | <image>",
        "02 < 01 assistant: (The recipe says over night.) | I look at the clock. | clock>{\"zone\": \"Europe/Lisbon\"}",
        "02/1 < 02 tool: =[{\"type\":\"text\",\"text\":\"09:00\"",
        "02/2 < 02/1 assistant: Overnight, so about twelve hou",
        "03 < 02/2 user: And in summer?",
        "04 < 03 assistant: Eight hours.",
        "05 < 02/2 user: And in winter?",
        "06 < 05 assistant: Fourteen hours.",
        "11 < - user: An older export has only this. | <file>",
        "12 < 11 assistant: And this answer.",
        "13 < 12 user: Draw a table.",
        "14 < 13 assistant: artifacts>{\"command\": \"create\", \"content",
        "14/1 < 14 tool: =[{\"type\":\"text\",\"text\":\"OK\"}]",
        "14/2 < 14/1 assistant: [token_budget]",
    ];

    assert_eq!(outline("claude-ai/data-2026-05-02.zip"), expected);
}

#[test]
fn a_zip_is_read_as_its_file() {
    let (plain, zipped) = (read(&fixture(EXPORT)), read(&fixture("claude-ai/data-2026-05-02.zip")));

    assert_eq!(zipped.conversations, plain.conversations);
    assert_eq!(zipped.messages.len(), plain.messages.len());
}

#[test]
fn a_conversation_tells_its_title_its_time_and_its_head() {
    let tree = read(&fixture(EXPORT));

    let known: Vec<_> = tree
        .conversations
        .iter()
        .map(|found| (found.header.title.as_deref(), found.created_at.to_string(), found.head.as_deref()))
        .collect();

    let expected = [
        (
            Some("Bread"),
            "2026-05-01T08:00:00.000000Z".to_owned(),
            Some("00000000-0000-4000-8000-000000000006"),
        ),
        (None, "2024-01-02T03:04:00.000000Z".to_owned(), Some("00000000-0000-4000-8000-000000000014/2")),
    ];
    assert_eq!(known, expected);
}

#[test]
fn a_result_without_an_id_answers_the_call_of_its_name() {
    let tree = read(&fixture(EXPORT));

    let ids: Vec<&str> = tree.messages[11..13]
        .iter()
        .filter_map(|found| match &found.message.blocks[0] {
            Block::ToolCall(call) => Some(call.id.as_str()),
            Block::ToolResult(result) => Some(result.call_id.as_str()),
            _ => None,
        })
        .collect();

    assert_eq!(ids, ["00000000-0000-4000-8000-000000000014/call/1"; 2]);
}

#[test]
fn an_attachment_is_its_text_with_its_name_beside_it() {
    let tree = read(&fixture(EXPORT));

    let Block::Text(attached) = &tree.messages[0].message.blocks[1] else { panic!("{:?}", tree.messages[0]) };

    assert!(attached.text.ends_with("Über Nacht ruhen lassen."), "{attached:?}");
    assert_eq!(attached.extra.field("file_name").unwrap().as_str(), "\"recipe.txt\"");
}
