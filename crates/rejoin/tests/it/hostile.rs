//! Damaged, foreign and malicious files: refused or read rightly, never a panic,
//! never changed before they are known.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rejoin::store::{ListQuery, Read, Safety, SqliteStore, Store, Task};
use rejoin::{Archive, Conversation, ErrorKind, List, Message, Result, Search, StoreUrl};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::look::{Visible, visible};

/// A small store in one file: two conversations, a branch, a label, an index that covers half of it.
fn sample(directory: &Path) -> PathBuf {
    let path = directory.join("store.db");
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let archive = Archive::with_store(store.clone());
    let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
    let first = trip.append(Message::user("Where to eat in Lisbon?")).unwrap();
    trip.append(Message::assistant("Try a tasca. ".repeat(3_000)).labelled("long")).unwrap();
    trip.fork(first.head, "on a budget").unwrap().append(Message::user("Cheaper?")).unwrap();
    store.maintain(Task::Index, Duration::MAX).unwrap();
    let mut other = archive.start(Conversation::titled("Porto")).unwrap();
    other.append(Message::user("And in Porto?")).unwrap();
    store.maintain(Task::Checkpoint, Duration::MAX).unwrap();
    drop((archive, trip, other, store));
    path
}

/// Lists, reads, searches and verifies everything. The bodies come back only when nothing was found wrong.
fn survey(path: &Path) -> Result<Option<Vec<String>>> {
    let store = Arc::new(SqliteStore::open_waiting(path, Duration::ZERO)?);
    let faults = store.maintain(Task::Check, Duration::MAX)?.faults;
    let archive = Archive::with_store(store.clone());
    let listed = archive.list(&List { includes_expired: true, ..List::default() })?;
    let verdicts =
        listed.items.iter().map(|row| archive.maintenance().verify(row.id)).collect::<Result<Vec<_>>>()?;
    archive.search(&Search { text: "lisbon".to_owned(), ..Search::default() })?;
    let Visible { conversations, .. } = visible(store.as_ref())?;
    let sound = faults.is_empty() && verdicts.iter().all(|verdict| verdict.is_sound());
    let messages = conversations.into_iter().flat_map(|(_, messages)| messages);
    let mut bodies: Vec<String> = messages.map(|shown| shown.body).collect();
    bodies.sort();
    Ok(sound.then_some(bodies))
}

#[test]
fn a_row_that_is_not_as_it_was_written_is_told_and_hides_no_other() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    let raw = Connection::open(&path).unwrap();
    let told = |sql: &str| {
        raw.execute_batch(sql).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let listed = store.list(&ListQuery { limit: 99, ..ListQuery::default() }).unwrap().items.len();
        let faults = store.maintain(Task::Check, Duration::MAX).unwrap().faults.into_iter();
        let faults = faults.map(|fault| (fault.conversation.is_some(), fault.what));
        (listed, faults.collect::<Vec<_>>())
    };

    let sound = told("");
    let header = told("UPDATE conversation SET header = CAST(x'7bff' AS TEXT) WHERE n = 1");
    let status = told("UPDATE conversation SET status = 77, header = '{}' WHERE n = 1");
    let head = told("UPDATE conversation SET status = 0, head = 99 WHERE n = 1");

    let beginning = "its row is not as it was written: ";
    assert_eq!(sound.1, []);
    assert_eq!([header.0, status.0, head.0], [sound.0; 3]);
    assert!(matches!(&header.1[..], [(true, what)] if what.starts_with(beginning)), "{header:?}");
    assert!(matches!(&status.1[..], [(true, what)] if what.ends_with("has an unknown status")), "{status:?}");
    assert_eq!(head.1, [(true, "a head that is missing".to_owned())]);
}

/// Surveys damaged copies of a file; each must be refused, found damaged, or hold the right bodies.
fn endures(damage: impl Iterator<Item = (String, Vec<u8>)> + Send + 'static, expected: Vec<String>) -> usize {
    let (done, finished) = channel();
    let worker = std::thread::spawn(move || {
        let mut noticed = 0;
        for (name, bytes) in damage {
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("store.db");
            fs::write(&path, bytes).unwrap();
            match survey(&path) {
                Ok(Some(bodies)) => assert_eq!(bodies, expected, "{name}"),
                Ok(None) | Err(_) => noticed += 1,
            }
        }
        done.send(noticed).unwrap();
    });
    // A file that sends the store in circles must fail the test, not stop it.
    let noticed = finished.recv_timeout(Duration::from_secs(120));
    if noticed.is_err() && worker.is_finished() {
        std::panic::resume_unwind(worker.join().unwrap_err());
    }
    noticed.unwrap()
}

