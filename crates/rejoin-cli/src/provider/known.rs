//! A provider that can be talked to: a preset, what is configured, or both.

use std::sync::Arc;
use std::time::Duration;

use rejoin_agent::{Api, Http, HttpSettings, KeySource, Offline, Preset, Provider, Quirks, presets};

use crate::config::Config;
use crate::config::choices::ProviderKind;
use crate::config::families;
use crate::error::Failure;
use crate::suggest::nearest;

/// A provider that can be talked to. What is configured stands above the preset of the same name.
#[derive(Clone, Debug)]
pub(crate) struct KnownProvider {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) api: Api,
    pub(crate) base_url: Option<String>,
    /// The variable that may hold its key.
    pub(crate) key_variable: Option<String>,
    /// The command that prints its key.
    pub(crate) key_command: Option<String>,
    /// True when it does not answer without a key.
    pub(crate) needs_key: bool,
    pub(crate) model: Option<String>,
    pub(crate) context_window: Option<u64>,
    max_retries: Option<u64>,
    /// How long it may be silent.
    timeout: Option<Duration>,
    preset: Option<&'static Preset>,
}

impl KnownProvider {
    /// The provider with a name.
    pub(crate) fn named(config: &Config, name: &str) -> Option<Self> {
        let configured = config.providers().into_iter().find(|provider| provider.name == name);
        match (configured, Preset::named(name)) {
            (Some(configured), preset) => Some(Self::configured(configured, preset)),
            (None, Some(preset)) => Some(Self::preset(preset)),
            (None, None) if name == Api::Offline.as_str() => Some(Self::offline()),
            (None, None) => None,
        }
    }

    /// Every provider: those that are configured under a name of the user's,
    /// the presets, the one without a model.
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let own = config.providers().into_iter().map(|provider| provider.name);
        let mut names: Vec<String> = own.filter(|name| Preset::named(name).is_none()).collect();
        names.extend(presets().iter().map(|preset| preset.name.to_owned()));
        names.retain(|name| name != Api::Offline.as_str());
        names.push(Api::Offline.as_str().to_owned());
        names.iter().filter_map(|name| Self::named(config, name)).collect()
    }

    /// The provider itself, which gets its key from this source.
    pub(crate) fn connect(&self, key: KeySource) -> Result<Arc<dyn Provider>, Failure> {
        if self.api == Api::Offline {
            return Ok(Arc::new(Offline));
        }
        let mut settings = HttpSettings::new(&self.name);
        settings.base_url.clone_from(&self.base_url);
        settings.key = key;
        if let Some(retries) = self.max_retries {
            settings.max_retries = u32::try_from(retries).unwrap_or(u32::MAX);
        }
        if let Some(timeout) = self.timeout {
            settings.idle_timeout = timeout;
            settings.list_timeout = timeout.min(settings.list_timeout);
            settings.connect_timeout = timeout.min(settings.connect_timeout);
        }
        // A preset knows the quirks of a server, as long as the same language is spoken to it.
        let preset = self.preset.filter(|preset| preset.api == self.api);
        let http = match (preset, self.api) {
            (Some(preset), _) => preset.connect(settings),
            (None, Api::Anthropic) => Http::anthropic(settings),
            (None, Api::Responses) => Http::responses(settings),
            (None, _) => Http::chat(settings, Quirks::default()),
        };
        Ok(Arc::new(http?))
    }

    /// The same, asked once and for so long only.
    pub(crate) fn impatient(mut self, limit: Duration) -> Self {
        self.max_retries = Some(0);
        self.timeout = Some(self.timeout.map_or(limit, |own| own.min(limit)));
        self
    }

    /// Its title in a sentence, without where it is.
    pub(crate) fn short_title(&self) -> String {
        self.preset.map_or_else(|| format!("`{}`", self.name), |preset| preset.short_title().to_owned())
    }

    /// The command that gets it a model; none when that is not known.
    pub(crate) fn get_model(&self) -> Option<&'static str> {
        self.preset.and_then(|preset| preset.get_model)
    }

    /// True when it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.base_url.as_deref().is_some_and(|url| {
            let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
            ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| {
                rest.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
            })
        })
    }

    fn preset(preset: &'static Preset) -> Self {
        Self {
            name: preset.name.to_owned(),
            title: preset.title.to_owned(),
            api: preset.api,
            base_url: Some(preset.base_url.to_owned()),
            key_variable: preset.key_variable.map(str::to_owned),
            key_command: None,
            needs_key: preset.key_variable.is_some(),
            model: preset.model.map(str::to_owned),
            context_window: None,
            max_retries: None,
            timeout: None,
            preset: Some(preset),
        }
    }

    fn configured(configured: families::ProviderConfig, preset: Option<&'static Preset>) -> Self {
        let below = preset.map(Self::preset).unwrap_or_else(Self::offline);
        let api = api_of(configured.kind);
        // Another server under a preset's name need not want a key.
        let is_same_place = configured.base_url.is_none();
        let names_key = configured.api_key_env.is_some() || configured.api_key_command.is_some();
        Self {
            title: preset.map_or_else(|| "yours".to_owned(), |preset| preset.title.to_owned()),
            needs_key: api != Api::Offline && (names_key || (below.needs_key && is_same_place)),
            name: configured.name,
            api,
            base_url: configured.base_url.or(below.base_url),
            key_variable: configured.api_key_env.or(below.key_variable),
            key_command: configured.api_key_command,
            model: configured.model.or(below.model),
            context_window: configured.context_window,
            max_retries: configured.max_retries,
            timeout: configured.timeout_seconds.map(Duration::from_secs),
            preset,
        }
    }

    fn offline() -> Self {
        Self {
            name: Api::Offline.as_str().to_owned(),
            title: "no model: answers from the conversation".to_owned(),
            api: Api::Offline,
            base_url: None,
            key_variable: None,
            key_command: None,
            needs_key: false,
            model: None,
            context_window: None,
            max_retries: None,
            timeout: None,
            preset: None,
        }
    }
}

fn api_of(kind: ProviderKind) -> Api {
    match kind {
        ProviderKind::Anthropic => Api::Anthropic,
        ProviderKind::OpenaiResponses => Api::Responses,
        ProviderKind::OpenaiChat => Api::Chat,
        ProviderKind::Offline => Api::Offline,
    }
}

/// Refuses a name that is not a provider's, with the one that was probably meant.
pub(crate) fn unknown(config: &Config, name: &str) -> Failure {
    let all = KnownProvider::all(config);
    let failure = Failure::not_found(format!("no provider `{name}`"));
    match nearest(name, all.iter().map(|known| known.name.as_str())) {
        Some(likely) => failure.hint(format!("did you mean `{likely}`?")),
        None => failure.hint(format!(
            "run `rejoin provider list` to see them, or add it: `rejoin provider set {name} --base-url URL --model M`"
        )),
    }
}
