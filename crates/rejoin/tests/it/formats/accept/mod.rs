//! The real programs go on with what is written for them, and send all of it: the whole request is compared.
//!
//! `REJOIN_ACCEPT` may name a directory with `accept-claude/accept.sh` and `accept-codex/accept.sh`, which
//! start the real programs in their own way and look for words. They are asked about the same conversations.

mod claude;
mod codex;
mod scripts;

use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;
use std::thread;

use rejoin::formats::{Format, ReadLimits, Source, SourceConversation, SourceMessage, Tree};
use rejoin::{
    Archive, Block, Extent, Fields, Import, ImportMode, Json, Media, MediaKind, Message, Role, Summary,
    Thinking, Time, ToolResult,
};
use serde_json::{Value, json};

use crate::formats::{fixture, kept};
use crate::real_agent::{ANSWER, Agent, Desk};

/// What is said to go on.
const PROMPT: &str = "AND-NOW";

/// A picture of one dot.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A conversation that is written, and everything that the program sends of it.
#[derive(Debug)]
struct Case {
    name: &'static str,
    tree: Tree,
    expected: Value,
}

impl Case {
    fn new(name: &'static str, tree: Tree, expected: Value) -> Self {
        Self { name, tree, expected }
    }

    /// Writes it, goes on with it, and tells how what was sent differs.
    fn run(&self, desk: &Desk, agent: Agent, field: &str, sent: fn(Value) -> Value) -> Option<String> {
        let mut tree = self.tree.clone();
        tree.conversations[0].header.project = Some(desk.project().display().to_string());
        let session = tree.conversations[0].id.clone();
        let files = Format::named(agent.command()).unwrap().write(&tree).unwrap();
        for file in &files {
            let path = desk.settings().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &file.bytes).unwrap();
        }
        let output = desk.resume(&session, PROMPT);
        let grown = fs::read(desk.settings().join(&files[0].path)).unwrap();
        let requests: Vec<Value> = desk.requests().into_iter().map(sent).collect();
        let added = grown.strip_prefix(files[0].bytes.as_slice()).map(String::from_utf8_lossy);
        let is_kept = added.is_some_and(|added| added.contains(ANSWER));
        let is_same = output.status.success() && requests == [json!({ field: self.expected })] && is_kept;
        let lines = |list: &Value| {
            let items = list.as_array().into_iter().flatten();
            items.map(|item| format!("\n  {item}")).collect::<String>()
        };
        let sent: String = requests.iter().map(|request| lines(&request[field])).collect();
        (!is_same).then(|| {
            format!(
                "{}: {}, grown {is_kept}\nexpected{}\nsent{sent}\nsaid {}{}",
                self.name,
                output.status,
                lines(&self.expected),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            )
        })
    }
}

/// Asks about every case, as many at once as there are processors; the answers that are not empty.
fn ask(cases: &[Case], answer: impl Fn(&Case) -> Option<String> + Sync) -> Vec<String> {
    let waiting: Mutex<VecDeque<&Case>> = Mutex::new(cases.iter().collect());
    let told = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap().pop_front();
    let work = || {
        while let Some(case) = next() {
            let answer = answer(case);
            told.lock().unwrap().extend(answer);
        }
    };
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    told.into_inner().unwrap()
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

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Well,
    Badly,
}

fn result(id: &str, output: impl serde::Serialize, ending: Ending) -> Message {
    let output = Json::of(&output).unwrap();
    let is_error = ending == Ending::Badly;
    let block = ToolResult { call_id: id.to_owned(), output, is_error, extra: Fields::new() };
    Message::new(Role::Tool, vec![Block::ToolResult(block)])
}

fn dot() -> Block {
    let (mime_type, data) = ("image/png".to_owned(), Some(DOT.to_owned()));
    Block::Media(Media { kind: MediaKind::Image, mime_type, data, uri: None, extra: Fields::new() })
}

fn plain() -> Tree {
    tree(vec![
        Message::user("OLD-Q1"),
        Message::assistant("OLD-A1"),
        Message::user("OLD-Q2"),
        Message::assistant("OLD-A2"),
    ])
}

/// Two calls at once, one of which answers with a picture.
fn parallel() -> Tree {
    tree(vec![
        Message::user("GO"),
        assistant(vec![Block::text("BOTH"), call("c1"), call("c2")]),
        result("c1", "OUT-1", Ending::Well),
        result("c2", vec![Block::text("OUT-2"), dot()], Ending::Well),
        Message::assistant("DONE"),
    ])
}

fn failed() -> Tree {
    tree(vec![
        Message::user("GO"),
        assistant(vec![call("c1")]),
        result("c1", "NO-SUCH-PLACE", Ending::Badly),
        Message::assistant("SORRY"),
    ])
}

/// A reply that was thought about, and came from an API if one is named.
fn thought(thinking: Thinking, api: Option<&str>) -> Tree {
    let mut message = assistant(vec![Block::Thinking(thinking), Block::text("SAID")]);
    if let Some(api) = api {
        message.extra.set("api", Json::of(&api).unwrap());
    }
    tree(vec![Message::user("THINK"), message, Message::user("AND?"), Message::assistant("SO")])
}

fn thinking(signature: Option<&str>) -> Thinking {
    let signature = signature.map(str::to_owned);
    Thinking { text: "THOUGHT".to_owned(), signature, ..Thinking::default() }
}

fn pictured() -> Tree {
    let question = Message::new(Role::User, vec![Block::text("LOOK"), dot(), Block::text("WELL?")]);
    tree(vec![question, Message::assistant("A-DOT")])
}

fn compacted() -> Tree {
    let summary = Summary { text: "THE-SUMMARY".to_owned(), ..Summary::default() };
    let mut tree = tree(vec![
        Message::user("GONE-Q"),
        Message::assistant("GONE-A"),
        Message::user("KEPT-Q"),
        Message::assistant("GONE-B"),
        Message::user("KEPT-R"),
        Message::assistant("GONE-C"),
        Message::new(Role::User, vec![Block::Summary(summary)]),
        Message::user("NEW-Q"),
        Message::assistant("NEW-A"),
    ]);
    tree.messages[6].keeps = kept(&["m2", "m4"]);
    tree
}

/// Two branches; the program is to go on with the first.
fn forked() -> Tree {
    let mut tree = tree(vec![
        Message::user("OLD-Q1"),
        Message::assistant("OLD-A1"),
        Message::user("CHOSEN"),
        Message::assistant("CHOSEN-A"),
        Message::user("OTHER"),
        Message::assistant("OTHER-A"),
    ]);
    tree.messages[4].parent = Some("m1".to_owned());
    tree.conversations[0].head = Some("m3".to_owned());
    tree
}

fn unicode() -> Tree {
    tree(vec![Message::user("Où? 🗺️ 日本 \u{202e}x\n\n```\ttab"), Message::assistant("Ici\u{0}… ✅")])
}

fn instructed() -> Tree {
    let instruction = Message::new(Role::System, vec![Block::text("BE-BRIEF")]);
    tree(vec![instruction, Message::user("HI"), Message::assistant("HELLO")])
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
    let imported = archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap();
    archive.exports().tree(imported.conversations[0].id, Extent::Path(None)).unwrap()
}
