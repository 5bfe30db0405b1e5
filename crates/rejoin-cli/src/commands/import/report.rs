//! What was read, what was skipped and why, for people and for programs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rejoin::formats::Detection;
use rejoin::{ConversationId, ImportMode, Imported, ImportedConversation, MessageId, Redacted};
use serde::Serialize;

use super::placed;
use super::scope::{FoundSource, ImportPlace};
use super::survey::{ScanSurvey, Surveyed};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::redaction::TakenSecrets;
use crate::shapes::Itself;
use crate::ui::json::{self, PathText};
use crate::ui::{clean, quote, size};

/// How many reasons a person is shown; `--json` has more.
const SHOWN: usize = 10;

/// How many files with deleted conversations a person is shown.
const NAMED: usize = 3;

/// What became of every source.
#[derive(Debug)]
pub(super) struct ImportReport {
    mode: ImportMode,
    done: Vec<Imported>,
    unchanged: u64,
    failed: Vec<(PathBuf, Failure)>,
    unreadable: Vec<(PathBuf, String)>,
    others: u64,
}

impl ImportReport {
    pub(super) const fn new(mode: ImportMode) -> Self {
        Self { mode, done: Vec::new(), unchanged: 0, failed: Vec::new(), unreadable: Vec::new(), others: 0 }
    }

    /// Takes note of what was found and is not read.
    pub(super) fn pass_over(&mut self, place: &ImportPlace) {
        self.unchanged += place.unchanged.len() as u64;
        self.unreadable.extend(place.unreadable.iter().cloned());
        // In a place of another program there is much that is none of our business.
        if place.format.is_none() {
            self.others += place.others;
        }
    }

    /// How many messages were added.
    pub(super) fn added(&self) -> u64 {
        self.conversations().map(|one| one.added + one.grown).sum()
    }

