//! A receipt is printed after the sync: seen in the system calls of the real program, and by another process.

use std::process::Command;
use std::sync::mpsc::channel;

use rejoin::Search;
use serde_json::json;

use crate::feed::{Ended, Feed};
use crate::strace::{Call, Strace};
use crate::world::World;

const CALLS: &str = "read,write,pwrite64,pwritev,fsync,fdatasync";

/// Enough to have the log folded once on the way.
const TURNS: usize = 60;

/// What the appending thread did between the last look at its input and an answer.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Whether it wrote to the log.
    writes: bool,
    /// How many syncs of the log it made.
    syncs: usize,
    /// Whether it synced the log after the last write to it, and answered after that sync had returned.
    syncs_before_answering: bool,
    /// Whether it wrote to the main file or synced it, which is for another thread to do.
    folds: bool,
}

impl Step {
    /// The steps of the thread that answers, one for each answer.
    fn read(calls: &[Call]) -> Vec<Self> {
        let is_answer = |call: &Call| call.name == "write" && call.descriptor() == Some(1);
        let thread = calls.iter().find(|call| is_answer(call)).unwrap().thread;
        let own: Vec<&Call> = calls.iter().filter(|call| call.thread == thread).collect();
        own.split_inclusive(|call| is_answer(call))
            .filter(|calls| is_answer(calls.last().unwrap()))
            .map(Self::of)
            .collect()
    }

    fn of(calls: &[&Call]) -> Self {
        let asked = calls.iter().rposition(|call| call.name == "read" && call.descriptor() == Some(0));
        let calls = &calls[asked.map_or(0, |asked| asked + 1)..];
        let answer = calls.last().unwrap();
        let log: Vec<&&Call> =
            calls.iter().filter(|call| call.is_about("-wal") && call.result >= 0).collect();
        let last_write = log.iter().filter(|call| !call.is_sync()).map(|call| call.ended).max();
        let last_sync = log.iter().rfind(|call| call.is_sync());
        Self {
            writes: last_write.is_some(),
            syncs: log.iter().filter(|call| call.is_sync()).count(),
            syncs_before_answering: last_sync
                .is_some_and(|sync| Some(sync.began) > last_write && sync.ended < answer.began),
            folds: calls.iter().any(|call| call.is_about("rejoin.db") && call.name != "read"),
        }
    }
}

/// What each step must be.
const ONE_SYNC: Step = Step { writes: true, syncs: 1, syncs_before_answering: true, folds: false };

/// Feeds turns one at a time, each after the receipt for the one before, and returns all receipts.
fn feed_one_by_one(program: Command, turns: usize) -> Ended {
    let (sender, lines) = channel();
    let mut feed = Feed::start(program, lines.into_iter());
    for turn in 1..=turns {
        sender.send(json!({"role": "user", "content": format!("turn {turn}")}).to_string()).unwrap();
        feed.wait_for_receipts(turn);
    }
    drop(sender);
    feed.end()
}

#[test]
fn each_receipt_follows_one_sync_of_its_own_turn() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["append", "the store is there"]).run();
    let trace = world.path("trace");
    let program = strace.record(&world.program(&["append", "--jsonl", "-"]), CALLS, &trace);

    let ended = feed_one_by_one(program, TURNS);

    let calls = Call::read(&trace);
    let steps = Step::read(&calls);
    assert_eq!((ended.receipts.len(), ended.code), (TURNS, Some(0)));
    assert_eq!(steps.len(), TURNS);
    assert!(steps.iter().all(|step| *step == ONE_SYNC), "{steps:#?}");
    // Folding has syncs of its own, beside the appending. Once is enough for so many turns.
    assert!(calls.iter().any(|call| call.is_about("rejoin.db") && call.is_sync()));
    let begins_again = |call: &&Call| call.is_about("-wal") && call.last_number() == Some(0);
    assert_eq!(calls.iter().filter(begins_again).count(), 1);
}

#[test]
fn a_single_message_is_synced_before_its_id_is_printed() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["append", "the store is there"]).run();
    let trace = world.path("trace");
    let mut program = strace.record(&world.program(&["append", "hello there"]), CALLS, &trace);

    let output = program.output().unwrap();

    assert!(output.status.success());
    assert_eq!(Step::read(&Call::read(&trace)), [ONE_SYNC]);
}

#[test]
fn a_new_conversation_with_its_reply_and_title_takes_three_syncs() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["the store is there"]).run();
    let trace = world.path("trace");
    let mut program = strace.record(&world.program(&["where do we eat in Lisbon?"]), CALLS, &trace);

    let output = program.output().unwrap();

    assert!(output.status.success());
    let calls = Call::read(&trace);
    let syncs = calls.iter().filter(|call| call.is_sync() && call.is_about("-wal")).count();
    assert_eq!(syncs, 3);
}

#[test]
fn what_is_taken_out_of_a_message_is_noted_in_the_same_sync() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.rejoin(["append", "the store is there"]).run();
    // The key of the hashes is made once, with syncs of its own.
    let secret = concat!("the key ", "ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");
    world.rejoin(["append", secret]).run();
    let trace = world.path("trace");
    let mut program = strace.record(&world.program(&["append", secret]), CALLS, &trace);

    let output = program.output().unwrap();

    assert!(output.status.success());
    assert_eq!(Step::read(&Call::read(&trace)), [ONE_SYNC]);
    let noted = world.archive().audit().query(&Default::default()).unwrap();
    let noted: Vec<&str> = noted.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(noted, ["redacted", "redacted"]);
}

/// Appends one turn at a time, and after each receipt looks for its word; returns how often it was found.
fn count_found(world: &World, turns: usize) -> usize {
    let (sender, lines) = channel();
    let mut feed = Feed::start(world.program(&["append", "--jsonl", "-"]), lines.into_iter());
    let found = (1..=turns).filter(|turn| {
        let word = format!("word{turn}x");
        sender.send(json!({"role": "user", "content": word}).to_string()).unwrap();
        feed.wait_for_receipts(*turn);
        let search = Search { text: word, ..Search::default() };
        world.archive().search(&search).unwrap().items.len() == 1
    });
    let found = found.count();
    drop(sender);
    assert_eq!(feed.end().code, Some(0));
    found
}

#[test]
fn another_process_finds_a_message_as_soon_as_it_is_acknowledged() {
    let world = World::new();

    let found = count_found(&world, 50);

    assert_eq!(found, 50);
}
