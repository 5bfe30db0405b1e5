//! `rejoin import`: conversations of other programs, read where they are and kept here.

mod meter;
mod nearby;
mod placed;
mod projects;
mod report;
mod scope;
mod survey;
mod watch;
mod work;

use std::path::PathBuf;

pub(crate) use nearby::offer;
use rejoin::formats::{FORMATS, Format};
use rejoin::{Archive, ConversationId, ImportMode, Imports};
use report::ImportReport;
use scope::{FoundSource, ImportPlace, ImportScope};
use survey::ScanSurvey;
use work::Work;

use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::key_file;
use crate::named;
use crate::ui::consent::ConsentText;
use crate::ui::progress::Unit;
use crate::ui::quote;

/// Import conversations from other programs
///
/// Reads the given files and directories, or finds the history of known programs with `--scan`. The
/// files are not changed. Importing again adds only what is new.
///
/// Every branch is imported, sub-agent runs become conversations of their own, and the original lines
/// are stored with the messages. An imported conversation never expires until you release it with
/// `rejoin keep --release`. A deleted one is imported again only if you name its file.
///
/// A file never changes a conversation that started in Rejoin or was imported from another folder. If it
/// has the same ID, its additional messages become a separate conversation, unless `--into` names a
/// target.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin import --scan                      Find history, then ask
  rejoin import --scan --watch              Keep importing until interrupted
  rejoin import ~/.claude/projects
  rejoin import --dry-run session.jsonl     See what would be imported
  rejoin import lisbon.json --into AU4eqF   Add its new messages as a branch")]
pub(crate) struct Args {
    /// Files or directories
    #[arg(value_name = "PATH", conflicts_with = "scan")]
    paths: Vec<PathBuf>,

    /// Read the files as this format instead of detecting it
    #[arg(long, value_name = "FORMAT", value_parser = names())]
    from: Option<String>,

    /// Decrypt Agent Voice records with the key in this file, which only you may read
    ///
    /// The file holds a 32-byte key: raw, as 64 hexadecimal digits, or in base64.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,

    /// Add the file's single conversation to this one, as a branch
    ///
    /// The branch starts where the two differ. The conversation's head, title and other properties do
    /// not change.
    #[arg(long, value_name = "ID", conflicts_with_all = ["scan", "watch"])]
    into: Option<String>,

    /// Find the history of known programs on this machine
    #[arg(long)]
    scan: bool,

