//! `/conversations`: the list, and taking old ones away.

use clap::Parser;

use super::After;
use crate::args::Arguments;
use crate::error::Failure;
use crate::prompt::Prompt;

/// What may follow the name.
pub(super) const WORDS: &[(&str, &str)] = &[
    ("clean", "delete the old ones of this project"),
    ("clean-all", "delete all of this project but this one"),
];

/// Lists conversations, or takes old ones away. Only the first word counts; one that is not known lists them.
pub(super) fn conversations(prompt: &mut Prompt<'_>, words: &str) -> Result<After, Failure> {
    match words.split_whitespace().next() {
        Some("clean") => command_line(prompt, &["clean"])?,
        Some("clean-all") => command_line(prompt, &["clean", "--all"])?,
        None | Some(_) => command_line(prompt, &["list"])?,
    }
    Ok(After::Stay)
}

/// Runs a command of the command line, in the same surroundings.
pub(super) fn command_line(prompt: &Prompt<'_>, words: &[&str]) -> Result<(), Failure> {
    let arguments = Arguments::try_parse_from(["rejoin"].iter().chain(words))
        .map_err(|error| Failure::usage(format!("run `{}`", words.join(" "))).because(error))?;
    match arguments.command {
        Some(command) => command.run(prompt.context),
        None => Err(Failure::usage(format!("`{}` is not a command", words.join(" ")))),
    }
}
