//! A text without its secrets.

use std::ops::Range;

use crate::ops::redact::find::{SecretRule, Weight};
use crate::ops::redact::reading::{TextReading, original, unbroken};
use crate::ops::redact::{RedactionRules, RedactionTally, Redactor};

/// A text in a text in a text in a text: deeper nothing is looked for.
const DEPTH: usize = 4;

/// What stands beside a secret may become one when that is gone; so often it is looked again.
const PASSES: usize = 8;

/// A secret and where it stands.
struct SecretSpan {
    range: Range<usize>,
    rule: SecretRule,
    weight: Weight,
    /// As it was read.
    secret: String,
}

/// A text without its secrets; none when it has none.
pub(super) fn redact(redactor: &Redactor<'_>, text: &str, tally: &mut RedactionTally) -> Option<String> {
    redact_joined(redactor, text, &mut [], tally)
}

/// The same for texts that are read as one. All but the first begin at `seams`, and at other places
/// afterwards; a secret that goes over a seam leaves its marker on both sides.
pub(super) fn redact_joined(
    redactor: &Redactor<'_>,
    text: &str,
    seams: &mut [usize],
    tally: &mut RedactionTally,
) -> Option<String> {
    let mut current: Option<String> = None;
    for _ in 0..PASSES {
        let now = current.as_deref().unwrap_or(text);
        let spans = spans(redactor.rules, now);
        if spans.is_empty() {
            break;
        }
        let mut next = String::with_capacity(now.len());
        let mut copied = 0;
        let mut seams = seams.iter_mut().peekable();
        for SecretSpan { range, rule, secret, .. } in &spans {
            next.push_str(&now[copied..range.start]);
            while let Some(seam) = seams.next_if(|seam| **seam <= range.start) {
                *seam = next.len() - (range.start - *seam);
            }
            let marker = redactor.mark(*rule, secret, tally);
            next.push_str(&marker);
            while let Some(seam) = seams.next_if(|seam| **seam < range.end) {
                *seam = next.len();
                next.push_str(&marker);
            }
            copied = range.end;
        }
        next.push_str(&now[copied..]);
        seams.for_each(|seam| *seam = next.len() - (now.len() - *seam));
        current = Some(next);
    }
    current
}

/// The secrets of a text in every reading, in order, none over another.
fn spans(rules: &RedactionRules, text: &str) -> Vec<SecretSpan> {
    let mut all = Vec::new();
    let mut readings = vec![TextReading::of(text)];
    while let Some(reading) = readings.last() {
        let next = if readings.len() < DEPTH { reading.unescaped() } else { None };
        let (depth, others) = (readings.len(), reading.others());
        add_spans(rules, &readings, &mut all);
        for other in others {
            readings.push(other);
            add_spans(rules, &readings, &mut all);
        }
        readings.truncate(depth);
        match next {
            Some(next) => readings.push(next),
            None => break,
        }
    }
    all.retain(|span| !span.range.is_empty());
    all.sort_by_key(|span| (span.range.start, span.range.end));
    let mut apart: Vec<SecretSpan> = Vec::with_capacity(all.len());
    for span in all {
        match apart.last_mut() {
            Some(last) if span.range.start < last.range.end => last.join(span),
            _ => apart.push(span),
        }
    }
    apart
}

/// Adds the secrets of the last of these readings.
fn add_spans(rules: &RedactionRules, readings: &[TextReading<'_>], all: &mut Vec<SecretSpan>) {
    let Some(reading) = readings.last() else { return };
    for found in rules.find(&reading.text) {
        let range = original(readings, &unbroken(&reading.text, &found.range));
        let secret = reading.text[found.range].to_owned();
        all.push(SecretSpan { range, rule: found.rule, weight: found.weight, secret });
    }
}

impl SecretSpan {
    /// Becomes both; the rule that knows more gives the name.
    fn join(&mut self, other: Self) {
        let end = self.range.end.max(other.range.end);
        if other.weight > self.weight || other.weight == self.weight && other.secret.len() > self.secret.len()
        {
            (self.rule, self.weight, self.secret) = (other.rule, other.weight, other.secret);
        }
        self.range.end = end;
    }
}
