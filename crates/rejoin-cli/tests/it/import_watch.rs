//! `rejoin import --watch`: follows what is written, whatever becomes of the files and the store.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rejoin::store::Order;
use serde_json::{Value, json};

use crate::import::{SESSION, session};
use crate::terminal::Terminal;
use crate::world::World;

/// How long a change may take to be told on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Longer than it takes until the files are looked at again.
const LOOK: Duration = Duration::from_millis(1_500);

/// A watch of the directory `sessions`.
struct Watching<'a> {
    world: &'a World,
    child: Child,
    lines: Receiver<String>,
}

impl<'a> Watching<'a> {
    fn start(world: &'a World) -> Self {
        fs::create_dir_all(world.path("sessions")).unwrap();
        Self::of(world, &["../sessions"])
    }

    /// A watch of what is named.
    fn of(world: &'a World, named: &[&str]) -> Self {
        let arguments = [&["import", "--watch", "--json"], named].concat();
        let mut child = world.program(&arguments).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { world, child, lines }
    }

    /// The next event, with the name of its file only.
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an event is told in time");
        let mut event: Value = serde_json::from_str(&line).unwrap();
        if let Some(path) = event["path"].as_str() {
            event["path"] = path.rsplit('/').next().unwrap().into();
        }
        event
    }

    /// Waits for an event and returns how many messages it told of.
    fn added(&self) -> u64 {
        let event = self.next();
        assert_eq!(event["event"], "imported", "{event}");
        event["conversation"]["added"].as_u64().unwrap()
    }

    fn end(mut self) -> Value {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let last = self.next();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        last
    }

    fn messages(&self) -> usize {
        let archive = self.world.archive();
        let listed = archive.list(&Default::default()).unwrap().items;
        let id = listed.iter().find(|one| one.conversation.origin.is_some()).unwrap().id;
        archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap().len()
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn file(world: &World) -> PathBuf {
    world.path(format!("sessions/{SESSION}.jsonl"))
}

fn append(world: &World, text: &str) {
    File::options().append(true).open(file(world)).unwrap().write_all(text.as_bytes()).unwrap();
}

fn said(uuid: &str, parent: &str) -> String {
    json!({"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": SESSION,
           "timestamp": "2026-01-02T03:04:08.000Z", "message": {"role": "user", "content": uuid}})
    .to_string()
        + "\n"
}

/// A world with a session, watched until its first messages are imported.
fn watched(world: &World) -> Watching<'_> {
    world.write(&format!("sessions/{SESSION}.jsonl"), &session(world));
    let watching = Watching::start(world);
    assert_eq!(watching.added(), 2);
    assert_eq!(watching.next(), json!({"event": "watching", "files": 1}));
    watching
}

#[test]
fn what_is_written_is_imported_and_an_interrupt_ends_it() {
    let world = World::new();
    let watching = Watching::start(&world);
    assert_eq!(watching.next(), json!({"event": "watching", "files": 0}));

    world.write(&format!("sessions/{SESSION}.jsonl"), &session(&world));
    let created = watching.added();
    append(&world, &said("u2", "a1"));
    let grown = watching.added();

    assert_eq!((created, grown, watching.messages()), (2, 1, 3));
    let expected = json!({"event": "ended", "messages": 3, "new_conversations": 1, "known_conversations": 0});
    assert_eq!(watching.end(), expected);
}

#[test]
fn an_incomplete_line_waits_until_it_is_whole() {
    let world = World::new();
    let watching = watched(&world);
    let (line, next) = (said("u2", "a1"), said("u3", "u2"));
    let (first, rest) = next.split_at(40);

    append(&world, &(line + first));
    let before = watching.added();
    append(&world, rest);

    assert_eq!((before, watching.added(), watching.messages()), (1, 1, 4));
}

