//! Providers that need no more than a name: where they are, what they speak, and where their key usually is.

use crate::error::{Error, ErrorKind, Result};
use crate::providers::{Api, Http, HttpSettings, LimitField, ParallelCalls, Quirks};

/// A provider that needs no more than a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// The name to choose it by.
    pub name: &'static str,
    /// What it is, for a person.
    pub title: &'static str,
    /// The language it speaks.
    pub api: Api,
    /// Where it is.
    pub base_url: &'static str,
    /// The environment variable that usually has its key; none when it needs no key.
    pub key_variable: Option<&'static str>,
    /// The model to ask for when none is named; none when that depends on what is installed.
    pub model: Option<&'static str>,
    /// The command that starts its server; none when it runs elsewhere.
    pub start: Option<&'static str>,
    /// The command that gets it a model; none when it has some.
    pub get_model: Option<&'static str>,
    /// Where it differs from others that speak the language. Only Chat Completions has such differences.
    pub quirks: Quirks,
}

impl Preset {
    /// The preset with a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        presets().iter().find(|preset| preset.name == name)
    }

    /// What it is, without where it is.
    pub fn short_title(&self) -> &'static str {
        self.title.strip_suffix(" on this machine").unwrap_or(self.title)
    }

    /// The provider with these settings, at the preset's address unless the settings have another.
    pub fn connect(&self, mut settings: HttpSettings) -> Result<Http> {
        settings.base_url.get_or_insert_with(|| self.base_url.to_owned());
        settings.title.get_or_insert_with(|| self.short_title().to_owned());
        if settings.start.is_none() {
            settings.start = self.start.map(str::to_owned);
        }
        match self.api {
            Api::Anthropic => Http::anthropic(settings),
            Api::Responses => Http::responses(settings),
            Api::Chat => Http::chat(settings, self.quirks),
            Api::Offline => {
                let message = format!("the provider `{}` is not asked over HTTP", self.name);
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }
}

/// Every preset, in the order to show them.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

const USUAL: Quirks = Quirks { limit: LimitField::MaxTokens, parallel: ParallelCalls::Unasked };

const PRESETS: [Preset; 7] = [
    Preset {
        name: "anthropic",
        title: "Anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key_variable: Some("ANTHROPIC_API_KEY"),
        model: None,
        start: None,
        get_model: None,
        quirks: USUAL,
    },
    Preset {
        name: "openai",
        title: "OpenAI",
        api: Api::Responses,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        model: None,
        start: None,
        get_model: None,
        quirks: USUAL,
    },
    Preset {
        name: "openai-chat",
        title: "OpenAI, through Chat Completions",
        api: Api::Chat,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        model: None,
        start: None,
        get_model: None,
        quirks: Quirks { limit: LimitField::MaxCompletionTokens, ..USUAL },
    },
    Preset {
        name: "openrouter",
        title: "OpenRouter",
        api: Api::Chat,
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        model: None,
        start: None,
        get_model: None,
        quirks: USUAL,
    },
    Preset {
        name: "ollama",
        title: "Ollama on this machine",
        api: Api::Chat,
        base_url: "http://127.0.0.1:11434/v1",
        key_variable: None,
        model: None,
        start: Some("ollama serve"),
        get_model: Some("ollama pull MODEL"),
        quirks: USUAL,
    },
    Preset {
        name: "llama.cpp",
        title: "llama.cpp on this machine",
        api: Api::Chat,
        base_url: "http://127.0.0.1:8080/v1",
        key_variable: None,
        model: None,
        start: Some("llama-server -m MODEL.gguf"),
        get_model: None,
        // Its server allows one call at a time unless it is asked for more.
        quirks: Quirks { parallel: ParallelCalls::Asked, ..USUAL },
    },
    Preset {
        name: "vllm",
        title: "vLLM on this machine",
        api: Api::Chat,
        base_url: "http://127.0.0.1:8000/v1",
        key_variable: None,
        model: None,
        start: Some("vllm serve MODEL"),
        get_model: None,
        quirks: USUAL,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::providers::Provider;

    #[test]
    fn every_preset_connects_under_its_own_language() {
        let connected: Vec<(&str, Api)> = presets()
            .iter()
            .map(|preset| (preset.name, preset.connect(HttpSettings::new(preset.name)).unwrap().api()))
            .collect();

        let expected: Vec<(&str, Api)> = presets().iter().map(|preset| (preset.name, preset.api)).collect();
        assert_eq!(connected, expected);
        assert_eq!(Preset::named("ollama").map(|preset| preset.base_url), Some("http://127.0.0.1:11434/v1"));
        assert_eq!(Preset::named("nobody"), None);
    }

    #[test]
    fn names_differ_and_only_this_machine_goes_without_a_key() {
        let names: BTreeSet<&str> = presets().iter().map(|preset| preset.name).collect();
        let keyless: Vec<&str> = presets()
            .iter()
            .filter(|preset| preset.key_variable.is_none())
            .map(|preset| preset.name)
            .collect();
        let local: Vec<&str> = presets()
            .iter()
            .filter(|preset| preset.base_url.starts_with("http://127.0.0.1:"))
            .map(|preset| preset.name)
            .collect();

        assert_eq!(names.len(), presets().len());
        assert_eq!(keyless, local);
    }
}
