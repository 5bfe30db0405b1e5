//! What opens a vault is in no log, no arguments and no file but its own, whatever is done to the vault.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::planted_key::files;
use crate::strace::Strace;
use crate::vault::{PASSPHRASE, sealed, secret, status};
use crate::world::World;

/// Runs of the program that tell everything they can, with the arguments of each process they start.
struct Watched {
    world: World,
    strace: Strace,
    /// A file with what opens the vault.
    opener: String,
    /// What every run printed for people, and which programs it started.
    seen: Vec<u8>,
}

impl Watched {
    /// Runs the program and returns its answer.
    fn run(&mut self, arguments: &[&str]) -> Value {
        let mut program = self.world.program(arguments);
        program.arg("--json").env("REJOIN_LOG", "trace").env("REJOIN_PASSPHRASE_FILE", &self.opener);
        let trace = self.world.path("trace");
        let output = self.strace.record(&program, "execve", &trace).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        self.seen.extend_from_slice(&output.stderr);
        self.seen.extend(fs::read(trace).unwrap());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The key of a slot that a file opens, as it lies there.
    fn key(&self) -> Vec<u8> {
        let keys = files(&self.world.path("home/.local/state/rejoin/keys"));
        assert_eq!(keys.len(), 1, "{keys:?}");
        fs::read(&keys[0]).unwrap()
    }

    /// The places outside of the key files that hold one of some secrets.
    fn holding(&self, secrets: &[Vec<u8>]) -> Vec<PathBuf> {
        let keys = self.world.path("home/.local/state/rejoin/keys");
        let files = files(&self.world.path("home")).into_iter().filter(|path| !path.starts_with(&keys));
        let contents = files.map(|path| (path.clone(), fs::read(path).unwrap()));
        let all = contents.chain([(PathBuf::from("seen"), self.seen.clone())]);
        let holds = |bytes: &[u8]| secrets.iter().any(|secret| memchr::memmem::find(bytes, secret).is_some());
        all.filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect()
    }
}

/// Every way in which a secret could be written.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(secret).trim().to_owned();
    let plain = text.replace('-', "");
    let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let texts = [text.to_lowercase(), plain.to_lowercase(), plain, text, escaped, hex];
    texts.into_iter().map(String::into_bytes).chain([secret.to_vec()]).collect()
}

/// Makes a vault as told, does everything to its keys, and looks for them.
fn watch(strace: Strace, world: World, begin: &[&str]) {
    let opener = secret(&world, "passphrase", PASSPHRASE);
    let mut watched = Watched { world, strace, opener, seen: Vec::new() };
    watched.run(begin);
    watched.run(&["append", "hello there"]);
    let added = watched.run(&["vault", "add-slot", "recovery"]);
    let recovery = added["recovery_key"].as_str().unwrap().to_owned();
    watched.run(&["vault", "add-slot", "file"]);
    let first = watched.key();
    watched.run(&["vault", "rotate"]);
    let second = watched.key();
    watched.run(&["vault", "rotate", "--reencrypt"]);
    // Without the key file, the recovery key opens it.
    fs::remove_dir_all(watched.world.path("home/.local/state/rejoin/keys")).unwrap();
    watched.opener = secret(&watched.world, "recovery", &recovery);
    let listed = watched.run(&["list"]);

    let secrets = [PASSPHRASE.as_bytes(), recovery.as_bytes(), &first, &second].map(forms).concat();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert_ne!(first, second);
    assert_eq!(watched.holding(&secrets), Vec::<PathBuf>::new());
    // The control: the log is there and tells much, and what was started is seen.
    assert!(fs::metadata(watched.world.path("home/.local/share/rejoin/rejoin.log")).unwrap().len() > 0);
    assert_ne!(memchr::memmem::find(&watched.seen, &forms(b"add-slot")[4]), None);
    // Nothing that is sealed lies where the configuration does.
    let configured = files(&watched.world.path("home/.config"));
    assert_eq!(configured, [watched.world.path("home/.config/rejoin/config.toml")]);
}

#[test]
fn no_secret_of_a_vault_that_was_made_is_told_anywhere() {
    let Some(strace) = Strace::find() else { return };

    watch(strace, World::new(), &["vault", "init", "--slot", "passphrase"]);
}

#[test]
fn no_secret_of_a_store_that_was_sealed_is_told_anywhere() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["new", "--title", "Lisbon"]).run();

    watch(strace, world, &["vault", "encrypt", "--slot", "passphrase", "--yes"]);
}

#[test]
fn a_vault_makes_no_directory_of_the_configuration_and_puts_nothing_there() {
    let world = World::new();
    let url = format!("vault+sqlite:{}", world.store().display());
    let vault = |arguments: &[&str]| {
        let output = world.program(arguments).env("REJOIN_STORE", &url).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };

    vault(&["vault", "init", "--slot", "file"]);
    vault(&["append", "hello there"]);
    vault(&["vault", "rotate"]);

    let top: Vec<PathBuf> =
        fs::read_dir(world.path("home")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(top, [world.path("home/.local")]);
}

#[test]
fn when_a_slot_was_added_is_shown_where_the_vault_opens_without_asking() {
    let world = sealed();
    let added = || status(&world)["slots"][0]["created_at"].clone();

    let opened = added();
    fs::remove_dir_all(world.path("home/.local/state/rejoin/keys")).unwrap();
    let locked = added();

    assert_eq!((opened.is_string(), locked.is_null()), (true, true), "{opened} {locked}");
}
