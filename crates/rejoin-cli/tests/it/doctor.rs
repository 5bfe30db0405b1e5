//! `rejoin doctor`: every fault is planted for real, named, and has a remedy.
//!
//! A network file system cannot be mounted here; that one is tested where the
//! number of a file system is read.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process;

use rejoin::{Conversation, Message, Redaction, Time};
use rusqlite::Connection;
use serde_json::Value as Json;

use crate::planting::{NOBODY, SmallDisk, is_root};
use crate::world::{Invocation, Outcome, World};

/// The checks that are not in order: name, state, message, remedy.
type Ailing = Vec<[String; 4]>;

fn ailing(outcome: &Outcome) -> Ailing {
    let answer: Json = serde_json::from_str(&outcome.stdout).unwrap();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let checks = answer["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["state"] != "ok")
        .map(|check| ["name", "state", "message", "remedy"].map(|field| text(&check[field])))
        .collect()
}

fn doctor(world: &World) -> Invocation<'_> {
    world.rejoin(["doctor", "--json"])
}

fn expect(name: &str, state: &str, message: &str, remedy: &str) -> [String; 4] {
    [name, state, message, remedy].map(str::to_owned)
}

const BACKUP: &str =
    "run `rejoin verify` to see what can be read, and put a backup back with `rejoin restore PATH`";

#[test]
fn a_sound_store_has_nothing_wrong() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);

    let outcome = doctor(&world).run();

    assert_eq!((ailing(&outcome), outcome.code), (Ailing::new(), 0));
}

/// Put together here, so that nobody takes it for one that was lost.
const SECRET: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

const KEY: &str = "home/.local/state/rejoin/redact.key";

#[test]
fn a_key_of_redaction_that_is_missing_is_named_where_something_was_taken_out() {
    let world = World::new();
    world.rejoin([&format!("my key: {SECRET}")]).run();
    let sound = doctor(&world).run();
    fs::remove_file(world.path(KEY)).unwrap();

    let outcome = doctor(&world).run();

    let message = format!(
        "the key `[world]/{KEY}` is missing: secrets that were said before get other digits when they are said again"
    );
    let remedy = format!("run `cp COPY [world]/{KEY}` if there is a copy; else the next secret makes one");
    assert_eq!((ailing(&sound), sound.code), (Ailing::new(), 0));
    assert_eq!(
        (ailing(&outcome), outcome.code),
        (vec![expect("redaction", "warning", &message, &remedy)], 0)
    );
}

