//! Whether an append slows down as the conversation grows: the same append at the end of a very
//! long conversation and of an empty one.
//!
//! Each append has a raw write beside it. Dividing by those removes what the disk did in between.

use super::{Arena, detail, grouped, headline, sample_both};
use crate::contestants::RAW_FILE;
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::{Measure, Results, Round, Row};
use crate::session::Session;
use crate::statistics::{HEADLINE, median};
use rejoin_bench::data::write_long;
use rejoin_bench::failure::Result;

const BAR: f64 = 1.2;
const STORE: &str = "grown";
const SEED: u64 = 5;

/// Fills the long conversation of every contestant; the generated file is removed, it is the largest of all.
pub(crate) fn prepare(arena: &Arena, entrants: &[Entrant], results: &mut Results) -> Result<()> {
    let file = arena.scratch.join("grown.jsonl");
    write_long(&file, SEED, arena.scale.grown)?;
    for entrant in entrants {
        eprintln!("  {} stores {} messages", entrant.name, grouped(arena.scale.grown));
        if let Err(failure) = super::fill(entrant, &arena.place(entrant, STORE), &file, arena.scale.grown) {
            results.skip(format!("growth, {}: {}", entrant.name, rejoin_bench::failure::chain(&failure)));
        }
    }
    std::fs::remove_file(file)?;
    Ok(())
}

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    let empty_place = arena.place(entrant, &format!("empty-{round}"));
    let raw = Entrant::built_in(RAW_FILE)?;
    let mut empty_control = Session::start(&raw, &arena.reference_place("growth-empty"))?;
    let mut grown_control = Session::start(&raw, &arena.reference_place("growth-grown"))?;
    let mut empty = Session::start(entrant, &empty_place)?;
    let mut grown = Session::start(entrant, &arena.place(entrant, STORE))?;
    empty.ask(&Request::Begin)?;
    grown.ask(&Request::Resume)?;
    for session in [&mut empty_control, &mut grown_control, &mut empty, &mut grown] {
        session.pin(round)?;
        session.ask(&Request::Turns { file: arena.turns_file(), skip: 0, count: arena.scale.fresh_turns })?;
    }

    let (mut at_start, mut at_end) = (Round::default(), Round::default());
    let request = Request::Append { count: 1 };
    for number in 0..arena.scale.fresh_turns {
        sample_both(number, &mut empty_control, &mut empty, &request, &mut at_start)?;
        sample_both(number, &mut grown_control, &mut grown, &request, &mut at_end)?;
    }

    for session in [empty_control, grown_control, empty, grown] {
        session.finish()?;
    }
    std::fs::remove_dir_all(empty_place)?;
    let change = Round { contestant: at_end.contestant.clone(), reference: at_start.contestant.clone() };
    let operation = operation(arena);
    results.add_round(headline(Operation::Growth, &operation, entrant, "itself at 0", BAR), change);
    results.add_round(
        detail(Operation::Growth, &at_start_operation(), entrant, "raw write + fdatasync"),
        at_start,
    );
    results.add_round(
        detail(Operation::Growth, &at_end_operation(arena), entrant, "raw write + fdatasync"),
        at_end,
    );
    Ok(())
}

/// Adds the growth with each end divided by its own raw control.
pub(crate) fn summarise(arena: &Arena, entrant: &Entrant, results: &mut Results) {
    let ratios = |operation: &str| -> Vec<f64> {
        let of_entrant =
            |row: &&Row| row.heading.operation == operation && row.heading.contestant == entrant.name;
        match results.rows.iter().find(of_entrant).map(|row| &row.measure) {
            Some(Measure::Times(rounds)) => rounds.iter().map(|round| round.ratio(HEADLINE)).collect(),
            Some(Measure::Ratio(_) | Measure::Megabytes(_) | Measure::BytesEach(_)) | None => Vec::new(),
        }
    };
    let (start, end) = (ratios(&at_start_operation()), ratios(&at_end_operation(arena)));
    let changes: Vec<f64> = end.iter().zip(&start).map(|(end, start)| end / start).collect();
    if !changes.is_empty() {
        let heading = headline(
            Operation::Growth,
            &operation(arena),
            entrant,
            "itself at 0, each by its raw control",
            BAR,
        );
        results.add(heading, Measure::Ratio(median(&changes)));
    }
}

fn operation(arena: &Arena) -> String {
    format!("append after {} messages", grouped(arena.scale.grown))
}

fn at_start_operation() -> String {
    "growth: append after 0 messages".to_owned()
}

fn at_end_operation(arena: &Arena) -> String {
    format!("growth: append after {} messages", grouped(arena.scale.grown))
}