#[test]
fn a_file_that_is_cut_off_replaced_or_deleted_takes_nothing_away() {
    let world = World::new();
    let watching = watched(&world);
    let whole = fs::read_to_string(file(&world)).unwrap();

    File::options().write(true).open(file(&world)).unwrap().set_len(10).unwrap();
    thread::sleep(LOOK);
    fs::write(world.path("other"), whole + &said("u2", "a1")).unwrap();
    fs::rename(world.path("other"), file(&world)).unwrap();
    let replaced = watching.added();
    fs::remove_file(file(&world)).unwrap();
    let gone = watching.next();

    assert_eq!((replaced, gone), (1, json!({"event": "gone", "path": format!("{SESSION}.jsonl")})));
    assert_eq!(watching.messages(), 3);
}

#[test]
fn a_file_that_never_rests_is_imported_all_the_same() {
    let world = World::new();
    let watching = watched(&world);
    let done = AtomicBool::new(false);

    let added = thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            let mut parent = "a1".to_owned();
            for place in 0.. {
                if done.load(Ordering::Relaxed) || began.elapsed() > PATIENCE {
                    return;
                }
                let uuid = format!("n{place}");
                append(&world, &said(&uuid, &parent));
                parent = uuid;
                thread::sleep(Duration::from_millis(100));
            }
        });
        let added = watching.added();
        done.store(true, Ordering::Relaxed);
        added
    });

    assert!(added > 0);
}

#[test]
fn a_store_that_is_locked_is_waited_for() {
    let world = World::new();
    world.user_config("limits.wait_seconds = 1\n");
    let watching = watched(&world);
    let other = rusqlite::Connection::open(world.store()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    append(&world, &said("u2", "a1"));
    let waiting = watching.next();
    other.execute_batch("ROLLBACK").unwrap();

    assert_eq!((&waiting["event"], &waiting["kind"]), (&json!("waiting"), &json!("locked")), "{waiting}");
    assert_eq!(watching.next(), json!({"event": "recovered"}));
    assert_eq!((watching.added(), watching.messages()), (1, 3));
}

#[test]
fn a_person_reads_a_line_for_each_change_and_a_summary() {
    let world = World::new();
    world.started("other");
    world.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), &session(&world));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin import --scan --watch --yes");
    terminal.wait_for("Watching 1 file. Ctrl+C ends it.");
    let path = world.path(format!("home/.claude/projects/-p/{SESSION}.jsonl"));
    File::options().append(true).open(&path).unwrap().write_all(said("u2", "a1").as_bytes()).unwrap();
    terminal.wait_for("Claude Code  1 message  Lisbon");
    fs::remove_file(path).unwrap();
    terminal.wait_for("is gone. What was imported stays.");
    terminal.key("C-c");
    let ended = terminal.wait_for("Imported 3 messages of 1 new conversation in ");

    assert!(ended.contains("Claude Code  2 messages, new  Lisbon"), "{ended}");
}

#[test]
fn a_conversation_that_is_deleted_under_a_watch_of_its_file_stays_deleted() {
    let world = World::new();
    world.write(&format!("sessions/{SESSION}.jsonl"), &session(&world));
    world.rejoin(["import", "../sessions"]).run();
    world.rejoin(["delete", "lisbon", "--yes"]).run();
    fs::create_dir(world.path("others")).unwrap();
    let watching = Watching::of(&world, &[file(&world).to_str().unwrap(), "../others"]);
    let (first, begun) = (watching.added(), watching.next());

    world.rejoin(["delete", "lisbon", "--yes"]).run();
    append(&world, &said("u2", "a1"));
    // What is named later is looked at later, so that the file was read before this one.
    let other = "00000000-45d4-4ced-8b45-000000000000";
    world.write(&format!("others/{other}.jsonl"), &session(&world).replace(SESSION, other));
    let next = watching.next();

    assert_eq!((first, begun), (2, json!({"event": "watching", "files": 1})));
    assert_eq!(next["path"], json!(format!("{other}.jsonl")), "{next}");
    assert_eq!(watching.end()["messages"], 4);
}
