//! How long a vault takes to get new keys, for so many conversations of so many messages.
//!
//! `cargo run --profile dist -p rejoin-bench --bin rotating -- 10000x20 500x2000 jsonl:10000x20` measures
//! vaults of so many conversations by so many messages. The middle one of three rotations counts, beside one
//! write that is synced, and beside a vault of as many short conversations. It fails beyond its bars: two
//! seconds for up to ten thousand conversations, whatever they hold, and no more than twice the processor
//! time of short ones, with room for a fold of the log. With `--processor` the first bar is one of processor
//! time too, so that a busy machine or a slow disk changes little.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{Put, Safety, Space, Store};
use rejoin::vault::{Keys, NewSlot, VaultStore};
use rejoin::{Archive, Conversation, Message, Time};
use rejoin_bench::{Answer, Arguments, Bars, Shape, Took, holder};

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 3] = ["1000x20", "100x200", "jsonl:200x20"];

/// Messages of one turn while the vault is filled.
const TURN: u64 = 500;

const ROUNDS: usize = 3;

/// How many messages a short conversation has: enough for a page of a database,
/// so that each head is on another one.
const SHORT: u64 = 20;

/// How many conversations may take as long as `WHOLE`; more may take longer.
const MANY: u64 = 10_000;
const WHOLE: Duration = Duration::from_secs(2);

/// How many times as much processor time conversations may take as short ones.
const LONGER: u32 = 2;

/// And how much more, whatever they hold: where a store is larger than its log, six
/// megabytes of log may be folded meanwhile.
const FOLD: Duration = Duration::from_millis(100);

fn main() -> Answer<ExitCode> {
    let arguments = Arguments::read();
    let shapes: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let mut bars = Bars::default();
    println!(
        "| vault | rotation | processor | a conversation | ÷ a synced write | processor ÷ that of short ones |"
    );
    println!("|---|---|---|---|---|---|");
    for text in if shapes.is_empty() { &DEFAULT[..] } else { &shapes } {
        let shape: Shape = text.parse()?;
        let (took, synced) = measure(shape)?;
        let (short, _) = measure(Shape { messages: SHORT, ..shape })?;
        let longer = took.processor.as_secs_f64() / short.processor.as_secs_f64();
        let whole = took.whole.as_secs_f64();
        println!(
            "| {text} | {} ms | {} ms | {:.0} µs | {:.0} | {longer:.2} |",
            took.whole.as_millis(),
            took.processor.as_millis(),
            whole * 1e6 / shape.conversations as f64,
            whole / synced.as_secs_f64(),
        );
        let bar = WHOLE.mul_f64((shape.conversations as f64 / MANY as f64).max(1.0));
        bars.hold(format!("a rotation of {text}"), took.by(arguments.clock()), bar);
        let bar = short.processor * LONGER + FOLD;
        bars.hold(format!("the processor time of {text}, beside short ones"), took.processor, bar);
    }
    Ok(bars.verdict())
}

/// How long a rotation takes, and how long one write that is synced.
fn measure(shape: Shape) -> Answer<(Took, Duration)> {
    let scratch = tempfile::tempdir_in(".")?;
    let path = scratch.path().join("store");
    Keys::of(shape.kind.open(&path)?, holder(&path)).create(&[NewSlot::File], Time::now())?;
    fill(shape, &path)?;
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        // As a new process would: nothing of it is in memory.
        let store = shape.kind.open(&path)?;
        let synced = synced(store.as_ref())?;
        let (took, rotated) = Took::of(|| Keys::of(store, holder(&path)).rotate(Time::now()))?;
        assert_eq!((rotated.keys, rotated.unreadable), (shape.conversations + 1, 0));
        all.push((took, synced));
    }
    all.sort();
    Ok(all[ROUNDS / 2])
}

fn fill(shape: Shape, path: &Path) -> Answer<()> {
    let vault = VaultStore::open(shape.kind.open(path)?, Arc::new(holder(path)))?;
    let archive = Archive::with_store(Arc::new(vault));
    for number in 0..shape.conversations {
        let mut handle = archive.start(Conversation::titled(format!("talk {number}")))?;
        let mut left = shape.messages;
        while left > 0 {
            let count = left.min(TURN);
            handle.append_turn(
                (0..count).map(|_| Message::user("The tram leaves at nine. ".repeat(40))).collect(),
            )?;
            left -= count;
        }
    }
    Ok(())
}

/// How long one small write takes until it is synced: the middle one of a few.
fn synced(store: &dyn Store) -> Answer<Duration> {
    let mut took = Vec::new();
    for number in 0..9_u8 {
        let begun = Instant::now();
        let put = Put { space: Space::State, owner: None, name: b"measured", bytes: Some(&[number]) };
        store.put(&[put], Safety::Synced)?;
        took.push(begun.elapsed());
    }
    took.sort();
    Ok(took[took.len() / 2])
}
