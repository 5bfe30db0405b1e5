//! OpenAI Responses: items with ids, reasoning that only the provider can read, phases.

mod items;
mod request;
mod stream;

#[cfg(test)]
mod tests;

use rejoin::view::Recipient;

use crate::error::Result;
use crate::providers::http::VersionedBase;
use crate::providers::wire::{EventReader, Post, Wire};
use crate::providers::{Api, Http, HttpSettings, Request};

/// Where the API is when the settings do not say.
pub(crate) const BASE_URL: &str = "https://api.openai.com/v1";

impl Http {
    /// A provider that speaks OpenAI Responses.
    pub fn responses(settings: HttpSettings) -> Result<Self> {
        let language = Responses {
            provider: settings.name.clone(),
            effort: settings.reasoning_effort.clone(),
            summary: settings.reasoning_summary.clone(),
        };
        Self::new(settings, Box::new(language), BASE_URL, VersionedBase::Anywhere)
    }
}

/// The Responses language.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses {
    /// The name the provider is configured under: what came from it is sent back to it exactly.
    pub(crate) provider: String,
    /// How hard the model should think, in the provider's words.
    pub(crate) effort: Option<String>,
    /// How its thinking should be summarised, in the provider's words.
    pub(crate) summary: Option<String>,
}

impl Wire for Responses {
    fn api(&self) -> Api {
        Api::Responses
    }

    fn recipient(&self) -> Recipient {
        Recipient::responses().named(&self.provider)
    }

    fn post(&self, request: &Request<'_>) -> Post {
        Post { path: "responses", headers: Vec::new(), body: request::body(self, request) }
    }

    fn reader(&self, provider: &str, request: &Request<'_>) -> Box<dyn EventReader> {
        Box::new(stream::ResponsesReader::new(provider, request.model))
    }
}
