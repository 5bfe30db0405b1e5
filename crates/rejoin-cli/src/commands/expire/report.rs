//! What goes, what has gone, and when.

use std::collections::HashMap;
use std::io::Write;

use rejoin::{Archive, ConversationId, Expiring, PurgeOutcome, RetentionPlan, StoredConversation, Time};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::removal::{FateShape, RemovalReport, RemovedShape, SEE_WHAT_IS_WRONG, warn_of_keys};
use crate::retention::{Policy, describe};
use crate::ui::paint::Meaning;
use crate::ui::size;
use crate::ui::table::{Column, Table};

/// What goes and what has gone, as programs read it.
#[derive(Serialize)]
struct ExpireAnswer<'a> {
    policy: PolicyShape,
    #[serde(flatten)]
    removed: RemovedShape<ExpireItem<'a>>,
    keys: Option<&'static str>,
    held: u64,
    in_use: u64,
    waits_until: Option<Time>,
}

/// The policy that says what goes.
#[derive(Serialize)]
struct PolicyShape {
    days: Option<u32>,
    max_per_project: Option<u64>,
    notice_days: u32,
}

/// A conversation that goes, and when.
#[derive(Serialize)]
struct ExpireItem<'a> {
    id: ConversationId,
    title: &'a str,
    project: Option<&'a str>,
    messages: u64,
    bytes: u64,
    last_active_at: Time,
    expires_at: Time,
    why: &'static str,
    outcome: FateShape,
}

/// Answers a dry run.
pub(super) fn planned(
    policy: &Policy,
    plan: &RetentionPlan,
    archive: &Archive,
    context: &Context,
) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&ExpireAnswer::of(policy, plan, None, |_| FateShape::Planned));
    }
    context.show(|page| {
        writeln!(page, "{}", describe(&policy.retention))?;
        if plan.due.is_empty() && plan.soon.is_empty() {
            writeln!(page, "Nothing expires within {}.", days(policy.notice_days))?;
            return Ok(());
        }
        let all: Vec<Expiring> = plan.due.iter().chain(&plan.soon).cloned().collect();
        write!(page, "{}", table(&all, archive, context)?)?;
        let count = size::count(plan.due.len() as u64, "conversation", "conversations");
        writeln!(page, "{count} would be deleted now, {} freed.", size::bytes(plan.bytes()))?;
        Ok(())
    })?;
    tell_passed_by(plan, context);
    Ok(())
}

/// Answers a sweep.
pub(super) fn done(
    policy: &Policy,
    plan: &RetentionPlan,
    outcome: &PurgeOutcome,
    context: &Context,
) -> Result<(), Failure> {
    let report = RemovalReport::of_purge(outcome);
    if context.is_json() {
        let fates: HashMap<ConversationId, FateShape> =
            report.items.iter().map(|(id, fate)| (*id, fate.outcome())).collect();
        let fate_of =
            |expiring: &Expiring| fates.get(&expiring.stored.id).copied().unwrap_or(FateShape::PassedBy);
        context.answer_json(&ExpireAnswer::of(policy, plan, Some((outcome, &report)), fate_of))?;
    } else {
        let mut answer = context.answer();
        let count = size::count(report.deleted(), "conversation", "conversations");
        writeln!(answer, "{count} expired and deleted, {} freed.", size::bytes(report.bytes()))?;
        answer.flush()?;
        tell_passed_by(plan, context);
        warn_of_keys(outcome.keys, context);
        report.warn("deleted", |id| id.short().to_string(), |failure| failure.message().to_owned(), context);
    }
    report.verdict("deleted", None).map_err(|failure| failure.or_hint(SEE_WHAT_IS_WRONG))
}

/// Answers a program where the clock is not believed yet.
pub(super) fn waiting(policy: &Policy, until: Time, context: &Context) -> Result<(), Failure> {
    let plan = RetentionPlan::default();
    let nothing = ExpireAnswer::of(policy, &plan, None, |_| FateShape::Planned);
    context.answer_json(&ExpireAnswer { waits_until: Some(until), ..nothing })
}

