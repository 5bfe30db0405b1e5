//! `rejoin expire`: what retention takes away, and when.

mod report;

use rejoin::{Archive, Swept};

use crate::context::{Consent, Context};
use crate::error::{Failure, Kind};
use crate::retention::{Policy, describe, waiting};

/// Delete the expired conversations of this project, or show what will go
///
/// The policy is `retention.days` and `retention.max_per_project`. Conversations that are kept, imported, in use or
/// active stay. The first time, and after the policy has changed, you are shown what goes and asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin expire --dry-run    See what goes, and when
  rejoin expire
  rejoin keep 7Kd93x         Keep one of them")]
pub(crate) struct Args {
    /// Show what goes now and soon, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let policy = Policy::here(&archive, context)?;
    let plan = policy.plan(&archive)?;
    if args.dry_run {
        return report::planned(&policy, &plan, context);
    }
    archive.finish_erasing()?;
    if !policy.is_seen(&archive)? {
        see(&archive, &policy, context)?;
    }
    match policy.sweep(&archive)? {
        Swept::Done(done) => report::done(&policy, &plan, &done, context),
        Swept::Waiting(until) => {
            if context.is_json() {
                return report::waiting(&policy, until, context);
            }
            context.note(&waiting(until, &context.clock()));
            Ok(())
        }
    }
}

/// Shows what the policy does to somebody at a terminal, and asks.
fn see(archive: &Archive, policy: &Policy, context: &Context) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    if !terminal.stdin || !terminal.stderr {
        return Err(Failure::new(Kind::NotConfirmed, "nobody has seen on a terminal what retention does here")
            .hint("run `rejoin expire` at a terminal once; `rejoin expire --dry-run` shows what goes"));
    }
    let plan = policy.plan(archive)?;
    let shown = format!("{}\n{}", describe(&policy.retention), report::table(&plan.due, context));
    context.confirm_shown(&shown, &report::question(&plan), Consent::Ask)?;
    Ok(archive.see_retention(&policy.retention)?)
}
