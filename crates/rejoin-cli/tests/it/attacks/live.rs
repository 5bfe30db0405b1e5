//! The store changes under a running program: its files are taken away, or the
//! conversation that is talked in is deleted.
//!
//! Nothing is acknowledged that nobody finds again, and whoever talks is told. The control is the same
//! run where nothing happens to the store.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use rejoin::{Archive, List};
use serde_json::Value;

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::model_server::{ModelServer, reply};
use crate::terminal::Terminal;
use crate::world::{Outcome, World, short};

/// Removes the files of a database.
fn remove(store: &Path) {
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", store.display()));
    }
}

/// Puts a copy of a database in its place.
fn replace(store: &Path) {
    let copy = store.with_extension("copy");
    fs::copy(store, &copy).unwrap();
    fs::rename(copy, store).unwrap();
}

/// Whether `append --jsonl -` acknowledges a line after something was done to
/// the store, and says that all went well.
fn appends(world: &World, done: impl Fn(&Path), target: Target) -> bool {
    let id = world.started("Lisbon");
    let mut child = world.program(&["append", &id, "--jsonl", "-"]).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut receipts = BufReader::new(output).lines();
    input.write_all(b"{\"role\":\"user\",\"content\":\"one\"}\n").unwrap();
    let first = receipts.next().unwrap().unwrap();
    if target == Target::Guarded {
        done(&world.store());
    }
    // A program that has ended reads no more.
    let _ = input.write_all(b"{\"role\":\"user\",\"content\":\"two\"}\n");
    drop(input);
    let second = receipts.next();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(first.contains("\"seq\":1"), "{first}");
    assert!(ended.status.success() || told.contains("while it was open"), "{told}");
    second.is_some() || ended.status.success()
}

#[test]
fn a_line_is_not_acknowledged_after_the_database_was_taken_away() {
    assert_all_fail(&[
        Attempt::new("its files are removed", |target| appends(&World::new(), remove, target)),
        Attempt::new("a copy is moved over it", |target| appends(&World::new(), replace, target)),
        Attempt::new("its directory is moved", |target| {
            let moved = |store: &Path| {
                let directory = store.parent().unwrap();
                fs::rename(directory, directory.with_extension("moved")).unwrap();
            };
            appends(&World::new(), moved, target)
        }),
        Attempt::new("its log is removed", |target| {
            let without_log = |store: &Path| fs::remove_file(format!("{}-wal", store.display())).unwrap();
            appends(&World::new(), without_log, target)
        }),
        Attempt::new("it is cut short", |target| {
            let cut = |store: &Path| fs::File::options().write(true).open(store).unwrap().set_len(0).unwrap();
            appends(&World::new(), cut, target)
        }),
        Attempt::new("the file of a vault is removed", |target| {
            let world = World::new();
            let made = world.rejoin(["vault", "init", "--slot", "file"]).run();
            assert_eq!(made.code, 0, "{made:?}");
            let id = world.rejoin(["new", "--title", "Lisbon"]).run().stdout;
            let mut child = world.program(&["append", id.trim(), "--jsonl", "-"]).spawn().unwrap();
            let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut receipts = BufReader::new(output).lines();
            input.write_all(b"{\"role\":\"user\",\"content\":\"one\"}\n").unwrap();
            receipts.next().unwrap().unwrap();
            if target == Target::Guarded {
                remove(&world.store());
            }
            let _ = input.write_all(b"{\"role\":\"user\",\"content\":\"two\"}\n");
            drop(input);
            receipts.next().is_some() | child.wait().unwrap().success()
        }),
    ]);
}

/// A talk of one message, with what the program says, while whose reply something is done to the store.
fn talked(
    arguments: &[&str],
    config: &str,
    done: impl Fn(&Path) + Send + Sync + 'static,
) -> (World, Outcome) {
    let world = World::new();
    world.started("Lisbon");
    let store = world.store();
    let server = ModelServer::start(move |request| {
        // A request for a title comes without tools.
        if request["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
            done(&store);
        }
        reply("In Alfama.")
    });
    world.user_config(&format!("{config}{}", server.config()));
    let output = world.program(arguments).stdin(std::process::Stdio::null()).output().unwrap();
    let outcome = Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    };
    (world, outcome)
}

