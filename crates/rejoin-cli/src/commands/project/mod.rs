//! `rejoin project`: which directories conversations belong to, after a rename or a move.

mod give;
mod id;
mod known;
mod list;
mod split;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Failure;

/// Manage projects after a directory was renamed or moved
///
/// A project is a directory, by default the root of a Git repository. It is identified by its path, or
/// by the ID in `.rejoin/project`. If a known ID appears at a new path, Rejoin asks once whether it is
/// the same project, because a clone can carry a copied ID. Without a terminal, it is treated as a
/// separate project.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin project list
  rejoin project move ~/src/trip ~/src/lisbon
  rejoin project merge ~/src/trip-copy ~/src/trip")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Move(give::MoveArgs),
    Merge(give::MergeArgs),
    Split(split::Args),
    Id(id::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::List(args) => list::run(args, context),
        Action::Move(args) => give::run_move(args, context),
        Action::Merge(args) => give::run_merge(args, context),
        Action::Split(args) => split::run(args, context),
        Action::Id(args) => id::run(args, context),
    }
}
