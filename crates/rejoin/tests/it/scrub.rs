//! Scrubbing: secrets that are stored already go, everywhere, and the rest stays sound.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin::store::Keeper;
use rejoin::store::{
    BlobNames, Change, JsonlStore, MemoryStore, Order, PreviewUpdate, Put, Rewritten, Safety, Selection,
    Space, SqliteStore, Store, Task,
};
use rejoin::{
    Archive, AuditAction, AuditQuery, Block, Conversation, ConversationId, Finding, Json, List, Message,
    Project, Redaction, ScrubMode, ScrubPlace, Search, StoreUrl, Thinking, ToolCall, ToolResult,
};
use serde_json::json;

use crate::doubles::Interposed;
use crate::held::Held;
use crate::look::visible;
use crate::residue::holding;
use crate::vault::{Inner, sealed};
use crate::vault_reseal::Mortal;

/// A token, and its end, in the letters of the store and in those of its search index.
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const TRACES: [&str; 4] =
    [TOKEN, "c838347Ae178B4a", "16c7e42f292c6912e7710c838347ae178b4a", "c838347ae178b4a"];

fn said(text: &str) -> Message {
    Message::user(format!("{text} {TOKEN}"))
}

/// A conversation that has the token in every place where one can stand.
fn fill(archive: &Held) -> ConversationId {
    let mut talk = archive.start(Conversation::titled(format!("with {TOKEN}"))).unwrap();
    let first = talk.append(said("the key is")).unwrap().head;
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "run".to_owned(),
        input: Json::of(&json!({ "command": format!("curl -H 'x: {TOKEN}'") })).unwrap(),
        extra: Default::default(),
    };
    let mut thinking = Thinking { text: format!("hm {TOKEN}"), ..Default::default() };
    thinking.signature = Some("signed".to_owned());
    let reply = Message::assistant(format!("I will use {TOKEN}"));
    let blocks = [vec![Block::Thinking(thinking)], reply.blocks, vec![Block::ToolCall(call)]].concat();
    let reply = Message::new(rejoin::Role::Assistant, blocks);
    let result = ToolResult {
        call_id: "c1".to_owned(),
        output: Json::of(&json!({ "stdout": format!("{TOKEN}\n") })).unwrap(),
        is_error: false,
        extra: Default::default(),
    };
    let result = Message::new(rejoin::Role::Tool, vec![Block::ToolResult(result)]);
    talk.append_turn(vec![reply, result]).unwrap();
    let last = talk.append(Message::user("harmless")).unwrap().head;
    let mut other = talk.fork(first, &format!("branch {TOKEN}")).unwrap();
    other.append(said("elsewhere")).unwrap();
    archive.marks().label(talk.id(), last, Some(&format!("label {TOKEN}"))).unwrap();
    archive.marks().pin(talk.id(), last).unwrap();
    archive.state().remember_for(talk.id(), "note", Some(&format!("state {TOKEN}"))).unwrap();
    archive.state().remember("own", Some(&format!("state {TOKEN}"))).unwrap();
    let open = format!(r#"{{"version":1,"base":null,"writer":"w","partial":{{"text":"{TOKEN}"}}}}"#);
    let open =
        Put { space: Space::OpenTurn, owner: Some(talk.id()), name: b"writer", bytes: Some(open.as_bytes()) };
    archive.store().put(&[open], Safety::Synced).unwrap();
    // A title that nobody sees any more.
    archive.rename(talk.id(), &format!("again {TOKEN}")).unwrap();
    talk.id()
}

fn prepare(archive: &Archive) {
    while archive.maintenance().run(Task::Index, Duration::MAX).unwrap() > 0 {}
    archive.list(&List::default()).unwrap();
    archive.search(&Search { text: "harmless".to_owned(), ..Search::default() }).unwrap();
}

/// Which places have findings.
fn places(findings: &[Finding]) -> Vec<ScrubPlace> {
    let mut places: Vec<ScrubPlace> = findings.iter().map(|finding| finding.place).collect();
    places.dedup();
    places
}

