//! Patterns of one's own.

use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::ops::marker::touches_marker;
use crate::ops::redact::find::{FoundSecret, SecretRule, Weight};

/// A longer pattern is a mistake.
const PATTERN_BYTES: usize = 1_000;

/// How large a pattern may become when it is made ready.
const READY_BYTES: usize = 1 << 20;

/// A pattern of one's own.
#[derive(Clone, Debug)]
pub(super) struct OwnPattern {
    expression: Regex,
    number: usize,
}

impl OwnPattern {
    pub(super) fn new(pattern: &str, number: usize) -> Result<Self> {
        let shown: String = pattern.chars().take(60).collect();
        if pattern.len() > PATTERN_BYTES {
            return Err(Error::invalid(format!(
                "the pattern `{shown}` is longer than {PATTERN_BYTES} bytes"
            )));
        }
        let expression = RegexBuilder::new(pattern)
            .size_limit(READY_BYTES)
            .dfa_size_limit(READY_BYTES)
            .build()
            .map_err(|cause| Error::invalid(format!("`{shown}` is not a pattern")).because(cause))?;
        if expression.is_match("") {
            return Err(Error::invalid(format!("the pattern `{shown}` fits the empty text")));
        }
        Ok(Self { expression, number })
    }

    pub(super) fn find(&self, text: &str) -> Vec<FoundSecret> {
        let captures = self.expression.captures_iter(text);
        let ranges =
            captures.filter_map(|found| found.get(1).or_else(|| found.get(0)).map(|part| part.range()));
        ranges
            .filter(|range| !touches_marker(text, range))
            .map(|range| FoundSecret { range, rule: SecretRule::Own(self.number), weight: Weight::Own })
            .collect()
    }
}
