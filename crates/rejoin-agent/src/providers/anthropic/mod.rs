//! Anthropic Messages: the language of `/v1/messages`, streamed.
//!
//! Everything the model sends is kept in order: thinking with its signature, redacted
//! thinking, tools that run on the server with their results, citations. The next request to
//! the same provider sends it back as it came.

mod history;
mod opened;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use rejoin::view::Recipient;

use crate::error::Result;
use crate::providers::http::VersionedBase;
use crate::providers::wire::{EventReader, Post, Wire};
use crate::providers::{Api, Http, HttpSettings, Request, ThinkingBudget};

/// Where Anthropic itself is.
const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the language, which every request names.
const API_VERSION: &str = "2023-06-01";

/// The language of Anthropic Messages.
#[derive(Clone, Debug)]
pub(crate) struct Anthropic {
    /// The name it is configured under: signatures are valid only where they were made.
    provider: String,
    thinking: ThinkingBudget,
}

impl Http {
    /// A provider that speaks Anthropic Messages. Without a base URL it is Anthropic itself.
    pub fn anthropic(settings: HttpSettings) -> Result<Self> {
        let wire = Anthropic { provider: settings.name.clone(), thinking: settings.thinking };
        Self::new(settings, Box::new(wire), BASE_URL, VersionedBase::Last)
    }
}

impl Wire for Anthropic {
    fn api(&self) -> Api {
        Api::Anthropic
    }

    fn recipient(&self) -> Recipient {
        Recipient::anthropic().named(&self.provider)
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn post(&self, request: &Request<'_>) -> Post {
        Post {
            path: "messages",
            headers: vec![("anthropic-version", API_VERSION.to_owned())],
            body: request::body(self, request),
        }
    }

    fn reader(&self, provider: &str, _request: &Request<'_>) -> Box<dyn EventReader> {
        Box::new(stream::Stream::new(provider))
    }
}
