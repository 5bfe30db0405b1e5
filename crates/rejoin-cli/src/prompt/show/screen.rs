//! A turn on a terminal: Markdown as it arrives, what is waited for, tools, questions, figures.

use std::collections::HashMap;
use std::io::Write;
use std::time::Instant;

use rejoin::{Block, SavingState};
use rejoin_agent::{Piece, Stop, TurnEvent};

use super::waiting::WaitingLine;
use super::{
    ArrivedReply, Course, LossReport, TurnDisplay, TurnEnd, approve, columns, figures, own_line, tool,
};
use crate::compaction::{COMPACTING, STOPPED, notice};
use crate::context::Context;
use crate::error::Failure;
use crate::redaction::TakenSecrets;
use crate::session::banner;
use crate::ui::markdown::Markdown;
use crate::ui::paint::{Meaning, Paint};

/// Whether thinking is shown, or folded to one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThinkingDisplay {
    #[default]
    Folded,
    Shown,
}

/// A turn on a terminal.
#[derive(Debug)]
pub(crate) struct ScreenDisplay<'a, Out: Write> {
    context: &'a Context,
    out: Out,
    paint: Paint,
    thinking: ThinkingDisplay,
    text: Markdown,
    thought: Markdown,
    thinking_since: Option<Instant>,
    waiting: Option<WaitingLine>,
    /// What the calls of this turn are called, by their ids.
    calls: HashMap<String, String>,
    /// The calls under way, with what they do.
    running: Vec<(String, String)>,
    is_unsaved: bool,
    is_compacting: bool,
    report: LossReport,
    taken: TakenSecrets,
}

