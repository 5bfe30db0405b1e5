//! Importing again: what did not change is not read, what went on goes on, what
//! was deleted here stays deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{JsonlStore, Order, SqliteStore, Store};
use rejoin::{
    Archive, ConversationId, DeletedHere, Import, ImportMode, Imported, Imports, Message, Nature,
    SystemNature, Time,
};
use serde_json::json;
use tempfile::TempDir;

use crate::formats::claude::{reply, text, user};

const NAME: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// A clock that is an hour fast, so that whatever was written has rested.
#[derive(Debug)]
struct Later;

impl Nature for Later {
    fn now(&self) -> Time {
        Time::from_micros(SystemNature.now().as_micros() + 3_600_000_000)
    }

    fn fill(&self, random: &mut [u8]) {
        SystemNature.fill(random);
    }
}

struct Desk {
    archive: Archive,
    imports: Imports,
    directory: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self::of(|place| Arc::new(SqliteStore::open(place.join("a.db")).unwrap()))
    }

    fn of(open: fn(&Path) -> Arc<dyn Store>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::with_store(open(directory.path())).with_nature(Arc::new(Later));
        Self { archive, imports: Imports::default(), directory }
    }

    fn write(&self, lines: &[String]) -> PathBuf {
        let path = self.directory.path().join(NAME);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }

    fn import(&mut self, path: &Path, deleted: DeletedHere) -> Imported {
        let source = Source::open(path).unwrap();
        let format = Format::of(&source).unwrap();
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        self.archive.imports().add_noting(&mut self.imports, &source, format, deleted, &mut how).unwrap()
    }

    fn is_unchanged(&self, path: &Path) -> bool {
        let source = Source::open(path).unwrap();
        self.imports.is_unchanged(&source, Format::of(&source).unwrap())
    }

    fn said(&self, id: ConversationId) -> Vec<String> {
        let path = self.archive.path(id, None).unwrap();
        path.iter().map(|stored| stored.message.text()).collect()
    }

    fn messages(&self, id: ConversationId) -> usize {
        self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap().len()
    }
}

fn talk() -> Vec<String> {
    vec![user("u1", None, "one"), reply("a1", "u1", "m1", text("1"))]
}