    /// Takes note of what became of a source. A store that fails is the end of the import.
    pub(super) fn add(
        &mut self,
        item: &FoundSource,
        outcome: rejoin::Result<Imported>,
    ) -> Result<(), Failure> {
        let source = &item.source;
        match outcome.map_err(Failure::from) {
            Ok(imported) if is_misread(item, &imported) => {
                self.failed.push((source.path().to_owned(), misread(item, &imported)));
            }
            Ok(imported) => self.done.push(imported),
            Err(failure) if failure.is_of_input() => {
                let failure = if source.is_locked() { unlocking(failure, source.path()) } else { failure };
                self.failed.push((source.path().to_owned(), failure));
            }
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Tells of sources in the order they were found, whatever order they were read in.
    pub(super) fn put_in_order(&mut self, items: &[FoundSource]) {
        let found = items.iter().map(|item| item.source.path()).zip(0_usize..);
        let places: HashMap<&Path, usize> = found.collect();
        self.done.sort_by_key(|imported| places.get(imported.path.as_path()));
        self.failed.sort_by_key(|(path, _)| places.get(path.as_path()));
    }

    /// Answers. A scan has found places, which a program is told in the same answer.
    pub(super) fn show(&self, survey: Option<&ScanSurvey<'_>>, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            return context.answer_json(&ImportAnswer {
                report: ImportReportShape::from(self),
                places: survey.map(ScanSurvey::told),
            });
        }
        let mut answer = context.answer();
        if self.failed.is_empty() || !self.done.is_empty() || self.unchanged > 0 {
            writeln!(answer, "{}", self.told())?;
        }
        placed::tell(&self.done, self.mode, &mut answer)?;
        self.tell_deleted(&mut answer)?;
        self.tell_changed(&mut answer)?;
        self.tell_redacted(&mut answer)?;
        self.tell_skipped(&mut answer)?;
        answer.flush()?;
        self.note_passed_over(context);
        Ok(())
    }

    /// Says what was found and could not be used. A program reads it in the answer.
    pub(super) fn note_passed_over(&self, context: &Context) {
        if context.is_json() {
            return;
        }
        for (path, why) in &self.unreadable {
            context.note(&format!("{} could not be looked at: {why}.", path.display()));
        }
        if self.others > 0 {
            let files = size::count(self.others, "file is", "files are");
            context.note(&format!("{files} in no known format."));
        }
    }

    /// What was imported, in one sentence.
    fn told(&self) -> String {
        let files = |files: u64| size::count(files, "file", "files");
        let grown: Vec<&ImportedConversation> =
            self.conversations().filter(|one| one.added + one.grown > 0).collect();
        if grown.is_empty() {
            return format!("Nothing new in {}.", files(self.done.len() as u64 + self.unchanged));
        }
        let verb = match self.mode {
            ImportMode::Store => "Imported",
            ImportMode::Try => "Would import",
        };
        let messages = size::count(self.added(), "message", "messages");
        let new = grown.iter().filter(|one| one.is_new).count() as u64;
        let old = grown.len() as u64 - new;
        let mut into = Vec::new();
        if new > 0 {
            into.push(size::count(new, "new conversation", "new conversations"));
        }
        if old > 0 {
            into.push(size::count(old, "known conversation", "known conversations"));
        }
        let from = files(self.done.len() as u64);
        let same = match self.unchanged {
            0 => String::new(),
            same => format!("; {} not change", size::count(same, "other file did", "other files did")),
        };
        format!("{verb} {messages} of {} from {from}{same}.", into.join(" and "))
    }

    fn tell_deleted(&self, answer: &mut impl Write) -> Result<(), Failure> {
        let deleted = self.done.iter().map(|one| one.deleted.len() as u64).sum();
        if deleted > 0 {
            let conversations = size::count(deleted, "conversation was", "conversations were");
            writeln!(
                answer,
                "{conversations} deleted here before and not imported; name the file to bring it back:"
            )?;
            let files: Vec<&Imported> = self.done.iter().filter(|one| !one.deleted.is_empty()).collect();
            for file in files.iter().take(NAMED) {
                writeln!(answer, "  {}", clean::line(&file.path.to_string_lossy()))?;
            }
            if files.len() > NAMED {
                let more = size::count((files.len() - NAMED) as u64, "file", "files");
                writeln!(answer, "  and {more} more; `--json` lists them")?;
            }
        }
        Ok(())
    }

    fn tell_changed(&self, answer: &mut impl Write) -> Result<(), Failure> {
        let changed: u64 = self.conversations().map(|one| one.changed).sum();
        if changed > 0 {
            let messages = size::count(changed, "message is", "messages are");
            writeln!(answer, "{messages} other than before and stand on a branch of their own.")?;
        }
        Ok(())
    }

    fn tell_redacted(&self, answer: &mut impl Write) -> Result<(), Failure> {
        let mut taken = TakenSecrets::default();
        self.done.iter().for_each(|one| taken.add(&one.redacted));
        if let Some(told) = taken.told() {
            writeln!(answer, "{told}")?;
        }
        Ok(())
    }

    fn tell_skipped(&self, answer: &mut impl Write) -> Result<(), Failure> {
        let skipped: u64 = self.done.iter().map(|one| one.skipped).sum();
        if skipped == 0 {
            return Ok(());
        }
        writeln!(answer, "{} not as expected:", size::count(skipped, "line was", "lines were"))?;
        for reason in self.done.iter().flat_map(|one| &one.reasons).take(SHOWN) {
            let place = match reason.line {
                0 => reason.path.display().to_string(),
                line => format!("{} line {line}", reason.path.display()),
            };
            writeln!(answer, "  {}", clean::line(&format!("{place}: {}", reason.why)))?;
        }
        if skipped > SHOWN as u64 {
            let more = size::number(skipped - SHOWN as u64);
            writeln!(answer, "  and {more} more; `--json` lists them")?;
        }
        Ok(())
    }

    fn conversations(&self) -> impl Iterator<Item = &ImportedConversation> {
        self.done.iter().flat_map(|one| &one.conversations)
    }

    /// Fails when a source could not be imported.
    pub(super) fn judge(mut self) -> Result<(), Failure> {
        let all = self.failed.len() + self.done.len();
        match self.failed.len() {
            0 if self.unreadable.is_empty() => Ok(()),
            0 => {
                let missing = size::count(self.unreadable.len() as u64, "path", "paths");
                let paths = self.unreadable.iter().map(|(path, why)| format!("{}: {why}", path.display()));
                Err(Failure::new(Kind::Unavailable, format!("{missing} could not be read"))
                    .hint(format!("import again once they can be: {}", paths.collect::<Vec<_>>().join("; "))))
            }
            1 if all == 1 => Err(self.failed.remove(0).1.or_hint("nothing of it was imported")),
            failed => {
                let mut told = Vec::new();
                for (_, failure) in &self.failed {
                    told.push(failure.summary());
                }
                let next = self.failed.iter().find_map(|(_, failure)| failure.next_step());
                let next = next.map_or_else(String::new, |next| format!("; {next}"));
                Err(Failure::invalid(format!("{failed} of {all} files could not be imported"))
                    .hint(format!("nothing of them was imported: {}{next}", told.join("; "))))
            }
        }
    }
}

