//! What is gone stays gone: on the raw disk, and in a copy of it from before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rejoin::store::{BlobNames, JsonlStore, ListQuery, Read, Space, SqliteStore};
use serde_json::Value;

use crate::import::{SESSION, session};
use crate::keyring;
use crate::resume_killed::{End, PATIENCE, Server};
use crate::skip::{skip, tell};
use crate::world::World;

/// Words that stand nowhere else, each said in another way.
const SENTINELS: [&str; 14] = [
    "quetzaltitle",
    "quetzalrenamed",
    "quetzalsaid",
    "quetzalpiped",
    "quetzallabel",
    "quetzalbranch",
    "quetzalimported",
    "quetzalappended",
    "quetzalasked",
    "quetzalattached",
    "quetzalunanswered",
    "quetzalunfinished",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    SCRUBBED,
];

/// What is stored as it is, and taken out afterwards.
const SCRUBBED: &str = "ghp_61D8f53A303d7023F8821d949458Bf289C5b";

/// A real file system in a file, mounted over a directory.
struct Disk {
    image: PathBuf,
    over: PathBuf,
}

impl Disk {
    /// Makes one, if the system lets this user.
    fn mount(image: PathBuf, over: PathBuf) -> Option<Self> {
        fs::File::create(&image).unwrap().set_len(48 << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        if !made.is_ok_and(|status| status.success()) {
            skip("`mkfs.ext4` is not there, so no raw disk is looked at");
            return None;
        }
        let disk = Self { image, over };
        disk.attach().then_some(disk).or_else(|| {
            skip("mounting a file system takes root and loop devices, so no raw disk is looked at");
            None
        })
    }

    fn attach(&self) -> bool {
        let mounted = Command::new("mount").args(["-o", "loop"]).args([&self.image, &self.over]).status();
        mounted.is_ok_and(|status| status.success())
    }

    /// Everything is on the disk afterwards.
    fn detach(&self) {
        let status = Command::new("umount").arg(&self.over).status().unwrap();
        assert!(status.success());
    }

    /// Those of some texts that stand anywhere in the raw image, whatever their case.
    fn holding<'t>(&self, texts: &[&'t str]) -> Vec<&'t str> {
        let bytes = fs::read(&self.image).unwrap().to_ascii_lowercase();
        let is_there = |text: &&str| {
            let text = text.to_ascii_lowercase();
            memchr::memmem::find(&bytes, text.as_bytes()).is_some()
        };
        texts.iter().copied().filter(is_there).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.over).stderr(Stdio::null()).status();
    }
}

