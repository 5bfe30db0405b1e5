//! Vault commands that are killed at a system call: nothing is lost, the way on
//! is told, and another run ends it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use crate::skip::tell;
use crate::strace::Strace;
use crate::vault::{json, sealed, status, titles};
use crate::world::{Outcome, World};

/// Everything that is said in a world, by title.
fn said(world: &World) -> Vec<(String, u64)> {
    let listed = json(&world.rejoin(["list", "--json", "--limit", "100"]).run());
    let items = listed["items"].as_array().unwrap_or_else(|| panic!("{listed}"));
    let mut said: Vec<(String, u64)> = items
        .iter()
        .map(|item| (item["title"].as_str().unwrap().to_owned(), item["messages"].as_u64().unwrap()))
        .collect();
    said.sort();
    said
}

/// Everything moved into another store, one way or the other.
#[derive(Clone, Copy)]
enum Way {
    Seal,
    Unseal,
}

impl Way {
    const fn command(self) -> &'static [&'static str] {
        match self {
            Self::Seal => &["vault", "encrypt", "--slot", "file", "--yes"],
            Self::Unseal => &["vault", "decrypt", "--yes"],
        }
    }

    /// What another run says when the new store is in use.
    const fn is_done(self) -> &'static str {
        match self {
            Self::Seal => "is a vault already",
            Self::Unseal => "is not a vault",
        }
    }

    /// A world with some talks, before anything is moved, and the place of its store.
    fn prepare(self, make: fn() -> World) -> (World, PathBuf) {
        let world = make();
        for number in 0..8 {
            let id = world.started(&format!("Talk {number}"));
            let lines = (0..=number).map(|line| format!("{{\"role\":\"user\",\"content\":\"{line}\"}}\n"));
            world.append(&id, &lines.collect::<String>());
        }
        self.begin(world)
    }

    /// A world in which the move can begin, and the place of the store that it erases.
    fn begin(self, world: World) -> (World, PathBuf) {
        let place = match self {
            Self::Seal => world.store(),
            Self::Unseal => {
                let encrypted = world.program(Self::Seal.command()).output().unwrap();
                assert!(encrypted.status.success(), "{encrypted:?}");
                beside(&world, "vault")
            }
        };
        (world, place)
    }
}

/// Kills a move at some of its syncs, each in a world of its own.
fn killed_anywhere(way: Way, make: fn() -> World) {
    let syncs = [1, 2, 4, 8, 12, 16, 24, 32, 40, 60];
    let Some(kills) = killed_at(way, "fdatasync,fsync", &syncs, || way.prepare(make)) else { return };
    tell(&format!("{kills} of 10 attempts were killed"));
    assert!(kills >= 5, "{kills} attempts were killed");
}

/// Kills a move at some of its calls, each in a world of its own, and runs the
/// same command again. Counts the kills.
fn killed_at(
    way: Way,
    calls: &str,
    whens: &[usize],
    prepare: impl Fn() -> (World, PathBuf),
) -> Option<usize> {
    let strace = Strace::find()?;
    let mut kills = 0;
    for when in whens {
        let (world, place) = prepare();
        let before = said(&world);
        let fault = format!("{calls}:signal=KILL:when={when}");
        let program = world.program(way.command());
        let killed = strace.inject(&program, &fault, &world.path("trace")).output().unwrap();
        let has_ended = killed.status.success();

        let (halfway, is_erased) = (said(&world), !place.exists());
        let again = world.program(way.command()).output().unwrap();

        kills += usize::from(!has_ended);
        assert_eq!(halfway, before, "killed at {calls} {when}");
        let stderr = String::from_utf8(again.stderr).unwrap();
        // Once everything is done, there is nothing to go on with.
        let is_done = is_erased && stderr.contains(way.is_done());
        assert!(again.status.success() || is_done, "killed at {calls} {when}: {stderr}");
        assert_eq!((said(&world), place.exists()), (before, false), "killed at {calls} {when}");
        assert_eq!(world.rejoin(["verify"]).run().code, 0, "killed at {calls} {when}");
        assert_eq!(unfinished(&world), 0, "killed at {calls} {when}");
    }
    Some(kills)
}

