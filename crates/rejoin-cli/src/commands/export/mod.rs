//! `rejoin export`: conversations as files, for people and for other programs.

mod kind;
mod place;
mod report;
mod selection;

use std::path::{Path, PathBuf};

use rejoin::formats::Key;
use rejoin::{Archive, AuditAction, AuditEntry, Json, StoredConversation};

use self::kind::ExportKind;
use self::place::{ExportDestination, Replacing};
use self::report::ExportReport;
use self::selection::{SelectedConversation, wanted};
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::key_file;
use crate::ui::consent::ConsentText;
use crate::ui::progress::Unit;
use crate::ui::size;

/// Export conversations to files
///
/// A conversation is exported with all branches and sub-agent runs; a message, with the path that leads
/// to it. Files are written to `export.directory` and only you can read them. Existing files are not
/// replaced without `--yes`.
///
/// `markdown` and `html` are for reading. `json` is complete and can be imported again. The other
/// formats are those of other programs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin export lisbon
  rejoin export lisbon --format html --output lisbon.html
  rejoin export lisbon --output - | less
  rejoin export --all --format json --output backup/")]
pub(crate) struct Args {
    /// Conversations or messages
    #[arg(value_name = "ID", required_unless_present_any = ["all", "all_projects"], conflicts_with_all = ["all", "all_projects"])]
    ids: Vec<String>,

    /// Export all conversations of this project
    #[arg(long)]
    all: bool,

    /// Export all conversations of every project
    #[arg(long)]
    all_projects: bool,

    /// The output format
    #[arg(long, short, value_name = "FORMAT", default_value = "markdown", value_parser = kind::names())]
    format: String,

    /// Encrypt `agent-voice` output with the key in this file, which only you may read
    ///
    /// The file holds a 32-byte key: raw, as 64 hexadecimal digits, or in base64.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,

    /// A file, a directory, or `-` for stdout
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Only the path to the end of this named branch
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "all_projects"])]
    branch: Option<String>,

    /// Show where the project and attached files lie, on HTML pages
    #[arg(long)]
    show_paths: bool,

    /// Replace existing files, and confirm `--force`
    #[arg(long)]
    yes: bool,

    /// Include conversations marked as not exportable
    #[arg(long)]
    force: bool,
}

/// The names of all formats, with what each is for.
pub(super) fn formats() -> Vec<(&'static str, String)> {
    kind::all().map(|kind| (kind.name(), kind.about())).collect()
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let mut archive = context.archive_to_read()?.passing_over_damage();
    let kind = ExportKind::named(&args.format)?;
    let kind = if args.show_paths { kind.showing_paths()? } else { kind };
    let key = args.key_file.as_deref().map(|path| sealing(kind, path, context)).transpose()?;
    let wanted = wanted(&args, &archive, context)?;
    let reason = if args.force {
        forced(&archive, &wanted, Consent::from(args.yes), context)?
    } else {
        ExportReason::Asked
    };
    if reason == ExportReason::Forced {
        archive = archive.exporting_all();
    }
    let destination = ExportDestination::of(args.output.as_deref(), wanted.len(), context)?;
    if destination == ExportDestination::Output {
        print(&archive, kind, key.as_ref(), &wanted, context)?;
        note(&archive, kind, reason, &wanted.iter().map(|one| &one.stored).collect::<Vec<_>>(), context);
        return Ok(());
    }
    let progress = context.progress("Exporting", Unit::Items, Some(wanted.len() as u64));
    let mut replacing = Replacing::new(Consent::from(args.yes), wanted.len());
    let mut report = ExportReport::new(kind, &wanted);
    for one in wanted {
        let outcome = kind.write(&archive, &one, key.as_ref()).and_then(|files| {
            context.warn_of_damage(&archive, one.stored.id)?;
            // It may ask, and what is drawn would cover the question.
            progress.aside(|| place::write(&destination, kind, &one, files, &mut replacing, context))
        });
        report.add(one.stored, outcome);
        progress.advance(1);
    }
    drop(progress);
    note(&archive, kind, reason, &report.written(), context);
    report.show(context)?;
    report.judge()
}

/// The key to seal with, where a format can.
fn sealing(kind: ExportKind, path: &Path, context: &Context) -> Result<Key, Failure> {
    if !kind.can_seal() {
        return Err(Failure::usage(format!("`{}` is not sealed, and takes no key", kind.name()))
            .hint("omit `--key-file`, or use `--format agent-voice`"));
    }
    key_file::read(path, context)
}

/// Why conversations are written, as the audit log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportReason {
    Asked,
    /// Some of them are marked as not exportable.
    Forced,
}

/// Asks before something leaves the store that must not.
fn forced(
    archive: &Archive,
    wanted: &[SelectedConversation],
    consent: Consent,
    context: &Context,
) -> Result<ExportReason, Failure> {
    let marked = wanted.iter().filter(|one| !archive.exports().may_leave(&one.stored)).count() as u64;
    if marked == 0 {
        return Ok(ExportReason::Asked);
    }
    let count = size::count(marked, "conversation is", "conversations are");
    context
        .confirm(&ConsentText::line(&format!("{count} marked as not exportable. Export anyway?")), consent)?;
    Ok(ExportReason::Forced)
}

/// Notes in the audit log what was written. The files are there, whatever becomes of the note.
fn note(
    archive: &Archive,
    kind: ExportKind,
    reason: ExportReason,
    written: &[&StoredConversation],
    context: &Context,
) {
    let reason = match reason {
        ExportReason::Asked => "user-requested",
        ExportReason::Forced => "forced",
    };
    let mut entry = AuditEntry::new(AuditAction::Exported, reason);
    if let [one] = written {
        entry = entry.to(one.id);
    }
    entry.conversations = written.len() as u64;
    entry = entry.counting(
        written.iter().map(|stored| stored.messages).sum(),
        written.iter().map(|stored| stored.bytes).sum(),
    );
    entry.extra.set("format", Json::of(&kind.name()).expect("a name is JSON"));
    if !written.is_empty()
        && let Err(error) = archive.audit().note(entry)
    {
        context.manner.warn(&format!("the export was not recorded in the audit log: {error}"), None);
    }
}

/// Writes one conversation to the standard output.
fn print(
    archive: &Archive,
    kind: ExportKind,
    key: Option<&Key>,
    wanted: &[SelectedConversation],
    context: &Context,
) -> Result<(), Failure> {
    let [one] = wanted else {
        return Err(Failure::usage("only one conversation can be written to stdout")
            .hint("name a directory with `--output`"));
    };
    if context.is_json() {
        return Err(Failure::usage("the export and its JSON report cannot both go to stdout")
            .hint("omit `--json`, or name a file with `--output`"));
    }
    let mut files = kind.write(archive, one, key)?;
    context.warn_of_damage(archive, one.stored.id)?;
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => place::print(&file.bytes, context),
        _ => Err(Failure::usage(format!(
            "`{}` is exported as several files, which cannot go to stdout",
            kind.name()
        ))
        .hint("name a directory with `--output`")),
    }
}
