//! `/model` and `/provider`: whom to ask from here on.

use super::After;
use crate::error::Failure;
use crate::prompt::Prompt;
use crate::talk::{Overrides, Partner, partner};
use crate::ui::paint::Meaning;

/// Asks another model from here on, or tells which is asked.
pub(super) fn model(prompt: &mut Prompt<'_>, model: &str) -> Result<After, Failure> {
    if !model.is_empty() {
        let overrides = Overrides { model: Some(model.to_owned()), ..prompt.overrides.clone() };
        ask_instead(prompt, overrides)?;
    }
    tell(prompt)
}

/// Asks another provider from here on, or tells which is asked. Its own model is asked for.
pub(super) fn provider(prompt: &mut Prompt<'_>, provider: &str) -> Result<After, Failure> {
    if !provider.is_empty() {
        let provider = Some(provider.to_owned());
        let overrides = Overrides { provider, model: None, base_url: None, ..prompt.overrides.clone() };
        ask_instead(prompt, overrides)?;
    }
    tell(prompt)
}

fn ask_instead(prompt: &mut Prompt<'_>, overrides: Overrides) -> Result<(), Failure> {
    let Partner { provider, model } = partner(prompt.context, &overrides)?;
    prompt.session.talk.ask_instead(provider, model);
    prompt.overrides = overrides;
    Ok(())
}

fn tell(prompt: &Prompt<'_>) -> Result<After, Failure> {
    let talk = &prompt.session.talk;
    prompt.line(Meaning::Plain, &format!("Provider {}, model {}.", talk.provider().name(), talk.model()))?;
    Ok(After::Stay)
}
