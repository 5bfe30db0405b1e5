//! A turn for a program: one JSON object per line on stdout.

use std::io::{self, Write};

use rejoin_agent::{Compacted, Event, Piece, SavingState, Stop};
use serde_json::{Value, json};

use super::{Course, End, Show, figures};
use crate::context::Context;
use crate::error::Failure;
use crate::talk::Unsaved;
use crate::ui;

/// A turn for a program.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    context: &'a Context,
    state: SavingState,
}

impl<'a> Events<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, state: SavingState::Saved }
    }
}

/// Tells that nothing is saved, before anything else.
pub(super) fn tell_unsaved(unsaved: &Unsaved) -> Result<(), Failure> {
    tell(&json!({"event": "not_saving", "reason": unsaved.reason(), "message": unsaved.to_string()}))
}

fn tell(event: &Value) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    ui::json::write(&mut out, event)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
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
            Event::Approve { tool, plan, answer } => {
                // Nobody is asked, and the model is told so.
                drop(answer);
                let (summary, rule) = (plan.summary, plan.rule);
                json!({"event": "refused", "tool": tool, "summary": summary, "rule": rule})
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