#[test]
fn a_key_of_redaction_that_others_may_read_is_tightened() {
    let world = World::new();
    world.rejoin([&format!("my key: {SECRET}")]).run();
    fs::set_permissions(world.path(KEY), Permissions::from_mode(0o644)).unwrap();

    let outcome = doctor(&world).run();
    let fixed = world.rejoin(["doctor", "--fix", "--json"]).run();

    let message = format!("others may read `[world]/{KEY}` (mode 644)");
    let remedy = format!("run `chmod 600 [world]/{KEY}`, or `rejoin doctor --fix`");
    assert_eq!(ailing(&outcome), [expect("redaction", "problem", &message, &remedy)]);
    assert_eq!((ailing(&fixed), fixed.code), (Ailing::new(), 0));
    assert_eq!(fs::metadata(world.path(KEY)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_key_of_redaction_that_is_none_is_named_with_a_way_to_a_new_one() {
    let world = World::new();
    world.started("Lisbon");
    world.write(KEY, "short");
    fs::set_permissions(world.path(KEY), Permissions::from_mode(0o600)).unwrap();

    let outcome = doctor(&world).run();

    let message = format!(
        "the key of redaction `[world]/{KEY}` does not have 32 bytes; equal secrets get different digits until it can be read"
    );
    let shown = format!("[world]/{KEY}");
    let remedy =
        format!("run `ls -l {shown}`; put a copy back there, or run `mv {shown} {shown}.old` for a new one");
    assert_eq!(
        (ailing(&outcome), outcome.code),
        (vec![expect("redaction", "problem", &message, &remedy)], 1)
    );
}

#[test]
fn a_key_of_redaction_in_the_store_is_named_and_moved_out() {
    let world = World::new();
    world.started("Lisbon");
    let archive = world.archive().with_redaction(Redaction::new());
    let mut talk = archive.start(Conversation::new()).unwrap();
    talk.append(Message::user(format!("my key: {SECRET}"))).unwrap();
    drop((talk, archive));

    let outcome = doctor(&world).run();
    let fixed = world.rejoin(["doctor", "--fix", "--json"]).run();

    let message = "the key of redaction lies in the store: whoever has its files can try out numbers";
    assert_eq!(ailing(&outcome), [expect("redaction", "warning", message, "run `rejoin doctor --fix`")]);
    assert_eq!((ailing(&fixed), fixed.code), (Ailing::new(), 0));
    assert_eq!((world.path(KEY).exists(), world.archive().redaction().holds_key().unwrap()), (true, false));
}

#[test]
fn a_conversation_with_a_call_that_was_never_answered_is_named_and_is_no_problem() {
    let world = World::new();
    let id = world.started("Lisbon");
    world.append("lisbon", r#"{"role":"user","content":"Where to eat?"}"#);
    let sound = doctor(&world).run();
    world.append(
        "lisbon",
        r#"{"role":"assistant","content":[{"type":"tool_call","id":"c1","name":"read","input":{}}]}"#,
    );

    let outcome = doctor(&world).run();

    let history = |outcome: &Outcome| {
        let answer: Json = serde_json::from_str(&outcome.stdout).unwrap();
        let checks = answer["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "history").unwrap()
    };
    let message = format!(
        "1 conversation needs mending: {} \"Lisbon\" (1 call without a result)",
        crate::world::short(&id)
    );
    let remedy = "nothing to do: what a model is sent is mended, what is stored stays as it is; \
                  `rejoin show ID --view chat` shows how";
    assert_eq!(history(&sound)["message"], "no conversation needs mending");
    assert_eq!(
        history(&outcome),
        serde_json::json!({"name": "history", "state": "ok", "message": message, "remedy": remedy})
    );
    assert_eq!((ailing(&outcome), outcome.code), (Ailing::new(), 0));
}

#[test]
fn a_machine_without_a_store_has_nothing_wrong_and_gets_none() {
    let world = World::new();

    let outcome = doctor(&world).run();

    assert_eq!((ailing(&outcome), outcome.code, world.store().exists()), (Ailing::new(), 0, false));
}

#[test]
fn files_that_others_may_read_are_named_and_mended() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.user_config("log = \"off\"\n");
    let files = [
        ("home/.config/rejoin/config.toml", 0o644),
        ("home/.local/share/rejoin", 0o755),
        ("home/.local/share/rejoin/rejoin.db", 0o640),
        ("home/.local/share/rejoin/rejoin.db-wal", 0o666),
        ("home/.local/share/rejoin/rejoin.db-shm", 0o644),
    ];
    files.iter().for_each(|(file, mode)| {
        fs::set_permissions(world.path(file), Permissions::from_mode(*mode)).unwrap();
    });

    let before = doctor(&world).run();
    let mending = world.rejoin(["doctor", "--fix", "--json"]).run();
    let after = doctor(&world).run();

    let told = |file: &str, state: &str, verb: &str, mode: &str, wanted: &str| {
        let message = format!("others may {verb} `[world]/home/{file}` (mode {mode})");
        let remedy = format!("run `chmod {wanted} '[world]/home/{file}'`, or `rejoin doctor --fix`");
        // The temporary directory may have a plain name, which needs no quotes.
        expect("permissions", state, &message, &remedy.replace('\'', ""))
    };
    let data = ".local/share/rejoin";
    let expected = vec![
        told(".config/rejoin/config.toml", "warning", "read", "644", "600"),
        told(data, "problem", "read", "755", "700"),
        told(&format!("{data}/rejoin.db"), "problem", "read", "640", "600"),
        told(&format!("{data}/rejoin.db-wal"), "problem", "change", "666", "600"),
        told(&format!("{data}/rejoin.db-shm"), "problem", "read", "644", "600"),
    ];
    assert_eq!((ailing(&before), before.code), (expected, 1));
    assert_eq!((ailing(&mending), mending.code), (Ailing::new(), 0));
    assert_eq!((ailing(&after), after.code), (Ailing::new(), 0));
}

#[test]
fn a_store_of_another_user_is_named() {
    if !is_root("give files away") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.fold();
    chown(world.store(), Some(NOBODY), None).unwrap();

    let outcome = doctor(&world).run();

    let expected = expect(
        "owner",
        "problem",
        "`[world]/home/.local/share/rejoin/rejoin.db` belongs to user 65534, and you are user 0",
        "run `sudo chown 0 [world]/home/.local/share/rejoin/rejoin.db`",
    );
    // SQLite gives the files beside the store to its owner.
    assert_eq!((ailing(&outcome).first(), outcome.code), (Some(&expected), 1));
}

#[test]
fn a_full_disk_is_named() {
    if !is_root("mount a small disk") {
        return;
    }
    let world = World::new();
    let disk = SmallDisk::mount(world.path("small"));
    let store = format!("sqlite:{}", disk.path("rejoin.db").display());
    world.rejoin(["new", "--store", &store]).run();

    let outcome = doctor_of(&world, &store).run();

    let [name, state, message, remedy] = ailing(&outcome).remove(0);
    let expected =
        expect("space", "problem", &message, "free some space; `rejoin clean --dry-run` shows what could go");
    assert_eq!(([name, state, message.clone(), remedy], outcome.code), (expected, 1));
    assert!(message.starts_with("the disk is full: "), "{message}");
}

fn doctor_of<'a>(world: &'a World, store: &str) -> Invocation<'a> {
    world.rejoin(["doctor", "--json", "--store", store])
}

#[test]
fn a_running_process_that_holds_the_lock_is_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    let holder = Connection::open(world.store()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();

    let outcome = doctor(&world).run();

    let id = process::id();
    let expected = expect(
        "lock",
        "problem",
        &format!("process {id} keeps the store locked"),
        &format!("wait for it to end, or see what it is with `ps -p {id}`"),
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn what_a_dead_restore_left_behind_is_told_apart_from_a_lock() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.write("home/.local/share/rejoin/rejoin.db.part-99999999-x3kq9z", "half a copy");
    // A log without a process is no lock either: it is how a store rests.
    let log = fs::metadata(world.path("home/.local/share/rejoin/rejoin.db-wal")).unwrap().len();

    let outcome = doctor(&world).run();

    let file = "[world]/home/.local/share/rejoin/rejoin.db.part-99999999-x3kq9z";
    let expected = expect(
        "copies",
        "warning",
        &format!("an interrupted copy left `{file}` behind"),
        &format!("run `rm {file}`; the store does not need it"),
    );
    assert!(log > 0);
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 0));
}

#[test]
fn a_store_that_a_restore_replaced_is_named_until_it_is_removed() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.rejoin(["backup", "monday.db"]).run();
    world.rejoin(["restore", "monday.db", "--yes"]).run();

    let outcome = doctor(&world).run();

    let [name, state, message, remedy] = ailing(&outcome).remove(0);
    assert_eq!([name.as_str(), &state], ["copies", "warning"]);
    assert!(message.starts_with("the store that was replaced is still kept in `[world]/home/"), "{message}");
    assert!(remedy.ends_with("` once you are sure of the new one"), "{remedy}");
    assert_eq!(outcome.code, 0);
}

