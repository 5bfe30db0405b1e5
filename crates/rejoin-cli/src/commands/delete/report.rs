//! What is said before and after deleting.

use std::io::Write;

use rejoin::{ConversationId, MessageId, Named};
use serde::Serialize;

use super::plan::{DeleteItem, DeletePart, DeletePlan, DeleteRemoval};
use crate::context::Context;
use crate::error::{Failure, FailureShape};
use crate::named;
use crate::removal::{
    self, Fate, FateShape, LISTED, UserStanding, amount, describe, describe_as_it_is, warn_of_failure,
};
use crate::ui::{clean, size};

/// How many message ids a line names.
const IDS: usize = 5;

/// What went, as programs read it.
#[derive(Serialize)]
struct DeleteAnswer<'a> {
    items: Vec<DeletedItem<'a>>,
    conversations: usize,
    messages: u64,
    bytes: u64,
    failed: usize,
}

/// What became of one name.
#[derive(Serialize)]
struct DeletedItem<'a> {
    name: &'a str,
    conversation: Option<ConversationId>,
    message: Option<MessageId>,
    outcome: FateShape,
    messages: u64,
    bytes: u64,
    error: Option<FailureShape<'a>>,
}

/// What will go, line by line as it is, and the question to ask about it.
pub(super) fn question(plan: &DeletePlan, standing: &UserStanding) -> (Vec<String>, String) {
    let mut shown = vec!["This will be deleted:".to_owned()];
    for removal in plan.removals.iter().take(LISTED) {
        shown.push(match &removal.part {
            DeletePart::Whole => {
                format!("  {}: {}", describe_as_it_is(&removal.stored, standing), removal.stored.id.short())
            }
            DeletePart::Messages(ids) => {
                let named: Vec<String> = ids.iter().take(IDS).map(ToString::to_string).collect();
                let more = if ids.len() > IDS { ", ..." } else { "" };
                let part = part_of(removal, &named::title_as_it_is(&removal.stored));
                format!("  {part} ({}): {}{more}", size::bytes(removal.bytes), named.join(", "))
            }
        });
    }
    if plan.removals.len() > LISTED {
        shown.push(format!("  and {} more", plan.removals.len() - LISTED));
    }
    for item in &plan.items {
        if let Some(failure) = item.fate.failure() {
            shown.push(format!("This cannot be deleted: {}", failure.summary()));
        }
    }
    let bytes = plan.removals.iter().map(|removal| removal.bytes).sum();
    (shown, removal::question(&total(&plan.removals), bytes))
}

/// What went.
pub(super) fn answer(plan: &DeletePlan, done: &[DeleteRemoval], context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&DeleteAnswer::of(plan, done));
    }
    let mut answer = context.answer();
    for removal in done.iter().take(LISTED) {
        let (short, bytes) = (removal.stored.id.short(), size::bytes(removal.bytes));
        match removal.part {
            DeletePart::Whole => writeln!(answer, "Deleted {}: {short}", describe(&removal.stored))?,
            DeletePart::Messages(_) => {
                let part = part_of(removal, &named::title(&removal.stored));
                writeln!(answer, "Deleted {part} ({bytes}): {short}")?;
            }
        }
    }
    if done.len() > 1 {
        let bytes = size::bytes(done.iter().map(|removal| removal.bytes).sum());
        writeln!(answer, "{} deleted, {bytes} freed.", total(done))?;
    }
    answer.flush()?;
    Ok(())
}

/// Success, or the failure that makes the exit code. Of several names, each
/// that failed gets a line of its own.
pub(super) fn verdict(plan: DeletePlan, context: &Context) -> Result<(), Failure> {
    let count = plan.items.len();
    let mut failures = Vec::new();
    for item in plan.items {
        if let Fate::Missing(failure) | Fate::Failed(failure) = item.fate {
            failures.push((item.name, failure));
        }
    }
    let failed = failures.len();
    if count > 1 && !context.is_json() {
        for (name, failure) in &failures {
            warn_of_failure("deleted", &clean::line(name), &failure.summary(), failure.next_step(), context);
        }
    }
    match failures.into_iter().next() {
        None => Ok(()),
        Some((_, failure)) if count == 1 => Err(failure),
        Some((_, failure)) => Err(failure.retold(format!("{failed} of {count} could not be deleted"))),
    }
}

impl<'a> DeleteAnswer<'a> {
    fn of(plan: &'a DeletePlan, done: &[DeleteRemoval]) -> Self {
        Self {
            items: plan.items.iter().map(DeletedItem::of).collect(),
            conversations: done.iter().filter(|removal| matches!(removal.part, DeletePart::Whole)).count(),
            messages: done.iter().map(|removal| removal.messages).sum(),
            bytes: done.iter().map(|removal| removal.bytes).sum(),
            failed: plan.items.iter().filter(|item| item.fate.failure().is_some()).count(),
        }
    }
}

impl<'a> DeletedItem<'a> {
    fn of(item: &'a DeleteItem) -> Self {
        Self {
            name: &item.name,
            conversation: item.named.map(Named::conversation),
            message: item.named.and_then(Named::message),
            outcome: item.fate.outcome(),
            messages: if item.fate.is_deleted() { item.messages } else { 0 },
            bytes: item.fate.bytes(),
            error: item.fate.failure().map(Failure::told),
        }
    }
}

/// `3 messages of "Rome"`.
fn part_of(removal: &DeleteRemoval, title: &str) -> String {
    let messages = size::count(removal.messages, "message", "messages");
    format!("{messages} of \"{title}\"")
}

fn total(removals: &[DeleteRemoval]) -> String {
    let is_whole = |removal: &&DeleteRemoval| matches!(removal.part, DeletePart::Whole);
    let conversations = removals.iter().filter(is_whole).count() as u64;
    let messages = removals.iter().filter(|removal| !is_whole(removal)).map(|removal| removal.messages).sum();
    amount(conversations, messages)
}
