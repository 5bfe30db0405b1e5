//! `rejoin` and `rejoin "message"`: talking, when no command is named.

use clap::CommandFactory;

use crate::args::Arguments;
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::suggest::nearest;

/// What to say.
///
/// Hidden while no provider can be spoken to: help must not offer what always fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message to send, in quotes
    #[arg(hide = true)]
    message: Option<String>,

    /// The message to send, even when it looks like a command
    #[arg(last = true, value_name = "TEXT", hide = true)]
    literal: Option<String>,
}

pub(crate) fn run(args: Args, _context: &Context) -> Result<(), Failure> {
    if let Some(message) = &args.message {
        refuse_mistyped_command(message)?;
    }
    let failure = Failure::new(Kind::Unsupported, "this version does not talk to models");
    Err(match args.literal.or(args.message) {
        Some(_) => failure.hint("to keep a message: `rejoin append \"your message\"`"),
        None => failure.hint("run `rejoin --help` to see what it does"),
    })
}

/// A message beside a command has no meaning, so it is not dropped silently.
pub(crate) fn refuse_beside_command(args: &Args) -> Result<(), Failure> {
    match args.message.as_ref().or(args.literal.as_ref()) {
        None => Ok(()),
        Some(message) => Err(Failure::usage(format!("both a message, `{message}`, and a command"))
            .hint("put a message of several words in quotes")),
    }
}

/// A single word close to a command's name is more likely a slip than something to tell a model.
fn refuse_mistyped_command(message: &str) -> Result<(), Failure> {
    let root = Arguments::command();
    let names: Vec<&str> =
        root.get_subcommands().flat_map(clap::Command::get_name_and_visible_aliases).collect();
    match nearest(message, names) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!("`{message}` is not a command"))
            .hint(format!("did you mean `rejoin {name}`? To send it as a message: `rejoin -- {message}`"))),
    }
}
