//! `rejoin auth`: the keys of providers, kept in the keyring of the system.

mod set;

use clap::Subcommand;
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KeyFinder, Keyring, KeyringEntry, KnownProvider, keyring_hint, unknown};
use crate::ui::table::{Column, Table};

/// Manage the API keys of providers
///
/// Keys are stored in the system keyring. Rejoin looks for a key in the provider's environment variable,
/// then runs its `api_key_command`, then asks the keyring. Keys are never printed, stored with
/// conversations, or accepted on the command line, where other programs could read them.
///
/// Only API keys are supported. Rejoin does not use the logins (OAuth) of other products, such as a
/// ChatGPT or Claude subscription.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin auth set anthropic              Asks for the key without showing it
  pass show anthropic | rejoin auth set anthropic
  rejoin auth status")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Set(set::Args),
    Status(StatusArgs),
    Remove(RemoveKeyArgs),
}

/// Show where each provider's key comes from
///
/// The keys themselves are not printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin auth status
  rejoin auth status --json")]
struct StatusArgs {
    /// Only this provider
    provider: Option<String>,
}

/// Remove a provider's API key from the keyring
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin auth remove anthropic")]
struct RemoveKeyArgs {
    /// The provider, as shown by `rejoin provider list`
    provider: String,
}

/// Where keys come from, as programs read it.
#[derive(Serialize)]
struct KeysAnswer {
    items: Vec<KeyItem>,
    keyring_error: Option<String>,
}

/// Where one key comes from, and where it is looked for.
#[derive(Serialize)]
struct KeyItem {
    provider: String,
    key: &'static str,
    places: Vec<String>,
}

/// Whether there was a key to remove, as programs read it.
#[derive(Serialize)]
struct RemovedKeyAnswer<'a> {
    provider: &'a str,
    removed: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::Set(args) => set::run(args, context),
        Action::Status(args) => status(&args, context),
        Action::Remove(args) => remove(&args, context),
    }
}

fn named(context: &Context, name: &str) -> Result<KnownProvider, Failure> {
    KnownProvider::named(&context.config, name).ok_or_else(|| unknown(&context.config, name))
}

fn status(args: &StatusArgs, context: &Context) -> Result<(), Failure> {
    let all = match &args.provider {
        Some(name) => vec![named(context, name)?],
        None => KnownProvider::all(&context.config),
    };
    let mut items = Vec::new();
    let mut keys = KeyFinder::new(context);
    let mut table =
        Table::new([Column::text("provider"), Column::text("key"), Column::text("looked for in")]);
    for known in all {
        let (key, name) = match keys.find(&known) {
            Ok(found) => (found.place.told(), found.place.name()),
            Err(failure) => (format!("unusable: {}", failure.summary()), "unusable"),
        };
        let places = places(&known);
        table.push([known.name.clone(), key, places.join(", ")]);
        items.push(KeyItem { provider: known.name, key: name, places });
    }
    if context.is_json() {
        return context.answer_json(&KeysAnswer { items, keyring_error: keys.trouble });
    }
    context.show(|answer| Ok(write!(answer, "{}", table.draw(context.columns(), context.paint()))?))?;
    if let Some(why) = keys.trouble {
        context.note(&format!("The keyring is unavailable: {why}."));
    }
    Ok(())
}

/// Where a provider's key is looked for, in this order.
fn places(known: &KnownProvider) -> Vec<String> {
    if known.api == rejoin_agent::Api::Offline {
        return Vec::new();
    }
    let variable = known.key_variable.as_ref().map(|name| format!("variable {name}"));
    let command = known.key_command.as_ref().map(|_| "command".to_owned());
    variable.into_iter().chain(command).chain(["keyring".to_owned()]).collect()
}

fn remove(args: &RemoveKeyArgs, context: &Context) -> Result<(), Failure> {
    let known = named(context, &args.provider)?;
    let name = &known.name;
    let removed = Keyring::of(&context.surroundings)
        .remove(&KeyringEntry::provider(name))
        .map_err(|unusable| Failure::from(unusable).hint(keyring_hint(name)))?;
    if context.is_json() {
        return context.answer_json(&RemovedKeyAnswer { provider: name, removed });
    }
    context.note(&if removed {
        format!("Removed the key of {name} from the keyring.")
    } else {
        format!("The keyring has no key of {name}.")
    });
    if let Some(variable) = known.key_variable.filter(|name| context.surroundings.variable(name).is_some()) {
        context.note(&format!("The variable {variable} still holds a key."));
    }
    Ok(())
}
