//! Many processes on one store at the same moment: nothing is lost, nothing is
//! interleaved, nobody is turned away.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rejoin::store::Order;
use rejoin::{Archive, ConversationId, List, MessageId, Search};
use serde_json::json;

use crate::feed::{Ended, Feed};
use crate::skip::tell;
use crate::world::{Outcome, World};

const WRITERS: usize = 16;
const TURNS: usize = 25;
const FIRST_RUNS: usize = 32;

/// Where a message hangs and what it says.
type Leaf = (Option<MessageId>, String);

/// Lets every writer append all its turns after one message, all at the same time.
fn write_at_once(world: &World, root: &str) -> Vec<Ended> {
    let feeds: Vec<Feed> = (0..WRITERS)
        .map(|writer| {
            let program = world.program(&["append", "--parent", root, "--jsonl", "-"]);
            Feed::start(
                program,
                (0..TURNS).map(move |turn| {
                    json!({"role": "user", "content": format!("writer{writer} turn{turn}")}).to_string()
                }),
            )
        })
        .collect();
    feeds.into_iter().map(Feed::end).collect()
}

/// What the store must hold, by the receipts: each writer's turns in a line of their own, from the root on.
fn by_receipts(ended: &[Ended], root: MessageId) -> HashMap<MessageId, Leaf> {
    let mut expected = HashMap::new();
    for (writer, ended) in ended.iter().enumerate() {
        let mut parent = root;
        for (turn, receipt) in ended.receipts.iter().enumerate() {
            expected.insert(receipt.head, (Some(parent), format!("writer{writer} turn{turn}")));
            parent = receipt.head;
        }
    }
    expected
}

/// What the store holds, but for the first message.
fn by_store(archive: &Archive, id: ConversationId) -> HashMap<MessageId, Leaf> {
    let all = archive.reader().all_messages(id, Order::OldestFirst, 1, u64::MAX).unwrap();
    all.iter().map(|seen| (seen.id, (seen.parent, seen.message.text()))).collect()
}

/// The sequence of every message, to see that each number was given once.
fn sequences(archive: &Archive, id: ConversationId) -> Vec<u32> {
    let all = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
    all.iter().map(|seen| seen.seq).collect()
}

/// Reads in every way until told to stop; returns how often, and what went wrong.
fn read_meanwhile(world: &World, is_done: &AtomicBool) -> (usize, Vec<Outcome>) {
    let (mut rounds, mut failed) = (0, Vec::new());
    while !is_done.load(Ordering::Relaxed) {
        let conversation = world.rejoin(["list", "--json"]).run();
        let shown = world.rejoin(["show", "--json"]).run();
        let found =
            world.archive().search(&Search { text: "turn0".to_owned(), limit: 500, ..Search::default() });
        found.unwrap();
        failed.extend([conversation, shown].into_iter().filter(|outcome| outcome.code != 0));
        rounds += 1;
    }
    (rounds, failed)
}

#[test]
fn sixteen_writers_lose_nothing_and_do_not_interleave() {
    sixteen_write_to(&World::new());
}

#[test]
fn sixteen_writers_lose_nothing_that_is_kept_in_plain_files() {
    sixteen_write_to(&World::of_files());
}

fn sixteen_write_to(world: &World) {
    let root = world.rejoin(["append", "where it begins"]).run().stdout.trim().to_owned();
    let is_done = AtomicBool::new(false);

    let (ended, (rounds, failed)) = thread::scope(|scope| {
        let reader = scope.spawn(|| read_meanwhile(world, &is_done));
        let ended = write_at_once(world, &root);
        is_done.store(true, Ordering::Relaxed);
        (ended, reader.join().unwrap())
    });

    let archive = world.archive();
    let id = ended[0].receipts[0].conversation;
    let count = WRITERS * TURNS;
    tell(&format!("{WRITERS} writers, {count} turns, {rounds} rounds of reading meanwhile"));
    assert_eq!(
        ended.iter().map(|ended| (ended.code, &*ended.stderr)).collect::<BTreeSet<_>>(),
        [(Some(0), "")].into()
    );
    assert_eq!(failed, []);
    assert_eq!(by_store(&archive, id), by_receipts(&ended, root.parse().unwrap()));
    assert_eq!(sequences(&archive, id), (1..=count as u32 + 1).collect::<Vec<_>>());
    assert_eq!(
        (
            archive.maintenance().verify(id).unwrap().faults.len(),
            archive.maintenance().check().unwrap().faults.len()
        ),
        (0, 0)
    );
}

/// Runs the program for the first time in a new home, many times at once; what
/// each was told, and what is stored.
fn start_at_once(world: &World) -> (Vec<Outcome>, BTreeSet<String>) {
    let outcomes = thread::scope(|scope| {
        let runs: Vec<_> = (0..FIRST_RUNS)
            .map(|run| scope.spawn(move || world.rejoin(["append", "--", &format!("run {run}")]).run()))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let archive = world.archive();
    let listed = archive.list(&List { limit: 100, ..List::default() }).unwrap().items;
    let stored = listed.iter().flat_map(|stored| {
        assert!(archive.maintenance().verify(stored.id).unwrap().is_sound());
        archive.reader().all_messages(stored.id, Order::OldestFirst, 0, u64::MAX).unwrap()
    });
    (outcomes, stored.map(|seen| format!("{} {}", seen.id, seen.message.text())).collect())
}

#[test]
fn thirty_two_first_runs_at_once_all_succeed() {
    let rounds = [World::new(), World::new(), World::of_files()].map(|world| start_at_once(&world));

    for (outcomes, stored) in rounds {
        assert_eq!(outcomes.iter().find(|told| told.code != 0), None);
        let told = outcomes.iter().enumerate().map(|(run, told)| format!("{} run {run}", told.stdout.trim()));
        assert_eq!(told.collect::<BTreeSet<_>>(), stored);
        assert_eq!(stored.len(), FIRST_RUNS);
    }
}
