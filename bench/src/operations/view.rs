//! Loading a long conversation and computing what a model would be sent, against loading it.

use super::{Arena, grouped, headline, load, pair};
use crate::contestants::{REJOIN, REJOIN_VIEWED};
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::Results;
use crate::session::Session;
use rejoin_bench::failure::Result;

const REFERENCE: &str = "its own load alone";
const BAR: f64 = 1.3;

/// Only Rejoin has views.
pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    if entrant.name != REJOIN {
        return Ok(());
    }
    let place = arena.place(entrant, load::STORE);
    let mut reference = Session::start(entrant, &place)?;
    let mut contestant = Session::start(&Entrant::built_in(REJOIN_VIEWED)?, &place)?;
    for session in [&mut reference, &mut contestant] {
        session.pin(round)?;
        session.ask(&Request::Resume)?;
    }
    let samples = pair(&mut reference, &mut contestant, &Request::Load { count: 1 }, arena.scale.loads)?;
    reference.finish()?;
    contestant.finish()?;
    let operation = format!("load and view {} messages", grouped(arena.scale.long));
    results.add_round(headline(Operation::View, &operation, entrant, REFERENCE, BAR), samples);
    Ok(())
}