/// How many conversions are noted that did not end.
fn unfinished(world: &World) -> usize {
    let noted = std::fs::read_dir(world.path("home/.local/state/rejoin/conversions"));
    let names = noted.into_iter().flatten().map(|entry| entry.unwrap().file_name());
    // What a killed process was writing has another name.
    names.filter(|name| !name.to_string_lossy().contains('.')).count()
}

/// Where files are renamed and removed: how far it came is noted, the configuration is switched, and the old
/// store is erased. Calls are counted by name.
const STEPS: [(&str, &[usize]); 2] = [("rename", &[1, 2, 3, 4]), ("unlink", &[2, 4, 6, 7, 8, 9, 10])];

/// Kills a move of one talk at the calls that give and take names.
fn killed_between_steps(way: Way, make: fn() -> World) {
    let prepare = || way.begin(with_one_talk(make()));
    let killed = STEPS.map(|(call, whens)| killed_at(way, call, whens, prepare));
    let [Some(renamed), Some(removed)] = killed else { return };
    tell(&format!("{} of 11 attempts were killed", renamed + removed));
    assert!(renamed >= 3 && removed >= 4, "{renamed} and {removed} attempts were killed");
}

#[test]
fn sealing_and_unsealing_go_on_by_the_same_command_wherever_they_are_killed() {
    for make in KINDS {
        killed_between_steps(Way::Seal, make);
        killed_between_steps(Way::Unseal, make);
    }
}

#[test]
fn a_store_whose_sealing_is_killed_anywhere_loses_nothing_and_is_sealed_in_the_end() {
    killed_anywhere(Way::Seal, World::new);
}

#[test]
fn files_whose_sealing_is_killed_anywhere_lose_nothing_and_are_sealed_in_the_end() {
    killed_anywhere(Way::Seal, World::of_files);
}

#[test]
fn a_vault_whose_unsealing_is_killed_anywhere_loses_nothing_and_is_unsealed_in_the_end() {
    killed_anywhere(Way::Unseal, World::new);
}

#[test]
fn a_vault_of_files_whose_unsealing_is_killed_anywhere_loses_nothing_and_is_unsealed_in_the_end() {
    killed_anywhere(Way::Unseal, World::of_files);
}

#[test]
fn sealing_into_a_named_place_goes_on_after_the_configuration_was_switched() {
    for make in KINDS {
        let encrypt = ["vault", "encrypt", "--slot", "file", "--yes", "--to", "vault+jsonl:sealed"];
        let config = "home/.config/rejoin/config.toml";
        let is_switched = |world: &World| {
            let text = std::fs::read_to_string(world.path(config)).unwrap_or_default();
            text.contains("vault+jsonl:") && world.store().exists()
        };
        let Some(world) = halfway("rename", &encrypt, || with_one_talk(make()), is_switched) else { return };

        let again = world.rejoin(encrypt).run();

        assert_eq!((again.code, world.store().exists()), (0, false), "{again:?}");
        assert_eq!((titles(&world), unfinished(&world)), (vec!["Lisbon".to_owned()], 0));
    }
}

#[test]
fn a_vault_whose_recovery_key_was_never_shown_is_made_again() {
    let encrypt = ["vault", "encrypt", "--slot", "recovery", "--slot", "file", "--yes"];
    let is_untold = |world: &World| {
        let shown =
            world.program(&["--store", &vault_url(world), "vault", "status", "--json"]).output().unwrap();
        shown.status.success() && noted(world).contains("\"is_told\":false")
    };
    let make = || with_one_talk(World::new());
    let Some(world) = halfway("fdatasync,fsync", &encrypt, make, is_untold) else { return };
    let untold = json(&world.rejoin(["--store", &vault_url(&world), "vault", "status", "--json"]).run());

    let again = world.rejoin(encrypt).run();

    let key = again.stdout.split_once("write it down:\n\n").and_then(|(_, rest)| rest.lines().next());
    assert_eq!((again.code, key.map(|key| key.trim().len())), (0, Some(69)), "{again:?}");
    assert_ne!(status(&world)["vault"], untold["vault"]);
    assert_eq!(titles(&world), ["Lisbon"]);
}