#[test]
fn an_index_that_is_far_behind_is_named_and_filled() {
    let world = World::new();
    let mut talk = world.archive().start(Conversation::titled("Lisbon")).unwrap();
    talk.append_linear((0..1_001).map(|number| Message::user(format!("question {number}"))).collect())
        .unwrap();
    drop(talk);
    world.sql(
        "UPDATE conversation SET indexed = 0; DELETE FROM document;
         INSERT INTO words (words) VALUES ('delete-all')",
    );

    let before = doctor(&world).run();
    let mending = world.rejoin(["doctor", "--fix", "--json"]).run();
    let after = doctor(&world).run();

    let message = "1001 messages are not in the search index";
    let expected = vec![expect("search index", "warning", message, "run `rejoin doctor --fix`")];
    assert_eq!([ailing(&before), ailing(&mending), ailing(&after)], [expected, Ailing::new(), Ailing::new()]);
}

#[test]
fn conversations_past_their_expiry_are_counted() {
    let world = World::new();
    let id = world.talk("Lisbon", &["Where to eat?"]);
    world.archive().update(id, |conversation| conversation.expires_at = Some(Time::from_micros(1))).unwrap();

    let outcome = doctor(&world).run();

    let expected = expect(
        "attention",
        "warning",
        "1 conversation past expiry",
        "run `rejoin expire --dry-run` to see what will go, or `rejoin keep ID` to keep one",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 0));
}

