//! `rejoin completions`: a completion script for a shell.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::context::Context;
use crate::error::Failure;

/// Print a completion script for your shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin completions bash > ~/.local/share/bash-completion/completions/rejoin
  rejoin completions fish > ~/.config/fish/completions/rejoin.fish")]
pub(crate) struct Args {
    /// The shell to complete in
    shell: Shell,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    // The generator panics on a failed write, so it writes to memory and we write the rest.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "rejoin", &mut script);
    let mut answer = context.answer();
    answer.write_all(&script)?;
    answer.flush()?;
    Ok(())
}
