//! A durable append of a turn of four messages, against the same bytes written and synced to a growing file.
//!
//! A store with a log has two costs: while the log grows, and once a checkpoint lets it overwrite its own
//! blocks. One percentile over both would show whichever is cheaper, so each is a row.

use std::path::Path;

use super::{Arena, detail, headline, pair};
use crate::contestants::{RAW_FILE, SQLITE_BARE};
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::{Results, Round};
use crate::session::Session;
use crate::syncs;
use rejoin_bench::failure::Result;

const FRESH: &str = "append a turn of 4 messages, new store";
const SETTLED: &str = "append a turn of 4 messages, settled store";
const REFERENCE: &str = "raw write + fdatasync, extending a file";
const BAR: f64 = 1.2;

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    // The raw file against itself shows how far apart two equal things come out.
    if entrant.name == SQLITE_BARE {
        let raw = Entrant::built_in(RAW_FILE)?;
        let null = append(arena, &raw, &arena.scratch, round)?;
        results.add_round(detail(Operation::Append, "append: null test", &raw, REFERENCE), null.settled);
    }
    let on_disk = append(arena, entrant, &arena.scratch, round)?;
    results.add_round(headline(Operation::Append, FRESH, entrant, REFERENCE, BAR), on_disk.fresh);
    results.add_round(headline(Operation::Append, SETTLED, entrant, REFERENCE, BAR), on_disk.settled);
    if let Some(memory) = &arena.memory {
        let in_memory = append(arena, entrant, memory, round)?;
        results.add_round(
            detail(Operation::Append, "append in memory, where a sync is free", entrant, REFERENCE),
            in_memory.settled,
        );
    }
    Ok(())
}

pub(crate) fn count_syncs(arena: &Arena, entrant: &Entrant, results: &mut Results) -> Result<()> {
    let turns = arena.scale.traced_turns;
    let preparation =
        [Request::Begin, Request::Turns { file: arena.turns_file(), skip: 0, count: turns + syncs::WARM_UP }];
    let place = arena.place(entrant, "traced");
    let syncs = syncs::count(entrant, &place, &preparation, &Request::Append { count: 1 }, turns)?;
    for operation in [FRESH, SETTLED] {
        results.set_syncs(operation, &entrant.name, syncs);
    }
    Ok(())
}

struct Phases {
    fresh: Round,
    settled: Round,
}

/// Appends turns to a new store below `root`: some while its log grows, some once it has been checkpointed.
fn append(arena: &Arena, entrant: &Entrant, root: &Path, round: usize) -> Result<Phases> {
    let place = root.join(&entrant.name).join(format!("append-{round}"));
    let raw_place = root.join("reference").join(format!("append-{round}-{}", entrant.name));
    let mut raw = Session::start(&Entrant::built_in(RAW_FILE)?, &raw_place)?;
    let mut contestant = Session::start(entrant, &place)?;
    for session in [&mut raw, &mut contestant] {
        session.pin(round)?;
        session.ask(&Request::Begin)?;
        session.ask(&Request::Turns { file: arena.turns_file(), skip: 0, count: arena.scale.turns() })?;
    }
    let request = Request::Append { count: 1 };
    let fresh = pair(&mut raw, &mut contestant, &request, arena.scale.fresh_turns)?;
    pair(&mut raw, &mut contestant, &request, arena.scale.settling_turns)?;
    let settled = pair(&mut raw, &mut contestant, &request, arena.scale.settled_turns)?;
    raw.finish()?;
    contestant.finish()?;
    std::fs::remove_dir_all(place)?;
    std::fs::remove_dir_all(raw_place)?;
    Ok(Phases { fresh, settled })
}
