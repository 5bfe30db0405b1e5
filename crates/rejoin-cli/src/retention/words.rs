//! What people are told about retention.

use rejoin::vault::Quarantined;
use rejoin::{PurgeKeys, PurgeOutcome, Retention, RetentionPlan, Time};

use crate::ui::size;
use crate::ui::when::WallClock;

/// What a policy does, in one sentence.
pub(crate) fn describe(retention: &Retention) -> String {
    let Some(days) = retention.days else { return "Conversations are kept forever.".to_owned() };
    let begin = format!("Conversations are deleted {days} days after they were last used");
    match retention.max_per_project {
        Some(most) => format!("{begin}, and the oldest beyond {} of a project.", size::number(most)),
        None => format!("{begin}."),
    }
}

/// What is said before a policy counts.
pub(crate) fn notice(retention: &Retention, plan: &RetentionPlan) -> Vec<String> {
    let mut lines = vec![describe(retention)];
    if !plan.due.is_empty() {
        let count = conversations(plan.due.len());
        lines.push(format!("{count} would be deleted next time: rejoin expire --dry-run"));
    }
    lines.push("To keep them all: rejoin config set retention.days forever".to_owned());
    lines
}

/// What goes within the days of notice; none when nothing does.
pub(crate) fn soon(plan: &RetentionPlan, clock: &WallClock) -> Option<String> {
    let first = plan.soon.first()?;
    let (count, when) = (conversations(plan.soon.len()), clock.relative(first.at.as_micros()));
    let expire = if plan.soon.len() == 1 { "expires" } else { "expire, the first" };
    Some(format!("{count} {expire} {when}. To see which: rejoin expire --dry-run"))
}

/// What has gone; none when nothing has.
pub(crate) fn expired(report: &PurgeOutcome) -> Option<String> {
    if report.purged.is_empty() {
        return None;
    }
    let (count, bytes) = (conversations(report.purged.len()), size::bytes(report.bytes));
    Some(format!("{count} expired and deleted, {bytes} freed. More: rejoin audit"))
}

/// That the keys of a vault were not replaced after something went; none when they were.
pub(crate) fn unrenewed(report: &PurgeOutcome) -> Option<String> {
    let told = "The keys of the vault were not replaced. Unlock the keyring, then: rejoin expire";
    (report.keys == PurgeKeys::Failed).then(|| told.to_owned())
}

/// Damaged records that have gone; none when none has.
pub(crate) fn purged(records: &[Quarantined]) -> Option<String> {
    let count = (!records.is_empty()).then(|| damaged(records.len()))?;
    Some(format!("{count} went after its time in quarantine. More: rejoin audit"))
}

/// Damaged records that are in quarantine; none when none is.
pub(crate) fn quarantined(records: &[Quarantined]) -> Option<String> {
    let count = (!records.is_empty()).then(|| damaged(records.len()))?;
    Some(format!("{count} in quarantine. What to do: rejoin doctor"))
}

fn damaged(count: usize) -> String {
    size::count(count as u64, "record that does not open", "records that do not open")
}

/// Why nothing goes yet.
pub(crate) fn waiting(until: Time, clock: &WallClock) -> String {
    let until = clock.minute(until.as_micros());
    format!("Nothing was used for long, or the clock has jumped, so nothing goes before {until}.")
}

fn conversations(count: usize) -> String {
    size::count(count as u64, "conversation", "conversations")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_told_in_one_sentence() {
        let policies = [
            Retention::FOREVER,
            Retention { days: Some(30), max_per_project: None },
            Retention { days: Some(7), max_per_project: Some(1_000) },
        ];

        let expected = [
            "Conversations are kept forever.",
            "Conversations are deleted 30 days after they were last used.",
            "Conversations are deleted 7 days after they were last used, and the oldest beyond 1,000 of a project.",
        ];
        assert_eq!(policies.map(|policy| describe(&policy)), expected);
    }
}
