//! How many tokens the next request has: what the provider counted last, and an estimate of the rest.
//!
//! Nothing is counted while bytes alone show that there is room: no token is shorter than a byte.

use std::sync::OnceLock;

use crate::providers::{Request, ToolSpec};
use crate::talk::{CountedBy, KnownTokens, Talk};
use crate::tokens::Estimate;

/// What comes before every view: the system prompt and the tools.
#[derive(Debug, Default)]
pub(super) struct ViewPrefix {
    system: String,
    specs: Vec<ToolSpec>,
    tokens: OnceLock<u64>,
}

impl ViewPrefix {
    pub(super) fn new(system: &str, specs: Vec<ToolSpec>) -> Self {
        Self { system: system.to_owned(), specs, tokens: OnceLock::new() }
    }

    /// Takes over what is sent next.
    pub(super) fn update(&mut self, system: &str, specs: Vec<ToolSpec>) {
        if self.system != system || self.specs != specs {
            *self = Self::new(system, specs);
        }
    }

    fn request(&self) -> Request<'_> {
        Request { model: "", system: &self.system, messages: &[], tools: &self.specs, max_tokens: None }
    }

    /// More tokens than there can be, without counting.
    fn most(&self, estimate: &Estimate) -> u64 {
        self.tokens.get().copied().unwrap_or_else(|| estimate.request_at_most(&self.request()))
    }

    /// A guess without counting.
    fn guess(&self, estimate: &Estimate) -> u64 {
        self.tokens.get().copied().unwrap_or_else(|| self.most(estimate).div_ceil(4))
    }

    pub(super) fn tokens(&self, estimate: &Estimate) -> u64 {
        *self.tokens.get_or_init(|| estimate.request(&self.request()))
    }
}

impl Talk {
    /// How the model that is asked counts.
    pub(super) fn estimate(&self) -> Estimate {
        Estimate::of(self.provider.api(), &self.model)
    }

    /// What is known of the tokens of the next request without counting.
    pub(super) fn known(&self) -> KnownTokens {
        self.history.known(|reply| self.compactor.is_by(&self.model, reply))
    }

    /// The tokens of the next request. They are only guessed while there cannot be more than `limit`.
    pub(super) fn weigh(&self, limit: Option<u64>) -> u64 {
        let (history, estimate) = (&self.history, &self.estimate());
        let known = self.known();
        let initial = match known.by {
            CountedBy::Provider => None,
            CountedBy::Estimate => Some(&self.compactor.initial),
        };
        let sum = |initial: Option<u64>, said: u64| {
            known.tokens.saturating_add(initial.unwrap_or(0)).saturating_add(said)
        };
        let most = initial.map(|initial| initial.most(estimate));
        if limit.is_none_or(|limit| sum(most, history.most_tokens(known.from, estimate)) <= limit) {
            let guess = initial.map(|initial| initial.guess(estimate));
            return sum(guess, history.guessed_tokens(known.from, estimate));
        }
        let counted = initial.map(|initial| initial.tokens(estimate));
        sum(counted, history.tokens(known.from, |message| estimate.message(message)))
    }
}
