//! The conversations that every contestant is measured with, the same on every machine.
//!
//! Everything follows from a seed, so two runs differ only in what is measured. The data goes to contestants
//! as files of JSON lines, one message a line, so that a contestant in another language needs no generator.

mod random;
mod turns;
mod vocabulary;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::failure::{Context, Result};
use random::Random;
use turns::Turns;

/// How many messages one turn has: question, tool call, tool result, answer.
pub const MESSAGES_PER_TURN: usize = 4;

/// How many messages each of the many short conversations has.
pub const MESSAGES_PER_SHORT_CONVERSATION: usize = 20;

/// The word that seven messages of seven different conversations contain.
pub const RARE_WORD: &str = "zanzibarine";

/// The number of messages that contain the rare word.
pub const RARE_MESSAGES: usize = 7;

/// The word that one message in ten contains.
pub const COMMON_WORD: &str = "deployment";

/// Writes one conversation of `messages` messages as JSON lines.
pub fn write_long(file: &Path, seed: u64, messages: usize) -> Result<()> {
    let mut turns = Turns::new(seed);
    let mut out = create(file)?;
    let mut left = messages;
    while left > 0 {
        for line in turns.next_turn(None).iter().take(left) {
            write_line(&mut out, line)?;
        }
        left = left.saturating_sub(MESSAGES_PER_TURN);
    }
    out.flush().context(|| format!("write `{}`", file.display()))
}

/// Writes `conversations` short conversations, one after the other, as JSON lines.
///
/// The last one is the newest. Seven of them, chosen by the seed, contain the rare word once.
pub fn write_many(file: &Path, seed: u64, conversations: usize) -> Result<()> {
    let rare = distinct(&mut Random::new(seed ^ 0x7a7a), RARE_MESSAGES, conversations);
    let mut turns = Turns::new(seed);
    let mut out = create(file)?;
    for conversation in 0..conversations {
        for turn in 0..MESSAGES_PER_SHORT_CONVERSATION / MESSAGES_PER_TURN {
            let word = (turn == 2 && rare.contains(&conversation)).then_some(RARE_WORD);
            for line in turns.next_turn(word) {
                write_line(&mut out, &line)?;
            }
        }
    }
    out.flush().context(|| format!("write `{}`", file.display()))
}

fn create(file: &Path) -> Result<BufWriter<File>> {
    let created = File::create(file).context(|| format!("create `{}`", file.display()))?;
    Ok(BufWriter::with_capacity(1 << 20, created))
}

fn write_line(out: &mut impl Write, line: &str) -> Result<()> {
    out.write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .context(|| "write generated messages".into())
}

fn distinct(random: &mut Random, wanted: usize, below: usize) -> Vec<usize> {
    let mut chosen = Vec::new();
    while chosen.len() < wanted.min(below) {
        let candidate = random.below(below);
        if !chosen.contains(&candidate) {
            chosen.push(candidate);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(messages: usize) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("long.jsonl");
        write_long(&file, 1, messages).unwrap();
        std::fs::read_to_string(file).unwrap()
    }

    fn many(conversations: usize) -> String {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("many.jsonl");
        write_many(&file, 3, conversations).unwrap();
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(long(400), long(400));
    }

    #[test]
    fn a_conversation_of_ten_thousand_messages_has_twenty_two_megabytes() {
        let bytes = long(10_000).len();

        assert!((21_000_000..24_000_000).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn seven_messages_contain_the_rare_word() {
        assert_eq!(many(100).matches(RARE_WORD).count(), RARE_MESSAGES);
    }

    #[test]
    fn one_message_in_ten_contains_the_common_word() {
        let data = many(500);

        let with_word = data.lines().filter(|line| line.contains(COMMON_WORD)).count();

        assert!((900..1_100).contains(&with_word), "{with_word} of 10000 messages");
    }
}
