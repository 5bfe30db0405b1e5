//! Attempts to make a fault go by in silence: a system that fails, and a
//! command that says nothing or says "done".

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rejoin::{Archive, Conversation, Message};
use rusqlite::Connection;

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::limits::limited;
use crate::skip::tell;
use crate::small_blocks::{Kind, SmallBlocks};
use crate::strace::Strace;
use crate::sweep::{Operation, Stage, failing, operation};
use crate::world::World;

/// A call that fails in the middle of a command. The attempt succeeds when the command says that all is well
/// and it is not, or when the way on is blocked afterwards; the control when the call really failed.
fn injected<'a>(
    name: &'a str,
    operation: &'static Operation,
    call: &'static str,
    error: &'static str,
) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let stage = Stage::new(operation).unwrap();
        let failing = failing(call, error);
        let numbers = stage.numbers(call);
        // The first sync is that of the write which decides.
        let number = if call.ends_with("sync") { numbers[0] } else { numbers[numbers.len() / 2] };
        match target {
            Target::Guarded => stage.fail(failing, number).inspect_err(|what| tell(what)).is_err(),
            Target::Control => stage.run(failing, number).1,
        }
    })
}

#[test]
fn no_call_that_fails_is_passed_over_in_silence() {
    if Strace::find().is_none() {
        return;
    }
    assert_all_fail(&[
        injected("a source that cannot be read counts as imported", &operation::IMPORT_SOURCE, "read", "EIO"),
        injected(
            "a source that cannot be opened counts as imported",
            &operation::IMPORT_SOURCE,
            "openat",
            "EACCES",
        ),
        injected(
            "a source that cannot be looked at counts as absent",
            &operation::IMPORT_SOURCE,
            "statx",
            "EIO",
        ),
        injected("an import whose sync fails says that it is done", &operation::IMPORT, "fdatasync", "EIO"),
        injected("a backup whose sync fails blocks the next one", &operation::BACKUP, "fsync", "EIO"),
        injected("a backup is made of pages that could not be read", &operation::BACKUP, "pread64", "EIO"),
        injected("a restore on a full disk leaves half a store", &operation::RESTORE, "pwrite64", "ENOSPC"),
        injected(
            "a purge whose log cannot be cut says that it is done",
            &operation::PURGE,
            "ftruncate",
            "EIO",
        ),
        injected(
            "a purge whose file cannot be moved says that it is done",
            &operation::PURGE_FILES,
            "rename",
            "EIO",
        ),
        injected("a rotation whose sync fails loses the key", &operation::ROTATE, "fdatasync", "EIO"),
        injected("a rotation that cannot write loses a key", &operation::ROTATE, "pwrite64", "EIO"),
        injected(
            "an encryption that cannot read the store seals less",
            &operation::ENCRYPT,
            "pread64",
            "EIO",
        ),
        injected(
            "a decryption that cannot read the vault copies less",
            &operation::DECRYPT,
            "pread64",
            "EIO",
        ),
        injected("a hand-off whose sync fails leaves half a session", &operation::HANDOFF, "fsync", "EIO"),
        injected("a store that may not be opened counts as empty", &operation::HANDOFF, "openat", "EACCES"),
        injected(
            "a vault that may not be opened counts as decrypted",
            &operation::DECRYPT,
            "openat",
            "EACCES",
        ),
        injected(
            "plain files that may not be opened count as purged",
            &operation::PURGE_FILES,
            "openat",
            "EACCES",
        ),
        injected("a fork is acknowledged without its sync", &operation::FORK, "fdatasync", "EIO"),
        injected(
            "a new name is acknowledged that was not written",
            &operation::RENAME_FILES,
            "pwrite64",
            "EIO",
        ),
        injected("an export on a full disk leaves half a file", &operation::EXPORT, "write", "ENOSPC"),
    ]);
}

/// Names the database that a child process reads with SQLite alone.
const DATABASE: &str = "REJOIN_TEST_DATABASE";