/// Kills a command at a system call, unless it ends before.
fn kill(strace: Strace, world: &World, arguments: &[&str], calls: &str, when: usize) -> bool {
    let fault = format!("{calls}:signal=KILL:when={when}");
    !strace.inject(&world.program(arguments), &fault, &world.path("trace")).status().unwrap().success()
}

/// Where files are synced and removed while a vault is erased that nobody was told of.
const ERASING: [(&str, std::ops::RangeInclusive<usize>); 2] =
    [("fdatasync,fsync", 1..=8), ("unlink,unlinkat", 1..=5)];

#[test]
fn an_untold_vault_is_made_again_wherever_erasing_it_is_killed() {
    let Some(strace) = Strace::find() else { return };
    let encrypt = Way::Seal.command();
    for make in KINDS {
        let is_untold = |world: &World| {
            let status = ["--store", &vault_url(world), "vault", "status"];
            world.program(&status).output().unwrap().status.success()
                && noted(world).contains("\"is_told\":false")
        };
        let begin = |when: usize| {
            let world = with_one_talk(make());
            kill(strace, &world, encrypt, "fdatasync,fsync", when);
            world
        };
        let untold = (1..40).find(|when| is_untold(&begin(*when))).unwrap();
        let mut half_erased = 0;
        for (calls, whens) in ERASING {
            for when in whens {
                let world = begin(untold);
                kill(strace, &world, encrypt, calls, when);
                let is_begun = noted(&world).contains("\"vault\":{");
                let opens = ["--store", &vault_url(&world), "vault", "status"];
                half_erased += usize::from(is_begun && world.rejoin(opens).run().code != 0);

                let again = world.program(encrypt).output().unwrap();

                assert!(again.status.success(), "killed at {calls} {when}: {again:?}");
                let left = (titles(&world), world.store().exists(), unfinished(&world));
                assert_eq!(left, (vec!["Lisbon".to_owned()], false, 0), "killed at {calls} {when}");
                assert_eq!(world.rejoin(["verify"]).run().code, 0, "killed at {calls} {when}");
            }
        }
        tell(&format!("{half_erased} of 13 attempts left a vault that was half erased"));
        assert!(half_erased >= 2, "{half_erased} attempts left a vault that was half erased");
    }
}

