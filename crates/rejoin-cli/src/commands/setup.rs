//! `rejoin setup`: choose a provider and a model, test them, and store the choice.

use crate::context::Context;
use crate::error::Failure;
use crate::provider::setup::{self, SetupRequest};
use crate::session;

/// Choose a provider and a model to talk to
///
/// Finds keys in the environment and the keyring, and servers that run on this machine. Lists the models of
/// the provider that you choose, sends one short request to test the choice, and stores it in your
/// configuration. Nothing is stored before the test has passed: Ctrl+C or an empty answer cancels.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin setup
  rejoin setup --provider ollama --model llama3.2 --yes
  ANTHROPIC_API_KEY=... rejoin setup")]
pub(crate) struct Args {
    /// Choose this provider
    #[arg(short, long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// Choose this model
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,

    /// Ask nothing; test the choice and store it
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let wanted = SetupRequest { provider: args.provider, model: args.model, consent: args.yes.into() };
    setup::run(wanted, &session::runtime()?, context)
}
