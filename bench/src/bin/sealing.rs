//! What sealing costs: appending, loading and listing in a vault, beside the same in the SQLite store alone.
//!
//! Both sides take turns in going first. Of appends the median counts, of what reads the smallest time.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{Key, KeyId, ListQuery, SqliteStore, Store, Unlock, VaultStore, Workspace};
use rejoin::{Archive, Conversation, ConversationId, Message};

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

    println!("| what | SQLite | vault | ratio |");
    println!("|---|---|---|---|");
    let [plain, vault] = appends(&paths)?;
    tell("an append, median", plain, vault);
    let [plain, vault] = loads(&paths)?;
    tell("loading 10,000 messages", plain, vault);
    let [plain, vault] = lists(&paths)?;
    tell("the first list of 10,000 conversations", plain, vault);
    Ok(())
}

fn tell(what: &str, plain: Duration, vault: Duration) {
    println!("| {what} | {plain:.1?} | {vault:.1?} | {:.2} |", vault.as_secs_f64() / plain.as_secs_f64());
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

fn appends(paths: &[std::path::PathBuf; 2]) -> Result<[Duration; 2], Box<dyn Error>> {
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
            let start = Instant::now();
            handles[side].append(message)?;
            times[side].push(start.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    }))
}

fn loads(paths: &[std::path::PathBuf; 2]) -> Result<[Duration; 2], Box<dyn Error>> {
    let archives = [open(paths, 0)?, open(paths, 1)?];
    let mut ids: Vec<ConversationId> = Vec::new();
    for archive in &archives {
        let mut handle = archive.start(Conversation::titled("long"))?;
        for turn in 0..MESSAGES / 100 {
            handle.append_turn((0..100).map(|number| Message::user(text(turn * 100 + number))).collect())?;
        }
        ids.push(handle.conversation()?.id);
    }
    let mut best = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for side in [round % 2, (round + 1) % 2] {
            let start = Instant::now();
            let path = archives[side].path(ids[side], None)?;
            best[side] = best[side].min(start.elapsed());
            assert_eq!(path.len(), MESSAGES);
        }
    }
    Ok(best)
}

fn lists(paths: &[std::path::PathBuf; 2]) -> Result<[Duration; 2], Box<dyn Error>> {
    for side in 0..2 {
        let archive = open(paths, side)?;
        for number in 0..CONVERSATIONS {
            archive
                .start(Conversation::titled(format!("talk {number}")))?
                .append(Message::user(text(number)))?;
        }
    }
    let mut best = [Duration::MAX; 2];
    for round in 0..3 {
        for side in [round % 2, (round + 1) % 2] {
            let archive = open(paths, side)?;
            let start = Instant::now();
            let page = archive.store().list(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?;
            best[side] = best[side].min(start.elapsed());
            assert!(page.items.len() >= CONVERSATIONS);
        }
    }
    Ok(best)
}
