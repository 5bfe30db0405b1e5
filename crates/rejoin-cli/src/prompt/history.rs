//! The lines of the past, which the archive keeps beside the conversations.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rejoin::Archive;

use super::Keeping;
use crate::context::Context;

/// The lines of the past in one project. Incognito has none and keeps none.
#[derive(Debug)]
pub(super) struct Past {
    lines: Vec<String>,
    writer: Option<HistoryWriter>,
}

/// A thread that keeps lines, because nobody should wait for that.
#[derive(Debug)]
struct HistoryWriter {
    typed: mpsc::Sender<String>,
    thread: JoinHandle<()>,
}

impl Past {
    pub(super) fn open(context: &Context, archive: &Archive, keeping: Keeping) -> Self {
        let key = context.project_key(archive).ok().filter(|_| keeping == Keeping::Kept);
        let Some(key) = key else { return Self { lines: Vec::new(), writer: None } };
        let lines = archive.state().prompt_history(&key);
        let (typed, inbox) = mpsc::channel::<String>();
        let archive = archive.clone();
        let thread = thread::spawn(move || inbox.iter().for_each(|line| keep(&archive, &key, &line)));
        Self { lines, writer: Some(HistoryWriter { typed, thread }) }
    }

    /// The lines, oldest first.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Keeps a line for the next time.
    pub(super) fn keep(&self, line: &str) {
        if let Some(writer) = &self.writer {
            let _ = writer.typed.send(line.to_owned());
        }
    }

    /// Waits until everything is kept.
    pub(super) fn finish(&mut self) {
        if let Some(HistoryWriter { typed, thread }) = self.writer.take() {
            drop(typed);
            let _ = thread.join();
        }
    }
}

/// Failing to is not worth a word to the user: the conversation itself is what counts.
fn keep(archive: &Archive, project: &str, line: &str) {
    if let Err(error) = archive.state().keep_prompt_line(project, line) {
        tracing::debug!(kind = error.kind().as_str(), "a line of the prompt was not kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_there_the_next_time() {
        let archive = Archive::open("memory:").unwrap();
        let context = Context::imagined();
        let mut past = Past::open(&context, &archive, Keeping::Kept);

        ["hello", " a secret", "and again"].iter().for_each(|line| past.keep(line));
        past.finish();

        assert_eq!(Past::open(&context, &archive, Keeping::Kept).take_lines(), ["hello", "and again"]);
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