/// Scrubs a store that has the token everywhere, and looks at every byte of it.
fn scrub_everything(directory: &Path, store: Arc<dyn Store>) {
    let archive = Held::over(store);
    let id = fill(&archive);
    prepare(&archive);
    assert!(!holding(directory, &TRACES).is_empty());

    let scrubbed = archive.removal().scrub(id, ScrubMode::Replace).unwrap();
    archive.removal().scrub_state(ScrubMode::Replace).unwrap();
    archive.maintenance().run(Task::Repack, Duration::MAX).unwrap();

    assert_eq!(holding(directory, &TRACES), Vec::<PathBuf>::new());
    assert!(archive.maintenance().verify(id).unwrap().is_sound());
    assert_eq!(archive.maintenance().check().unwrap().faults, []);
    let expected = [
        ScrubPlace::Message,
        ScrubPlace::Label,
        ScrubPlace::Header,
        ScrubPlace::Branch,
        ScrubPlace::OpenTurn,
        ScrubPlace::State,
    ];
    assert_eq!((places(&scrubbed.findings), scrubbed.rewritten), (expected.to_vec(), 5));
    assert!(archive.removal().scrub(id, ScrubMode::Look).unwrap().is_clean());
}

#[test]
fn no_byte_of_a_secret_is_left_in_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("rejoin.db")).unwrap();

    scrub_everything(directory.path(), Arc::new(store));
}

#[test]
fn no_byte_of_a_secret_is_left_in_plain_files() {
    let directory = tempfile::tempdir().unwrap();

    scrub_everything(directory.path(), Arc::new(JsonlStore::open(directory.path()).unwrap()));
}

/// How many records of a store mention the token when all of them are opened.
fn mentions(store: &dyn Store) -> usize {
    let seen = visible(store).unwrap();
    let conversations = seen.conversations.iter().map(|one| format!("{one:?}"));
    let blobs = seen.blobs.iter().map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned());
    conversations.chain(blobs).filter(|text| TRACES.iter().any(|trace| text.contains(trace))).count()
}

fn vault_over(inner: Arc<dyn Inner>) -> Held {
    let vault = Arc::new(sealed(inner));
    Held::over(vault.clone()).map(|_| Archive::with_vault(vault))
}

/// Scrubs a vault that has the token everywhere, and opens every record of it.
fn scrub_a_vault(inner: Arc<dyn Inner>) {
    let archive = vault_over(inner.clone());
    let id = fill(&archive);
    prepare(&archive);
    assert!(mentions(archive.store()) > 2);

    archive.removal().scrub(id, ScrubMode::Replace).unwrap();
    archive.removal().scrub_state(ScrubMode::Replace).unwrap();

    let fresh = vault_over(inner);
    assert_eq!(mentions(fresh.store()), 0);
    let hits = |text: &str| {
        fresh.search(&Search { text: text.to_owned(), ..Search::default() }).unwrap().items.len()
    };
    assert_eq!((hits(TOKEN), hits("16C7e42F292c"), hits("elsewhere")), (0, 0, 1));
    prepare(&fresh);
    assert_eq!((hits(TOKEN), hits("elsewhere")), (0, 1));
    assert_eq!(fresh.maintenance().verify(id).unwrap().faults, [""; 0]);
    assert_eq!(fresh.maintenance().check().unwrap().faults, []);
    assert!(fresh.removal().scrub(id, ScrubMode::Look).unwrap().is_clean());
}

#[test]
fn no_record_of_a_vault_in_a_database_mentions_a_secret_after_a_scrub() {
    let directory = tempfile::tempdir().unwrap();

    scrub_a_vault(Arc::new(SqliteStore::open(directory.path().join("rejoin.db")).unwrap()));
}

#[test]
fn no_record_of_a_vault_in_files_mentions_a_secret_after_a_scrub() {
    let directory = tempfile::tempdir().unwrap();

    scrub_a_vault(Arc::new(JsonlStore::open(directory.path()).unwrap()));
}

