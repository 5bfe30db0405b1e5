//! `rejoin delete`: conversations and messages, at the user's wish.

mod plan;
mod report;

use rejoin::store::Children;
use rejoin::{Archive, ShortId};

use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::removal::{self, REASON, UserStanding};
use plan::{DeletePart, DeletePlan, DeleteRemoval};

/// Delete conversations or messages
///
/// Shows what will be deleted and asks. The named messages of one conversation are deleted together or
/// not at all. Conversations are deleted one by one; a failure does not stop the rest. An ID that does
/// not exist is an error. To erase every trace, use `rejoin purge`.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "rm",
    after_help = "\
Examples:
  rejoin delete 7Kd93x                   Show what will be deleted, and ask
  rejoin delete x7Gh2a --cascade --yes   A message and all replies
  rejoin delete 7Kd93x/x7Gh2a trip-to-rome"
)]
pub(crate) struct Args {
    /// IDs or titles; numbers from a list are not accepted
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,

    /// Also delete all replies
    #[arg(long)]
    cascade: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    if let Some(number) = args.ids.iter().find(|id| is_list_number(id)) {
        return Err(Failure::usage(format!("`{number}` looks like a number from a list"))
            .because("deleting needs an ID, because lists change")
            .hint("run `rejoin list` to see the ids"));
    }
    let children = if args.cascade { Children::Remove } else { Children::Refuse };
    let archive = context.archive_to_read()?;
    let mut plan = DeletePlan::make(&archive, &args.ids, children)?;
    if !plan.removals.is_empty() {
        let (shown, question) = report::question(&plan, &UserStanding::here(&archive, context)?);
        plan.removals.confirm_lines(&shown, &question, Consent::from(args.yes), context)?;
    }
    let mut done = Vec::new();
    for mut removal in std::mem::take(&mut plan.removals.items) {
        let outcome = carry_out(&archive, &mut removal, children);
        plan.settle(removal.stored.id, &outcome);
        done.extend(outcome.is_ok().then_some(removal));
    }
    report::answer(&plan, &done, context)?;
    report::verdict(plan, context)
}

/// Digits alone, fewer than an id has.
fn is_list_number(id: &str) -> bool {
    let id = id.trim();
    !id.is_empty() && id.len() < ShortId::LENGTH && id.bytes().all(|byte| byte.is_ascii_digit())
}

/// Deletes, and corrects the counts by what was really there.
fn carry_out(archive: &Archive, removal: &mut DeleteRemoval, children: Children) -> Result<(), Failure> {
    match &removal.part {
        DeletePart::Whole => removal.bytes = removal::delete_conversation(archive, removal.stored.id)?,
        DeletePart::Messages(ids) => {
            let deleted = archive.removal().delete_messages(removal.stored.id, ids, children, REASON)?;
            (removal.messages, removal.bytes) = (deleted.messages, deleted.bytes);
        }
    }
    Ok(())
}
