//! Redaction: secrets are taken out of everything before it is stored, and a marker stands where one was.
//!
//! A marker is `[redacted:github-token:3f9a2c71]`: the rule, and the beginning of a keyed hash, so that
//! equal secrets are seen to be equal and a guess cannot be checked without the key. The key is random and
//! kept outside of the store, or in it when nobody keeps it. What has a marker already is not changed again,
//! so redacting twice is redacting once.

mod find;
mod json;
mod key;
mod message;
mod own;
mod reading;
mod seam;
mod stream;
mod string;
mod tail;
mod tally;
mod text;

use std::fmt;
use std::sync::{Arc, OnceLock};

pub use find::Personal;
use key::Had;
pub(crate) use key::{HashKey, KEY_NAME, KeepKey};
pub(crate) use stream::Cleaning;
pub(crate) use tally::RedactionTally;

use crate::clock::Nature;
use crate::error::Result;
use crate::ops::marker::MARKER;
use crate::ops::redact::find::{FoundSecret, SecretFinder};
use crate::ops::redact::own::OwnPattern;
use crate::store::Store;

/// What is taken out of everything before it is stored.
///
/// Keys and tokens of known vendors, private keys, signed tokens, passwords in addresses
/// and values whose names say that they are secret always are; personal data and patterns
/// of one's own when they are asked for.
#[derive(Clone)]
pub struct Redaction {
    rules: Arc<RedactionRules>,
}

/// The rules, made ready when they are first needed.
#[derive(Clone, Default)]
struct RedactionRules {
    finder: Arc<OnceLock<SecretFinder>>,
    personal: Vec<Personal>,
    own: Vec<OwnPattern>,
    /// The messages, lines and headers that were looked at, and how often each.
    #[cfg(test)]
    looked_at: Arc<std::sync::Mutex<std::collections::BTreeMap<String, usize>>>,
}

impl Redaction {
    /// Takes out secrets of every kind that is known.
    pub fn new() -> Self {
        Self { rules: Arc::default() }
    }

    /// Takes out personal data of these kinds, too.
    #[must_use]
    pub fn with_personal(mut self, kinds: impl IntoIterator<Item = Personal>) -> Self {
        Arc::make_mut(&mut self.rules).personal.extend(kinds);
        self
    }

    /// Takes out what a regular expression finds, too: its first group, or all of it when it has none.
    ///
    /// One that is not well formed, too large, or fits the empty text is an error.
    pub fn with_pattern(mut self, pattern: &str) -> Result<Self> {
        let rules = Arc::make_mut(&mut self.rules);
        rules.own.push(OwnPattern::new(pattern, rules.own.len() + 1)?);
        Ok(self)
    }
}

#[cfg(test)]
impl Redaction {
    /// What was looked at so far, and how often; it is counted anew from here on.
    pub(crate) fn looked_at(&self) -> std::collections::BTreeMap<String, usize> {
        std::mem::take(&mut *self.rules.looked_at.lock().unwrap())
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("personal", &self.rules.personal)
            .field("patterns", &self.rules.own.len())
            .finish()
    }
}

impl RedactionRules {
    fn finder(&self) -> &SecretFinder {
        self.finder.get_or_init(SecretFinder::new)
    }

    /// True when texts without any anchor have to be looked at, too.
    fn are_thorough(&self) -> bool {
        !self.personal.is_empty() || !self.own.is_empty()
    }

    /// Counts a look, in tests: what is looked at twice takes twice as long.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests count"))]
    fn look_at(&self, _text: impl FnOnce() -> String) {
        #[cfg(test)]
        {
            *self.looked_at.lock().unwrap().entry(_text()).or_default() += 1;
        }
    }

    /// Everything to take out of a text, in no order.
    fn find(&self, text: &str) -> Vec<FoundSecret> {
        let mut found = self.finder().secrets(text);
        found.extend(self.personal.iter().flat_map(|kind| kind.find(text)));
        found.extend(self.own.iter().flat_map(|pattern| pattern.find(text)));
        found
    }
}

