//! Listing the newest conversations with a new process, against a program that does nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Arena, PAGE, bytes, grouped, headline};
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Sample;
use crate::results::{Results, Round};
use rejoin_bench::failure::{Context, Result};

const REFERENCE: &str = "a program that does nothing";
const BAR: f64 = 4.0;

pub(crate) fn round(arena: &Arena, entrant: &Entrant, results: &mut Results) -> Result<()> {
    let place = arena.place(entrant, bytes::STORE);
    let nothing = nothing()?;
    check(entrant.list(&place))?;
    let mut samples = Round::default();
    for _ in 0..arena.scale.cold_starts {
        samples.reference.push(run(&mut Command::new(&nothing))?);
        samples.contestant.push(run(&mut entrant.list(&place))?);
    }
    let operation = format!("list newest {PAGE} of {}, cold process", grouped(arena.scale.conversations));
    results.add_round(headline(Operation::Cold, &operation, entrant, REFERENCE, BAR), samples);
    Ok(())
}

fn run(command: &mut Command) -> Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().context(|| format!("run {command:?}"))?;
    let wall = start.elapsed().as_secs_f64() * 1e6;
    if status.success() {
        Ok(Sample { wall, cpu: 0.0 })
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

/// Makes sure that the command prints a whole page, before it is timed.
fn check(mut command: Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().context(|| format!("run {command:?}"))?;
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    if lines < PAGE { Err(format!("{command:?} printed {lines} lines, not {PAGE}").into()) } else { Ok(()) }
}

/// Builds the program that does nothing beside this one; `cargo run` builds only what it runs.
fn nothing() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("nothing");
    if program.exists() {
        return Ok(program);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "rejoin-bench", "--bin", "nothing"]);
    // A profile's directory has its name, except that of `dev`.
    let directory = program.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    build.args(["--profile", directory.filter(|name| *name != "debug").unwrap_or("dev")]);
    let status = build.status().context(|| "build the program that does nothing".into())?;
    if status.success() { Ok(program) } else { Err(format!("building `nothing` ended with {status}").into()) }
}
