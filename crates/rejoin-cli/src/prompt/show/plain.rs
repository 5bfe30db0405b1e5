//! A turn for a pipe: the reply as it was written on stdout, everything else on stderr.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use rejoin::{Block, SavingState};
use rejoin_agent::{Piece, Plan, TurnEvent};

use super::{ArrivedReply, Course, LossReport, TurnDisplay, TurnEnd, approve, figures, tool};
use crate::attempt::as_failure;
use crate::compaction::{COMPACTING, STOPPED, notice};
use crate::context::Context;
use crate::error::Failure;
use crate::redaction::TakenSecrets;
use crate::session::banner;
use crate::ui::consent::ConsentText;
use crate::ui::paint::Paint;
use crate::ui::quote::argument;

/// Columns of a line on stderr.
const COLUMNS: usize = 100;

pub(super) const SAVED_AGAIN: &str = "Saved again.";

/// A turn for a pipe.
#[derive(Debug)]
pub(crate) struct PlainDisplay<'a> {
    context: &'a Context,
    calls: HashMap<String, String>,
    is_in_line: bool,
    is_unsaved: bool,
    /// What is told once the line of the reply has ended.
    later: Vec<String>,
    is_compacting: bool,
    report: LossReport,
    taken: TakenSecrets,
}

impl<'a> PlainDisplay<'a> {
    pub(crate) fn new(context: &'a Context, report: LossReport) -> Self {
        let calls = HashMap::new();
        let taken = TakenSecrets::default();
        let (later, is_unsaved) = (Vec::new(), false);
        Self { context, calls, is_in_line: false, is_unsaved, later, is_compacting: false, report, taken }
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        let Some(last) = text.chars().next_back() else { return Ok(()) };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        self.is_in_line = last != '\n';
        self.tell_later();
        Ok(())
    }

    /// Tells something about saving, on a line of its own: the reply stays as it is.
    fn insist(&mut self, text: String) {
        self.later.push(text);
        self.tell_later();
    }

    fn tell_later(&mut self) {
        if !self.is_in_line {
            self.later.drain(..).for_each(|text| self.context.insist(&text));
        }
    }

    /// Ends the line, so that the next text is not glued to this one.
    fn end_line(&mut self) -> Result<(), Failure> {
        if self.is_in_line { self.print("\n") } else { Ok(()) }
    }

    fn piece(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Text(text) => self.print(&text)?,
            Piece::Finished(Block::ToolCall(call)) => {
                self.calls.insert(call.id, call.name);
            }
            Piece::Finished(Block::Text(_)) => self.end_line()?,
            Piece::Again { reason, failed, wait } => {
                self.end_line()?;
                self.context.note(&again(&reason, failed, wait));
            }
            _ => {}
        }
        Ok(())
    }
}

impl TurnDisplay for PlainDisplay<'_> {
    fn event(&mut self, event: TurnEvent) -> Result<Course, Failure> {
        match event {
            TurnEvent::Piece(piece) => self.piece(piece)?,
            TurnEvent::Approve { tool, plan, answer, .. } => {
                let terminal = self.context.surroundings.terminal;
                if terminal.stdin && terminal.stderr {
                    let (decision, course) = approve::ask(&plan, Paint::Plain, &mut io::stderr())?;
                    let _ = answer.send(decision);
                    return Ok(course);
                }
                self.context.note(&refused(&tool, &plan).text());
                // No answer is not the same as a no: the model is told that nobody was there.
                drop(answer);
            }
            TurnEvent::ToolStarted { call, summary } => {
                self.calls.insert(call, summary);
            }
            TurnEvent::ToolEnded { call, output, took } => {
                let what = self.calls.get(&call).map_or("A tool", String::as_str);
                self.context.note(&tool::line(what, &output, took, COLUMNS, Paint::Plain));
            }
            TurnEvent::Saved(receipt) => {
                self.taken.add(&receipt.redacted);
                if let Some(told) = banner::branched(&receipt) {
                    self.context.note(&told);
                }
            }
            TurnEvent::BegunAgain(begun_again) => {
                self.end_line()?;
                self.context.insist(&banner::begun_again(&begun_again));
            }
            TurnEvent::Compacting => {
                self.end_line()?;
                self.is_compacting = true;
                self.context.note(COMPACTING);
            }
            TurnEvent::Compacted(compacted) => {
                self.is_compacting = false;
                self.context.note(&notice(&compacted, self.report.command()));
            }
            TurnEvent::Warning(warning) => {
                self.end_line()?;
                self.is_compacting = false;
                self.context.manner.warn(&warning, None);
            }
            _ => {}
        }
        Ok(Course::Go)
    }

    fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn saving(&mut self, state: &SavingState) -> Result<(), Failure> {
        match state {
            SavingState::Waiting { reason, .. } if !self.is_unsaved => {
                self.is_unsaved = true;
                self.insist(not_saved(reason));
            }
            SavingState::Saved if self.is_unsaved => {
                self.is_unsaved = false;
                self.insist(SAVED_AGAIN.to_owned());
            }
            SavingState::Waiting { .. } | SavingState::Saved => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &TurnEnd) -> Result<(), Failure> {
        self.end_line()?;
        if let Some(told) = self.taken.told() {
            self.context.note(&told);
        }
        match end {
            TurnEnd::Interrupted { .. } if self.is_compacting => self.context.note(STOPPED),
            TurnEnd::Interrupted { kept: ArrivedReply::Part, .. } => {
                self.context.note("Stopped. What had arrived is kept.");
            }
            TurnEnd::Interrupted { kept: ArrivedReply::Nothing, .. }
            | TurnEnd::Complete { .. }
            | TurnEnd::Failed
            | TurnEnd::Compacted => {}
        }
        Ok(())
    }
}

/// That an attempt failed, and what comes next.
pub(crate) fn again(reason: &str, failed: u32, wait: Duration) -> String {
    let mut letters = reason.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let next = failed.saturating_add(1);
    let wait = figures::duration(wait);
    format!("{first}{}. Trying again in {wait} (attempt {next}).", letters.as_str())
}

/// That a call needed a decision, and what to type to permit it.
pub(super) fn refused(tool: &str, plan: &Plan) -> ConsentText {
    let wish = lower_first(&plan.summary);
    let rule = argument(&plan.rule);
    ConsentText::line(&format!(
        "Not allowed, because nobody is here to ask: {tool} wanted to {wish}. To allow it: --allow {rule}"
    ))
}

pub(super) fn not_saved(reason: &str) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(": {}", as_failure(reason)) };
    format!("Failed to save turn{reason}. The talk goes on; saving is tried again.")
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_attempt_is_told_in_full_sentences() {
        let told = again("overloaded", 1, Duration::from_secs(3));

        assert_eq!(told, "Overloaded. Trying again in 3 s (attempt 2).");
    }
}
