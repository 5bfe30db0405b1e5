//! What is said before and after deleting.

use std::io::Write;

use serde_json::{Value as Json, json};

use super::plan::{Fate, Part, Plan, Removal};
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::removal::{LISTED, Standing, amount, describe, describe_as_it_is};
use crate::ui::{clean, size};

/// How many message ids a line names.
const IDS: usize = 5;

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
        if let Fate::Failed(failure) = &item.fate {
            shown.push(format!("This cannot be deleted: {}", failure.summary()));
        }
    }
    let bytes = size::bytes(plan.removals.iter().map(|removal| removal.bytes).sum());
    (shown, format!("Delete {} ({bytes}) for good?", total(&plan.removals)))
}

/// What went.
pub(super) fn answer(plan: &Plan, done: &[Removal], context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&to_json(plan, done));
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
    for item in plan.items.iter().filter(|item| matches!(item.fate, Fate::Missing)) {
        context.note(&format!("There is no message `{}`, so nothing had to go.", clean::line(&item.name)));
    }
    Ok(())
}

/// Success, or the failure that makes the exit code. Of several names, each that failed gets a line of its own.
pub(super) fn verdict(plan: Plan, context: &Context) -> Result<(), Failure> {
    let count = plan.items.len();
    let mut failures = Vec::new();
    for item in plan.items {
        if let Fate::Failed(failure) = item.fate {
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

fn to_json(plan: &Plan, done: &[Removal]) -> Json {
    let items: Vec<Json> = plan
        .items
        .iter()
        .map(|item| {
            let (outcome, error) = match &item.fate {
                Fate::Deleted => ("deleted", None),
                Fate::Missing => ("missing", None),
                Fate::Failed(failure) => ("failed", Some(failure)),
                Fate::Waiting => unreachable!("every removal settles its names"),
            };
            let is_deleted = matches!(item.fate, Fate::Deleted);
            json!({
                "name": item.name,
                "conversation": item.named.map(rejoin::Named::conversation),
                "message": item.named.and_then(rejoin::Named::message),
                "outcome": outcome,
                "messages": if is_deleted { item.messages } else { 0 },
                "bytes": if is_deleted { item.bytes } else { 0 },
                "error": error.map(error_json),
            })
        })
        .collect();
    let failed = plan.items.iter().filter(|item| matches!(item.fate, Fate::Failed(_))).count();
    json!({
        "items": items,
        "conversations": done.iter().filter(|removal| matches!(removal.part, Part::Whole)).count(),
        "messages": done.iter().map(|removal| removal.messages).sum::<u64>(),
        "bytes": done.iter().map(|removal| removal.bytes).sum::<u64>(),
        "failed": failed,
    })
}

fn error_json(failure: &Failure) -> Json {
    json!({"kind": failure.kind(), "message": failure.summary(), "hint": failure.next_step()})
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
