//! Records of a vault that do not open: which, since when, and what to do before they go.

use rejoin::vault::Quarantined;
use rejoin::{Archive, StoreUrl};

use crate::commands::doctor::finding::CheckFinding;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::size;

/// Records that are named before the rest is only counted.
const SHOWN: usize = 5;

/// Looks into the quarantine of a vault; a plain store has none.
pub(super) fn check(context: &Context) -> Option<CheckFinding> {
    let url = context.store_url().ok()?;
    if !matches!(url, StoreUrl::Vault(_)) {
        return None;
    }
    // A store in trouble is told elsewhere.
    let records = context.archive_to_read().and_then(|archive| look(&archive)).ok()?;
    if records.is_empty() {
        return Some(CheckFinding::ok("quarantine", "empty"));
    }
    let mut told: Vec<String> = records.iter().take(SHOWN).map(|record| name(record, context)).collect();
    if records.len() > SHOWN {
        told.push(format!("and {} more", records.len() - SHOWN));
    }
    let count = size::count(records.len() as u64, "record does not open", "records do not open");
    Some(CheckFinding::warning(
        "quarantine",
        format!("{count}: {}", told.join("; ")),
        remedy(&records, context),
    ))
}

fn look(archive: &Archive) -> Result<Vec<Quarantined>, Failure> {
    Ok(archive.vault().quarantined()?)
}

/// `message of a3f9c1, since 2026-11-16 12:00, goes 2026-11-23 12:00`.
pub(crate) fn name(record: &Quarantined, context: &Context) -> String {
    let clock = context.clock();
    let place = record.conversation.map(|id| format!(" of {}", id.short())).unwrap_or_default();
    let since = clock.minute(record.at.as_micros());
    let goes = record.goes_at(context.config.quarantine_days());
    let goes = goes.map(|at| format!(", goes {}", clock.minute(at.as_micros()))).unwrap_or_default();
    format!("{}{place}, since {since}{goes}", record.what)
}

fn remedy(records: &[Quarantined], context: &Context) -> String {
    let days = context.config.quarantine_days();
    let restore = "put a backup back with `rejoin restore PATH`, which keeps what it replaces";
    if records.iter().any(|record| record.goes_at(days).is_some()) {
        return format!("{restore}; what is lost goes by itself, unless `vault.quarantine_days` is raised");
    }
    format!("{restore}, or let it go with `rejoin purge ID --reason corruption-detected`")
}
