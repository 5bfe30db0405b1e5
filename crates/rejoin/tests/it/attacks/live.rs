//! A store whose files are taken away, replaced or cut short while a program has it open.
//!
//! An attempt succeeds when a write is acknowledged after that. The control does the same to a connection of
//! SQLite, which goes on with the files that it has open.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::store::{Displaced, Order, Task};
use rejoin::{Archive, Conversation, ConversationId, ErrorKind, Handle, Message, Saved};
use rusqlite::Connection;

use crate::attacks::attempt::{Attempt, Target, assert_all_fail};
use crate::held::Held;
use crate::vault_keys::{Machine, say, titles};

/// A directory with a database in `data`, reached through the link `way`.
struct Room {
    directory: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("data")).unwrap();
        symlink("data", directory.path().join("way")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.path("way/history.db")
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.database().display())
    }

    /// Another database with the same content, where the first is whole.
    fn copy(&self, name: &str) -> PathBuf {
        let copy = self.path(name);
        fs::copy(self.database(), &copy).unwrap();
        copy
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn cut(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// So many words that the database has many pages.
fn long() -> Message {
    Message::user("word ".repeat(200_000))
}

fn talk(archive: &Archive) -> Handle {
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(long()).unwrap();
    archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
    talk.append(Message::user("Where to eat?")).unwrap();
    talk
}

/// A connection of SQLite alone that keeps the same.
fn unguarded(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE said (text)").unwrap();
    insert(&connection, &"word ".repeat(200_000)).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    insert(&connection, "Where to eat?").unwrap();
    connection
}

fn insert(connection: &Connection, text: &str) -> rusqlite::Result<usize> {
    connection.execute("INSERT INTO said VALUES (?1)", [text])
}

/// Whether a turn is acknowledged after something was done to the files.
fn acknowledges(done: impl Fn(&Room)) -> impl Fn(Target) -> bool {
    move |target| {
        let room = Room::new();
        if target == Target::Control {
            let connection = unguarded(&room.database());
            done(&room);
            return insert(&connection, "And to sleep?").is_ok();
        }
        let mut talk = talk(&Archive::open(&room.url()).unwrap());
        done(&room);
        talk.append(Message::user("And to sleep?")).is_ok()
    }
}

#[test]
fn nothing_is_acknowledged_in_files_that_nobody_finds_again() {
    assert_all_fail(&[
        Attempt::new("the file is removed", acknowledges(|room| fs::remove_file(room.database()).unwrap())),
        Attempt::new(
            "every file is removed",
            acknowledges(|room| {
                ["", "-wal", "-shm"]
                    .iter()
                    .for_each(|end| fs::remove_file(beside(&room.database(), end)).unwrap());
            }),
        ),
        Attempt::new(
            "the file is moved away",
            acknowledges(|room| fs::rename(room.database(), room.path("elsewhere.db")).unwrap()),
        ),
        Attempt::new(
            "a copy of the file is moved over it",
            acknowledges(|room| fs::rename(room.copy("copy.db"), room.database()).unwrap()),
        ),
        Attempt::new(
            "an empty file takes its place",
            acknowledges(|room| {
                fs::remove_file(room.database()).unwrap();
                File::create(room.database()).unwrap();
            }),
        ),
        Attempt::new(
            "its directory is moved away",
            acknowledges(|room| fs::rename(room.path("data"), room.path("old")).unwrap()),
        ),
        Attempt::new(
            "another directory takes the place of its directory",
            acknowledges(|room| {
                fs::rename(room.path("data"), room.path("old")).unwrap();
                fs::create_dir(room.path("data")).unwrap();
                fs::copy(room.path("old/history.db"), room.database()).unwrap();
            }),
        ),
        Attempt::new(
            "a link on the way leads elsewhere",
            acknowledges(|room| {
                fs::create_dir(room.path("other")).unwrap();
                fs::copy(room.database(), room.path("other/history.db")).unwrap();
                fs::remove_file(room.path("way")).unwrap();
                symlink("other", room.path("way")).unwrap();
            }),
        ),
        Attempt::new(
            "a file takes the place of its directory",
            acknowledges(|room| {
                fs::rename(room.path("data"), room.path("old")).unwrap();
                File::create(room.path("data")).unwrap();
            }),
        ),
        Attempt::new(
            "the log is removed",
            acknowledges(|room| fs::remove_file(beside(&room.database(), "-wal")).unwrap()),
        ),
        Attempt::new(
            "an empty log takes the place of the log",
            acknowledges(|room| {
                fs::remove_file(beside(&room.database(), "-wal")).unwrap();
                File::create(beside(&room.database(), "-wal")).unwrap();
            }),
        ),
        Attempt::new(
            "the index that keeps writers apart is removed",
            acknowledges(|room| fs::remove_file(beside(&room.database(), "-shm")).unwrap()),
        ),
        Attempt::new("the file is cut to nothing", acknowledges(|room| cut(&room.database(), 0))),
        Attempt::new("the file is cut to its first page", acknowledges(|room| cut(&room.database(), 16_384))),
    ]);
}

fn is_deleted(archive: &Archive, id: ConversationId) -> bool {
    archive.removal().delete(&[id], "no longer wanted").gone.len() == 1
}

/// A change that is not a turn, made after the file was removed.
fn changes(change: impl Fn(&Archive, ConversationId) -> bool) -> impl Fn(Target) -> bool {
    move |target| {
        let room = Room::new();
        if target == Target::Control {
            let connection = unguarded(&room.database());
            fs::remove_file(room.database()).unwrap();
            return connection.execute("UPDATE said SET text = 'Porto'", []).is_ok();
        }
        let archive = Archive::open(&room.url()).unwrap();
        let id = talk(&archive).id();
        fs::remove_file(room.database()).unwrap();
        change(&archive, id)
    }
}

#[test]
fn no_other_change_is_acknowledged_in_a_file_that_was_removed() {
    assert_all_fail(&[
        Attempt::new("a new title", changes(|archive, id| archive.rename(id, "Porto").is_ok())),
        Attempt::new(
            "a new conversation",
            changes(|archive, _| archive.start(Conversation::titled("Porto")).is_ok()),
        ),
        Attempt::new(
            "something remembered",
            changes(|archive, _| archive.state().remember("active", Some("yes")).is_ok()),
        ),
        Attempt::new("a deletion", changes(is_deleted)),
    ]);
}

/// Whether a first write, for which the file has to be opened once more, is acknowledged.
fn first_write(done: fn(&Room)) -> impl Fn(Target) -> bool {
    move |target| {
        let room = Room::new();
        drop(talk(&Archive::open(&room.url()).unwrap()));
        let archive = Archive::open(&room.url()).unwrap();
        assert_eq!(titles(&archive), ["Lisbon"]);
        done(&room);
        match target {
            Target::Guarded => archive.start(Conversation::titled("Porto")).is_ok(),
            // Opened by its name, another file is taken for the same.
            Target::Control => Archive::open(&room.url()).is_ok(),
        }
    }
}

#[test]
fn a_first_write_after_reading_does_not_go_to_another_file() {
    assert_all_fail(&[
        Attempt::new("a new database is made", first_write(|room| fs::remove_file(room.database()).unwrap())),
        Attempt::new(
            "a copy is written to",
            first_write(|room| {
                fs::rename(room.copy("copy.db"), room.database()).unwrap();
            }),
        ),
    ]);
}

#[test]
fn a_store_that_vanished_does_not_come_back_empty() {
    /// Whether something is at the path after a program with a long log was closed.
    fn comes_back(target: Target) -> bool {
        let room = Room::new();
        let archive = Archive::open(&room.url()).unwrap();
        let mut talk = talk(&archive);
        for _ in 0..8 {
            talk.append(long()).unwrap();
        }
        ["", "-wal", "-shm"].iter().for_each(|end| fs::remove_file(beside(&room.database(), end)).unwrap());
        if target == Target::Control {
            drop(Connection::open(room.database()).unwrap());
        }
        let _ = talk.append(long());
        drop((talk, archive));
        room.database().exists()
    }
    /// Whether a recorder that opens its store again makes one.
    fn is_reopened(target: Target) -> bool {
        let room = Room::new();
        let (url, access) = (rejoin::StoreUrl::parse(&room.url()).unwrap(), rejoin::Access::default());
        drop(talk(&Archive::open(&room.url()).unwrap()));
        fs::remove_file(room.database()).unwrap();
        let opened = match target {
            Target::Guarded => Archive::reopen_at(&url, &access),
            Target::Control => Archive::open_at(&url, &access),
        };
        opened.is_ok() || room.database().exists()
    }

    assert_all_fail(&[
        Attempt::new("closing it makes an empty one", comes_back),
        Attempt::new("opening it again makes an empty one", is_reopened),
    ]);
}

#[test]
fn a_follower_does_not_wait_for_changes_in_files_that_nobody_writes_to() {
    fn waits(done: fn(&Room)) -> impl Fn(Target) -> bool {
        move |target| {
            let room = Room::new();
            let archive = Held::open(&room.url());
            talk(&archive);
            if target == Target::Guarded {
                done(&room);
            }
            archive.store().changes(u64::from(u32::MAX), Duration::from_millis(60)).is_ok()
        }
    }

    assert_all_fail(&[
        Attempt::new("the file is removed", waits(|room| fs::remove_file(room.database()).unwrap())),
        Attempt::new(
            "a copy is moved over it",
            waits(|room| {
                fs::rename(room.copy("copy.db"), room.database()).unwrap();
            }),
        ),
    ]);
}

#[test]
fn a_vault_acknowledges_nothing_in_a_file_that_was_taken_away() {
    fn acknowledges(done: fn(&Path)) -> impl Fn(Target) -> bool {
        move |target| {
            let machine = Machine::new();
            let url = machine.vault("vault+sqlite");
            let archive = machine.open(&url);
            let mut talk = talk(&archive);
            if target == Target::Control {
                let room = Room::new();
                let connection = unguarded(&room.database());
                done(&room.database());
                return insert(&connection, "And to sleep?").is_ok();
            }
            done(&machine.path("vault"));
            talk.append(Message::user("And to sleep?")).is_ok()
        }
    }

    assert_all_fail(&[
        Attempt::new("the file of the vault is removed", acknowledges(|path| fs::remove_file(path).unwrap())),
        Attempt::new(
            "the log of the vault is removed",
            acknowledges(|path| {
                fs::remove_file(beside(path, "-wal")).unwrap();
            }),
        ),
        Attempt::new("the file of the vault is cut short", acknowledges(|path| cut(path, 16_384))),
    ]);
}

#[test]
fn a_file_that_is_put_back_takes_writes_again_and_nothing_is_missing() {
    let room = Room::new();
    let archive = Archive::open(&room.url()).unwrap();
    let talk = talk(&archive);
    let mut recorder = archive.record(talk, "1@1").reopening(|| panic!("another store would be made"));
    fs::rename(room.database(), room.path("aside.db")).unwrap();

    let missing = recorder.append(vec![Message::user("And to sleep?")]).unwrap();
    let cause =
        recorder.cause().map(|cause| (cause.kind(), Displaced::cause_of(cause).unwrap().path.clone()));
    fs::rename(room.path("aside.db"), room.database()).unwrap();
    let back = recorder.flush().unwrap();

    let id = recorder.conversation();
    let texts =
        Archive::open(&room.url()).unwrap().reader().all_messages(id, Order::NewestFirst, 0, 2).unwrap();
    let texts: Vec<String> = texts.iter().map(|stored| stored.message.text()).collect();
    assert!(matches!((missing, back), (Saved::Later, Saved::Now(_))));
    assert_eq!(cause, Some((ErrorKind::Unavailable, room.database())));
    assert_eq!(texts, ["And to sleep?", "Where to eat?"]);
}

#[test]
fn a_database_that_another_process_rewrites_to_be_shorter_goes_on() {
    let room = Room::new();
    let archive = Archive::open(&room.url()).unwrap();
    let mut talk = talk(&archive);
    let length = || room.database().metadata().unwrap().len();
    let before = length();
    let gone = say(&archive, "gone");
    archive.resume(gone).unwrap().append(long()).unwrap();
    archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
    let longest = length();
    talk.append(Message::user("so long")).unwrap();

    let second = Archive::open(&room.url()).unwrap();
    assert!(is_deleted(&second, gone));
    second.maintenance().run(Task::Repack, Duration::MAX).unwrap();
    let shortest = length();

    talk.append(Message::user("And to sleep?")).unwrap();
    assert!(longest > before && shortest < longest, "{before} {longest} {shortest}");
    assert_eq!(second.conversation(talk.id()).unwrap().messages, 4);
}

#[test]
fn what_was_taken_away_is_named() {
    let room = Room::new();
    let mut talk = talk(&Archive::open(&room.url()).unwrap());
    fs::remove_file(room.database()).unwrap();

    let error = talk.append(Message::user("And to sleep?")).unwrap_err();

    let displaced = Displaced::cause_of(&error).unwrap().to_string();
    let path = room.database();
    assert_eq!(displaced, format!("`{}` was removed, moved or replaced while it was open", path.display()));
}
