//! Forking a long conversation at its middle, against one durable row; and what a fork adds to the files.

use super::{Arena, fill, grouped, headline, load, pair, weigh};
use crate::contestants::SQLITE_BARE;
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::{Measure, Results};
use crate::session::Session;
use crate::syncs;
use rejoin_bench::failure::Result;

const REFERENCE: &str = "one durable SQLite row";
const BAR: f64 = 1.2;

/// Far above a row and its share of new pages, far below the eleven megabytes of half a conversation.
const BYTES_BAR: f64 = 4_096.0;

pub(crate) fn prepare_reference(arena: &Arena) -> Result<()> {
    let limit = Entrant::built_in(SQLITE_BARE)?;
    fill(&limit, &arena.reference_place(load::STORE), &arena.long_file(), arena.scale.long)
}

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    let limit = Entrant::built_in(SQLITE_BARE)?;
    let mut reference = Session::start(&limit, &arena.reference_place(load::STORE))?;
    let mut contestant = Session::start(entrant, &arena.place(entrant, load::STORE))?;
    for session in [&mut reference, &mut contestant] {
        session.pin(round)?;
        session.ask(&Request::Resume)?;
    }
    let samples = pair(&mut reference, &mut contestant, &Request::Fork { count: 1 }, arena.scale.forks)?;
    reference.finish()?;
    contestant.finish()?;
    results.add_round(headline(Operation::Fork, &operation(arena), entrant, REFERENCE, BAR), samples);
    Ok(())
}

pub(crate) fn count_syncs(arena: &Arena, entrant: &Entrant, results: &mut Results) -> Result<()> {
    let place = arena.place(entrant, load::STORE);
    let request = Request::Fork { count: 1 };
    let syncs = syncs::count(entrant, &place, &[Request::Resume], &request, arena.scale.forks)?;
    results.set_syncs(&operation(arena), &entrant.name, syncs);
    Ok(())
}

/// Weighs the files before and after some forks: a fork that copies messages cannot hide it.
pub(crate) fn weigh_forks(arena: &Arena, entrant: &Entrant, results: &mut Results) -> Result<()> {
    let place = arena.place(entrant, load::STORE);
    let mut session = Session::start(entrant, &place)?;
    session.ask(&Request::Resume)?;
    session.ask(&Request::Checkpoint)?;
    let before = weigh(&place)?;
    session.ask(&Request::Fork { count: arena.scale.forks })?;
    session.ask(&Request::Checkpoint)?;
    let after = weigh(&place)?;
    session.finish()?;
    let each = after.saturating_sub(before) as f64 / arena.scale.forks as f64;
    let operation = format!("{}: bytes added", operation(arena));
    results.add(
        headline(Operation::Fork, &operation, entrant, "no message copied", BYTES_BAR),
        Measure::BytesEach(each),
    );
    Ok(())
}

fn operation(arena: &Arena) -> String {
    format!("fork in the middle of {}", grouped(arena.scale.long))
}
