//! `rejoin purge`: conversations go with every trace, and a report says so.

mod report;

use rejoin::{Archive, ConversationId, PurgeOutcome, PurgeReason, StoredConversation};

use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::named;
use crate::removal::{RemovalPlan, UserStanding, describe_as_it_is};
use crate::ui::consent::ConsentText;
use crate::ui::progress::Unit;
use crate::ui::size;

/// Permanently erase conversations
///
/// Erases the conversations and their sub-agent runs from every file of the store, from the search index
/// and from the prompt history. Prints a report of what was erased. Copies, exports and hand-offs are
/// not affected. A disk may keep old blocks of a plain store; in a vault, erased conversations cannot be
/// decrypted even then.
///
/// Reasons: user-requested, retention-expired, privacy-policy-change, workspace-reset,
/// corruption-detected.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin purge 7Kd93x
  rejoin purge 7Kd93x aB3dE9 --reason privacy-policy-change
  rejoin purge --everything --reason workspace-reset --yes")]
pub(crate) struct Args {
    /// Conversations
    #[arg(value_name = "ID", required_unless_present = "everything", conflicts_with = "everything")]
    ids: Vec<String>,

    /// Erase everything: all projects and all remembered state
    #[arg(long)]
    everything: bool,

    /// The reason, recorded in events and the audit log
    #[arg(long, value_name = "REASON", default_value = "user-requested")]
    reason: PurgeReason,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let consent = Consent::from(args.yes);
    let report = if args.everything {
        everything(&archive, args.reason, consent, context)?
    } else {
        some(&archive, &args, consent, context)?
    };
    report::answer(&report, context)
}

/// Every name is understood before anything goes.
fn some(
    archive: &Archive,
    args: &Args,
    consent: Consent,
    context: &Context,
) -> Result<PurgeOutcome, Failure> {
    let mut found: Vec<StoredConversation> = Vec::new();
    for name in &args.ids {
        let stored = named::conversation(archive, name).inspect_err(|failure| {
            // A purge that was cut off may have removed it already, and left traces. Where they stay, the
            // store remembers that.
            if failure.is_not_found() {
                let _ = archive.removal().finish_erasing();
            }
        })?;
        if !found.iter().any(|other| other.id == stored.id) {
            found.push(stored);
        }
    }
    let ids: Vec<ConversationId> = found.iter().map(|stored| stored.id).collect();
    found.extend(archive.removal().purged_along(&ids)?);
    let standing = UserStanding::here(archive, context)?;
    let plan = RemovalPlan::of(found);
    let line = |stored: &StoredConversation| {
        format!("  {}: {}", describe_as_it_is(stored, &standing), stored.id.short())
    };
    let shown = plan.lines("This will be purged:", line, "");
    let going = plan.items.len() as u64;
    let count = size::count(going, "conversation", "conversations");
    // What cannot be counted goes all the same.
    let attached = |stored: &StoredConversation| archive.attachments().bytes(stored.id).unwrap_or(0);
    let bytes = size::bytes(plan.items.iter().map(|stored| stored.bytes + attached(stored)).sum());
    plan.confirm_lines(&shown, &format!("Purge {count} ({bytes}) permanently?"), consent, context)?;
    let progress = context.progress("Purging conversations", Unit::Items, Some(going));
    let report = archive.removal().purge(&ids, args.reason, &mut |_| progress.advance(1));
    progress.finish();
    Ok(report)
}

fn everything(
    archive: &Archive,
    reason: PurgeReason,
    consent: Consent,
    context: &Context,
) -> Result<PurgeOutcome, Failure> {
    let plan = RemovalPlan::of(archive.maintenance().survey()?.conversations);
    let count = plan.items.len() as u64;
    let counted = size::count(count, "conversation", "conversations");
    let shown = ConsentText::line(&format!("This store will be emptied: {}", context.store_url()?));
    let question = format!("Purge {counted} of all projects permanently?");
    plan.confirm(&shown, &question, consent, context)?;
    let progress = context.progress("Purging conversations", Unit::Items, Some(count));
    let report = archive.removal().purge_everything(reason, &mut |_| progress.advance(1))?;
    progress.finish();
    Ok(report)
}
