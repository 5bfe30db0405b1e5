//! A turn on a terminal: Markdown as it arrives, what is waited for, tools, questions, figures.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Instant;

use rejoin::Block;
use rejoin_agent::{Decision, Event, Piece, SavingState, Stop};

use super::waiting::Waiting;
use super::{Course, End, Kept, Show, approve, figures, tool};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::clean;
use crate::ui::markdown::Markdown;
use crate::ui::paint::{Meaning, Paint};

/// Columns to draw for when the terminal does not say.
const COLUMNS: usize = 80;

/// Whether thinking is shown, or folded to one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Thinking {
    #[default]
    Folded,
    Shown,
}

/// A turn on a terminal.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    context: &'a Context,
    paint: Paint,
    thinking: Thinking,
    text: Markdown,
    thought: Markdown,
    thinking_since: Option<Instant>,
    waiting: Option<Waiting>,
    /// What the calls of this turn are called, by their ids.
    calls: HashMap<String, String>,
    is_unsaved: bool,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(context: &'a Context, thinking: Thinking) -> Self {
        let paint = context.paint();
        Self {
            context,
            paint,
            thinking,
            text: Markdown::new(paint),
            thought: Markdown::dim(paint),
            thinking_since: None,
            waiting: Some(Waiting::for_what("Waiting for the reply")),
            calls: HashMap::new(),
            is_unsaved: false,
        }
    }

    fn piece(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Thinking(text) => {
                self.end_text()?;
                if self.thinking_since.is_none() {
                    self.thinking_since = Some(Instant::now());
                    self.wait_for("Thinking");
                }
                if self.thinking == Thinking::Shown {
                    let shown = self.thought.push(&text, columns());
                    self.print(&shown)?;
                }
            }
            Piece::Text(text) => {
                self.end_thinking()?;
                let shown = self.text.push(&text, columns());
                self.print(&shown)?;
            }
            Piece::Call { name } => {
                self.end_all()?;
                self.wait_for(&format!("Preparing {name}"));
            }
            Piece::Finished(block) => {
                self.end_all()?;
                if let Block::ToolCall(call) = block {
                    self.calls.insert(call.id, call.name);
                }
                self.wait_for("Waiting for the reply");
            }
            Piece::Again { reason, failed, wait } => {
                self.end_all()?;
                let again = super::plain::again(&reason, failed, wait);
                self.line(Meaning::Dim, &again)?;
                self.wait_for("Trying again");
            }
            _ => {}
        }
        Ok(())
    }

    /// What is waited for from now on, on a terminal that can clear a line.
    fn wait_for(&mut self, what: &str) {
        self.waiting = Some(Waiting::for_what(what));
    }

    fn end_all(&mut self) -> Result<(), Failure> {
        self.end_thinking()?;
        self.end_text()
    }

    fn end_text(&mut self) -> Result<(), Failure> {
        let rest = self.text.finish(columns());
        self.print(&rest)
    }

    fn end_thinking(&mut self) -> Result<(), Failure> {
        let Some(since) = self.thinking_since.take() else { return Ok(()) };
        let rest = self.thought.finish(columns());
        self.print(&rest)?;
        self.line(Meaning::Dim, &format!("Thought for {}.", figures::duration(since.elapsed())))
    }

    /// A line of Rejoin's own.
    fn line(&mut self, meaning: Meaning, text: &str) -> Result<(), Failure> {
        let line = self.paint.apply(meaning, &clean::line(text));
        self.print(&format!("{line}\n"))
    }

    /// Prints in the place of what is waited for.
    fn print(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if let Some(waiting) = self.waiting.take() {
            out.write_all(waiting.erase().as_bytes())?;
        }
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    fn clear_waiting(&mut self) -> Result<(), Failure> {
        if let Some(waiting) = self.waiting.take() {
            let mut out = io::stdout().lock();
            out.write_all(waiting.erase().as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }

    fn is_lively(&self) -> bool {
        self.context.surroundings.variable("TERM").is_some_and(|term| term != "dumb")
    }
}

impl Show for Screen<'_> {
    fn event(&mut self, event: Event) -> Result<Course, Failure> {
        match event {
            Event::Piece(piece) => self.piece(piece)?,
            Event::Approve { tool, plan, answer } => {
                self.end_all()?;
                self.clear_waiting()?;
                if !self.context.surroundings.terminal.stdin {
                    self.line(Meaning::Warning, &super::plain::refused(&tool, &plan))?;
                    let _ = answer.send(Decision::No(None));
                    return Ok(Course::Go);
                }
                let (decision, course) = approve::ask(&plan, self.paint, &mut io::stdout())?;
                let _ = answer.send(decision);
                return Ok(course);
            }
            Event::ToolStarted { call, summary } => {
                self.end_all()?;
                self.wait_for(&summary);
                self.calls.insert(call, summary);
            }
            Event::ToolEnded { call, output, took } => {
                self.end_all()?;
                let what = self.calls.get(&call).map_or("A tool", String::as_str);
                let line = tool::line(what, &output, took, columns(), self.paint);
                self.print(&format!("{line}\n"))?;
                self.wait_for("Waiting for the reply");
            }
            Event::Saved(receipt) if receipt.forked => {
                self.end_all()?;
                let told = "Somebody else went on here, so this became a branch. See it with /tree.";
                self.line(Meaning::Warning, told)?;
                self.wait_for("Waiting for the reply");
            }
            _ => {}
        }
        Ok(Course::Go)
    }

    fn tick(&mut self) -> Result<(), Failure> {
        let is_free = self.text.is_at_line_start() && self.thought.is_at_line_start();
        if !is_free || !self.is_lively() {
            return Ok(());
        }
        if let Some(line) = self.waiting.as_mut().and_then(|waiting| waiting.draw(columns())) {
            let mut out = io::stdout().lock();
            out.write_all(self.paint.apply(Meaning::Dim, &line).as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }

    fn saving(&mut self, state: &SavingState) -> Result<(), Failure> {
        match state {
            SavingState::Waiting { reason, .. } if !self.is_unsaved => {
                self.is_unsaved = true;
                self.end_all()?;
                self.line(Meaning::Warning, &super::plain::not_saved(reason))
            }
            SavingState::Saved if self.is_unsaved => {
                self.is_unsaved = false;
                self.end_all()?;
                self.line(Meaning::Success, super::plain::SAVED_AGAIN)
            }
            SavingState::Waiting { .. } | SavingState::Saved => Ok(()),
        }
    }

    fn end(&mut self, end: &End) -> Result<(), Failure> {
        self.end_all()?;
        self.clear_waiting()?;
        match end {
            End::Complete { ended, model, .. } => {
                match ended.stop {
                    Stop::Length => self.line(Meaning::Warning, "The reply reached its limit of tokens.")?,
                    Stop::Refused => self.line(Meaning::Warning, "The provider stopped the reply.")?,
                    _ => {}
                }
                match figures::line(ended, self.context.config.prices(model)) {
                    Some(line) => self.line(Meaning::Dim, &line),
                    None => Ok(()),
                }
            }
            End::Interrupted { kept: Kept::Part, .. } => {
                self.line(Meaning::Warning, "Stopped. What had arrived is kept.")
            }
            End::Interrupted { kept: Kept::Nothing, .. } => {
                self.line(Meaning::Warning, "Stopped. Your message is kept; nothing of a reply had arrived.")
            }
            End::Failed => Ok(()),
        }
    }
}

/// The width of the screen now: it may change at any time.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(columns, _)| usize::from(columns.0)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}
