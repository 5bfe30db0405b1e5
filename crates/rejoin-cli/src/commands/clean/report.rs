//! What is said before and after cleaning.

use std::io::Write;

use rejoin::{ConversationId, StoredConversation, Time};
use serde::Serialize;

use super::Age;
use super::survey::CleanSurvey;
use crate::context::Context;
use crate::error::{Failure, Why};
use crate::named;
use crate::removal::{self, Fate, FateShape, RemovalReport, RemovedShape, SEE_WHAT_IS_WRONG};
use crate::ui::paint::Meaning;
use crate::ui::table::{Column, Table};
use crate::ui::{size, when};

/// What became of every conversation that was old enough.
#[derive(Debug)]
pub(super) struct CleanReport<'a> {
    survey: &'a CleanSurvey,
    age: Age,
    fates: RemovalReport<&'a StoredConversation>,
}

/// A report as programs read it.
#[derive(Serialize)]
struct CleanAnswer<'a> {
    #[serde(flatten)]
    removed: RemovedShape<CleanItem<'a>>,
    held: u64,
    active: u64,
}

/// What became of one conversation.
#[derive(Serialize)]
struct CleanItem<'a> {
    id: ConversationId,
    title: &'a str,
    messages: u64,
    bytes: u64,
    last_active_at: Time,
    outcome: FateShape,
    error: Option<Why>,
}

/// What will go, and the question to ask about it.
pub(super) fn question(survey: &CleanSurvey, context: &Context) -> (Vec<String>, String) {
    let clock = context.clock();
    let line = |stored: &StoredConversation| {
        let (short, when) = (stored.id.short(), clock.relative(stored.last_active_at.as_micros()));
        format!("  {short}  {when}  {}", named::title_as_it_is(stored))
    };
    let mut shown =
        survey.old.lines("These conversations will be deleted:", line, ": add `--dry-run` to see all");
    shown.extend(passed_by(survey, 0));
    let count = size::count(survey.old.items.len() as u64, "conversation", "conversations");
    (shown, removal::question(&count, survey.old.items.iter().map(|stored| stored.bytes).sum()))
}

impl<'a> CleanReport<'a> {
    pub(super) fn new(
        survey: &'a CleanSurvey,
        age: Age,
        fates: RemovalReport<&'a StoredConversation>,
    ) -> Self {
        Self { survey, age, fates }
    }

    /// Answers where nothing was deleted: a dry run, or nothing to delete.
    pub(super) fn answer_planned(&self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            return context.answer_json(&self.told());
        }
        if self.fates.items.is_empty() {
            context.note(&match self.age {
                Age::Any => "Nothing to clean in this project.".to_owned(),
                Age::Over(length, _) => {
                    format!(
                        "Nothing to clean: nothing in this project is older than {}.",
                        when::duration(length)
                    )
                }
            });
        } else {
            let bytes = size::bytes(self.fates.items.iter().map(|(stored, _)| stored.bytes).sum());
            let count = size::count(self.fates.items.len() as u64, "conversation", "conversations");
            context.show(|output| {
                let rows = self.fates.items.iter().map(|(stored, _)| *stored);
                write!(output, "{}", table(rows, context))?;
                writeln!(output, "{count} would be deleted, {bytes} freed.")?;
                Ok(())
            })?;
        }
        if let Some(passed_by) = passed_by(self.survey, 0) {
            context.note(&passed_by);
        }
        Ok(())
    }

    /// Answers what was deleted. One that could not be makes the exit code, after all others were tried.
    pub(super) fn answer(&self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            context.answer_json(&self.told())?;
        } else {
            let deleted = size::count(self.fates.deleted(), "conversation", "conversations");
            let mut answer = context.answer();
            writeln!(answer, "{deleted} deleted, {} freed.", size::bytes(self.fates.bytes()))?;
            answer.flush()?;
            if let Some(passed_by) = passed_by(self.survey, self.fates.passed_by()) {
                context.note(&passed_by);
            }
            let name =
                |stored: &&StoredConversation| format!("{} ({})", stored.id.short(), named::title(stored));
            self.fates.warn("deleted", name, Failure::summary, context);
        }
        let verdict = self.fates.verdict("deleted", Some(self.fates.items.len()));
        verdict.map_err(|failure| failure.or_hint(SEE_WHAT_IS_WRONG))
    }

    fn told(&self) -> CleanAnswer<'_> {
        let items = self.fates.items.iter().map(|(stored, fate)| CleanItem::of(stored, fate)).collect();
        let removed = self.fates.shape(items);
        CleanAnswer { removed, held: self.survey.held, active: u64::from(self.survey.active_is_old) }
    }
}

