//! `rejoin man`: the manual pages.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap_mangen::Man;

use crate::args::Arguments;
use crate::context::Context;
use crate::error::Failure;

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin man | man -l -
  rejoin man --directory ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write a page for every command to this directory
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.directory {
        None => print_main_page(context),
        Some(directory) => write_pages(directory, context),
    }
}

fn print_main_page(context: &Context) -> Result<(), Failure> {
    let mut answer = context.answer();
    Man::new(Arguments::with_global_options()).render(&mut answer)?;
    answer.flush()?;
    Ok(())
}

fn write_pages(directory: PathBuf, context: &Context) -> Result<(), Failure> {
    let attempt = || format!("write manual pages to `{}`", directory.display());
    fs::create_dir_all(&directory).map_err(|error| Failure::io(attempt(), error))?;
    clap_mangen::generate_to(Arguments::with_global_options(), &directory)
        .map_err(|error| Failure::io(attempt(), error))?;
    context.note(&format!("Wrote the manual pages to {}", directory.display()));
    Ok(())
}