fn kind_of(path: &Path) -> ErrorKind {
    SqliteStore::open(path).map(drop).unwrap_err().kind()
}

#[test]
fn what_is_no_database_is_refused_and_not_touched() {
    let directory = TempDir::new().unwrap();
    let cases: [(&str, &[u8]); 4] =
        [("text", b"hello"), ("json", b"{\"a\":1}\n"), ("short", b"S"), ("zeros", &[0; 4096])];

    for (name, bytes) in cases {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let refused = SqliteStore::open(&path).is_err();
        assert_eq!((refused, fs::read(&path).unwrap().as_slice()), (true, bytes), "{name}");
    }

    let files: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(files.len(), cases.len(), "nothing was written beside them");
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let directory = TempDir::new().unwrap();
    let real = sample(directory.path());
    let [link, dangling, folder, socket] =
        ["link", "dangling", "folder", "socket"].map(|name| directory.path().join(name));
    symlink(&real, &link).unwrap();
    symlink(directory.path().join("nowhere"), &dangling).unwrap();
    fs::create_dir(&folder).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();

    let kinds = [&link, &dangling, &folder, &socket].map(|path| kind_of(path));

    assert_eq!(kinds, [ErrorKind::Invalid; 4]);
    assert!(!directory.path().join("nowhere").exists());
}

#[test]
fn a_directory_behind_a_link_is_the_users_business() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("real")).unwrap();
    symlink(directory.path().join("real"), directory.path().join("link")).unwrap();

    SqliteStore::open(directory.path().join("link/store.db")).unwrap();

    assert!(directory.path().join("real/store.db").exists());
}

#[test]
fn another_programs_database_is_refused_and_not_touched() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    let before = fs::read(&path).unwrap();

    let error = SqliteStore::open(&path).map(drop).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:?}").contains("another program's database"), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_schema_is_refused_with_a_clear_message() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();

    let error = SqliteStore::open(&path).map(drop).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let said = format!("{error:?}");
    assert!(said.contains("newer Rejoin (schema 99, this one knows 4)"), "{said}");
}

#[test]
fn what_rejoin_did_not_make_is_refused() {
    let additions = [
        "CREATE TRIGGER evil AFTER INSERT ON message BEGIN DELETE FROM conversation; END",
        "CREATE VIEW evil AS SELECT * FROM message",
        "CREATE TABLE evil (x)",
        "CREATE VIRTUAL TABLE evil USING fts5 (x)",
        "DROP TABLE document; CREATE VIEW document AS SELECT 1 AS number, 1 AS key, 'a' AS id",
    ];

    let kinds = additions.map(|sql| {
        let directory = TempDir::new().unwrap();
        let path = sample(directory.path());
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        kind_of(&path)
    });

    assert_eq!(kinds, [ErrorKind::Corrupt; 5]);
}

#[test]
fn a_file_cut_at_any_length_is_noticed() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    let (whole, expected) = (fs::read(&path).unwrap(), survey(&path).unwrap().unwrap());
    let pages = (1..whole.len() / 16_384).map(|page| page * 16_384);
    let lengths: Vec<usize> = [1, 15, 16, 17, 99, 100, 101, 511, 512, 513, 4_096]
        .into_iter()
        .chain(pages.flat_map(|end| [end - 1, end, end + 1]))
        .collect();
    let cuts = lengths.len();

    let damage =
        lengths.into_iter().map(move |length| (format!("cut at {length}"), whole[..length].to_vec()));

    assert_eq!(endures(damage, expected), cuts);
}

#[test]
fn a_byte_that_changed_in_any_page_is_noticed_or_harmless() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    let (whole, expected) = (fs::read(&path).unwrap(), survey(&path).unwrap().unwrap());
    // The start of a page says how to read the rest of it; the others are spread over it.
    let places = |page: usize| {
        let spread = (0..10).map(move |step| 127 + step * 1_613 + page);
        (0..14).step_by(2).chain(spread).map(move |place| page * 16_384 + place)
    };
    let pages = whole.len() / 16_384;

    let damage = (0..pages).flat_map(places).enumerate().map(move |(turn, place)| {
        let mut bytes = whole.clone();
        bytes[place] ^= [0xff, 0x01, 0x80, 0x55][turn % 4];
        (format!("byte {place}"), bytes)
    });

    assert!(endures(damage, expected) > pages, "most damage is noticed");
}

