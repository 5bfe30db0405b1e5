//! Files of other programs: read, imported, written and read again.

mod accept;
mod again;
mod agent_voice;
mod aider;
mod bounds;
mod chatgpt;
pub(crate) mod claude;
mod claude_ai;
mod codex;
mod cody;
mod compacted;
mod complete;
mod cortext;
mod cpe;
mod database;
mod documents;
pub(crate) mod empty;
mod envoy;
mod fixtures;
mod gemini;
mod goose;
mod hostile;
mod import;
mod json;
mod llm;
mod meanwhile;
mod opencode;
mod qwen;
mod round;

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::formats::{Format, ReadLimits, Source, SourceKept, SourceMessage, Tree};
use rejoin::{Block, Message};
use tempfile::TempDir;

/// A file that a real program wrote.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

/// Everything in a file, by the format that claims it.
pub(crate) fn read(path: &Path) -> Tree {
    let source = Source::open(path).unwrap();
    let format = Format::of(&source).unwrap();
    Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading)).unwrap()
}

/// A directory with one file of these lines.
pub(crate) fn file_of(name: &str, lines: &[&str]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    (directory, path)
}

/// A message on one line: `id < parent role: blocks`, ids cut to four characters.
pub(crate) fn outline(messages: &[SourceMessage]) -> Vec<String> {
    let cut = |id: &str| id.chars().take(4).collect::<String>();
    messages
        .iter()
        .map(|found| {
            let parent = found.parent.as_deref().map_or("-".to_owned(), cut);
            format!("{} < {parent} {}", cut(&found.id), said(&found.message))
        })
        .collect()
}

/// Messages that a compaction keeps as they are.
fn kept(messages: &[&str]) -> Vec<SourceKept> {
    messages.iter().map(|message| SourceKept::from((*message).to_owned())).collect()
}

/// What a message says: `role: blocks`.
fn said(message: &Message) -> String {
    let blocks: Vec<String> = message.blocks.iter().map(shown).collect();
    format!("{}: {}", message.role.as_str(), blocks.join(" | "))
}

fn shown(block: &Block) -> String {
    let cut = |text: &str| text.chars().take(30).collect::<String>();
    match block {
        Block::Text(text) => cut(&text.text),
        Block::Thinking(thinking) => format!("({})", cut(&thinking.text)),
        Block::ToolCall(call) => format!("{}>{}", call.name, cut(call.input.as_str())),
        Block::ToolResult(result) => format!("={}", cut(result.output.as_str())),
        Block::Summary(summary) => format!("summary {}", cut(&summary.text)),
        Block::Other(other) => format!("[{}]", other.kind),
        other => format!("<{}>", other.kind()),
    }
}
