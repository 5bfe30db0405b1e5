//! `rejoin scrub`: secrets that are stored already are found and taken out.

mod report;

use std::time::Duration;

use rejoin::store::Task;
use rejoin::{Archive, ConversationId, ErrorKind, ScrubMode};

use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::named;
use crate::ui::consent::ConsentText;
use crate::ui::progress::Unit;
use report::{ScrubOutput, ScrubPart};

/// Find stored secrets and redact them
///
/// Searches messages on every branch, tool arguments and results, thinking, summaries, text attachments,
/// titles, synopses, labels, interrupted replies and the stored originals of imports. Each secret is
/// replaced by a marker and removed from the files and the search index. Secrets are never printed. The
/// digests of changed messages and of all later ones change; `rejoin audit` lists them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin scrub a3f9c1 --dry-run    See what would be redacted
  rejoin scrub a3f9c1
  rejoin scrub --all --yes         Everything, without asking")]
pub(crate) struct Args {
    /// The conversation
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    conversation: Option<String>,

    /// Scrub everything: all projects and all remembered state
    #[arg(long)]
    all: bool,

    /// Show what would be redacted without changing it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let ids = match &args.conversation {
        Some(name) => vec![
            named::find_conversation(&archive, name)
                .map_err(|error| named::explain(&archive, name, error))?,
        ],
        None => archive.maintenance().survey()?.conversations,
    };
    let extent = if args.all { ScrubExtent::Everything } else { ScrubExtent::One };
    if args.dry_run {
        return look(&archive, &ids, extent, context)?.answer(context);
    }
    if !args.yes {
        let found = look(&archive, &ids, extent, context)?;
        if found.is_clean() {
            return found.answer(context);
        }
        let shown = ConsentText::report(&found.shown(context));
        found.parts.confirm(&shown, &found.question(), Consent::from(args.yes), context)?;
    }
    let mut report = scrub(&archive, &ids, extent, ScrubMode::Replace, context)?;
    if extent == ScrubExtent::Everything {
        // What was replaced long ago may lie where nobody sees it.
        let progress = context.progress("Erasing what was replaced", Unit::Items, None);
        match archive.maintenance().run(Task::Repack, Duration::MAX) {
            Ok(left) => report.has_traces = left > 0,
            Err(error) => report.erased = Some(error.into()),
        }
        progress.finish();
    }
    report.answer(context)
}

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScrubExtent {
    One,
    Everything,
}

fn look(
    archive: &Archive,
    ids: &[ConversationId],
    extent: ScrubExtent,
    context: &Context,
) -> Result<ScrubOutput, Failure> {
    scrub(archive, ids, extent, ScrubMode::Look, context)
}

fn scrub(
    archive: &Archive,
    ids: &[ConversationId],
    extent: ScrubExtent,
    mode: ScrubMode,
    context: &Context,
) -> Result<ScrubOutput, Failure> {
    let doing = match mode {
        ScrubMode::Look => "Looking for secrets",
        ScrubMode::Replace => "Taking secrets out",
    };
    let progress = context.progress(doing, Unit::Items, Some(ids.len() as u64));
    let mut report = ScrubOutput::new(mode);
    let mut failed = None;
    let is_erased = archive.removal().scrub_each(ids, mode, &mut |id, scrubbed| {
        match scrubbed {
            Ok(scrubbed) => report.add(ScrubPart { conversation: Some(id), scrubbed }),
            // It was deleted while others were looked at.
            Err(error) if error.kind() == ErrorKind::NotFound && extent == ScrubExtent::Everything => {}
            Err(error) if extent == ScrubExtent::Everything => report.add_failure(id, error.into()),
            Err(error) => failed = Some(error),
        }
        progress.advance(1);
    });
    report.has_traces = !is_erased;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if extent == ScrubExtent::Everything {
        report.add(ScrubPart { conversation: None, scrubbed: archive.removal().scrub_state(mode)? });
    }
    progress.finish();
    Ok(report)
}
