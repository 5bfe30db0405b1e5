//! What is said before and after deleting.

use std::io::Write;

use rejoin::{ConversationId, MessageId, Named};
use serde::Serialize;

use super::plan::{Fate, Item, Part, Plan, Removal};
use crate::context::Context;
use crate::error::{Failure, Told};
use crate::named;
use crate::removal::{LISTED, Outcome, Standing, amount, describe, describe_as_it_is};
use crate::ui::{clean, size};

/// How many message ids a line names.
const IDS: usize = 5;

/// What went, as programs read it.
#[derive(Serialize)]
struct Deleted<'a> {
    items: Vec<Settled<'a>>,
    conversations: usize,
    messages: u64,
    bytes: u64,
    failed: usize,
}

/// What became of one name.
#[derive(Serialize)]
struct Settled<'a> {
    name: &'a str,
    conversation: Option<ConversationId>,
    message: Option<MessageId>,
    outcome: Outcome,
    messages: u64,
    bytes: u64,
    error: Option<Told<'a>>,
}

/// What will go, line by line as it is, and the question to ask about it.
pub(super) fn question(plan: &Plan, standing: &Standing) -> (Vec<String>, String) {
    let mut shown = vec!["This will be deleted:".to_owned()];
    for removal in plan.removals.iter().take(LISTED) {
        shown.push(match &removal.part {
            Part::Whole => {
                format!("  {}: {}", describe_as_it_is(&removal.stored, standing), removal.stored.id.short())
            }
            Part::Messages(ids) => {
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
        if let Fate::Missing(failure) | Fate::Failed(failure) = &item.fate {
            shown.push(format!("This cannot be deleted: {}", failure.summary()));
        }
    }
    let bytes = size::bytes(plan.removals.iter().map(|removal| removal.bytes).sum());
    (shown, format!("Delete {} ({bytes}) permanently?", total(&plan.removals)))
}

/// What went.
pub(super) fn answer(plan: &Plan, done: &[Removal], context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&Deleted::of(plan, done));
    }
    let mut answer = context.answer();
    for removal in done.iter().take(LISTED) {
        let (short, bytes) = (removal.stored.id.short(), size::bytes(removal.bytes));
        match removal.part {
            Part::Whole => writeln!(answer, "Deleted {}: {short}", describe(&removal.stored))?,
            Part::Messages(_) => {
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
pub(super) fn verdict(plan: Plan, context: &Context) -> Result<(), Failure> {
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
            let message = format!("not deleted: {}: {}", clean::line(name), failure.summary());
            context.manner.warn(&message, failure.next_step());
        }
    }
    match failures.into_iter().next() {
        None => Ok(()),
        Some((_, failure)) if count == 1 => Err(failure),
        Some((_, failure)) => Err(failure.retold(format!("{failed} of {count} could not be deleted"))),
    }
}

impl<'a> Deleted<'a> {
    fn of(plan: &'a Plan, done: &[Removal]) -> Self {
        Self {
            items: plan.items.iter().map(Settled::of).collect(),
            conversations: done.iter().filter(|removal| matches!(removal.part, Part::Whole)).count(),
            messages: done.iter().map(|removal| removal.messages).sum(),
            bytes: done.iter().map(|removal| removal.bytes).sum(),
            failed: plan.items.iter().filter(|item| item.is_left()).count(),
        }
    }
}

impl<'a> Settled<'a> {
    fn of(item: &'a Item) -> Self {
        let (outcome, messages, bytes, error) = match &item.fate {
            Fate::Deleted => (Outcome::Deleted, item.messages, item.bytes, None),
            Fate::Missing(failure) => (Outcome::Missing, 0, 0, Some(failure.told())),
            Fate::Failed(failure) => (Outcome::Failed, 0, 0, Some(failure.told())),
            Fate::Waiting => unreachable!("every removal settles its names"),
        };
        let conversation = item.named.map(Named::conversation);
        let message = item.named.and_then(Named::message);
        Self { name: &item.name, conversation, message, outcome, messages, bytes, error }
    }
}

/// `3 messages of "Rome"`.
fn part_of(removal: &Removal, title: &str) -> String {
    let messages = size::count(removal.messages, "message", "messages");
    format!("{messages} of \"{title}\"")
}

fn total(removals: &[Removal]) -> String {
    let is_whole = |removal: &&Removal| matches!(removal.part, Part::Whole);
    let conversations = removals.iter().filter(is_whole).count() as u64;
    let messages = removals.iter().filter(|removal| !is_whole(removal)).map(|removal| removal.messages).sum();
    amount(conversations, messages)
}
