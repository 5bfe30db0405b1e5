//! Whoever can write to the disk and has no key, with real files: what was
//! flipped in a database or in a line shows.
//!
//! Every byte of all that is sealed is flipped once, in a bit that moves through all eight: each other bit of
//! the same byte takes a second more. In memory `tamper.rs` flips every bit that leaves a text a text. The
//! highest one is flipped here in 200 messages, each in another place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::backend::Backend;
use rejoin::store::{
    Change, Facets, JsonlStore, ListQuery, Opening, Order, Put, Read, Safety, Selection, Space, SqliteStore,
    Store, Task,
};
use rejoin::vault::VaultStore;
use rejoin::{Branch, Error, ErrorKind, MessageId, Result};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::write::{NOW, Said, append, conversation, messages};
use crate::vault::{Fixed, Inner, sealed};

/// Of so many messages each gets a flipped bit.
const RECORDS: usize = 200;

/// A store that takes no copies of what does not open: they would grow with every flip.
pub(crate) struct Shut(pub(crate) Arc<dyn Inner>);

impl Interpose for Shut {
    fn backend(&self) -> &dyn Backend {
        &self.0
    }

    fn writing(&self, write: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        match write {
            Write::Maintain => work(),
            _ => Err(Error::new(ErrorKind::Unavailable, "nothing is written here")),
        }
    }
}

/// A vault on a disk that can be written to without it.
trait Disk {
    fn store(&self) -> Arc<dyn Inner>;

    /// Every sealed piece as it stands there, with the name of its place.
    fn pieces(&self) -> Vec<(String, Vec<u8>)>;

    /// Puts other bytes where a piece stands.
    fn replace(&self, place: &str, piece: &[u8], bytes: &[u8]);

    /// Whether a new process notices that something is wrong.
    fn is_noticed(&self) -> bool {
        let Ok(vault) = VaultStore::open(Arc::new(Interposed(Arc::new(Shut(self.store())))), Arc::new(Fixed))
        else {
            return true;
        };
        let checked = || vault.maintain(Task::Check, Duration::MAX);
        match messages(&vault, conversation(1)).and_then(|_| checked()) {
            Ok(progress) => !progress.faults.is_empty(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
                true
            }
        }
    }

    /// Flips bits of pieces, each by itself, and answers those that nobody noticed.
    fn unnoticed(
        &self,
        flips: impl Iterator<Item = ((String, Vec<u8>), usize, u8)>,
    ) -> Vec<(String, usize, u8)> {
        let mut passed = Vec::new();
        for ((place, piece), at, bit) in flips {
            let mut flipped = piece.clone();
            flipped[at] ^= 1 << bit;
            self.replace(&place, &piece, &flipped);
            if !self.is_noticed() {
                passed.push((place.clone(), at, bit));
            }
            self.replace(&place, &flipped, &piece);
        }
        assert!(!self.is_noticed(), "what was put back is as it was");
        passed
    }
}

/// The table and the column of everything that is sealed.
const CELLS: [(&str, &str); 7] = [
    ("conversation", "header"),
    ("conversation", "first"),
    ("conversation", "last"),
    ("branch", "title"),
    ("message", "body"),
    ("message", "label"),
    ("blob", "bytes"),
];

struct Database {
    path: PathBuf,
    raw: rusqlite::Connection,
}

impl Database {
    fn new(directory: &Path) -> Self {
        let path = directory.join("store.db");
        drop(SqliteStore::open(&path).unwrap());
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.execute_batch("PRAGMA synchronous = OFF").unwrap();
        Self { path, raw }
    }
}

impl Disk for Database {
    fn store(&self) -> Arc<dyn Inner> {
        Arc::new(SqliteStore::open(&self.path).unwrap())
    }

    fn pieces(&self) -> Vec<(String, Vec<u8>)> {
        let mut pieces = Vec::new();
        for (table, column) in CELLS {
            let sql = format!("SELECT CAST({column} AS BLOB) FROM {table} WHERE {column} IS NOT NULL");
            let mut found = self.raw.prepare(&sql).unwrap();
            let found = found.query_map([], |row| row.get(0)).unwrap();
            pieces.extend(found.map(|piece| (format!("{table}.{column}"), piece.unwrap())));
        }
        pieces
    }

    fn replace(&self, place: &str, piece: &[u8], bytes: &[u8]) {
        let (table, column) = place.split_once('.').unwrap();
        let sql = format!(
            "UPDATE {table} SET {column} = iif(typeof({column}) = 'blob', ?1, CAST(?1 AS TEXT))
             WHERE CAST({column} AS BLOB) = ?2"
        );
        assert_eq!(self.raw.prepare_cached(&sql).unwrap().execute([bytes, piece]).unwrap(), 1);
    }
}

struct Files(PathBuf);

impl Files {
    /// The files of conversations and of blobs, below a directory.
    fn below(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let all = entries.flat_map(|path| if path.is_dir() { Self::below(&path) } else { vec![path] });
        all.filter(|path| {
            path.extension().is_some_and(|ending| ending == "jsonl") && !path.ends_with("changes.jsonl")
        })
        .collect()
    }
}

impl Disk for Files {
    fn store(&self) -> Arc<dyn Inner> {
        Arc::new(JsonlStore::open(&self.0).unwrap())
    }

