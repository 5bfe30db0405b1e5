//! `rejoin import`: conversations of other programs, read where they are and kept here.

mod projects;
mod report;

use std::path::{Path, PathBuf};

use projects::Projects;
use rejoin::formats::{FORMATS, Format, ReadLimits, Source, Sources};
use rejoin::{Archive, Import, ImportMode};
use report::Report;

use crate::context::Context;
use crate::error::Failure;
use crate::ui::progress::{Progress, Unit};

/// Import conversations of other programs
///
/// Names files, or directories to look through. Every branch is kept, sub-agents become conversations of their own, and
/// the lines that were read are kept beside the messages. Importing again adds only what is new; the files themselves
/// are not touched. An imported conversation is kept until you release or delete it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin import ~/.claude/projects
  rejoin import --dry-run session.jsonl     See what would be imported")]
pub(crate) struct Args {
    /// Files, or directories to look through
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Read them as this format instead of looking for one that fits
    #[arg(long, value_name = "FORMAT", value_parser = names())]
    from: Option<String>,

    /// Say what would be imported and store nothing
    #[arg(long)]
    dry_run: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let only = args.from.as_deref().map(Format::named).transpose()?;
    let mode = if args.dry_run { ImportMode::Try } else { ImportMode::Store };
    let mut report = Report::new(mode);
    let mut sources = Vec::new();
    for path in &args.paths {
        let path = context.surroundings.working_directory.join(path);
        // One name for one place, because it is kept with the conversation.
        let path = path.canonicalize().unwrap_or(path);
        let found = find(&path, only)?;
        report.pass_over(found.others, found.unreadable);
        sources.extend(found.found);
    }
    let archive = match mode {
        ImportMode::Store => context.archive()?,
        ImportMode::Try => context.archive_to_read()?,
    };
    import(&archive, &sources, mode, &mut report, context)?;
    report.show(context)?;
    report.judge()
}

fn find(path: &Path, only: Option<&'static Format>) -> Result<Sources, Failure> {
    Sources::find(path, only).map_err(|error| {
        let failure = Failure::from(error);
        if failure.is_not_found() {
            return failure;
        }
        failure.or_hint("name a file that one of these programs wrote, or say which with `--from`")
    })
}

/// Imports each source. One that fails does not stop the others.
fn import(
    archive: &Archive,
    sources: &[(Source, &'static Format)],
    mode: ImportMode,
    report: &mut Report,
    context: &Context,
) -> Result<(), Failure> {
    let passes = if mode == ImportMode::Store { 2 } else { 1 };
    let all = sources.iter().map(|(source, _)| source.bytes()).sum::<u64>() * passes;
    let doing = if mode == ImportMode::Store { "Importing" } else { "Reading" };
    let progress: Progress = context.progress(doing, Unit::Bytes, Some(all));
    let projects = Projects::new(context);
    for (source, format) in sources {
        let mut how = Import {
            limits: ReadLimits::default(),
            mode,
            project: &|directory| projects.key_of(directory),
            progress: &mut |bytes| progress.advance(bytes),
        };
        report.add(source, archive.import(source, format, &mut how))?;
    }
    if mode == ImportMode::Store {
        projects.remember(archive)?;
    }
    Ok(())
}
