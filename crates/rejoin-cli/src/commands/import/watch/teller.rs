//! What a watch tells: a line for each change, and a sentence at the end.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rejoin::{ConversationId, Imported, ImportedConversation, Redacted};
use serde::Serialize;

use super::super::placed;
use super::super::report;
use super::super::survey::below_home;
use crate::context::Context;
use crate::error::Failure;
use crate::redaction;
use crate::ui::json::{self, PathText};
use crate::ui::paint::Meaning;
use crate::ui::{clean, fit, size, when};

/// So many files that went away are named one by one.
const NAMED: usize = 3;

/// Columns of a title in a line.
const TITLE: usize = 40;

/// What a watch tells.
#[derive(Debug)]
pub(super) struct WatchTeller<'a> {
    context: &'a Context,
    began: Instant,
    messages: u64,
    new: BTreeSet<ConversationId>,
    known: BTreeSet<ConversationId>,
}

/// A change as programs read it.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum WatchEvent<'a> {
    Watching { files: usize },
    Imported { path: PathText<'a>, format: &'static str, conversation: report::ImportedShape<'a> },
    Redacted { rules: &'a [Redacted] },
    Failed { path: PathText<'a>, why: String },
    Gone { path: PathText<'a> },
    Waiting { kind: &'static str, why: String },
    Recovered,
    Ended { messages: u64, new_conversations: u64, known_conversations: u64 },
}

impl<'a> WatchTeller<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, began: Instant::now(), messages: 0, new: BTreeSet::new(), known: BTreeSet::new() }
    }

    pub(super) fn watching(&self, files: usize) -> Result<(), Failure> {
        if self.context.is_json() {
            return self.event(&WatchEvent::Watching { files });
        }
        let files = size::count(files as u64, "file", "files");
        self.context.note(&format!("Watching {files}. Ctrl+C ends it."));
        Ok(())
    }

    /// Tells what was imported; a source without anything new is not worth a line.
    pub(super) fn imported(&mut self, imported: &Imported, program: &str) -> Result<(), Failure> {
        for one in imported.conversations.iter().filter(|one| one.added + one.grown > 0) {
            self.messages += one.added + one.grown;
            if one.is_new {
                self.new.insert(one.id);
            } else if !self.new.contains(&one.id) {
                self.known.insert(one.id);
            }
            if self.context.is_json() {
                let (path, format) = (json::path(&imported.path), imported.format);
                self.event(&WatchEvent::Imported { path, format, conversation: one.into() })?;
            } else {
                self.line(one, program)?;
            }
        }
        match redaction::told(&imported.redacted) {
            Some(_) if self.context.is_json() => {
                self.event(&WatchEvent::Redacted { rules: &imported.redacted })
            }
            Some(told) => {
                self.context.note(&told);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn line(&self, one: &ImportedConversation, program: &str) -> Result<(), Failure> {
        let paint = self.context.paint();
        let clock = self.context.clock();
        let messages = size::count(one.added + one.grown, "message", "messages");
        let mut parts = vec![
            paint.apply(Meaning::Dim, &clock.minute(clock.now())),
            program.to_owned(),
            if one.is_new { format!("{messages}, new") } else { messages },
        ];
        parts.extend(placed::beside(one.imported_as).map(|beside| format!("beside {}", beside.short())));
        parts.extend(one.title.as_deref().map(|title| fit::truncate(&clean::line(title), TITLE)));
        parts.push(paint.apply(Meaning::Id, one.id.short().as_str()));
        let mut answer = self.context.answer();
        writeln!(answer, "{}", parts.join("  "))?;
        answer.flush()?;
        Ok(())
    }

    /// Tells that a source cannot be read. It is tried again when it changes.
    pub(super) fn failed(&self, path: &Path, failure: &Failure) -> Result<(), Failure> {
        if self.context.is_json() {
            return self.event(&WatchEvent::Failed { path: json::path(path), why: failure.summary() });
        }
        self.context.note(&format!("Not imported: {}.", failure.summary()));
        Ok(())
    }

    /// Tells that files went away.
    pub(super) fn gone(&self, paths: &[PathBuf]) -> Result<(), Failure> {
        if self.context.is_json() {
            return paths
                .iter()
                .try_for_each(|path| self.event(&WatchEvent::Gone { path: json::path(path) }));
        }
        if paths.len() > NAMED {
            let files = size::count(paths.len() as u64, "file is", "files are");
            self.context.note(&format!("{files} gone. What was imported stays."));
            return Ok(());
        }
        for path in paths {
            let shown = below_home(path, self.context);
            self.context.note(&format!("{shown} is gone. What was imported stays."));
        }
        Ok(())
    }

    /// Tells that the store does not take anything.
    pub(super) fn waiting(&self, failure: &Failure, pause: Duration) -> Result<(), Failure> {
        if self.context.is_json() {
            let (kind, why) = (failure.kind(), failure.summary());
            return self.event(&WatchEvent::Waiting { kind, why });
        }
        let pause = when::duration(pause);
        self.context.note(&format!("Nothing can be stored: {}. Trying again in {pause}.", failure.summary()));
        Ok(())
    }

    /// Tells that the store works again.
    pub(super) fn recovered(&self) -> Result<(), Failure> {
        if self.context.is_json() {
            return self.event(&WatchEvent::Recovered);
        }
        self.context.note("Saving works again.");
        Ok(())
    }

    /// Says what it came to.
    pub(super) fn end(&self) -> Result<(), Failure> {
        let (new, known) = (self.new.len() as u64, self.known.len() as u64);
        if self.context.is_json() {
            let messages = self.messages;
            return self.event(&WatchEvent::Ended {
                messages,
                new_conversations: new,
                known_conversations: known,
            });
        }
        // The terminal shows the interrupt where the cursor stands.
        if self.context.surroundings.terminal.stderr {
            let _ = writeln!(io::stderr());
        }
        let lasted = when::duration(self.began.elapsed());
        let mut answer = self.context.answer();
        let into = [
            (new, size::count(new, "new conversation", "new conversations")),
            (known, size::count(known, "known conversation", "known conversations")),
        ];
        let into: Vec<String> =
            into.into_iter().filter(|(count, _)| *count > 0).map(|(_, told)| told).collect();
        if into.is_empty() {
            writeln!(answer, "Nothing was imported in {lasted}.")?;
        } else {
            let messages = size::count(self.messages, "message", "messages");
            writeln!(answer, "Imported {messages} of {} in {lasted}.", into.join(" and "))?;
        }
        answer.flush()?;
        Ok(())
    }

    /// Each line is flushed: whoever follows waits for it.
    fn event(&self, event: &WatchEvent<'_>) -> Result<(), Failure> {
        self.context.answer_json(event)
    }
}
