//! `rejoin completions`: a completion script for a shell.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::completion;
use crate::context::Context;
use crate::error::Failure;

/// Print a completion script for your shell
///
/// In bash, zsh and fish it completes conversations, branches, models and settings as well as commands and
/// options. Conversations in a vault are not completed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin completions bash > ~/.local/share/bash-completion/completions/rejoin
  rejoin completions zsh > ~/.zfunc/_rejoin      With ~/.zfunc in fpath
  rejoin completions fish > ~/.config/fish/completions/rejoin.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let script = match args.shell.to_string().parse::<completion::Shell>() {
        Ok(shell) => shell.script().as_bytes().to_vec(),
        Err(()) => of_options(args.shell),
    };
    let mut answer = context.answer();
    answer.write_all(&script)?;
    answer.flush()?;
    Ok(())
}

/// The script for a shell that knows commands and options only.
fn of_options(shell: Shell) -> Vec<u8> {
    // The generator panics on a failed write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "rejoin", &mut script);
    script
}