pub(super) fn question(plan: &RetentionPlan) -> String {
    if plan.due.is_empty() {
        return "Nothing goes now. From now on, delete what expires?".to_owned();
    }
    let count = size::count(plan.due.len() as u64, "conversation", "conversations");
    format!("Delete {count} ({}) for good, and from now on what expires?", size::bytes(plan.bytes()))
}

fn table(rows: &[Expiring], archive: &Archive, context: &Context) -> Result<String, Failure> {
    let (clock, here) = (context.clock(), context.project_key(archive)?);
    let mut table = Table::new([
        Column::text("id").meaning(Meaning::Id),
        Column::text("title").meaning(Meaning::Title).shrinks_to(12),
        Column::text("expires"),
        Column::text("why").meaning(Meaning::Dim),
        Column::number("messages"),
        Column::number("size"),
    ]);
    for expiring in rows {
        let stored = &expiring.stored;
        let is_due = expiring.at.as_micros() <= clock.now();
        table.push([
            stored.id.short().to_string(),
            titled(named::title(stored), stored, &here),
            if is_due { "now".to_owned() } else { clock.relative(expiring.at.as_micros()) },
            expiring.cause.as_str().to_owned(),
            size::number(stored.messages),
            size::bytes(stored.bytes),
        ]);
    }
    Ok(table.draw(context.columns(), context.paint()))
}

/// What goes, line by line as it is, for a question.
pub(super) fn due(rows: &[Expiring], archive: &Archive, context: &Context) -> Result<Vec<String>, Failure> {
    let here = context.project_key(archive)?;
    let line = |expiring: &Expiring| {
        let stored = &expiring.stored;
        let title = titled(named::title_as_it_is(stored), stored, &here);
        let messages = size::count(stored.messages, "message", "messages");
        let (short, why) = (stored.id.short(), expiring.cause.as_str());
        format!("  {short}  {title} ({messages}, {}, {why})", size::bytes(stored.bytes))
    };
    Ok(rows.iter().map(line).collect())
}

/// The title, and the project where it is another one.
fn titled(title: String, stored: &StoredConversation, here: &str) -> String {
    match stored.conversation.project.as_deref().filter(|project| *project != here) {
        Some(project) => format!("{title} (in {project})"),
        None => title,
    }
}

fn tell_passed_by(plan: &RetentionPlan, context: &Context) {
    let mut told = Vec::new();
    if plan.held > 0 {
        told.push(format!("{} held", size::number(plan.held)));
    }
    if plan.in_use > 0 {
        told.push(format!("{} in use", size::number(plan.in_use)));
    }
    if !told.is_empty() {
        context.note(&format!("Skipped: {}.", told.join(", ")));
    }
}

fn days(count: u32) -> String {
    size::count(count.into(), "day", "days")
}

impl<'a> ExpireAnswer<'a> {
    /// What is due has an outcome; what is not due yet goes soon.
    fn of(
        policy: &Policy,
        plan: &'a RetentionPlan,
        done: Option<(&PurgeOutcome, &RemovalReport<ConversationId>)>,
        fate_of: impl Fn(&Expiring) -> FateShape,
    ) -> Self {
        let due = plan.due.iter().map(|expiring| ExpireItem::of(expiring, fate_of(expiring)));
        let soon = plan.soon.iter().map(|expiring| ExpireItem::of(expiring, FateShape::Soon));
        let items = due.chain(soon).collect();
        Self {
            policy: PolicyShape {
                days: policy.retention.days,
                max_per_project: policy.retention.max_per_project,
                notice_days: policy.notice_days,
            },
            removed: match done {
                Some((_, report)) => report.shape(items),
                None => RemovedShape { items, deleted: 0, bytes: 0, failed: 0 },
            },
            keys: done.and_then(|(outcome, _)| outcome.keys.as_str()),
            held: plan.held,
            in_use: plan.in_use,
            waits_until: None,
        }
    }
}

impl<'a> ExpireItem<'a> {
    fn of(expiring: &'a Expiring, outcome: FateShape) -> Self {
        let stored = &expiring.stored;
        Self {
            id: stored.id,
            title: stored.title(),
            project: stored.conversation.project.as_deref(),
            messages: stored.messages,
            bytes: stored.bytes,
            last_active_at: stored.last_active_at,
            expires_at: expiring.at,
            why: expiring.cause.as_str(),
            outcome,
        }
    }
}