#[test]
fn a_log_that_lost_its_store_is_named() {
    let world = World::new();
    world.write("home/.local/share/rejoin/rejoin.db-wal", "acknowledged");
    let directory = world.path("home/.local/share/rejoin");
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(directory.join("rejoin.db-wal"), Permissions::from_mode(0o600)).unwrap();

    let outcome = doctor(&world).run();

    let expected = expect(
        "log",
        "problem",
        "the log `[world]/home/.local/share/rejoin/rejoin.db-wal` is there, and its store is not",
        "keep the log: put the store back beside it, or a backup with `rejoin restore PATH`",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn a_damaged_page_is_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?", "a needle", &"hay ".repeat(20_000)]);
    world.corrupt_page_with("a needle");

    let outcome = doctor(&world).run();

    let [name, state, message, remedy] = ailing(&outcome).remove(0);
    assert_eq!([name.as_str(), &state, &remedy], ["structure", "problem", BACKUP]);
    assert!(message.starts_with("damaged page: "), "{message}");
    assert_eq!(outcome.code, 1);
}

#[test]
fn a_damaged_list_of_conversations_is_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.corrupt_page_with("\"title\":\"Lisbon\"");

    let outcome = doctor(&world).run();

    let told = ailing(&outcome);
    let named = |start: &str| {
        told.iter().any(|[name, _, message, _]| name == "structure" && message.starts_with(start))
    };
    assert!(named("damaged page: "), "{told:?}");
    assert!(named("the list of conversations cannot be read: "), "{told:?}");
    assert_eq!(outcome.code, 1);
}

#[test]
fn a_broken_chain_is_named() {
    let world = World::new();
    let id = world.talk("Lisbon", &["Where to eat?", "And to sleep?"]);
    world.sql("UPDATE message SET body = replace(body, 'to eat', 'to sit')");
    let message: String = world.archive().path(id, None).unwrap()[0].id.to_string();

    let outcome = doctor(&world).run();

    let what = format!("{}: message {message} does not match its digest", id.short());
    assert_eq!((ailing(&outcome), outcome.code), (vec![expect("messages", "problem", &what, BACKUP)], 1));
}

