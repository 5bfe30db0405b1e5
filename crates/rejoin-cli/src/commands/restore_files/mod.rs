//! `rejoin restore-files`: the project's files as they were before a turn changed them.

mod report;
mod snapshot;

use std::error::Error as _;

use rejoin_agent::{FileChangeKind, NewFiles, RestorePlan};

use crate::context::{Consent, Context};
use crate::error::{Failure, Kind};
use crate::named;
use crate::ui::consent::ConsentText;
use crate::ui::quote;
use report::RestoreReport;
use snapshot::snapshot_for;

/// Restore the project's files from before a message
///
/// Before the first tool of a turn that can change something runs, Rejoin keeps the project's files. This
/// command restores them as they were then. It shows every change as a diff and asks first. A file that it
/// replaces is kept beside the restored one, with `.before-restore` at the end of its name. Files that are
/// new since then stay unless you pass `--remove-new`.
///
/// Ignored files, `.git`, files larger than 10 MB, files with secrets, links and special files are not
/// restored. `snapshots.files = false` turns the snapshots off.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin restore-files x7Gh2a --dry-run    See what would change
  rejoin restore-files x7Gh2a
  rejoin tree                              See the messages and their ids")]
pub(crate) struct Args {
    /// The message of the turn
    message: String,

    /// Show what would change without changing it
    #[arg(long)]
    dry_run: bool,

    /// Set files aside that are new since then
    #[arg(long)]
    remove_new: bool,

    /// Restore into this project although the snapshot was taken in another directory
    #[arg(long)]
    here: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let (stored, message) = named::message(&archive, &args.message)?;
    let Some(found) = snapshot_for(&archive, stored.id, message.id)? else {
        return Err(Failure::not_found(format!(
            "no snapshot of files was taken at or after message `{}`",
            message.id
        ))
        .hint(
            "a snapshot is taken when a tool that can change something runs, unless `snapshots.files` is off",
        ));
    };
    let plan = RestorePlan::new(&archive, stored.id, &found.snapshot, context.config.project())
        .map_err(without_files)?;
    if let Some(directory) = plan.other_directory().filter(|_| !args.here) {
        let is_path_of_here = context.config.project().to_str() == Some(directory);
        let there = if directory.is_empty() || is_path_of_here {
            "another directory".to_owned()
        } else {
            format!("`{directory}`")
        };
        return Err(Failure::invalid(format!("the snapshot was taken in {there}"))
            .hint("run the command there, or pass `--here` to restore into this project"));
    }
    let new = if args.remove_new { NewFiles::SetAside } else { NewFiles::Stay };
    let mut report = RestoreReport::new(stored.id, message.id, found.message, new, &plan);
    if args.dry_run || !report.has_work() {
        return report.answer(args.dry_run, context);
    }
    let project = quote::path(context.config.project());
    let question = format!("Restore {} in {project}?", report.count());
    context.confirm_shown(&report.lines(), &ConsentText::line(&question), Consent::from(args.yes))?;
    report.done = plan.apply(new)?;
    let is_whole = report.done.iter().all(|outcome| outcome.problem.is_none());
    report.answer(false, context)?;
    if is_whole { Ok(()) } else { Err(Failure::new(Kind::Conflict, "some files were not restored")) }
}

/// An imported conversation names snapshots without bringing their files along.
fn without_files(error: rejoin_agent::Error) -> Failure {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<rejoin::Error>());
    if cause.is_none_or(|cause| cause.kind() != rejoin::ErrorKind::NotFound) {
        return error.into();
    }
    Failure::not_found("the files of this snapshot are not in the store")
        .hint("a conversation that was imported comes without them")
}

/// Whether a change is carried out.
fn is_work(kind: &FileChangeKind, new: NewFiles) -> bool {
    match kind {
        FileChangeKind::Replace | FileChangeKind::Create | FileChangeKind::Mode => true,
        FileChangeKind::New => new == NewFiles::SetAside,
        _ => false,
    }
}