#[test]
fn a_scrub_of_a_vault_by_a_process_that_dies_at_any_write_loses_nothing_and_can_be_repeated() {
    for (writes, is_last_done) in (1..).flat_map(|writes| [(writes, false), (writes, true)]) {
        let inner = Arc::new(MemoryStore::new());
        let open = || vault_over(inner.clone());
        let id = fill(&open());
        let mortal = Mortal { store: inner.clone(), left: AtomicU64::new(writes), is_last_done };
        let mortal = Arc::new(mortal);
        let inside = Arc::new(Keeper::over(Interposed(mortal.clone())));
        let _ = Archive::with_vault(Arc::new(sealed(inside))).removal().scrub(id, ScrubMode::Replace);

        let kept = visible(open().store()).unwrap().conversations.remove(0).1.len();
        let faults = open().maintenance().verify(id).unwrap().faults;
        open().removal().scrub(id, ScrubMode::Replace).unwrap();
        open().removal().scrub_state(ScrubMode::Replace).unwrap();

        assert_eq!((kept, faults), (5, vec![]), "{writes} {is_last_done}");
        assert_eq!(mentions(open().store()), 0, "{writes} {is_last_done}");
        assert_eq!(open().maintenance().verify(id).unwrap().faults, [""; 0], "{writes} {is_last_done}");
        if mortal.left.load(Ordering::Relaxed) > 0 {
            assert!(writes > 5, "it took {writes} writes");
            return;
        }
    }
}

/// Two scrub one conversation at once, each with a rule of its own, for what stands in one of the previews.
fn scrub_twice_at_once(open: impl Fn() -> Arc<dyn Store>) {
    let ruled = |rule: &str| {
        let redaction = Redaction::new().with_pattern(rule).unwrap();
        Archive::with_store(open()).with_redaction(redaction)
    };
    let plain = Archive::with_store(open());
    let both = ["alpha-[0-9]+", "omega-[0-9]+"].map(ruled);
    for round in 0..20 {
        let mut talk = plain.start(Conversation::titled("Lisbon")).unwrap();
        talk.append(Message::user(format!("alpha-{round} said first"))).unwrap();
        talk.append(Message::assistant(format!("omega-{round} said last"))).unwrap();
        let id = talk.id();

        std::thread::scope(|scope| {
            for archive in &both {
                scope.spawn(move || while archive.removal().scrub(id, ScrubMode::Replace).is_err() {});
            }
        });

        let stored = plain.conversation(id).unwrap();
        let seen = format!("{stored:?}{:?}", plain.path(id, None).unwrap());
        assert!(
            !seen.contains(&format!("alpha-{round}")) && !seen.contains(&format!("omega-{round}")),
            "{seen}"
        );
        assert!(stored.first.ends_with("said first") && stored.last.ends_with("said last"), "{stored:?}");
        assert_eq!(plain.maintenance().verify(id).unwrap().faults, [""; 0]);
    }
}

#[test]
fn two_scrubs_at_once_leave_no_preview_of_the_other_in_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rejoin.db");

    scrub_twice_at_once(|| Arc::new(SqliteStore::open(&path).unwrap()));
}

#[test]
fn two_scrubs_at_once_leave_no_preview_of_the_other_in_a_vault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rejoin.db");
    drop(sealed(Arc::new(SqliteStore::open(&path).unwrap())));

    scrub_twice_at_once(|| Arc::new(sealed(Arc::new(SqliteStore::open(&path).unwrap()))));
}

#[test]
fn whoever_only_looks_changes_nothing() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let id = fill(&archive);
    let before = visible(archive.store()).unwrap();

    let found = archive.removal().scrub(id, ScrubMode::Look).unwrap();
    let remembered = archive.removal().scrub_state(ScrubMode::Look).unwrap();

    assert_eq!(visible(archive.store()).unwrap(), before);
    assert_eq!((found.is_clean(), remembered.findings.len()), (false, 1));
    let replaced = archive.removal().scrub(id, ScrubMode::Replace).unwrap();
    assert_eq!((replaced.findings, replaced.rewritten), (found.findings, found.rewritten));
    assert_eq!((found.heads.len(), replaced.heads.len()), (0, 1));
}

