//! What taking secrets out costs, beside parsing the JSON of the same messages and beside appending them.
//!
//! Processor time of one thread. The sides take turns, and the smallest time of each counts, because other
//! programs on the machine only ever add time.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{MemoryStore, SqliteStore};
use rejoin::{Archive, Block, Conversation, Json, Message, Redaction, Role};
use rustix::time::{ClockId, clock_gettime};

/// No word of it is in the name of anything secret.
const PROSE: &str = "The tram leaves at nine, and the last one back leaves at a quarter to eleven.\n";

/// This project's own documents: prose about keys and tokens, with commands.
const DOCUMENTS: [&str; 4] = [
    include_str!("../../../docs/decisions.md"),
    include_str!("../../../docs/guarantees.md"),
    include_str!("../../../docs/cli.md"),
    include_str!("../../../ARCHITECTURE.md"),
];

/// This project's own source.
const CODE: [&str; 4] = [
    include_str!("../../../crates/rejoin/src/archive/handle.rs"),
    include_str!("../../../crates/rejoin/src/store/turn.rs"),
    include_str!("../../../crates/rejoin/src/store/sqlite/mod.rs"),
    include_str!("../../../crates/rejoin/src/ops/redact/message.rs"),
];

/// About so many bytes a message.
const MESSAGE: usize = 2_000;

/// About so many bytes a corpus.
const BYTES: usize = 2_000_000;

const ROUNDS: usize = 9;

/// What the three sides of a corpus took.
struct Measured {
    bytes: usize,
    parsed: Duration,
    looked: Duration,
    appended: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("| text | as | bytes | redact ÷ parse | redact ÷ append |");
    println!("|---|---|---|---|---|");
    let corpora =
        [("prose", PROSE.repeat(600)), ("documents", DOCUMENTS.concat()), ("source", CODE.concat())];
    for (name, text) in corpora {
        for (dress, messages) in [("text", said(&text)), ("result of a tool", told(&text)?)] {
            let Measured { bytes, parsed, looked, appended } = measure(&messages)?;
            let [parse, append] = [parsed, appended].map(|one| looked.as_secs_f64() / one.as_secs_f64());
            println!("| {name} | {dress} | {bytes} | {parse:.2} | {append:.3} |");
        }
    }
    Ok(())
}

/// The lines of a text in pieces of the length of a message, as many as make a corpus.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut bytes = 0;
    for line in text.lines().cycle() {
        let last = pieces.last_mut().expect("there is one from the beginning");
        last.push_str(line);
        last.push('\n');
        bytes += line.len() + 1;
        if last.len() >= MESSAGE {
            if bytes >= BYTES {
                break;
            }
            pieces.push(String::new());
        }
    }
    pieces
}

fn said(text: &str) -> Vec<Message> {
    pieces(text).into_iter().map(Message::assistant).collect()
}

/// The same in JSON, as tools answer.
fn told(text: &str) -> Result<Vec<Message>, Box<dyn Error>> {
    let mut told = Vec::new();
    for (number, piece) in pieces(text).into_iter().enumerate() {
        let output = Json::of(&serde_json::json!({ "status": "ok", "line": number, "output": piece }))?;
        told.push(Message::new(Role::Tool, vec![Block::tool_result(format!("c{number}"), output)]));
    }
    Ok(told)
}

fn measure(messages: &[Message]) -> Result<Measured, Box<dyn Error>> {
    let redacting = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(Redaction::new());
    let bodies: Vec<String> = messages.iter().map(Message::to_body).collect();
    let [mut parsed, mut written, mut looked] = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        parsed = parsed.min(took(|| {
            for body in &bodies {
                std::hint::black_box(serde_json::from_str::<serde_json::Value>(body)?);
            }
            Ok(())
        })?);
        written = written.min(took(|| {
            messages.iter().for_each(|message| drop(std::hint::black_box(message.to_body())));
            Ok(())
        })?);
        looked = looked.min(took(|| {
            for message in messages {
                std::hint::black_box(redacting.redaction().apply(message));
            }
            Ok(())
        })?);
    }
    let bytes = bodies.iter().map(String::len).sum();
    // What is looked at is the written message, which an append makes in any case.
    let looked = looked.saturating_sub(written);
    Ok(Measured { bytes, parsed, looked, appended: append(messages)? })
}

/// Appends each message by itself to a new store.
fn append(messages: &[Message]) -> Result<Duration, Box<dyn Error>> {
    let scratch = tempfile::tempdir_in(".")?;
    let archive = Archive::with_store(Arc::new(SqliteStore::open(scratch.path().join("store.db"))?));
    let mut handle = archive.start(Conversation::titled("Lisbon"))?;
    took(|| {
        for message in messages {
            handle.append(message.clone())?;
        }
        Ok(())
    })
}

/// The processor time of this thread for some work.
fn took(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let now = || clock_gettime(ClockId::ThreadCPUTime);
    let start = now();
    work()?;
    let end = now();
    let nanos = (end.tv_sec - start.tv_sec) * 1_000_000_000 + end.tv_nsec - start.tv_nsec;
    Ok(Duration::from_nanos(nanos.unsigned_abs()))
}
