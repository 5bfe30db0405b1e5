//! What was taken out: which rules, how often, and the hashes that were told.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{PrivacyNotes, Redacted};
use crate::ops::redact::find::SecretRule;

/// What was taken out.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedactionTally {
    counts: BTreeMap<SecretRule, u64>,
    tokens: BTreeSet<String>,
}

impl RedactionTally {
    pub(super) fn add(&mut self, rule: SecretRule, token: &str) {
        *self.counts.entry(rule).or_default() += 1;
        self.tokens.insert(token.to_owned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds what was taken out elsewhere.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (rule, count) in &other.counts {
            *self.counts.entry(*rule).or_default() += count;
        }
        self.tokens.extend(other.tokens.iter().cloned());
    }

    /// The rules by name, with how often each took something out.
    pub(crate) fn to_redacted(&self) -> Vec<Redacted> {
        self.counts.iter().map(|(rule, count)| Redacted { rule: rule.to_string(), count: *count }).collect()
    }

    /// What a message says about it, beside what it said before.
    pub(crate) fn to_notes(&self, before: Option<&PrivacyNotes>) -> PrivacyNotes {
        let before = before.cloned().unwrap_or_default();
        let rules: BTreeSet<String> =
            before.redaction_rules.into_iter().chain(self.counts.keys().map(SecretRule::to_string)).collect();
        let tokens: BTreeSet<String> = before.tokens.into_iter().chain(self.tokens.iter().cloned()).collect();
        PrivacyNotes {
            contains_secrets: before.contains_secrets || self.counts.keys().any(|rule| !rule.is_personal()),
            redaction_rules: rules.into_iter().collect(),
            tokens: tokens.into_iter().collect(),
        }
    }
}
