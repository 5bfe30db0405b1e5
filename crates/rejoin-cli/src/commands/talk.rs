//! `rejoin` and `rejoin "message"`: talking, when no command is named.

use clap::CommandFactory;

use crate::args::Arguments;
use crate::context::Context;
use crate::error::Failure;
use crate::suggest::nearest;
use crate::talk::tools::ToolFlags;
use crate::talk::{self, Overrides, Start};

/// What to say, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message to send, in quotes
    message: Option<String>,

    /// The message to send, even when it looks like a command
    #[arg(last = true, value_name = "TEXT", hide = true)]
    literal: Option<String>,

    /// Continue a conversation; without an id the newest of this project
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,

    /// Nothing is written, no file created
    #[arg(short = 'G', long, alias = "no-persistence", conflicts_with = "resume")]
    incognito: bool,

    /// Give a new conversation a title
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,

    #[command(flatten)]
    tools: ToolFlags,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    if let Some(message) = &args.message {
        refuse_mistyped_command(message)?;
    }
    let start = match (args.incognito, args.resume) {
        (true, _) => Start::Incognito,
        (false, None) => Start::New,
        (false, Some(id)) if id.is_empty() => Start::Latest,
        (false, Some(id)) => Start::Conversation(id),
    };
    let overrides = Overrides { title: args.title, tools: args.tools, ..Overrides::default() };
    match args.literal.or(args.message) {
        Some(message) => talk::once(context, &start, &overrides, &message),
        None => Err(Failure::usage("there is nothing to send").hint("run `rejoin \"your message\"`")),
    }
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
