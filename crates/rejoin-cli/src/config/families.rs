//! The keys that come in families: providers, models, MCP servers.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_agent::Preset;

use crate::config::Config;
use crate::config::choices::{NamedChoice, ProviderKind};
use crate::config::keys;
use crate::config::origin::Setting;
use crate::config::value::{ConfigValue, Variables};
use crate::error::Failure;

/// `providers.<name>`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) kind: ProviderKind,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) api_key_command: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_retries: Option<u64>,
    pub(crate) timeout_seconds: Option<u64>,
}

/// `mcp.servers.<name>`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Variables,
}

/// `models.<name>`, as far as it is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ModelFacts {
    /// Tokens it can be sent.
    pub(crate) context_window: Option<u64>,
    /// The price of a million tokens sent.
    pub(crate) input_price: Option<f64>,
    /// The price of a million tokens received.
    pub(crate) output_price: Option<f64>,
}

/// What a million tokens of a model cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prices {
    pub(crate) input: f64,
    pub(crate) output: f64,
}

impl Config {
    /// The prices of a model, if both are known.
    pub(crate) fn prices(&self, model: &str) -> Option<Prices> {
        let facts = self.models().remove(model)?;
        Some(Prices { input: facts.input_price?, output: facts.output_price? })
    }

    /// What is configured about models, by name.
    pub(crate) fn models(&self) -> BTreeMap<String, ModelFacts> {
        let facts = |family: &Family<'_>| ModelFacts {
            context_window: family.number("context_window"),
            input_price: family.fraction("input_price"),
            output_price: family.fraction("output_price"),
        };
        self.families("models.").iter().map(|family| (family.name.to_owned(), facts(family))).collect()
    }

    pub(crate) fn providers(&self) -> Vec<ProviderConfig> {
        self.families("providers.").iter().filter_map(Family::provider).collect()
    }

    pub(crate) fn mcp_servers(&self) -> Vec<McpServer> {
        self.families("mcp.servers.").iter().filter_map(Family::mcp_server).collect()
    }

    /// Refuses families that lack what makes them usable.
    pub(super) fn check_families(&self) -> Result<(), Failure> {
        for family in self.families("providers.") {
            family.provider().ok_or_else(|| family.lacks("kind"))?;
        }
        for family in self.families("mcp.servers.") {
            family.mcp_server().ok_or_else(|| family.lacks("command"))?;
        }
        Ok(())
    }

    fn families<'a>(&'a self, prefix: &'static str) -> Vec<Family<'a>> {
        let members: BTreeSet<&str> = self
            .settings
            .values()
            .filter(|setting| setting.key.name.starts_with(prefix))
            .filter_map(|setting| setting.member.as_deref())
            .collect();
        members.into_iter().map(|name| Family { config: self, prefix, name }).collect()
    }
}

/// The settings that share a name of the user's choosing.
struct Family<'a> {
    config: &'a Config,
    prefix: &'static str,
    name: &'a str,
}

impl Family<'_> {
    fn provider(&self) -> Option<ProviderConfig> {
        // A provider that is called what it is, or that is known by its name, needs no second word.
        let preset = || Some(Preset::named(self.name)?.api.as_str().to_owned());
        let kind = self.text("kind").or_else(preset).unwrap_or_else(|| self.name.to_owned());
        Some(ProviderConfig {
            name: self.name.to_owned(),
            kind: ProviderKind::named(&kind)?,
            base_url: self.text("base_url"),
            api_key_env: self.text("api_key_env"),
            api_key_command: self.text("api_key_command"),
            model: self.text("model"),
            context_window: self.number("context_window"),
            max_retries: self.number("max_retries"),
            timeout_seconds: self.number("timeout_seconds"),
        })
    }

    fn mcp_server(&self) -> Option<McpServer> {
        Some(McpServer {
            name: self.name.to_owned(),
            command: self.text("command")?,
            arguments: self.texts("arguments"),
            environment: self.variables("environment"),
        })
    }

    fn lacks(&self, field: &str) -> Failure {
        let first = self.settings().next();
        let seen =
            first.map(|setting| format!("it is first named in `{}`", setting.origin)).unwrap_or_default();
        let group = format!("{}{}", self.prefix, self.name);
        Failure::invalid(format!("read `{group}`, which has no `{field}`"))
            .because(seen)
            .hint(format!("add `{group}.{field}`"))
    }

    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.config.settings.values().filter(|setting| {
            setting.key.name.starts_with(self.prefix) && setting.member.as_deref() == Some(self.name)
        })
    }

    fn value(&self, field: &str) -> Option<&ConfigValue> {
        let name = format!("{}{}.{field}", self.prefix, keys::dotted(&[self.name]));
        self.config.settings.get(&name).map(|found| &found.value)
    }

    fn text(&self, field: &str) -> Option<String> {
        match self.value(field)? {
            ConfigValue::Text(text) => Some(text.clone()),
            other => unreachable!("`{field}` was checked when it was read: {other:?}"),
        }
    }

    fn number(&self, field: &str) -> Option<u64> {
        match self.value(field)? {
            ConfigValue::Integer(number) => Some(*number),
            other => unreachable!("`{field}` was checked when it was read: {other:?}"),
        }
    }

    fn fraction(&self, field: &str) -> Option<f64> {
        match self.value(field)? {
            ConfigValue::Fraction(number) => Some(*number),
            other => unreachable!("`{field}` was checked when it was read: {other:?}"),
        }
    }

    fn texts(&self, field: &str) -> Vec<String> {
        match self.value(field) {
            None => Vec::new(),
            Some(ConfigValue::Texts(texts)) => texts.clone(),
            Some(other) => unreachable!("`{field}` was checked when it was read: {other:?}"),
        }
    }

    fn variables(&self, field: &str) -> Variables {
        match self.value(field) {
            None => Variables(BTreeMap::new()),
            Some(ConfigValue::Variables(variables)) => variables.clone(),
            Some(other) => unreachable!("`{field}` was checked when it was read: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigOverrides;
    use crate::surroundings::Surroundings;

    fn config(text: &str) -> Config {
        let read = |path: &std::path::Path| Ok(path.starts_with("/home/ada").then(|| text.to_owned()));
        Config::load_from(&Surroundings::imagined(&[]), &ConfigOverrides::default(), &read).unwrap()
    }

    #[test]
    fn a_preset_needs_no_kind() {
        let config = config("provider = \"ollama\"\n[providers.ollama]\nmodel = \"llama\"\n");

        let kinds: Vec<(String, ProviderKind)> =
            config.providers().into_iter().map(|provider| (provider.name, provider.kind)).collect();

        assert_eq!(config.provider(), Some("ollama"));
        assert_eq!(kinds, [("ollama".to_owned(), ProviderKind::OpenaiChat)]);
    }

    #[test]
    fn what_is_known_of_a_model_can_be_partial() {
        let config = config("[models.\"big-1.5\"]\ncontext_window = 1000\noutput_price = 2\n");

        let big = ModelFacts { context_window: Some(1000), input_price: None, output_price: Some(2.0) };
        assert_eq!(config.models(), BTreeMap::from([("big-1.5".to_owned(), big)]));
    }
}
