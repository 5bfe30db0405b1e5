//! Listing the newest conversations in an open store, against one indexed SQLite query of the same columns.

use super::{Arena, BATCHES, PAGE, bytes, grouped, headline, pair};
use crate::contestants::SQLITE_BARE;
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::Results;
use crate::session::Session;
use rejoin_bench::failure::Result;

const REFERENCE: &str = "one indexed SQLite query";
const BAR: f64 = 2.0;

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    let limit = Entrant::built_in(SQLITE_BARE)?;
    let mut reference = Session::start(&limit, &arena.place(&limit, bytes::STORE))?;
    let mut contestant = Session::start(entrant, &arena.place(entrant, bytes::STORE))?;
    reference.pin(round)?;
    contestant.pin(round)?;
    let request = Request::List { limit: PAGE, count: arena.scale.lists / BATCHES };
    let samples = pair(&mut reference, &mut contestant, &request, BATCHES)?;
    reference.finish()?;
    contestant.finish()?;
    let operation = format!("list newest {PAGE} of {}", grouped(arena.scale.conversations));
    results.add_round(headline(Operation::List, &operation, entrant, REFERENCE, BAR), samples);
    Ok(())
}