/// A reply in pieces, with a call and its result.
fn pieces() -> Vec<String> {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}});
    let result = json!({"type": "user", "uuid": "r1", "parentUuid": "a3", "sessionId": "s",
        "timestamp": "2026-01-02T03:04:07.000Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}});
    vec![
        user("u1", None, "one"),
        reply("a1", "u1", "m1", text("first")),
        reply("a2", "a1", "m1", text("second")),
        reply("a3", "a2", "m1", call),
        result.to_string(),
        reply("a4", "r1", "m2", text("third")),
    ]
}

#[test]
fn what_did_not_change_is_recognised_also_by_the_next_process() {
    let mut desk = Desk::new();
    let path = desk.write(&talk());
    let before = desk.is_unchanged(&path);

    desk.import(&path, DeletedHere::StayDeleted);
    let after = desk.is_unchanged(&path);
    desk.archive.imports().save(&mut desk.imports).unwrap();
    desk.imports = desk.archive.imports().known().unwrap();
    let reloaded = desk.is_unchanged(&path);
    desk.write(&talk()[..1]);

    assert_eq!([before, after, reloaded, desk.is_unchanged(&path)], [false, true, true, false]);
}

#[test]
fn a_finder_that_knows_them_finds_the_same() {
    let mut desk = Desk::new();
    let path = desk.write(&talk());
    fs::write(desk.directory.path().join("notes.txt"), "mine").unwrap();
    desk.import(&path, DeletedHere::StayDeleted);
    let mut finder = desk.imports.finder();

    let found = [finder.find(desk.directory.path(), None), finder.find(desk.directory.path(), None)]
        .map(Result::unwrap)
        .map(|sources| {
            let paths: Vec<PathBuf> =
                sources.found.iter().map(|(source, _)| source.path().to_owned()).collect();
            (paths, sources.others)
        });

    let others = fs::read_dir(desk.directory.path()).unwrap().count() as u64 - 1;
    assert_eq!(found, [(vec![path.clone()], others), (vec![path], others)]);
}

#[test]
fn a_line_that_stands_twice_is_one_message_when_what_it_follows_is_missing() {
    let twice = user("u2", Some("gone"), "two");
    let lines = [
        user("u1", None, "one"),
        twice.clone(),
        reply("a1", "u1", "m1", text("1")),
        twice,
        reply("a2", "u2", "m2", text("2")),
    ];
    let mut desk = Desk::new();
    let path = desk.write(&lines);

    let added = [0; 2].map(|_| desk.import(&path, DeletedHere::StayDeleted).added());

    assert_eq!(added, [4, 0]);
}

#[test]
fn what_was_written_a_moment_ago_is_read_again() {
    let mut desk = Desk::new();
    desk.archive = desk.archive.clone().with_nature(Arc::new(SystemNature));
    let path = desk.write(&talk());

    desk.import(&path, DeletedHere::StayDeleted);

    assert!(!desk.is_unchanged(&path));
}

#[test]
fn a_conversation_that_was_deleted_here_stays_deleted_until_it_is_asked_for() {
    let mut desk = Desk::new();
    let mut lines = talk();
    let id = desk.import(&desk.write(&lines), DeletedHere::StayDeleted).conversations[0].id;
    desk.archive.removal().delete(&[id], "test");

    lines.push(user("u2", Some("a1"), "two"));
    let path = desk.write(&lines);
    let passed = [desk.import(&path, DeletedHere::StayDeleted), desk.import(&path, DeletedHere::StayDeleted)];
    let listed = desk.archive.list(&Default::default()).unwrap().items.len();
    let back = desk.import(&path, DeletedHere::ComeBack);

    assert_eq!(passed.map(|one| (one.conversations, one.deleted)), [(vec![], vec![id]), (vec![], vec![id])]);
    assert_eq!((listed, back.added(), desk.messages(id)), (0, 3, 3));
}

/// What was said, how many messages there are, what each import added, let grow
/// and changed, and whether it is sound.
type Grown = (Vec<String>, usize, Vec<(u64, u64, u64)>, bool);

/// Imports a reply after each of its pieces and says what is there at the end.
fn grown(mut desk: Desk) -> Grown {
    let lines = pieces();
    let mut counts = Vec::new();
    let mut id = None;
    for end in 2..=lines.len() {
        let imported = desk.import(&desk.write(&lines[..end]), DeletedHere::StayDeleted);
        let one = &imported.conversations[0];
        counts.push((one.added, one.grown, one.changed));
        id = Some(one.id);
    }
    let id = id.unwrap();
    (desk.said(id), desk.messages(id), counts, desk.archive.maintenance().verify(id).unwrap().is_sound())
}

#[test]
fn a_reply_that_is_imported_piece_by_piece_is_one_message() {
    let expected = (
        ["one", "first\nsecond", "", "third"].map(str::to_owned).to_vec(),
        4,
        vec![(2, 0, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0), (1, 0, 0)],
        true,
    );

    let in_files = grown(Desk::of(|place| Arc::new(JsonlStore::open(place.join("store")).unwrap())));

    let mut told = [grown(Desk::new()), in_files];
    told.iter_mut().for_each(|told| told.0[1] = told.0[1].replace("\n\n", "\n"));
    assert_eq!(told, [expected.clone(), expected]);
}

#[test]
fn half_a_reply_that_someone_went_on_from_here_stays() {
    let mut desk = Desk::new();
    let lines = pieces();
    let id = desk.import(&desk.write(&lines[..2]), DeletedHere::StayDeleted).conversations[0].id;
    desk.archive.resume(id).unwrap().append(Message::user("here")).unwrap();

    let imported = desk.import(&desk.write(&lines), DeletedHere::StayDeleted);

    let one = &imported.conversations[0];
    assert_eq!((one.added, one.grown, one.changed), (3, 0, 1));
    assert_eq!(desk.said(id), ["one", "first", "here"]);
}

#[test]
fn a_reply_after_one_that_stays_by_half_still_goes_on() {
    let mut desk = Desk::new();
    let mut lines = pieces();
    let id = desk.import(&desk.write(&lines[..2]), DeletedHere::StayDeleted).conversations[0].id;
    desk.archive.resume(id).unwrap().append(Message::user("here")).unwrap();
    lines.extend([user("u2", Some("a4"), "two"), reply("b1", "u2", "m9", text("begun"))]);
    desk.import(&desk.write(&lines), DeletedHere::StayDeleted);
    let before = desk.messages(id);
    lines.push(reply("b2", "b1", "m9", text("ended")));

    let imported = desk.import(&desk.write(&lines), DeletedHere::StayDeleted);

    let one = &imported.conversations[0];
    assert_eq!((one.added, one.grown, one.changed, desk.messages(id) - before), (0, 1, 0, 0));
}

/// What was stored, by how much is left of it, and what became of it.
fn after(before: &[String], later: &[String]) -> (usize, (u64, u64, u64)) {
    let mut desk = Desk::new();
    let id = desk.import(&desk.write(before), DeletedHere::StayDeleted).conversations[0].id;
    let path = desk.write(later);
    let source = Source::open(&path).unwrap();
    let mut how = Import {
        limits: ReadLimits::default(),
        mode: ImportMode::Try,
        project: &str::to_owned,
        progress: &mut |_| {},
    };
    let tried = desk.archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap();
    let imported = desk.import(&path, DeletedHere::StayDeleted);
    assert_eq!(tried, imported);
    let one = &imported.conversations[0];
    (desk.messages(id), (one.added, one.grown, one.changed))
}

#[test]
fn what_followed_half_a_reply_and_is_no_longer_given_stays() {
    let mut before = talk();
    before.extend([user("u2", Some("a1"), "two"), reply("a2", "u2", "m2", text("2"))]);
    let mut later = talk();
    later.push(reply("a1b", "a1", "m1", text("and more")));
    let mut other = later.clone();
    other.extend([user("u2", Some("a1b"), "two, but other"), reply("a2", "u2", "m2", text("2"))]);

    let told = [after(&before, &later), after(&before, &other)];

    assert_eq!(told, [(5, (1, 0, 1)), (7, (3, 0, 3))]);
}

#[test]
fn a_conversation_that_was_deleted_here_stays_deleted_when_its_file_moves() {
    let mut desk = Desk::new();
    let path = desk.write(&talk());
    let id = desk.import(&path, DeletedHere::StayDeleted).conversations[0].id;
    desk.archive.imports().save(&mut desk.imports).unwrap();
    desk.archive.removal().delete(&[id], "test");
    desk.imports = desk.archive.imports().known().unwrap();

    let archived = desk.directory.path().join("archived");
    fs::create_dir(&archived).unwrap();
    fs::rename(&path, archived.join(NAME)).unwrap();
    let moved = desk.import(&archived.join(NAME), DeletedHere::StayDeleted);

    assert_eq!((moved.conversations, moved.deleted), (vec![], vec![id]));
}

#[test]
fn a_conversation_whose_time_is_known_late_stays_deleted() {
    let mut desk = Desk::new();
    let mut lines = talk();
    lines[0] = json!({"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s",
        "message": {"role": "user", "content": "one"}})
    .to_string();
    let path = desk.write(&lines);
    let id = desk.import(&path, DeletedHere::StayDeleted).conversations[0].id;
    let again = desk.import(&path, DeletedHere::StayDeleted);
    desk.archive.removal().delete(&[id], "test");

    let passed = desk.import(&path, DeletedHere::StayDeleted);

    assert_eq!((again.added(), again.conversations[0].id), (0, id));
    assert_eq!((passed.conversations, passed.deleted), (vec![], vec![id]));
}

#[test]
fn a_conversation_that_left_its_file_for_a_while_stays_deleted() {
    let mut desk = Desk::new();
    let path = desk.write(&talk());
    let id = desk.import(&path, DeletedHere::StayDeleted).conversations[0].id;
    desk.archive.removal().delete(&[id], "test");
    let other = json!({"type": "user", "uuid": "u9", "parentUuid": null, "sessionId": "s",
        "timestamp": "2025-01-02T03:04:05.000Z", "message": {"role": "user", "content": "nine"}});
    let meanwhile = desk.import(&desk.write(&[other.to_string()]), DeletedHere::StayDeleted);
    desk.archive.imports().save(&mut desk.imports).unwrap();
    desk.imports = desk.archive.imports().known().unwrap();

    let passed = desk.import(&desk.write(&talk()), DeletedHere::StayDeleted);

    assert_eq!((meanwhile.added(), passed.conversations, passed.deleted), (1, vec![], vec![id]));
}

const THREAD: &str = "01a1e059-7bf2-7302-8c1e-a7466ee2f7dc";
const FORK: &str = "01a1e059-aaf0-7402-a1be-741b1091c000";

#[test]
fn a_run_of_gemini_that_was_added_is_something_new() {
    let mut desk = Desk::new();
    let chats = desk.directory.path().join("tmp/short/chats");
    let path = chats.join("session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let session = "aaaaaaaa-1111-4222-8333-444444444444";
    let begin = |id: &str| {
        let meta = json!({"sessionId": id, "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z",
            "lastUpdated": "2026-05-01T10:00:00.000Z"});
        let said = json!({"id": format!("{id}-1"), "timestamp": "2026-05-01T10:00:01.000Z", "type": "user",
            "content": [{"text": "go"}]});
        format!("{meta}\n{said}\n")
    };
    fs::create_dir_all(chats.join(session)).unwrap();
    fs::write(&path, begin(session)).unwrap();
    desk.import(&path, DeletedHere::StayDeleted);
    let before = desk.is_unchanged(&path);

    fs::write(chats.join(session).join("run1.jsonl"), begin("run1")).unwrap();

    assert_eq!([before, desk.is_unchanged(&path)], [true, false]);
}

#[test]
fn a_project_of_gemini_that_is_known_later_is_something_new() {
    let mut desk = Desk::new();
    let project = desk.directory.path().join("tmp/short");
    let path = project.join("chats/session-2026-05-01T10-00-aaaaaaaa.jsonl");
    let meta = json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z"});
    let said = json!({"id": "u1", "timestamp": "2026-05-01T10:00:01.000Z", "type": "user", "content": "go"});
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("{meta}\n{said}\n")).unwrap();
    let id = desk.import(&path, DeletedHere::StayDeleted).conversations[0].id;
    let before = (desk.is_unchanged(&path), desk.archive.conversation(id).unwrap().conversation.project);

    fs::write(project.join(".project_root"), "/home/ada/fox\n").unwrap();
    let is_same = desk.is_unchanged(&path);
    desk.import(&path, DeletedHere::StayDeleted);
    let after = (desk.is_unchanged(&path), desk.archive.conversation(id).unwrap().conversation.project);

    assert_eq!((before, is_same, after), ((true, None), false, (true, Some("/home/ada/fox".to_owned()))));
}

#[test]
fn a_run_of_codex_that_came_before_what_started_it_is_read_again() {
    let mut desk = Desk::new();
    let sessions = desk.directory.path().join("sessions/2026/11/15");
    fs::create_dir_all(&sessions).unwrap();
    let write = |id: &str, more: &str, role: &str, kind: &str| {
        let path = sessions.join(format!("rollout-2026-11-15T12-00-00-{id}.jsonl"));
        let time = "2026-11-15T12:00:00.000Z";
        let meta = format!("{{\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/tmp\"{more}}}");
        let said = json!({"timestamp": time, "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": id}]}});
        fs::write(
            &path,
            format!("{{\"timestamp\":\"{time}\",\"type\":\"session_meta\",\"payload\":{meta}}}\n{said}\n"),
        )
        .unwrap();
        path
    };
    let started_by = format!(",\"parent_thread_id\":\"{THREAD}\"");
    let run = write(FORK, &started_by, "user", "input_text");
    let above = write(THREAD, "", "assistant", "output_text");
    let id = desk.import(&run, DeletedHere::StayDeleted).conversations[0].id;
    let alone = desk.is_unchanged(&run);

    desk.import(&above, DeletedHere::StayDeleted);
    let beside = desk.is_unchanged(&run);
    desk.import(&run, DeletedHere::StayDeleted);

    let linked = desk.archive.conversation(id).unwrap().conversation.extra.field("parent").is_some();
    assert_eq!((alone, beside, desk.is_unchanged(&run), linked), (false, false, true, true));
}

