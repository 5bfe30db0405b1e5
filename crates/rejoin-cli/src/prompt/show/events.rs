//! A turn for a program: one JSON object per line on stdout.

use std::io::{self, Write};

use rejoin::{BegunAgain, Json};
use rejoin_agent::{Compacted, Event, Piece, Plan, SavingState, Stop};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::Keeping;
use super::{Course, End, Show, figures};
use crate::context::Context;
use crate::error::Failure;
use crate::talk::Unsaved;
use crate::ui;

/// A turn for a program.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    context: &'a Context,
    keeping: Keeping,
    state: SavingState,
}

impl<'a> Events<'a> {
    pub(crate) fn new(context: &'a Context, keeping: Keeping) -> Self {
        Self { context, keeping, state: SavingState::Saved }
    }
}

/// Tells that nothing is saved, before anything else.
pub(super) fn tell_unsaved(unsaved: &Unsaved) -> Result<(), Failure> {
    tell(&json!({"event": "not_saving", "reason": unsaved.reason(), "message": unsaved.to_string()}))
}

fn tell(event: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    ui::json::write(&mut out, event)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// A call that needed a decision, with every text as it is: nothing is cleaned, so a program can judge it.
#[derive(Serialize)]
struct Refused<'a> {
    event: &'static str,
    tool: &'a str,
    summary: &'a str,
    detail: Option<&'a str>,
    rule: &'a str,
    input: Json,
}

impl<'a> Refused<'a> {
    fn new(tool: &'a str, plan: &'a Plan, input: &Json) -> Self {
        // Between the values of JSON a line break means as much as a space, and an event is one line.
        let input = Json::parse(input.as_str().replace(['\n', '\r'], " ")).expect("it was JSON before");
        let (summary, detail, rule) = (&plan.summary, plan.detail.as_deref(), &plan.rule);
        Self { event: "refused", tool, summary, detail, rule, input }
    }
}

impl Show for Events<'_> {
    fn event(&mut self, event: Event) -> Result<Course, Failure> {
        let told = match event {
            Event::Piece(Piece::Text(text)) => json!({"event": "text", "text": text}),
            Event::Piece(Piece::Thinking(text)) => json!({"event": "thinking", "text": text}),
            Event::Piece(Piece::Call { name }) => json!({"event": "tool_asked", "tool": name}),
            Event::Piece(Piece::Again { reason, failed, wait }) => {
                let wait = wait.as_secs_f64();
                json!({"event": "retry", "reason": reason, "failed": failed, "wait_seconds": wait})
            }
            Event::Approve { tool, plan, input, answer } => {
                // Nobody is asked, and the model is told so.
                drop(answer);
                tell(&Refused::new(&tool, &plan, &input))?;
                return Ok(Course::Go);
            }
            Event::ToolStarted { call, summary } => {
                json!({"event": "tool_started", "call": call, "summary": summary})
            }
            Event::ToolEnded { call, output, took } => {
                let seconds = took.as_secs_f64();
                let text = super::tool::text(&output);
                let is_error = output.is_error;
                json!({"event": "tool_ended", "call": call, "output": text, "is_error": is_error, "seconds": seconds})
            }
            // What is held in memory for a while is not saved.
            Event::Saved(_) if self.keeping != Keeping::Kept => return Ok(Course::Go),
            Event::Saved(receipt) => {
                if !receipt.redacted.is_empty() {
                    tell(&json!({"event": "redacted", "rules": receipt.redacted}))?;
                }
                let mut told = json!({"event": "saved"});
                if let (Some(fields), Ok(Value::Object(receipt))) =
                    (told.as_object_mut(), serde_json::to_value(&receipt))
                {
                    fields.extend(receipt);
                }
                told
            }
            Event::BegunAgain(BegunAgain { deleted, conversation }) => {
                let short = conversation.short();
                json!({
                    "event": "conversation_deleted",
                    "deleted": deleted,
                    "conversation": conversation,
                    "short": short.as_str(),
                })
            }
            Event::Compacting => json!({"event": "compacting"}),
            Event::Compacted(Compacted { message, summary, tokens_before, tokens_after, trimmed, lost }) => {
                json!({
                    "event": "compacted",
                    "message": message,
                    "summary": summary,
                    "tokens_before": tokens_before,
                    "tokens_after": tokens_after,
                    "trimmed": trimmed,
                    "lost": lost,
                })
            }
            Event::Warning(message) => json!({"event": "warning", "message": message}),
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
                tell(&json!({"event": "not_saved", "messages": messages, "reason": reason}))
            }
            SavingState::Saved => tell(&json!({"event": "saved_again"})),
        }
    }

    fn end(&mut self, end: &End) -> Result<(), Failure> {
        match end {
            End::Complete { ended, conversation, model, fullness } => {
                let cost = figures::cost(ended, self.context.config.prices(model));
                tell(&json!({
                    "event": "done",
                    "conversation": conversation,
                    "short": conversation.short().as_str(),
                    "finish": word(ended.stop),
                    "usage": {"input_tokens": ended.input_tokens, "output_tokens": ended.output_tokens},
                    "cost": cost,
                    "window": {"tokens": fullness.tokens, "of": fullness.window},
                    "seconds": ended.took.as_secs_f64(),
                }))
            }
            End::Interrupted { conversation, .. } => tell(&json!({
                "event": "done",
                "conversation": conversation,
                "short": conversation.short().as_str(),
                "finish": "interrupted",
            })),
            // The error is told on stderr, as with every other command.
            End::Failed | End::Compacted => Ok(()),
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
