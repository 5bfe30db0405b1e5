//! Every byte of what a vault stores for itself beside conversations: keys, names, how far it is sealed anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rejoin::store::{SqliteStore, Store, Task};
use rejoin::vault::{Keys, VaultStore};
use rejoin::{Archive, Message, StoreUrl};
use rusqlite::Connection;

use crate::doubles::Interposed;
use crate::vault::on_disk::Shut;
use crate::vault_keys::{Machine, say};
use crate::vault_reseal::{Mortal, inner};
use crate::vault_spaces::SEGMENTS;

/// A blob as it stands in the database.
struct RawBlob {
    space: i64,
    owner: Vec<u8>,
    name: Vec<u8>,
    bytes: Vec<u8>,
}

impl RawBlob {
    fn shown(&self) -> String {
        let is_hashed = self.name.len() == 32;
        let name = if is_hashed { "hashed".into() } else { String::from_utf8_lossy(&self.name) };
        format!("{} {name}", self.space)
    }

    /// A segment of the search index that does not open counts as absent, and what it covers is read.
    fn counts_as_absent(&self) -> bool {
        self.space == SEGMENTS.number() && self.name != b"words"
    }
}

fn blobs(raw: &Connection) -> Vec<RawBlob> {
    let mut all = raw.prepare("SELECT space, owner, name, bytes FROM blob ORDER BY 1, 2, 3").unwrap();
    let rows = all.query_map([], |row| {
        Ok(RawBlob { space: row.get(0)?, owner: row.get(1)?, name: row.get(2)?, bytes: row.get(3)? })
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Two conversations with all that a vault stores beside them, while it is being sealed anew.
fn filled() -> (Machine, StoreUrl) {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    let id = say(&archive, "Lisbon");
    say(&archive, "Porto");
    archive.state().remember("line", Some("of the prompt")).unwrap();
    let run_index = |archive: &Archive| {
        while archive.maintenance().run(Task::Index, Duration::MAX).unwrap() > 0 {}
    };
    run_index(&archive);
    // So many writes that one conversation is done, and another one is not.
    let mortal = Mortal { store: inner(&url), left: AtomicU64::new(8), is_last_done: true };
    let keys = Keys::of(Arc::new(Interposed(Arc::new(mortal))), machine.access().keys.unwrap());
    keys.reencrypt(&mut |_, _| ()).unwrap_err();
    archive.resume(id).unwrap().append(Message::user("Where to eat?")).unwrap();
    run_index(&archive);
    (machine, url)
}

/// Ways to change a blob: a bit of every byte, a byte less, a byte more, and nothing left.
fn changes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let flipped = (0..bytes.len()).map(|at| {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        flipped
    });
    let cut = bytes[..bytes.len() - 1].to_vec();
    flipped.chain([cut, [bytes, &[0]].concat(), Vec::new()]).collect()
}

#[test]
fn every_byte_of_every_blob_that_was_changed_is_named() {
    let (machine, url) = filled();
    let path = url.path().unwrap();
    let raw = Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let holder = Arc::new(machine.access().keys.unwrap());
    let is_noticed = || {
        let shut = Shut(Arc::new(SqliteStore::open(path).unwrap()));
        let vault = VaultStore::open(Arc::new(Interposed(Arc::new(shut))), holder.clone());
        let checked = vault.and_then(|vault| vault.maintain(Task::Check, Duration::MAX));
        checked.map_or(true, |progress| !progress.faults.is_empty())
    };
    assert!(!is_noticed());

    let (mut unnamed, mut looked) = (Vec::new(), BTreeSet::new());
    let mut change =
        raw.prepare("UPDATE blob SET bytes = ?1 WHERE space = ?2 AND owner = ?3 AND name = ?4").unwrap();
    for blob in blobs(&raw).iter().filter(|blob| !blob.counts_as_absent()) {
        let mut put = |bytes: &[u8]| {
            assert_eq!(change.execute((bytes, blob.space, &blob.owner, &blob.name)).unwrap(), 1);
        };
        looked.insert(blob.shown());
        for changed in changes(&blob.bytes) {
            put(&changed);
            if !is_noticed() {
                let at = changed.iter().zip(&blob.bytes).position(|(one, other)| one != other);
                unnamed.push(format!("{}: {} bytes, changed at {at:?}", blob.shown(), changed.len()));
            }
        }
        put(&blob.bytes);
    }

    assert_eq!(unnamed, [""; 0]);
    assert!(!is_noticed());
    let expected = ["1 hashed", "6 anew", "6 data", "6 name", "6 run", "6 vault", "7 words"];
    assert_eq!(looked, expected.map(str::to_owned).into());
}
