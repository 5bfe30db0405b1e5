//! A full disk with blocks of 1 KiB, a real ext4: nothing is ended by a signal,
//! reads go on, and a purge makes room.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rejoin::{Archive, Conversation, Message};

use crate::skip::{skip, tell};
use crate::world::World;

/// An ext4 with small blocks in a file, mounted for one test.
#[derive(Debug)]
pub(crate) struct SmallBlocks {
    place: PathBuf,
    image: PathBuf,
}

impl SmallBlocks {
    /// Mounts it over a world's home; without the right to, or without `mkfs.ext4`, the test is skipped.
    pub(crate) fn mount(world: &World, megabytes: u64) -> Option<Self> {
        let (place, image) = (world.path("home"), world.path("image"));
        File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        let made = quietly(Command::new("mkfs.ext4").args(["-q", "-F", "-b", "1024", "-m", "0"]).arg(&image));
        if !made || !quietly(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&place)) {
            skip("a small ext4 takes root and mkfs.ext4");
            return None;
        }
        fs::remove_dir(place.join("lost+found")).unwrap();
        Some(Self { place, image })
    }

    /// True when such a disk can be had here; without it a test is skipped.
    pub(crate) fn can_be_mounted() -> bool {
        Self::mount(&World::new(), 4).is_some()
    }

    /// Fills it until this many bytes are left.
    pub(crate) fn fill_but(&self, left: u64) {
        let free = || {
            let space = rustix::fs::statvfs(&self.place).unwrap();
            space.f_bavail * space.f_frsize
        };
        let mut ballast = File::create(self.place.join("ballast")).unwrap();
        while free() > left && ballast.write_all(&[b'x'; 1024]).is_ok() {
            // What is written is counted when it is allocated.
            if free() < left + (64 << 10) {
                ballast.sync_all().unwrap();
            }
        }
        ballast.sync_all().unwrap();
    }
}

impl Drop for SmallBlocks {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
        let _ = fs::remove_file(&self.image);
    }
}

fn quietly(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The kinds of store, each with what its world is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Files,
    Vault,
    VaultOfFiles,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Sqlite, Self::Files, Self::Vault, Self::VaultOfFiles];

    /// A world with this kind of store on a disk of its own, with a conversation to purge and one to keep.
    pub(crate) fn world(self) -> Option<(World, SmallBlocks)> {
        let world = World::new();
        let disk = SmallBlocks::mount(&world, 14)?;
        if matches!(self, Self::Files | Self::VaultOfFiles) {
            world.user_config(&format!("store = \"jsonl:{}\"\n", world.path("home/files").display()));
        }
        if matches!(self, Self::Vault | Self::VaultOfFiles) {
            let made = world.rejoin(["vault", "init", "--slot", "file"]).run();
            assert_eq!(made.code, 0, "{}", made.stderr);
        }
        let texts = ["word ".repeat(20_000), "sentence ".repeat(15_000)];
        for (title, texts) in [("Old", &texts[..]), ("Kept", &["hello there".to_owned()][..])] {
            world.rejoin(["new", "--title", title]).run();
            let name = title.to_lowercase();
            let lines = texts.iter().map(|text| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n"));
            let appended =
                world.rejoin(["append", &name, "--jsonl", "-"]).input(lines.collect::<String>()).run();
            assert_eq!(appended.code, 0, "{}", appended.stderr);
        }
        Some((world, disk))
    }
}

impl World {
    fn forget_index(&self) {
        let _ = fs::remove_file(self.path("home/.local/share/rejoin/rejoin.db-shm"));
    }
}

/// How a command ended, by its signal if one ended it.
fn ended(world: &World, arguments: &[&str]) -> (Option<i32>, Option<i32>, String) {
    let output = world.program(arguments).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.status.signal(), told)
}

/// Appends to a full disk. The log may have some room left that was allocated before.
fn append_until_refused(world: &World) -> (Option<i32>, Option<i32>, String) {
    let outcomes = (0..20).map(|_| ended(world, &["append", "kept", &"more ".repeat(20_000)]));
    let refused = outcomes.into_iter().find(|(code, ..)| *code != Some(0)).unwrap();
    assert_eq!((refused.0, refused.1), (Some(1), None), "{refused:?}");
    refused
}