#[test]
fn rows_that_belong_to_nothing_are_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.sql("DELETE FROM conversation");

    let outcome = doctor(&world).run();

    let expected = expect("structure", "problem", "messages without a conversation", BACKUP);
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn a_newer_schema_is_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.sql("PRAGMA user_version = 99");

    let outcome = doctor(&world).run();

    let expected = expect(
        "schema",
        "problem",
        "`[world]/home/.local/share/rejoin/rejoin.db` was written by a newer Rejoin (schema 99, this one knows 4)",
        "use the newer rejoin, or another store with `--store sqlite:PATH`",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn a_broken_configuration_is_named_with_its_line() {
    let world = World::new();
    world.user_config("log = \"off\"\nretention.dais = 30\n");
    fs::set_permissions(world.path("home/.config/rejoin/config.toml"), Permissions::from_mode(0o600))
        .unwrap();

    let outcome = doctor(&world).run();

    let expected = expect(
        "configuration",
        "problem",
        "could not read `[world]/home/.config/rejoin/config.toml:2`: unknown key `retention.dais`",
        "did you mean `retention.days`?",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn a_clock_that_is_behind_the_store_is_named() {
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.sql("UPDATE conversation SET active = 4102444800000000");

    let outcome = doctor(&world).run();

    let [name, state, message, remedy] = ailing(&outcome).remove(0);
    let expected = ["clock", "warning", "look at the clock with `date`, and set it if it is wrong"];
    assert_eq!([name.as_str(), &state, &remedy], expected);
    assert!(message.ends_with(", and something was stored at 2100-01-01 00:00Z"), "{message}");
    assert_eq!(outcome.code, 0);
}

#[test]
fn a_key_file_that_cannot_be_read_is_named() {
    let world = World::new();
    world.user_config("[providers.local]\nkind = \"openai-chat\"\napi_key_command = \"cat ~/.keys/local\"\n");
    fs::set_permissions(world.path("home/.config/rejoin/config.toml"), Permissions::from_mode(0o600))
        .unwrap();

    let outcome = doctor(&world).variable("REJOIN_PASSPHRASE_FILE", "/nowhere/passphrase").run();

    let expected = vec![
        expect(
            "keys",
            "problem",
            "the key file `/nowhere/passphrase` cannot be read: no such file or directory",
            "correct `REJOIN_PASSPHRASE_FILE`, or run `ls -l /nowhere/passphrase`",
        ),
        expect(
            "keys",
            "problem",
            "the key file `[world]/home/.keys/local` cannot be read: no such file or directory",
            "correct `providers.local.api_key_command`, or run `ls -l [world]/home/.keys/local`",
        ),
    ];
    assert_eq!((ailing(&outcome), outcome.code), (expected, 1));
}

#[test]
fn settings_that_do_not_count_are_named() {
    let world = World::new();
    world.project_config("retention.days = 7\n");

    let outcome = doctor(&world).run();

    let expected = expect(
        "trust",
        "warning",
        "ignored `retention.days` in `[world]/project/.rejoin/config.toml:1`: the project is not trusted",
        "run `rejoin trust` in [world]/project to see what the file sets and to allow it",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 0));
}

#[test]
fn a_directory_that_may_not_be_entered_is_named() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    world.talk("Lisbon", &["Where to eat?"]);
    world.give_to(NOBODY);
    fs::set_permissions(world.path("home/.local/share/rejoin"), Permissions::from_mode(0o000)).unwrap();

    let outcome = doctor(&world).by_user(NOBODY).run();

    let expected = expect(
        "store",
        "problem",
        "look at `[world]/home/.local/share/rejoin/rejoin.db`: Permission denied (os error 13)",
        "see whose it is with `ls -la [world]/home/.local/share/rejoin`",
    );
    assert_eq!((ailing(&outcome), outcome.code), (vec![expected], 1));
}

#[test]
fn a_person_reads_what_is_wrong_below_its_name() {
    let world = World::new();
    world.write("home/.local/share/rejoin/rejoin.db", "a shopping list");
    fs::set_permissions(world.path("home/.local/share/rejoin"), Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(world.store(), Permissions::from_mode(0o600)).unwrap();

    let outcome = world.rejoin(["doctor"]).run();

    let told = "\
problem  store          `[world]/home/.local/share/rejoin/rejoin.db` is not a Rejoin database
                        -> name another store with `--store`, or put a backup there with `rejoin restore PATH`
";
    assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("error: 1 problem found\n", 1));
}