/// What is noted of conversions that did not end.
fn noted(world: &World) -> String {
    let noted = std::fs::read_dir(world.path("home/.local/state/rejoin/conversions"));
    let paths = noted.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// A world in which a command was killed at a system call, the first one that left it as wanted.
fn halfway(
    calls: &str,
    arguments: &[&str],
    make: impl Fn() -> World,
    is_wanted: impl Fn(&World) -> bool,
) -> Option<World> {
    let strace = Strace::find()?;
    let killed = (1..40).map(|when| {
        let world = make();
        let fault = format!("{calls}:signal=KILL:when={when}");
        strace.inject(&world.program(arguments), &fault, &world.path("trace")).output().unwrap();
        world
    });
    let found = killed.into_iter().find(is_wanted);
    assert!(found.is_some(), "{arguments:?} was never killed halfway");
    found
}

/// What `vault status` warns of, and the table it shows.
fn warned(world: &World) -> (i32, String) {
    let outcome = world.rejoin(["vault", "status"]).run();
    (outcome.code, outcome.stderr)
}

const SECOND: &str = "It is the only slot. Add a second one: rejoin vault add-slot recovery\n";

#[test]
fn a_rotation_that_ended_early_is_told_and_another_finishes_it() {
    let is_rotating = |world: &World| status(world)["rotating"] == true;
    let rotate = ["vault", "rotate"];
    let Some(world) = halfway("unlink,unlinkat", &rotate, sealed, is_rotating) else { return };

    let told = warned(&world);
    let opened = world.rejoin(["list"]).run();
    let finished = world.rejoin(rotate).run();

    let expected = "warning: a rotation is incomplete\nhint: run `rejoin vault rotate` to complete it\n";
    assert_eq!(told, (0, format!("{expected}{SECOND}")));
    assert_eq!((opened.code, finished.code), (0, 0), "{opened:?} {finished:?}");
    assert_eq!(warned(&world), (0, SECOND.to_owned()));
}

#[test]
fn sealing_anew_that_ended_early_is_told_and_another_finishes_it() {
    let make = || {
        let world = sealed();
        world.rejoin(["new", "--title", "Lisbon"]).run();
        world
    };
    let reencrypt = ["vault", "rotate", "--reencrypt"];
    let is_sealing = |world: &World| {
        let status = status(world);
        status["sealing_anew"] == true && status["rotating"] == false
    };
    let Some(world) = halfway("fdatasync,fsync", &reencrypt, make, is_sealing) else { return };

    let told = warned(&world);
    let finished = world.rejoin(reencrypt).run();

    let expected =
        "warning: not everything is sealed anew yet\nhint: run `rejoin vault rotate --reencrypt` to go on\n";
    assert_eq!(told, (0, format!("{expected}{SECOND}")));
    assert_eq!((finished.code, warned(&world)), (0, (0, SECOND.to_owned())), "{finished:?}");
}

/// The URL of the plain store of a world.
fn url(world: &World) -> String {
    world.url_in(&world.path("home/.local/share/rejoin"))
}

/// The place of a copy beside the store, by what stands before the ending of its name.
pub(crate) fn beside(world: &World, what: &str) -> PathBuf {
    let store = world.store();
    let ending = store.extension().map(|ending| format!(".{}", ending.display())).unwrap_or_default();
    store.with_file_name(format!("{}.{what}{ending}", store.file_stem().unwrap().display()))
}

/// The URL of the vault that is made of the store of a world.
fn vault_url(world: &World) -> String {
    let kind = if world.is_of_files() { "jsonl" } else { "sqlite" };
    format!("vault+{kind}:{}", beside(world, "vault").display())
}

/// A text with the places of a world as they are told.
fn told(world: &World, text: String) -> String {
    text.replace(world.path("").to_str().unwrap(), "[world]/")
}

fn with_one_talk(world: World) -> World {
    world.started("Lisbon");
    world
}

/// Both kinds of stores.
const KINDS: [fn() -> World; 2] = [World::new, World::of_files];

#[test]
fn sealing_that_ended_early_is_told_with_the_way_on() {
    for make in KINDS {
        let is_begun = |world: &World| {
            let status = ["--store", &vault_url(world), "vault", "status", "--json"];
            let is_vault = world.program(&status).output().unwrap().status.success();
            is_vault && world.rejoin(["vault", "status"]).run().code == 1
        };
        let encrypt = Way::Seal.command();
        let Some(world) = halfway("fdatasync,fsync", encrypt, || with_one_talk(make()), is_begun) else {
            return;
        };

        let outcome = world.rejoin(["vault", "status"]).run();
        let finished = world.program(encrypt).output().unwrap();

        let (plain, sealed) = (url(&world), vault_url(&world));
        let expected = format!(
            "error: `{plain}` is not a vault\nhint: a vault lies beside it, `{sealed}`; run `rejoin \
             vault encrypt` to go on sealing, or `rejoin --store {sealed} vault decrypt` to go on unsealing\n"
        );
        assert_eq!(outcome, Outcome::failure(1, &told(&world, expected)));
        assert!(finished.status.success(), "{finished:?}");
        assert_eq!(warned(&world), (0, SECOND.to_owned()));
    }
}

#[test]
fn a_store_that_was_sealed_and_is_still_in_the_clear_is_told() {
    for make in KINDS {
        let world = with_one_talk(make());
        world.rejoin(["vault", "encrypt", "--slot", "file", "--keep"]).run();

        let outcome = warned(&world);
        let plain = url(&world);
        let ended = world.rejoin(["--store", &plain, "vault", "encrypt", "--slot", "file", "--yes"]).run();

        let expected = format!(
            "warning: the original store still exists, unencrypted: `{plain}`\n\
             hint: run `rejoin --store {plain} vault encrypt` to copy what it holds and erase it\n"
        );
        assert_eq!(outcome, (0, format!("{}{SECOND}", told(&world, expected))));
        assert_eq!((ended.code, warned(&world)), (0, (0, SECOND.to_owned())), "{ended:?}");
    }
}

#[test]
fn unsealing_that_ended_early_is_told_with_the_way_on() {
    for make in KINDS {
        let prepare = || {
            let world = with_one_talk(make());
            world.program(Way::Seal.command()).output().unwrap();
            world
        };
        let is_begun = |world: &World| {
            beside(world, "plain").exists() && world.rejoin(["vault", "status"]).run().code == 0
        };
        let decrypt = Way::Unseal.command();
        let Some(world) = halfway("fdatasync,fsync", decrypt, prepare, is_begun) else { return };

        let outcome = warned(&world);
        let finished = world.program(decrypt).output().unwrap();

        let kind = if world.is_of_files() { "jsonl" } else { "sqlite" };
        let expected = format!(
            "warning: a copy of it in the clear was begun, `{kind}:{}`\n\
             hint: run `rejoin vault decrypt` to go on, or remove the copy\n",
            beside(&world, "plain").display()
        );
        assert_eq!(outcome, (0, format!("{}{SECOND}", told(&world, expected))));
        assert!(finished.status.success(), "{finished:?}");
        assert_eq!(titles(&world), ["Lisbon"]);
    }
}

#[test]
fn a_message_that_is_written_to_the_old_store_is_not_acknowledged_and_copied_by_another_run() {
    for make in KINDS {
        let world = make();
        let id = world.started("Lisbon");
        let mut program = world.program(&["append", &id, "--jsonl", "-"]);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut writer = program.spawn().unwrap();
        let mut input = writer.stdin.take().unwrap();
        let mut receipts = BufReader::new(writer.stdout.take().unwrap());
        let mut receipt = String::new();
        input.write_all(b"{\"role\":\"user\",\"content\":\"Before.\"}\n").unwrap();
        receipts.read_line(&mut receipt).unwrap();

        let kept = world.rejoin(["vault", "encrypt", "--slot", "file", "--keep"]).run();
        world.append(&id, "{\"role\":\"user\",\"content\":\"In the vault.\"}\n");
        input.write_all(b"{\"role\":\"user\",\"content\":\"Late.\"}\n").unwrap();
        drop(input);
        let late = writer.wait_with_output().unwrap();
        let left = receipts.lines().count();
        let again =
            world.rejoin(["--store", &url(&world), "vault", "encrypt", "--slot", "file", "--yes"]).run();

        assert_eq!((kept.code, again.code), (0, 0), "{kept:?} {again:?}");
        let told = String::from_utf8(late.stderr).unwrap();
        assert_eq!((late.status.code(), left), (Some(1), 0), "{told}");
        assert!(
            told.contains(&format!("conversations are kept in `{}` by now", vault_url(&world))),
            "{told}"
        );
        let shown = world.rejoin(["tree", &id]).run().stdout;
        assert!(["Before.", "In the vault.", "Late."].iter().all(|text| shown.contains(text)), "{shown}");
        assert_eq!((world.store().exists(), unfinished(&world)), (false, 0));
    }
}