#[test]
fn a_scrub_keeps_ids_places_pins_and_everything_that_is_no_secret() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let id = fill(&archive);
    let before = visible(archive.store()).unwrap().conversations.remove(0).1;

    archive.removal().scrub(id, ScrubMode::Replace).unwrap();

    let after = visible(archive.store()).unwrap().conversations.remove(0).1;
    let outline = |all: &[crate::look::ReadMessage]| {
        all.iter().map(|one| (one.id, one.parent, one.seq, one.turn, one.is_pinned)).collect::<Vec<_>>()
    };
    assert_eq!(outline(&after), outline(&before));
    assert_eq!(after[3].body, before[3].body);
    assert!(after.iter().zip(&before).all(|(after, before)| after.link != before.link));
}

#[test]
fn previews_and_searches_show_what_is_left() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let id = fill(&archive);

    archive.removal().scrub(id, ScrubMode::Replace).unwrap();

    let stored = archive.conversation(id).unwrap();
    let marked = |text: &str, rest: &str| text.starts_with(&format!("{rest}[redacted:github-token:"));
    assert!(marked(&stored.first, "the key is "), "{}", stored.first);
    assert!(marked(&stored.last, "I will use "), "{}", stored.last);
    assert!(
        marked(stored.conversation.title.as_deref().unwrap(), "again "),
        "{:?}",
        stored.conversation.title
    );
    let hits = |text: &str| {
        archive.search(&Search { text: text.to_owned(), ..Search::default() }).unwrap().items.len()
    };
    assert_eq!((hits(TOKEN), hits("elsewhere")), (0, 1));
}

#[test]
fn the_audit_log_has_rules_counts_and_digests_and_no_secret() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let id = fill(&archive);
    let before = archive.conversation(id).unwrap().head.unwrap();

    let scrubbed = archive.removal().scrub(id, ScrubMode::Replace).unwrap();

    let after = archive.conversation(id).unwrap().head.unwrap();
    let entries = archive.audit().query(&AuditQuery::default()).unwrap();
    let entry = entries.iter().find(|entry| entry.action == AuditAction::Scrubbed).unwrap();
    assert_eq!((entry.conversation, entry.messages), (Some(id), scrubbed.rewritten));
    let digests: serde_json::Value = entry.extra.field("digests").unwrap().to().unwrap();
    let head = json!({"message": after.id, "before": before.digest, "after": after.digest});
    assert!(digests.as_array().unwrap().contains(&head), "{digests}");
    let rules: serde_json::Value = entry.extra.field("rules").unwrap().to().unwrap();
    assert_eq!(rules[0]["rule"], "github-token");
    let mut written = Vec::new();
    let audit = archive.store().get(Space::Audit, None, BlobNames::ALL, &mut |_, bytes| {
        written.extend_from_slice(bytes);
        Ok(())
    });
    audit.unwrap();
    assert!(!String::from_utf8_lossy(&written).contains(&TOKEN[4..]));
}

#[test]
fn damage_does_not_look_sound_after_a_scrub() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(said("one")).unwrap();
    let second = talk.append(Message::user("two")).unwrap();
    talk.append(Message::user("three")).unwrap();
    let forged = Message::user("forged").to_body();
    let messages = [Rewritten { id: second.head, link: second.digest, body: &forged }];
    let change = Change::Rewrite { messages: &messages, previews: PreviewUpdate::default() };
    archive.store().amend(talk.id(), None, &change, archive.now()).unwrap();

    archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();

    let expected = [format!("message {} does not match its digest", second.head)];
    assert_eq!(archive.maintenance().verify(talk.id()).unwrap().faults, expected);
}

#[test]
fn what_is_said_while_a_conversation_is_scrubbed_is_kept_and_sound() {
    let archive = Held::over(Arc::new(MemoryStore::new()));
    let id = fill(&archive);
    let writer = archive.clone();

    let said_meanwhile = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut recorder = writer.record(writer.resume(id).unwrap(), "test");
            (0..200).for_each(|number| drop(recorder.append(vec![said(&number.to_string())]).unwrap()));
            recorder.flush().unwrap();
            recorder.waiting()
        });
        for _ in 0..20 {
            let _ = archive.removal().scrub(id, ScrubMode::Replace);
        }
        writing.join().unwrap()
    });

    let before = archive.conversation(id).unwrap().messages;
    archive.removal().scrub(id, ScrubMode::Replace).unwrap();
    assert_eq!((said_meanwhile, before), (0, 205));
    assert_eq!(archive.maintenance().verify(id).unwrap().faults, [""; 0]);
    assert!(archive.removal().scrub(id, ScrubMode::Look).unwrap().is_clean());
}

