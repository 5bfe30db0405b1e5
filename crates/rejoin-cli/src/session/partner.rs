//! Whom to talk to: the provider and model that flags, the conversation and the configuration choose.

use std::sync::Arc;

use rejoin::{Settings, StoredConversation};
use rejoin_agent::{Api, KeySource, Offline, Provider, presets};

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::provider::{FoundKey, KeyPlace, KnownProvider, find_key, keyring_hint, unknown};
use crate::session::banner;
use crate::session::command_file::CommandFile;
use crate::session::prepare::{HintPlace, SessionOverrides};

/// What stands for the model where there is none.
const NO_MODEL: &str = "none";

/// A provider and the model to ask for.
#[derive(Debug)]
pub(crate) struct Partner {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: String,
}

/// Chooses a provider and a model, and finds the key.
///
/// What `overrides` name counts first, then the key `provider`. Where neither says anything, a preset whose
/// key is in its variable is taken; else there is no model.
pub(crate) fn partner(context: &Context, overrides: &SessionOverrides) -> Result<Partner, Failure> {
    let Some(mut known) = chosen(context, overrides)? else { return Ok(offline()) };
    if known.api == Api::Offline {
        return Ok(offline());
    }
    if let Some(base_url) = &overrides.base_url {
        known.base_url = Some(base_url.clone());
    }
    let model = overrides
        .model
        .clone()
        .or_else(|| known.model.clone())
        .ok_or_else(|| no_model(&known.name, overrides.asker))?;
    let provider = known.connect(key(context, &known)?)?;
    tracing::info!(provider = known.name, api = known.api.as_str(), "chosen");
    Ok(Partner { provider, model })
}

/// Whom a conversation goes on with: those it was held with, unless this run names others.
pub(super) fn partner_of(
    context: &Context,
    stored: &StoredConversation,
    command: Option<&CommandFile>,
    overrides: &SessionOverrides,
) -> Result<Partner, Failure> {
    let before = &stored.conversation.settings;
    let mut wanted = overrides.clone();
    if overrides.provider.is_none() {
        // Who talked without a model did not choose that for ever.
        let is_chosen = |name: &String| name != Api::Offline.as_str();
        wanted.provider = before.provider.clone().filter(is_chosen);
    }
    // The name of a model says nothing without its provider, as some imported conversations have it.
    let is_same_provider = before.provider.is_some() && wanted.provider == before.provider;
    if overrides.model.is_none() && is_same_provider {
        wanted.model.clone_from(&before.model);
    }
    let is_named = overrides.provider.is_some() || overrides.model.is_some();
    let chosen = match partner(context, &wanted) {
        // What it was held with may be gone; a conversation can go on with any provider.
        Err(failure) if !is_named && before.provider.is_some() => {
            let instead = partner(context, &with_command(context, overrides.clone(), command))?;
            context.manner.warn(
                &format!("cannot go on with {}: {}", banner::talked_with(before), failure.summary()),
                None,
            );
            instead
        }
        outcome => outcome?,
    };
    let now = settings(&chosen, None, None);
    if !is_named && now.provider == before.provider && differs_from_configured(context, &now) {
        context.note(&format!("Using {}, as this conversation did.", banner::talked_with(&now)));
    }
    let differs = now.provider != before.provider || now.model != before.model;
    if differs && before.provider.is_some() && is_named {
        context.note(&format!(
            "The conversation was held with {}; it goes on with {}.",
            banner::talked_with(before),
            banner::talked_with(&now)
        ));
    }
    Ok(chosen)
}

/// Whether a new conversation would be held with another provider or model, as the configuration says.
fn differs_from_configured(context: &Context, now: &Settings) -> bool {
    let Some(name) = context.config.provider() else { return false };
    let model = KnownProvider::named(&context.config, name).and_then(|known| known.model);
    now.provider.as_deref() != Some(name) || (model.is_some() && now.model != model)
}

/// A command names the model unless the user does.
pub(super) fn with_command(
    context: &Context,
    mut overrides: SessionOverrides,
    command: Option<&CommandFile>,
) -> SessionOverrides {
    if overrides.model.is_none() {
        overrides.model = command.and_then(|command| command.allowed_model(context));
    }
    overrides
}

/// What the header of a conversation says about whom it is held with.
pub(super) fn settings(partner: &Partner, command: Option<&CommandFile>, hash: Option<String>) -> Settings {
    Settings {
        provider: Some(partner.provider.name().to_owned()),
        model: Some(partner.model.clone()),
        command: command.map(|command| command.name.clone()),
        prompt_hash: hash,
        tools: command.and_then(|command| command.tools.clone()).unwrap_or_default(),
    }
}

fn chosen(context: &Context, overrides: &SessionOverrides) -> Result<Option<KnownProvider>, Failure> {
    let config = &context.config;
    if let Some(name) = overrides.provider.as_deref().or(config.provider()) {
        return KnownProvider::named(config, name).map(Some).ok_or_else(|| unknown(config, name));
    }
    if let Some(known) = implied(context, overrides) {
        return Ok(Some(known));
    }
    match (&overrides.model, &overrides.base_url) {
        (None, None) => Ok(None),
        (model, _) => {
            let failure = Failure::invalid("no provider is chosen");
            Err(match overrides.asker {
                HintPlace::Shell => failure.hint("run `rejoin setup`, or add `--provider NAME`"),
                HintPlace::Prompt => {
                    failure.hint(format!("type `/provider NAME {}`", model.as_deref().unwrap_or("MODEL")))
                }
            })
        }
    }
}

/// The preset whose key is in its usual variable, when nothing at all is configured. Nothing is sent
/// to it before a model is named as well.
fn implied(context: &Context, overrides: &SessionOverrides) -> Option<KnownProvider> {
    let is_set = |name: &&str| context.surroundings.variable(name).is_some();
    let (preset, variable) =
        presets().iter().find_map(|preset| Some((preset, preset.key_variable.filter(is_set)?)))?;
    let known = KnownProvider::named(&context.config, preset.name)?;
    if overrides.model.is_some() || known.model.is_some() {
        context.note(&format!("Talking to {}, because {variable} is set.", preset.title));
        return Some(known);
    }
    context.note(&format!("{variable} is set. To talk to {}, run `rejoin setup`.", preset.title));
    None
}

fn offline() -> Partner {
    Partner { provider: Arc::new(Offline), model: NO_MODEL.to_owned() }
}

fn no_model(name: &str, asker: HintPlace) -> Failure {
    let failure = Failure::invalid(format!("no model of `{name}` is chosen"));
    match asker {
        HintPlace::Shell => {
            failure.hint(format!("run `rejoin setup --provider {name}`, or add `--model MODEL`"))
        }
        HintPlace::Prompt => failure.hint(format!("type `/provider {name} MODEL`")),
    }
}

fn key(context: &Context, known: &KnownProvider) -> Result<KeySource, Failure> {
    let FoundKey { place, source, keyring } = find_key(context, known)?;
    if place != KeyPlace::Missing {
        return Ok(source);
    }
    let name = &known.name;
    let failure = Failure::new(Kind::Denied, format!("there is no key of `{name}`"));
    let variable =
        known.key_variable.as_deref().map(|name| format!(", or `export {name}=...`")).unwrap_or_default();
    Err(match keyring {
        None => failure.hint(format!("run `rejoin auth set {name}`{variable}")),
        Some(cause) => {
            failure.because(format!("the keyring is unavailable: {cause}")).hint(match &known.key_variable {
                Some(variable) => format!("put it into the variable `{variable}`"),
                None => keyring_hint(name),
            })
        }
    })
}
