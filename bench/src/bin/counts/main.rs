//! Counts the instructions and syncs of common commands and compares them with the baseline in `counts.md`.
//!
//! The load of the machine adds little to a count, so a 5 % limit is reliable: a command that waits for
//! another thread may do more meanwhile, so a count above the baseline is repeated. `counts --write` replaces
//! the baseline.
//! `counts sqlite` counts this store only. Vaults are counted when they are named, and not
//! compared: what they take varies from one fill to the next by more than the limit.

mod cases;
mod table;
mod tools;
mod world;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::{env, fs, thread};

use rejoin_bench::Arguments;
use rejoin_bench::failure::{Context, Failure, Result, chain};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use cases::Case;
use table::{Counts, Table};
use tools::Tools;
use world::{Size, Store, World};

/// A vault starts as many threads as there are processors, so every machine
/// counts with the same number of them.
const PROCESSORS: usize = 2;

/// How often a command is counted until it is within its baseline. The least counts.
const ATTEMPTS: usize = 3;

fn main() -> ExitCode {
    match run(&Arguments::read()) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {}", chain(&failure));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(missing) = Tools::missing() {
        return Ok(skip(&format!("`{missing}`")));
    }
    if !is_pinned()? {
        return Ok(skip(&format!("{PROCESSORS} processors")));
    }
    let stores = stores(&arguments.words)?;
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.md");
    let text = fs::read_to_string(&committed).context(|| format!("read `{}`", committed.display()))?;
    let baseline = text.parse::<Table>()?;
    let counted = count_all(&stores, &baseline)?;
    if arguments.has("--write") {
        if !arguments.words.is_empty() {
            return Err("`--write` replaces the whole baseline; name no store".into());
        }
        fs::write(&committed, counted.to_string()).context(|| format!("write `{}`", committed.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("{counted}");
    let compared: Vec<&str> =
        stores.iter().filter(|store| Store::COMPARED.contains(store)).map(|store| store.name()).collect();
    let baseline = baseline.of_stores(&compared);
    let increases = counted.of_stores(&compared).increases_over(&baseline);
    for increase in &increases {
        eprintln!("above the baseline: {increase}");
    }
    if increases.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "Fix the cause, or accept it: run `just counts --write` and give the reason in the commit message."
    );
    Ok(ExitCode::FAILURE)
}

/// Says what is missing. In CI that is a failure.
fn skip(needed: &str) -> ExitCode {
    eprintln!("SKIPPED: counting needs {needed}");
    if env::var_os("CI").is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Pins this process and all it starts to the first [`PROCESSORS`] it may use.
/// False if it may not use that many.
fn is_pinned() -> Result<bool> {
    let allowed = sched_getaffinity(None).context(|| "read the processor affinity".into())?;
    let mut chosen = CpuSet::new();
    let first = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).take(PROCESSORS);
    first.for_each(|processor| chosen.set(processor));
    if (chosen.count() as usize) < PROCESSORS {
        return Ok(false);
    }
    sched_setaffinity(None, &chosen).context(|| "set the processor affinity".into())?;
    Ok(true)
}

/// The stores that were named; those with a baseline if none was.
fn stores(names: &[String]) -> Result<Vec<Store>> {
    if names.is_empty() {
        return Ok(Store::COMPARED.to_vec());
    }
    let named = |name: &String| {
        let found = Store::ALL.into_iter().find(|store| store.name() == name);
        found.ok_or_else(|| format!("unknown store `{name}`").into())
    };
    names.iter().map(named).collect()
}

/// A copy of the command that was built with this program, without symbols:
/// Valgrind reads them at each start.
///
/// The copy is in the scratch directory, so the length of its path does not depend on where the project is.
fn stripped(scratch: &Path) -> Result<PathBuf> {
    let this = env::current_exe().context(|| "find this program".into())?;
    let built = this.with_file_name("rejoin");
    if !built.is_file() {
        return Err(format!("`{}` does not exist; `just counts` builds it", built.display()).into());
    }
    let copy = scratch.join("rejoin");
    let status = Command::new("strip").arg("-o").args([&copy, &built]).status();
    let is_stripped = status.context(|| "start `strip`".into())?.success();
    is_stripped.then_some(copy).ok_or_else(|| format!("could not strip `{}`", built.display()).into())
}

/// Counts every case in these stores at both sizes, one store per processor at a time.
fn count_all(stores: &[Store], baseline: &Table) -> Result<Table> {
    let scratch = scratch()?;
    let rejoin = stripped(scratch.path())?;
    // The ones that take longest come first, so that no processor idles at the end.
    let work = Size::ALL.into_iter().flat_map(|size| stores.iter().map(move |store| (*store, size)));
    let work = Mutex::new(work.collect());
    let table = Mutex::new(Table::default());
    let count = || -> Result<()> {
        while let Some((store, size)) = next(&work) {
            let place = scratch.path().join(format!("{}-{}", store.name(), size.name()));
            count_store(&World::filled(&rejoin, &place, store, size)?, baseline, &table)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..PROCESSORS).map(|_| scope.spawn(count)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Failure::from("counting ended with a panic"))?)
    })?;
    Ok(table.into_inner().map_err(|_| "counting ended with a panic")?)
}

fn next<T>(work: &Mutex<VecDeque<T>>) -> Option<T> {
    work.lock().ok()?.pop_front()
}

fn count_store(world: &World, baseline: &Table, table: &Mutex<Table>) -> Result<()> {
    for case in Case::ALL {
        let mut counts = count(world, &case)?;
        for _ in 1..ATTEMPTS {
            if baseline.accepts(world.store.name(), case.name, world.size, counts) {
                break;
            }
            counts = counts.least(count(world, &case)?);
        }
        eprintln!("{}, {}, {}: {counts}", world.store.name(), world.size.name(), case.name);
        let mut table = table.lock().map_err(|_| "counting ended with a panic")?;
        table.add(world.store.name(), case.name, world.size, counts);
    }
    Ok(())
}

/// Counts a command once.
fn count(world: &World, case: &Case) -> Result<Counts> {
    let words = (case.words)(world);
    let run = |tool: fn(&World, &[String]) -> Result<u64>| {
        if case.writes {
            world.reset()?;
        }
        tool(world, &words).context(|| format!("{}: rejoin {}", world.store.name(), words.join(" ")))
    };
    Ok(Counts {
        instructions: run(Tools::instructions)?,
        syncs: case.writes.then(|| run(Tools::syncs)).transpose()?,
    })
}

/// A directory in memory where there is one: a disk changes no count.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.context(|| "make a scratch directory".into())
}