fn events(outcome: &Outcome) -> Vec<Value> {
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn a_talk_whose_database_is_removed_says_that_it_is_not_saved() {
    let config = "persistence.on_error = \"fail\"\n";
    let arguments = ["--json", "-n", "Where to eat?"];

    let (world, removed) = talked(&arguments, config, remove);
    let (_, untouched) = talked(&arguments, config, |_| ());

    // The message was saved before the reply was asked for.
    assert_eq!((removed.code, named(&events(&removed), "saved").len()), (1, 1), "{removed:?}");
    assert!(removed.stderr.contains("was removed, moved or replaced while it was open"), "{removed:?}");
    assert!(!world.store().exists());
    assert_eq!((untouched.code, named(&events(&untouched), "saved").len()), (0, 2), "{untouched:?}");
}

/// Deletes every conversation, as another program would.
fn delete_all(store: &Path) {
    let archive = Archive::open(&format!("sqlite:{}", store.display())).unwrap();
    let ids: Vec<_> = archive.list(&List::default()).unwrap().items.iter().map(|stored| stored.id).collect();
    archive.removal().delete(&ids, "no longer wanted");
}

#[test]
fn a_talk_whose_conversation_is_deleted_names_the_one_that_it_goes_on_in() {
    let (world, json) = talked(&["--json", "-n", "Where to eat?"], "", delete_all);
    let (_, plain) = talked(&["--quiet", "-n", "Where to eat?"], "", delete_all);

    let left = world.archive().list(&List::default()).unwrap().items;
    let (events, new) = (events(&json), left[0].id.to_string());
    let [deleted] = named(&events, "conversation_deleted")[..] else { panic!("{json:?}") };
    assert_eq!((left.len(), json.code), (1, 0), "{json:?}");
    assert_eq!((&deleted["conversation"], &deleted["short"]), (&new.as_str().into(), &short(&new).into()));
    assert_eq!(deleted["deleted"], named(&events, "saved")[0]["conversation"]);
    assert_eq!(named(&events, "done")[0]["conversation"], new);
    assert!(plain.stderr.contains("was deleted meanwhile. What is said from now on is saved"), "{plain:?}");
}

#[test]
fn a_talk_that_is_not_saved_sends_no_receipts() {
    let sends = |arguments: &'static [&'static str], config: &'static str| {
        move |target: Target| {
            let (arguments, config) = match target {
                Target::Guarded => (arguments, config),
                Target::Control => (&["--json", "hello there"][..], ""),
            };
            let (_, outcome) = talked(arguments, config, |_| ());
            !named(&events(&outcome), "saved").is_empty()
        }
    };
    assert_all_fail(&[
        Attempt::new("incognito", sends(&["--json", "-G", "hello there"], "")),
        Attempt::new("turned off", sends(&["--json", "hello there"], "persistence.enabled = false\n")),
        Attempt::new("in memory", sends(&["--json", "--store", "memory:", "hello there"], "")),
    ]);
}

/// Says something at the prompt, and waits for the next line.
fn say(terminal: &Terminal<'_>, line: &str) -> String {
    terminal.enter(line);
    terminal.wait_until("the line to be taken", |screen| screen.contains(line));
    terminal.wait_until("the prompt", |screen| {
        let last = screen.lines().rev().find(|own| !own.trim().is_empty());
        last.is_some_and(|own| matches!(own.trim_end(), ">" | "not saved>"))
    })
}

/// The words of a screen, however they are wrapped.
fn unwrapped(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_farewell_names_a_conversation_that_can_be_resumed() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 120, 60) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    say(&terminal, "my bicycle is green");

    delete_all(&world.store());
    let told = unwrapped(&say(&terminal, "my boat is blue"));
    terminal.enter("/quit");
    let first = unwrapped(&terminal.wait_for_last("$"));
    let new = world.archive().list(&List::default()).unwrap().items[0].id;
    terminal.enter("clear; rejoin -r");
    terminal.wait_for_last(">");
    delete_all(&world.store());
    terminal.key("C-d");
    let second = unwrapped(&terminal.wait_for_last("$"));

    assert!(told.contains("was deleted meanwhile. What is said from now on is saved in a new one"), "{told}");
    assert!(first.contains(&format!("Continue: rejoin -r {}", new.short())), "{first}");
    assert!(second.contains(&format!("Conversation {} was deleted meanwhile.", new.short())), "{second}");
    assert!(!second.contains("Continue: rejoin -r"), "{second}");
}

#[test]
fn the_prompt_says_that_it_is_not_saving_when_the_database_is_gone_and_the_exit_code_tells_it() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 120, 60) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    say(&terminal, "my bicycle is green");

    remove(&world.store());
    let told = unwrapped(&say(&terminal, "my boat is blue"));
    terminal.key("C-d");
    let leaving = unwrapped(&terminal.wait_for("press Ctrl+C to leave without"));
    terminal.key("C-c");
    terminal.wait_for_last("$");
    terminal.enter("echo ended with $?");
    let ended = unwrapped(&terminal.wait_for("ended with 1"));

    assert!(told.contains("was removed, moved or replaced while it was open"), "{told}");
    assert!(leaving.contains("2 messages are not saved"), "{leaving}");
    assert!(!ended.contains("Continue: rejoin -r"), "{ended}");
    assert!(!world.store().exists());
}

#[test]
fn leaving_after_the_database_is_gone_does_not_say_how_to_continue() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 120, 60) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    say(&terminal, "my bicycle is green");

    remove(&world.store());
    terminal.key("C-d");
    terminal.wait_for_last("$");
    terminal.enter("echo ended with $?");
    let ended = unwrapped(&terminal.wait_for("ended with 1"));

    assert!(ended.contains("hint: restore the file, or start again"), "{ended}");
    assert!(!ended.contains("Continue: rejoin -r") && !ended.contains("not saved"), "{ended}");
}

/// The files of plain conversations are taken away too.
#[test]
fn a_directory_of_plain_files_that_is_removed_does_not_come_back_empty() {
    let world = World::of_files();
    let Some(terminal) = Terminal::open(&world, 120, 60) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    say(&terminal, "my bicycle is green");

    let store: PathBuf = world.store();
    fs::remove_dir_all(&store).unwrap();
    say(&terminal, "my boat is blue");
    terminal.key("C-d");
    terminal.wait_for("press Ctrl+C to leave without");
    terminal.key("C-c");
    terminal.wait_for_last("$");

    assert!(!store.exists());
}
