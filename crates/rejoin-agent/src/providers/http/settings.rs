//! How a provider is reached.

use std::time::Duration;

use crate::providers::KeySource;

/// How a provider is reached over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The name it is configured under.
    pub name: String,
    /// What it is called in messages; its name in backticks when not set.
    pub title: Option<String>,
    /// The command that starts it on this machine.
    pub start: Option<String>,
    /// Where it is, with or without a version such as `/v1`; the API's own address when not set.
    pub base_url: Option<String>,
    /// Where its key comes from.
    pub key: KeySource,
    /// How often a request that failed is tried again.
    pub max_retries: u32,
    /// The wait before the first retry when the provider names none; each further one is twice as long.
    pub first_wait: Duration,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long the provider may be silent. A model may think for minutes before its first word.
    pub idle_timeout: Duration,
    /// How long a list of models may take.
    pub list_timeout: Duration,
    /// How much the model thinks before it speaks, for an API that has such a setting.
    pub thinking: ThinkingBudget,
    /// How hard the model should think, in the provider's words such as `high`,
    /// for an API that has such a setting.
    pub reasoning_effort: Option<String>,
    /// How its thinking should be summarised, in the provider's words such as
    /// `auto`, for an API that has such a setting.
    pub reasoning_summary: Option<String>,
}

/// How much a model thinks before it speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingBudget {
    /// As much as the model does when it is not asked. Older models then do not think.
    #[default]
    Usual,
    /// As much as the model finds right. Older models refuse this.
    Free,
    /// At most so many tokens. Newer models refuse this.
    Tokens(u64),
}

impl HttpSettings {
    /// What most providers need.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            start: None,
            base_url: None,
            key: KeySource::None,
            max_retries: 5,
            first_wait: Duration::from_millis(250),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(300),
            list_timeout: Duration::from_secs(15),
            thinking: ThinkingBudget::Usual,
            reasoning_effort: None,
            reasoning_summary: None,
        }
    }
}