/// What SQLite does with a database when nobody looks after it, in a process of its own: it may be ended.
fn unguarded(path: &Path) -> std::process::ExitStatus {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "attacks::faults::a_full_disk_neither_ends_a_command_nor_locks_it_out"]);
    program.env(DATABASE, path).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
}

/// A world on a disk with small blocks of which so much is left, without the shared index of the log.
/// `before` is done to it while there is room.
fn full(left: u64, before: fn(&World)) -> (World, SmallBlocks) {
    let (world, disk) = Kind::Sqlite.world().unwrap();
    before(&world);
    let _ = fs::remove_file(world.path("home/.local/share/rejoin/rejoin.db-shm"));
    disk.fill_but(left);
    (world, disk)
}

#[test]
fn a_full_disk_neither_ends_a_command_nor_locks_it_out() {
    if let Ok(path) = env::var(DATABASE) {
        let connection = Connection::open(path).unwrap();
        let count: i64 = connection.query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap();
        return assert!(count > 0);
    }
    if !SmallBlocks::can_be_mounted() {
        return;
    }
    let list = |world: &World| world.program(&["list"]).stdin(Stdio::null()).output().unwrap().status;
    assert_all_fail(&[
        Attempt::new("a hole in the shared index ends a read with a signal", |target| {
            let (world, _disk) = full(16 << 10, |_| ());
            let ended = if target == Target::Guarded { list(&world) } else { unguarded(&world.store()) };
            // The child of a test that is ended by a signal is a test harness that is.
            ended.signal().is_some()
        }),
        Attempt::new("a disk without a block left cannot be read", |target| {
            let (world, _disk) = full(0, |_| ());
            let ended = if target == Target::Guarded { list(&world) } else { unguarded(&world.store()) };
            !ended.success()
        }),
        Attempt::new("what fills a disk cannot be removed from it", |target| {
            let (world, _disk) = full(0, World::fold);
            if target == Target::Control {
                let connection = Connection::open_with_flags_and_vfs(
                    world.store(),
                    rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
                    c"unix-excl",
                )
                .unwrap();
                return connection.execute_batch("PRAGMA secure_delete = ON; DELETE FROM message").is_err();
            }
            let mut purge = world.program(&["purge", "old", "--yes"]);
            !purge.stdin(Stdio::null()).output().unwrap().status.success()
        }),
    ]);
}

#[test]
fn a_limit_of_the_system_is_told() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let output = |mut command: Command| command.stdin(Stdio::null()).output().unwrap();
    assert_all_fail(&[
        Attempt::new("a limit on the size of files ends a command with a signal", |target| {
            let mut writes = Command::new("dd");
            writes
                .args(["if=/dev/zero", "of=large", "bs=100k", "count=1"])
                .current_dir(world.path("project"));
            let program =
                if target == Target::Guarded { world.program(&["backup", "large.db"]) } else { writes };
            output(limited(&program, "-f 64")).status.signal().is_some()
        }),
        Attempt::new("a limit on open files is told as a file that cannot be opened", |target| {
            let told = if target == Target::Guarded {
                String::from_utf8(output(limited(&world.program(&["list"]), "-n 5")).stderr).unwrap()
            } else {
                Connection::open("/nonexistent/rejoin.db").unwrap_err().to_string()
            };
            !told.contains("Too many open files") && told.contains("unable to open database file")
        }),
    ]);
}

/// A database with a log in which all of it stands, in a directory of its own.
fn crashed() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (open, path) = (directory.path().join("open.db"), directory.path().join("store.db"));
    let archive = Archive::open(&format!("sqlite:{}", open.display())).unwrap();
    archive.start(Conversation::titled("Lisbon")).unwrap().append(Message::user("Where to eat?")).unwrap();
    let statements =
        "PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA user_version = 4";
    Connection::open(&open).unwrap().execute_batch(statements).unwrap();
    let log = directory.path().join("store.db-wal");
    fs::copy(&open, &path).unwrap();
    fs::copy(directory.path().join("open.db-wal"), &log).unwrap();
    (directory, path, log)
}