#[test]
fn a_log_that_was_damaged_loses_its_end_at_most() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    let archive = Archive::with_store(Arc::new(SqliteStore::open(&path).unwrap()));
    let mut handle = archive.start(Conversation::titled("Faro")).unwrap();
    handle.append(Message::user("And in Faro?")).unwrap();
    let before = survey(&path).unwrap().unwrap();
    let (main, log) = (fs::read(&path).unwrap(), fs::read(path.with_file_name("store.db-wal")).unwrap());

    for place in (0..log.len()).step_by(log.len() / 40) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("store.db");
        let mut log = log.clone();
        log[place] ^= 0x55;
        fs::write(&path, &main).unwrap();
        fs::write(directory.path().join("store.db-wal"), log).unwrap();
        let bodies = survey(&path).unwrap().unwrap();
        assert!(bodies.iter().all(|body| before.contains(body)), "byte {place} of the log");
    }
}

#[test]
fn a_message_that_cannot_be_read_is_an_error() {
    let updates = [
        r#"UPDATE message SET body = '{"role":"martian","blocks":[]}'"#,
        r#"UPDATE message SET body = 'not json'"#,
        r#"UPDATE message SET body = '{"role":"user","blocks":[{"type":"text","text":5}]}'"#,
        "UPDATE message SET digest = x'00'",
        "UPDATE message SET id = '../..' WHERE key & 0xffffffff = 1",
        "UPDATE message SET parent = 77 WHERE parent IS NOT NULL",
        "UPDATE message SET parent = key & 0xffffffff",
        "DELETE FROM message WHERE key & 0xffffffff = 1",
        "UPDATE conversation SET head = 77",
        "UPDATE conversation SET header = 'not json'",
        "UPDATE conversation SET id = x'00' WHERE n = 1",
        "PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'message';
         PRAGMA writable_schema = RESET; UPDATE message SET body = x'ff'",
    ];

    for update in updates {
        let directory = TempDir::new().unwrap();
        let path = sample(directory.path());
        let ids: Vec<_> = visible(&SqliteStore::open(&path).unwrap()).unwrap().conversations;
        Connection::open(&path).unwrap().execute_batch(update).unwrap();

        let archive = Archive::with_store(Arc::new(SqliteStore::open(&path).unwrap()));
        let paths: Result<Vec<_>> = ids.iter().map(|(row, _)| archive.path(row.id, None)).collect();
        let listed = archive.list(&List::default());
        assert!(paths.is_err() || listed.is_err(), "{update}");
        assert!(matches!(survey(&path), Ok(None) | Err(_)), "{update}");
    }
}

/// A file as the first version wrote it, with everything that [`sample`] holds.
fn first_version(directory: &Path) -> PathBuf {
    let newest = sample(directory);
    let path = directory.join("old.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../src/store/sqlite/migrations/0001_conversations.sql")).unwrap();
    old.execute("ATTACH ?1 AS newest", [newest.to_str().unwrap()]).unwrap();
    for table in ["conversation", "message", "branch", "blob", "change"] {
        old.execute_batch(&format!("INSERT INTO {table} SELECT * FROM newest.{table}")).unwrap();
    }
    old.execute_batch(
        "UPDATE conversation SET indexed = 0;
         DETACH newest; PRAGMA application_id = 0x524A4F4E; PRAGMA user_version = 1; PRAGMA journal_mode = WAL",
    )
    .unwrap();
    path
}

fn version_of(path: &Path) -> i32 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn everything(path: &Path) -> Visible {
    visible(&SqliteStore::open(path).unwrap()).unwrap()
}

