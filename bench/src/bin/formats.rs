//! How long a format takes to read a long file, beside the time that parsing its JSON takes.
//!
//! The files are written by the formats themselves. Both sides take turns in going first, and the smallest
//! time of each counts, because other programs on the machine only ever add time.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use rejoin::formats::{Format, Reading, Source, SourceConversation, SourceMessage, Tree};
use rejoin::formats::{ReadLimits, SourcePiece};
use rejoin::{Block, Json, Message, Time};

/// The formats that are measured: those of the longest files.
const FORMATS: [&str; 2] = ["claude", "codex"];

/// What the texts repeat: JSON parses one that it has to escape more slowly than one that it has not.
const TEXTS: [(&str, &str); 2] = [
    ("many escapes", "She said: \"the tram leaves at nine\".\n"),
    ("few escapes", "The tram leaves at nine, and the last one back leaves at a quarter to eleven.\n"),
];

/// About so many bytes a file.
const BYTES: usize = 20_000_000;

/// A turn of two messages has about so many.
const TURN: usize = 4_000;

const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    println!("| format | text | bytes | messages | read ÷ parse |");
    println!("|---|---|---|---|---|");
    for (name, (kind, sentence)) in FORMATS.iter().flat_map(|name| TEXTS.map(|text| (*name, text))) {
        let format = Format::named(name)?;
        let written = format.write(&talk(sentence))?;
        let file = written.first().ok_or("nothing was written")?;
        let path = scratch.path().join(file.path.file_name().ok_or("a file has no name")?);
        fs::write(&path, &file.bytes)?;
        let (mut read, mut parsed, mut messages) = (Duration::MAX, Duration::MAX, 0);
        for round in 0..ROUNDS {
            for side in [round, round + 1] {
                let start = Instant::now();
                if side.is_multiple_of(2) {
                    parse(&path)?;
                    parsed = parsed.min(start.elapsed());
                } else {
                    messages = read_as(format, &path)?;
                    read = read.min(start.elapsed());
                }
            }
        }
        let ratio = read.as_secs_f64() / parsed.as_secs_f64();
        println!("| {name} | {kind} | {} | {messages} | {ratio:.2} |", file.bytes.len());
    }
    Ok(())
}

/// A long talk with calls and results.
fn talk(sentence: &str) -> Tree {
    let id = "01932d4a-0123-7890-abcd-123456789abc".to_owned();
    let begun = Time::from_micros(1_794_000_000_000_000);
    let mut tree = Tree::default();
    tree.conversations.push(SourceConversation::new(id.clone(), begun));
    let paragraph = sentence.repeat(TURN / 2 / sentence.len());
    for number in 0..BYTES / TURN {
        let call = Json::of(&serde_json::json!({ "place": number, "why": paragraph.as_str() }));
        let message = match (number % 4, call) {
            (1, Ok(call)) => Message::new(
                rejoin::Role::Assistant,
                vec![Block::tool_call(format!("c{number}"), "look", call)],
            ),
            (2, Ok(answer)) => {
                let called = format!("c{}", number - 1);
                Message::new(rejoin::Role::Tool, vec![Block::tool_result(called, answer)])
            }
            (0, _) => Message::user(paragraph.repeat(2)),
            _ => Message::assistant(paragraph.repeat(2)),
        };
        let at = Time::from_micros(begun.as_micros() + number as i64 * 1_000_000);
        tree.messages.push(SourceMessage {
            conversation: id.clone(),
            id: format!("m{number}"),
            parent: number.checked_sub(1).map(|before| format!("m{before}")),
            message: message.at(at),
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        });
    }
    tree
}

/// Every line as JSON, one at a time, in a buffer of the size that a format reads with. A whole file in
/// memory would be slower: its pages have to be made.
fn parse(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut lines = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        std::hint::black_box(serde_json::from_str::<serde_json::Value>(&line)?);
        line.clear();
    }
    Ok(())
}

/// Every message, one at a time, as an import takes them.
fn read_as(format: &Format, path: &Path) -> Result<usize, Box<dyn Error>> {
    let source = Source::open(path)?;
    let mut messages = 0;
    let mut take = |piece: SourcePiece| {
        messages += usize::from(matches!(piece, SourcePiece::Message(_)));
        std::hint::black_box(&piece);
        Ok(())
    };
    format.read(&source, &mut Reading::new(ReadLimits::default(), &mut take))?;
    Ok(messages)
}
