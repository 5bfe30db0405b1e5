//! How a provider is reached.

use std::time::Duration;

use crate::providers::KeySource;

/// How a provider is reached over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The name it is configured under.
    pub name: String,
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
    /// How many tokens the model may think before it speaks, for an API that has such a setting. Off when not set.
    pub thinking_tokens: Option<u64>,
    /// How hard the model should think, in the provider's words such as `high`, for an API that has such a setting.
    pub reasoning_effort: Option<String>,
    /// How its thinking should be summarised, in the provider's words such as `auto`, for an API that has such a
    /// setting.
    pub reasoning_summary: Option<String>,
}

impl HttpSettings {
    /// What most providers need.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: None,
            key: KeySource::None,
            max_retries: 4,
            first_wait: Duration::from_millis(500),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(300),
            thinking_tokens: None,
            reasoning_effort: None,
            reasoning_summary: None,
        }
    }
}
