//! Importing: everything once, nothing by halves.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::formats::{Format, ReadLimits, Source, Tree};
use rejoin::store::{Children, Order};
use rejoin::view::{PathMessage, Recipient, View};
use rejoin::{
    Archive, Block, Conversation, ConversationId, Extent, Hold, Import, ImportMode, Imported, Limits,
    Message, Other, Parent, Role, Status, StoredMessage, Subagents, Time,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::formats::claude::{line, reply, text, user};
use crate::formats::round::written;
use crate::formats::{fixture, outline, read, said};

const REAL: &str = "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// What is said on the path of a conversation, how many messages lie beside it, and what an import did to it:
/// how many messages it added, let go on, and found changed.
pub(super) type Told = (Vec<String>, usize, (u64, u64, u64));

/// An archive in a file of its own, and a place for sources.
pub(super) struct Desk {
    archive: Archive,
    directory: TempDir,
}

impl Desk {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display())).unwrap();
        Self { archive, directory }
    }

    fn write(&self, lines: &[String]) -> PathBuf {
        let path = self.directory.path().join("c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl");
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }

    pub(super) fn import(&self, path: &Path) -> Imported {
        self.try_import(path, ImportMode::Store, ReadLimits::default()).unwrap()
    }

    fn try_import(&self, path: &Path, mode: ImportMode, limits: ReadLimits) -> rejoin::Result<Imported> {
        let source = Source::open(path).unwrap();
        let format = Format::of(&source).unwrap();
        let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
        self.archive.imports().add(&source, format, &mut how)
    }

    fn all(&self, id: ConversationId) -> Vec<StoredMessage> {
        self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap()
    }

    /// What a recipient would be sent: roles and texts, those of one role after
    /// each other together; and the repairs.
    pub(super) fn sent(
        &self,
        id: ConversationId,
        recipient: &Recipient,
    ) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let path = self.archive.path(id, None).unwrap();
        let view = View::of(&PathMessage::all(&path), &[], recipient);
        let mut sent: Vec<(String, Vec<String>)> = Vec::new();
        for viewed in &view.messages {
            let role = viewed.message.role.as_str().to_owned();
            let texts = viewed.message.blocks.iter().filter_map(|block| block.words());
            let texts = texts.map(|text| text.trim().to_owned()).collect();
            match sent.last_mut() {
                Some((before, said)) if *before == role => said.extend::<Vec<String>>(texts),
                _ => sent.push((role, texts)),
            }
        }
        (sent, view.repairs.iter().map(ToString::to_string).collect())
    }

    pub(super) fn path(&self, id: ConversationId) -> Vec<String> {
        self.archive.path(id, None).unwrap().iter().map(|stored| stored.message.text()).collect()
    }

    /// Imports a conversation of a source, and says what is there then: its path, how many messages lie
    /// beside it, and what was added, went on and changed.
    pub(super) fn import_one(&self, path: &Path, source_id: &str) -> Told {
        let imported = self.import(path);
        let one = imported.conversations.iter().find(|one| one.source_id == source_id).unwrap();
        assert!(self.archive.maintenance().verify(one.id).unwrap().is_sound());
        let path: Vec<String> =
            self.archive.path(one.id, None).unwrap().iter().map(|stored| said(&stored.message)).collect();
        let beside = self.all(one.id).len() - path.len();
        (path, beside, (one.added, one.grown, one.changed))
    }
}

fn talk() -> Vec<String> {
    vec![
        user("u1", None, "one"),
        reply("a1", "u1", "m1", text("1")),
        user("u2", Some("a1"), "two"),
        reply("a2", "u2", "m2", text("2")),
    ]
}

/// What was read and added of the first conversation.
fn counts(imported: &Imported) -> (u64, u64, u64) {
    let first = &imported.conversations[0];
    (first.messages, first.added, first.changed)
}

