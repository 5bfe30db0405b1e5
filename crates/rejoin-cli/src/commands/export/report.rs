//! What was written where, and what could not be.

use std::collections::HashSet;
use std::io::Write;

use rejoin::{ConversationId, StoredConversation};
use serde::Serialize;

use super::kind::ExportKind;
use super::place::{Placed, WriteState};
use super::selection::{SelectedConversation, SelectionReason};
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::shapes::Itself;
use crate::ui::json::{self, PathText};
use crate::ui::{clean, size};

/// What became of every conversation.
#[derive(Debug)]
pub(super) struct ExportReport {
    kind: ExportKind,
    /// Runs of sub-agents that nothing takes along.
    orphans: HashSet<ConversationId>,
    done: Vec<(StoredConversation, Placed)>,
    failed: Vec<(StoredConversation, Failure)>,
}

/// A report as programs read it.
#[derive(Serialize)]
struct ExportAnswer<'a> {
    format: &'a str,
    exported: Vec<Exported<'a>>,
    orphaned_runs: u64,
    failed: Vec<FailedExport<'a>>,
}

/// A conversation that was written, and where.
#[derive(Serialize)]
struct Exported<'a> {
    #[serde(flatten)]
    itself: Itself,
    title: Option<&'a str>,
    path: PathText<'a>,
    files: Vec<PathText<'a>>,
    bytes: u64,
    state: &'a str,
}

/// A conversation that could not be written.
#[derive(Serialize)]
struct FailedExport<'a> {
    id: ConversationId,
    title: Option<&'a str>,
    why: String,
}

impl ExportReport {
    pub(super) fn new(kind: ExportKind, wanted: &[SelectedConversation]) -> Self {
        let orphans = wanted
            .iter()
            .filter(|one| one.standing == SelectionReason::Orphan)
            .map(|one| one.stored.id)
            .collect();
        Self { kind, orphans, done: Vec::new(), failed: Vec::new() }
    }

    /// Takes note of what became of a conversation. One that fails does not stop the others.
    pub(super) fn add(&mut self, stored: StoredConversation, outcome: Result<Placed, Failure>) {
        match outcome {
            Ok(placed) => self.done.push((stored, placed)),
            Err(failure) => self.failed.push((stored, failure)),
        }
    }

    /// The conversations that were written.
    pub(super) fn written(&self) -> Vec<&StoredConversation> {
        self.done.iter().map(|(stored, _)| stored).collect()
    }

    /// The paths are the answer, one on each line.
    pub(super) fn show(&self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            return context.answer_json(&self.as_answer());
        }
        let mut answer = context.answer();
        for (_, placed) in &self.done {
            writeln!(answer, "{}", clean::line(&placed.path.to_string_lossy()))?;
        }
        answer.flush()?;
        if !self.done.is_empty() {
            context.note(&self.told());
        }
        Ok(())
    }

    fn told(&self) -> String {
        let counted = |state| self.done.iter().filter(|(_, placed)| placed.state == state).count() as u64;
        let written = self.done.len() as u64 - counted(WriteState::Same);
        let mut told = format!("Exported {}", size::count(written, "conversation", "conversations"));
        let orphans = self.orphans();
        if orphans > 0 {
            let runs = size::count(orphans, "sub-agent run", "sub-agent runs");
            told += &format!(", including {runs} without the conversation that started it");
        }
        match counted(WriteState::Same) {
            0 => format!("{told}."),
            same => format!("{told}; {}.", size::count(same, "file already exists", "files already exist")),
        }
    }

    /// How many of what was written are runs that nothing takes along.
    fn orphans(&self) -> u64 {
        self.done.iter().filter(|(stored, _)| self.orphans.contains(&stored.id)).count() as u64
    }

    fn as_answer(&self) -> ExportAnswer<'_> {
        let exported = self.done.iter().map(|(stored, placed)| Exported {
            itself: stored.id.into(),
            title: stored.conversation.title.as_deref(),
            path: json::path(&placed.path),
            files: placed.files.iter().map(|file| json::path(file)).collect(),
            bytes: placed.bytes,
            state: placed.state.name(),
        });
        let failed = self.failed.iter().map(|(stored, failure)| FailedExport {
            id: stored.id,
            title: stored.conversation.title.as_deref(),
            why: failure.summary(),
        });
        ExportAnswer {
            format: self.kind.name(),
            exported: exported.collect(),
            orphaned_runs: self.orphans(),
            failed: failed.collect(),
        }
    }

    /// Fails when a conversation could not be written.
    pub(super) fn judge(mut self) -> Result<(), Failure> {
        let all = self.failed.len() + self.done.len();
        match self.failed.len() {
            0 => Ok(()),
            1 if all == 1 => Err(self.failed.remove(0).1),
            failed => {
                let told: Vec<String> = self
                    .failed
                    .iter()
                    .map(|(stored, failure)| {
                        format!("{} ({}): {}", stored.id.short(), named::title(stored), failure.summary())
                    })
                    .collect();
                let (_, first) = self.failed.remove(0);
                let failure = first.retold(format!("{failed} of {all} conversations could not be exported"));
                let failure = failure.because(if failed > 1 {
                    format!("\n  {}", told.join("\n  "))
                } else {
                    told.join("")
                });
                Err(match first.next_step() {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                })
            }
        }
    }
}
