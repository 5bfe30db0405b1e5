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
    let line = |removal: &DeleteRemoval| match &removal.part {
        DeletePart::Whole => {
            format!("  {}: {}", describe_as_it_is(&removal.stored, standing), removal.stored.id.short())
        }
        DeletePart::Messages(ids) => {
            let named: Vec<String> = ids.iter().take(IDS).map(ToString::to_string).collect();
            let more = if ids.len() > IDS { ", ..." } else { "" };
            let part = part_of(removal, &named::title_as_it_is(&removal.stored));
            format!("  {part} ({}): {}{more}", size::bytes(removal.bytes), named.join(", "))
        }
    };
    let mut shown = plan.removals.lines("This will be deleted:", line, "");
    for (_, failure) in plan.names.failures() {
        shown.push(format!("This cannot be deleted: {}", failure.summary()));
    }
    let bytes = plan.removals.items.iter().map(|removal| removal.bytes).sum();
    (shown, removal::question(&total(&plan.removals.items), bytes))
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
    let count = plan.names.items.len();
    if count > 1 {
        if !context.is_json() {
            for (item, failure) in plan.names.failures() {
                let name = clean::line(&item.name);
                warn_of_failure("deleted", &name, &failure.summary(), failure.next_step(), context);
            }
        }
        return plan.names.verdict("deleted", Some(count));
    }
    match plan.names.items.into_iter().next() {
        Some((_, Fate::Missing(failure) | Fate::Failed(failure))) => Err(failure),
        _ => Ok(()),
    }
}

impl<'a> DeleteAnswer<'a> {
    fn of(plan: &'a DeletePlan, done: &[DeleteRemoval]) -> Self {
        Self {
            items: plan.names.items.iter().map(|(item, fate)| DeletedItem::of(item, fate)).collect(),
            conversations: done.iter().filter(|removal| matches!(removal.part, DeletePart::Whole)).count(),
            messages: done.iter().map(|removal| removal.messages).sum(),
            bytes: done.iter().map(|removal| removal.bytes).sum(),
            failed: plan.names.failed(),
        }
    }
}

impl<'a> DeletedItem<'a> {
    fn of(item: &'a DeleteItem, fate: &'a Fate) -> Self {
        Self {
            name: &item.name,
            conversation: item.named.map(Named::conversation),
            message: item.named.and_then(Named::message),
            outcome: fate.outcome(),
            messages: if fate.is_deleted() { item.messages } else { 0 },
            bytes: fate.bytes(),
            error: fate.failure().map(Failure::told),
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
