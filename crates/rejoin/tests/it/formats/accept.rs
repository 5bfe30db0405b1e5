//! The real programs resume what is written for them.
//!
//! `REJOIN_ACCEPT` names a directory with `accept-claude/accept.sh` and `accept-codex/accept.sh`, which start the real
//! program against a model on this machine and compare what it sends. Without it these tests say so and do nothing.

use std::path::PathBuf;
use std::process::Command;

use rejoin::formats::{Format, ReadLimits, Source, SourceConversation, SourceMessage, Tree};
use rejoin::{
    Archive, Block, Extent, Fields, Import, ImportMode, Json, Media, MediaKind, Message, Role, Summary,
    Thinking, Time, ToolResult,
};

use crate::formats::fixture;
use crate::formats::round::written;

/// A conversation that is written, and what the program has to send of it, in order.
struct Case {
    name: &'static str,
    tree: Tree,
    expect: Vec<&'static str>,
    forbid: Vec<&'static str>,
}

/// Messages of a conversation, each after the one before unless it says otherwise.
fn tree(messages: Vec<Message>) -> Tree {
    let id = "0198c000-0000-7000-8000-000000000001".to_owned();
    let mut conversation = SourceConversation::new(id.clone(), Time::from_micros(1_794_000_000_000_000));
    conversation.header.project = Some("/tmp/trip".to_owned());
    conversation.header.title = Some("Lisbon".to_owned());
    let messages: Vec<SourceMessage> = messages
        .into_iter()
        .enumerate()
        .map(|(place, message)| SourceMessage {
            conversation: id.clone(),
            id: format!("m{place}"),
            parent: place.checked_sub(1).map(|before| format!("m{before}")),
            message: message.at(Time::from_micros(1_794_000_000_000_000 + place as i64 * 1_000_123)),
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        })
        .collect();
    Tree { conversations: vec![conversation], messages, ..Tree::default() }
}

fn assistant(blocks: Vec<Block>) -> Message {
    Message::new(Role::Assistant, blocks)
}

fn call(id: &str) -> Block {
    Block::tool_call(id, "look_up", Json::parse(format!("{{\"place\":\"{id}\"}}")).unwrap())
}

fn result(id: &str, output: &str, is_error: bool) -> Message {
    let output = Json::of(&output).unwrap();
    let block = ToolResult { call_id: id.to_owned(), output, is_error, extra: Fields::new() };
    Message::new(Role::Tool, vec![Block::ToolResult(block)])
}

/// How a program differs from the others.
struct Taste {
    /// The API whose thinking it can send back.
    api: &'static str,
    /// What it sends after a compaction, in order.
    compacted: &'static [&'static str],
    /// What it sends of thinking that carries a signature.
    thought: &'static [&'static str],
}

fn cases(Taste { api, compacted: after, thought }: &Taste) -> Vec<Case> {
    let talk = || vec![Message::user("OLD-Q1"), Message::assistant("OLD-A1")];
    let plain = tree([talk(), vec![Message::user("OLD-Q2"), Message::assistant("OLD-A2")]].concat());
    let calls = assistant(vec![Block::text("BOTH"), call("c1"), call("c2")]);
    let tools = tree(vec![
        Message::user("GO"),
        calls.clone(),
        result("c1", "OUT-1", false),
        result("c2", "OUT-2", false),
        Message::assistant("DONE"),
    ]);
    let failed = tree(vec![
        Message::user("GO"),
        assistant(vec![call("c1")]),
        result("c1", "NO-SUCH-PLACE", true),
        Message::assistant("SORRY"),
    ]);
    let think = |signature: Option<&str>, own: bool| {
        let signature = signature.map(str::to_owned);
        let thinking = Thinking { text: "THOUGHT".to_owned(), signature, ..Thinking::default() };
        let mut message = assistant(vec![Block::Thinking(thinking), Block::text("SAID")]);
        if own {
            message.extra.set("api", Json::of(&api).unwrap());
        }
        tree(vec![Message::user("THINK"), message, Message::user("AND?"), Message::assistant("SO")])
    };
    let picture = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: Some("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==".to_owned()),
        uri: None,
        extra: Fields::new(),
    };
    let image = tree(vec![
        Message::new(Role::User, vec![Block::text("LOOK"), Block::Media(picture)]),
        Message::assistant("A-DOT"),
    ]);
    let summary = Message::new(
        Role::User,
        vec![Block::Summary(Summary { text: "THE-SUMMARY".to_owned(), ..Summary::default() })],
    );
    let mut compacted = tree(vec![
        Message::user("GONE-Q"),
        Message::assistant("GONE-A"),
        Message::user("KEPT-Q"),
        Message::assistant("GONE-B"),
        Message::user("KEPT-R"),
        Message::assistant("GONE-C"),
        summary,
        Message::user("NEW-Q"),
        Message::assistant("NEW-A"),
    ]);
    compacted.messages[6].keeps = vec!["m2".to_owned(), "m4".to_owned()];
    let mut forked = tree(
        [
            talk(),
            vec![
                Message::user("CHOSEN"),
                Message::assistant("CHOSEN-A"),
                Message::user("OTHER"),
                Message::assistant("OTHER-A"),
            ],
        ]
        .concat(),
    );
    forked.messages[4].parent = Some("m1".to_owned());
    forked.conversations[0].head = Some("m3".to_owned());
    let unicode =
        tree(vec![Message::user("Où? 🗺️ 日本 \u{202e}x\n\n```\ttab"), Message::assistant("Ici\u{0}… ✅")]);
    let instructed = tree(vec![
        Message::new(Role::System, vec![Block::text("BE-BRIEF")]),
        Message::user("HI"),
        Message::assistant("HELLO"),
    ]);
    let case = |name, tree, expect: &[&'static str], forbid: &[&'static str]| Case {
        name,
        tree,
        expect: expect.to_vec(),
        forbid: forbid.to_vec(),
    };
    vec![
        case("plain talk", plain, &["OLD-Q1", "OLD-A1", "OLD-Q2", "OLD-A2"], &[]),
        case("tools in parallel", tools, &["GO", "BOTH", "c1", "c2", "OUT-1", "OUT-2", "DONE"], &["aborted"]),
        case("a failed tool", failed, &["GO", "c1", "NO-SUCH-PLACE", "SORRY"], &["aborted"]),
        case("its own thinking", think(Some("c2ln"), true), thought, &[]),
        case("foreign thinking", think(Some("c2ln"), false), &["THINK", "SAID", "SO"], &["THOUGHT"]),
        case("unsigned thinking", think(None, true), &["THINK", "SAID", "SO"], &["THOUGHT"]),
        case("an image", image, &["LOOK", "A-DOT"], &[]),
        case("a compaction", compacted, after, &["GONE-Q", "GONE-A", "GONE-B", "GONE-C"]),
        case("a fork", forked, &["OLD-Q1", "OLD-A1", "CHOSEN", "CHOSEN-A"], &["OTHER"]),
        case("unicode", unicode, &["Où? 🗺️ 日本 \u{202e}x", "Ici"], &[]),
        case("instructions", instructed, &["HI", "HELLO"], &[]),
    ]
}