impl<'a, Out: Write> ScreenDisplay<'a, Out> {
    /// Begins a turn. What is known about saving is not told again.
    pub(crate) fn new(
        context: &'a Context,
        thinking: ThinkingDisplay,
        state: &SavingState,
        report: LossReport,
        out: Out,
    ) -> Self {
        let paint = context.paint();
        Self {
            context,
            out,
            paint,
            thinking,
            text: Markdown::new(paint),
            thought: Markdown::dim(paint),
            thinking_since: None,
            waiting: Some(WaitingLine::for_what("Waiting for the reply")),
            calls: HashMap::new(),
            running: Vec::new(),
            is_unsaved: *state != SavingState::Saved,
            is_compacting: false,
            report,
            taken: TakenSecrets::default(),
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
                if self.thinking == ThinkingDisplay::Shown {
                    let shown = self.thought.push(&text, columns());
                    self.print(&shown)?;
                }
            }
            Piece::Text(text) => {
                self.end_thinking()?;
                let shown = self.text.push(&text, columns());
                self.print(&shown)?;
                if self.waiting.is_none() {
                    self.waiting = Some(WaitingLine::for_more("Waiting for more"));
                }
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
        self.waiting = Some(WaitingLine::for_what(what));
    }

    /// Waits for the tools that run, or else for the reply that follows them.
    fn wait_for_tools(&mut self) {
        let what = match self.running.as_slice() {
            [] => "Waiting for the reply".to_owned(),
            [(_, only)] => only.clone(),
            [(_, first), others @ ..] => format!("{first} and {} more", others.len()),
        };
        self.wait_for(&what);
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

    fn end_compacting(&mut self) -> Result<(), Failure> {
        self.is_compacting = false;
        self.end_all()?;
        self.clear_waiting()
    }

    /// A line of Rejoin's own.
    fn line(&mut self, meaning: Meaning, text: &str) -> Result<(), Failure> {
        let line = own_line(text, meaning, self.paint);
        self.print(&line)
    }

    /// Prints in the place of what is waited for.
    fn print(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(waiting) = self.waiting.take() {
            self.out.write_all(waiting.erase().as_bytes())?;
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        Ok(())
    }

    fn clear_waiting(&mut self) -> Result<(), Failure> {
        if let Some(waiting) = self.waiting.take() {
            self.out.write_all(waiting.erase().as_bytes())?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn is_lively(&self) -> bool {
        self.context.surroundings.variable("TERM").is_some_and(|term| term != "dumb")
    }
}

impl<Out: Write> TurnDisplay for ScreenDisplay<'_, Out> {
    fn event(&mut self, event: TurnEvent) -> Result<Course, Failure> {
        match event {
            TurnEvent::Piece(piece) => self.piece(piece)?,
            TurnEvent::Approve { tool, plan, answer, .. } => {
                self.end_all()?;
                self.clear_waiting()?;
                if !self.context.surroundings.terminal.stdin {
                    // Not wrapped: the flag in it is there to be copied.
                    let told =
                        self.paint.apply(Meaning::Warning, &super::plain::refused(&tool, &plan).text());
                    self.print(&format!("{told}\n"))?;
                    // No answer is not the same as a no: the model is told that nobody was there.
                    drop(answer);
                    return Ok(Course::Go);
                }
                let (decision, course) = approve::ask(&plan, self.paint, &mut self.out)?;
                let _ = answer.send(decision);
                return Ok(course);
            }
            TurnEvent::ToolStarted { call, summary } => {
                self.end_all()?;
                self.running.push((call.clone(), summary.clone()));
                self.calls.insert(call, summary);
                self.wait_for_tools();
            }
            TurnEvent::ToolEnded { call, output, took } => {
                self.end_all()?;
                let what = self.calls.get(&call).map_or("A tool", String::as_str);
                let line = tool::line(what, &output, took, columns(), self.paint);
                let preview = tool::preview(&output, self.report.expand(), columns(), self.paint);
                self.print(&format!("{line}\n{preview}"))?;
                self.running.retain(|(own, _)| *own != call);
                self.wait_for_tools();
            }
            TurnEvent::Saved(receipt) => {
                self.taken.add(&receipt.redacted);
                if let Some(told) = banner::branched(&receipt) {
                    self.end_all()?;
                    self.line(Meaning::Warning, &told)?;
                    self.wait_for("Waiting for the reply");
                }
            }
            TurnEvent::BegunAgain(begun_again) => {
                self.end_all()?;
                self.line(Meaning::Warning, &banner::begun_again(&begun_again))?;
                self.wait_for("Waiting for the reply");
            }
            TurnEvent::Compacting => {
                self.end_all()?;
                self.is_compacting = true;
                if self.is_lively() {
                    self.waiting = Some(WaitingLine::at_once(COMPACTING));
                    self.tick()?;
                } else {
                    self.line(Meaning::Dim, COMPACTING)?;
                }
            }
            TurnEvent::Compacted(compacted) => {
                self.end_compacting()?;
                self.line(Meaning::Dim, &notice(&compacted, self.report.command()))?;
                self.wait_for("Waiting for the reply");
            }
            TurnEvent::Warning(warning) => {
                self.end_compacting()?;
                self.line(Meaning::Warning, &warning)?;
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
            self.out.write_all(self.paint.apply(Meaning::Dim, &line).as_bytes())?;
            self.out.flush()?;
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

    fn end(&mut self, end: &TurnEnd) -> Result<(), Failure> {
        self.end_all()?;
        self.clear_waiting()?;
        if let Some(told) = self.taken.told() {
            self.line(Meaning::Warning, &told)?;
        }
        match end {
            TurnEnd::Complete { ended, model, fullness, .. } => {
                match ended.stop {
                    Stop::Length => self.line(Meaning::Warning, "The reply reached its limit of tokens.")?,
                    Stop::Refused => self.line(Meaning::Warning, "The provider stopped the reply.")?,
                    _ => {}
                }
                match figures::line(ended, self.context.config.prices(model), *fullness) {
                    Some(line) => self.line(Meaning::Dim, &line),
                    None => Ok(()),
                }
            }
            TurnEnd::Interrupted { .. } if self.is_compacting => self.line(Meaning::Warning, STOPPED),
            TurnEnd::Interrupted { kept: ArrivedReply::Part, .. } => {
                self.line(Meaning::Warning, "Stopped. What had arrived is kept.")
            }
            TurnEnd::Interrupted { kept: ArrivedReply::Nothing, .. } => {
                self.line(Meaning::Warning, "Stopped. Your message is kept; nothing of a reply had arrived.")
            }
            TurnEnd::Failed | TurnEnd::Compacted => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rejoin::{ConversationId, Time, ToolCall};
    use rejoin_agent::{Compacted, Ended, Fullness, Output, Plan};
    use tokio::sync::oneshot;

    use super::*;

    fn told(events: Vec<TurnEvent>, end: &TurnEnd) -> String {
        let context = Context::imagined();
        let mut out = Vec::new();
        let mut screen = ScreenDisplay::new(
            &context,
            ThinkingDisplay::Folded,
            &SavingState::Saved,
            LossReport::Here,
            &mut out,
        );
        for event in events {
            screen.event(event).unwrap();
        }
        screen.end(end).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn complete() -> TurnEnd {
        let took = Duration::from_millis(4_200);
        TurnEnd::Complete {
            ended: Ended { stop: Stop::Length, input_tokens: 12, output_tokens: 3, took },
            conversation: ConversationId::new(Time::from_micros(0), [0; 10]),
            model: "m".to_owned(),
            fullness: Fullness { tokens: 60, window: Some(100) },
        }
    }

    #[test]
    fn a_turn_reads_from_top_to_bottom() {
        let call = ToolCall { id: "c1".to_owned(), name: "run".to_owned(), ..ToolCall::default() };
        let events = vec![
            TurnEvent::Piece(Piece::Again {
                reason: "overloaded".to_owned(),
                failed: 1,
                wait: Duration::from_secs(3),
            }),
            TurnEvent::Piece(Piece::Thinking("hm".to_owned())),
            TurnEvent::Piece(Piece::Text("Let me ".to_owned())),
            TurnEvent::Piece(Piece::Text("look.".to_owned())),
            TurnEvent::Piece(Piece::Finished(Block::text("Let me look."))),
            TurnEvent::Piece(Piece::Finished(Block::ToolCall(call))),
            TurnEvent::ToolStarted { call: "c1".to_owned(), summary: "Run `date`".to_owned() },
            TurnEvent::ToolEnded { call: "c1".to_owned(), output: Output::text("Mon"), took: Duration::ZERO },
            TurnEvent::Piece(Piece::Text("It is Monday.".to_owned())),
        ];

        let told = told(events, &complete());

        let expected = "Overloaded. Trying again in 3 s (attempt 2).\nThought for 0 s.\nLet me look.\n\
            • Run `date` · Mon\nIt is Monday.\nThe reply reached its limit of tokens.\n12 tokens in, 3 out · 4.2 s · 60 % of the window\n";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_compaction_is_told_and_so_is_one_that_was_stopped() {
        let compacted = Compacted {
            message: None,
            summary: "s".to_owned(),
            tokens_before: 900,
            tokens_after: 100,
            trimmed: 2,
            lost: Vec::new(),
        };
        let ends = [
            (vec![TurnEvent::Compacting, TurnEvent::Compacted(compacted)], TurnEnd::Compacted),
            (vec![TurnEvent::Compacting, TurnEvent::Warning("No summary.".to_owned())], TurnEnd::Failed),
            (vec![TurnEvent::Compacting], stopped()),
        ];

        let told = ends.map(|(events, end)| told(events, &end));

        let expected = [
            "Compacting conversation history...\nCompacted: 900 → 100 tokens. Everything that was named is still mentioned.\n",
            "Compacting conversation history...\nNo summary.\n",
            "Compacting conversation history...\nStopped. Nothing was compacted.\n",
        ];
        assert_eq!(told, expected);
    }

    fn stopped() -> TurnEnd {
        let conversation = ConversationId::new(Time::from_micros(0), [0; 10]);
        TurnEnd::Interrupted { kept: ArrivedReply::Nothing, conversation }
    }

    #[test]
    fn without_a_keyboard_nothing_is_allowed() {
        let (answer, mut answered) = oneshot::channel();
        let plan = Plan {
            summary: "Run `rm x`".to_owned(),
            detail: None,
            rule: "run(rm x)".to_owned(),
            is_harmless: false,
        };

        let input = rejoin::Json::of(&"x").unwrap();

        let told =
            told(vec![TurnEvent::Approve { tool: "run".to_owned(), plan, input, answer }], &TurnEnd::Failed);

        let expected = "Not allowed, because nobody is here to ask: run wanted to run `rm x`. To allow it: --allow 'run(rm x)'\n";
        assert_eq!(told, expected);
        assert_eq!(answered.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }

    #[test]
    fn trouble_with_saving_is_told_once() {
        let context = Context::imagined();
        let mut out = Vec::new();
        let mut screen = ScreenDisplay::new(
            &context,
            ThinkingDisplay::Folded,
            &SavingState::Saved,
            LossReport::Here,
            &mut out,
        );
        let waiting = |messages| SavingState::Waiting { messages, reason: "the disk is full".to_owned() };

        for state in [waiting(1), waiting(2), SavingState::Saved, SavingState::Saved] {
            screen.saving(&state).unwrap();
        }

        let expected =
            "Failed to save turn: the disk is full. The talk goes on; saving is tried again.\nSaved again.\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
