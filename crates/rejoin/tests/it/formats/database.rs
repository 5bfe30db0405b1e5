//! Databases of other programs: read whole, changed by nothing, trusted in nothing.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use rejoin::formats::{Detection, Format, ReadLimits, Reading, Source, SourcePiece, Sources, Tree};
use rejoin::{Archive, ErrorKind, Import, ImportMode};
use rusqlite::Connection;

use crate::formats::fixture;
use crate::formats::round::written;

const SESSION: &str = "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// The least that CPE's tables have.
pub(super) const TABLES: &str = "
    CREATE TABLE messages (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, role TEXT NOT NULL,
        tool_result_error BOOLEAN NOT NULL DEFAULT 0, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
    CREATE TABLE blocks (id TEXT, message_id TEXT NOT NULL, block_type TEXT NOT NULL, modality_type INTEGER NOT NULL,
        mime_type TEXT NOT NULL, content TEXT NOT NULL, extra_fields TEXT, sequence_order INTEGER NOT NULL,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (message_id, sequence_order));";

/// A message of one text.
pub(super) fn said(id: &str, parent: Option<&str>, role: &str, text: &str) -> String {
    let parent = parent.map_or("NULL".to_owned(), |parent| format!("'{parent}'"));
    format!(
        "INSERT INTO messages (id, parent_id, role, created_at) VALUES ('{id}', {parent}, '{role}', '2026-11-15 12:00:00');
         INSERT INTO blocks VALUES (NULL, '{id}', 'content', 0, 'text/plain', '{text}', NULL, 0, '2026-11-15 12:00:00');"
    )
}

/// A database with two messages, and the connection of the program that has it open.
fn program(path: &Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
    connection.execute_batch(TABLES).unwrap();
    connection.execute_batch(&said("aaaaaa", None, "user", "one")).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    connection.execute_batch(&said("bbbbbb", Some("aaaaaa"), "assistant", "two")).unwrap();
    connection
}

/// Every file of a directory: its name, a hash of its bytes, when it was changed.
fn files(directory: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let mut hash = DefaultHasher::new();
            fs::read(&path).unwrap().hash(&mut hash);
            let time = path.metadata().unwrap().modified().unwrap();
            (path, hash.finish(), time)
        })
        .collect();
    files.sort();
    files
}

/// The database that another process keeps open: connections of one process share what they know of the log.
const KEPT_OPEN: &str = "REJOIN_TEST_DATABASE";

/// What that process does with its log.
const LOG: &str = "REJOIN_TEST_LOG";

