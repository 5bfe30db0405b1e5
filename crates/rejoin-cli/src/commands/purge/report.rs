//! What a purge came to.

use std::io::Write;

use rejoin::{ConversationId, PurgeKeys, PurgeOutcome, PurgeReason, Time, UnpurgedConversation};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::removal::{RemovalReport, SEE_WHAT_IS_WRONG, warn_of_keys};
use crate::ui::{clean, size};

/// What a purge came to, as programs read it.
#[derive(Serialize)]
struct Purged<'a> {
    reason: &'a PurgeReason,
    started_at: Time,
    completed_at: Time,
    purged: usize,
    conversations: &'a [ConversationId],
    messages: u64,
    bytes: u64,
    erased: bool,
    keys: PurgeKeys,
    failures: &'a [UnpurgedConversation],
}

/// Answers, and makes the exit code, after all others were tried.
pub(super) fn answer(outcome: &PurgeOutcome, context: &Context) -> Result<(), Failure> {
    let report = RemovalReport::of_purge(outcome);
    if context.is_json() {
        context.answer_json(&Purged {
            reason: &outcome.reason,
            started_at: outcome.started_at,
            completed_at: outcome.completed_at,
            purged: outcome.purged.len(),
            conversations: &outcome.purged,
            messages: outcome.messages,
            bytes: outcome.bytes,
            erased: outcome.is_erased,
            keys: outcome.keys,
            failures: &outcome.failures,
        })?;
    } else {
        tell(outcome, &report, context)?;
    }
    let verdict = report.verdict("purged", Some(report.items.len()));
    verdict.map_err(|failure| failure.or_hint(SEE_WHAT_IS_WRONG))
}

fn tell(
    outcome: &PurgeOutcome,
    report: &RemovalReport<ConversationId>,
    context: &Context,
) -> Result<(), Failure> {
    let mut answer = context.answer();
    let count = size::count(report.deleted(), "conversation", "conversations");
    let messages = size::count(outcome.messages, "message", "messages");
    let bytes = size::bytes(report.bytes());
    writeln!(answer, "{count} purged ({messages}, {bytes}), reason {}.", outcome.reason)?;
    answer.flush()?;
    if !outcome.is_erased {
        context.manner.warn(
            "another program reads the store, so its log still holds what was purged",
            Some("run `rejoin expire` when it has ended"),
        );
    }
    warn_of_keys(outcome.keys, context);
    let why = |failure: &Failure| clean::line(failure.message());
    report.warn("purged", |id| id.short().to_string(), why, context);
    Ok(())
}
