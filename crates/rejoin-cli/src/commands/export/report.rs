//! What was written where, and what could not be.

use std::collections::HashSet;
use std::io::Write;

use rejoin::{ConversationId, StoredConversation};
use serde_json::{Value as Json, json};

use super::kind::Kind;
use super::place::{Placed, State};
use super::selection::{Standing, Wanted};
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::{clean, json, size};

/// What became of every conversation.
#[derive(Debug)]
pub(super) struct Report {
    kind: Kind,
    /// Runs of sub-agents that nothing takes along.
    orphans: HashSet<ConversationId>,
    done: Vec<(StoredConversation, Placed)>,
    failed: Vec<(StoredConversation, Failure)>,
}

impl Report {
    pub(super) fn new(kind: Kind, wanted: &[Wanted]) -> Self {
        let orphans = wanted.iter().filter(|one| one.standing == Standing::Orphan).map(|one| one.stored.id).collect();
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
            return context.answer_json(&self.to_json());
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
        let written = self.done.len() as u64 - counted(State::Same);
        let mut told = format!("Exported {}", size::count(written, "conversation", "conversations"));
        let orphans = self.orphans();
        if orphans > 0 {
            let runs = size::count(orphans, "sub-agent run", "sub-agent runs");
            told += &format!(", including {runs} without the conversation that started it");
        }
        match counted(State::Same) {
            0 => format!("{told}."),
            same => format!("{told}; {} there already.", size::count(same, "file was", "files were")),
        }
    }

    /// How many of what was written are runs that nothing takes along.
    fn orphans(&self) -> u64 {
        self.done.iter().filter(|(stored, _)| self.orphans.contains(&stored.id)).count() as u64
    }

    fn to_json(&self) -> Json {
        let done: Vec<Json> = self
            .done
            .iter()
            .map(|(stored, placed)| {
                json!({
                    "id": stored.id,
                    "short": stored.id.short().to_string(),
                    "title": stored.conversation.title,
                    "path": json::path(&placed.path),
                    "files": placed.files.iter().map(|file| json::path(file)).collect::<Vec<_>>(),
                    "bytes": placed.bytes,
                    "state": placed.state.name(),
                })
            })
            .collect();
        let failed: Vec<Json> = self
            .failed
            .iter()
            .map(|(stored, failure)| json!({"id": stored.id, "title": stored.conversation.title, "why": failure.summary()}))
            .collect();
        json!({"format": self.kind.name(), "exported": done, "orphaned_runs": self.orphans(), "failed": failed})
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
                    .map(|(stored, failure)| format!("{} ({}): {}", stored.id.short(), named::title(stored), failure.summary()))
                    .collect();
                let (_, first) = self.failed.remove(0);
                let failure = first.retold(format!("{failed} of {all} conversations could not be exported"));
                let failure = failure.because(told.join("\n  "));
                Err(match first.next_step() {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                })
            }
        }
    }
}