/// The rules, with the key of the store that things go to.
#[derive(Clone, Copy)]
pub(crate) struct Redactor<'a> {
    rules: &'a RedactionRules,
    key: &'a OnceLock<HashKey>,
    store: &'a dyn Store,
    nature: &'a dyn Nature,
    keep: Option<&'a KeepKey>,
}

impl<'a> Redactor<'a> {
    /// Redacts what goes to a store. `key` remembers the store's key once it was needed.
    pub(crate) fn new(
        redaction: &'a Redaction,
        key: &'a OnceLock<HashKey>,
        store: &'a dyn Store,
        nature: &'a dyn Nature,
    ) -> Self {
        Self { rules: &redaction.rules, key, store, nature, keep: None }
    }

    /// Sets who keeps the key outside of the store.
    pub(crate) const fn keeping_key(mut self, keep: Option<&'a KeepKey>) -> Self {
        self.keep = keep;
        self
    }

    /// A text without its secrets; none when it has none.
    pub(crate) fn text(&self, text: &str, tally: &mut RedactionTally) -> Option<String> {
        let now = text::redact(self, text, tally);
        match self.rules.finder().cut_off(now.as_deref().unwrap_or(text)) {
            Some(range) => {
                let whole = now.as_deref().unwrap_or(text);
                let marker = self.mark(find::SecretRule::Named("cut-secret"), &whole[range.clone()], tally);
                Some([&whole[..range.start], &marker, &whole[range.end..]].concat())
            }
            None => now,
        }
    }

    /// A name without its secrets: the path of a project, or what is remembered under; none when it has none.
    ///
    /// Every list and every start looks one up, and making the finder takes longer than that. So a name that
    /// is too plain to hold a secret is not looked at.
    pub(crate) fn name(&self, name: &str, tally: &mut RedactionTally) -> Option<String> {
        if self.rules.are_thorough() || is_suspect(name) { self.text(name, tally) } else { None }
    }

    /// A line of a file without its secrets, whether it is JSON or not; none when it has none.
    pub(crate) fn line(&self, line: &str, tally: &mut RedactionTally) -> Option<String> {
        self.rules.look_at(|| line.to_owned());
        let is_json =
            line.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
        if is_json { json::redact(self, line, tally) } else { text::redact(self, line, tally) }
    }

    /// The marker that stands for a secret.
    fn mark(&self, rule: find::SecretRule, secret: &str, tally: &mut RedactionTally) -> String {
        let token = self.hash(rule, secret, tally);
        format!("{}{rule}:{token}]", MARKER)
    }

    /// The hash of personal data that a caller wants to be known again.
    fn token(&self, token: &str, tally: &mut RedactionTally) -> String {
        self.hash(find::SecretRule::TOKEN, token, tally)
    }

    fn hash(&self, rule: find::SecretRule, secret: &str, tally: &mut RedactionTally) -> String {
        let token = match self.key.get() {
            Some(key) => key.hash(rule, secret),
            None => self.load_key().hash(rule, secret),
        };
        tally.add(rule, &token);
        token
    }

    /// The store's key. While the store fails, one that nobody keeps: then a secret cannot be told from its
    /// equals, but it is not stored either.
    fn load_key(&self) -> HashKey {
        let mut random = [0; 32];
        self.nature.fill(&mut random);
        let key = match self.keep {
            Some(keep) => HashKey::outside(self.store, keep, random).map(Had::Found),
            None => HashKey::of(self.store, random),
        };
        match key {
            Ok(Had::Found(key)) => self.key.get_or_init(|| key).clone(),
            Ok(Had::Made(key)) => key,
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), "the key of redaction cannot be had");
                HashKey::new(random)
            }
        }
    }
}

/// True unless every part of a name is short, or a word, or an id of hexadecimal digits.
fn is_suspect(name: &str) -> bool {
    let is_plain = |part: &str| {
        part.len() < 16
            || !part.bytes().any(|byte| byte.is_ascii_digit())
            || part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    name.contains(['=', '@']) || !name.split(['/', ':', '.', ' ']).all(is_plain)
}

impl fmt::Debug for Redactor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
