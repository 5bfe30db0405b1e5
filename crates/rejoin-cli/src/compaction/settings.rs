//! When and how a talk is compacted, from what is configured and what is known about its model.

use rejoin_agent::{CompactSettings, OnFailure, Provider, context_window};

use crate::config::Config;
use crate::config::choices::OnSummaryFailure;
use crate::provider::KnownProvider;

/// When and how a talk with a provider's model is compacted.
pub(crate) fn settings(config: &Config, provider: &dyn Provider, model: &str) -> CompactSettings {
    CompactSettings {
        window: window(config, provider.name(), model),
        threshold: config.compact_threshold(),
        user_tokens: config.compact_user_tokens(),
        model: config.compact_model().map(str::to_owned),
        on_failure: match config.on_summary_failure() {
            OnSummaryFailure::Abort => OnFailure::Keep,
            OnSummaryFailure::Placeholder => OnFailure::Placeholder,
        },
    }
}

/// The tokens that a model can be sent: what is configured for it, then for its provider, then what is known.
fn window(config: &Config, provider: &str, model: &str) -> Option<u64> {
    let of_model = config.models().remove(model).and_then(|facts| facts.context_window);
    let of_provider = || KnownProvider::named(config, provider)?.context_window;
    of_model.or_else(of_provider).or_else(|| context_window(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigOverrides;
    use crate::surroundings::Surroundings;

    #[test]
    fn what_is_configured_for_the_model_counts_first_and_what_is_known_last() {
        let text = "[models.\"gpt-4o\"]\ncontext_window = 1000\n\
            [providers.anthropic]\ncontext_window = 2000\n[providers.openai]\nmodel = \"gpt-4o\"\n";
        let read = |path: &std::path::Path| Ok(path.starts_with("/home/ada").then(|| text.to_owned()));
        let config =
            Config::load_from(&Surroundings::imagined(&[]), &ConfigOverrides::default(), &read).unwrap();

        let windows = [
            ("anthropic", "gpt-4o"),
            ("anthropic", "claude-sonnet-4"),
            ("openai", "claude-sonnet-4"),
            ("openai", "scripted"),
            ("nobody", "gpt-4o"),
        ]
        .map(|(provider, model)| window(&config, provider, model));

        assert_eq!(windows, [Some(1000), Some(2000), Some(200_000), None, Some(1000)]);
    }
}