#[test]
fn what_a_reader_keeps_from_being_erased_is_told_and_goes_when_it_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let url = StoreUrl::parse(&format!("sqlite:{}", directory.path().join("store").display())).unwrap();
    let archive = Archive::with_store(url.open_waiting(Duration::from_millis(50)).unwrap());
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(said("the key is")).unwrap();
    archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
    let mut scrubbed = None;

    let first = Selection::All { order: Order::OldestFirst, offset: 0, limit: 1 };
    url.open()
        .unwrap()
        .read(talk.id(), first, &mut |_| {
            scrubbed = Some(archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap().has_traces);
            Ok(())
        })
        .unwrap();
    let is_finished = archive.removal().finish_erasing().unwrap();

    assert_eq!((scrubbed, is_finished), (Some(true), true));
    assert_eq!(holding(directory.path(), &TRACES), Vec::<PathBuf>::new());
}

#[test]
fn what_is_remembered_is_erased_from_every_file_with_its_scrub() {
    let left = ["sqlite", "jsonl"].map(|kind| {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::open(&format!("{kind}:{}", directory.path().join("store").display())).unwrap();
        archive.state().remember("own", Some(&format!("state {TOKEN}"))).unwrap();
        archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
        let scrubbed = archive.removal().scrub_state(ScrubMode::Replace).unwrap();
        (scrubbed.has_traces, holding(directory.path(), &TRACES))
    });

    assert_eq!(left, [(false, vec![]), (false, vec![])]);
}

/// The files and folders below a directory whose name holds the token.
fn named_after_it(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let below = if path.is_dir() { named_after_it(&path) } else { Vec::new() };
            let is_named = path.file_name().unwrap().to_string_lossy().contains(TOKEN);
            below.into_iter().chain(is_named.then_some(path))
        })
        .collect()
}

/// Scrubs a store whose project has the token in its path.
fn scrub_project(directory: &Path, store: Arc<dyn Store>) {
    let archive = Archive::with_store(Arc::clone(&store));
    let path = format!("/home/ada/{TOKEN}");
    let project = Project { key: path.clone(), path: path.clone(), first_commit: None };
    archive.projects().remember(&project).unwrap();
    let talk = archive.start(Conversation { project: Some(path.clone()), ..Conversation::new() });
    let mut talk = talk.unwrap();
    talk.append(Message::user("Hello.")).unwrap();
    archive.state().remember(&format!("active:{path}"), Some(&talk.id().to_string())).unwrap();

    archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();
    let found = archive.removal().scrub_state(ScrubMode::Replace).unwrap();
    archive.maintenance().run(Task::Repack, Duration::MAX).unwrap();

    assert_eq!(places(&found.findings), [ScrubPlace::State, ScrubPlace::Project]);
    assert_eq!((holding(directory, &TRACES), named_after_it(directory)), (vec![], vec![]));
    let redacting = Archive::with_store(store).with_redaction(Redaction::new());
    let (known, kept) = (redacting.projects().get(&path).unwrap(), redacting.projects().key_as_kept(&path));
    assert_eq!(known, Some(Project { key: kept.clone(), path: kept.clone(), first_commit: None }));
    assert_eq!(redacting.state().recall(&format!("active:{path}")).unwrap(), Some(talk.id().to_string()));
    let listed = redacting.list(&List { project: Some(path), ..List::default() }).unwrap().items;
    assert_eq!(listed.iter().map(|stored| stored.id).collect::<Vec<_>>(), [talk.id()]);
    assert!(archive.removal().scrub_state(ScrubMode::Look).unwrap().is_clean());
}

#[test]
fn a_project_with_a_secret_in_its_path_is_renamed_in_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("rejoin.db")).unwrap();

    scrub_project(directory.path(), Arc::new(store));
}

#[test]
fn a_project_with_a_secret_in_its_path_is_renamed_in_plain_files() {
    let directory = tempfile::tempdir().unwrap();

    scrub_project(directory.path(), Arc::new(JsonlStore::open(directory.path()).unwrap()));
}
