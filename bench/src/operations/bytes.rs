//! The bytes of many conversations on disk, without and with a full-text index, against the same messages as
//! JSON lines. The store it leaves behind is the one that is listed and searched.

use super::{Arena, fill, headline, weigh};
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::{Measure, Results};
use crate::session::Session;
use rejoin_bench::data::MESSAGES_PER_SHORT_CONVERSATION;
use rejoin_bench::failure::Result;

/// The store that is weighed, listed and searched.
pub(crate) const STORE: &str = "many";

const REFERENCE: &str = "the same messages as JSON lines";
const PLAIN_BAR: f64 = 1.2;
const INDEXED_BAR: f64 = 1.6;

/// Whether the weights become rows or the store is only prepared for other operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weights {
    Reported,
    Ignored,
}

pub(crate) fn prepare(
    arena: &Arena,
    entrant: &Entrant,
    weights: Weights,
    results: &mut Results,
) -> Result<()> {
    let place = arena.place(entrant, STORE);
    fill(entrant, &place, &arena.many_file(), MESSAGES_PER_SHORT_CONVERSATION)?;
    let plain = weigh(&place)?;
    let mut session = Session::start(entrant, &place)?;
    session.ask(&Request::Index)?;
    session.ask(&Request::Checkpoint)?;
    session.finish()?;
    let indexed = weigh(&place)?;
    if weights == Weights::Ignored {
        return Ok(());
    }
    let lines = std::fs::metadata(arena.many_file())?.len() as f64;
    let rows = [
        ("bytes on disk after checkpoint", plain, PLAIN_BAR),
        ("bytes on disk with full-text index", indexed, INDEXED_BAR),
    ];
    for (operation, bytes, bar) in rows {
        let heading = headline(Operation::Bytes, operation, entrant, REFERENCE, bar);
        results.add(heading, Measure::Ratio(bytes as f64 / lines));
    }
    Ok(())
}
