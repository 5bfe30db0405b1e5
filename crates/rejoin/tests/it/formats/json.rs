//! Rejoin's own JSON: everything goes out, and comes back as it was.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rejoin::formats::{
    Format, ReadLimits, Source, SourceBranch, SourceConversation, SourceMessage, SourceParent, SourcePin,
    Tree,
};
use rejoin::store::{Order, Put, Safety, Space};
use rejoin::{
    Block, Conversation, ConversationId, Extent, Hold, Import, ImportMode, Imported, ImportedAs, Json,
    Message, Status, StoredConversation, StoredMessage, Subagents, Time,
};
use tempfile::TempDir;

use crate::formats::round::{Step, steps, tree_of, written};
use crate::formats::{file_of, fixture};
use crate::held::Held;

const REAL: &str = "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

fn read(path: &Path) -> rejoin::Result<Tree> {
    let source = Source::open(path)?;
    let format = Format::of(&source).expect("it is recognised");
    assert_eq!(format.name, "json");
    Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading))
}

/// A tree with everything that a tree can have.
fn full(steps: Vec<Step>, head: prop::sample::Index, title: Option<String>) -> Tree {
    let mut tree = tree_of(steps, head, title, "anthropic");
    let first = tree.messages[0].clone();
    tree.messages[0].message.label = Some("the \"first\"\n".to_owned());
    tree.messages[0].message.extra.set("own", Json::parse(r#"{"b":1.50,"a":[null]}"#).unwrap());
    let last = tree.messages.last().unwrap().id.clone();
    let conversation = first.conversation.clone();
    tree.branches.push(SourceBranch {
        conversation: conversation.clone(),
        id: "b1".to_owned(),
        title: "on a budget".to_owned(),
        head: last,
    });
    tree.pins.push(SourcePin { conversation: conversation.clone(), message: first.id.clone() });
    let mut run = SourceConversation::new("run 1/é", Time::from_micros(5));
    run.header = Conversation::titled("of a sub-agent");
    run.header.extra.set("x", Json::parse("[1]").unwrap());
    run.parent = Some(SourceParent {
        conversation,
        message: Some(first.id),
        name: "scout".to_owned(),
        run: "1".to_owned(),
    });
    tree.messages.push(SourceMessage {
        conversation: run.id.clone(),
        id: "only".to_owned(),
        parent: None,
        message: Message::user("look around"),
        keeps: Vec::new(),
        line: 0,
        source: String::new(),
    });
    tree.conversations.push(run);
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_exactly(
        steps in steps(), head in any::<prop::sample::Index>(), title in prop::option::of(any::<String>()),
    ) {
        let tree = full(steps, head, title);

        let (_directory, path) = written("json", &tree);

        prop_assert_eq!(read(&path).unwrap(), tree);
    }

    #[test]
    fn a_damaged_file_is_an_error_or_reads_without_panic(
        steps in steps(), cut in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let tree = tree_of(steps, cut, None, "anthropic");
        let (_directory, path) = written("json", &tree);
        let mut bytes = fs::read(&path).unwrap();
        // Behind what it is recognised by, and before the last bracket.
        let place = 20 + cut.index(bytes.len() - 22);
        bytes[place] = byte;
        fs::write(&path, &bytes).unwrap();
        let _ = read(&path);
        fs::write(&path, &bytes[..place]).unwrap();

        let torn = read(&path);

        prop_assert!(torn.is_err());
    }
}

/// An archive of its own, and a place for files.
struct Desk {
    archive: Held,
    directory: TempDir,
}

/// Everything an archive has of a conversation, but what counts its changes.
type Everything = (StoredConversation, Vec<StoredMessage>);

impl Desk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let archive = Held::open(&format!("sqlite:{}", directory.path().join("a.db").display()));
        Self { archive, directory }
    }

    fn export(&self, id: ConversationId) -> PathBuf {
        let format = Format::named("json").unwrap();
        let files =
            format.write(&self.archive.exports().tree_for(format, id, Extent::Tree).unwrap()).unwrap();
        let path = self.directory.path().join(&files[0].path);
        fs::write(&path, &files[0].bytes).unwrap();
        path
    }

    fn import(&self, path: &Path) -> Imported {
        let source = Source::open(path).unwrap();
        let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
        let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
        self.archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap()
    }

    fn import_into(&self, id: ConversationId, path: &Path) -> Imported {
        let source = Source::open(path).unwrap();
        let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
        let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
        self.archive.imports().add_into(id, &source, Format::of(&source).unwrap(), &mut how).unwrap()
    }

    fn everything(&self, id: ConversationId) -> Everything {
        let mut stored = self.archive.conversation(id).unwrap();
        stored.version = 0;
        let mut messages = self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
        // What was appended together is not known to a file.
        messages.iter_mut().for_each(|message| message.turn = 0);
        (stored, messages)
    }
}

