//! OpenAI Chat Completions, and the many servers that speak it in their own way.

mod calls;
mod request;
mod stream;
mod thoughts;

#[cfg(test)]
mod tests;

use rejoin::view::Recipient;

use crate::error::Result;
use crate::providers::http::VersionedBase;
use crate::providers::wire::{EventReader, Post, Wire};
use crate::providers::{Api, Http, HttpSettings, Request, responses};

impl Http {
    /// A provider that speaks OpenAI Chat Completions.
    pub fn chat(settings: HttpSettings, quirks: Quirks) -> Result<Self> {
        let (provider, effort) = (settings.name.clone(), settings.reasoning_effort.clone());
        let language = Chat { provider, quirks, effort };
        Self::new(settings, Box::new(language), responses::BASE_URL, VersionedBase::Anywhere)
    }
}

/// The Chat Completions language.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    /// The name the provider is configured under: what came from it is sent back to it exactly.
    pub(crate) provider: String,
    /// Where the server differs.
    pub(crate) quirks: Quirks,
    /// How hard the model should think, in the provider's words.
    pub(crate) effort: Option<String>,
}

/// Where servers that speak Chat Completions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Quirks {
    /// The field that limits a reply.
    pub limit: LimitField,
    /// Whether several calls at once have to be asked for.
    pub parallel: ParallelCalls,
}

/// The field that limits the tokens of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LimitField {
    /// `max_tokens`, which almost every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's models that reason insist on.
    MaxCompletionTokens,
}

/// Whether several calls at once have to be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParallelCalls {
    /// The server decides; some refuse to be asked.
    #[default]
    Unasked,
    /// The server allows them only when asked.
    Asked,
}

impl Wire for Chat {
    fn api(&self) -> Api {
        Api::Chat
    }

    fn recipient(&self) -> Recipient {
        Recipient::chat().named(&self.provider)
    }

    fn post(&self, request: &Request<'_>) -> Post {
        Post { path: "chat/completions", headers: Vec::new(), body: request::body(self, request) }
    }

    fn reader(&self, provider: &str, request: &Request<'_>) -> Box<dyn EventReader> {
        Box::new(stream::ChatReader::new(provider, request.model, request.messages.len()))
    }
}
