//! A disk without room: told with its place and what to do, nothing lost, and
//! all well once there is room again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rejoin::{Archive, Conversation, ConversationId, List, Message, Recorder, Saved, StoreUrl, Strain};

use crate::feed::{Ended, Feed};
use crate::ledger::{Ledger, line};
use crate::skip::{skip, tell};
use crate::world::{Outcome, World};

/// A small file system in memory, mounted for one test.
#[derive(Debug)]
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it over a directory; without the right to, the test is skipped.
    fn mount(over: &Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(over)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(over.to_owned()));
        }
        skip("mounting a small file system takes root");
        None
    }

    /// Takes up room with something else, all that there is if it is less.
    fn fill(&self, bytes: usize) -> PathBuf {
        let path = self.0.join("ballast");
        let _ = fs::write(&path, vec![b'x'; bytes]);
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn append(world: &World, turns: std::ops::Range<usize>) -> Ended {
    Feed::start(world.program(&["append", "--jsonl", "-"]), turns.map(line)).end()
}

/// How many messages the one conversation has, and what is wrong with it.
fn counted(world: &World) -> (u64, Vec<String>) {
    let archive = world.archive();
    let ids: Vec<ConversationId> =
        archive.list(&List::default()).unwrap().items.iter().map(|stored| stored.id).collect();
    let verdict = archive.maintenance().verify(ids[0]).unwrap();
    (verdict.messages, verdict.faults)
}

#[test]
fn a_megabyte_is_enough_to_begin_with() {
    let world = World::new();
    let Some(_disk) = SmallDisk::mount(&world.path("home"), "1m") else { return };

    let told: Vec<Outcome> =
        (0..40).map(|number| world.rejoin(["append", "--", &format!("message {number}")]).run()).collect();

    assert_eq!(told.iter().find(|outcome| outcome.code != 0), None);
    assert_eq!(counted(&world), (40, Vec::new()));
}

#[test]
fn a_disk_that_fills_loses_nothing_and_works_again_with_room() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.path("home"), "6m") else { return };
    let mut ledger = Ledger::default();
    let ballast = disk.fill(2 << 20);

    let stopped = append(&world, 0..10_000);
    let audit = ledger.audit(&world.archive(), &stopped.receipts);
    fs::remove_file(ballast).unwrap();
    let resumed = append(&world, ledger.turns..ledger.turns + 5);
    let audit_after = ledger.audit(&world.archive(), &resumed.receipts);

    let place = world.path("home/.local/share/rejoin/rejoin.db");
    let expected = format!(
        "error: could not append line {} of the input: could not write to the database `{}`: could not append a turn: the disk is full\n\
         hint: free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe\n",
        stopped.receipts.len() + 1,
        place.display()
    );
    tell(&format!("a disk filled after {} receipts", stopped.receipts.len()));
    assert!(stopped.stderr.ends_with(&expected), "{}", stopped.stderr);
    assert_eq!((stopped.code, audit), (Some(1), Ok(())));
    assert_eq!((resumed.receipts.len(), resumed.code, audit_after), (5, Some(0), Ok(())));
    assert_eq!(ledger.close(&world.archive()), Ok(()));
}

#[test]
fn what_is_stored_can_be_read_on_a_full_disk() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.path("home"), "6m") else { return };
    let id = world.rejoin(["append", "hello there"]).run().stdout.trim().to_owned();
    disk.fill(6 << 20);

    let outcomes = [world.rejoin(["list", "--json"]).run(), world.rejoin(["show", "--json"]).run()];

    assert_eq!(outcomes.each_ref().map(|outcome| (outcome.code, outcome.stderr.as_str())), [(0, ""); 2]);
    assert!(outcomes[1].stdout.contains(&id), "{}", outcomes[1].stdout);
}

#[test]
fn a_store_that_does_not_fit_is_told_with_its_place() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.path("home"), "1m") else { return };
    let ballast = disk.fill(900 << 10);

    let refused = world.rejoin(["append", "hello there"]).run();
    fs::remove_file(ballast).unwrap();
    let after = world.rejoin(["append", "hello there"]).run();

    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("`[world]/home/.local/share/rejoin/rejoin.db`"), "{}", refused.stderr);
    assert!(
        refused.stderr.ends_with("hint: free some space and try again; `rejoin purge` works on a full disk; stored conversations are safe\n")
    );
    assert_eq!((after.code, counted(&world)), (0, (1, Vec::new())));
}

/// A talk that is recorded on a small disk until there is no room for the next message.
fn record_until_full(url: &str) -> (Archive, Recorder, ConversationId, usize) {
    let archive = Archive::open(url).unwrap();
    let mut old = archive.start(Conversation::titled("Old")).unwrap();
    old.append(Message::user("x".repeat(1 << 20))).unwrap();
    let talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    let (place, again) = (StoreUrl::parse(url).unwrap(), url.to_owned());
    let mut recorder = archive
        .record(talk, "1@1")
        .reopening(move || Archive::open(&again))
        .watching_room(move || place.free_bytes());
    let mut count = 1;
    while let Saved::Now(_) = recorder.append(vec![Message::user("word ".repeat(4_000))]).unwrap() {
        count += 1;
    }
    (archive, recorder, old.id(), count)
}

/// Tries as a program does: when the pause is over.
fn until_saved(recorder: &mut Recorder) {
    while let Saved::Later = recorder.retry().unwrap() {
        std::thread::sleep(recorder.pause());
    }
}

#[test]
fn what_waits_for_room_is_saved_once_a_purge_made_some() {
    let world = World::new();
    let Some(_disk) = SmallDisk::mount(&world.path("home"), "6m") else { return };
    let url = format!("jsonl:{}", world.path("home/files").display());
    let (archive, mut recorder, old, count) = record_until_full(&url);

    let strains: Vec<&str> = recorder.take_strains().iter().map(Strain::name).collect();
    let failed = archive.removal().delete(&[old], "user-requested").failed;
    until_saved(&mut recorder);

    assert_eq!(strains, ["storage.capacity.low", "storage.capacity.exhausted"]);
    let verdict = archive.maintenance().verify(recorder.conversation()).unwrap();
    assert_eq!((failed, verdict.messages, verdict.faults), (vec![], count as u64, vec![]));
}

#[test]
fn what_waits_for_room_is_saved_once_something_else_made_some() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(&world.path("home"), "12m") else { return };
    let url = format!("sqlite:{}", world.path("home/rejoin.db").display());
    let ballast = disk.fill(4 << 20);
    let (archive, mut recorder, _, count) = record_until_full(&url);
    drop(archive);

    let strains: Vec<&str> = recorder.take_strains().iter().map(Strain::name).collect();
    fs::remove_file(ballast).unwrap();
    until_saved(&mut recorder);

    assert_eq!(strains, ["storage.capacity.low", "storage.capacity.exhausted"]);
    let verdict = recorder.handle().archive().maintenance().verify(recorder.conversation()).unwrap();
    assert_eq!((verdict.messages, verdict.faults), (count as u64, vec![]));
}