/// A conversation with branches, labels, pins, a tool, unknown fields and a run of a sub-agent.
fn rich(desk: &Desk) -> ConversationId {
    let mut header = Conversation::titled("Lisbon").in_project("/home/me/trip");
    header.extra.set("mood", Json::parse(r#""calm""#).unwrap());
    let mut trip = desk.archive.start(header).unwrap();
    let first = trip.append(Message::user("Where to eat?").labelled("the question")).unwrap();
    let call = Block::tool_call("c1", "map", Json::parse(r#"{"zoom": 1.50}"#).unwrap());
    let mut reply = Message::new(rejoin::Role::Assistant, vec![Block::text("I look."), call]);
    reply.extra.set("k", Json::parse("[1, 2]").unwrap());
    let asked = trip.append(reply).unwrap();
    let mut cheap = trip.fork(first.head, "on a budget").unwrap();
    cheap.append(Message::assistant("A tasca.")).unwrap();
    desk.archive.marks().pin(trip.id(), asked.head).unwrap();
    let mut run = desk.archive.subagents().start(trip.id(), asked.head, "scout", "1").unwrap();
    run.append(Message::user("Look around.")).unwrap();
    desk.archive.update(trip.id(), |header| header.status = Status::Completed).unwrap();
    trip.id()
}

#[test]
fn an_empty_store_gets_the_same_conversation_back() {
    let (here, there) = (Desk::new(), Desk::new());
    let id = rich(&here);

    let imported = there.import(&here.export(id));

    let (mut stored, messages) = here.everything(id);
    let (mut back, again) = there.everything(id);
    assert_eq!(again, messages);
    // It says that it was imported, and from where.
    assert_eq!((back.conversation.hold, stored.conversation.hold), (Hold::Import, Hold::None));
    back.conversation.hold = Hold::None;
    assert_eq!(back.conversation.origin.take().map(|origin| origin.format), Some("json".to_owned()));
    stored.last_active_at = back.last_active_at;
    assert_eq!(back, stored);
    let runs = |desk: &Desk| {
        let found =
            desk.archive.subagents().list(&Subagents { parent: Some(id), ..Subagents::default() }).unwrap();
        found.iter().map(|run| (run.id, run.parent(), run.subagent(), run.messages)).collect::<Vec<_>>()
    };
    assert_eq!(runs(&there), runs(&here));
    assert_eq!(imported.added(), 4);
    assert_eq!(
        there.archive.maintenance().verify(id).unwrap(),
        here.archive.maintenance().verify(id).unwrap()
    );
}

#[test]
fn the_store_it_came_from_gets_nothing_new() {
    let desk = Desk::new();
    let id = rich(&desk);
    let before = desk.everything(id);

    let imported = desk.import(&desk.export(id));

    assert_eq!((imported.added(), desk.everything(id)), (0, before));
}

#[test]
fn what_was_imported_once_is_recognised_after_a_way_through_a_file_of_ours() {
    let (here, there) = (Desk::new(), Desk::new());
    let id = here.import(&fixture(REAL)).conversations[0].id;
    there.import(&here.export(id));

    let again = there.import(&fixture(REAL));

    assert_eq!((again.added(), there.everything(id).1), (0, here.everything(id).1));
}

#[test]
fn a_conversation_that_began_here_grows_from_a_file_only_on_request() {
    let (here, there) = (Desk::new(), Desk::new());
    let id = rich(&here);
    there.import(&here.export(id));
    let head = there.archive.resume(id).unwrap().append(Message::user("And a bar?")).unwrap().head;
    let (file, before) = (there.export(id), here.everything(id));

    let separate = here.import(&file);
    let again = here.import(&file);
    let untouched = here.everything(id);
    let asked = here.import_into(id, &file);

    let told = |imported: &Imported| {
        imported.conversations.iter().map(|one| (one.added, one.imported_as)).collect::<Vec<_>>()
    };
    let beside = ImportedAs::Separate { beside: id };
    assert_eq!(told(&separate), [(4, beside), (0, ImportedAs::Here)]);
    assert_eq!((told(&again), untouched), (vec![(0, beside), (0, ImportedAs::Here)], before.clone()));
    assert_eq!(told(&asked), [(1, ImportedAs::Branch { head: Some(head) }), (0, ImportedAs::Here)]);
    let (after, messages) = here.everything(id);
    let kept = &messages[..before.1.len()];
    assert_eq!((after.head, after.conversation, kept), (before.0.head, before.0.conversation, &before.1[..]));
    assert_eq!(here.archive.path(id, Some(head)).unwrap().len(), 3);
}

#[test]
fn a_session_that_was_handed_on_comes_back_as_a_branch_where_it_went_on() {
    let desk = Desk::new();
    let id = rich(&desk);
    let before = desk.archive.conversation(id).unwrap().head;
    let mut tree = desk.archive.exports().tree(id, Extent::Path(None)).unwrap();
    let mut more = tree.messages[0].clone();
    (more.id, more.message) = ("new".to_owned(), Message::user("And a bar?"));
    more.parent = tree.messages.last().map(|last| last.id.clone());
    tree.messages.push(more);
    tree.conversations[0].head = Some("new".to_owned());
    let (_directory, path) = written("claude", &tree);

    let asked = desk.import_into(id, &path);

    let ImportedAs::Branch { head: Some(head) } = asked.conversations[0].imported_as else {
        panic!("{asked:?}")
    };
    let said: Vec<String> =
        desk.archive.path(id, Some(head)).unwrap().iter().map(|stored| stored.message.text()).collect();
    assert_eq!((asked.added(), desk.archive.conversation(id).unwrap().head), (1, before));
    assert_eq!(said, ["Where to eat?", "A tasca.", "And a bar?"]);
}

#[test]
fn a_branch_that_was_cut_off_gives_the_head_back() {
    let (here, there) = (Desk::new(), Desk::new());
    let id = rich(&here);
    there.import(&here.export(id));
    let branch = there.archive.resume(id).unwrap().append(Message::user("And a bar?")).unwrap().head;
    let (file, before) = (there.export(id), here.archive.conversation(id).unwrap().head.unwrap().id);
    here.import_into(id, &file);
    let heads = [branch, before].map(|left_at| {
        // As an import leaves it that is killed before its end.
        let bookmark = serde_json::json!({"here": before, "left_at": left_at}).to_string();
        let (name, bytes) = (b"import.head".as_slice(), Some(bookmark.as_bytes()));
        let blob = Put { space: Space::State, owner: Some(id), name, bytes };
        here.archive.store().put(&[blob], Safety::Synced).unwrap();
        here.archive.rewind(id, branch).unwrap();

        here.import_into(id, &file);

        here.archive.conversation(id).unwrap().head.unwrap().id
    });

    // Who has moved it since stays there.
    assert_eq!(heads, [before, branch]);
}

#[test]
fn a_message_that_was_tampered_with_stands_beside_the_true_one() {
    let desk = Desk::new();
    let id = rich(&desk);
    let before = desk.everything(id);
    let path = desk.export(id);
    let text = fs::read_to_string(&path).unwrap().replace("A tasca.", "A trap.");
    fs::write(&path, text).unwrap();

    let imported = desk.import_into(id, &path);

    let (after, messages) = desk.everything(id);
    assert_eq!((imported.added(), imported.conversations[0].changed), (1, 1));
    assert_eq!((&messages[..before.1.len()], after.head), (&before.1[..], before.0.head));
}

#[test]
fn members_may_stand_in_another_order_and_with_white_space() {
    let text = r#" {
        "rejoin" : 1, "more": {"x": [1]},
        "conversations": [ {"created_at": "2026-11-15T19:27:27Z", "id": "a", "messages": [
            {"message": {"role": "user", "blocks": []}, "id": "m", "future": 1}, {"id": 5}
        ], "head": "m", "header": {"title": "T"}} ] }"#;
    let (_directory, path) = file_of("x.json", &[text]);

    let tree = read(&path).unwrap();

    let mut conversation = SourceConversation::new("a", "2026-11-15T19:27:27Z".parse().unwrap());
    conversation.head = Some("m".to_owned());
    conversation.header.title = Some("T".to_owned());
    assert_eq!(tree.conversations, [conversation]);
    assert_eq!(tree.messages.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["m"]);
    let why: Vec<&str> = tree.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    assert_eq!(why, ["message 2: invalid type: integer `5`, expected a string at line 1 column 8"]);
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_why() {
    let cases = [
        (r#"{"rejoin":2,"conversations":[]}"#, "version 2 of the document is not known; 1 is"),
        (r#"{"rejoin":1,"conversations":[{"id":"a"}]}"#, "missing field `created_at`"),
        (r#"{"rejoin":1,"conversations":[{"messages":[]}]}"#, "missing field `id`"),
        (r#"{"rejoin":1,"conversations":[] "#, "EOF while parsing an object"),
        (r#"{"rejoin":1} {}"#, "trailing characters"),
    ];

    for (text, expected) in cases {
        let (_directory, path) = file_of("x.json", &[text]);
        let error = read(&path).unwrap_err();
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let told: Vec<String> = causes.map(ToString::to_string).collect();
        assert!(told.iter().any(|line| line.contains(expected)), "{text}: {told:?}");
    }
}

#[test]
fn one_message_and_all_of_them_have_a_limit() {
    let long = "x".repeat(300_000);
    let text = format!(
        r#"{{"rejoin":1,"conversations":[{{"id":"a","created_at":"2026-11-15T19:27:27Z","messages":[{{"id":"m","message":{{"role":"user","blocks":[{{"type":"text","text":"{long}"}}]}}}}]}}]}}"#
    );
    let (_directory, path) = file_of("x.json", &[&text]);
    let source = Source::open(&path).unwrap();
    let read = |limits| Tree::gather(limits, |reading| Format::of(&source).unwrap().read(&source, reading));

    let small = ReadLimits::default();
    let one = read(ReadLimits { line_bytes: 100_000, ..small }).unwrap_err();
    let all = read(ReadLimits { file_bytes: 200_000, ..small }).unwrap_err();
    let deep = text.replace(&format!("\"{long}\""), &format!("{}{}", "[".repeat(400), "]".repeat(400)));
    fs::write(&path, deep).unwrap();
    let deep = read(small).unwrap();

    let causes = [one, all].map(|error| {
        std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
            .last()
            .map(ToString::to_string)
    });
    assert_eq!(
        causes,
        [
            Some("one message has more than 100000 bytes at line 1 column 131072".to_owned()),
            Some("the file has more than 200000 bytes at line 1 column 196608".to_owned())
        ]
    );
    assert_eq!(deep.skipped[0].why, "message 1: it nests too deep");
}
