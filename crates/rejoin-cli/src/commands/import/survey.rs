//! What a scan has found, shown before anything is read.

use std::io::Write;
use std::path::Path;

use rejoin::Time;
use rejoin::formats::{FORMATS, Format};
use serde::Serialize;

use super::scope::{FoundSource, ImportPlace};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::json::{self, PathText};
use crate::ui::size;
use crate::ui::table::{Column, Table};

/// What a scan has found.
#[derive(Debug)]
pub(super) struct ScanSurvey<'a> {
    places: Vec<&'a ImportPlace>,
}

/// A place as programs read it.
#[derive(Serialize)]
pub(super) struct Surveyed<'a> {
    program: &'static str,
    format: Option<&'static str>,
    place: PathText<'a>,
    files: usize,
    bytes: u64,
    newest: Option<Time>,
    new_files: usize,
    new_bytes: u64,
}

impl<'a> From<&'a ImportPlace> for Surveyed<'a> {
    fn from(place: &'a ImportPlace) -> Self {
        Self {
            program: program(place),
            format: place.format.map(|format| format.name),
            place: json::path(&place.path),
            files: place.items().count(),
            bytes: place.items().map(FoundSource::bytes).sum(),
            newest: newest(place),
            new_files: place.fresh.len(),
            new_bytes: place.fresh.iter().map(FoundSource::bytes).sum(),
        }
    }
}

impl<'a> ScanSurvey<'a> {
    /// Places with nothing in them are not worth a line.
    pub(super) fn of(places: &'a [ImportPlace]) -> Self {
        let is_worth = |place: &&ImportPlace| place.items().next().is_some() || !place.unreadable.is_empty();
        Self { places: places.iter().filter(is_worth).collect() }
    }

    /// Shows it to a person.
    pub(super) fn show(&self, only: Option<&Format>, context: &Context) -> Result<(), Failure> {
        let mut answer = context.answer();
        if self.places.is_empty() {
            writeln!(answer, "No history of other programs was found.")?;
            let is_looked_for = |format: &&Format| only.is_none_or(|only| only.name == format.name);
            let formats = FORMATS.iter().copied().filter(|format| !format.places.is_empty());
            let programs: Vec<&str> = formats.filter(is_looked_for).map(|format| format.program).collect();
            context.note(&format!("Searched for {}.", programs.join(", ")));
        }
        write!(answer, "{}", self.table(context))?;
        answer.flush()?;
        for (path, why) in self.places.iter().flat_map(|place| &place.unreadable) {
            context.note(&format!("{} could not be looked at: {why}.", path.display()));
        }
        Ok(())
    }

    fn table(&self, context: &Context) -> String {
        let clock = context.clock();
        let mut table = Table::new([
            Column::text("program"),
            Column::text("place").shrinks_to(16),
            Column::number("files"),
            Column::number("size"),
            Column::text("newest"),
            Column::number("new"),
        ]);
        for place in self.places.iter().filter(|place| place.items().next().is_some()) {
            let newest = newest(place).map_or_else(String::new, |time| clock.relative(time.as_micros()));
            table.push([
                program(place).to_owned(),
                below_home(&place.path, context),
                size::number(place.items().count() as u64),
                size::bytes(place.items().map(FoundSource::bytes).sum()),
                newest,
                size::number(place.fresh.len() as u64),
            ]);
        }
        table.draw(context.columns(), context.paint())
    }

    /// What there is to read, for the question.
    pub(super) fn question(&self) -> String {
        let fresh = || self.places.iter().flat_map(|place| &place.fresh);
        let files = size::count(fresh().count() as u64, "file", "files");
        format!(
            "Import {files} ({})? The files stay as they are.",
            size::bytes(fresh().map(FoundSource::bytes).sum())
        )
    }

    pub(super) fn told(&self) -> Vec<Surveyed<'a>> {
        self.places.iter().copied().map(Surveyed::from).collect()
    }
}

fn program(place: &ImportPlace) -> &'static str {
    place.format.map_or("", |format| format.program)
}

fn newest(place: &ImportPlace) -> Option<Time> {
    place.items().filter_map(|item| Some(item.source.fingerprint().ok()?.written_at())).max()
}

/// A path as people write it.
pub(super) fn below_home(path: &Path, context: &Context) -> String {
    let below = context.surroundings.home.as_ref().and_then(|home| {
        let home = home.canonicalize().ok()?;
        path.strip_prefix(home).ok()
    });
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}