#[test]
fn an_older_file_is_migrated_and_a_copy_of_it_stays() {
    let directory = TempDir::new().unwrap();
    let old = first_version(directory.path());

    let store = SqliteStore::open(&old).unwrap();

    let copy = store.migrated_from().unwrap().to_owned();
    assert_eq!(copy, directory.path().join("old.db.before-4"));
    assert_eq!((version_of(&old), version_of(&copy)), (4, 1));
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
    let newest = everything(&directory.path().join("store.db"));
    assert_eq!(visible(&store).unwrap(), newest);
    let search = Search { text: "lisbon".to_owned(), ..Search::default() };
    let found =
        |store: SqliteStore| Archive::with_store(Arc::new(store)).search(&search).unwrap().items.len();
    assert_eq!(found(store), 1);
    // The copy is whole: it can be opened in its turn.
    assert_eq!(everything(&copy), newest);
    assert_eq!(SqliteStore::open(&old).unwrap().migrated_from(), None);
}

#[test]
fn processes_that_migrate_at_once_all_succeed() {
    let directory = TempDir::new().unwrap();
    let old = first_version(directory.path());
    let newest = everything(&directory.path().join("store.db"));

    let seen: Vec<Visible> = std::thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| everything(&old))).collect();
        opened.into_iter().map(|opened| opened.join().unwrap()).collect()
    });

    assert_eq!(seen, vec![newest; 8]);
    assert_eq!(version_of(&directory.path().join("old.db.before-4")), 1);
}

#[test]
fn a_migration_that_was_killed_leaves_a_file_that_opens() {
    let directory = TempDir::new().unwrap();
    let old = first_version(directory.path());
    let newest = everything(&directory.path().join("store.db"));
    let killed = directory.path().join("killed.db");
    // What a killed process leaves: pages of an unfinished transaction in the log, and half a copy beside it.
    let migrating = Connection::open(&old).unwrap();
    migrating
        .execute_batch(
            "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE; UPDATE message SET label = 'x'",
        )
        .unwrap();
    migrating.execute_batch(include_str!("../../src/store/sqlite/migrations/0002_search.sql")).unwrap();
    fs::copy(&old, &killed).unwrap();
    fs::copy(directory.path().join("old.db-wal"), directory.path().join("killed.db-wal")).unwrap();
    fs::write(directory.path().join("killed.db.before-4"), &fs::read(&old).unwrap()[..20_000]).unwrap();

    let store = SqliteStore::open(&killed).unwrap();

    assert_eq!(visible(&store).unwrap(), newest);
    assert_eq!(everything(store.migrated_from().unwrap()), newest);
}

/// Set in the process that has an umask of its own: every thread of a process shares one.
const UMASKED: &str = "REJOIN_TEST_UMASKED";

#[test]
fn files_are_the_owners_alone_whatever_the_umask() {
    if std::env::var_os(UMASKED).is_none() {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "hostile::files_are_the_owners_alone_whatever_the_umask"]);
        assert!(program.env(UMASKED, "1").status().unwrap().success());
        return;
    }
    let directory = TempDir::new().unwrap();
    rustix::process::umask(rustix::fs::Mode::empty());
    let path = directory.path().join("a/b/store.db");
    let store = SqliteStore::open(&path).unwrap();
    let archive = Archive::with_store(Arc::new(store));
    archive.start(Conversation::default()).unwrap();
    let copied =
        StoreUrl::Sqlite(path.clone()).backup(&directory.path().join("a/copy.db"), &mut |_, _, _| ());
    copied.unwrap();

    let mode = |name: &str| fs::metadata(directory.path().join(name)).unwrap().mode() & 0o777;
    let files = ["a/b/store.db", "a/b/store.db-wal", "a/b/store.db-shm", "a/copy.db"].map(mode);

    assert_eq!((files, ["a", "a/b"].map(mode)), ([0o600; 4], [0o700; 2]));
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    let directory = TempDir::new().unwrap();
    let locked = directory.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, Permissions::from_mode(0o500)).unwrap();
    // The superuser may write anywhere but into the kernel's own file system.
    let place = if rustix::process::geteuid().is_root() { PathBuf::from("/proc") } else { locked };

    let error = SqliteStore::open(place.join("store.db")).map(drop).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(format!("{error:?}").contains(place.to_str().unwrap()), "{error:?}");
}

#[test]
fn a_file_that_vanished_is_not_made_again() {
    let directory = TempDir::new().unwrap();
    let path = sample(directory.path());
    let store = SqliteStore::open(&path).unwrap();
    fs::remove_file(&path).unwrap();

    let kind = store.put(&[], Safety::Synced).unwrap_err().kind();

    assert_eq!((kind, path.exists()), (ErrorKind::Unavailable, false));
}