fn conversations(path: &Path) -> usize {
    let archive = Archive::open(&format!("sqlite:{}", path.display()));
    archive.and_then(|archive| archive.list(&Default::default())).map_or(0, |listed| listed.items.len())
}

/// The locks that this process has on a file.
fn locks(path: &Path) -> usize {
    let (own, number) =
        (format!(" {} ", std::process::id()), format!(":{} ", path.metadata().unwrap().ino()));
    let table = fs::read_to_string("/proc/locks").unwrap();
    table.lines().filter(|line| line.contains(&own) && line.contains(&number)).count()
}

#[test]
fn what_a_crash_leaves_is_neither_refused_nor_thrown_away() {
    assert_all_fail(&[
        Attempt::new("a torn first page hides a store that its log holds", |target| {
            let (_directory, path, _) = crashed();
            let mut main = fs::read(&path).unwrap();
            main[..16_384].fill(0);
            fs::write(&path, &main).unwrap();
            match target {
                Target::Guarded => conversations(&path) == 0,
                Target::Control => !fs::read(&path).unwrap().starts_with(b"SQLite format 3\0"),
            }
        }),
        Attempt::new("an empty main file costs the log", |target| {
            let (_directory, path, log) = crashed();
            fs::write(&path, "").unwrap();
            if target == Target::Guarded {
                return conversations(&path) == 0;
            }
            let connection = Connection::open(&path).unwrap();
            let _ = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            !log.exists()
        }),
        Attempt::new("a damaged log beside an empty file is removed", |target| {
            let (_directory, path, log) = crashed();
            let mut bytes = fs::read(&log).unwrap();
            bytes[40] ^= 1;
            fs::write(&log, &bytes).unwrap();
            fs::write(&path, "").unwrap();
            if target == Target::Guarded {
                conversations(&path);
            } else {
                let _ = Connection::open(&path).unwrap().query_row(
                    "SELECT count(*) FROM sqlite_schema",
                    [],
                    |_| Ok(()),
                );
            }
            fs::read(&log).map_or(0, |left| left.len()) != bytes.len()
        }),
        Attempt::new("opening a store twice gives back the locks of the first", |target| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            let url = format!("sqlite:{}", path.display());
            let first = Archive::open(&url).unwrap();
            first.list(&Default::default()).unwrap();
            let held = locks(&path);
            match target {
                Target::Guarded => drop(Archive::open(&url).unwrap()),
                // Closing any handle gives back all locks of a process.
                Target::Control => drop(File::open(&path).unwrap()),
            }
            held > 0 && locks(&path) == 0
        }),
        Attempt::new("another program's database is changed before it is known", |target| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store.db");
            Connection::open(&path).unwrap().execute_batch("CREATE TABLE shopping (what TEXT)").unwrap();
            let before = fs::read(&path).unwrap();
            if target == Target::Guarded {
                conversations(&path);
            } else {
                let _ = Connection::open(&path).unwrap().pragma_update(None, "journal_mode", "WAL");
            }
            fs::read(&path).unwrap() != before
        }),
    ]);
}

#[test]
fn a_backup_that_is_killed_does_not_block_the_next() {
    let Some(strace) = Strace::find() else { return };
    assert_all_fail(&[Attempt::new("half a backup has the name of a whole one", |target| {
        let world = World::new();
        world.talk("Lisbon", &["Where to eat?"]);
        if target == Target::Control {
            // A copy that is written under its own name.
            File::create(world.path("project/monday.db")).unwrap().write_all(b"half").unwrap();
        } else {
            let program = world.program(&["backup", "monday.db"]);
            let killed = strace.inject(&program, "pwrite64:signal=KILL:when=12", &world.path("trace"));
            let mut killed = killed;
            assert!(!killed.stdin(Stdio::null()).output().unwrap().status.success());
        }
        world.rejoin(["backup", "monday.db"]).run().code != 0
    })]);
}
