//! Imports what was found, one source after the other, and tells how far it has come.

use std::time::{Duration, Instant};

use rejoin::formats::ReadLimits;
use rejoin::store::Task;
use rejoin::{Archive, ConversationId, Import, ImportMode, Imported, Imports};

use super::meter::Meter;
use super::projects::MetProjects;
use super::report::ImportReport;
use super::scope::FoundSource;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::progress::Unit;

/// How often it is noted what was imported: what is not noted is read again after a kill.
const NOTED: Duration = Duration::from_secs(5);

/// One step of filling the search index.
const SLICE: Duration = Duration::from_millis(100);

/// Where imports go, and what is known of earlier ones.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) archive: Archive,
    pub(super) imports: Imports,
    pub(super) projects: MetProjects<'a>,
    pub(super) mode: ImportMode,
    /// The conversation that a file is added to, if one was named.
    into: Option<ConversationId>,
    noted: Instant,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        archive: Archive,
        imports: Imports,
        mode: ImportMode,
        into: Option<ConversationId>,
        context: &'a Context,
    ) -> Self {
        let projects = MetProjects::new(context, archive.clone());
        Self { archive, imports, projects, mode, into, noted: Instant::now() }
    }

    /// Imports each source. One that fails does not stop the others.
    pub(super) fn import_all(
        &mut self,
        items: &[FoundSource],
        report: &mut ImportReport,
        context: &Context,
    ) -> Result<(), Failure> {
        let passes = if self.mode == ImportMode::Store { 2 } else { 1 };
        let bytes = items.iter().map(FoundSource::bytes).sum::<u64>();
        let doing = if self.mode == ImportMode::Store { "Importing" } else { "Reading" };
        let meter = Meter::start(context, doing, Unit::Bytes, bytes * passes, bytes);
        let mut waiting: Vec<&FoundSource> = Vec::new();
        let outcome = self.import_each(items, &mut |bytes| meter.advance(bytes), &mut |item, imported| {
            if imported.as_ref().is_ok_and(|done| done.conversations.iter().any(|one| one.is_waiting)) {
                waiting.push(item);
            }
            report.add(item, imported)
        });
        report.put_in_order(items);
        if self.mode == ImportMode::Store {
            // What they wait for may have come after them. It changes no message, so that nothing is told.
            waiting.into_iter().for_each(|item| drop(self.import(item, &mut |_| {})));
        }
        let noted = self.note();
        drop(meter);
        outcome?;
        noted?;
        if report.added() > 0 && self.mode == ImportMode::Store {
            self.fill_index(report, bytes, context)?;
        }
        Ok(())
    }

    /// Imports sources, and tells what became of each when it is stored.
    fn import_each<'i>(
        &mut self,
        items: &'i [FoundSource],
        progress: &mut dyn FnMut(u64),
        tell: &mut dyn FnMut(&'i FoundSource, rejoin::Result<Imported>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.into.is_some() {
            return items.iter().try_for_each(|item| tell(item, self.import(item, progress)));
        }
        let Self { archive, imports, projects, mode, noted, .. } = self;
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: *mode,
            project: &|directory| projects.key_of(directory),
            progress,
        };
        let mut items: Vec<&FoundSource> = items.iter().collect();
        // An id begins with the time its conversation began. In about that order, what is stored
        // together is near each other in a store.
        items.sort_by_cached_key(|item| item.source.fingerprint().ok().map(|look| look.written_at()));
        let sources = items.iter().map(|item| (&item.source, item.format, item.deleted));
        archive.imports().add_all(imports, sources, &mut how, |imports, place, imported| {
            tell(items[place], imported)?;
            if noted.elapsed() >= NOTED {
                note(archive, imports, projects, *mode)?;
                *noted = Instant::now();
            }
            Ok(())
        })
    }

    pub(super) fn import(
        &mut self,
        item: &FoundSource,
        progress: &mut dyn FnMut(u64),
    ) -> rejoin::Result<Imported> {
        let projects = &self.projects;
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: self.mode,
            project: &|directory| projects.key_of(directory),
            progress,
        };
        if let Some(id) = self.into {
            return self.archive.imports().add_into(id, &item.source, item.format, &mut how);
        }
        self.archive.imports().add_noting(
            &mut self.imports,
            &item.source,
            item.format,
            item.deleted,
            &mut how,
        )
    }

    /// Notes what was imported.
    pub(super) fn note(&mut self) -> Result<(), Failure> {
        note(&self.archive, &mut self.imports, &self.projects, self.mode)?;
        self.noted = Instant::now();
        Ok(())
    }

    /// Lets the search index catch up, so that the first search does not have to.
    fn fill_index(&self, report: &ImportReport, bytes: u64, context: &Context) -> Result<(), Failure> {
        let mut left = report.added();
        let meter = Meter::start(context, "Making it searchable", Unit::Items, left, bytes);
        while left > 0 {
            let still = self.archive.maintenance().run(Task::Index, SLICE)?;
            meter.advance(left.saturating_sub(still));
            if still >= left {
                // Someone else writes faster than this; whoever searches looks through the rest.
                break;
            }
            left = still;
        }
        Ok(())
    }
}

/// Projects come first: a source that is noted is not read again, so its
/// project would not be met again either.
fn note(
    archive: &Archive,
    imports: &mut Imports,
    projects: &MetProjects<'_>,
    mode: ImportMode,
) -> Result<(), Failure> {
    if mode == ImportMode::Try {
        return Ok(());
    }
    projects.remember()?;
    Ok(archive.imports().save(imports)?)
}
