//! The lines of the past, kept in the store beside the conversations, so that there is no side file.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rejoin::Archive;

use super::Keeping;
use crate::context::Context;

/// What lines are kept under, with the project's key.
pub(super) const NAME: &str = "prompt.history:";

/// How many lines are kept.
pub(super) const CAPACITY: usize = 500;

/// A longer line is not worth typing again, and would make each save slow.
const LONGEST: usize = 4096;

/// The lines of the past in one project. Incognito has none and keeps none.
#[derive(Debug)]
pub(super) struct Past {
    lines: Vec<String>,
    keeper: Option<Keeper>,
}

/// A thread that keeps lines, because nobody should wait for that.
#[derive(Debug)]
struct Keeper {
    typed: mpsc::Sender<String>,
    thread: JoinHandle<()>,
}

impl Past {
    pub(super) fn open(context: &Context, archive: &Archive, keeping: Keeping) -> Self {
        let key = context.project_key(archive).ok().filter(|_| keeping == Keeping::Kept);
        let Some(key) = key else { return Self { lines: Vec::new(), keeper: None } };
        let name = format!("{NAME}{key}");
        let lines = recall(archive, &name);
        let (typed, inbox) = mpsc::channel();
        let archive = archive.clone();
        let thread = thread::spawn(move || inbox.iter().for_each(|line| remember(&archive, &name, line)));
        Self { lines, keeper: Some(Keeper { typed, thread }) }
    }

    /// The lines, oldest first.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Keeps a line for the next time. One that begins with a space is not kept, as is the custom of shells.
    pub(super) fn keep(&self, line: &str) {
        let is_wanted = !line.trim().is_empty() && !line.starts_with(' ') && line.len() <= LONGEST;
        if let (Some(keeper), true) = (&self.keeper, is_wanted) {
            let _ = keeper.typed.send(line.to_owned());
        }
    }

    /// Waits until everything is kept.
    pub(super) fn finish(&mut self) {
        if let Some(Keeper { typed, thread }) = self.keeper.take() {
            drop(typed);
            let _ = thread.join();
        }
    }
}

/// The lines that are kept under a name, oldest first.
pub(super) fn recall(archive: &Archive, name: &str) -> Vec<String> {
    let kept = archive.recall(name).ok().flatten();
    kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Failing to is not worth a word: the conversation itself is what counts.
fn remember(archive: &Archive, name: &str, line: String) {
    // Another prompt may have kept lines meanwhile, so they are read again.
    let mut lines = recall(archive, name);
    if lines.last() == Some(&line) {
        return;
    }
    lines.push(line);
    let surplus = lines.len().saturating_sub(CAPACITY);
    lines.drain(..surplus);
    if let Ok(text) = serde_json::to_string(&lines) {
        let _ = archive.remember(name, Some(&text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_lines_are_kept() {
        let archive = Archive::open("memory:").unwrap();
        let context = Context::imagined();
        let mut past = Past::open(&context, &archive, Keeping::Kept);

        for number in 0..CAPACITY + 2 {
            past.keep(&format!("line {number}"));
        }
        past.keep(" a secret");
        past.keep(&"long".repeat(LONGEST));
        past.finish();

        let lines = Past::open(&context, &archive, Keeping::Kept).take_lines();
        let expected: Vec<String> = (2..CAPACITY + 2).map(|number| format!("line {number}")).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn incognito_has_no_past_and_leaves_none() {
        let archive = Archive::open("memory:").unwrap();
        let context = Context::imagined();
        let mut past = Past::open(&context, &archive, Keeping::Incognito);

        past.keep("hello");
        past.finish();

        assert_eq!(Past::open(&context, &archive, Keeping::Kept).take_lines(), Vec::<String>::new());
    }
}
