//! What was replaced is in no file of a store any more: not in the database,
//! its log, its index or a leftover.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{Change, JsonlStore, PreviewUpdate, Rewritten, SqliteStore, Store, Task};
use rejoin::{Archive, Conversation, Digest, List, Message, Time};

/// A word that stands nowhere else, and its end: an index may keep the beginning of a word only once.
pub(crate) const SENTINELS: [&str; 2] = ["zanzibarquokka", "barquokka"];

/// The files below a directory that hold one of these texts.
pub(crate) fn holding(directory: &Path, texts: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        if texts.iter().any(|text| bytes.windows(text.len()).any(|window| window == text.as_bytes())) {
            found.push(path);
        }
    }
    found
}

/// Stores many messages with a sentinel, indexes some of them, and rewrites all.
fn rewrite_all(directory: &Path, store: Arc<dyn Store>) {
    let archive = Archive::with_store(Arc::clone(&store));
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    for number in 0..40 {
        // Some are longer than a page.
        let filling = "word ".repeat(if number % 10 == 0 { 8_000 } else { 10 });
        talk.append(Message::user(format!("{filling} zanzibarquokka {number}"))).unwrap();
        if number == 20 {
            while store.maintain(Task::Index, Duration::MAX).unwrap().left > 0 {}
        }
    }
    archive.list(&List::default()).unwrap();
    assert!(!holding(directory, &SENTINELS).is_empty());
    let body = Message::user("harmless").to_body();
    let ids: Vec<_> = talk.path().unwrap().into_iter().map(|stored| stored.id).collect();
    let messages: Vec<Rewritten<'_>> = ids
        .into_iter()
        .map(|id| Rewritten { id, link: Digest::chain(None, body.as_bytes()), body: &body })
        .collect();

    let change =
        Change::Rewrite { messages: &messages, previews: PreviewUpdate { first: "harmless", last: "" } };
    store.amend(talk.id(), None, &change, Time::now()).unwrap();

    assert_eq!(holding(directory, &SENTINELS), Vec::<PathBuf>::new());
}

#[test]
fn a_rewrite_leaves_nothing_of_what_was_said_in_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(directory.path().join("rejoin.db")).unwrap());

    rewrite_all(directory.path(), store);
}

#[test]
fn a_rewrite_leaves_nothing_of_what_was_said_in_plain_files() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(JsonlStore::open(directory.path()).unwrap());

    rewrite_all(directory.path(), store);
}
