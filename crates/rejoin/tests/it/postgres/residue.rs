//! What is removed leaves the server's files, and what a vault stores never stands there in plain text.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{Change, PreviewUpdate, Rewritten, Target, Task};
use rejoin::{Archive, Conversation, Digest, List, Message, StoreUrl, Time};

use crate::postgres::Schema;
use crate::postgres::server::{Server, open, own};
use crate::residue::{SENTINELS, holding};
use crate::vault::{InnerPlace as _, sealed};

/// A server of its own, whose log does not show what it is told.
fn server() -> Option<Server> {
    own(&["log_statement=none"])
}

/// The files of the server's tables and indexes that hold a sentinel.
fn residue(server: &Server) -> Vec<PathBuf> {
    server.sql("CHECKPOINT");
    let data = server.data();
    let kinds = ["base", "global"].map(|kind| data.join(kind));
    kinds.iter().flat_map(|kind| holding(kind, &SENTINELS)).collect()
}

/// Stores messages with a sentinel, some of them longer than a page, and returns their conversation.
fn fill(archive: &Archive) -> rejoin::ConversationId {
    let mut talk = archive.start(Conversation::titled("zanzibarquokka")).unwrap();
    for number in 0..40 {
        // The server compresses what repeats itself.
        let random: String = (0..if number % 10 == 0 { 3_000 } else { 4 })
            .map(|word: u32| format!("{:x} ", word.wrapping_mul(2_654_435_761).rotate_left(number)))
            .collect();
        talk.append(Message::user(format!("zanzibarquokka {random} {number}"))).unwrap();
    }
    talk.id()
}

#[test]
fn what_is_removed_is_in_no_file_of_a_table() {
    let Some(server) = server() else { return };
    let store = open(&server.url("postgres", "schema=erased"));
    let archive = Archive::with_store(Arc::clone(&store));
    let id = fill(&archive);
    server.sql("ANALYZE");
    assert!(!residue(&server).is_empty());

    store.remove(&[Target::Conversation(id)], "tidying", Time::now()).unwrap();

    assert_eq!(residue(&server), Vec::<PathBuf>::new());
    assert_eq!(store.maintain(Task::Checkpoint, Duration::MAX).unwrap().left, 0);
}

#[test]
fn what_is_rewritten_is_in_no_file_of_a_table() {
    let Some(server) = server() else { return };
    let store = open(&server.url("postgres", "schema=rewritten"));
    let archive = Archive::with_store(Arc::clone(&store));
    let id = fill(&archive);
    archive.list(&List::default()).unwrap();
    let body = Message::user("harmless").to_body();
    let messages: Vec<_> = archive.path(id, None).unwrap();
    let link = Digest::chain(None, body.as_bytes());
    let messages: Vec<Rewritten<'_>> =
        messages.iter().map(|stored| Rewritten { id: stored.id, link, body: &body }).collect();
    let previews = PreviewUpdate { first: "harmless", last: "" };
    let facets = rejoin::store::Facets::default();
    store.amend(id, None, &Change::Header { facets: &facets, header: "{}" }, Time::now()).unwrap();

    store.amend(id, None, &Change::Rewrite { messages: &messages, previews }, Time::now()).unwrap();

    assert_eq!(residue(&server), Vec::<PathBuf>::new());
}

#[test]
fn what_an_older_transaction_keeps_is_told_until_it_ends() {
    let Some(server) = server() else { return };
    let store = open(&server.url("postgres", "schema=held"));
    let id = fill(&Archive::with_store(Arc::clone(&store)));
    let begin =
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM held.message; SELECT pg_sleep(60);";
    let mut older = server.client("postgres").args(["-c", begin]).stdout(Stdio::null()).spawn().unwrap();
    while server.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND wait_event = 'PgSleep'",
    ) == "0"
    {}
    store.remove(&[Target::Conversation(id)], "tidying", Time::now()).unwrap();

    let during = store.maintain(Task::Checkpoint, Duration::MAX).unwrap().left;
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
    older.wait().unwrap();
    let after = store.maintain(Task::Checkpoint, Duration::MAX).unwrap().left;

    assert_eq!((during, after), (1, 0));
    assert_eq!(residue(&server), Vec::<PathBuf>::new());
}

#[test]
fn a_server_never_sees_what_a_vault_stores() {
    let Some(server) = own(&[]) else { return };
    let url = server.url("postgres", "schema=sealed");
    assert!(matches!(StoreUrl::parse(&format!("vault+{url}")), Ok(StoreUrl::Vault(_))));
    let archive = Archive::with_store(Arc::new(sealed(Schema(url).inner())));
    fill(&archive);

    server.sql("CHECKPOINT");

    let found: Vec<PathBuf> = holding(&server.data(), &SENTINELS);
    assert_eq!(found, Vec::<PathBuf>::new());
    assert!(!holding(&server.log(), &["sealed.message"]).is_empty(), "the log shows statements");
    assert_eq!(holding(&server.log(), &SENTINELS), Vec::<PathBuf>::new());
}
