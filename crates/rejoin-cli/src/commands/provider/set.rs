//! `rejoin provider set`

use serde::Serialize;

use crate::commands::provider::missing;
use crate::config::keys::is_member_name;
use crate::context::Context;
use crate::error::Failure;
use crate::provider::{FoundKey, KeyPlace, KnownProvider, ProviderChoice, StoredChoice, find_key, unknown};
use crate::ui::json;

/// Set the provider for new conversations
///
/// Writes `provider` and `providers.NAME` to your configuration file. An unknown name needs
/// `--base-url`. Then prints where the key is read from and what to run next.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin provider set anthropic --model MODEL
  rejoin provider set offline
  rejoin provider set mine --base-url http://127.0.0.1:8080/v1 --model MODEL")]
pub(super) struct Args {
    /// A name from `rejoin provider list`, or a new one
    name: String,

    /// The model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// The address of the API
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// The API it implements
    #[arg(long, value_name = "KIND", value_parser = ["anthropic", "openai-responses", "openai-chat"])]
    kind: Option<String>,
}

/// The provider of new conversations, as programs read it.
#[derive(Serialize)]
struct SetProviderAnswer<'a> {
    provider: &'a str,
    kind: &'static str,
    model: Option<&'a str>,
    base_url: Option<&'a str>,
    file: json::PathText<'a>,
    key: &'static str,
    next: Option<&'a str>,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let name = &args.name;
    if !is_member_name(name) {
        return Err(Failure::usage(format!("`{}` cannot be a name", name.escape_debug())));
    }
    let is_new = KnownProvider::named(&context.config, name).is_none();
    if is_new && args.base_url.is_none() {
        return Err(unknown(&context.config, name));
    }
    let kind = args.kind.clone().or_else(|| is_new.then(|| "openai-chat".to_owned()));
    let choice = ProviderChoice {
        name,
        kind: kind.as_deref(),
        base_url: args.base_url.as_deref(),
        model: args.model.as_deref(),
    };
    let StoredChoice { path, config: effect } = choice.store(context)?;

    // What counts from now on is what was written, with everything that stands above it.
    let config = effect.as_ref().unwrap_or(&context.config);
    let known = KnownProvider::named(config, name).ok_or_else(|| unknown(config, name))?;
    let found = find_key(context, &known)?;
    let next = missing(&known, &found.place);
    if context.is_json() {
        return context.answer_json(&SetProviderAnswer {
            provider: name,
            kind: known.api.as_str(),
            model: known.model.as_deref(),
            base_url: known.base_url.as_deref(),
            file: json::path(&path),
            key: found.place.name(),
            next: next.as_deref(),
        });
    }
    context.note(&format!("Set provider to {name} in {}", path.display()));
    if let Some(told) = tell_key(&known, &found) {
        context.note(&told);
    }
    if config.provider() != Some(name.as_str()) {
        let winner = config.setting("provider").map(|setting| setting.origin.to_string()).unwrap_or_default();
        context.note(&format!("It is overridden here by {winner}"));
    }
    context.note(&format!("Next: run `{}`", next.unwrap_or_else(|| "rejoin \"hello\"".to_owned())));
    Ok(())
}

fn tell_key(known: &KnownProvider, found: &FoundKey) -> Option<String> {
    match &found.place {
        KeyPlace::Variable(name) => Some(format!("Its key comes from the variable {name}.")),
        KeyPlace::Command => Some("Its key comes from your command.".to_owned()),
        KeyPlace::Keyring => Some("Its key comes from the keyring.".to_owned()),
        KeyPlace::NotNeeded => None,
        KeyPlace::Missing => {
            let variable = known
                .key_variable
                .as_deref()
                .map(|name| format!("the variable {name} and "))
                .unwrap_or_default();
            let keyring = match &found.keyring {
                None => "the keyring",
                Some(_) => "the keyring, which cannot be used here",
            };
            Some(format!("Its key is looked for in {variable}{keyring}; there is none yet."))
        }
    }
}
