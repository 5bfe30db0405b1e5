//! A real disk without room: what is refused waits, and is stored once there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rejoin::service::{ConversationRecordInput, ConversationStorageService};
use rejoin::store::SqliteStore;
use rejoin::{Archive, ErrorKind, PurgeReason, Result, Strain};

use super::{frame, id_of, input, said};
use crate::skip::skip;
use crate::vault::sealed;

/// A small file system in memory, mounted for one test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it over a directory; without the right to, the test is skipped.
    fn mount(over: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs"])
            .arg(over)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(over.to_owned()));
        }
        skip("mounting a small file system takes root");
        None
    }

    /// Takes up all room that is left.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("ballast");
        let _ = fs::write(&path, vec![b'x'; 8 << 20]);
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn open(path: &Path) -> Result<Archive> {
    Ok(Archive::with_vault(Arc::new(sealed(Arc::new(SqliteStore::open(path)?)))))
}

#[test]
fn what_a_full_disk_refused_is_stored_when_a_purge_finds_room() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path()) else { return };
    let path = directory.path().join("store.db");
    let again = path.clone();
    let service = ConversationStorageService::new(open(&path).unwrap()).reopening(move || open(&again));
    service.create_record(&input(1, "old")).unwrap();
    let long = ConversationRecordInput {
        messages: vec![frame(1, &"many words ".repeat(50_000))],
        ..input(2, "new")
    };
    let ballast = disk.fill();

    let refused = service.create_record(&long).unwrap_err();
    let told = service.take_strains();
    fs::remove_file(ballast).unwrap();
    service.delete_record(&id_of(1), PurgeReason::UserRequested).unwrap();

    assert_eq!((refused.kind(), told), (ErrorKind::Unavailable, vec![Strain::Exhausted]), "{refused:?}");
    assert_eq!((service.waiting_writes(), said(&service, 2)[0].len()), (0, 550_000));
    assert!(service.archive().unwrap().maintenance().verify(id_of(2).parse().unwrap()).unwrap().is_sound());
}
