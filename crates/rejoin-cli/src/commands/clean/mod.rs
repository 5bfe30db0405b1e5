//! `rejoin clean`: the old conversations of this project, or all of them.

mod report;
mod survey;

use std::time::Duration;

use rejoin::{Archive, ConversationId, StoredConversation, Time};

use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::removal::{self, Fate};
use crate::ui::period;
use crate::ui::progress::Unit;
use report::CleanReport;
use survey::CleanSurvey;

/// Delete old conversations of this project
///
/// A conversation is old if nothing was added for `clean.older_than_days`. The active conversation and
/// those held with `rejoin keep` are skipped. Other projects are not affected.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin clean --dry-run           See what would be deleted
  rejoin clean --older-than 30d
  rejoin clean --all --yes         Any age, without asking")]
pub(crate) struct Args {
    /// Minimum time since the last message, such as 7d, 12h or 2w
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,

    /// Delete conversations of any age, except the active one and held ones
    #[arg(long, conflicts_with = "older_than")]
    all: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Show what would be deleted without deleting it
    #[arg(long)]
    dry_run: bool,
}

/// Which conversations are old.
#[derive(Clone, Copy, Debug)]
enum Age {
    Any,
    /// Nothing was added for longer than this, so since before that time.
    Over(Duration, Time),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let age = Age::chosen(&args, context)?;
    let archive = context.archive_to_read()?;
    let survey = CleanSurvey::make(&archive, age, context)?;
    if args.dry_run || survey.old.is_empty() {
        return CleanReport::new(&survey, age, survey.old.planned()).answer_planned(context);
    }
    let (shown, question) = report::question(&survey, context);
    survey.old.confirm_lines(&shown, &question, Consent::from(args.yes), context)?;
    let count = survey.old.items.len() as u64;
    let progress = context.progress("Deleting conversations", Unit::Items, Some(count));
    let fates = survey.old.carry_out(|stored| {
        let fate = delete(&archive, stored, age, survey.active);
        progress.advance(1);
        fate
    });
    progress.finish();
    CleanReport::new(&survey, age, fates).answer(context)
}

impl Age {
    fn chosen(args: &Args, context: &Context) -> Result<Self, Failure> {
        if args.all {
            return Ok(Age::Any);
        }
        let length = match &args.older_than {
            Some(typed) => {
                period::length(typed).map_err(|error| Failure::usage(format!("`--older-than`: {error}")))?
            }
            None => Duration::from_secs(context.config.clean_older_than_days().saturating_mul(86_400)),
        };
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        Ok(Age::Over(length, Time::from_micros(context.clock().now().saturating_sub(micros))))
    }

    fn covers(self, stored: &StoredConversation) -> bool {
        match self {
            Age::Any => true,
            Age::Over(_, before) => stored.last_active_at < before,
        }
    }
}

/// Deletes what is still as it was: the question may have been answered an hour after it was asked.
fn delete(archive: &Archive, stored: &StoredConversation, age: Age, active: Option<ConversationId>) -> Fate {
    let spared = match archive.conversation(stored.id) {
        Ok(now) => !age.covers(&now) || survey::is_held(&now) || active == Some(now.id),
        Err(error) if error.kind() == rejoin::ErrorKind::NotFound => true,
        Err(error) => return Fate::Failed(error.into()),
    };
    if spared {
        return Fate::PassedBy;
    }
    match removal::delete_conversation(archive, stored.id) {
        Ok(bytes) => Fate::Deleted(bytes),
        Err(failure) => Fate::Failed(failure),
    }
}
