//! A database that was cut off while it was written: SQLite recovers it from its log, and Rejoin lets it.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::store::SqliteStore;
use rejoin::{Archive, Conversation, ErrorKind, Message};
use rusqlite::Connection;
use tempfile::TempDir;

/// The bytes of a page.
const PAGE: usize = 16_384;

/// A database with its log, as a crash left them: every page is in the log too.
pub(crate) struct Crashed {
    _directory: TempDir,
    pub(crate) path: PathBuf,
}

impl Crashed {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (path, open) = (directory.path().join("store.db"), directory.path().join("open.db"));
        let archive = Archive::open(&format!("sqlite:{}", open.display())).unwrap();
        let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
        trip.append(Message::user("Where to eat?")).unwrap();
        let connection = Connection::open(&open).unwrap();
        // The log starts from its beginning, and then gets all pages.
        connection
            .execute_batch(
                "PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA user_version = 4",
            )
            .unwrap();
        for end in ["", "-wal"] {
            fs::copy(beside(&open, end), beside(&path, end)).unwrap();
        }
        Self { _directory: directory, path }
    }

    pub(crate) fn log(&self) -> PathBuf {
        beside(&self.path, "-wal")
    }

    /// What is said in it.
    pub(crate) fn said(&self) -> rejoin::Result<Vec<String>> {
        let archive = Archive::open(&format!("sqlite:{}", self.path.display()))?;
        let listed = archive.list(&Default::default())?.items;
        let Some(first) = listed.first() else { return Ok(Vec::new()) };
        Ok(archive.path(first.id, None)?.iter().map(|stored| stored.message.text()).collect())
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

#[test]
fn a_first_page_that_only_the_log_holds_is_read_from_there() {
    let crashed = Crashed::new();
    let mut main = fs::read(&crashed.path).unwrap();
    main[..PAGE].fill(0);
    fs::write(&crashed.path, main).unwrap();

    assert_eq!(crashed.said().unwrap(), ["Where to eat?"]);
}

#[test]
fn a_first_page_that_is_torn_is_read_from_the_log() {
    let crashed = Crashed::new();
    let mut main = fs::read(&crashed.path).unwrap();
    main[..512].fill(0xA5);
    fs::write(&crashed.path, main).unwrap();

    assert_eq!(crashed.said().unwrap(), ["Where to eat?"]);
}

#[test]
fn a_main_file_that_lost_its_bytes_does_not_cost_the_log() {
    let crashed = Crashed::new();
    fs::write(&crashed.path, "").unwrap();

    assert_eq!(crashed.said().unwrap(), ["Where to eat?"]);
}

#[test]
fn a_copy_whose_first_page_only_its_log_holds_is_restored() {
    let crashed = Crashed::new();
    let mut main = fs::read(&crashed.path).unwrap();
    main[..PAGE].fill(0);
    fs::write(&crashed.path, main).unwrap();
    let to = crashed.path.with_file_name("restored.db");

    SqliteStore::restore(&crashed.path, &to, std::time::Duration::ZERO, &mut |_| Ok(()), &mut |_, _| ())
        .unwrap();

    let archive = Archive::open(&format!("sqlite:{}", to.display())).unwrap();
    assert_eq!(archive.list(&Default::default()).unwrap().items.len(), 1);
}

#[test]
fn an_empty_file_with_a_log_that_does_not_hold_it_is_refused_and_left_alone() {
    let crashed = Crashed::new();
    let mut log = fs::read(crashed.log()).unwrap();
    log[40] ^= 1;
    fs::write(&crashed.path, "").unwrap();
    fs::write(crashed.log(), &log).unwrap();

    let refused = crashed.said().unwrap_err();

    let left = (fs::read(&crashed.path).unwrap().len(), fs::read(crashed.log()).unwrap() == log);
    assert_eq!((refused.kind(), left), (ErrorKind::Corrupt, (0, true)));
}

#[test]
fn a_first_transaction_that_was_cut_off_leaves_a_store_that_can_be_made() {
    let crashed = Crashed::new();
    // The journal of a file that was empty: the first page was being written when the power went.
    let mut journal = vec![0; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[20..24].copy_from_slice(&512_u32.to_be_bytes());
    journal[24..28].copy_from_slice(&(PAGE as u32).to_be_bytes());
    fs::remove_file(crashed.log()).unwrap();
    fs::write(&crashed.path, vec![0; PAGE]).unwrap();
    fs::write(beside(&crashed.path, "-journal"), journal).unwrap();

    assert_eq!(crashed.said().unwrap(), Vec::<String>::new());
}
