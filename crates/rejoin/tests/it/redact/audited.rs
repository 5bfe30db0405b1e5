//! What is taken out before something is stored stands in the audit log: rules
//! and counts, and never what it was.

use std::fs;
use std::sync::Arc;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{BlobNames, MemoryStore, Space};
use rejoin::testing::Place;
use rejoin::{
    Archive, AuditAction, AuditEntry, AuditQuery, Conversation, Import, ImportMode, Json, Message,
    PurgeReason, Redaction,
};
use serde_json::json;

use crate::stores::{Directory, File, Memory};
use crate::vault::Vault;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn open(place: &dyn Place) -> Archive {
    Archive::with_store(place.open()).with_redaction(Redaction::new())
}

/// What the log says of redaction, with no time.
fn noted(archive: &Archive) -> Vec<AuditEntry> {
    let all = archive.audit().query(&AuditQuery::default()).unwrap();
    let own = all.into_iter().filter(|entry| entry.action == AuditAction::Redacted);
    own.map(|entry| AuditEntry { at: Default::default(), ..entry }).collect()
}

/// An entry that says how often the token was found.
fn entry(reason: &str, count: u64) -> AuditEntry {
    let mut entry = AuditEntry::new(AuditAction::Redacted, reason);
    entry.extra.set("rules", Json::of(&json!([{"rule": "github-token", "count": count}])).unwrap());
    entry
}

/// Says a token, then nothing secret, then purges; the log tells the one turn all along.
fn talk(place: &dyn Place) {
    let archive = open(place);
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    let turn = vec![
        Message::user(format!("{TOKEN} or {TOKEN}")),
        Message::assistant("I see."),
        Message::user("Where to eat?"),
    ];
    let receipt = talk.append_turn(turn).unwrap();
    talk.append(Message::user("In Alfama?")).unwrap();
    let after_a_turn = noted(&open(place));

    let report = archive.removal().purge(&[talk.id()], PurgeReason::UserRequested, &mut |_| ());

    let expected = [entry("append", 2).to(talk.id()).counting(1, 0)];
    assert_eq!((receipt.redacted[0].count, after_a_turn), (2, expected.to_vec()));
    assert_eq!((report.failures, noted(&open(place))), (vec![], expected.to_vec()));
    let mut bytes = Vec::new();
    let read = place.open().get(Space::Audit, None, BlobNames::ALL, &mut |_, own| {
        bytes.extend_from_slice(own);
        Ok(())
    });
    read.unwrap();
    assert_eq!(memchr::memmem::find(&bytes, &TOKEN.as_bytes()[4..]), None);
}

#[test]
fn a_turn_that_loses_a_secret_is_one_entry_which_a_purge_leaves() {
    talk(&Memory(MemoryStore::new()));
    talk(&File::new());
    talk(&Directory::new());
    talk(&Vault(File::new()));
    talk(&Vault(Directory::new()));
}

#[test]
fn an_import_that_loses_secrets_is_one_entry_and_none_when_it_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let session = "c833a56b-45d4-4ced-8b45-47d6a5359b48";
    let path = directory.path().join(format!("{session}.jsonl"));
    let said = |id: &str, parent: Option<&str>| {
        json!({
            "type": "user", "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": session,
            "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": format!("use {TOKEN}")},
        })
    };
    fs::write(&path, format!("{}\n{}\n", said("u1", None), said("u2", Some("u1")))).unwrap();
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(Redaction::new());
    let import = |mode: ImportMode| {
        let source = Source::open(&path).unwrap();
        let limits = ReadLimits::default();
        let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
        archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap().conversations[0].id
    };

    let counts = [ImportMode::Try, ImportMode::Store, ImportMode::Store].map(|mode| {
        import(mode);
        noted(&archive).len()
    });

    let id = import(ImportMode::Store);
    assert_eq!((counts, noted(&archive)), ([0, 1, 1], vec![entry("import", 2).to(id)]));
}
