//! Processes killed at any moment: whatever was acknowledged is in the store, whole and in order.
//!
//! A kill leaves everything that was written in the system's hands, so it says
//! nothing about syncs: see `power.rs`.

use std::time::{Duration, Instant};
use std::{fmt, fs};

use crate::dice::Dice;
use crate::feed::{Ended, Feed};
use crate::ledger::{Ledger, line};
use crate::skip::tell;
use crate::world::World;

/// A store is used for this many kills, then another is begun.
const KILLS_PER_STORE: usize = 25;

/// When a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Soon after its start: while it creates the store, or recovers what the last one left.
    Opening,
    /// After a receipt, while more turns come in.
    Appending,
    /// After the last receipt, while the search index is filled.
    Indexing,
    /// While the log is folded into the main file.
    Folding,
}

impl Moment {
    fn choose(world: &World, dice: &mut Dice) -> Self {
        match dice.below(20) {
            0 | 1 => Moment::Opening,
            2..=4 => Moment::Indexing,
            // Plain files have no log.
            5..=7 if !world.is_of_files() => Moment::Folding,
            _ => Moment::Appending,
        }
    }

    /// Starts the program in a world, feeds it turns from `first` on, and kills it at this moment.
    fn strike(self, world: &World, first: usize, dice: &mut Dice) -> Strike {
        let program = world.program(&["append", "--jsonl", "-"]);
        let milliseconds = Duration::from_millis;
        match self {
            Moment::Opening => {
                let mut feed = Feed::start(program, (first..).map(line));
                feed.wait(dice.shorter_than(milliseconds(if first == 0 { 60 } else { 12 })));
                Strike::now(feed, world, None)
            }
            Moment::Appending => {
                let mut feed = Feed::start(program, (first..).map(line));
                feed.wait_for_receipts(1);
                let then = Folds::look(world);
                feed.wait(dice.shorter_than(milliseconds(20)));
                Strike::now(feed, world, Some(then))
            }
            Moment::Indexing => {
                let count = 1 + dice.below(4) as usize;
                let mut feed = Feed::start(program, (first..first + count).map(line));
                feed.wait_for_receipts(count);
                feed.wait(dice.shorter_than(milliseconds(6)));
                Strike::now(feed, world, None)
            }
            Moment::Folding => {
                let mut feed = Feed::start(program, (first..).map(line));
                feed.wait_for_receipts(1);
                let (then, until) = (Folds::look(world), Instant::now() + Duration::from_secs(2));
                while !Folds::look(world).is_folding_since(then) && Instant::now() < until {
                    feed.wait(Duration::from_micros(100));
                }
                feed.wait(dice.shorter_than(milliseconds(3)));
                Strike::now(feed, world, Some(then))
            }
        }
    }
}

/// A process that was killed, unless it had ended by itself.
#[derive(Debug)]
struct Strike {
    ended: Ended,
    /// Whether the log was being folded, where that is known.
    was_folding: bool,
}

impl Strike {
    fn now(feed: Feed, world: &World, then: Option<Folds>) -> Self {
        let ended = feed.kill();
        let was_folding = then.is_some_and(|then| Folds::look(world).is_folding_since(then));
        Self { ended, was_folding }
    }
}

/// What many kills came to.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    receipts: usize,
    after_a_receipt: usize,
    while_folding: usize,
    after_the_last_turn: usize,
    stores: usize,
    faults: Vec<String>,
}

impl Tally {
    /// Kills processes until there were this many kills.
    fn reach(kills: usize, make: fn() -> World, dice: &mut Dice) -> Self {
        let mut tally = Self::default();
        while tally.kills < kills && tally.faults.is_empty() {
            let goal = kills.min(tally.kills + KILLS_PER_STORE);
            let outcome = tally.wear_out_a_store(goal, make(), dice);
            tally.faults.extend(outcome.err());
            tally.stores += 1;
        }
        tally
    }

    fn wear_out_a_store(&mut self, goal: usize, world: World, dice: &mut Dice) -> Result<(), String> {
        let mut ledger = Ledger::default();
        while self.kills < goal {
            let moment = Moment::choose(&world, dice);
            let strike = moment.strike(&world, ledger.turns, dice);
            self.count(moment, &strike);
            let sound = ledger.audit(&world.archive(), &strike.ended.receipts);
            sound.map_err(|fault| format!("kill {} ({moment:?}): {fault}", self.kills))?;
        }
        // A turn that was being written is told as unfinished until the next one is written.
        let last =
            Feed::start(world.program(&["append", "--jsonl", "-"]), std::iter::once(line(ledger.turns)))
                .end();
        ledger.audit(&world.archive(), &last.receipts)?;
        ledger.close(&world.archive()).map_err(|fault| format!("after kill {}: {fault}", self.kills))
    }

