//! A turn for a program: one JSON object per line on stdout.

use std::io::{self, Write};

use rejoin::view::Fact;
use rejoin::{BegunAgain, ConversationId, Json, MessageId, Receipt, Redacted, SavingState};
use rejoin_agent::{Compacted, Piece, Stop, TurnEvent};
use serde::Serialize;

use super::super::Keeping;
use super::{Course, TurnDisplay, TurnEnd, figures};
use crate::context::Context;
use crate::error::Failure;
use crate::session::UnsavedReason;
use crate::shapes::Within;
use crate::ui;

/// A turn for a program.
#[derive(Debug)]
pub(crate) struct EventDisplay<'a> {
    context: &'a Context,
    keeping: Keeping,
    state: SavingState,
}

impl<'a> EventDisplay<'a> {
    pub(crate) fn new(context: &'a Context, keeping: Keeping) -> Self {
        Self { context, keeping, state: SavingState::Saved }
    }
}

/// Tells that nothing is saved, before anything else.
pub(super) fn tell_unsaved(unsaved: &UnsavedReason) -> Result<(), Failure> {
    tell(&EventLine::NotSaving { reason: unsaved.reason(), message: unsaved.to_string() })
}

fn tell(event: &EventLine<'_>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    ui::json::write(&mut out, event)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// One line: what happened, as programs read it. No text is cleaned, so a
/// program can judge a call that was refused.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum EventLine<'a> {
    NotSaving { reason: &'static str, message: String },
    NotSaved { messages: usize, reason: &'a str },
    SavedAgain,
    Text { text: String },
    Thinking { text: String },
    ToolAsked { tool: String },
    Retry { reason: String, failed: u32, wait_seconds: f64 },
    Refused { tool: String, summary: String, detail: Option<String>, rule: String, input: Json },
    ToolStarted { call: String, summary: String },
    ToolEnded { call: String, output: String, is_error: bool, seconds: f64 },
    Redacted { rules: &'a [Redacted] },
    Saved(Receipt),
    ConversationDeleted(DeletedShape),
    Compacting,
    Compacted(Shorter),
    Warning { message: String },
    Done(DoneShape),
}

/// A conversation that is gone, and the one that goes on in its place.
#[derive(Serialize)]
struct DeletedShape {
    deleted: ConversationId,
    #[serde(flatten)]
    within: Within,
}

/// What the model is sent since a compaction.
#[derive(Serialize)]
struct Shorter {
    message: Option<MessageId>,
    summary: String,
    tokens_before: u64,
    tokens_after: u64,
    trimmed: u64,
    lost: Vec<Fact>,
}

/// How a turn ended.
#[derive(Serialize)]
struct DoneShape {
    #[serde(flatten)]
    within: Within,
    finish: &'static str,
    #[serde(flatten)]
    figures: Option<FiguresShape>,
}

/// What a turn that was not interrupted took.
#[derive(Serialize)]
struct FiguresShape {
    usage: Used,
    cost: Option<f64>,
    window: Filled,
    seconds: f64,
}

#[derive(Serialize)]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
}

/// How full the window of the model is.
#[derive(Serialize)]
struct Filled {
    tokens: u64,
    of: Option<u64>,
}

impl TurnDisplay for EventDisplay<'_> {
    fn event(&mut self, event: TurnEvent) -> Result<Course, Failure> {
        let told = match event {
            TurnEvent::Piece(Piece::Text(text)) => EventLine::Text { text },
            TurnEvent::Piece(Piece::Thinking(text)) => EventLine::Thinking { text },
            TurnEvent::Piece(Piece::Call { name }) => EventLine::ToolAsked { tool: name },
            TurnEvent::Piece(Piece::Again { reason, failed, wait }) => {
                EventLine::Retry { reason, failed, wait_seconds: wait.as_secs_f64() }
            }
            TurnEvent::Approve { tool, plan, input, answer } => {
                // Nobody is asked, and the model is told so.
                drop(answer);
                // Between the values of JSON a line break means as much as a space, and an event is one line.
                let input =
                    Json::parse(input.as_str().replace(['\n', '\r'], " ")).expect("it was JSON before");
                EventLine::Refused {
                    tool,
                    summary: plan.summary,
                    detail: plan.detail,
                    rule: plan.rule,
                    input,
                }
            }
            TurnEvent::ToolStarted { call, summary } => EventLine::ToolStarted { call, summary },
            TurnEvent::ToolEnded { call, output, took } => EventLine::ToolEnded {
                call,
                is_error: output.is_error,
                output: super::tool::text(&output),
                seconds: took.as_secs_f64(),
            },
            // What is held in memory for a while is not saved.
            TurnEvent::Saved(_) if self.keeping != Keeping::Kept => return Ok(Course::Go),
            TurnEvent::Saved(receipt) => {
                if !receipt.redacted.is_empty() {
                    tell(&EventLine::Redacted { rules: &receipt.redacted })?;
                }
                EventLine::Saved(receipt)
            }
            TurnEvent::BegunAgain(BegunAgain { deleted, conversation }) => {
                EventLine::ConversationDeleted(DeletedShape { deleted, within: conversation.into() })
            }
            TurnEvent::Compacting => EventLine::Compacting,
            TurnEvent::Compacted(Compacted {
                message,
                summary,
                tokens_before,
                tokens_after,
                trimmed,
                lost,
            }) => {
                EventLine::Compacted(Shorter { message, summary, tokens_before, tokens_after, trimmed, lost })
            }
            TurnEvent::Warning(message) => EventLine::Warning { message },
            _ => return Ok(Course::Go),
        };
        tell(&told)?;
        Ok(Course::Go)
    }

    fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn saving(&mut self, state: &SavingState) -> Result<(), Failure> {
        if *state == self.state {
            return Ok(());
        }
        self.state = state.clone();
        match state {
            SavingState::Waiting { messages, reason } => {
                tell(&EventLine::NotSaved { messages: *messages, reason })
            }
            SavingState::Saved => tell(&EventLine::SavedAgain),
        }
    }

    fn end(&mut self, end: &TurnEnd) -> Result<(), Failure> {
        match end {
            TurnEnd::Complete { ended, conversation, model, fullness } => {
                let figures = FiguresShape {
                    usage: Used { input_tokens: ended.input_tokens, output_tokens: ended.output_tokens },
                    cost: figures::cost(
                        ended.input_tokens,
                        ended.output_tokens,
                        self.context.config.prices(model),
                    ),
                    window: Filled { tokens: fullness.tokens, of: fullness.window },
                    seconds: ended.took.as_secs_f64(),
                };
                let within = Within::from(*conversation);
                tell(&EventLine::Done(DoneShape { within, finish: word(ended.stop), figures: Some(figures) }))
            }
            TurnEnd::Interrupted { conversation, .. } => {
                let within = Within::from(*conversation);
                tell(&EventLine::Done(DoneShape { within, finish: "interrupted", figures: None }))
            }
            // The error is told on stderr, as with every other command.
            TurnEnd::Failed | TurnEnd::Compacted => Ok(()),
        }
    }
}

fn word(stop: Stop) -> &'static str {
    match stop {
        Stop::Tools => "tools",
        Stop::Length => "length",
        Stop::Paused => "paused",
        Stop::Refused => "refused",
        _ => "done",
    }
}
