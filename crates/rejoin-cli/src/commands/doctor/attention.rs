//! Conversations that wait for their owner to do something.

use rejoin::{Hold, List, Time};

use crate::commands::doctor::finding::CheckFinding;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::size;

/// Counts what is past its expiry and what was imported and not released; a
/// store in trouble is told elsewhere.
pub(super) fn check(context: &Context, now: Time) -> Vec<CheckFinding> {
    let (expired, imported) = count(context, now).unwrap_or_default();
    let counted = |number| size::count(number, "conversation", "conversations");
    let mut findings = Vec::new();
    if has_traces(context).unwrap_or_default() {
        let message = "something that was purged or scrubbed is not erased from every file yet";
        findings.push(CheckFinding::warning(
            "attention",
            message,
            "run `rejoin expire` to erase it; `rejoin expire --dry-run` shows what else goes",
        ));
    }
    if expired > 0 {
        let remedy = "run `rejoin expire --dry-run` to see what will go, or `rejoin keep ID` to keep one";
        findings.push(CheckFinding::warning(
            "attention",
            format!("{} past expiry", counted(expired)),
            remedy,
        ));
    }
    if imported > 0 {
        let message = format!("{} imported and held until released", counted(imported));
        findings.push(CheckFinding::ok("attention", message));
    }
    if findings.is_empty() {
        findings.push(CheckFinding::ok("attention", "no conversation waits for you"));
    }
    findings
}

fn has_traces(context: &Context) -> Result<bool, Failure> {
    Ok(context.archive_to_read()?.removal().has_traces()?)
}

fn count(context: &Context, now: Time) -> Result<(u64, u64), Failure> {
    let archive = context.archive_to_read()?;
    let (mut expired, mut imported) = (0, 0);
    let list = List { includes_expired: true, ..List::default() };
    archive.reader().each_conversation(&list, &mut |stored| {
        let header = &stored.conversation;
        expired +=
            u64::from(header.expires_at.is_some_and(|expires| expires <= now) && header.hold == Hold::None);
        imported += u64::from(header.hold == Hold::Import);
        Ok(())
    })?;
    Ok((expired, imported))
}
