//! How long a search of a vault takes in a new process, what its index costs, and how it catches up.
//!
//! `cargo run --profile dist -p rejoin-bench --bin vault -- 20x10000 10000x20 jsonl:20x1000` measures vaults
//! of so many conversations by so many messages. Each search is made by a process of its own, so that nothing
//! is in memory but what the operating system keeps of the files. The middle one of five counts. It fails
//! where a search is beyond its bar: a second, for up to 200,000 messages.
//!
//! `fill PLACE 10000x20` makes such a vault and leaves it; `ask sqlite PLACE search WORDS` searches it once.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{BlobNames, ListQuery, Read, SearchOrder, SearchQuery, Space, Store, Task, WordQuery};
use rejoin::vault::{Unlock, VaultStore};
use rejoin_bench::haystack::{Random, append, fill};
use rejoin_bench::{Answer, Bars, Clock, Fixed, Kind, Shape};

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 2] = ["20x250", "250x20"];

const ROUNDS: usize = 5;

/// How many messages may take as long as `SEARCH` to be searched; more may take longer.
const MESSAGES: u64 = 200_000;
const SEARCH: Duration = Duration::from_secs(1);

fn main() -> Answer<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ask", kind, place, what @ ..] => ask(kind.parse()?, Path::new(place), what)?,
        ["fill", place, shape] => drop(make(shape.parse()?, Path::new(place))?),
        [] => return measure(&DEFAULT),
        shapes => return measure(shapes),
    }
    Ok(ExitCode::SUCCESS)
}

fn open(kind: Kind, place: &Path) -> Answer<VaultStore> {
    Ok(VaultStore::open(kind.open(place)?, Arc::new(Fixed))?)
}

fn measure(shapes: &[&str]) -> Answer<ExitCode> {
    let mut bars = Bars::default();
    println!(
        "| vault | text | index ÷ text | filled in | new process: rare | beginning | common | id | catch up a turn |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for text in shapes {
        let shape: Shape = text.parse()?;
        let scratch = tempfile::tempdir_in(".")?;
        let (row, searched) = measure_one(shape, &scratch.path().join("store"))?;
        println!("| {text} | {row} |");
        let messages = shape.conversations * shape.messages;
        let bar = SEARCH.mul_f64((messages as f64 / MESSAGES as f64).max(1.0));
        bars.hold(format!("the slowest search of {text}"), searched, bar);
    }
    Ok(bars.verdict())
}

/// Makes a vault and its index. Answers how many bytes of text it holds, and how long the index took.
fn make(shape: Shape, place: &Path) -> Answer<(u64, Duration)> {
    let store = shape.kind.open(place)?;
    VaultStore::found(store.as_ref(), &Fixed.unlock(store.as_ref())?)?;
    drop(store);
    let vault = open(shape.kind, place)?;
    let text = fill(&vault, shape.conversations, shape.messages)?;
    let begun = Instant::now();
    while vault.maintain(Task::Index, Duration::from_secs(1))?.left > 0 {}
    let filled = begun.elapsed();
    vault.maintain(Task::Checkpoint, Duration::MAX)?;
    Ok((text, filled))
}

/// A row of the table, and how long the slowest search took.
fn measure_one(shape: Shape, place: &Path) -> Answer<(String, Duration)> {
    let (text, filled) = make(shape, place)?;
    let index = index_bytes(shape.kind, place)?;
    let middle = |what: &[&str]| middle(shape.kind, place, what);
    let rare = middle(&["search", "zanzibarine "])?;
    let beginning = middle(&["search", "zanziba"])?;
    let common = middle(&["search", "deployment"])?;
    let id = middle(&["find", "m5x1y"])?;
    let caught = middle(&["append", &shape.conversations.to_string()])?;
    let row = format!(
        "{:.0} MB | {:.2} | {:.1} s | {} | {} | {} | {} | {}",
        text as f64 / 1e6,
        index as f64 / text as f64,
        filled.as_secs_f64(),
        rare.1,
        beginning.1,
        common.1,
        id.1,
        caught.1,
    );
    Ok((row, rare.0.max(beginning.0).max(common.0)))
}

/// The bytes of all sealed segments.
fn index_bytes(kind: Kind, place: &Path) -> Answer<u64> {
    let store = kind.open(place)?;
    let mut bytes = 0;
    for row in store.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?.items {
        store.get(Space::Derived, Some(row.id), BlobNames::ALL, &mut |_, sealed| {
            bytes += sealed.len() as u64;
            Ok(())
        })?;
    }
    Ok(bytes)
}

/// The middle of several processes that each do the same: how long it took, and what it told.
fn middle(kind: Kind, place: &Path, what: &[&str]) -> Answer<(Duration, String)> {
    let mut told: Vec<(Duration, String)> = Vec::new();
    for _ in 0..ROUNDS {
        let place = place.to_str().ok_or("a path is text")?;
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.args(["ask", kind.name(), place]).args(what).output()?;
        let line = String::from_utf8(output.stdout)?;
        let failed = || String::from_utf8_lossy(&output.stderr).into_owned();
        let (micros, rest) = line.trim().split_once(' ').ok_or_else(failed)?;
        told.push((Duration::from_micros(micros.parse()?), rest.to_owned()));
    }
    told.sort();
    Ok(told.swap_remove(ROUNDS / 2))
}

/// What a process of its own does: one thing, and tells how long it took from opening the vault.
fn ask(kind: Kind, place: &Path, what: &[&str]) -> Answer<()> {
    let begun = Instant::now();
    let vault = open(kind, place)?;
    let found = match what {
        ["search", words] => {
            let words = WordQuery::parse(words);
            let query = SearchQuery {
                words: &words,
                conversation: None,
                project: None,
                role: None,
                since: None,
                order: SearchOrder::Newest,
                after: None,
                limit: 20,
            };
            vault.search(&query)?.items.len()
        }
        ["find", text] => vault.find(text, 10)?.len(),
        ["append", next] => {
            let next: u64 = next.parse::<u64>()? + u64::from(std::process::id());
            append(&vault, &mut Random(next), next, 0, 4)?;
            return catch_up(&vault);
        }
        _ => return Err("nothing is asked".into()),
    };
    let took = begun.elapsed();
    if found == 0 {
        return Err(format!("nothing was found by {what:?}").into());
    }
    tell(took, found);
    Ok(())
}

fn catch_up(vault: &VaultStore) -> Answer<()> {
    let begun = Instant::now();
    let done = vault.maintain(Task::Index, Duration::ZERO)?.done;
    tell(begun.elapsed(), usize::try_from(done)?);
    Ok(())
}

fn tell(took: Duration, found: usize) {
    let cpu = Clock::Processor.now().as_millis();
    println!("{} {} ms (cpu {cpu}, found {found})", took.as_micros(), took.as_millis());
}
