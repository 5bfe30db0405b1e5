//! How long a search takes in a new process: plain files beside SQLite, with the same conversations.
//!
//! `cargo run --release -p rejoin-bench --bin searching -- 20x10000 10000x20` measures stores of so many
//! conversations by so many messages. Each search is made by a process of its own, which is measured from
//! when it opens the store. The middle one of nine counts. It fails where a rare word takes plain files
//! more than ten times as long as SQLite.
//!
//! `fill KIND PLACE 10000x20` makes such a store and leaves it; `ask KIND PLACE WORDS` searches it once.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rejoin::store::{Read as _, SearchOrder, SearchQuery, Store as _, Task, WordQuery};
use rejoin_bench::haystack::{self, COMMON, RARE, Random};
use rejoin_bench::{Answer, Bars, Kind, Shape};

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 2] = ["20x250", "250x20"];

const ROUNDS: usize = 9;

/// How much longer than SQLite plain files may take for a rare word.
const BAR: f64 = 10.0;

fn main() -> Answer<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ask", kind, place, words] => ask(kind.parse()?, Path::new(place), words)?,
        ["fill", kind, place, shape] => drop(make(kind.parse()?, shape.parse()?, Path::new(place))?),
        [] => return measure(&DEFAULT),
        shapes => return measure(shapes),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(shapes: &[&str]) -> Answer<ExitCode> {
    let mut bars = Bars::default();
    println!(
        "| store | text | index filled in | new process: rare | beginning | common | rare after an append |"
    );
    println!("|---|---|---|---|---|---|---|");
    for text in shapes {
        let mut rare = Vec::new();
        for kind in Kind::ALL {
            let scratch = tempfile::tempdir_in(".")?;
            let place = scratch.path().join("store");
            let (bytes, filled) = make(kind, text.parse()?, &place)?;
            let [whole, beginning, common] = [format!("{RARE} "), RARE[..7].to_owned(), COMMON.to_owned()]
                .map(|words| middle(kind, &place, &words));
            let whole = whole?;
            grow(kind, &place)?;
            println!(
                "| {}:{text} | {:.0} MB | {:.1} s | {} | {} | {} | {} |",
                kind.name(),
                bytes as f64 / 1e6,
                filled.as_secs_f64(),
                told(whole),
                told(beginning?),
                told(common?),
                told(middle(kind, &place, &format!("{RARE} "))?),
            );
            rare.push(whole);
        }
        if let [sqlite, jsonl] = rare[..] {
            bars.hold(format!("a rare word in {text}"), jsonl.as_secs_f64() / sqlite.as_secs_f64(), BAR);
        }
    }
    Ok(bars.verdict())
}

fn told(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1e3)
}

/// Makes a store and its index. Answers how many bytes of text it holds, and how long the index took.
fn make(kind: Kind, shape: Shape, place: &Path) -> Answer<(u64, Duration)> {
    let store = kind.open(place)?;
    let text = haystack::fill(store.as_ref(), shape.conversations, shape.messages)?;
    let begun = Instant::now();
    while store.maintain(Task::Index, Duration::from_secs(1))?.left > 0 {}
    let filled = begun.elapsed();
    store.maintain(Task::Checkpoint, Duration::MAX)?;
    Ok((text, filled))
}

/// Appends a turn to a new conversation, without indexing it. Closing the store indexes what it can at once.
fn grow(kind: Kind, place: &Path) -> Answer<()> {
    let store = kind.open(place)?;
    haystack::append(store.as_ref(), &mut Random(1), 10_000_000, 0, 4)?;
    Ok(())
}

/// The middle of several processes that each search.
fn middle(kind: Kind, place: &Path, words: &str) -> Answer<Duration> {
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let place = place.to_str().ok_or("a path is text")?;
        let output =
            Command::new(std::env::current_exe()?).args(["ask", kind.name(), place, words]).output()?;
        let line = String::from_utf8(output.stdout)?;
        let failed = |_| String::from_utf8_lossy(&output.stderr).into_owned();
        took.push(Duration::from_micros(line.trim().parse().map_err(failed)?));
    }
    took.sort();
    Ok(took[ROUNDS / 2])
}

/// What a process of its own does: it searches once, and tells how many microseconds that took.
fn ask(kind: Kind, place: &Path, words: &str) -> Answer<()> {
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
    let begun = Instant::now();
    let store = kind.open(place)?;
    let found = store.search(&query)?.items.len();
    let took = begun.elapsed();
    if found == 0 {
        return Err("nothing was found".into());
    }
    println!("{}", took.as_micros());
    Ok(())
}
