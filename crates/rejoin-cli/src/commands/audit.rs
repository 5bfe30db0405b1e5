//! `rejoin audit`: what was deleted, purged, redacted, rotated and exported.

use rejoin::{AuditAction, AuditEntry, AuditFailure, AuditQuery, ConversationId, Fields, Redacted, Time};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::shapes::Items;
use crate::ui::paint::Meaning;
use crate::ui::table::{Column, Table};
use crate::ui::{clean, json, period, size};

/// Show what was deleted, purged, redacted, rotated and exported
///
/// Entries are listed newest first. They hold IDs, counts and reasons, but no content.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin audit
  rejoin audit --since 30d
  rejoin audit --limit 5 --json")]
pub(crate) struct Args {
    /// Only entries since this time, such as 3d, yesterday or 2026-01-31
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Maximum number of entries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

/// An entry as programs read it: every field is always there, so that scripts need not ask.
#[derive(Serialize)]
struct AuditEntryShape<'a> {
    at: Time,
    action: &'a AuditAction,
    reason: &'a str,
    conversation: Option<ConversationId>,
    conversations: u64,
    messages: u64,
    bytes: u64,
    failures: &'a [AuditFailure],
    #[serde(serialize_with = "json::in_one_form")]
    extra: &'a Fields,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let since = args.since.as_deref().map(|typed| period::moment(typed, &context.clock())).transpose();
    let since = since.map_err(|error| Failure::usage(format!("`--since`: {error}")))?;
    let query = AuditQuery {
        since: since.map(Time::from_micros),
        limit: args.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        ..AuditQuery::default()
    };
    let entries = context.archive_to_read()?.audit().query(&query)?;
    if context.is_json() {
        return context.answer_json(&Items { items: entries.iter().map(AuditEntryShape::from).collect() });
    }
    if entries.is_empty() {
        context.note("The audit log is empty.");
        return Ok(());
    }
    context.show(|page| Ok(write!(page, "{}", table(&entries, context))?))
}

fn table(entries: &[AuditEntry], context: &Context) -> String {
    let clock = context.clock();
    let mut table = Table::new([
        Column::text("when").meaning(Meaning::Dim),
        Column::text("what"),
        Column::text("conversation").meaning(Meaning::Id),
        Column::number("messages"),
        Column::number("size"),
        Column::number("failed").meaning(Meaning::Warning),
        Column::text("why"),
    ]);
    let some = |count: u64, told: fn(u64) -> String| if count == 0 { String::new() } else { told(count) };
    for entry in entries {
        let conversation = match entry.conversation {
            Some(id) => id.short().to_string(),
            None => some(entry.conversations, |count| format!("{} in all", size::number(count))),
        };
        table.push([
            clock.minute(entry.at.as_micros()),
            entry.action.to_string(),
            conversation,
            some(entry.messages, size::number),
            some(entry.bytes, size::bytes),
            some(entry.failures.len() as u64, size::number),
            why(entry),
        ]);
    }
    table.draw(context.columns(), context.paint())
}

/// The reason, and the rules by which something was taken out.
fn why(entry: &AuditEntry) -> String {
    let rules = entry.extra.field("rules").map(|rules| serde_json::from_str::<Vec<Redacted>>(rules.as_str()));
    let names: Vec<String> =
        rules.into_iter().flatten().flatten().map(|redacted| clean::line(&redacted.rule)).collect();
    if names.is_empty() { entry.reason.clone() } else { format!("{}: {}", entry.reason, names.join(", ")) }
}

impl<'a> From<&'a AuditEntry> for AuditEntryShape<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        Self {
            at: entry.at,
            action: &entry.action,
            reason: &entry.reason,
            conversation: entry.conversation,
            conversations: entry.conversations,
            messages: entry.messages,
            bytes: entry.bytes,
            failures: &entry.failures,
            extra: &entry.extra,
        }
    }
}
