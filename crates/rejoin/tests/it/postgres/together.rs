//! Several who write at once, and readers who must miss nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::Barrier;
use std::time::Duration;

use rejoin::{Archive, Conversation, Message};

use crate::postgres::server::{open, own, shared};
use crate::vault::write::{conversation, messages, say};

#[test]
fn sixteen_writers_append_to_one_conversation() {
    const WRITERS: usize = 16;
    const TURNS: usize = 8;
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let stores: Vec<_> = (0..WRITERS).map(|_| open(&url)).collect();
    crate::vault::write::open(stores[0].as_ref(), conversation(1));
    let start = Barrier::new(WRITERS);

    std::thread::scope(|scope| {
        for (writer, store) in stores.iter().enumerate() {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let mut last = None;
                for turn in 0..TURNS {
                    let name = format!("w{writer}t{turn}");
                    last = Some(say(store.as_ref(), conversation(1), &name, last, "together").unwrap());
                }
            });
        }
    });

    let found = messages(stores[0].as_ref(), conversation(1)).unwrap();
    let own = |writer: usize| {
        let begins = format!("w{writer}t");
        let own = found.iter().filter(|shown| shown.id.as_str().starts_with(&begins));
        own.map(|shown| shown.id.to_string()).collect::<Vec<_>>()
    };
    let owns: Vec<_> = (0..WRITERS).map(own).collect();
    let expected: Vec<Vec<String>> =
        (0..WRITERS).map(|writer| (0..TURNS).map(|turn| format!("w{writer}t{turn}")).collect()).collect();
    assert_eq!(owns, expected);
    let faults = stores[0].maintain(rejoin::store::Task::Check, Duration::MAX).unwrap().faults;
    assert_eq!((found.len(), faults), (WRITERS * TURNS, vec![]));
}

#[test]
fn what_another_handle_appends_is_seen_by_one_that_remembers() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let (own, other) = (open(&url), open(&url));
    crate::vault::write::open(own.as_ref(), conversation(1));
    let first = say(own.as_ref(), conversation(1), "a", None, "one").unwrap();
    let second = say(other.as_ref(), conversation(1), "b", Some(first), "two").unwrap();

    // What it remembers says that `a` has no child.
    say(own.as_ref(), conversation(1), "c", Some(first), "three").unwrap();
    let last = say(own.as_ref(), conversation(1), "d", Some(second), "four").unwrap();
    let taken =
        say(own.as_ref(), conversation(1), "b", Some(last), "five").err().map(|error| error.to_string());

    let forked: Vec<_> = messages(other.as_ref(), conversation(1)).unwrap();
    let parents: Vec<_> = forked.iter().map(|shown| shown.parent.map(|id| id.to_string())).collect();
    let [a, b] = ["a", "b"].map(|name| Some(name.to_owned()));
    assert_eq!(parents, [None, a.clone(), a, b]);
    assert_eq!(taken.as_deref(), Some("message id `b` is taken"));
}

#[test]
fn a_change_that_is_committed_late_is_not_skipped() {
    let Some(server) = own(&[]) else { return };
    let url = server.fresh_url();
    let schema = url.rsplit_once('=').unwrap().1.to_owned();
    let store = open(&url);
    crate::vault::write::open(store.as_ref(), conversation(1));
    let before = store.changes(0, Duration::from_secs(5)).unwrap();
    let mut late = server.client("postgres").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut say_late, mut told) = (late.stdin.take().unwrap(), BufReader::new(late.stdout.take().unwrap()));
    let insert = format!(
        "BEGIN; INSERT INTO {schema}.change (conversation, stamp, at, what, tag) VALUES \
         ('{}', pg_current_xact_id()::text::int8 << 20, 0, 2, 1); SELECT 'begun';\n",
        conversation(9)
    );
    say_late.write_all(insert.as_bytes()).unwrap();
    told.read_line(&mut String::new()).unwrap();
    say(store.as_ref(), conversation(1), "a", None, "one").unwrap();
    say(store.as_ref(), conversation(1), "b", None, "two").unwrap();

    let during = store.changes(before[0].stamp, Duration::ZERO).unwrap();
    say_late.write_all(b"COMMIT; SELECT 'done';\n").unwrap();
    told.read_line(&mut String::new()).unwrap();
    let after = store.changes(before[0].stamp, Duration::from_secs(5)).unwrap();

    drop(say_late);
    late.wait().unwrap();
    let of: Vec<_> = after.iter().map(|change| change.conversation).collect();
    assert_eq!((before.len(), during), (1, vec![]));
    assert_eq!(of, [conversation(9), conversation(1), conversation(1)]);
}

#[test]
fn a_change_on_another_handle_ends_the_wait() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let (own, other) = (open(&url), open(&url));

    let changes = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| own.changes(0, Duration::from_secs(60)).unwrap());
        crate::vault::write::open(other.as_ref(), conversation(1));
        waiting.join().unwrap()
    });

    assert_eq!(changes.len(), 1);
}

#[test]
fn an_archive_is_used_and_dropped_in_async_code() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let said = runtime.block_on(async {
        let archive = Archive::open(&url).unwrap();
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        talk.append(Message::user("Where to eat?")).unwrap();
        let id = talk.id();
        drop(talk);
        drop(archive);
        Archive::open(&url).unwrap().path(id, None).unwrap().len()
    });

    assert_eq!(said, 1);
}

#[test]
fn ten_set_up_a_schema_at_once() {
    let Some(server) = shared() else { return };
    let url = server.fresh_url();
    let start = Barrier::new(10);

    std::thread::scope(|scope| {
        for number in 0..10 {
            let (start, url) = (&start, &url);
            scope.spawn(move || {
                start.wait();
                crate::vault::write::open(open(url).as_ref(), conversation(number));
            });
        }
    });

    assert_eq!(open(&url).changes(0, Duration::from_secs(1)).unwrap().len(), 10);
}

#[test]
fn a_store_behind_a_pooler_does_without_prepared_statements() {
    let Some(server) = shared() else { return };
    let store = open(&format!("{}&statements=unprepared", server.fresh_url()));

    crate::vault::write::open(store.as_ref(), conversation(1));
    let first = say(store.as_ref(), conversation(1), "a", None, "one").unwrap();
    say(store.as_ref(), conversation(1), "b", Some(first), "two").unwrap();

    assert_eq!(messages(store.as_ref(), conversation(1)).unwrap().len(), 2);
}

#[test]
fn every_connection_waits_for_the_disk_whatever_the_role_was_set_to() {
    let Some(server) = own(&[]) else { return };
    server.sql("CREATE ROLE lax LOGIN SUPERUSER; ALTER ROLE lax SET synchronous_commit = off;");
    let url = format!("postgres://lax@127.0.0.1:{}/postgres?schema=lax", server.port);
    let store = open(&url);
    let made = || {
        std::fs::read_to_string(server.log())
            .unwrap()
            .matches("set_config('synchronous_commit', 'on'")
            .count()
    };
    let before = made();

    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lax'");
    crate::vault::write::open(store.as_ref(), conversation(1));

    assert!(before > 0 && made() > before, "{before} {}", made());
}
