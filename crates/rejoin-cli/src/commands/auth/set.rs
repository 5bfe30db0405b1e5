//! `rejoin auth set`

use rejoin::vault::Secret;
use rejoin_agent::{Api, ApiKey};
use serde::Serialize;

use crate::commands::auth::named;
use crate::context::Context;
use crate::error::Failure;
use crate::provider::{Keyring, KeyringEntry, keyring_hint};
use crate::ui::secret;

/// Store a provider's API key in the keyring
///
/// Asks for the key without showing it, or reads it from the first line of stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin auth set anthropic
  pass show anthropic | rejoin auth set anthropic")]
pub(super) struct Args {
    /// The provider, as shown by `rejoin provider list`
    provider: String,
}

/// Where the key is, as programs read it.
#[derive(Serialize)]
struct SetKeyAnswer<'a> {
    provider: &'a str,
    kept: &'static str,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let known = named(context, &args.provider)?;
    let name = &known.name;
    if known.api == Api::Offline {
        return Err(Failure::invalid("there is no key without a provider")
            .hint("run `rejoin provider list` to see those that have one"));
    }
    let typed = if context.surroundings.terminal.stdin {
        secret::ask(&format!("Key of {name}: "))?
    } else {
        secret::first_line().map_err(|error| Failure::io("read the key from standard input", error))?
    };
    let attempt = || format!("read the key of `{name}`");
    let typed = typed.as_text().ok_or_else(|| Failure::invalid(attempt()).because("it is not text"))?.trim();
    ApiKey::new(typed).map_err(|error| Failure::from(error).during(attempt()))?;
    Keyring::of(&context.surroundings)
        .write(&KeyringEntry::provider(name), Secret::from(typed.to_owned()))
        .map_err(|unusable| Failure::from(unusable).hint(keyring_hint(name)))?;
    if context.is_json() {
        return context.answer_json(&SetKeyAnswer { provider: name, kept: "keyring" });
    }
    context.note(&format!("The key of {name} is in the keyring."));
    if let Some(variable) = known.key_variable.filter(|name| context.surroundings.variable(name).is_some()) {
        context.note(&format!("The variable {variable} also holds a key, and takes precedence."));
    }
    if known.model.is_none() {
        context.note(&format!("Next: run `rejoin setup --provider {name}`"));
    }
    Ok(())
}
