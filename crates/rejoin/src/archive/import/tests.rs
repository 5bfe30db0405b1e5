//! How often a text is looked at for secrets while it is imported.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::Redaction;
use crate::formats::ReadLimits;
use crate::store::MemoryStore;

const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";

const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// The messages of a session; every third says something secret.
fn lines(count: usize) -> Vec<String> {
    let id = |place: usize| format!("00000000-0000-4000-8000-{place:012}");
    let line = |place: usize| {
        let said =
            if place.is_multiple_of(3) { format!("the token is {SECRET}") } else { format!("part {place}") };
        let parent = place.checked_sub(1).map_or(Value::Null, |before| json!(id(before)));
        json!({"type": "user", "uuid": id(place), "parentUuid": parent, "sessionId": SESSION, "cwd": "/p",
            "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": said}})
        .to_string()
    };
    (0..count).map(line).collect()
}

fn write(folder: &Path, lines: &[String]) -> PathBuf {
    let path = folder.join(format!("{SESSION}.jsonl"));
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn import_from(archive: &Archive, path: &Path, mode: ImportMode) -> Imported {
    let source = Source::open(path).unwrap();
    let limits = ReadLimits::default();
    let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
    archive.imports().add(&source, Format::named("claude").unwrap(), &mut how).unwrap()
}

/// How many texts were looked at once, twice, and so on: `[5]` are five that were looked at once.
fn looks(redaction: &Redaction) -> Vec<usize> {
    let looked_at: BTreeMap<String, usize> = redaction.looked_at();
    let most = looked_at.values().copied().max().unwrap_or_default();
    (1..=most).map(|often| looked_at.values().filter(|looks| **looks == often).count()).collect()
}

/// How many messages an import added, and how many secrets it took out of them.
fn told(imported: &Imported) -> (u64, u64) {
    (imported.added(), imported.redacted.iter().map(|one| one.count).sum())
}

#[test]
fn a_text_is_looked_at_once_and_one_that_is_here_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let redaction = Redaction::new();
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(redaction.clone());
    let path = write(folder.path(), &lines(9));

    let first = (told(&import_from(&archive, &path, ImportMode::Store)), looks(&redaction));
    let again = (told(&import_from(&archive, &path, ImportMode::Store)), looks(&redaction));
    write(folder.path(), &lines(12));
    let tried = (told(&import_from(&archive, &path, ImportMode::Try)), looks(&redaction));
    let grown = (told(&import_from(&archive, &path, ImportMode::Store)), looks(&redaction));

    // Beside the messages and the lines that they were read from: the place of the source, and the header.
    assert_eq!(first, ((9, 3), vec![9 + 9 + 2]));
    assert_eq!(again, ((0, 0), vec![2]));
    assert_eq!(tried, ((3, 1), vec![3 + 3 + 2]));
    assert_eq!(grown, ((3, 1), vec![3 + 3 + 2]));
}

#[test]
fn what_was_imported_with_redaction_or_without_is_known_again_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &lines(9));
    let stores: [Arc<MemoryStore>; 2] = Default::default();
    let [plain, redacting] = stores.map(|store| {
        let plain = Archive::with_store(store);
        (plain.clone(), plain.with_redaction(Redaction::new()))
    });
    let added = |archive: &Archive| import_from(archive, &path, ImportMode::Store).added();

    let first = [added(&plain.0), added(&redacting.1)];
    let again = [added(&plain.1), added(&redacting.0)];

    assert_eq!((first, again), ([9, 9], [0, 0]));
}
