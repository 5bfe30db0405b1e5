//! What a build of the library does with the features that it has, and says of those that it has not.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use rejoin::{Archive, Conversation, ConversationId, ErrorKind, Message};

/// Keeps a message in a new conversation.
fn keep(archive: &Archive) -> ConversationId {
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("Where to eat?")).unwrap();
    talk.id()
}

fn said(archive: &Archive, id: ConversationId) -> Vec<String> {
    archive.path(id, None).unwrap().iter().map(|stored| stored.message.to_body()).collect()
}

/// What is kept in a store is there when it is opened again.
#[cfg(any(feature = "jsonl", feature = "sqlite"))]
fn is_kept(scheme: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("{scheme}:{}", directory.path().join("history").display());
    let archive = Archive::open(&url).unwrap();
    let id = keep(&archive);
    let before = said(&archive, id);
    drop(archive);
    before.len() == 1 && said(&Archive::open(&url).unwrap(), id) == before
}

#[test]
fn a_store_in_memory_needs_no_feature() {
    let archive = Archive::open("memory:").unwrap();

    let id = keep(&archive);

    assert_eq!(said(&archive, id).len(), 1);
}

#[test]
#[cfg(feature = "sqlite")]
fn the_feature_sqlite_keeps_a_database() {
    assert!(is_kept("sqlite"));
}

#[test]
#[cfg(feature = "jsonl")]
fn the_feature_jsonl_keeps_plain_files() {
    assert!(is_kept("jsonl"));
}

#[test]
fn what_a_build_has_not_is_refused_by_the_name_of_its_feature() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history");
    let cases = [
        ("sqlite", cfg!(feature = "sqlite"), "`sqlite` store"),
        ("jsonl", cfg!(feature = "jsonl"), "`jsonl` store"),
        ("vault+sqlite", cfg!(feature = "vault"), "vaults"),
    ];

    let refused = cases.map(|(scheme, is_built, _)| {
        let refused = Archive::open(&format!("{scheme}:{}", path.display())).err().filter(|_| !is_built);
        refused.map(|error| (error.kind(), error.to_string()))
    });

    let expected = cases.map(|(scheme, is_built, what)| {
        let feature =
            scheme.split('+').next().map_or("", |first| if first == "vault" { first } else { scheme });
        let why = format!("this build of rejoin has no {what}; enable the feature `{feature}`");
        (!is_built).then_some((ErrorKind::Unsupported, why))
    });
    assert_eq!(refused, expected);
}

#[test]
#[cfg(all(feature = "sqlite", not(feature = "vault")))]
fn a_build_without_vaults_does_not_take_one_for_a_plain_store() {
    use rejoin::store::{Put, Safety, Space, SqliteStore, Store};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.db");
    let keys = Put { space: Space::Companion, owner: None, name: b"vault", bytes: Some(b"sealed") };
    SqliteStore::open(&path).unwrap().put(&[keys], Safety::Synced).unwrap();

    let refused = Archive::open(&format!("sqlite:{}", path.display())).unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Denied);
}

#[test]
#[cfg(all(feature = "redact", not(feature = "formats")))]
fn a_scrub_does_not_pass_over_what_it_cannot_unpack() {
    use rejoin::store::{MemoryStore, Put, Safety, Space, Store};

    let store = std::sync::Arc::new(MemoryStore::new());
    let archive = Archive::with_store(store.clone());
    let id = keep(&archive);
    let message = archive.path(id, None).unwrap()[0].id.to_string();
    let source =
        Put { space: Space::Source, owner: Some(id), name: message.as_bytes(), bytes: Some(b"packed") };
    store.put(&[source], Safety::Synced).unwrap();

    let refused = archive.removal().scrub(id, rejoin::ScrubMode::Look).unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}
