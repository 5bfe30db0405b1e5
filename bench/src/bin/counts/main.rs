//! Counts the instructions and syncs of the commands people run, and holds them against the committed counts.
//!
//! A count does not depend on what else the machine does, so 5 % is a bar that holds. `counts.md` has the counts, with
//! how they grow from a small store to one ten times as large. `counts --write` replaces it.

mod cases;
mod table;
mod tools;
mod world;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::{env, fs, thread};

use rejoin_bench::Arguments;
use rejoin_bench::failure::{Context, Failure, Result, chain};

use cases::Case;
use table::{Counts, Table};
use tools::Tools;
use world::{Size, Store, World};

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
        eprintln!("SKIPPED: counting needs `{missing}`");
        return Ok(if env::var_os("CI").is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let counted = count_all(&rejoin()?)?;
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.md");
    if arguments.has("--write") {
        fs::write(&committed, counted.to_string()).context(|| format!("write `{}`", committed.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("{counted}");
    let text = fs::read_to_string(&committed).context(|| format!("read `{}`", committed.display()))?;
    let increases = counted.increases_over(&text.parse()?);
    for increase in &increases {
        eprintln!("more than before: {increase}");
    }
    if increases.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("Find the cause, or accept it: run `just counts --write` and give the reason in the commit.");
    Ok(ExitCode::FAILURE)
}

/// The command, which was built with this program.
fn rejoin() -> Result<PathBuf> {
    let this = env::current_exe().context(|| "find this program".into())?;
    let rejoin = this.with_file_name("rejoin");
    if !rejoin.is_file() {
        return Err(format!("`{}` is not there; `just counts` builds it", rejoin.display()).into());
    }
    Ok(rejoin)
}

/// Counts every case in every store at both sizes, a store on each processor.
fn count_all(rejoin: &Path) -> Result<Table> {
    let scratch = scratch()?;
    let work = Mutex::new(Store::ALL.iter().flat_map(|store| Size::ALL.map(|size| (*store, size))).collect());
    let table = Mutex::new(Table::default());
    let count = || -> Result<()> {
        while let Some((store, size)) = next(&work) {
            let place = scratch.path().join(format!("{}-{}", store.name(), size.name()));
            count_store(&World::filled(rejoin, &place, store, size)?, &table)?;
        }
        Ok(())
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(count)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Failure::from("counting ended with a panic"))?)
    })?;
    Ok(table.into_inner().map_err(|_| "counting ended with a panic")?)
}

fn next<T>(work: &Mutex<VecDeque<T>>) -> Option<T> {
    work.lock().ok()?.pop_front()
}

fn count_store(world: &World, table: &Mutex<Table>) -> Result<()> {
    for case in Case::ALL {
        let words = (case.words)(world);
        let run = |tool: fn(&World, &[String]) -> Result<u64>| {
            if case.writes {
                world.reset()?;
            }
            tool(world, &words).context(|| format!("{}: rejoin {}", world.store.name(), words.join(" ")))
        };
        let counts = Counts {
            instructions: run(Tools::instructions)?,
            syncs: case.writes.then(|| run(Tools::syncs)).transpose()?,
        };
        eprintln!("{}, {}, {}: {counts}", world.store.name(), world.size.name(), case.name);
        let mut table = table.lock().map_err(|_| "counting ended with a panic")?;
        table.add(world.store.name(), case.name, world.size, counts);
    }
    Ok(())
}

/// A directory in memory where there is one: a disk changes no count.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.context(|| "make a scratch directory".into())
}
