//! `rejoin conversation`: the tree, the path and the deletion of messages,
//! under names that other programs use.

mod delete;

use clap::Subcommand;

use crate::commands::{show, tree};
use crate::context::Context;
use crate::error::Failure;

/// Show, print and delete messages
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "convo",
    after_help = "\
Examples:
  rejoin conversation list
  rejoin conversation print k3f9aB
  rejoin conversation delete k3f9aB --cascade"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[command(visible_alias = "ls")]
    List(tree::Args),
    Print(PrintArgs),
    Delete(delete::Args),
}

/// Show a message and everything that leads to it
#[derive(Debug, clap::Args)]
#[command(visible_aliases = ["show", "view"], after_help = "\
Examples:
  rejoin conversation print k3f9aB
  rejoin conversation print lisbon --full")]
struct PrintArgs {
    /// A message or a conversation
    #[arg(value_name = "MESSAGE")]
    id: String,

    /// Show tool results in full
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::List(args) => tree::run(args.in_full(), context),
        Action::Print(args) => {
            show::run(show::Args { id: Some(args.id), branch: None, full: args.full, view: None }, context)
        }
        Action::Delete(args) => delete::run(args, context),
    }
}