    /// Keep importing new messages until interrupted
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Show what would be imported without importing it
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// One file, whose format is found out.
    fn of_file(path: PathBuf) -> Self {
        Self {
            paths: vec![path],
            from: None,
            key_file: None,
            into: None,
            scan: false,
            watch: false,
            yes: false,
            dry_run: false,
        }
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(FORMATS.iter().map(|format| format.name))
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let only = args.from.as_deref().map(Format::named).transpose()?;
    if args.paths.is_empty() && !args.scan {
        return Err(Failure::usage("nothing to import was named")
            .hint("run `rejoin import --scan` to find the history of other programs, or name a file"));
    }
    let key = args.key_file.as_deref().map(|path| key_file::read(path, context)).transpose()?;
    // What was imported before is asked first: a store that does not exist is not created by looking.
    let (imports, scope) = {
        let archive = context.archive_to_read()?;
        let scope = match args.scan {
            true => ImportScope::places(only, &archive, context)?,
            false => ImportScope::named(&args.paths, only, context),
        };
        (archive.imports().known()?, scope.with_key(key))
    };
    let looking = context.progress("Looking for files", Unit::Items, None);
    let places = scope.look(&mut imports.finder(), &imports)?;
    drop(looking);
    if scope.is_scan() && !agrees(&args, &places, context)? {
        return Ok(());
    }
    if args.watch {
        return watch::run(&scope, context);
    }
    if !scope.is_scan() && places.iter().all(|place| place.items().next().is_none()) {
        return Err(nothing_in(&places, context));
    }
    once(&args, places, imports, context)
}

/// Shows what a scan has found, and asks. False when there is nothing more to do.
fn agrees(args: &Args, places: &[ImportPlace], context: &Context) -> Result<bool, Failure> {
    let survey = ScanSurvey::of(places);
    let is_fresh = places.iter().any(|place| !place.fresh.is_empty());
    let is_done = args.dry_run || (!is_fresh && !args.watch);
    let asks = !args.yes && !is_done && is_fresh;
    if !context.is_json() {
        let only = args.from.as_deref().map(Format::named).transpose()?;
        survey.show(only, context)?;
    } else if is_done || asks && !context.surroundings.terminal.stdin {
        // Whoever reads the answer finds the fields of every answer.
        let mut report = ImportReport::new(mode(args));
        places.iter().for_each(|place| report.pass_over(place));
        report.show(Some(&survey), context)?;
    }
    if is_done {
        if !context.is_json() && !args.dry_run && places.iter().any(|place| !place.unchanged.is_empty()) {
            context.note("Nothing in it is new.");
        }
        return Ok(false);
    }
    if asks {
        let mut again = "rejoin import --scan".to_owned();
        if let Some(path) = &args.key_file {
            again += &format!(" --key-file {}", quote::path(path));
        }
        again += if args.watch { " --watch --yes" } else { " --yes" };
        context.confirm(&ConsentText::line(&survey.question()), Consent::Ask).map_err(|failure| {
            if context.surroundings.terminal.stdin && context.surroundings.terminal.stderr {
                return failure;
            }
            failure.hint(format!("run `{again}` to import it"))
        })?;
    }
    Ok(true)
}

/// Tells that there is nothing to import where someone said to look.
fn nothing_in(places: &[ImportPlace], context: &Context) -> Failure {
    let mut report = ImportReport::new(ImportMode::Try);
    places.iter().for_each(|place| report.pass_over(place));
    report.note_passed_over(context);
    let paths: Vec<String> = places.iter().map(|place| format!("`{}`", place.path.display())).collect();
    Failure::not_found(format!("nothing that can be imported is in {}", paths.join(" or ")))
        .hint("run `rejoin import --scan` to find the history of other programs")
}

/// The conversation that one file is added to.
fn target(name: &str, archive: &Archive, items: &[FoundSource]) -> Result<ConversationId, Failure> {
    let stored = named::conversation(archive, name)?;
    if items.len() != 1 {
        return Err(Failure::usage(format!("`--into` takes one file, and {} were found", items.len()))
            .hint("name the file itself"));
    }
    Ok(stored.id)
}

const fn mode(args: &Args) -> ImportMode {
    if args.dry_run { ImportMode::Try } else { ImportMode::Store }
}

/// Imports what was found, once.
fn once(
    args: &Args,
    mut places: Vec<ImportPlace>,
    imports: Imports,
    context: &Context,
) -> Result<(), Failure> {
    let mode = mode(args);
    let mut report = ImportReport::new(mode);
    let mut items: Vec<FoundSource> = Vec::new();
    for place in &mut places {
        report.pass_over(place);
        // The survey counts them, too.
        items.extend(place.fresh.iter().cloned());
    }
    let archive = match mode {
        ImportMode::Store => context.archive()?,
        ImportMode::Try => context.archive_to_read()?,
    };
    let into = match &args.into {
        Some(name) => Some(target(name, &archive, &items)?),
        None => None,
    };
    Work::new(archive, imports, mode, into, context).import_all(&items, &mut report, context)?;
    let survey = args.scan.then(|| ScanSurvey::of(&places));
    report.show(survey.as_ref(), context)?;
    if args.scan && report.added() > 0 {
        context.note("To see them: rejoin list --all-projects");
        context.note("To keep importing: rejoin import --scan --watch");
    }
    report.judge()
}
