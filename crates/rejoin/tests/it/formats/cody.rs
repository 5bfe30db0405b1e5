//! Conversations of Cody.

use std::fs;

use rejoin::formats::{Format, ReadLimits, Source, Tree};
use rejoin::view::Compaction;
use rejoin::{Archive, Conversation, Extent, Message};

use crate::formats::{file_of, fixture, kept, outline, read};

const TURNS: &str = "cody/conversations/conv_abc123.jsonl";
const OLDER: &str = "cody/conversations/67e55044-10b1-426f-9247-bb680e5fe0c8.jsonl";

fn turn(second: u64, role: &str, text: &str) -> String {
    let content = serde_json::json!([{"type": "text", "text": text}]);
    let item = serde_json::json!({"type": "message", "role": role, "content": content});
    serde_json::json!({"timestamp": 1_699_564_800 + second, "items": [item]}).to_string()
}

#[test]
fn the_example_of_the_document_is_read_whole() {
    let tree = read(&fixture(TURNS));

    let conversation = &tree.conversations[0];
    let settings = &conversation.header.settings;
    assert_eq!(
        outline(&tree.messages),
        [
            "l1.0 < - user: Hello",
            "l2.0 < l1.0 assistant: Hi there!",
            "l3.0 < l2.0 user: How are you?",
            "l4.0 < l3.0 assistant: shell>{\"command\":[\"uptime\"]}",
            "l4.1 < l4.0 tool: =\"up 3 days\"",
            "l4.2 < l4.1 assistant: <snapshot> | Fine, for three days.",
            "l5 < l4.2 user: summary Summary of earlier conversatio",
            "l6.0 < l5 user: And now?",
        ]
    );
    assert_eq!(
        (conversation.id.as_str(), conversation.created_at.to_string()),
        ("conv_abc123", "2023-11-09T21:20:00.000000Z".to_owned())
    );
    assert_eq!((settings.provider.as_deref(), settings.model.as_deref()), (Some("openai"), Some("gpt-4")));
    assert_eq!(tree.messages[6].keeps, kept(&["l1.0", "l3.0"]));
    assert_eq!(tree.messages[7].message.created_at.unwrap().to_string(), "2023-11-09T21:20:30.000000Z");
    assert_eq!((tree.asides.len(), tree.skipped.len()), (0, 0));
}

