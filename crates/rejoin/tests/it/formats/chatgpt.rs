//! Exports of ChatGPT.

use std::fs;
use std::path::Path;

use rejoin::formats::{Format, ReadLimits, Source, Sources, Tree};
use rejoin::{Archive, Block, Import, ImportMode, Role, Status};
use serde_json::{Value, json};

use crate::formats::{file_of, fixture, outline, read};

const EXPORT: &str = "chatgpt/conversations.json";

#[test]
fn every_branch_of_an_export_is_read() {
    let tree = read(&fixture(EXPORT));

    let expected = [
        "p1 < - user: [user_editable_context]",
        "u1 < p1 user: <image> | How many foxes are in this pic",
        "a1 < u1 assistant: I cannot see any foxes.",
        "t1 < u1 assistant: (There are two behind the tree )",
        "r1 < t1 assistant: [reasoning_recap]",
        "c1 < r1 assistant: python>\"print(2 + 1)\"",
        "o1 < c1 tool: =\"3\\n\"",
        "a2 < o1 assistant: There are three foxes.",
        "u2 < a2 user: Look up where foxes live.",
        "c2 < u2 assistant: web.run>{\"search_query\":[{\"q\":\"fox hab",
        "o2 < c2 tool: =\"Foxes live on every continent",
        "a3 < o2 assistant: Almost everywhere.",
        "u3 < a2 user: And how many hares?",
        "a4 < u3 assistant: None.",
        "v1 < - user: Say hello in Portuguese. | <audio>",
        "v2 < v1 assistant: Olá!",
        "v3 < v2 tool: =\"The tool is not there.\"",
    ];
    assert_eq!(outline(&tree.messages), expected);
    assert_eq!(tree.skipped, []);
}

#[test]
fn a_conversation_tells_its_title_its_time_its_model_and_its_head() {
    let tree = read(&fixture(EXPORT));

    let known: Vec<_> = tree
        .conversations
        .iter()
        .map(|found| {
            let header = &found.header;
            let (title, model) = (header.title.as_deref(), header.settings.model.as_deref());
            (title, model, header.status, found.created_at.to_string(), found.head.as_deref())
        })
        .collect();

    let expected = [
        (Some("Foxes"), Some("gpt-5"), Status::Active, "2025-11-15T09:46:40.000000Z".to_owned(), Some("a4")),
        (None, None, Status::Completed, "2025-11-15T09:50:00.000000Z".to_owned(), Some("v3")),
    ];
    assert_eq!(known, expected);
}

#[test]
fn results_name_their_calls_and_replies_their_model() {
    let tree = read(&fixture(EXPORT));
    let message = |id: &str| tree.messages.iter().find(|found| found.id == id).unwrap();

    let calls: Vec<&str> = ["o1", "o2"]
        .iter()
        .filter_map(|id| match &message(id).message.blocks[0] {
            Block::ToolResult(result) => Some(result.call_id.as_str()),
            _ => None,
        })
        .collect();

    assert_eq!(calls, ["c1", "c2"]);
    let reply = &message("a1").message;
    assert_eq!(reply.extra.field("model").unwrap().as_str(), "\"gpt-4o\"");
    assert_eq!((reply.role, reply.finish.as_deref()), (Role::Assistant, Some("stop")));
    assert_eq!(reply.created_at.unwrap().to_string(), "2025-11-15T09:46:43.500000Z");
}

#[test]
fn the_nodes_that_say_nothing_are_kept_beside() {
    let tree = read(&fixture(EXPORT));

    let asides: Vec<bool> =
        tree.asides.iter().map(|aside| aside.source.contains("is_visually_hidden")).collect();

    assert_eq!(asides, [false, false, true, false, false]);
    assert!(tree.asides[0].source.contains("\"plugin_ids\":null"), "{:?}", tree.asides[0]);
    // A newer export has its conversations at other places, and what is kept is still the same.
    assert!(tree.asides.iter().all(|aside| aside.line == 0), "{:?}", tree.asides);
}

#[test]
fn a_zip_is_read_as_its_files() {
    let (plain, zipped) = (read(&fixture(EXPORT)), read(&fixture("chatgpt/export.zip")));

    assert_eq!(outline(&zipped.messages), outline(&plain.messages));
    assert_eq!(zipped.conversations, plain.conversations);
}

#[test]
fn a_bad_conversation_does_not_keep_the_others_from_being_read() {
    let good = fs::read_to_string(fixture(EXPORT)).unwrap();
    let (_directory, path) = file_of(
        "conversations.json",
        &[&good.replacen(
            "[{",
            "[{\"mapping\":{},\"id\":7},{\"mapping\":3,\"id\":\"x\"},\"text\",{\"mapping\"},{",
            1,
        )],
    );

    let format = Format::named("chatgpt").unwrap();
    let source = Source::open(&path).unwrap();
    let tree = Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading)).unwrap();

    let skipped: Vec<(u64, &str)> =
        tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
    let expected = [
        (1, "it has no id, or no mapping"),
        (2, "it has no id, or no mapping"),
        (3, "it is not a conversation"),
        (4, "it is not a conversation"),
    ];
    assert_eq!((skipped, tree.conversations.len()), (expected.to_vec(), 2));
}

#[test]
fn a_directory_of_an_export_has_its_conversations_and_its_zip() {
    let found = Sources::find(&fixture("chatgpt"), None).unwrap();

    let names: Vec<&str> = found.found.iter().map(|(_, format)| format.name).collect();
    assert_eq!(names, ["chatgpt", "chatgpt"]);
}

/// The message that a conversation goes on from, and how many messages were added, after importing an export.
fn imported(archive: &Archive, path: &Path, export: &Value) -> (String, Vec<u64>) {
    fs::write(path, export.to_string()).unwrap();
    let source = Source::open(path).unwrap();
    let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
    let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
    let report = archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap();
    let path = archive.path(report.conversations[0].id, None).unwrap();
    (path.last().unwrap().message.text(), report.conversations.iter().map(|found| found.added).collect())
}

#[test]
fn a_newer_export_adds_only_what_is_new_and_moves_the_head() {
    let archive = Archive::open("memory:").unwrap();
    let mut export: Value = serde_json::from_str(&fs::read_to_string(fixture(EXPORT)).unwrap()).unwrap();

    let downloads = tempfile::tempdir().unwrap();
    let place = |name: &str| downloads.path().join(name);
    let first = imported(&archive, &place("october.json"), &export);
    let again = imported(&archive, &place("october.json"), &export);
    let mut asked = export[0]["mapping"]["u3"].clone();
    asked["parent"] = json!("a4");
    asked["message"]["content"]["parts"] = json!(["And badgers?"]);
    export[0]["mapping"]["u4"] = asked;
    export[0]["current_node"] = json!("u4");
    export[0]["update_time"] = json!(1_763_300_000.5);
    let newer = imported(&archive, &place("november.json"), &export);

    assert_eq!(first, ("None.".to_owned(), vec![14, 3]));
    assert_eq!(again, ("None.".to_owned(), vec![0, 0]));
    assert_eq!(newer, ("And badgers?".to_owned(), vec![1, 0]));
}
