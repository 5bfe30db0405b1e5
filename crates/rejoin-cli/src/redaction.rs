//! What is taken out before anything is stored: as the configuration says, and as a person is told.

use rejoin::{Personal, Redacted, Redaction};

use crate::context::Context;
use crate::error::Failure;
use crate::ui::size;

/// What the configuration wants to be taken out; none when it wants nothing.
pub(crate) fn wanted(context: &Context) -> Result<Option<Redaction>, Failure> {
    if !context.config.redact_enabled() {
        return Ok(None);
    }
    let kinds = context.config.redact_personal().iter().map(|kind| kind.parse::<Personal>());
    let mut redaction = Redaction::new().with_personal(kinds.collect::<rejoin::Result<Vec<_>>>()?);
    for pattern in context.config.redact_patterns() {
        redaction = redaction.with_pattern(pattern)?;
    }
    Ok(Some(redaction))
}

/// What was taken out during a turn.
#[derive(Debug, Default)]
pub(crate) struct Taken(Vec<Redacted>);

impl Taken {
    /// Adds what was taken out of one append.
    pub(crate) fn add(&mut self, more: &[Redacted]) {
        for one in more {
            match self.0.iter_mut().find(|own| own.rule == one.rule) {
                Some(own) => own.count += one.count,
                None => self.0.push(one.clone()),
            }
        }
    }

    /// The sentence that tells it; none when there is nothing to tell.
    pub(crate) fn told(&self) -> Option<String> {
        told(&self.0)
    }
}

/// The sentence that tells what was taken out; none when nothing was.
pub(crate) fn told(redacted: &[Redacted]) -> Option<String> {
    let count: u64 = redacted.iter().map(|one| one.count).sum();
    let rules: Vec<String> = redacted
        .iter()
        .map(|one| match one.count {
            1 => one.rule.clone(),
            count => format!("{} ({count})", one.rule),
        })
        .collect();
    let values = size::count(count, "secret is", "secrets are");
    (count > 0).then(|| format!("{values} not stored; a marker stands there instead: {}.", rules.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_out_is_told_once_with_its_rules() {
        let one = |rule: &str, count| Redacted { rule: rule.to_owned(), count };
        let mut taken = Taken::default();

        let before = taken.told();
        taken.add(&[one("github-token", 1)]);
        taken.add(&[one("github-token", 1), one("env-line", 1)]);

        assert_eq!(before, None);
        let expected = "3 secrets are not stored; a marker stands there instead: github-token (2), env-line.";
        assert_eq!(taken.told().as_deref(), Some(expected));
    }
}
