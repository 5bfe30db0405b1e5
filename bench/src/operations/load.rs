//! Loading a long conversation, against reading and parsing the same messages from a file of
//! JSON lines; and the memory that takes.

use std::path::Path;

use super::{Arena, detail, fill, grouped, headline, pair};
use crate::contestants::{JSON_LINES, SQLITE_BARE};
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::{Measure, Results, Round};
use crate::session::Session;
use rejoin_bench::failure::Result;

/// The store that is loaded and forked.
pub(crate) const STORE: &str = "long";

const REFERENCE: &str = "read + sonic-rs typed parse of JSON lines";
const BAR: f64 = 0.95;
const MEMORY_BAR: f64 = 60.0;

pub(crate) fn prepare(arena: &Arena, entrant: &Entrant) -> Result<()> {
    fill(entrant, &arena.place(entrant, STORE), &arena.long_file(), arena.scale.long)
}

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    if entrant.name == SQLITE_BARE {
        let file = Entrant::built_in(JSON_LINES)?;
        let null = load(arena, &file, &arena.scratch, round)?;
        results.add_round(detail(Operation::Load, "load: null test", &file, REFERENCE), null);
    }
    let samples = load(arena, entrant, &arena.place(entrant, STORE), round)?;
    results.add_round(headline(Operation::Load, &operation(arena), entrant, REFERENCE, BAR), samples);
    Ok(())
}

/// Loads in a process that has done nothing else, and notes the most memory it held.
pub(crate) fn memory(arena: &Arena, entrant: &Entrant, results: &mut Results) -> Result<()> {
    let peak = peak(arena, entrant, &arena.place(entrant, STORE))?;
    let reference = peak_of_reference(arena)?;
    let operation = format!("{}: peak memory", operation(arena));
    let heading =
        headline(Operation::Load, &operation, entrant, &format!("JSON lines: {reference:.0} MB"), MEMORY_BAR);
    results.add(heading, Measure::Megabytes(peak));
    Ok(())
}

fn load(arena: &Arena, entrant: &Entrant, place: &Path, round: usize) -> Result<Round> {
    let mut reference = start(arena, &Entrant::built_in(JSON_LINES)?, &arena.scratch)?;
    let mut contestant = start(arena, entrant, place)?;
    reference.pin(round)?;
    contestant.pin(round)?;
    let samples = pair(&mut reference, &mut contestant, &Request::Load { count: 1 }, arena.scale.loads)?;
    reference.finish()?;
    contestant.finish()?;
    Ok(samples)
}

fn start(arena: &Arena, entrant: &Entrant, place: &Path) -> Result<Session> {
    let mut session = Session::start(entrant, place)?;
    // To the file of JSON lines a fill is only its name; a store was filled before and would be filled twice.
    if entrant.name == JSON_LINES {
        session.ask(&Request::Fill { file: arena.long_file(), per_conversation: arena.scale.long })?;
    }
    session.ask(&Request::Resume)?;
    Ok(session)
}

fn peak(arena: &Arena, entrant: &Entrant, place: &Path) -> Result<f64> {
    let mut session = start(arena, entrant, place)?;
    session.ask(&Request::Load { count: 2 })?;
    let peak = session.peak_megabytes()?;
    session.finish()?;
    Ok(peak)
}

fn peak_of_reference(arena: &Arena) -> Result<f64> {
    peak(arena, &Entrant::built_in(JSON_LINES)?, &arena.scratch)
}

fn operation(arena: &Arena) -> String {
    format!("load {} messages", grouped(arena.scale.long))
}
