//! How long a search of a vault takes in a new process, what its index costs, and how it catches up.
//!
//! `cargo run --release -p rejoin-bench --bin vault -- 20x10000 10000x20 jsonl:20x1000` measures vaults of so many
//! conversations by so many messages. Each search is made by a process of its own, so that nothing is in memory but what the
//! operating system keeps of the files. The middle one of five counts. It fails where a search is beyond its bar: a second, for up to 200,000
//! messages.
//!
//! `fill PLACE 10000x20` makes such a vault and leaves it; `ask sqlite PLACE search WORDS` searches it once.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{
    Anchor, Entry, Facets, ListQuery, Named, Note, Opening, Read, SearchOrder, SearchQuery, Space, Stale,
    Store, Task, Tip, Turn, Unlock, VaultStore,
};
use rejoin::{ConversationId, Digest, Message, MessageId, Time, WordQuery};
use rejoin_bench::{Answer, Bars, Clock, Fixed, Kind, Shape};

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 2] = ["20x250", "250x20"];

/// Messages of one turn while the vault is filled.
const TURN: usize = 500;

/// Different words, beside those that occur once only.
const WORDS: u64 = 50_000;

/// In three messages.
const RARE: &str = "zanzibarine";

/// In one message of ten.
const COMMON: &str = "deployment";

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
        store.get(Space::Shard, Some(row.id), Named::ALL, &mut |_, sealed| {
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

/// Fills the vault and returns how many bytes of text it holds.
fn fill(vault: &VaultStore, conversations: u64, messages: u64) -> Answer<u64> {
    let mut random = Random(7);
    let mut bytes = 0;
    for conversation in 0..conversations {
        let mut from = 0;
        while from < messages {
            let count = (messages - from).min(TURN as u64);
            bytes += append(vault, &mut random, conversation, from, count)?;
            from += count;
        }
    }
    Ok(bytes)
}

fn name(conversation: u64) -> ConversationId {
    ConversationId::new(Time::from_micros(1_794_000_000_000_000), Random(conversation).bytes())
}

fn message(number: u64) -> rejoin::Result<MessageId> {
    format!("m{number}x1y").parse()
}

/// Appends one turn and returns how many bytes of text it has.
fn append(vault: &VaultStore, random: &mut Random, conversation: u64, from: u64, count: u64) -> Answer<u64> {
    let mut bodies = Vec::new();
    let mut bytes = 0;
    for number in from..from + count {
        let mut text = random.text();
        if number == 7 && conversation.is_multiple_of(7) && conversation < 20 {
            text += RARE;
        }
        if number.is_multiple_of(10) {
            text += COMMON;
        }
        bytes += text.len() as u64;
        let at =
            Time::from_micros(1_794_000_000_000_000 + (number * 20_000 + conversation).cast_signed() * 1_000);
        bodies.push(Message::user(text).at(at).to_body());
    }
    let link = |number: u64| Digest::chain(None, &number.to_be_bytes());
    let mut entries = Vec::new();
    for (number, body) in (from..).zip(&bodies) {
        let before = number.checked_sub(1);
        let parent =
            before.map(|before| Ok::<_, rejoin::Error>(Anchor { id: message(before)?, link: link(before) }));
        let parent = parent.transpose()?;
        entries.push(Entry { id: message(number)?, parent, link: link(number), note: Note::default(), body });
    }
    let facets = Facets::default();
    let opening = Opening { facets: &facets, header: "{}", created: Time::default() };
    vault.append(&Turn {
        conversation: name(conversation),
        opening: (from == 0).then_some(opening),
        stale: Stale::Branch,
        entries: &entries,
        tip: Tip { first: "first", last: "last" },
        branch: None,
        active: Time::from_micros(1_794_000_000_000_000 + conversation.cast_signed()),
        now: Time::now(),
        blobs: &[],
    })?;
    Ok(bytes)
}

/// SplitMix64: the same text in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.next().to_be_bytes());
        bytes
    }

    /// About 2,200 bytes: few words are frequent, most are rare, and one in fifty occurs nowhere else.
    fn text(&mut self) -> String {
        let length = 1_100 + (self.next() % 2_200) as usize;
        let mut text = String::with_capacity(length + 32);
        while text.len() < length {
            let fraction = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
            let rank = (WORDS as f64).powf(fraction) as u64;
            if self.next().is_multiple_of(50) {
                text += &format!("{:x}", self.next() >> 24);
            } else {
                text += &word(rank);
            }
            text.push(' ');
        }
        text
    }
}

/// The word of a rank: frequent ones are short.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ra", "no", "tel", "mi", "sur", "ka", "ven", "dor", "pi", "las", "em", "gru", "tha", "ol", "ben",
        "ci",
    ];
    let (mut rest, mut word) = (rank, String::new());
    loop {
        word += SYLLABLES[(rest % 16) as usize];
        rest /= 16;
        if rest == 0 {
            return word;
        }
    }
}