impl<'a> CleanItem<'a> {
    fn of(stored: &'a StoredConversation, fate: &Fate) -> Self {
        Self {
            id: stored.id,
            title: stored.title(),
            messages: stored.messages,
            bytes: stored.bytes,
            last_active_at: stored.last_active_at,
            outcome: fate.outcome(),
            error: fate.failure().map(Failure::why),
        }
    }
}

fn table<'a>(rows: impl Iterator<Item = &'a StoredConversation>, context: &Context) -> String {
    let clock = context.clock();
    let mut table = Table::new([
        Column::text("id").meaning(Meaning::Id),
        Column::text("title").meaning(Meaning::Title).shrinks_to(12),
        Column::text("last active").meaning(Meaning::Dim),
        Column::number("messages"),
        Column::number("size"),
    ]);
    for stored in rows {
        table.push([
            stored.id.short().to_string(),
            named::title(stored),
            clock.relative(stored.last_active_at.as_micros()),
            size::number(stored.messages),
            size::bytes(stored.bytes),
        ]);
    }
    table.draw(context.columns(), context.paint())
}

/// What stays although it is old enough; none if there is nothing of the kind.
fn passed_by(survey: &CleanSurvey, used_meanwhile: u64) -> Option<String> {
    let mut told = Vec::new();
    if survey.held > 0 {
        told.push(format!("{} held", size::number(survey.held)));
    }
    if survey.active_is_old {
        told.push("the active one".to_owned());
    }
    if used_meanwhile > 0 {
        told.push(format!("{} used meanwhile", size::number(used_meanwhile)));
    }
    (!told.is_empty()).then(|| format!("Skipped: {}.", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use rejoin::{Archive, Conversation};
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::error::Kind;
    use crate::removal::RemovalPlan;

    /// Half a failure is hard to bring about from outside, so what is told of one is checked here.
    #[test]
    fn partial_success_is_told_in_full() {
        let archive = Archive::open("memory:").unwrap();
        let [good, bad] = ["Lisbon", "Rome"].map(|title| {
            let id = archive.start(Conversation::titled(title)).unwrap().id();
            archive.conversation(id).unwrap()
        });
        let survey =
            CleanSurvey { old: RemovalPlan::of(Vec::new()), held: 2, active: None, active_is_old: true };
        let failure = Failure::new(Kind::Locked, "another program is writing");
        let fates = RemovalReport::of(vec![
            (&good, Fate::Deleted(340)),
            (&bad, Fate::Failed(failure)),
            (&bad, Fate::PassedBy),
        ]);

        let report = CleanReport::new(&survey, Age::Any, fates);

        let told = |stored: &StoredConversation, outcome: &str, error: Json| {
            json!({
                "id": stored.id, "title": stored.title(), "messages": 0, "bytes": 0,
                "last_active_at": stored.last_active_at, "outcome": outcome, "error": error,
            })
        };
        let error = json!({"kind": "locked", "message": "another program is writing"});
        let items = [
            told(&good, "deleted", Json::Null),
            told(&bad, "failed", error),
            told(&bad, "passed by", Json::Null),
        ];
        let expected =
            json!({"items": items, "deleted": 1, "bytes": 340, "failed": 1, "held": 2, "active": 1});
        assert_eq!(serde_json::to_value(report.told()).unwrap(), expected);
        assert_eq!(
            passed_by(&survey, report.fates.passed_by()).as_deref(),
            Some("Skipped: 2 held, the active one, 1 used meanwhile.")
        );
    }
}