    fn count(&mut self, moment: Moment, strike: &Strike) {
        self.receipts += strike.ended.receipts.len();
        if strike.ended.was_killed {
            self.kills += 1;
            self.after_a_receipt += usize::from(!strike.ended.receipts.is_empty());
            self.while_folding += usize::from(strike.was_folding);
            self.after_the_last_turn += usize::from(moment == Moment::Indexing);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} kills, {} after a receipt, {} while the log was folded, {} after the last turn; {} receipts, {} stores",
            self.kills,
            self.after_a_receipt,
            self.while_folding,
            self.after_the_last_turn,
            self.receipts,
            self.stores
        )
    }
}

/// How far folds have come, as SQLite notes in the memory that processes share
/// (walformat.html, "WAL-Index Header").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Folds {
    /// The frames that are folded: at byte 96.
    reached: u32,
    /// The frames that the last fold set out to reach: at byte 128. A recovery sets it too, to all there are.
    attempted: u32,
}

impl Folds {
    fn look(world: &World) -> Self {
        let shared = fs::read(world.path("home/.local/share/rejoin/rejoin.db-shm")).unwrap_or_default();
        let number = |at: usize| {
            let bytes = shared.get(at..at + 4).map(|bytes| bytes.try_into().unwrap());
            bytes.map_or(0, u32::from_ne_bytes)
        };
        Self { reached: number(96), attempted: number(128) }
    }

    /// True when a fold has begun since then that has not ended.
    fn is_folding_since(self, then: Self) -> bool {
        self.attempted > self.reached && self.attempted != then.attempted
    }
}

#[test]
fn five_hundred_kills_lose_no_acknowledged_message() {
    let began = Instant::now();

    let tally = Tally::reach(500, World::new, &mut Dice::thrown());

    tell(&format!("{tally}; {:.1?}", began.elapsed()));
    assert_eq!(tally.faults, Vec::<String>::new());
    assert!(tally.after_a_receipt * 10 >= tally.kills * 8, "{tally}");
    assert!(tally.while_folding > 0 && tally.after_the_last_turn > 0, "{tally}");
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_kept_in_plain_files() {
    let began = Instant::now();

    let tally = Tally::reach(200, World::of_files, &mut Dice::thrown());

    tell(&format!("{tally}; {:.1?}", began.elapsed()));
    assert_eq!(tally.faults, Vec::<String>::new());
    assert!(tally.after_a_receipt * 10 >= tally.kills * 8, "{tally}");
}

/// Kills the first run in a new home, then lets another finish there.
fn kill_a_first_run(world: World, dice: &mut Dice) -> Result<usize, String> {
    let mut ledger = Ledger::default();
    let killed = Moment::Opening.strike(&world, 0, dice).ended;
    ledger.audit(&world.archive(), &killed.receipts)?;
    let after =
        Feed::start(world.program(&["append", "--jsonl", "-"]), (ledger.turns..ledger.turns + 2).map(line));
    let ended = after.end();
    if (ended.code, ended.receipts.len()) != (Some(0), 2) {
        return Err(ended.stderr);
    }
    ledger.audit(&world.archive(), &ended.receipts)?;
    ledger.close(&world.archive())?;
    Ok(usize::from(killed.was_killed))
}

#[test]
fn a_first_run_that_was_killed_leaves_a_store_that_works() {
    let mut dice = Dice::thrown();

    let outcomes: Result<Vec<usize>, String> =
        (0..60).map(|_| kill_a_first_run(World::new(), &mut dice)).collect();

    assert_eq!(outcomes.map(|killed| killed.iter().sum::<usize>() >= 50), Ok(true));
}

#[test]
fn a_first_run_that_was_killed_leaves_plain_files_that_work() {
    let mut dice = Dice::thrown();

    let outcomes: Result<Vec<usize>, String> =
        (0..40).map(|_| kill_a_first_run(World::of_files(), &mut dice)).collect();

    assert_eq!(outcomes.map(|killed| killed.iter().sum::<usize>() >= 30), Ok(true));
}
