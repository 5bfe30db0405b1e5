//! Providers: model APIs, each with its own language, behind one trait.
//!
//! A reply comes back as a message whose blocks keep everything the provider sent, in order, so that the next
//! request to the same API replays it exactly. Another API gets the text, the calls and their results.

mod anthropic;
mod chat;
mod complaint;
mod http;
mod key;
mod offline;
mod openai;
mod presets;
#[cfg(test)]
mod replay;
mod responses;
mod sse;
mod windows;
mod wire;
#[cfg(test)]
mod written;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

pub use chat::{LimitField, ParallelCalls, Quirks};
pub use http::{Http, HttpSettings, ThinkingBudget};
pub use key::{ApiKey, KeyLookup, KeySource};
pub use offline::Offline;
pub use presets::{Preset, presets};
use rejoin::view::{Recipient, Viewed};
use rejoin::{Block, Json, Message};
pub use windows::context_window;

use crate::error::Result;

/// A future that a trait object can return.
pub type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// Called with each piece of a reply as it arrives.
pub type Listener<'a> = dyn FnMut(Piece) + Send + 'a;

/// A model API.
pub trait Provider: fmt::Debug + Send + Sync {
    /// The name it is configured under.
    fn name(&self) -> &str;

    /// The language it speaks.
    fn api(&self) -> Api;

    /// What it can take: a view that is sent to it must be made for this.
    fn recipient(&self) -> Recipient {
        Recipient::new(self.api().as_str())
    }

    /// The text that would be posted for a request; none when nothing is sent anywhere.
    fn written(&self, _request: &Request<'_>) -> Option<String> {
        None
    }

    /// The models that it offers, in its own order; none when it has no list.
    fn models(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Asks for a reply, and tells the listener what arrives.
    ///
    /// Dropping the future ends the request. Failures that may pass are tried again inside, and told.
    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>>;
}

/// The languages that providers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and the many servers that speak it.
    Chat,
    /// No model: answers from the conversation itself.
    Offline,
}

impl Api {
    /// Every language.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Chat, Self::Offline];

    /// The name in configuration, and in the `api` field of a stored reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "openai-responses",
            Self::Chat => "openai-chat",
            Self::Offline => "offline",
        }
    }
}

/// What a provider is asked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which model.
    pub model: &'a str,
    /// The initial context: who the model is and what it works on.
    pub system: &'a str,
    /// The view of the conversation for this provider, oldest first, ending with what is to be answered.
    pub messages: &'a [Viewed<'a>],
    /// The tools it may ask for.
    pub tools: &'a [ToolSpec],
    /// The most tokens to write, if that is limited.
    pub max_tokens: Option<u64>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Json,
}

/// A piece of a reply, as it arrives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Piece {
    /// More text of the current block.
    Text(String),
    /// More thinking of the current block.
    Thinking(String),
    /// The model began to ask for a tool.
    Call {
        /// Which.
        name: String,
    },
    /// A block is complete. It stands for the pieces since the last one.
    Finished(Block),
    /// The attempt failed and everything told so far of this reply is void; another follows after a wait.
    Again {
        /// Why.
        reason: String,
        /// How many attempts have failed.
        failed: u32,
        /// How long until the next.
        wait: Duration,
    },
}

/// A finished reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The assistant's message, with usage, finish reason, and in its `extra`: `provider`, `api`, `model`
    /// and the provider's own id of the reply.
    pub message: Message,
    /// What the finish reason means for the loop.
    pub stop: Stop,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It said what it had to say.
    Done,
    /// It waits for the results of tools.
    Tools,
    /// It reached the limit of tokens.
    Length,
    /// The provider paused a long reply; the same request with the reply added goes on.
    Paused,
    /// The provider stopped it, for instance because of a policy.
    Refused,
}