/// Another process that keeps a database open until it is dropped.
struct Running {
    child: Child,
    /// Kept, so that the process can go on to write.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn with(path: &Path, log: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "formats::database::a_program_keeps_its_database_open", "--nocapture"])
            .env(KEPT_OPEN, path)
            .env(LOG, log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")));
        Self { child, _output: lines }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn a_program_keeps_its_database_open() {
    let Some(path) = std::env::var_os(KEPT_OPEN) else { return };

    let running = program(Path::new(&path), "WAL");
    if std::env::var(LOG).unwrap() == "folded" {
        running.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn try_read(path: &Path) -> rejoin::Result<Tree> {
    let source = Source::open(path).unwrap();
    Tree::gather(ReadLimits::default(), |reading| Format::named("cpe").unwrap().read(&source, reading))
}

fn texts(tree: &Tree) -> Vec<String> {
    tree.messages.iter().map(|found| found.message.text()).collect()
}

/// Detects and reads the database of a directory, and makes sure that the directory stays as it is.
fn read_untouched(directory: &Path) -> Vec<String> {
    let before = files(directory);
    let path = directory.join("x.db");

    let found = Format::of(&Source::open(&path).unwrap()).map(|format| format.name);
    let tree = try_read(&path).unwrap();

    assert_eq!(found, Some("cpe"));
    assert_eq!(files(directory), before);
    texts(&tree)
}

/// A copy of some of the files that a running program has.
fn copied(endings: &[&str]) -> tempfile::TempDir {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = own.path().join("x.db");
    let _running = program(&path, "WAL");
    for ending in endings {
        let name = format!("x.db{ending}");
        fs::copy(own.path().join(&name), other.path().join(&name)).unwrap();
    }
    other
}

#[test]
fn a_database_with_a_rollback_journal_is_read_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let _running = program(&directory.path().join("x.db"), "DELETE");

    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn the_log_of_a_running_program_is_read_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let _running = Running::with(&directory.path().join("x.db"), "used");

    assert!(directory.path().join("x.db-wal").metadata().unwrap().len() > 0);
    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn the_empty_log_of_a_running_program_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let _running = Running::with(&directory.path().join("x.db"), "folded");

    assert_eq!(directory.path().join("x.db-wal").metadata().unwrap().len(), 0);
    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn a_change_that_was_cut_off_is_an_error_and_left_to_the_program() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let running = program(&own.path().join("x.db"), "DELETE");
    let large = said("cccccc", None, "user", &"long ".repeat(100_000));
    // With so little room, pages are written before the change is complete.
    running.execute_batch(&format!("PRAGMA cache_size = 1; BEGIN; {large}")).unwrap();
    for name in ["x.db", "x.db-journal"] {
        fs::copy(own.path().join(name), other.path().join(name)).unwrap();
    }
    let before = files(other.path());

    let error = try_read(&other.path().join("x.db")).unwrap_err();

    assert!(format!("{error:?}").contains("left in the middle of a change"), "{error:?}");
    let found = Sources::find(other.path(), None).unwrap();
    assert_eq!((found.found.len(), found.unreadable.len()), (0, 1), "{found:?}");
    assert!(found.unreadable[0].1.contains("left in the middle of a change"), "{found:?}");
    assert_eq!(files(other.path()), before);
}

#[test]
fn a_database_that_is_held_is_told_as_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let running = program(&path, "DELETE");
    running.execute_batch("BEGIN EXCLUSIVE").unwrap();

    let found = Sources::find(directory.path(), None).unwrap();
    let error = Sources::find(&path, None).unwrap_err();

    assert_eq!((found.found.len(), found.others), (0, 0));
    assert_eq!(found.unreadable, [(path, "its program holds the database".to_owned())]);
    assert!(format!("{error:?}").contains("its program holds the database"), "{error:?}");
}

#[test]
fn ids_that_fill_the_memory_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let running = program(&path, "DELETE");
    for letter in ["c", "d", "e"] {
        running.execute_batch(&said(&letter.repeat(1_000), None, "user", "hello")).unwrap();
    }
    let limits = ReadLimits { line_bytes: 2_500, ..ReadLimits::default() };

    let (error, stored) = failed_import(&path, limits);

    assert!(error.contains("the ids in the database have more than 2500 bytes"), "{error}");
    assert_eq!(stored, 0);
}

#[test]
fn a_database_whose_log_is_folded_is_read_and_gets_no_log() {
    let directory = tempfile::tempdir().unwrap();
    drop(program(&directory.path().join("x.db"), "WAL"));

    assert_eq!(files(directory.path()).len(), 1);
    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn a_log_that_a_dead_program_left_is_read() {
    let with_index = copied(&["", "-wal", "-shm"]);
    let without_index = copied(&["", "-wal"]);
    let without_log = copied(&[""]);

    let read = [with_index, without_index, without_log].map(|directory| read_untouched(directory.path()));

    assert_eq!(read, [vec!["one", "two"], vec!["one", "two"], vec!["one"]]);
}

#[test]
fn a_directory_that_cannot_be_written_to_can_be_read() {
    let directory = copied(&["", "-wal"]);
    let mut permissions = directory.path().metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o555);
    fs::set_permissions(directory.path(), permissions).unwrap();

    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn what_a_program_adds_meanwhile_is_not_in_the_reading() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let running = program(&path, "WAL");
    let source = Source::open(&path).unwrap();
    let (mut texts, mut added) = (Vec::new(), 0);

    let mut take = |piece: SourcePiece| {
        if let SourcePiece::Message(found) = piece {
            texts.push(found.message.text());
            added += 1;
            running.execute_batch(&said(&format!("cccc{added:02}"), Some("bbbbbb"), "user", "more")).unwrap();
        }
        Ok(())
    };
    let format = Format::named("cpe").unwrap();
    format.read(&source, &mut Reading::new(ReadLimits::default(), &mut take)).unwrap();

    assert_eq!(texts, ["one", "two"]);
    assert_eq!(super::read(&path).messages.len(), 4);
}

#[test]
fn a_database_that_changes_under_a_reader_without_a_lock_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    drop(program(&path, "WAL"));
    let source = Source::open(&path).unwrap();

