//! How long a vault takes to get new keys, for so many conversations of so many messages.
//!
//! `cargo run --release -p rejoin-bench --bin rotating -- 10000x20 500x2000 jsonl:10000x20` measures vaults of so many
//! conversations by so many messages. The middle one of three rotations counts, beside one write that is synced.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{JsonlStore, Put, Safety, Space, SqliteStore, Store, VaultStore};
use rejoin::vault::{Keyholder, Keys, NewSlot, Places, SecretFiles};
use rejoin::{Archive, Conversation, Message, Time};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 3] = ["1000x2", "100x200", "jsonl:200x2"];

/// Messages of one turn while the vault is filled.
const TURN: usize = 500;

const ROUNDS: usize = 3;

fn main() -> Answer<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    println!("| vault | rotation | processor | a conversation | ÷ a synced write |");
    println!("|---|---|---|---|---|");
    for shape in if words.is_empty() { &DEFAULT[..] } else { &words } {
        let (kind, size) = shape.split_once(':').unwrap_or(("sqlite", shape));
        let (conversations, messages) = size.split_once('x').ok_or("a shape is CONVERSATIONSxMESSAGES")?;
        let scratch = tempfile::tempdir_in(".")?;
        let row = measure(kind, scratch.path(), conversations.parse()?, messages.parse()?)?;
        println!("| {shape} | {row} |");
    }
    Ok(())
}

fn inner(kind: &str, place: &Path) -> Answer<Arc<dyn Store>> {
    Ok(match kind {
        "jsonl" => Arc::new(JsonlStore::open(place.join("conversations"))?),
        _ => Arc::new(SqliteStore::open(place.join("store.db"))?),
    })
}

fn measure(kind: &str, place: &Path, conversations: u32, messages: usize) -> Answer<String> {
    let holder = || {
        Keyholder::new(Places {
            files: Some(Arc::new(SecretFiles::new(place.join("keys")))),
            ..Places::default()
        })
    };
    Keys::of(inner(kind, place)?, holder()).create(&[NewSlot::File], Time::now())?;
    fill(kind, place, holder(), conversations, messages)?;
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        // As a new process would: nothing of it is in memory.
        let store = inner(kind, place)?;
        let synced = synced(store.as_ref())?;
        let (begun, cpu) = (Instant::now(), cpu());
        let rotated = Keys::of(store, holder()).rotate(Time::now())?;
        let (whole, cpu) = (begun.elapsed(), self::cpu().saturating_sub(cpu));
        assert_eq!((rotated.keys, rotated.unreadable), (u64::from(conversations) + 1, 0));
        took.push((whole, cpu, synced));
    }
    took.sort();
    let (whole, cpu, synced) = took[ROUNDS / 2];
    Ok(format!(
        "{} ms | {} ms | {:.0} µs | {:.0}",
        whole.as_millis(),
        cpu.as_millis(),
        whole.as_secs_f64() * 1e6 / f64::from(conversations),
        whole.as_secs_f64() / synced.as_secs_f64(),
    ))
}

fn fill(kind: &str, place: &Path, holder: Keyholder, conversations: u32, messages: usize) -> Answer<()> {
    let vault = VaultStore::open(inner(kind, place)?, Arc::new(holder))?;
    let archive = Archive::with_store(Arc::new(vault));
    for number in 0..conversations {
        let mut handle = archive.start(Conversation::titled(format!("talk {number}")))?;
        let mut left = messages;
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

/// The processor time of this process.
fn cpu() -> Duration {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(cpu.tv_sec.unsigned_abs(), u32::try_from(cpu.tv_nsec).unwrap_or_default())
}