#[test]
fn the_older_form_is_read_whole() {
    let tree = read(&fixture(OLDER));

    let conversation = &tree.conversations[0];
    let header = &conversation.header;
    assert_eq!(
        outline(&tree.messages),
        [
            "l3 < - user: List the files",
            "l4 < l3 assistant: shell>{\"command\":[\"ls\"]}",
            "l5 < l4 tool: =\"a.txt\"",
            "l6.0 < l5 assistant: There is a.txt.",
            "l6.1 < l6.0 user: Thanks",
            "l7 < l6.1 user: summary A file was listed.",
        ]
    );
    assert_eq!(
        (conversation.id.as_str(), header.project.as_deref(), header.settings.model.as_deref()),
        ("67e55044-10b1-426f-9247-bb680e5fe0c8", Some("/home/me/trip"), Some("claude-sonnet-4"))
    );
    assert_eq!(tree.asides.iter().map(|aside| aside.line).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_turn_is_written_as_the_document_shows_it() {
    let mut tree = read(&fixture(TURNS));
    tree.messages.truncate(6);
    tree.conversations[0].head = Some("l4.2".to_owned());
    let files = Format::named("cody").unwrap().write(&tree).unwrap();

    let text = str::from_utf8(&files[0].bytes).unwrap();
    let written: Vec<String> =
        text.lines().map(|line| line.split(",\"rejoin\":").next().unwrap().to_owned() + "}").collect();

    let own = fs::read_to_string(fixture(TURNS)).unwrap();
    let expected: Vec<String> = own
        .lines()
        .take(4)
        .map(|line| line.replacen(",\"items\"", "000,\"items\"", 1))
        // What a reply took in all is told by its usage, which is not known here.
        .map(|line| {
            line.replace(",\"metadata\":{\"tokens\":15}", "").replace(",\"metadata\":{\"tokens\":42}", "")
        })
        .collect();
    assert_eq!(written, expected);
    assert!(files[0].path.starts_with("conversations"), "{:?}", files[0].path);
}

#[test]
fn bad_lines_torn_tails_and_unknown_items_are_told_or_kept_and_the_rest_is_read() {
    let odd = r#"{"timestamp":1699564801,"items":[{"type":"weather","sky":"blue"},7]}"#;
    let (_directory, path) = file_of(
        "conv_1.jsonl",
        &[&turn(0, "user", "one"), "{\"a\":", odd, r#"{"mood":1}"#, &turn(2, "assistant", "two")],
    );
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + &turn(3, "user", "three")[..40]).unwrap();

    let tree = read(&path);

    assert_eq!(
        outline(&tree.messages),
        ["l1.0 < - user: one", "l3.0 < l1.0 assistant: [weather] | []", "l5.0 < l3.0 assistant: two"]
    );
    assert_eq!(tree.asides.iter().map(|aside| aside.line).collect::<Vec<_>>(), [4]);
    let why: Vec<(u64, &str)> =
        tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
    assert_eq!(why, [(2, "it is not JSON"), (6, "the file ends in the middle of this line")]);
}

#[test]
fn a_file_without_turns_is_refused() {
    let (_directory, path) = file_of("conv_1.jsonl", &[]);
    fs::write(&path, "").unwrap();
    let source = Source::open(&path).unwrap();
    let cody = Format::named("cody").unwrap();

    let error = Tree::gather(ReadLimits::default(), |reading| cody.read(&source, reading)).unwrap_err();

    assert!(format!("{error:?}").ends_with("there are no turns in it"), "{error:?}");
}

#[test]
fn a_long_turn_is_not_kept_many_times() {
    let items: Vec<serde_json::Value> = (0..1_000)
        .map(|number| serde_json::json!({"type": "message", "role": "user", "content": [{"type": "text", "text": number.to_string()}]}))
        .collect();
    let line = serde_json::json!({"timestamp": 1_699_564_800, "items": items}).to_string();
    let (_directory, path) = file_of("conv_1.jsonl", &[&line]);

    let tree = read(&path);

    let kept: usize = tree.messages.iter().map(|found| found.source.len()).sum();
    assert_eq!(tree.messages.len(), 1_000);
    assert_eq!(tree.messages[0].source, line);
    assert!(kept < 2 * line.len(), "{kept} of {}", line.len());
}

#[test]
fn a_compaction_keeps_how_many_items_it_could_not_show() {
    let compacted =
        r#"{"type":"compacted","timestamp":1699564820000,"summary":"Greetings.","truncatedCount":3}"#;
    let (_directory, path) = file_of("conv_1.jsonl", &[&turn(0, "user", "Hello"), compacted]);

    let written = Format::named("cody").unwrap().write(&read(&path)).unwrap();

    let last = std::str::from_utf8(&written[0].bytes).unwrap().lines().last().unwrap().to_owned();
    let line: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&line["type"], &line["truncatedCount"]), (&"compacted".into(), &3.into()));
}

#[test]
fn an_export_tells_how_many_items_a_compaction_left_out() {
    let archive = Archive::open("memory:").unwrap();
    let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
    trip.append(Message::user("Where to eat?")).unwrap();
    let compaction: Compaction = serde_json::from_str(r#"{"trimmed":2}"#).unwrap();
    trip.append(compaction.to_message("A tasca was found.").unwrap()).unwrap();
    let cody = Format::named("cody").unwrap();

    let tree = archive.exports().tree_for(cody, trip.id(), Extent::Tree).unwrap();
    let written = cody.write(&tree).unwrap();

    let last = std::str::from_utf8(&written[0].bytes).unwrap().lines().last().unwrap().to_owned();
    let line: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&line["summary"], &line["truncatedCount"]), (&"A tasca was found.".into(), &2.into()));
}