fn done(world: &World, arguments: &[&str]) -> String {
    let temporary = world.path("home/tmp");
    fs::create_dir_all(&temporary).unwrap();
    let output = world.program(arguments).env("TMPDIR", temporary).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Uses a vault in every usual way, and answers the conversations.
fn use_vault(world: &World) -> Vec<String> {
    done(world, &["vault", "init", "--slot", "file"]);
    done(world, &["quetzalsaid, where to eat?"]);
    let piped = world
        .rejoin(["-r", "--quiet"])
        .input("quetzalpiped ghp_16C7e42F292c6912E7710c838347Ae178B4a\n")
        .run();
    assert_eq!(piped.code, 0, "{piped:?}");
    done(world, &["new", "--title", "quetzaltitle"]);
    let receipt: Value =
        serde_json::from_str(&done(world, &["append", "quetzalappended and more", "--json"])).unwrap();
    let message = receipt["messages"][0].as_str().unwrap();
    done(world, &["label", message, "quetzallabel"]);
    done(world, &["fork", message, "--title", "quetzalbranch"]);
    done(world, &["rename", "quetzaltitle", "quetzalrenamed"]);
    // A secret that was stored, and is taken out later.
    done(world, &["config", "set", "redact.enabled", "false"]);
    done(world, &["append", &format!("the key {SCRUBBED}")]);
    done(world, &["config", "set", "redact.enabled", "true"]);
    world.write(&format!("sessions/{SESSION}.jsonl"), &session(world).replace("tasca", "quetzalimported"));
    done(world, &["import", "../sessions"]);
    let found: Value = serde_json::from_str(&done(world, &["search", "quetzalimported", "--json"])).unwrap();
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    done(world, &["search", "quetzalasked"]);
    assert!(done(world, &["scrub", "--all", "--yes"]).contains("github"));
    attach(world);
    leave_unfinished(world);
    done(world, &["vault", "rotate"]);
    done(world, &["vault", "rotate", "--reencrypt"]);
    let listed: Value = serde_json::from_str(&done(world, &["list", "--all-projects", "--json"])).unwrap();
    listed["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Appends an image that is large enough to be kept as an attachment.
fn attach(world: &World) {
    // In base64, three bytes are four characters: so this is the word, over and over.
    let data = "cXVldHphbGF0dGFjaGVk".repeat(20_000);
    let line = serde_json::json!({"role": "user", "content": [{"type": "image", "mime_type": "image/png", "data": data}]});
    let temporary = world.path("home/tmp").display().to_string();
    let appended = world
        .rejoin(["append", "--jsonl", "-"])
        .variable("TMPDIR", &temporary)
        .input(format!("{line}\n"))
        .run();
    assert_eq!(appended.code, 0, "{appended:?}");
    assert!(has(world, Space::Attachment), "nothing was kept as an attachment");
}

/// Leaves a turn open: the program is killed while a reply arrives, after its beginning was saved.
fn leave_unfinished(world: &World) {
    let server = Server::start(vec![("quetzalunfinished", End::Hangs)]);
    let config = world.read("home/.config/rejoin/config.toml");
    world.user_config(&format!("{config}\n{}", server.provider()));
    let mut child = world
        .program(&["--no-tools", "-q", "--provider", "local", "quetzalunanswered"])
        .env("LOCAL_KEY", "not-a-secret")
        .env("TMPDIR", world.path("home/tmp"))
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let began = Instant::now();
    while !has(world, Space::OpenTurn) {
        assert!(began.elapsed() < PATIENCE, "no open turn was saved");
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// True when a conversation in the vault owns something in a space.
fn has(world: &World, space: Space) -> bool {
    let inner: Box<dyn Read> = if world.is_of_files() {
        Box::new(JsonlStore::open(world.store()).unwrap())
    } else {
        Box::new(SqliteStore::open(world.store()).unwrap())
    };
    let mut is_there = false;
    for row in inner.list(&ListQuery { limit: 100, ..ListQuery::default() }).unwrap().items {
        let mut see = |_: &[u8], _: &[u8]| {
            is_there = true;
            Ok(())
        };
        inner.get(space, Some(row.id), BlobNames::ALL, &mut see).unwrap();
    }
    is_there
}

/// Uses a vault on a disk of its own, purges everything in it, and looks for the words on the disk.
fn look_behind_a_vault(world: &World) {
    let Some(disk) = Disk::mount(world.path("disk.img"), world.path("home")) else { return };
    world.user_config(&format!("store = \"{}\"\n", world.url_in(&world.path("home/.local/share/rejoin"))));

    let ids = use_vault(world);
    let while_used = done(world, &["list", "--all-projects"]);
    for id in &ids {
        done(world, &["purge", id, "--yes"]);
    }
    disk.detach();
    let found = disk.holding(&SENTINELS);

    // The control: what a plain file held is found after it was removed.
    assert!(disk.attach());
    let plain = world.path("home/plain");
    fs::write(&plain, SENTINELS.join(" ")).unwrap();
    fs::File::open(&plain).unwrap().sync_all().unwrap();
    fs::remove_file(&plain).unwrap();
    disk.detach();
    tell(&format!("looked for {} words on a raw disk of 48 MiB", SENTINELS.len()));
    assert!(ids.len() >= 3 && while_used.contains("quetzalrenamed"), "{ids:?} {while_used}");
    assert_eq!((found, disk.holding(&SENTINELS)), (Vec::new(), SENTINELS.to_vec()));
}

#[test]
fn a_vault_leaves_no_word_on_the_raw_disk() {
    look_behind_a_vault(&World::new());
}

#[test]
fn a_vault_of_files_leaves_no_word_on_the_raw_disk() {
    look_behind_a_vault(&World::of_files());
}

/// What nothing but the file of a conversation holds: too far behind for a preview.
const DEEP: [&str; 2] = ["quetzalasked", "quetzalanswered"];

#[test]
fn a_purge_overwrites_the_blocks_of_a_plain_file_on_the_raw_disk() {
    let world = World::of_files();
    let Some(disk) = Disk::mount(world.path("disk.img"), world.path("home")) else { return };
    world.user_config(&format!("store = \"jsonl:{}\"\n", world.store().display()));
    let filling = "word ".repeat(40_000);
    let lines = DEEP.map(|word| serde_json::json!({"role": "user", "content": format!("{filling}{word}")}));
    let id = world.started("Lisbon");
    world.append(&id, &lines.map(|line| format!("{line}\n")).concat());
    disk.detach();
    let before = disk.holding(&DEEP);

    assert!(disk.attach());
    done(&world, &["purge", &id, "--yes"]);
    disk.detach();

    assert_eq!((before, disk.holding(&DEEP)), (DEEP.to_vec(), Vec::new()));
}

/// A vault whose keyring is real; copies of its disk before a deletion and before a purge, opened after.
const SESSION_WITH_KEYRING: &str = r#"
store="$HOME/.local/share/rejoin"
open_copy() { XDG_STATE_HOME="$HOME/elsewhere" "$REJOIN" --store "vault+sqlite:$1/rejoin.db" list --all-projects --json 2>&1; }
"$REJOIN" vault init --quiet >/dev/null
"$REJOIN" new --title "Deleted" --quiet >/dev/null
"$REJOIN" new --title "Purged" --quiet >/dev/null
cp -a "$store" "$HOME/before-deletion"
"$REJOIN" delete deleted --yes --quiet >/dev/null
open_copy "$HOME/before-deletion"
cp -a "$store" "$HOME/before-purge"
"$REJOIN" purge purged --yes --json
open_copy "$HOME/before-purge"
"$REJOIN" audit --json
"$REJOIN" vault decrypt --yes --json
"$REJOIN" audit --json
open_copy "$HOME/before-purge"
"#;

#[test]
fn a_copy_from_before_a_purge_does_not_open_with_the_keyring_of_after() {
    let world = World::new();

    let Some([stdout, stderr]) = keyring::session(&world, SESSION_WITH_KEYRING, &[]) else { return };

    let answers: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [before_deletion, purged, before_purge, audit, _decrypted, audit_after, after_decryption] =
        answers.as_slice()
    else {
        panic!("{stdout}{stderr}")
    };
    // The control: without new keys, the copy opens and shows what is gone.
    let titles: Vec<&str> = before_deletion["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["title"].as_str())
        .collect();
    assert_eq!(titles, ["Purged", "Deleted"], "{stdout}{stderr}");
    assert_eq!((&purged["keys"], &purged["purged"]), (&"rotated".into(), &1.into()), "{stdout}{stderr}");
    assert_eq!(before_purge["error"]["kind"], "denied", "{stdout}");
    assert_eq!(after_decryption["error"]["kind"], "denied", "{stdout}");
    let actions = |audit: &Value| -> Vec<String> {
        let items = audit["items"].as_array().unwrap();
        items.iter().map(|item| item["action"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["purge-completed", "rotated", "purged", "deleted"];
    assert_eq!(actions(audit), expected);
    assert_eq!(actions(audit_after), [&["decrypted"][..], &expected].concat());
    assert!(is_empty(&world.path("home/.local/state/rejoin/anchors")));
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn what_is_done_to_the_keys_of_a_vault_stands_in_the_audit_log_without_secrets() {
    let world = World::new();
    world.started("Lisbon");

    done(&world, &["vault", "encrypt", "--slot", "file", "--yes"]);
    let added = done(&world, &["vault", "add-slot", "recovery", "--json"]);
    let added: Value = serde_json::from_str(&added).unwrap();
    done(&world, &["vault", "remove-slot", added["id"].as_str().unwrap(), "--yes"]);
    let sealed: Value =
        serde_json::from_str(&done(&world, &["vault", "rotate", "--reencrypt", "--json"])).unwrap();
    done(&world, &["vault", "accept", "--yes"]);
    let audit = done(&world, &["audit", "--json"]);
    let left = world.rejoin(["vault", "decrypt", "--yes"]).run();

    let read: Value = serde_json::from_str(&audit).unwrap();
    let items = read["items"].as_array().unwrap();
    let actions: Vec<&str> = items.iter().map(|item| item["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["accepted", "sealed-anew", "rotated", "slot-removed", "slot-added", "encrypted"]);
    assert_eq!((&sealed["sealed_anew"], &sealed["damaged"]), (&1.into(), &0.into()));
    assert!(!audit.contains(added["recovery_key"].as_str().unwrap()));
    assert!(left.stderr.contains(".key"), "{left:?}");
    assert!(is_empty(&world.path("home/.local/state/rejoin/anchors")));
    let note = left.stderr.lines().find_map(|line| line.split_once("there are none: ")).unwrap().1;
    assert!(world.path(note.replace("[world]/", "")).exists(), "{left:?}");
}
