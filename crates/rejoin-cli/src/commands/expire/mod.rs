//! `rejoin expire`: what retention takes away, and when.

mod report;

use rejoin::{Archive, PurgeOutcome, PurgeReason};

use crate::context::{Consent, Context};
use crate::error::{Failure, Kind};
use crate::removal::RemovalPlan;
use crate::retention::{Policies, describe, purged, waiting};

/// Delete expired conversations of every project
///
/// The policy is set by `retention.days` and `retention.max_per_project`; a project can have its own.
/// Held, imported, active and open conversations are skipped. The first run, and the first one after a
/// policy change, shows what will be deleted and asks. Vault records that cannot be decrypted are
/// deleted after `vault.quarantine_days`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin expire --dry-run    See what is deleted, and when
  rejoin expire
  rejoin keep 7Kd93x         Keep one of them")]
pub(crate) struct Args {
    /// Show what expires now and soon, without deleting it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let policies = Policies::of(&archive, context)?;
    let (policy, plan) = (policies.here(), policies.plan(&archive)?);
    if args.dry_run {
        return report::planned(policy, &plan, &archive, context);
    }
    if !policy.is_seen(&archive)? {
        // A sweep does what an earlier purge had to leave. Where none follows, it is done all the same.
        archive.removal().finish_erasing()?;
        see(&archive, &policies, context)?;
    }
    let round = policies.sweep(&archive, context)?;
    if let Some(told) = purged(&round.quarantined) {
        context.note(&told);
    }
    if let Some(until) = round.waits_until {
        if context.is_json() {
            return report::waiting(policy, until, context);
        }
        context.note(&waiting(until, &context.clock()));
        return Ok(());
    }
    let done = round.report.unwrap_or_else(|| nothing(&archive));
    report::done(policy, &plan, &done, context)
}

/// The report of a sweep that had nothing to do.
fn nothing(archive: &Archive) -> PurgeOutcome {
    archive.removal().purge(&[], PurgeReason::RetentionExpired, &mut |_| {})
}

/// Shows what the policy does to somebody at a terminal, and asks.
fn see(archive: &Archive, policies: &Policies, context: &Context) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    if !terminal.stdin || !terminal.stderr {
        return Err(Failure::new(
            Kind::NotConfirmed,
            "the retention policy was never confirmed in a terminal",
        )
        .hint("run `rejoin expire` in a terminal once; `rejoin expire --dry-run` shows what is deleted"));
    }
    let (plan, retention) = (policies.plan(archive)?, policies.here().retention);
    let mut shown = vec![describe(&retention)];
    shown.extend(report::due(&plan.due, archive, context)?);
    let due = RemovalPlan::of(plan.due.iter().collect());
    due.confirm_lines(&shown, &report::question(&plan), Consent::Ask, context)?;
    Ok(archive.retention().see(&retention)?)
}
