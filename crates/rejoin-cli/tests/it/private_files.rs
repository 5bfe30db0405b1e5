//! The user's own files are the user's alone: what is too open is closed and told, and nothing is written
//! that others could read for a moment.

use std::fs::{self, File, Permissions};
use std::io::{Read, Seek};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::planting::is_root;
use crate::world::{Outcome, World};

const CONFIG: &str = "home/.config/rejoin/config.toml";
const DATA: &str = "home/.local/share/rejoin";

fn open_up(world: &World, relative: &str, mode: u32) {
    fs::set_permissions(world.path(relative), Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_configuration_that_others_can_use_is_closed_and_told_once() {
    let world = World::new();
    world.user_config("log = \"off\"\n");
    open_up(&world, CONFIG, 0o666);
    open_up(&world, "home/.config/rejoin", 0o777);

    let outcomes = [0, 1].map(|_| world.rejoin(["config", "get", "log"]).run());

    let told = "warning: others could write to `[world]/home/.config/rejoin` (mode 777); its mode is 755 now\n\
                warning: others could write to `[world]/home/.config/rejoin/config.toml` (mode 666); its mode is 600 now\n";
    let expected = Outcome { stdout: "off\n".to_owned(), stderr: told.to_owned(), code: 0 };
    assert_eq!(outcomes, [expected, Outcome::answer("off\n")]);
    assert_eq!(mode(&world.path(CONFIG)), 0o600);
}

#[test]
fn a_store_that_others_can_use_is_closed_and_told_once() {
    let world = World::new();
    world.started("Lisbon");
    open_up(&world, DATA, 0o755);
    open_up(&world, &format!("{DATA}/rejoin.db"), 0o644);
    open_up(&world, &format!("{DATA}/rejoin.db-wal"), 0o666);

    let outcomes = [0, 1].map(|_| world.rejoin(["list", "--json"]).run().stderr);

    let told = |verb: &str, name: &str, modes: [&str; 2]| {
        format!(
            "{{\"warning\":{{\"message\":\"others could {verb} `[world]/{DATA}{name}` (mode {}); its mode is {} now\",\"hint\":null}}}}\n",
            modes[0], modes[1]
        )
    };
    let expected = told("read", "", ["755", "700"])
        + &told("read", "/rejoin.db", ["644", "600"])
        + &told("write to", "/rejoin.db-wal", ["666", "600"]);
    assert_eq!(outcomes, [expected, String::new()]);
}

#[test]
fn plain_files_that_others_can_write_are_closed() {
    let world = World::of_files();
    world.started("Lisbon");
    let root = world.store();
    open_up(&world, &format!("{DATA}/conversations"), 0o777);
    open_up(&world, &format!("{DATA}/conversations/.store/changes.jsonl"), 0o666);

    let outcome = world.rejoin(["append", "lisbon", "Where to eat?"]).run();

    let expected = "warning: others could write to `[world]/home/.local/share/rejoin/conversations` (mode 777); its mode is 755 now\n";
    assert!(outcome.stderr.starts_with(expected), "{outcome:?}");
    assert_eq!([mode(&root), mode(&root.join(".store/changes.jsonl"))], [0o755, 0o600]);
}

#[test]
fn a_refusal_names_the_owner_and_what_to_do() {
    if !is_root("give files away") {
        return;
    }
    let world = World::new();
    world.started("Lisbon");
    chown(world.store(), Some(64_002), None).unwrap();
    let config = World::new();
    config.user_config("log = \"off\"\n");
    chown(config.path(CONFIG), Some(64_002), None).unwrap();

    let outcomes = [world.rejoin(["list"]).run(), config.rejoin(["list"]).run()];

    let told = |path: &str| {
        let error = format!(
            "error: could not use `[world]/{path}`: `[world]/{path}` belongs to user 64002, not to you (user 0)\n\
             hint: run rejoin as user 64002, or run `chown 0 [world]/{path}` if you trust it\n"
        );
        Outcome::failure(1, &error)
    };
    assert_eq!(outcomes, [told(&format!("{DATA}/rejoin.db")), told(CONFIG)]);
}

#[test]
fn whatever_the_umask_is_files_are_private_from_the_start() {
    for umask in ["000", "077", "277"] {
        let world = World::new();
        let run = |line: &str| {
            let program = world.program(&[]);
            let status = Command::new("sh")
                .args(["-c", &format!("umask {umask}; exec \"$0\" {line}")])
                .arg(program.get_program())
                .current_dir(world.path("project"))
                .env_clear()
                .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
                .output()
                .unwrap();
            assert!(status.status.success(), "{status:?}");
        };

        run("new --title Lisbon");
        run(concat!("append 'my key: ghp", "_16C7e42F292c6912E7710c838347Ae178B4a'"));
        run("config set log info");
        run("export lisbon --output ../out.md");
        run("backup ../copy.db");

        let files = [
            "home/.local/share/rejoin/rejoin.db",
            "home/.local/share/rejoin/rejoin.db-wal",
            "home/.local/state/rejoin/redact.key",
            CONFIG,
            "out.md",
            "copy.db",
        ];
        assert_eq!(files.map(|file| mode(&world.path(file))), [0o600; 6], "umask {umask}");
    }
}

#[test]
fn what_was_opened_while_it_was_open_to_others_shows_nothing_that_is_written_later() {
    let world = World::new();
    let id = world.started("Lisbon");
    world.append(&id, r#"{"role":"user","content":"a secret plan"}"#);
    world.write("out.md", "old");
    world.user_config("log = \"off\"\n");
    let held = ["out.md", CONFIG].map(|name| File::open(world.path(name)).unwrap());

    world.rejoin(["export", &id, "--output", "../out.md", "--yes"]).run();
    world.rejoin(["config", "set", "providers.x.api_key_command", "echo secret"]).run();

    let seen = |mut file: &File| {
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text.contains("secret")
    };
    assert_eq!(held.each_ref().map(seen), [false, false]);
    assert_eq!(mode(&world.path("out.md")), 0o600);
    // Whoever writes into the file that is there is read by whoever holds it.
    let path = world.path("other.md");
    fs::write(&path, "old").unwrap();
    let held = File::open(&path).unwrap();
    fs::write(&path, "secret").unwrap();
    assert!(seen(&held));
}

#[test]
fn a_log_that_others_can_read_is_closed_before_it_is_written_to() {
    let world = World::new();
    world.user_config("log = \"info\"\n");
    world.write(&format!("{DATA}/rejoin.log"), "");
    open_up(&world, &format!("{DATA}/rejoin.log"), 0o644);

    world.rejoin(["config", "get", "log"]).run();

    assert_eq!(mode(&world.path(DATA).join("rejoin.log")), 0o600);
}