    let mut take = |piece: SourcePiece| {
        if matches!(piece, SourcePiece::Message(_)) {
            Connection::open(&path).unwrap().execute_batch(&said("cccccc", None, "user", "x")).ok();
        }
        Ok(())
    };
    let format = Format::named("cpe").unwrap();
    let error = format.read(&source, &mut Reading::new(ReadLimits::default(), &mut take)).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(
        format!("{error:?}").ends_with("its program changed the database while it was read"),
        "{error:?}"
    );
}

#[test]
fn what_only_looks_like_a_table_is_refused() {
    let hostile = [
        "CREATE TABLE m (a); CREATE VIEW messages AS SELECT 'x' AS id, NULL AS parent_id, 'user' AS role, \
         0 AS tool_result_error, 0 AS created_at FROM m;",
        "CREATE VIRTUAL TABLE messages USING fts5(id, parent_id, role, tool_result_error, created_at);",
        "CREATE TABLE messages (id TEXT PRIMARY KEY, parent_id TEXT, role TEXT, tool_result_error INTEGER, \
         created_at TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))));",
    ];
    let blocks = &TABLES[TABLES.find("CREATE TABLE blocks").unwrap()..];

    for schema in hostile {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch(&format!("{schema}{blocks}")).unwrap();

        let error = try_read(&path).unwrap_err();

        assert!(Format::of(&Source::open(&path).unwrap()).is_none(), "{schema}");
        assert!(format!("{error:?}").ends_with("`messages` is not a plain table"), "{error:?}");
    }
}

#[test]
fn triggers_and_foreign_tables_are_no_reason_to_refuse() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let running = program(&path, "DELETE");
    running
        .execute_batch(
            "CREATE TABLE other (a); CREATE VIEW v AS SELECT * FROM other;
             CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END;",
        )
        .unwrap();

    assert_eq!(read_untouched(directory.path()), ["one", "two"]);
}

#[test]
fn a_value_that_is_too_large_ends_the_import_with_nothing_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let running = program(&path, "DELETE");
    running.execute_batch(&said("cccccc", Some("bbbbbb"), "user", &"long ".repeat(4_000))).unwrap();
    let limits = ReadLimits { line_bytes: 10_000, ..ReadLimits::default() };

    let (error, kept) = failed_import(&path, limits);

    assert!(error.contains("the database has a value that is larger than allowed"), "{error}");
    assert_eq!(kept, 0);
}

#[test]
fn a_damaged_database_ends_the_import_with_nothing_imported() {
    let (_directory, path) = written("cpe", &super::read(&fixture(SESSION)));
    let whole = fs::read(&path).unwrap();
    for end in [50, 4_096, whole.len() / 2, whole.len() - 4_096] {
        fs::write(&path, &whole[..end]).unwrap();

        let (error, kept) = failed_import(&path, ReadLimits::default());

        // The source is at fault, and not the store.
        assert!(error.starts_with("[invalid]"), "{end} {error}");
        assert!(error.contains("not a database") || error.contains("is damaged"), "{end} {error}");
        assert_eq!(kept, 0);
    }
}

/// The error of an import, and how many conversations there are after it.
fn failed_import(path: &Path, limits: ReadLimits) -> (String, usize) {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display())).unwrap();
    let source = Source::open(path).unwrap();
    let mut how = Import { limits, mode: ImportMode::Store, project: &str::to_owned, progress: &mut |_| {} };
    let error = archive.imports().add(&source, Format::named("cpe").unwrap(), &mut how).unwrap_err();
    (format!("{error:?}"), archive.list(&Default::default()).unwrap().items.len())
}

#[test]
fn the_files_of_a_log_are_parts_of_their_database() {
    let directory = tempfile::tempdir().unwrap();
    let _running = program(&directory.path().join("x.db"), "WAL");

    let found = Sources::find(directory.path(), None).unwrap();
    let log = Source::open(&directory.path().join("x.db-wal")).unwrap();

    assert_eq!((found.found.len(), found.others), (1, 0));
    assert_eq!(Format::named("cpe").unwrap().detect(&log), Detection::Part);
}

#[test]
fn progress_is_the_size_of_the_file() {
    let (_directory, path) = written("cpe", &super::read(&fixture(SESSION)));
    let source = Source::open(&path).unwrap();
    let mut passed = 0;

    let mut take = |piece: SourcePiece| {
        if let SourcePiece::Passed(bytes) = piece {
            passed += bytes;
        }
        Ok(())
    };
    let format = Format::of(&source).unwrap();
    format.read(&source, &mut Reading::new(ReadLimits::default(), &mut take)).unwrap();

    assert_eq!(passed, source.bytes());
}