#[test]
fn a_name_or_a_beginning_that_changed_is_something_new() {
    let mut desk = Desk::new();
    let home = desk.directory.path().to_owned();
    let sessions = home.join("sessions/2026/11/15");
    fs::create_dir_all(&sessions).unwrap();
    let write = |id: &str, more: &str| {
        let path = sessions.join(format!("rollout-2026-11-15T12-00-00-{id}.jsonl"));
        let time = "2026-11-15T12:00:00.000Z";
        let meta = format!("{{\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/tmp\"{more}}}");
        let said = json!({"timestamp": time, "type": "response_item", "payload": {"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": id}]}});
        let lines = format!(
            "{{\"timestamp\":\"{time}\",\"type\":\"session_meta\",\"payload\":{meta}}}\n{said}\n{said}\n"
        );
        fs::write(&path, lines).unwrap();
        path
    };
    let base = write(THREAD, "");
    let base_of = format!(",\"history_base\":{{\"thread_id\":\"{THREAD}\",\"end_ordinal_exclusive\":9}}");
    let fork = write(FORK, &base_of);
    desk.import(&base, DeletedHere::StayDeleted);
    desk.import(&fork, DeletedHere::StayDeleted);
    let at_first = [desk.is_unchanged(&base), desk.is_unchanged(&fork)];

    let index = format!("{{\"id\":\"{THREAD}\",\"thread_name\":\"Lisbon\"}}\n");
    fs::write(home.join("session_index.jsonl"), index).unwrap();
    let named = [desk.is_unchanged(&base), desk.is_unchanged(&fork)];
    write(THREAD, ",\"cli_version\":\"1\"");
    let changed = desk.is_unchanged(&fork);

    assert_eq!((at_first, named, changed), ([true; 2], [false, true], false));
}