/// True when a file was read as a format that it is not of, and nothing was found in it.
fn is_misread(item: &FoundSource, imported: &Imported) -> bool {
    let is_empty = imported.conversations.is_empty() && imported.deleted.is_empty();
    is_empty && item.format.detect(&item.source) == Detection::No
}

fn misread(item: &FoundSource, imported: &Imported) -> Failure {
    let path = item.source.path();
    let failure =
        Failure::invalid(format!("`{}` has no conversation of {}", path.display(), item.format.program))
            .hint(format!("run `rejoin import {}` to detect its format", quote::path(path)));
    match imported.reasons.first() {
        Some(reason) => failure.because(reason.why.clone()),
        None => failure,
    }
}

/// How to import a record that is sealed.
fn unlocking(failure: Failure, path: &Path) -> Failure {
    let path = quote::path(path);
    failure.hint(format!(
        "write the key to a file that only you can read, and run `rejoin import --key-file FILE {path}`"
    ))
}

/// What an import answers a program.
#[derive(Serialize)]
struct ImportAnswer<'a> {
    #[serde(flatten)]
    report: ImportReportShape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<Vec<Surveyed<'a>>>,
}

/// A report as programs read it.
#[derive(Serialize)]
struct ImportReportShape<'a> {
    dry_run: bool,
    files: Vec<FileShape<'a>>,
    unchanged: u64,
    failed: Vec<NotRead<'a>>,
    unreadable: Vec<NotRead<'a>>,
    other_files: u64,
}

/// What was read of one file.
#[derive(Serialize)]
struct FileShape<'a> {
    path: PathText<'a>,
    format: &'static str,
    conversations: Vec<ImportedShape<'a>>,
    deleted: &'a [ConversationId],
    kept_lines: u64,
    redacted: &'a [Redacted],
    skipped: u64,
    reasons: Vec<UnexpectedShape<'a>>,
}

/// What was not as expected.
#[derive(Serialize)]
struct UnexpectedShape<'a> {
    path: PathText<'a>,
    line: u64,
    why: &'a str,
}

/// A path that could not be read.
#[derive(Serialize)]
struct NotRead<'a> {
    path: PathText<'a>,
    why: Cow<'a, str>,
}

/// A conversation that was imported, as programs read it.
#[derive(Serialize)]
pub(super) struct ImportedShape<'a> {
    #[serde(flatten)]
    itself: Itself,
    source_id: &'a str,
    title: Option<&'a str>,
    imported_as: &'static str,
    beside: Option<ConversationId>,
    branch_head: Option<MessageId>,
    is_new: bool,
    parent: Option<ConversationId>,
    messages: u64,
    added: u64,
    grown: u64,
    changed: u64,
}

impl<'a> From<&'a ImportReport> for ImportReportShape<'a> {
    fn from(report: &'a ImportReport) -> Self {
        let failed = report.failed.iter();
        let failed =
            failed.map(|(path, failure)| NotRead { path: json::path(path), why: failure.summary().into() });
        let unreadable = report.unreadable.iter();
        let unreadable = unreadable.map(|(path, why)| NotRead { path: json::path(path), why: why.into() });
        Self {
            dry_run: report.mode == ImportMode::Try,
            files: report.done.iter().map(FileShape::from).collect(),
            unchanged: report.unchanged,
            failed: failed.collect(),
            unreadable: unreadable.collect(),
            other_files: report.others,
        }
    }
}

impl<'a> From<&'a Imported> for FileShape<'a> {
    fn from(imported: &'a Imported) -> Self {
        let reasons = imported.reasons.iter();
        let reasons = reasons.map(|reason| UnexpectedShape {
            path: json::path(&reason.path),
            line: reason.line,
            why: &reason.why,
        });
        Self {
            path: json::path(&imported.path),
            format: imported.format,
            conversations: imported.conversations.iter().map(ImportedShape::from).collect(),
            deleted: &imported.deleted,
            kept_lines: imported.asides,
            redacted: &imported.redacted,
            skipped: imported.skipped,
            reasons: reasons.collect(),
        }
    }
}

impl<'a> From<&'a ImportedConversation> for ImportedShape<'a> {
    fn from(one: &'a ImportedConversation) -> Self {
        Self {
            itself: one.id.into(),
            source_id: &one.source_id,
            title: one.title.as_deref(),
            imported_as: placed::name(one.imported_as),
            beside: placed::beside(one.imported_as),
            branch_head: placed::branch_head(one.imported_as),
            is_new: one.is_new,
            parent: one.parent,
            messages: one.messages,
            added: one.added,
            grown: one.grown,
            changed: one.changed,
        }
    }
}