/// The script that starts a program, if the tests were told where it is.
fn script(program: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("REJOIN_ACCEPT") else {
        eprintln!("SKIPPED: {program} is not asked, because REJOIN_ACCEPT does not name the scripts");
        return None;
    };
    Some(PathBuf::from(directory).join(format!("accept-{program}/accept.sh")))
}

/// A session of another program, imported, and the path to its head.
fn imported(path: &str) -> Tree {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display())).unwrap();
    let source = Source::open(&fixture(path)).unwrap();
    let mut how = Import {
        limits: ReadLimits::default(),
        mode: ImportMode::Store,
        project: &str::to_owned,
        progress: &mut |_| {},
    };
    let imported = archive.import(&source, Format::of(&source).unwrap(), &mut how).unwrap();
    archive.tree(imported.conversations[0].id, Extent::Path(None)).unwrap()
}

/// The cases that a program refuses, with what it said.
fn asked(format: &str, before: &[&str], cases: Vec<Case>) -> Vec<String> {
    let Some(script) = script(format) else { return Vec::new() };
    let refused = cases.into_iter().filter_map(|case| {
        let (_directory, path) = written(format, &case.tree);
        let mut command = Command::new(&script);
        command.args(before).arg(&path);
        command.args(case.expect.iter().flat_map(|text| ["--expect", text]));
        command.args(case.forbid.iter().flat_map(|text| ["--forbid", text]));
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        (!output.status.success())
            .then(|| format!("{}: {told}{}", case.name, String::from_utf8_lossy(&output.stderr)))
    });
    refused.collect()
}

#[test]
fn claude_code_resumes_what_is_written() {
    let taste = Taste {
        api: "anthropic",
        compacted: &["THE-SUMMARY", "KEPT-Q", "KEPT-R", "NEW-Q", "NEW-A"],
        thought: &["THINK", "THOUGHT", "SAID", "AND?", "SO"],
    };

    let mut cases = cases(&taste);
    cases.push(Case {
        name: "an imported rollout of Codex",
        tree: imported("codex/legacy-compacted-0.80.jsonl"),
        expect: vec!["THE SUMMARY", "first question", "second question", "third question", "third answer"],
        forbid: vec!["first answer", "ENC"],
    });

    assert_eq!(asked("claude", &[], cases), [""; 0]);
}

#[test]
fn codex_resumes_what_is_written() {
    let taste = Taste {
        api: "openai-responses",
        compacted: &["KEPT-Q", "KEPT-R", "THE-SUMMARY", "NEW-Q", "NEW-A"],
        // A signature is not what Codex seals thinking with.
        thought: &["THINK", "SAID", "AND?", "SO"],
    };

    let mut cases = cases(&taste);
    cases.push(Case {
        name: "an imported session of Claude Code",
        tree: imported("claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl"),
        expect: vec![
            "MOCK-REPLY 12; saw 14 messages",
            "MOCK COMPACT SUMMARY",
            "after compact question",
            "MOCK-REPLY 18; saw 7 messages",
        ],
        forbid: vec!["second question", "mock thinking", "skill_listing"],
    });

    assert_eq!(asked("codex", &["accept"], cases), [""; 0]);
}
