//! What restoring would change, and what it changed.

use std::io::Write;

use rejoin::{ConversationId, MessageId};
use rejoin_agent::{FileChange, FileChangeKind, FileOutcome, NewFiles, RestorePlan};
use serde::Serialize;

use super::is_work;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::consent::{ConsentLine, ConsentText};
use crate::ui::paint::Meaning;
use crate::ui::size;

/// What restoring would change, and what it changed.
pub(super) struct RestoreReport {
    conversation: ConversationId,
    message: MessageId,
    snapshot: MessageId,
    new: NewFiles,
    changes: Vec<FileChange>,
    /// What was done; empty until it is.
    pub(super) done: Vec<FileOutcome>,
}

/// The same, as programs read it.
#[derive(Serialize)]
struct RestoredFiles<'a> {
    conversation: ConversationId,
    message: MessageId,
    /// The message that has the snapshot.
    snapshot: MessageId,
    dry_run: bool,
    files: Vec<RestoredFile<'a>>,
}

#[derive(Serialize)]
struct RestoredFile<'a> {
    path: &'a str,
    change: &'static str,
    /// Why it was, or would be, left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Where what was there is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<&'a str>,
}

impl RestoreReport {
    pub(super) fn new(
        conversation: ConversationId,
        message: MessageId,
        snapshot: MessageId,
        new: NewFiles,
        plan: &RestorePlan,
    ) -> Self {
        let changes = plan.changes().to_vec();
        Self { conversation, message, snapshot, new, changes, done: Vec::new() }
    }

    pub(super) fn has_work(&self) -> bool {
        self.work().next().is_some()
    }

    pub(super) fn count(&self) -> String {
        size::count(self.work().count() as u64, "file", "files")
    }

    fn work(&self) -> impl Iterator<Item = &FileChange> {
        self.changes.iter().filter(|change| is_work(&change.kind, self.new))
    }

    /// Everything that the answer is about.
    pub(super) fn lines(&self) -> Vec<ConsentLine> {
        let shown: Vec<ConsentText> =
            self.changes.iter().map(|change| ConsentText::line(&self.sentence(change))).collect();
        let diffs: Vec<ConsentText> = self.work().map(|change| ConsentText::block(&change.diff)).collect();
        let mut lines: Vec<ConsentLine> =
            shown.iter().flat_map(|shown| ConsentLine::edged(shown, |_| Meaning::Title)).collect();
        for diff in diffs.iter().filter(|diff| !diff.text().is_empty()) {
            lines.extend(ConsentLine::edged(diff, in_diff));
        }
        lines.extend(ConsentLine::notes(&shown.iter().chain(&diffs).collect::<Vec<_>>()));
        lines
    }

    /// What would become of a file.
    fn sentence(&self, change: &FileChange) -> String {
        let path = &change.path;
        match &change.kind {
            FileChangeKind::Replace => format!("replace {path}"),
            FileChangeKind::Create => format!("create {path}"),
            FileChangeKind::Mode => format!("change the mode of {path}"),
            FileChangeKind::New if self.new == NewFiles::SetAside => format!("set aside {path}"),
            FileChangeKind::New => format!("keep {path}: it is new since then"),
            FileChangeKind::Kept(why) => format!("keep {path}: {why}"),
            _ => path.clone(),
        }
    }

    pub(super) fn answer(&self, dry_run: bool, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            return context.answer_json(&RestoredFiles {
                conversation: self.conversation,
                message: self.message,
                snapshot: self.snapshot,
                dry_run,
                files: self.changes.iter().map(|change| self.file(change)).collect(),
            });
        }
        let mut answer = context.answer();
        if dry_run {
            for change in &self.changes {
                writeln!(answer, "{}", ConsentText::line(&self.sentence(change)).text())?;
            }
            for change in self.work().filter(|change| !change.diff.is_empty()) {
                writeln!(answer, "{}", ConsentText::block(&change.diff).text())?;
            }
        }
        for outcome in &self.done {
            let path = ConsentText::line(&outcome.path).text();
            match (&outcome.problem, &outcome.copy) {
                (Some(problem), _) => writeln!(answer, "{path}: not restored: {problem}")?,
                (None, Some(copy)) if self.is_new(&outcome.path) => {
                    writeln!(answer, "{path}: set aside as {}", ConsentText::line(copy).text())?;
                }
                (None, Some(copy)) => {
                    writeln!(
                        answer,
                        "{path}: restored; the file before is {}",
                        ConsentText::line(copy).text()
                    )?;
                }
                (None, None) => writeln!(answer, "{path}: restored")?,
            }
        }
        answer.flush()?;
        if !self.has_work() {
            context.note("No file has to be restored.");
        }
        if !dry_run {
            for change in self.changes.iter().filter(|change| !is_work(&change.kind, self.new)) {
                context.note(&ConsentText::line(&self.sentence(change)).text());
            }
        }
        Ok(())
    }

    fn is_new(&self, path: &str) -> bool {
        self.changes.iter().any(|change| change.path == path && change.kind == FileChangeKind::New)
    }

    fn file<'a>(&'a self, change: &'a FileChange) -> RestoredFile<'a> {
        let done = self.done.iter().find(|outcome| outcome.path == change.path);
        let problem = done.and_then(|outcome| outcome.problem.as_deref());
        let (kind, reason) = match &change.kind {
            FileChangeKind::Replace => ("replace", problem),
            FileChangeKind::Create => ("create", problem),
            FileChangeKind::Mode => ("mode", problem),
            FileChangeKind::New if self.new == NewFiles::SetAside => ("set-aside", problem),
            FileChangeKind::New => ("new", None),
            FileChangeKind::Kept(why) => ("none", Some(why.as_str())),
            _ => ("none", None),
        };
        let copy = done.and_then(|outcome| outcome.copy.as_deref());
        RestoredFile { path: &change.path, change: kind, reason, copy }
    }
}

fn in_diff(line: &str) -> Meaning {
    match line.as_bytes().first() {
        Some(b'+') => Meaning::Success,
        Some(b'-') => Meaning::Error,
        Some(b'@') => Meaning::Dim,
        _ => Meaning::Plain,
    }
}
