//! `rejoin vault`: made, opened, looked after, sealed and unsealed, with real files and a real keyring.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use rejoin::store::{ListQuery, Read as _};
use rejoin::vault::{Keyholder, NewSlot, SecretFiles, SecretStore, SecretStores, SlotId};
use serde_json::Value;

use crate::keyring::session;
use crate::strace::Strace;
use crate::world::{Outcome, World};

pub(crate) const PASSPHRASE: &str = "correct horse planted battery";

/// A file with what opens a vault, which only its owner can read.
pub(crate) fn secret(world: &World, name: &str, text: &str) -> String {
    world.write(name, &format!("{text}\n"));
    std::fs::set_permissions(world.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    world.path(name).to_str().unwrap().to_owned()
}

/// A world whose store is a vault that a key file opens.
pub(crate) fn sealed() -> World {
    let world = World::new();
    let outcome = world.rejoin(["vault", "init", "--slot", "file"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    world
}

pub(crate) fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{outcome:?}"))
}

pub(crate) fn status(world: &World) -> Value {
    json(&world.rejoin(["vault", "status", "--json"]).run())
}

fn kinds(world: &World) -> Vec<String> {
    let status = status(world);
    let slots = status["slots"].as_array().unwrap();
    slots.iter().map(|slot| slot["kind"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn titles(world: &World) -> Vec<String> {
    let listed = json(&world.rejoin(["list", "--json"]).run());
    let items = listed["items"].as_array().unwrap();
    items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_vault_is_made_used_and_holds_nothing_in_the_clear() {
    let world = sealed();

    let made = world.rejoin(["new", "--title", "Planted title"]).run();
    let said = world.rejoin(["append", "planted words"]).run();
    let found = world.rejoin(["search", "planted", "--json"]).run();

    assert_eq!((made.code, said.code), (0, 0), "{}{}", made.stderr, said.stderr);
    assert_eq!(json(&found)["items"].as_array().unwrap().len(), 1);
    assert_eq!(titles(&world), ["Planted title"]);
    assert_eq!(
        world.read("home/.config/rejoin/config.toml"),
        format!("store = \"vault+sqlite:{}\"\n", world.store().display())
    );
    let mut files = vec![world.path("home")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let is_there = bytes.windows(7).any(|window| window.eq_ignore_ascii_case(b"planted"));
        assert!(!is_there, "{} holds what was said", path.display());
    }
}

#[test]
fn a_second_way_in_is_suggested_and_works() {
    let world = sealed();
    let file = secret(&world, "recovery", "");

    let only = world.rejoin(["vault", "status"]).run();
    let added = world.rejoin(["vault", "add-slot", "recovery", "--json"]).run();
    let key = json(&added)["recovery_key"].as_str().unwrap().to_owned();
    std::fs::write(&file, key.to_lowercase()).unwrap();
    std::fs::remove_dir_all(world.path("home/.local/state/rejoin/keys")).unwrap();
    let without = world.rejoin(["list"]).run();
    let with = world.rejoin(["list", "--passphrase-file", &file]).run();

    assert!(only.stderr.contains("rejoin vault add-slot recovery"), "{}", only.stderr);
    assert_eq!(kinds(&world), ["file", "recovery"]);
    assert_eq!((without.code, with.code), (1, 0), "{}", with.stderr);
    let vault = status(&world)["vault"].as_str().unwrap().to_owned();
    let slot = status(&world)["slots"][0]["id"].as_str().unwrap().to_owned();
    let expected = format!(
        "error: could not open the vault `vault+sqlite:[world]/home/.local/share/rejoin/rejoin.db`: nothing available here unlocks vault `{vault}`: the secret of the file slot `{slot}` of vault `{vault}` is not here; \
         nobody gave what its recovery slot asks for\n\
         hint: unlock the keyring, or give a passphrase or recovery key in the terminal or with \
         `--passphrase-file FILE`; `rejoin vault status` shows its slots\n"
    );
    assert_eq!(without.stderr, expected);
}

#[test]
fn a_passphrase_comes_from_a_file_and_a_wrong_one_is_told() {
    let world = World::new();
    let right = secret(&world, "right", PASSPHRASE);
    let wrong = secret(&world, "wrong", "another planted passphrase");
    let open = secret(&world, "open", PASSPHRASE);
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();

    let made = world.rejoin(["vault", "init", "--slot", "passphrase", "--passphrase-file", &right]).run();
    let by_variable = world.rejoin(["list"]).variable("REJOIN_PASSPHRASE_FILE", &right).run();
    let by_wrong = world.rejoin(["list", "--passphrase-file", &wrong]).run();
    let by_open = world.rejoin(["list", "--passphrase-file", &open]).run();

    assert_eq!((made.code, by_variable.code, by_open.code), (0, 0, 1), "{}", made.stderr);
    let told = "this passphrase does not unlock the vault: it is wrong, or its slot was removed";
    assert_eq!(by_wrong, unopened(&[told], UNLOCK));
    assert!(by_open.stderr.contains("others can read it"), "{}", by_open.stderr);
    let told =
        [made, by_variable, by_wrong, by_open].map(|outcome| outcome.stdout + &outcome.stderr).concat();
    assert!(!told.contains("planted"), "{told}");
}

#[test]
fn a_removed_slot_does_not_open_and_the_last_one_cannot_go() {
    let world = sealed();
    let file = secret(&world, "passphrase", PASSPHRASE);
    let added = json(
        &world.rejoin(["vault", "add-slot", "passphrase", "--new-passphrase-file", &file, "--json"]).run(),
    );
    let id = added["id"].as_str().unwrap();

    let unasked = world.rejoin(["vault", "remove-slot", id]).run();
    let removed = json(&world.rejoin(["vault", "remove-slot", id, "--yes", "--json"]).run());
    let last = status(&world)["slots"][0]["id"].as_str().unwrap().to_owned();
    // Nobody is asked about what is refused anyway.
    let refused = world.rejoin(["vault", "remove-slot", &last]).run();
    let unknown = world.rejoin(["vault", "remove-slot", id]).run();
    let vault = status(&world)["vault"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(world.path("home/.local/state/rejoin/keys")).unwrap();
    let gone = world.rejoin(["list", "--passphrase-file", &file]).run();

    assert_eq!((unasked.code, refused.code), (1, 1));
    assert_eq!((&removed["epoch"], &removed["kept"]), (&2.into(), &serde_json::json!([])));
    assert!(refused.stderr.contains("it is the last slot"), "{}", refused.stderr);
    assert!(unknown.stderr.contains(&format!("the vault has no slot `{id}`")), "{}", unknown.stderr);
    let told = [
        format!("nothing available here unlocks vault `{vault}`"),
        format!("the secret of the file slot `{last}` of vault `{vault}` is not here"),
    ];
    assert_eq!(gone, unopened(&[&told[0], &told[1]], UNLOCK));
}

#[test]
fn a_plain_store_is_sealed_and_unsealed_with_all_it_holds() {
    let world = World::new();
    world.started("First");
    world.started("Second");
    let plain = world.store();
    let sealed = plain.with_file_name("rejoin.vault.db");

    let encrypted = world.rejoin(["vault", "encrypt", "--slot", "file", "--yes", "--json"]).run();
    let in_vault = titles(&world);
    let again = world.rejoin(["vault", "encrypt", "--slot", "file", "--yes"]).run();
    let decrypted = world.rejoin(["vault", "decrypt", "--yes", "--json"]).run();

    assert_eq!((encrypted.code, decrypted.code), (0, 0), "{}{}", encrypted.stderr, decrypted.stderr);
    let answer = json(&encrypted);
    assert_eq!((&answer["conversations"], &answer["erased"]), (&2.into(), &true.into()));
    assert_eq!(answer["slots"][0]["kind"], "file");
    assert_eq!(in_vault.len(), 2);
    assert!(again.stderr.contains("is a vault already"), "{}", again.stderr);
    assert_eq!((plain.exists(), sealed.exists(), titles(&world)), (false, false, in_vault));
}

#[test]
fn sealing_suggests_a_second_way_in_and_tells_a_recovery_key_in_its_answer() {
    let (told, answered) = (World::new(), World::new());
    told.started("First");
    answered.started("First");

    let told = told.rejoin(["vault", "encrypt", "--slot", "file", "--keep"]).run();
    let both = ["vault", "encrypt", "--slot", "file", "--slot", "recovery", "--yes", "--json"];
    let answered = answered.rejoin(both).run();

    let suggestion = "It is the only slot. Add a second one: rejoin vault add-slot recovery";
    assert!(told.stderr.contains(suggestion), "{}", told.stderr);
    let answer = json(&answered);
    assert_eq!(answer["slots"].as_array().unwrap().len(), 2);
    assert!(answer["slots"][1]["recovery_key"].as_str().is_some_and(|key| key.len() > 30), "{answer}");
}

#[test]
fn a_backup_that_today_s_keys_do_not_open_is_not_restored() {
    let world = sealed();
    world.rejoin(["new", "--title", "Old"]).run();
    let copy = world.path("copy.db").display().to_string();
    world.rejoin(["backup", &copy]).run();
    let fits = world.rejoin(["restore", &copy, "--yes"]).run();
    world.rejoin(["vault", "rotate"]).run();
    world.rejoin(["new", "--title", "New"]).run();

    let refused = world.rejoin(["restore", &copy, "--yes"]).run();

    assert_eq!((fits.code, refused.code), (0, 1), "{fits:?} {refused:?}");
    assert!(fits.stderr.contains("rejoin.db\n  1 conversation, 0 messages, 0 B\n"), "{}", fits.stderr);
    let told = refused.stderr.replace('\n', " ");
    assert!(told.contains("open the copy with the keys that are at hand"), "{told}");
    assert!(told.contains("the backup is unlocked by what unlocked the vault when it was made"), "{told}");
    assert_eq!(titles(&world), ["New", "Old"]);
}

#[test]
fn a_restored_vault_is_used_at_once_and_the_restore_can_be_undone() {
    let world = sealed();
    world.rejoin(["new", "--title", "Old"]).run();
    let copy = world.path("copy.db").display().to_string();
    world.rejoin(["backup", &copy]).run();
    world.rejoin(["new", "--title", "New"]).run();

    let restored = world.rejoin(["restore", &copy, "--yes"]).run();
    let after = titles(&world);
    let undo =
        restored.stderr.lines().find_map(|line| line.strip_prefix("To undo: rejoin restore ")).unwrap();
    let undone =
        world.rejoin(["restore", &undo.replace("[world]", world.path("").to_str().unwrap()), "--yes"]).run();

    assert_eq!((restored.code, undone.code), (0, 0), "{restored:?} {undone:?}");
    let told = "Messages stored since the backup will only be in the old store.\n";
    assert!(restored.stderr.contains(told), "{}", restored.stderr);
    assert_eq!((after, titles(&world)), (vec!["Old".to_owned()], vec!["New".to_owned(), "Old".to_owned()]));
}

#[test]
fn a_restore_that_is_killed_anywhere_leaves_the_old_vault_or_can_be_run_again() {
    let Some(strace) = Strace::find() else { return };
    let mut kills = 0;
    for when in [1, 3, 5, 7, 9, 11, 13] {
        let world = sealed();
        world.rejoin(["new", "--title", "Old"]).run();
        let copy = world.path("copy.db").display().to_string();
        world.rejoin(["backup", &copy]).run();
        world.rejoin(["new", "--title", "New"]).run();
        let fault = format!("fsync,fdatasync,renameat2,rename,unlink:signal=KILL:when={when}");
        let program = world.program(&["restore", &copy, "--yes"]);
        let killed = strace.inject(&program, &fault, &world.path("trace")).output().unwrap();

        let halfway = world.rejoin(["list", "--json"]).run();
        let again = world.rejoin(["restore", &copy, "--yes"]).run();

        kills += usize::from(!killed.status.success());
        let is_told = halfway.code == 0
            || halfway.stderr.contains("is not there any more")
            || halfway.stderr.contains("older");
        assert!(is_told || halfway.stderr.contains("the anchor of the vault is gone"), "{when}: {halfway:?}");
        assert_eq!((again.code, titles(&world)), (0, vec!["Old".to_owned()]), "{when}: {again:?}");
    }
    assert!(kills >= 4, "{kills} attempts were killed");
}

#[test]
fn accepting_another_vault_shows_both_ids_and_asks() {
    let (here, other) = (sealed(), sealed());
    let ids = [&here, &other].map(|world| status(world)["vault"].as_str().unwrap().to_owned());
    other.rejoin(["new", "--title", "Theirs"]).run();
    put_in_place(&other, &here);
    let keys = "home/.local/state/rejoin/keys";
    let copied =
        Command::new("cp").arg("-a").arg(other.path(keys).join(".")).arg(here.path(keys)).status().unwrap();
    assert!(copied.success());

    let refused = here.rejoin(["list"]).run();
    let shown = here.rejoin(["vault", "status"]).run();
    let unasked = here.rejoin(["vault", "accept"]).run();
    let still = here.rejoin(["list"]).run();
    let accepted = here.rejoin(["vault", "accept", "--yes", "--json"]).run();

    let place = "[world]/home/.local/share/rejoin/rejoin.db";
    let told =
        format!("the vault at `{place}` is `{}`, and the one used there before is `{}`", ids[1], ids[0]);
    assert!(refused.stderr.contains(&told), "{}", refused.stderr);
    assert!(shown.stderr.contains(&format!("the one used here before, `{}`", ids[0])), "{}", shown.stderr);
    let both = format!("Vault used here before: {}\nVault that is here now: {}\n", ids[0], ids[1]);
    assert!(unasked.stderr.starts_with(&both), "{}", unasked.stderr);
    assert_eq!((refused.code, unasked.code, still.code, accepted.code), (1, 1, 1, 0), "{accepted:?}");
    assert_eq!(
        (&json(&accepted)["vault"], &json(&accepted)["before"]),
        (&ids[1].as_str().into(), &ids[0].as_str().into())
    );
    let listed = json(&here.rejoin(["list", "--all-projects", "--json"]).run());
    assert_eq!(listed["items"][0]["title"], "Theirs");
}

#[test]
fn a_vault_that_is_made_where_another_was_takes_its_place() {
    let world = sealed();
    let before = status(&world)["vault"].as_str().unwrap().to_owned();
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", world.store().display()));
    }

    let missing = world.rejoin(["list"]).run();
    let plain = world.rejoin(["--store", &format!("sqlite:{}", world.store().display()), "new"]).run();
    let made = world.rejoin(["vault", "init", "--slot", "file"]).run();

    assert_eq!((missing.code, plain.code, made.code), (1, 1, 0), "{missing:?} {plain:?} {made:?}");
    let told = format!("vault `{before}` was last used here and is missing");
    assert!(missing.stderr.contains(&told) && plain.stderr.contains(&told), "{missing:?} {plain:?}");
    assert!(made.stderr.contains(&format!("It replaces vault {before},")), "{}", made.stderr);
    assert_eq!(world.rejoin(["list"]).run().code, 0);
}

#[test]
fn a_vault_is_not_made_over_conversations() {
    let world = World::new();
    world.started("First");

    let outcome = world.rejoin(["vault", "init", "--slot", "file"]).run();

    let expected = "error: the store is not empty, so no vault can be created in it\n\
                    hint: run `rejoin vault encrypt` to encrypt a plain store, or `rejoin vault status` to see \
                    the slots of a vault\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
    assert_eq!(titles(&world), ["First"]);
}

#[test]
fn a_vault_that_is_gone_is_not_an_empty_one() {
    let world = sealed();
    std::fs::remove_file(world.store()).unwrap();
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", world.store().display()));
    }

    let listed = world.rejoin(["list"]).run();
    let appended = world.rejoin(["append", "x"]).run();

    assert_eq!((listed.code, appended.code, world.store().exists()), (1, 1, false));
    assert!(listed.stderr.contains("no vault at"), "{}", listed.stderr);
}

#[test]
fn an_older_copy_is_refused_until_it_is_accepted() {
    let world = World::new();
    let url = format!("vault+jsonl:{}", world.path("sealed").display());
    world.user_config(&format!("store = \"{url}\"\n"));
    world.rejoin(["vault", "init", "--slot", "file"]).run();
    world.rejoin(["new", "--title", "Old"]).run();
    let copy = |from: &str, to: &str| {
        let status = Command::new("cp").arg("-a").args([world.path(from), world.path(to)]).status().unwrap();
        assert!(status.success());
    };
    copy("sealed", "copy");
    world.rejoin(["new", "--title", "New"]).run();
    std::fs::remove_dir_all(world.path("sealed")).unwrap();
    copy("copy", "sealed");

    let told = world.rejoin(["vault", "status"]).run();
    let told_to_programs = world.rejoin(["vault", "status", "--json"]).run();
    let refused = world.rejoin(["list"]).run();
    let accepted = world.rejoin(["vault", "accept", "--yes"]).run();
    let told_after = world.rejoin(["vault", "status"]).run();

    assert!(told.stderr.contains("warning: it is an older copy of the vault"), "{}", told.stderr);
    assert!(told_to_programs.stderr.contains("it is an older copy of the vault"), "{told_to_programs:?}");
    assert!(!told_after.stderr.contains("older"), "{}", told_after.stderr);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("the store is older than at its last use"), "{}", refused.stderr);
    assert!(refused.stderr.contains("run `rejoin vault accept`"), "{}", refused.stderr);
    assert_eq!((accepted.code, titles(&world)), (0, vec!["Old".to_owned()]), "{}", accepted.stderr);
}

/// A session whose keyring is locked after a vault was made.
const SESSION: &str = r#"
"$REJOIN" vault init --json
"$REJOIN" new --title "In the vault" --quiet >/dev/null
"$REJOIN" vault rotate --json
"$REJOIN" list --json
unset DISPLAY
dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
    org.freedesktop.Secret.Service.Lock array:objpath:/org/freedesktop/secrets/collection/login >/dev/null
"$REJOIN" vault status --json
"$REJOIN" list --json
"#;

#[test]
fn a_real_keyring_opens_a_vault_and_a_locked_one_is_told() {
    let world = World::new();

    let Some([stdout, stderr]) = session(&world, SESSION, &[]) else { return };

    let answers: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [made, rotated, listed, status] = answers.as_slice() else { panic!("{stdout}{stderr}") };
    assert_eq!(made["slots"][0]["kind"], "keyring");
    assert_eq!((&rotated["epoch"], &rotated["kept"]), (&2.into(), &serde_json::json!([])));
    assert_eq!(listed["items"][0]["title"], "In the vault");
    // Locked: nothing is opened, and nothing empty takes its place.
    let failure = stderr.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap();
    let (vault, slot) = (status["vault"].as_str().unwrap(), status["slots"][0]["id"].as_str().unwrap());
    // Whoever would show the question is there or not, and is given up on a busy machine.
    let expected = ["unlocking it was refused", "it did not answer within 900ms; it may be locked"].map(|cause| {
        serde_json::json!({"error": {
            "kind": "denied",
            "message": format!(
                "could not open the vault `vault+sqlite:[world]/home/.local/share/rejoin/rejoin.db`: nothing available here unlocks vault `{vault}`: \
                 could not look for the secret of slot `{slot}` in the keyring: {cause}"
            ),
            "hint": UNLOCK,
        }})
    });
    assert!(expected.contains(&failure), "{stderr}");
}

/// What to do where nothing opens a vault.
const UNLOCK: &str = "unlock the keyring, or give a passphrase or recovery key in the terminal or with \
                      `--passphrase-file FILE`; `rejoin vault status` shows its slots";

/// What is told of a vault in the default place that does not open.
fn unopened(causes: &[&str], hint: &str) -> Outcome {
    let causes = causes.join(": ");
    let place = "vault+sqlite:[world]/home/.local/share/rejoin/rejoin.db";
    Outcome::failure(1, &format!("error: could not open the vault `{place}`: {causes}\nhint: {hint}\n"))
}

#[test]
fn without_a_keyring_another_slot_is_suggested_and_nothing_is_made() {
    let world = World::new();

    let outcome = world.rejoin(["vault", "init"]).run();

    let slot = outcome.stderr.split('`').nth(1).unwrap();
    let expected = format!(
        "error: could not keep the secret of slot `{slot}` in the keyring: no keyring service answers on this machine\n\
         hint: unlock the system keyring, or use another kind of slot: `passphrase`, `recovery` or `file`\n"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
    assert_eq!(world.rejoin(["vault", "init", "--slot", "file"]).run().code, 0);
}

#[test]
fn a_recovery_key_is_shown_though_the_configuration_cannot_be_written() {
    // Nobody can make a directory there, whoever they are.
    let nowhere = "/proc/self/nowhere";
    let [plain, structured] = [World::new(), World::new()];
    let init = ["vault", "init", "--slot", "recovery"];

    let told = plain.rejoin(init).variable("XDG_CONFIG_HOME", nowhere).run();
    let init = ["vault", "init", "--slot", "recovery", "--json"];
    let answered = structured.rejoin(init).variable("XDG_CONFIG_HOME", nowhere).run();

    let key = told.stdout.lines().find_map(|line| line.strip_prefix("  "));
    let answer = json(&answered);
    let lengths = [key, answer["slots"][0]["recovery_key"].as_str()].map(|key| key.map(str::len));
    assert_eq!((told.code, answered.code), (1, 1), "{told:?} {answered:?}");
    assert!(lengths[0].is_some() && lengths[0] == lengths[1], "{told:?} {answered:?}");
}

/// A world whose vault a key file opens, and the keyring of a laptop; answers the slot of that.
fn shared_with_a_laptop() -> (World, SlotId) {
    let world = World::new();
    let place = |name: &str| Arc::new(SecretFiles::new(world.path(name))) as Arc<dyn SecretStore>;
    let places =
        SecretStores { keyring: Some(place("laptop")), files: Some(place("home/.local/state/rejoin/keys")) };
    let keys = Some(Keyholder::new(places));
    let anchors = Some(world.path("home/.local/state/rejoin/anchors"));
    let access = rejoin::Access { keys, anchors, ..rejoin::Access::default() };
    let url = rejoin::StoreUrl::Sqlite(world.store()).sealed();
    world.user_config(&format!("store = \"{url}\"\n"));
    let keys = url.keys(&access, rejoin::Existing::Optional).unwrap();
    let added = keys.create(&[NewSlot::File, NewSlot::Keyring], rejoin::Time::now()).unwrap();
    (world, added[1].id)
}

#[test]
fn a_slot_of_another_machine_is_told_apart_from_a_keyring_that_does_not_answer() {
    let (world, slot) = shared_with_a_laptop();
    let bus = world.path("bus");
    let _listener = std::os::unix::net::UnixListener::bind(&bus).unwrap();
    let silent = format!("unix:path={}", bus.display());

    let absent = world.rejoin(["vault", "rotate"]).run();
    let unreached = world.rejoin(["vault", "rotate"]).variable("DBUS_SESSION_BUS_ADDRESS", &silent).run();

    let warning = |why: &str, hint: &str| {
        format!(
            "warning: slot `{slot}` kept its secret, because {why}; an older copy of the vault opens with it\n\
             hint: {hint}\n"
        )
    };
    let expected = [
        warning("it is not on this machine", "rotate there too, or remove the slot"),
        warning(
            "its place did not answer",
            "unlock the keyring and run `rejoin vault rotate` again, or remove the slot",
        ),
    ];
    assert_eq!([absent.stderr, unreached.stderr], expected);
}

#[test]
fn a_purge_does_not_wait_for_the_keyring_of_another_machine() {
    let (world, _) = shared_with_a_laptop();
    world.rejoin(["new", "--title", "Old"]).run();

    let report = json(&world.rejoin(["purge", "old", "--yes", "--json"]).run());
    let epoch = status(&world)["epoch"].clone();
    let again = json(&world.rejoin(["purge", "--everything", "--yes", "--json"]).run());

    assert_eq!((&report["keys"], &again["keys"], epoch), (&"kept".into(), &"kept".into(), 2.into()));
}

/// Puts the store of one world in the place of that of another.
pub(crate) fn put_in_place(from: &World, to: &World) {
    for suffix in ["", "-wal", "-shm"] {
        let [from, to] = [from, to].map(|world| format!("{}{suffix}", world.store().display()));
        let _ = std::fs::remove_file(&to);
        if suffix != "-shm" {
            let _ = std::fs::copy(from, to);
        }
    }
}

/// Changes a letter in the last message of a vault, as somebody with a hex editor would.
pub(crate) fn damage(world: &World) {
    damage_before(world, 0);
}

/// The same with a message that so many follow.
pub(crate) fn damage_before(world: &World, followers: u64) {
    let inner = rejoin::store::SqliteStore::open(world.store()).unwrap();
    let row = inner.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);
    drop(inner);
    let raw = rusqlite::Connection::open(world.store()).unwrap();
    let one = "SELECT m.key, m.body FROM message m JOIN conversation c ON m.key >> 32 = c.n
        WHERE c.id = ?1 ORDER BY m.key DESC LIMIT 1 OFFSET ?2";
    let found = raw.query_row(one, (row.id.as_bytes(), followers.cast_signed()), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
    });
    let (key, mut body) = found.unwrap();
    let middle = body.len() / 2;
    body[middle] ^= 1;
    assert_eq!(raw.execute("UPDATE message SET body = ?2 WHERE key = ?1", (key, body)).unwrap(), 1);
}

#[test]
fn what_does_not_open_is_named_by_verify_doctor_and_events() {
    let world = sealed();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.rejoin(["append", "Where to eat?"]).run();
    world.rejoin(["append", "In Alfama."]).run();
    damage(&world);

    let verified = world.rejoin(["verify"]).run();
    let checks = json(&world.rejoin(["doctor", "--json"]).run());
    let events = world.rejoin(["events"]).run();

    assert_ne!(verified.code, 0);
    assert!(verified.stdout.contains("In quarantine: message of "), "{}", verified.stdout);
    let check =
        checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "quarantine").unwrap();
    assert_eq!(check["state"], "warning");
    assert!(check["message"].as_str().unwrap().starts_with("1 record does not open: message of "), "{check}");
    assert!(check["remedy"].as_str().unwrap().contains("rejoin restore PATH"), "{check}");
    let told = events.stdout.lines().find(|line| line.contains("record.quarantined")).unwrap();
    assert!(told.contains("message  it was changed or moved since it was sealed"), "{told}");
}

#[test]
fn what_was_long_in_quarantine_goes_with_a_sweep_and_is_audited() {
    let world = sealed();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.rejoin(["append", "Where to eat?"]).run();
    world.rejoin(["append", "In Alfama."]).run();
    damage(&world);
    world.rejoin(["verify"]).run();
    world.rejoin(["config", "set", "retention.days", "forever"]).run();

    let kept = world.rejoin(["expire"]).run();
    world.rejoin(["config", "set", "vault.quarantine_days", "0"]).run();
    let gone = world.rejoin(["expire"]).run();

    let told = "1 record that does not open went after its time in quarantine. More: rejoin audit\n";
    assert_eq!((kept.stderr.as_str(), gone.stderr.as_str()), ("", told));
    let audit = json(&world.rejoin(["audit", "--json"]).run());
    let entries = audit["items"].as_array().unwrap()[..2].iter();
    let entries: Vec<_> =
        entries.map(|entry| (entry["action"].as_str().unwrap(), entry["reason"].as_str().unwrap())).collect();
    let reason = "corruption-detected";
    assert_eq!(entries, [("purge-completed", reason), ("purged", reason)]);
    let events = world.rejoin(["events"]).run().stdout;
    let told = events.lines().find(|line| line.contains("privacy.purge.completed")).unwrap();
    assert!(told.contains("1 message  corruption-detected"), "{told}");
    assert_eq!(world.rejoin(["verify"]).run().code, 0);
}

#[test]
fn what_a_vault_keeps_is_exported_when_it_is_allowed_or_forced_and_both_are_audited() {
    let world = World::new();
    let made = world.rejoin(["vault", "init", "--slot", "file"]).run();
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.rejoin(["append", "Where to eat?"]).run();
    let listed = json(&world.rejoin(["list", "--json"]).run());
    let short = crate::world::short(listed["items"][0]["id"].as_str().unwrap());
    let export = |more: &[&str]| {
        let arguments = [&["export", &short, "--output", "out.md"], more].concat();
        world.program(&arguments).output().unwrap()
    };

    let refused = export(&[]);
    let unasked = export(&["--force"]);
    let forced = export(&["--force", "--yes"]);
    let kept = world.rejoin(["keep", &short, "--exportable"]).run();
    let allowed = export(&["--yes"]);

    assert!(
        made.stderr.contains("is not exported, handed off or committed unless you say so"),
        "{}",
        made.stderr
    );
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains(&format!("run `rejoin keep {short} --exportable yes`")), "{told}");
    let codes = [refused, unasked, forced, allowed].map(|output| output.status.code());
    assert_eq!((codes, kept.code), ([Some(1), Some(1), Some(0), Some(0)], 0));
    let audit = json(&world.rejoin(["audit", "--json"]).run());
    let told: Vec<&str> =
        audit["items"].as_array().unwrap().iter().map(|entry| entry["reason"].as_str().unwrap()).collect();
    assert_eq!(told, ["user-requested", "forced"]);
}

#[test]
fn a_secret_in_a_vault_is_scrubbed_from_every_record() {
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let world = sealed();
    let unredacted = |arguments: [&str; 2]| {
        let outcome = world.rejoin(arguments).variable("REJOIN_REDACT_ENABLED", "false").run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    };
    unredacted(["new", &format!("--title=Use {TOKEN}")]);
    unredacted(["append", &format!("the key is {TOKEN}")]);
    unredacted(["append", "harmless words"]);
    let found = json(&world.rejoin(["search", TOKEN, "--json"]).run());

    let scrubbed = world.rejoin(["scrub", "--all", "--yes"]).run();

    let hits =
        |text: &str| json(&world.rejoin(["search", text, "--json"]).run())["items"].as_array().unwrap().len();
    assert_eq!((found["items"].as_array().unwrap().len(), scrubbed.code), (1, 0), "{scrubbed:?}");
    assert_eq!((hits(TOKEN), hits("16C7e42F292c"), hits("harmless")), (0, 0, 1));
    let listed = world.rejoin(["list", "--json"]).run().stdout;
    assert!(!listed.contains(&TOKEN[4..]) && listed.contains("[redacted:github-token:"), "{listed}");
    assert_eq!(world.rejoin(["verify"]).run().code, 0);
    assert!(world.rejoin(["scrub", "--all", "--dry-run"]).run().stdout.contains("No secrets found"));
}

#[test]
fn a_vault_of_another_workspace_is_told_with_what_to_do() {
    let (here, other) = (sealed(), sealed());
    other.rejoin(["new", "--title", "Theirs"]).run();
    put_in_place(&other, &here);
    // Nothing is known here of the place any more.
    std::fs::remove_dir_all(here.path("home/.local/state/rejoin/anchors")).unwrap();

    let vault = status(&other)["vault"].as_str().unwrap().to_owned();
    let slot = status(&other)["slots"][0]["id"].as_str().unwrap().to_owned();
    let outcome = here.rejoin(["list"]).run();

    let told = [
        format!("nothing available here unlocks vault `{vault}`"),
        format!("the secret of the file slot `{slot}` of vault `{vault}` is not here"),
    ];
    assert_eq!(outcome, unopened(&[&told[0], &told[1]], UNLOCK));
}