#[test]
fn on_a_nearly_full_disk_no_command_is_ended_by_a_signal() {
    let mut told = Vec::new();
    for left in [0, 4, 8, 12, 16, 24, 31, 40, 64].map(|kib| kib << 10) {
        let Some((world, disk)) = Kind::Sqlite.world() else { return };
        world.forget_index();
        disk.fill_but(left);
        for command in [&["list"][..], &["show", "kept"], &["search", "hello"], &["verify"], &["new"]] {
            let (code, signal, stderr) = ended(&world, command);
            let is_read = command != ["new"];
            if signal.is_some()
                || is_read && code != Some(0)
                || code != Some(0) && !stderr.contains("the disk is full")
            {
                told.push(format!("{left} bytes left: {command:?} {code:?} {signal:?} {stderr}"));
            }
        }
    }

    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn a_full_disk_can_be_read_and_purged_whatever_the_store() {
    for kind in Kind::ALL {
        let Some((world, disk)) = kind.world() else { return };
        world.forget_index();
        disk.fill_but(0);

        let read = [&["list"][..], &["show", "kept"], &["verify"]].map(|command| ended(&world, command));
        let refused = append_until_refused(&world);
        let purged = ended(&world, &["purge", "old", "--yes"]);
        let listed = world.rejoin(["list", "--json"]).run().json();
        let appended = ended(&world, &["append", "kept", "more"]);

        assert!(read.iter().all(|(code, ..)| *code == Some(0)), "{kind:?} {read:?}");
        assert!(refused.2.contains("hint: ") && refused.2.contains("`rejoin purge`"), "{kind:?} {refused:?}");
        assert_eq!(
            (purged.0, listed["items"].as_array().unwrap().len()),
            (Some(0), 1),
            "{kind:?} {purged:?}"
        );
        assert_eq!(appended.0, Some(0), "{kind:?} {appended:?}");
    }
}

/// Appends to two conversations by turns until a disk is full; how many messages were acknowledged.
fn fill_by_talking(url: &str) -> usize {
    let archive = Archive::open(url).unwrap();
    let mut talks = ["Old", "Kept"].map(|title| archive.start(Conversation::titled(title)).unwrap());
    let mut count = 0;
    while talks[count % 2].append(Message::user("word ".repeat(4_000))).is_ok() {
        count += 1;
    }
    count
}

#[test]
fn a_disk_that_the_store_filled_takes_more_after_a_purge() {
    for kind in [Kind::Sqlite, Kind::Files] {
        let Some((world, _disk)) = kind.world() else { return };
        let url = match kind {
            Kind::Files => format!("jsonl:{}", world.path("home/files").display()),
            _ => format!("sqlite:{}", world.store().display()),
        };
        let count = fill_by_talking(&url);
        tell(&format!("{kind:?}: a disk was full after {count} messages"));
        world.forget_index();
        let ids: Vec<String> = (Archive::open(&url).unwrap().list(&Default::default()).unwrap().items.iter())
            .filter(|stored| stored.messages > 10 && stored.conversation.title.as_deref() == Some("Old"))
            .map(|stored| stored.id.to_string())
            .collect();

        let purged = ended(&world, &["purge", &ids[0], "--yes"]);
        let again = fill_by_talking(&url);

        assert_eq!(purged.0, Some(0), "{kind:?} {purged:?}");
        assert!(again * 3 > count, "{kind:?} {again} of {count}");
        let archive = Archive::open(&url).unwrap();
        let faults: Vec<String> = archive
            .maintenance()
            .survey()
            .unwrap()
            .conversations
            .iter()
            .flat_map(|id| archive.maintenance().verify(*id).unwrap().faults)
            .collect();
        assert_eq!(faults, Vec::<String>::new(), "{kind:?}");
    }
}

#[test]
fn the_reserve_is_kept_while_there_is_room_and_given_up_by_a_purge_only() {
    let Some((world, disk)) = Kind::Sqlite.world() else { return };
    let reserve = world.path("home/.local/share/rejoin/rejoin.db-reserve");
    let is_kept = |path: &Path| path.metadata().is_ok_and(|there| there.len() == 1 << 20);

    let with_room = is_kept(&reserve);
    disk.fill_but(0);
    ended(&world, &["list"]);
    append_until_refused(&world);
    let when_full = is_kept(&reserve);
    ended(&world, &["purge", "old", "--yes"]);
    let after_purge = reserve.exists();
    fs::remove_file(world.path("home/ballast")).unwrap();
    ended(&world, &["append", "kept", "more"]);

    assert_eq!((with_room, when_full, after_purge, is_kept(&reserve)), (true, true, false, true));
}
