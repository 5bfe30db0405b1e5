//! How many tokens the next request has: what the provider counted last, and an estimate of the rest.
//!
//! Nothing is counted while bytes alone show that there is room: no token is shorter than a byte.

use std::sync::OnceLock;

use crate::providers::ToolSpec;
use crate::talk::{CountedBy, Talk};
use crate::tokens;

/// What a tool costs beside its words.
const TOOL_TOKENS: u64 = 8;

/// What comes before every view: the system prompt and the tools.
#[derive(Debug, Default)]
pub(super) struct Initial {
    system: String,
    specs: Vec<ToolSpec>,
    tokens: OnceLock<u64>,
}

impl Initial {
    pub(super) fn new(system: &str, specs: Vec<ToolSpec>) -> Self {
        Self { system: system.to_owned(), specs, tokens: OnceLock::new() }
    }

    /// Takes over what is sent next.
    pub(super) fn update(&mut self, system: &str, specs: Vec<ToolSpec>) {
        if self.system != system || self.specs != specs {
            *self = Self::new(system, specs);
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let specs = self.specs.iter();
        let specs = specs.flat_map(|spec| [&*spec.name, &*spec.description, spec.input_schema.as_str()]);
        std::iter::once(self.system.as_str()).chain(specs)
    }

    fn overhead(&self) -> u64 {
        self.specs.len() as u64 * TOOL_TOKENS
    }

    fn most(&self) -> u64 {
        let bytes = self.texts().map(|text| text.len() as u64).sum::<u64>() + self.overhead();
        self.tokens.get().copied().unwrap_or(bytes)
    }

    fn guess(&self) -> u64 {
        self.tokens.get().copied().unwrap_or_else(|| self.most().div_ceil(4))
    }

    pub(super) fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| self.texts().map(tokens::count).sum::<u64>() + self.overhead())
    }
}

impl Talk {
    /// The tokens of the next request. They are only guessed while there cannot be more than `limit`.
    pub(super) fn weigh(&self, limit: Option<u64>) -> u64 {
        let known = self.history.known(|reply| self.compactor.is_by(&self.model, reply));
        let initial = match known.by {
            CountedBy::Provider => None,
            CountedBy::Estimate => Some(&self.compactor.initial),
        };
        let sum = |initial: u64, said: u64| known.tokens.saturating_add(initial).saturating_add(said);
        let most = sum(initial.map_or(0, Initial::most), self.history.most_tokens(known.from));
        if limit.is_none_or(|limit| most <= limit) {
            return sum(initial.map_or(0, Initial::guess), self.history.guessed_tokens(known.from));
        }
        sum(initial.map_or(0, Initial::tokens), self.history.tokens(known.from, &tokens::count))
    }
}
