//! Measures Rejoin, other stores and the limit side by side, and prints one table of ratios.
//!
//! The driver starts a process per contestant, asks for samples over pipes, and holds each
//! against a reference that ran a moment before. The same program is the contestant's process,
//! under the hidden commands `run` and `list`.

mod contestants;
mod driver;
mod entrant;
mod operations;
mod options;
mod protocol;
mod report;
mod results;
mod session;
mod statistics;
mod syncs;
mod worker;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use rejoin_bench::failure::{Result, chain};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // The hidden commands come before the option parser, which a cold process should not pay for.
    let outcome = match words.as_slice() {
        ["run", name, place] => run(name, Path::new(place)).map(|()| true),
        ["list", name, place] => list(name, Path::new(place)).map(|()| true),
        _ => driver::run(&options::Options::parse()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {}", chain(&failure));
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, place: &Path) -> Result<()> {
    worker::serve(contestants::open(name, place)?)
}

fn list(name: &str, place: &Path) -> Result<()> {
    for row in contestants::list_once(name, place, operations::PAGE)? {
        let line = format!("{}  {} ({})  {} … {}", row.active, row.title, row.messages, row.first, row.last);
        println!("{}", line.replace('\n', " "));
    }
    Ok(())
}