#[test]
fn importing_twice_is_importing_once() {
    let desk = Desk::new();

    let first = desk.import(&fixture(REAL));
    let id = first.conversations[0].id;
    let (stored, messages) = (desk.archive.conversation(id).unwrap(), desk.all(id));
    let second = desk.import(&fixture(REAL));

    assert_eq!((counts(&first), counts(&second)), ((22, 22, 0), (22, 0, 0)));
    assert_eq!((desk.archive.conversation(id).unwrap(), desk.all(id)), (stored, messages));
}

#[test]
fn an_import_is_held_left_and_says_where_it_came_from() {
    let desk = Desk::new();

    let id = desk.import(&fixture(REAL)).conversations[0].id;

    let stored = desk.archive.conversation(id).unwrap();
    let header = &stored.conversation;
    let origin = header.origin.as_ref().unwrap();
    assert_eq!((header.hold, header.status), (Hold::Import, Status::Paused));
    assert_eq!(
        (origin.format.as_str(), origin.source_id.as_str(), origin.source_path.as_deref()),
        ("claude", "c833a56b-45d4-4ced-8b45-47d6a5359b48", fixture(REAL).to_str())
    );
    assert_eq!(stored.created_at.to_string(), "2026-11-15T17:55:34.430000Z");
    assert_eq!(stored.last_active_at.to_string(), "2026-11-15T17:56:01.827000Z");
    assert_eq!(
        (stored.first.as_str(), stored.last.as_str()),
        ("Hello there, TOOLTURN please", "MOCK-REPLY 18; saw 7 messages")
    );
    assert!(desk.archive.maintenance().verify(id).unwrap().is_sound());
}

#[test]
fn a_sub_agent_is_linked_to_the_message_that_asked_for_it() {
    let desk = Desk::new();

    let imported = desk.import(&fixture(REAL));

    let main = imported.conversations[0].id;
    let runs =
        desk.archive.subagents().list(&Subagents { parent: Some(main), ..Subagents::default() }).unwrap();
    let Parent { message, .. } = runs[0].parent().unwrap();
    let asked = desk.archive.messages(main, &[message.unwrap()]).unwrap();
    assert_eq!(runs[0].subagent().unwrap().to_string(), "subagent:general-purpose:a92545b2c32de9584");
    assert!(said(&asked[0].message).contains("Agent>"), "{asked:?}");
}

/// A line of a rollout.
fn rollout_line(kind: &str, payload: serde_json::Value) -> String {
    json!({"timestamp": "2026-11-15T12:00:00.000Z", "type": kind, "payload": payload}).to_string()
}

