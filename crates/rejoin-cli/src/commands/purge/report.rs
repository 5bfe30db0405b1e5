//! What a purge came to.

use std::io::Write;

use rejoin::{ConversationId, PurgeKeys, PurgeOutcome, PurgeReason, Time, UnpurgedConversation};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::removal::{self, warn_of_failure, warn_of_keys};
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

pub(super) fn answer(report: &PurgeOutcome, context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&Purged {
            reason: &report.reason,
            started_at: report.started_at,
            completed_at: report.completed_at,
            purged: report.purged.len(),
            conversations: &report.purged,
            messages: report.messages,
            bytes: report.bytes,
            erased: report.is_erased,
            keys: report.keys,
            failures: &report.failures,
        });
    }
    let mut answer = context.answer();
    let count = size::count(report.purged.len() as u64, "conversation", "conversations");
    let messages = size::count(report.messages, "message", "messages");
    let bytes = size::bytes(report.bytes);
    writeln!(answer, "{count} purged ({messages}, {bytes}), reason {}.", report.reason)?;
    answer.flush()?;
    if !report.is_erased {
        context.manner.warn(
            "another program reads the store, so its log still holds what was purged",
            Some("run `rejoin expire` when it has ended"),
        );
    }
    warn_of_keys(report.keys, context);
    for failure in &report.failures {
        let short = failure.conversation.short();
        warn_of_failure("purged", short.as_str(), &clean::line(&failure.error), None, context);
    }
    Ok(())
}

/// Success, or the failure that makes the exit code, after all others were tried.
pub(super) fn verdict(report: &PurgeOutcome) -> Result<(), Failure> {
    let (failed, gone) = (report.failures.len(), report.purged.len());
    removal::verdict(failed, Some(failed + gone), "purged")
}