    /// Long runs of letters of base 64, but for numbers in hexadecimal digits: hashes and names. Each
    /// is named after its file and its field.
    fn pieces(&self) -> Vec<(String, Vec<u8>)> {
        let is_sealed =
            |text: &str| text.len() > 60 && text.contains(|letter: char| letter.is_ascii_uppercase());
        let mut pieces = Vec::new();
        for path in Self::below(&self.0) {
            let text = fs::read_to_string(&path).unwrap();
            let quoted: Vec<&str> = text.split('"').collect();
            for around in quoted.windows(3).filter(|around| is_sealed(around[2])) {
                let place = format!("{}:{}", path.display(), around[0]);
                pieces.push((place, around[2].as_bytes().to_vec()));
            }
        }
        pieces
    }

    /// By another file in the place of the one there is: a file that is changed twice
    /// within a tick of the clock looks the same.
    fn replace(&self, place: &str, piece: &[u8], bytes: &[u8]) {
        let path = Path::new(place.rsplit_once(':').unwrap().0);
        let mut content = fs::read(path).unwrap();
        let at = content.windows(piece.len()).position(|window| window == piece).unwrap();
        content[at..at + piece.len()].copy_from_slice(bytes);
        let other = self.0.with_extension("other");
        fs::write(&other, content).unwrap();
        fs::rename(other, path).unwrap();
    }
}

/// Fills a vault with one of all that is sealed, each written once: what was
/// replaced later would not be read.
fn fill(disk: &impl Disk) {
    let vault = sealed(disk.store());
    let id = conversation(1);
    let opening = Opening { facets: &Facets::default(), header: "{}", created: NOW };
    let said = append(&vault, id, Some(opening), &roots(2), Some("kept")).unwrap();
    let branch = Branch { id: "q".parse().unwrap(), title: "here".to_owned(), head: said[0].id };
    vault.amend(id, None, &Change::Branch(&branch), NOW).unwrap();
    let put = |owner, name: &'static [u8]| Put { space: Space::Source, owner, name, bytes: Some(b"bytes") };
    vault
        .put(&[put(Some(id), b"of the conversation"), put(None, b"of none of them")], Safety::Synced)
        .unwrap();
    // A file that is written anew has the last of the tips alone.
    vault.maintain(Task::Repack, Duration::MAX).unwrap();
}

/// Messages without parents, so that none is missed by another.
fn roots(count: usize) -> Vec<(MessageId, Option<Said>, String)> {
    (0..count).map(|number| (format!("m{number}").parse().unwrap(), None, "x".repeat(number % 50))).collect()
}

/// Flips a bit of every byte that is sealed.
fn every_byte(disk: &impl Disk, pieces: usize) {
    fill(disk);
    let found = disk.pieces();
    assert_eq!(found.len(), pieces, "{found:?}");

    let flips = found.into_iter().flat_map(|piece| {
        (0..piece.1.len()).map(move |at| (piece.clone(), at, u8::try_from(at % 8).unwrap()))
    });

    assert_eq!(disk.unnoticed(flips), []);
}

#[test]
fn every_byte_of_a_database_that_was_flipped_shows() {
    let directory = tempfile::tempdir().unwrap();

    // A header, two previews, a branch, two messages, a label; two keys, a name and two blobs.
    every_byte(&Database::new(directory.path()), 12);
}

#[test]
fn every_byte_of_files_that_was_flipped_shows() {
    let directory = tempfile::tempdir().unwrap();

    every_byte(&Files(directory.path().join("files")), 12);
}

/// Flips the highest bit of one letter of each of many messages: what is left is no text.
fn highest_bits(disk: &impl Disk, field: &str) {
    let vault = sealed(disk.store());
    let opening = Opening { facets: &Facets::default(), header: "{}", created: NOW };
    append(&vault, conversation(1), Some(opening), &roots(RECORDS), None).unwrap();
    drop(vault);
    let mut found = disk.pieces();
    found.retain(|(place, _)| place.ends_with(field));
    assert_eq!(found.len(), RECORDS);

    let flips = found.into_iter().enumerate().map(|(number, piece)| {
        let at = number * 7 % piece.1.len();
        (piece, at, 7)
    });

    assert_eq!(disk.unnoticed(flips), []);
}

#[test]
fn the_highest_bit_of_200_messages_of_a_database_shows() {
    let directory = tempfile::tempdir().unwrap();

    highest_bits(&Database::new(directory.path()), "message.body");
}

#[test]
fn the_highest_bit_of_200_messages_in_files_shows() {
    let directory = tempfile::tempdir().unwrap();

    highest_bits(&Files(directory.path().join("files")), ":message");
}

#[test]
fn what_stands_beside_bytes_that_are_no_text_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Database::new(directory.path());
    let vault = sealed(disk.store());
    for number in [1, 2] {
        let opening = Opening { facets: &Facets::default(), header: "{}", created: NOW };
        append(&vault, conversation(number), Some(opening), &roots(3), None).unwrap();
    }
    drop(vault);
    // The second header, and the second message of the first conversation.
    for (field, place) in [("conversation.header", 1), ("message.body", 1)] {
        let mut found = disk.pieces();
        found.retain(|(place, _)| place == field);
        let (name, piece) = found.swap_remove(place);
        let mut flipped = piece.clone();
        flipped[7] ^= 0x80;
        disk.replace(&name, &piece, &flipped);
    }

    let vault = sealed(disk.store());
    let listed = vault.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap();
    let mut shown = Vec::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = vault.read(conversation(1), everything, &mut |seen| {
        shown.push(seen.id.to_string());
        Ok(())
    });

    // The one whose header does not open is listed by the name that it has inside.
    let is_listed = listed.items.iter().any(|row| row.id == conversation(1));
    assert_eq!((is_listed, listed.items.len()), (true, 2));
    assert_eq!(
        (shown, read.unwrap_err().kind()),
        (vec!["m0".to_owned(), "m2".to_owned()], ErrorKind::Corrupt)
    );
}