#[test]
fn a_sub_agent_in_a_file_of_its_own_is_linked_to_the_message_that_asked_for_it() {
    let (thread, run) = ("01a1e059-7bf2-7302-8c1e-a7466ee2f7dc", "01a1e059-aaf0-7402-a1be-741b1091c000");
    let desk = Desk::new();
    let meta = |id: &str, parent: Option<&str>| {
        let mut payload = json!({"id": id, "timestamp": "2026-11-15T12:00:00.000Z", "cwd": "/tmp",
                                 "originator": "codex", "cli_version": "0"});
        if let Some(parent) = parent {
            payload["parent_thread_id"] = json!(parent);
            payload["agent_nickname"] = json!("Scout");
        }
        rollout_line("session_meta", payload)
    };
    let says = |role: &str, kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        rollout_line("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let called = json!({"type": "function_call", "name": "spawn_agent", "arguments": "{}", "call_id": "c1"});
    let answered = json!({"type": "function_call_output", "call_id": "c1", "output": format!("{{\"agent_id\":\"{run}\"}}")});
    let main = [
        meta(thread, None),
        says("user", "input_text", "look around"),
        rollout_line("response_item", called),
        rollout_line("response_item", answered),
        says("assistant", "output_text", "done"),
    ];
    let own = [meta(run, Some(thread)), says("user", "input_text", "scout")];
    let path = |id: &str| desk.directory.path().join(format!("rollout-2026-11-15T12-00-00-{id}.jsonl"));
    fs::write(path(thread), main.join("\n")).unwrap();
    fs::write(path(run), own.join("\n")).unwrap();

    let main = desk.import(&path(thread)).conversations[0].id;
    let imported = desk.import(&path(run));

    let runs =
        desk.archive.subagents().list(&Subagents { parent: Some(main), ..Subagents::default() }).unwrap();
    let Parent { message, .. } = runs[0].parent().unwrap();
    let asked = desk.archive.messages(main, &[message.unwrap()]).unwrap();
    assert_eq!((imported.conversations.len(), imported.conversations[0].parent), (1, Some(main)));
    assert_eq!(runs[0].subagent().unwrap().to_string(), format!("subagent:Scout:{run}"));
    assert_eq!(said(&asked[0].message), "assistant: spawn_agent>{}");
    assert_eq!(desk.all(main).len(), 4);
}

#[test]
fn a_child_that_comes_before_its_parent_is_imported_once() {
    let desk = Desk::new();
    let lines = vec![user("u2", Some("u1"), "two"), user("u1", None, "one"), user("u3", Some("u2"), "three")];

    let first = desk.import(&desk.write(&lines));
    let second = desk.import(&desk.write(&lines));

    assert_eq!((counts(&first), counts(&second)), ((3, 3, 0), (3, 0, 0)));
}

#[test]
fn a_model_is_shown_the_summary_and_what_it_kept() {
    let desk = Desk::new();
    let id = desk.import(&fixture(REAL)).conversations[0].id;

    let path = desk.archive.path(id, None).unwrap();
    let shown = View::of(&PathMessage::all(&path), &[], &Recipient::new("anthropic"));

    let texts: Vec<String> = shown.messages.iter().map(|viewed| said(&viewed.message)).collect();
    let expected = [
        "user: This session is being continue",
        "assistant: (mock thinking 12) | MOCK-REPLY 12; saw 14 messages",
        "user: <local-command-caveat>Caveat: ",
        "user: <command-name>/compact</comman",
        "user: <local-command-stdout>Compacte",
        "user: Continue from where you left o",
        "assistant: No response requested.",
        "user: after compact question",
        "assistant: (mock thinking 18) | MOCK-REPLY 18; saw 7 messages",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn an_imported_session_is_written_as_it_was_read() {
    let desk = Desk::new();
    let id = desk.import(&fixture(REAL)).conversations[0].id;

    let tree = desk.archive.exports().tree(id, Extent::Tree).unwrap();
    let (_directory, path) = written("claude", &tree);

    let (before, after) = (read(&fixture(REAL)), read(&path));
    assert_eq!(outline(&after.messages), outline(&before.messages));
    let keeps = |tree: &Tree| tree.messages.iter().flat_map(|found| found.keeps.clone()).collect::<Vec<_>>();
    assert_eq!(keeps(&after), keeps(&before));
    let asked = |tree: &Tree| tree.conversations[1].parent.as_ref().and_then(|parent| parent.message.clone());
    assert_eq!(asked(&after), asked(&before));
    assert_eq!(after.conversations[0].id, id.to_string());
}

#[test]
fn what_must_not_leave_the_store_is_not_exported() {
    let desk = Desk::new();
    let id = desk.import(&desk.write(&talk())).conversations[0].id;
    desk.archive.update(id, |header| header.privacy.exportable = false).unwrap();

    let refused = desk.archive.exports().tree(id, Extent::Tree).unwrap_err();

    assert_eq!(refused.to_string(), format!("conversation `{id}` is marked as not exportable"));
}

#[test]
fn a_message_keeps_the_text_it_was_read_from() {
    let desk = Desk::new();
    let lines = talk();
    let id = desk.import(&desk.write(&lines)).conversations[0].id;

    let sources: Vec<Option<String>> =
        desk.all(id).iter().map(|stored| desk.archive.imports().source_of(id, stored.id).unwrap()).collect();

    assert_eq!(sources, lines.into_iter().map(Some).collect::<Vec<_>>());
}

#[test]
fn a_deleted_message_takes_its_source_along() {
    let desk = Desk::new();
    let id = desk.import(&desk.write(&talk())).conversations[0].id;
    let all = desk.all(id);

    desk.archive.removal().delete_messages(id, &[all[2].id], Children::Remove, "test").unwrap();

    let left: Vec<bool> =
        all.iter().map(|stored| desk.archive.imports().source_of(id, stored.id).unwrap().is_some()).collect();
    assert_eq!(left, [true, true, false, false]);
}

#[test]
fn a_file_that_grew_adds_only_what_is_new() {
    let desk = Desk::new();
    let mut lines = talk();
    let id = desk.import(&desk.write(&lines)).conversations[0].id;
    let before = desk.all(id);

    lines.push(user("u3", Some("a2"), "three"));
    let grown = desk.import(&desk.write(&lines));

    assert_eq!(counts(&grown), (5, 1, 0));
    assert_eq!(desk.all(id)[..4], before);
    assert_eq!(desk.path(id), ["one", "1", "two", "2", "three"]);
}

#[test]
fn a_torn_line_is_told_and_imported_once_it_is_whole() {
    let desk = Desk::new();
    let lines = talk();
    let whole = lines.join("\n");
    let path = desk.write(&[]);
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();

    let torn = desk.import(&path);
    fs::write(&path, whole).unwrap();
    let mended = desk.import(&path);

    assert_eq!((counts(&torn), torn.skipped), ((3, 3, 0), 1));
    assert_eq!((counts(&mended), mended.skipped), ((4, 1, 0), 0));
}

#[test]
fn a_changed_message_becomes_a_branch_once() {
    let desk = Desk::new();
    let mut lines = talk();
    let id = desk.import(&desk.write(&lines)).conversations[0].id;

    lines[2] = user("u2", Some("a1"), "two, but other");
    let path = desk.write(&lines);
    let changed = desk.import(&path);
    let again = desk.import(&path);

    assert_eq!((counts(&changed), counts(&again)), ((4, 2, 2), (4, 0, 0)));
    assert_eq!(desk.path(id), ["one", "1", "two, but other", "2"]);
    assert_eq!(desk.all(id).len(), 6);
}

#[test]
fn who_went_on_here_stays_where_he_was() {
    let desk = Desk::new();
    let mut lines = talk();
    let id = desk.import(&desk.write(&lines)).conversations[0].id;
    desk.archive.rename(id, "mine").unwrap();
    desk.archive.resume(id).unwrap().append(Message::user("here")).unwrap();

    lines.push(user("u3", Some("a2"), "there"));
    lines.push(r#"{"type":"custom-title","customTitle":"theirs"}"#.to_owned());
    desk.import(&desk.write(&lines));

    assert_eq!(desk.path(id), ["one", "1", "two", "2", "here"]);
    assert_eq!(desk.archive.conversation(id).unwrap().conversation.title.as_deref(), Some("mine"));
    assert_eq!(desk.all(id).len(), 6);
}

#[test]
fn a_message_whose_parent_is_missing_follows_the_one_before() {
    let desk = Desk::new();
    let mut lines = talk();
    lines[1] = "broken".to_owned();

    let imported = desk.import(&desk.write(&lines));

    let why: Vec<(u64, &str)> =
        imported.reasons.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
    let missing = "the message that it follows is missing; it follows the one before";
    assert_eq!(why, [(2, "it is not JSON"), (3, missing)]);
    assert_eq!(desk.path(imported.conversations[0].id), ["one", "two", "2"]);
}

#[test]
fn a_trial_tells_the_same_and_stores_nothing() {
    let desk = Desk::new();
    let path = desk.write(&talk());

    let tried = desk.try_import(&path, ImportMode::Try, ReadLimits::default()).unwrap();
    let listed = desk.archive.list(&Default::default()).unwrap().items.len();

    assert_eq!((listed, desk.import(&path)), (0, tried));
}

#[test]
fn a_limit_that_is_passed_leaves_nothing_behind() {
    let desk = Desk::new();
    let mut lines = talk();
    lines.push(user("u3", Some("a2"), &"long ".repeat(1_000)));
    let limits = ReadLimits { line_bytes: 2_000, ..ReadLimits::default() };

    let error = desk.try_import(&desk.write(&lines), ImportMode::Store, limits).unwrap_err();

    assert!(format!("{error:?}").ends_with("line 5 has more than 2000 bytes"), "{error:?}");
    assert_eq!(desk.archive.list(&Default::default()).unwrap().items, []);
}

#[test]
fn many_messages_are_stored_in_order() {
    let desk = Desk::new();
    let name = |place: usize| format!("u{place}");
    let lines: Vec<String> = (0..1_000)
        .map(|place| user(&name(place), place.checked_sub(1).map(name).as_deref(), &place.to_string()))
        .collect();

    let imported = desk.import(&desk.write(&lines));

    let expected: Vec<String> = (0..1_000).map(|place| place.to_string()).collect();
    assert_eq!(desk.path(imported.conversations[0].id), expected);
}

#[test]
fn a_title_that_comes_with_new_messages_is_taken_over() {
    let desk = Desk::new();
    let mut lines = vec![user("u1", None, "one"), reply("a1", "u1", "m1", text("1"))];
    let id = desk.import(&desk.write(&lines)).conversations[0].id;
    // The head is elsewhere than at the end, so that it is moved.
    lines.push(user("u2", Some("a1"), "two"));
    lines.push(user("u3", Some("a1"), "three"));
    lines.push(json!({"type": "custom-title", "customTitle": "Numbers", "sessionId": "s"}).to_string());
    lines.push(json!({"type": "last-prompt", "leafUuid": "u2", "sessionId": "s"}).to_string());

    let imported = desk.import(&desk.write(&lines));

    let stored = desk.archive.conversation(id).unwrap();
    assert_eq!((imported.added(), stored.conversation.title.as_deref()), (2, Some("Numbers")));
}

#[test]
fn a_conversation_beyond_its_limit_is_refused_whole() {
    let desk = Desk::new();
    let limits = Limits { conversation_bytes: 500, ..Limits::default() };
    let desk = Desk { archive: desk.archive.with_limits(limits), ..desk };
    let long = "x".repeat(400);
    let lines = [user("u1", None, "one"), user("u2", Some("u1"), &long), user("u3", Some("u2"), "three")];

    let refused = desk.try_import(&desk.write(&lines), ImportMode::Store, ReadLimits::default());

    let refused = format!("{:?}", refused.unwrap_err());
    assert!(refused.contains("`limits.conversation_bytes` = 500"), "{refused}");
    assert_eq!(desk.archive.list(&Default::default()).unwrap().items, []);
}

/// The id that the first version gave a conversation of Claude Code.
fn earlier_id(session: &str, created: Time) -> ConversationId {
    let hash = Sha256::digest(format!("rejoin/import/conversation/1\nclaude\0{session}"));
    ConversationId::new(created, hash[..10].try_into().unwrap())
}

#[test]
fn what_an_earlier_version_imported_keeps_its_id_and_comes_no_second_time() {
    let (first, second) = (Desk::new(), Desk::new());
    let session = "c833a56b-45d4-4ced-8b45-47d6a5359b48";
    let note = line("attachment", "n1", Some("u1"), json!({"attachment": {"type": "x"}}));
    let lines = [user("u1", None, "one"), note, reply("a1", "n1", "m1", text("1"))];
    let imported = first.import(&first.write(&lines)).conversations[0].clone();
    // It had another id then, and what the program attaches was a message.
    let mut tree =
        first.archive.exports().tree_for(Format::named("json").unwrap(), imported.id, Extent::Tree).unwrap();
    let earlier = earlier_id(session, tree.conversations[0].created_at);
    tree.conversations[0].id = earlier.to_string();
    let mut attached = tree.messages[0].clone();
    let other = Block::Other(Other { kind: "attachment".to_owned(), fields: Default::default() });
    (attached.message.role, attached.message.blocks) = (Role::System, vec![other]);
    (attached.id, attached.parent) = ("Attached".to_owned(), Some(attached.id));
    tree.messages[1].parent = Some("Attached".to_owned());
    tree.messages.insert(1, attached);
    tree.messages.iter_mut().for_each(|found| found.conversation = earlier.to_string());
    let (_directory, path) = written("json", &tree);
    second.import(&path);
    let source = second.write(&lines);
    let read_from = |header: &mut Conversation| {
        let origin = header.origin.as_mut().unwrap();
        (origin.read_as, origin.source_path) = (None, Some(source.display().to_string()));
    };
    second.archive.update(earlier, read_from).unwrap();

    let again = second.import(&source).conversations[0].clone();
    let grown = [&lines[..], &[user("u2", Some("a1"), "two")]].concat();
    let later = second.import(&second.write(&grown)).conversations[0].clone();

    assert_eq!((again.id, again.is_new, again.added, again.changed), (earlier, false, 0, 0));
    assert_eq!((later.id, later.added, later.changed), (earlier, 1, 0));
    assert_eq!(
        (imported.id == earlier, second.path(earlier)),
        (false, vec!["one".into(), String::new(), "1".into(), "two".into()])
    );
}

/// A session with a call that starts a run, and the run's file without a description. The result names the
/// run where `is_named`.
fn session_with_a_bare_run(desk: &Desk, is_named: bool) -> PathBuf {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Task", "input": {}});
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]);
    let mut answered = json!({"message": {"role": "user", "content": result}});
    if is_named {
        answered["toolUseResult"] = json!({"agentId": "a1b2", "status": "completed"});
    }
    let path = desk.write(&[
        user("u1", None, "go"),
        reply("r1", "u1", "m1", call),
        line("user", "u2", Some("r1"), answered),
    ]);
    let runs = path.with_extension("").join("subagents");
    fs::create_dir_all(&runs).unwrap();
    let explore = json!({"message": {"role": "user", "content": "explore"}, "isSidechain": true});
    fs::write(runs.join("agent-a1b2.jsonl"), line("user", "s1", None, explore) + "\n").unwrap();
    path
}

#[test]
fn a_run_without_a_description_is_linked_to_its_session_and_goes_with_it() {
    let outcomes = [true, false].map(|is_named| {
        let desk = Desk::new();
        let main = desk.import(&session_with_a_bare_run(&desk, is_named)).conversations[0].id;
        let below = Subagents { parent: Some(main), ..Subagents::default() };
        let runs = desk.archive.subagents().list(&below).unwrap();
        let asked = runs[0].parent().unwrap().message;
        let asked = asked.map(|message| said(&desk.archive.messages(main, &[message]).unwrap()[0].message));
        let tree = desk.archive.exports().tree(main, Extent::Tree).unwrap();
        let told = tree.conversations[1].parent.clone().unwrap();
        desk.archive.removal().purge(&[main], rejoin::PurgeReason::UserRequested, &mut |_| ());
        let left = desk.archive.subagents().list(&Subagents::default()).unwrap().len();
        (runs.len(), asked, told.conversation == main.to_string(), told.message, left)
    });

    let call = || "assistant: Task>{}".to_owned();
    assert_eq!(outcomes, [(1, Some(call()), true, Some("r1".to_owned()), 0), (1, None, true, None, 0)]);
}

#[test]
fn a_link_without_a_message_learns_it_from_a_later_import() {
    let desk = Desk::new();
    let main = desk.import(&session_with_a_bare_run(&desk, false)).conversations[0].id;

    desk.import(&session_with_a_bare_run(&desk, true));

    let below = Subagents { parent: Some(main), ..Subagents::default() };
    let runs = desk.archive.subagents().list(&below).unwrap();
    assert!(runs[0].parent().unwrap().message.is_some());
}
