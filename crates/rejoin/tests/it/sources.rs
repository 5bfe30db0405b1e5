//! The lines that an import keeps are compressed, so no search for a word finds them: they are opened here,
//! and their bytes are looked for as they are stored.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{BlobNames, Space};
use rejoin::{
    Archive, Block, ConversationId, Import, ImportMode, Message, PurgeReason, Redaction, Role, ScrubMode,
    ScrubPlace, Summary, Synopsis,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::held::Held;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";

/// A store of some kind, into which a session was imported as it was: two
/// messages, and a line that is no message.
struct Desk {
    directory: tempfile::TempDir,
    archive: Held,
    id: ConversationId,
}

/// What is kept of a line.
struct Kept {
    name: String,
    packed: Vec<u8>,
    text: String,
}

impl Desk {
    fn new(kind: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let said = |id: &str, parent: Option<&str>, text: &str| {
            json!({
                "type": "user", "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": SESSION,
                "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": text},
            })
        };
        let lines = [
            said("u1", None, &format!("the key is {TOKEN}")),
            json!({"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION,
                "timestamp": "2026-01-02T03:04:06.000Z", "content": format!("and then {TOKEN}")}),
            said("u2", Some("u1"), "and nothing else"),
        ];
        let lines = lines.map(|line| format!("{line}\n"));
        fs::write(directory.path().join(format!("{SESSION}.jsonl")), lines.concat()).unwrap();
        fs::create_dir(directory.path().join("store")).unwrap();
        let archive = Held::open(&format!("{kind}:{}", directory.path().join("store/own").display()));
        let id = import(&archive, directory.path()).0;
        Self { directory, archive, id }
    }

    fn kept(&self) -> Vec<Kept> {
        let mut all = Vec::new();
        let read =
            self.archive.store().get(Space::Source, Some(self.id), BlobNames::ALL, &mut |name, packed| {
                let text = String::from_utf8(zstd::decode_all(packed).unwrap()).unwrap();
                all.push(Kept {
                    name: String::from_utf8(name.to_vec()).unwrap(),
                    packed: packed.to_vec(),
                    text,
                });
                Ok(())
            });
        read.unwrap();
        all
    }

    /// How many of some texts stand in a file of the store.
    fn standing(&self, texts: &[Vec<u8>]) -> usize {
        let files: Vec<Vec<u8>> =
            walk(&self.directory.path().join("store")).iter().map(|path| fs::read(path).unwrap()).collect();
        let stands = |text: &&Vec<u8>| files.iter().any(|bytes| memchr::memmem::find(bytes, text).is_some());
        texts.iter().filter(stands).count()
    }

    /// How many of the lines stand in a file of the store, as a database writes them or as plain files do.
    fn standing_packed(&self, kept: &[Kept]) -> usize {
        let raw: Vec<Vec<u8>> = kept.iter().map(|kept| kept.packed.clone()).collect();
        let encoded: Vec<Vec<u8>> = raw.iter().map(|bytes| STANDARD.encode(bytes).into_bytes()).collect();
        self.standing(&raw) + self.standing(&encoded)
    }
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Imports the session; answers its conversation, and how many messages were added.
fn import(archive: &Archive, directory: &Path) -> (ConversationId, u64) {
    let source = Source::open(&directory.join(format!("{SESSION}.jsonl"))).unwrap();
    let mut how = Import {
        limits: ReadLimits::default(),
        mode: ImportMode::Store,
        project: &str::to_owned,
        progress: &mut |_| {},
    };
    let imported = archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap();
    (imported.conversations[0].id, imported.added())
}

fn hash(text: &str) -> String {
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// Purges an import; the lines are there before, and nothing of them is after.
fn purge(kind: &str) {
    let desk = Desk::new(kind);
    let kept = desk.kept();
    let before = desk.standing_packed(&kept);

    let report = desk.archive.removal().purge(&[desk.id], PurgeReason::UserRequested, &mut |_| ());

    assert!(report.is_erased && report.failures.is_empty(), "{report:?}");
    assert_eq!((kept.len(), before), (3, 3));
    assert_eq!((desk.kept().len(), desk.standing_packed(&kept)), (0, 0));
    let hashes: Vec<Vec<u8>> = kept.iter().map(|kept| hash(&kept.text).into_bytes()).collect();
    assert_eq!(desk.standing(&hashes), 0);
}

#[test]
fn a_purge_leaves_no_line_of_an_import_in_a_database() {
    purge("sqlite");
}

#[test]
fn a_purge_leaves_no_line_of_an_import_in_plain_files() {
    purge("jsonl");
}

/// Scrubs an import that has the token in a message, a line, the synopsis and a summary.
fn scrub(kind: &str) {
    let desk = Desk::new(kind);
    let (archive, id) = (&desk.archive, desk.id);
    let synopsis = Synopsis {
        text: format!("They used {TOKEN}."),
        keywords: vec![TOKEN.to_owned()],
        action_items: vec![format!("Replace {TOKEN}.")],
        updated_at: archive.now(),
    };
    archive.marks().describe(id, None, Some(&synopsis)).unwrap();
    let summary = Summary { text: format!("The key is {TOKEN}."), ..Summary::default() };
    let summary = Message::new(Role::User, vec![Block::Summary(summary)]);
    archive.resume(id).unwrap().append(summary).unwrap();
    let secret: Vec<Kept> = desk.kept().into_iter().filter(|kept| kept.text.contains(TOKEN)).collect();
    let before = (secret.len(), desk.standing_packed(&secret));

    let scrubbed = archive.removal().scrub(id, ScrubMode::Replace).unwrap();

    let mut places: Vec<ScrubPlace> = scrubbed.findings.iter().map(|finding| finding.place).collect();
    places.dedup();
    assert_eq!(before, (2, 2));
    assert_eq!(places, [ScrubPlace::Message, ScrubPlace::Header, ScrubPlace::Source]);
    // Neither the lines nor their hashes, which could be guessed against, are anywhere.
    let mut gone: Vec<Vec<u8>> = secret.iter().map(|kept| hash(&kept.text).into_bytes()).collect();
    gone.push(TOKEN.as_bytes().to_vec());
    assert_eq!((desk.standing_packed(&secret), desk.standing(&gone)), (0, 0));
    let kept = desk.kept();
    let marked = kept.iter().filter(|kept| kept.text.contains("[redacted:github-token:")).count();
    assert_eq!((kept.len(), marked), (3, 2));
    let aside = kept.iter().find(|kept| kept.name.starts_with("line:")).unwrap();
    assert_eq!(aside.name, format!("line:000000000002:{}", hash(&aside.text)));
    for stored in archive.path(id, None).unwrap().iter().take(2) {
        let source = archive.imports().source_of(id, stored.id).unwrap().unwrap();
        let named: serde_json::Value = stored.message.extra.field("source").unwrap().to().unwrap();
        assert_eq!(named["text"], hash(&source));
    }
    assert_eq!(
        (archive.maintenance().verify(id).unwrap().faults, archive.maintenance().check().unwrap().faults),
        (vec![], vec![])
    );
    // What is here is known again, by whoever takes the same secrets out.
    let again = archive.clone().with_redaction(Redaction::new());
    assert_eq!((import(&again, desk.directory.path()), desk.kept().len()), ((id, 0), 3));
}

#[test]
fn a_scrub_reaches_the_lines_of_an_import_its_synopsis_and_its_summary_in_a_database() {
    scrub("sqlite");
}

#[test]
fn a_scrub_reaches_the_lines_of_an_import_its_synopsis_and_its_summary_in_plain_files() {
    scrub("jsonl");
}
