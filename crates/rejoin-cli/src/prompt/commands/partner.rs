//! `/model`, `/provider` and `/models`: whom to ask from here on.

use std::collections::BTreeSet;

use rejoin_agent::{Api, Fullness};

use super::After;
use crate::compaction::{self, share};
use crate::context::Context;
use crate::error::Failure;
use crate::prompt::Prompt;
use crate::provider::{self, KnownProvider};
use crate::session::{HintPlace, Partner, SessionOverrides, partner};
use crate::ui::paint::Meaning;
use crate::ui::size;

/// Asks another model from here on, or tells which is asked.
pub(super) fn model(prompt: &mut Prompt<'_>, model: &str) -> Result<After, Failure> {
    if !model.is_empty() {
        let overrides = SessionOverrides { model: Some(model.to_owned()), ..prompt.overrides.clone() };
        ask_instead(prompt, overrides)?;
    }
    tell(prompt)
}

/// Asks another provider from here on, or tells which is asked. Its own model is asked for unless one is
/// named.
pub(super) fn provider(prompt: &mut Prompt<'_>, named: &str) -> Result<After, Failure> {
    let mut words = named.split_whitespace().map(str::to_owned);
    if let (Some(provider), model) = (words.next(), words.next()) {
        let provider = Some(provider);
        let overrides = SessionOverrides { provider, model, base_url: None, ..prompt.overrides.clone() };
        ask_instead(prompt, overrides)?;
    }
    tell(prompt)
}

fn ask_instead(prompt: &mut Prompt<'_>, overrides: SessionOverrides) -> Result<(), Failure> {
    let overrides = SessionOverrides { asker: HintPlace::Prompt, ..overrides };
    let Partner { provider, model } = partner(prompt.context, &overrides)?;
    let settings = compaction::settings(&prompt.context.config, provider.as_ref(), &model);
    let talk = &mut prompt.session.talk;
    talk.ask_instead(provider, model);
    talk.set_compaction(settings);
    prompt.overrides = overrides;
    prompt.session.remember_partner();
    Ok(())
}

/// The models that the provider offers; where it does not say, those that the configuration knows.
pub(super) fn models(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let context = prompt.context;
    let talk = &prompt.session.talk;
    let (name, own) = (talk.provider().name(), talk.model().to_owned());
    if talk.provider().api() == Api::Offline {
        return Err(Failure::invalid("no model is configured").hint("choose a provider with /provider NAME"));
    }
    let known = KnownProvider::named(&context.config, name);
    let offered = known.as_ref().map(|known| prompt.runtime.block_on(provider::models(context, known)));
    let names = match offered {
        Some(Ok(names)) => names,
        Some(Err(failure)) => {
            context.manner.warn(&format!("cannot ask for the models: {}", failure.summary()), None);
            configured(context, known.as_ref(), &own)
        }
        None => configured(context, None, &own),
    };
    for name in &names {
        let mark = if *name == own { "* " } else { "  " };
        prompt.line_as_it_is(&format!("{mark}{name}"))?;
    }
    prompt.dim("To ask another: /model MODEL")?;
    Ok(After::Stay)
}

fn configured(context: &Context, known: Option<&KnownProvider>, own: &str) -> Vec<String> {
    let model = known.and_then(|known| known.model.clone());
    let names = context.config.models().into_keys().chain(model).chain([own.to_owned()]);
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

fn tell(prompt: &Prompt<'_>) -> Result<After, Failure> {
    let talk = &prompt.session.talk;
    let mut told = format!("Provider {}, model {}.", talk.provider().name(), talk.model());
    let Fullness { tokens, window } = talk.fullness();
    if let Some(window) = window {
        let of = size::number(window);
        told += &format!(" Its window of {of} tokens is {} full.", share(tokens, window));
    }
    prompt.line(Meaning::Plain, &told)?;
    Ok(After::Stay)
}
