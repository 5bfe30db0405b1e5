//! `rejoin provider`: choose whom to talk to.

mod list;
mod set;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KeyPlace, KnownProvider};

/// Choose a provider and a model
///
/// A provider is a model API. Many are known by name; add others with `--base-url`. Without a provider,
/// replies are taken from the conversation itself. Manage API keys with `rejoin auth`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin provider list
  rejoin provider set anthropic --model MODEL
  rejoin provider set ollama --model MODEL
  rejoin provider set mine --base-url http://127.0.0.1:8080/v1 --model MODEL")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Set(set::Args),
    Show(show::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::List(args) => list::run(args, context),
        Action::Set(args) => set::run(args, context),
        Action::Show(args) => show::run(args, context),
    }
}

/// What to do next before a provider can be talked to; none when nothing is missing.
fn missing(known: &KnownProvider, place: &KeyPlace) -> Option<String> {
    let name = &known.name;
    if known.api == rejoin_agent::Api::Offline {
        return None;
    }
    match (&known.model, place) {
        (None, _) => Some(format!("rejoin setup --provider {name}")),
        (Some(_), KeyPlace::Missing) => Some(format!("rejoin auth set {name}")),
        (Some(_), _) => None,
    }
}
