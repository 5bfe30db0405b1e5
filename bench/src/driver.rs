//! A whole run: writes the data, fills the stores, takes rounds of samples, and prints what was found.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

use crate::entrant::Entrant;
use crate::operations::bytes::Weights;
use crate::operations::{Arena, append, bytes, cold, fork, growth, list, load, search, view};
use crate::options::{Operation, Options};
use crate::report;
use crate::results::Results;
use crate::syncs;
use rejoin_bench::data::{write_long, write_many};
use rejoin_bench::failure::{Context, Result, chain};

/// A file system in memory on every Linux.
const MEMORY: &str = "/dev/shm";

/// The magic number of such a file system, from the manual page `statfs(2)`.
const TMPFS: i64 = 0x0102_1994;

/// Measures everything that was asked for, prints the tables, and returns whether nothing had to be skipped.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let started = Instant::now();
    let entrants = Entrant::all(&options.peer)?;
    let scratch = scratch(options)?;
    let memory =
        Path::new(MEMORY).is_dir().then(|| TempDir::with_prefix_in("rejoin-bench-", MEMORY)).transpose()?;
    let arena = Arena {
        scale: options.scale(),
        scratch: scratch.path().to_owned(),
        memory: memory.as_ref().map(|directory| directory.path().to_owned()),
    };
    let mut results = Results::default();
    warn_about_the_place(&arena, &mut results);

    prepare(&arena, options, &entrants, &mut results)?;
    for round in 0..arena.scale.rounds {
        eprintln!("round {} of {} ({:.0} s)", round + 1, arena.scale.rounds, started.elapsed().as_secs_f64());
        for entrant in &entrants {
            measure_round(&arena, options, entrant, round, &mut results);
        }
    }
    for entrant in &entrants {
        measure_once(&arena, options, entrant, &mut results);
    }

    println!("{}", report::markdown(&results));
    println!("{} rounds, {:.0} s.", arena.scale.rounds, started.elapsed().as_secs_f64());
    if let Some(file) = &options.json {
        let text = serde_json::to_string(&results)?;
        std::fs::write(file, text).context(|| format!("write `{}`", file.display()))?;
    }
    Ok(results.skipped.is_empty())
}

fn prepare(arena: &Arena, options: &Options, entrants: &[Entrant], results: &mut Results) -> Result<()> {
    let wants = |operations: &[Operation]| operations.iter().any(|operation| options.wants(*operation));
    let turns = arena.scale.turns().max(arena.scale.traced_turns + syncs::WARM_UP);
    write_long(&arena.turns_file(), 1, turns * rejoin_bench::data::MESSAGES_PER_TURN)?;
    if wants(&[Operation::Load, Operation::View, Operation::Fork]) {
        eprintln!("filling the stores to load, view and fork");
        write_long(&arena.long_file(), 2, arena.scale.long)?;
        fork::prepare_reference(arena)?;
        for entrant in entrants {
            attempt("fill", entrant, results, |_| load::prepare(arena, entrant));
        }
    }
    if wants(&[Operation::List, Operation::Cold, Operation::Search, Operation::Bytes]) {
        eprintln!("filling the stores to list, search and weigh");
        write_many(&arena.many_file(), 3, arena.scale.conversations)?;
        let weights = if options.wants(Operation::Bytes) { Weights::Reported } else { Weights::Ignored };
        for entrant in entrants {
            attempt("fill", entrant, results, |results| bytes::prepare(arena, entrant, weights, results));
        }
    }
    if wants(&[Operation::Growth]) {
        eprintln!("filling the stores to grow");
        growth::prepare(arena, entrants, results)?;
    }
    Ok(())
}

fn measure_round(arena: &Arena, options: &Options, entrant: &Entrant, round: usize, results: &mut Results) {
    let mut when = |operation, name, measure: &dyn Fn(&mut Results) -> Result<()>| {
        if options.wants(operation) {
            attempt(name, entrant, results, measure);
        }
    };
    when(Operation::Append, "append", &|results| append::round(arena, entrant, round, results));
    when(Operation::Growth, "growth", &|results| growth::round(arena, entrant, round, results));
    when(Operation::Load, "load", &|results| load::round(arena, entrant, round, results));
    when(Operation::View, "view", &|results| view::round(arena, entrant, round, results));
    when(Operation::List, "list", &|results| list::round(arena, entrant, round, results));
    when(Operation::Cold, "cold", &|results| cold::round(arena, entrant, results));
    when(Operation::Search, "search", &|results| search::round(arena, entrant, round, results));
    when(Operation::Fork, "fork", &|results| fork::round(arena, entrant, round, results));
}

fn measure_once(arena: &Arena, options: &Options, entrant: &Entrant, results: &mut Results) {
    if options.wants(Operation::Load) {
        attempt("memory", entrant, results, |results| load::memory(arena, entrant, results));
    }
    if options.wants(Operation::Growth) {
        growth::summarise(arena, entrant, results);
    }
    if options.wants(Operation::Fork) {
        attempt("fork", entrant, results, |results| fork::weigh_forks(arena, entrant, results));
    }
    if !syncs::tracer_is_installed() {
        results.skip(format!("syncs of {}: `strace` is not installed", entrant.name));
        return;
    }
    if options.wants(Operation::Append) {
        attempt("syncs", entrant, results, |results| append::count_syncs(arena, entrant, results));
    }
    if options.wants(Operation::Fork) {
        attempt("syncs", entrant, results, |results| fork::count_syncs(arena, entrant, results));
    }
}

/// Measures one thing; a failure costs its own rows and no others.
fn attempt(
    name: &str,
    entrant: &Entrant,
    results: &mut Results,
    measure: impl FnOnce(&mut Results) -> Result<()>,
) {
    if let Err(failure) = measure(results) {
        results.skip(format!("{name}, {}: {}", entrant.name, chain(&failure)));
    }
}

/// The default is beside the program, because the usual temporary directory may be in memory.
fn scratch(options: &Options) -> Result<TempDir> {
    let program = std::env::current_exe()?;
    let beside = program.parent().map(Path::to_owned).unwrap_or_default();
    let parent: PathBuf = options.scratch.clone().unwrap_or(beside);
    std::fs::create_dir_all(&parent).context(|| format!("create `{}`", parent.display()))?;
    TempDir::with_prefix_in("rejoin-bench-", &parent).context(|| format!("use `{}`", parent.display()))
}

fn warn_about_the_place(arena: &Arena, results: &mut Results) {
    let is_memory = rustix::fs::statfs(&arena.scratch).is_ok_and(|found| found.f_type == TMPFS);
    if is_memory {
        results.skip("every durable figure: the scratch directory is in memory, where a sync is free".into());
    }
    if arena.memory.is_none() {
        results.skip(format!("append in memory: there is no `{MEMORY}`"));
    }
}
