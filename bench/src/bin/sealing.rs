//! What sealing costs: appending, loading and listing in a vault, beside the same in the SQLite store alone.
//!
//! Both sides take turns in going first. Of appends the median counts, of what reads the smallest time. Beside the time that
//! passes stands the processor time of all threads, which other programs on the machine disturb less. Words after the
//! directory choose what is measured: `appends`, `loads`, `lists`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{Key, KeyId, ListQuery, SqliteStore, Store, Unlock, VaultStore, Workspace};
use rejoin::{Archive, Conversation, ConversationId, Message};
use rustix::time::{ClockId, clock_gettime};

/// How many messages are appended one by one.
const APPENDS: usize = 1_500;

/// How many messages a conversation that is loaded has.
const MESSAGES: usize = 10_000;

/// How many conversations are listed.
const CONVERSATIONS: usize = 10_000;

/// How often the same is loaded and listed.
const ROUNDS: usize = 9;

/// A sentence as people write them, some fifteen times in a message.
const SENTENCE: &str = "The tram leaves at nine, and the last one back leaves at a quarter to eleven. ";

struct Known;

impl Unlock for Known {
    fn unlock(&self, _inner: &dyn Store) -> rejoin::Result<Workspace> {
        let [vault, id] = [1, 2].map(|byte| KeyId::from_bytes([byte; 16]));
        let [key, names] = [3, 4].map(|byte| Key::from_slice(&[byte; 32]).expect("there are 32 bytes"));
        Ok(Workspace::new(vault, 1, id, key, names))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir_in(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()))?;
    let paths = ["plain.db", "vault.db"].map(|name| scratch.path().join(name));
    let workspace = Known.unlock(&SqliteStore::open(&paths[1])?)?;
    VaultStore::found(&SqliteStore::open(&paths[1])?, &workspace)?;

    let chosen: Vec<String> = std::env::args().skip(2).collect();
    let is_chosen = |what: &str| chosen.is_empty() || chosen.iter().any(|word| word == what);
    println!("| what | SQLite | vault | ratio | processor: SQLite | vault | ratio |");
    println!("|---|---|---|---|---|---|---|");
    if is_chosen("appends") {
        tell("an append, median", appends(&paths)?);
    }
    if is_chosen("loads") {
        tell("loading 10,000 messages", loads(&paths)?);
    }
    if is_chosen("lists") {
        tell("the first list of 10,000 conversations", lists(&paths)?);
    }
    Ok(())
}

/// How long something took.
#[derive(Clone, Copy, Debug)]
struct Took {
    whole: Duration,
    processor: Duration,
}

impl Took {
    const LONGEST: Self = Self { whole: Duration::MAX, processor: Duration::MAX };

    fn least(self, other: Self) -> Self {
        Self { whole: self.whole.min(other.whole), processor: self.processor.min(other.processor) }
    }

    fn median(all: &[Self]) -> Self {
        let middle = |mut times: Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        let whole = middle(all.iter().map(|took| took.whole).collect());
        Self { whole, processor: middle(all.iter().map(|took| took.processor).collect()) }
    }
}

/// Does some work and tells how long it took.
fn timed<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(Took, T), Box<dyn Error>> {
    let processor = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
    };
    let (begun, before) = (Instant::now(), processor());
    let answer = work()?;
    Ok((Took { whole: begun.elapsed(), processor: processor().saturating_sub(before) }, answer))
}

fn tell(what: &str, [plain, vault]: [Took; 2]) {
    let pair = |plain: Duration, vault: Duration| {
        format!("{plain:.1?} | {vault:.1?} | {:.2}", vault.as_secs_f64() / plain.as_secs_f64())
    };
    println!("| {what} | {} | {} |", pair(plain.whole, vault.whole), pair(plain.processor, vault.processor));
}

/// The archive of one side: the first is plain.
fn open(paths: &[std::path::PathBuf; 2], side: usize) -> Result<Archive, Box<dyn Error>> {
    let inner = |path: &Path| SqliteStore::open(path).map(Arc::new);
    Ok(match side {
        0 => Archive::with_store(inner(&paths[0])?),
        _ => Archive::with_store(Arc::new(VaultStore::open(inner(&paths[1])?, Arc::new(Known))?)),
    })
}

fn text(number: usize) -> String {
    SENTENCE.repeat(1 + number % 30)
}

fn appends(paths: &[std::path::PathBuf; 2]) -> Result<[Took; 2], Box<dyn Error>> {
    let archives = [open(paths, 0)?, open(paths, 1)?];
    let mut handles = [
        archives[0].start(Conversation::titled("Lisbon"))?,
        archives[1].start(Conversation::titled("Lisbon"))?,
    ];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..APPENDS {
        for side in [number % 2, (number + 1) % 2] {
            let message =
                if number % 2 == 0 { Message::user(text(number)) } else { Message::assistant(text(number)) };
            times[side].push(timed(|| Ok(handles[side].append(message)?))?.0);
        }
    }
    Ok(times.map(|times| Took::median(&times)))
}

fn loads(paths: &[std::path::PathBuf; 2]) -> Result<[Took; 2], Box<dyn Error>> {
    let archives = [open(paths, 0)?, open(paths, 1)?];
    let mut ids: Vec<ConversationId> = Vec::new();
    for archive in &archives {
        let mut handle = archive.start(Conversation::titled("long"))?;
        for turn in 0..MESSAGES / 100 {
            handle.append_turn((0..100).map(|number| Message::user(text(turn * 100 + number))).collect())?;
        }
        ids.push(handle.conversation()?.id);
    }
    let mut best = [Took::LONGEST; 2];
    for round in 0..ROUNDS {
        for side in [round % 2, (round + 1) % 2] {
            let (took, path) = timed(|| Ok(archives[side].path(ids[side], None)?))?;
            best[side] = best[side].least(took);
            assert_eq!(path.len(), MESSAGES);
        }
    }
    Ok(best)
}

fn lists(paths: &[std::path::PathBuf; 2]) -> Result<[Took; 2], Box<dyn Error>> {
    for side in 0..2 {
        let archive = open(paths, side)?;
        for number in 0..CONVERSATIONS {
            archive
                .start(Conversation::titled(format!("talk {number}")))?
                .append(Message::user(text(number)))?;
        }
    }
    let mut best = [Took::LONGEST; 2];
    for round in 0..3 {
        for side in [round % 2, (round + 1) % 2] {
            let archive = open(paths, side)?;
            let all = ListQuery { limit: usize::MAX, ..ListQuery::default() };
            let (took, page) = timed(|| Ok(archive.store().list(&all)?))?;
            best[side] = best[side].least(took);
            assert!(page.items.len() >= CONVERSATIONS);
        }
    }
    Ok(best)
}
