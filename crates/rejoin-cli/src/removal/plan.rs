//! What is about to go: shown line by line, asked about, and then done.

use super::{Fate, LISTED, RemovalReport};
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::ui::consent::{ConsentLine, ConsentText};

/// What a command is about to remove, in the order in which it goes.
#[derive(Debug)]
pub(crate) struct RemovalPlan<T> {
    pub(crate) items: Vec<T>,
}

impl<T> RemovalPlan<T> {
    pub(crate) const fn of(items: Vec<T>) -> Self {
        Self { items }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// A heading and the first items, a line for each. `advice` says where the rest can be seen.
    pub(crate) fn lines(&self, heading: &str, line: impl FnMut(&T) -> String, advice: &str) -> Vec<String> {
        let mut shown = vec![heading.to_owned()];
        shown.extend(self.items.iter().take(LISTED).map(line));
        if self.items.len() > LISTED {
            shown.push(format!("  and {} more{advice}", self.items.len() - LISTED));
        }
        shown
    }

    /// Shows lines about what will go, and asks.
    pub(crate) fn confirm_lines(
        &self,
        lines: &[String],
        question: &str,
        consent: Consent,
        context: &Context,
    ) -> Result<(), Failure> {
        self.confirm(&ConsentText::lines(lines.iter().map(String::as_str)), question, consent, context)
    }

    /// Shows what will go, and asks.
    pub(crate) fn confirm(
        &self,
        shown: &ConsentText,
        question: &str,
        consent: Consent,
        context: &Context,
    ) -> Result<(), Failure> {
        context.confirm_shown(&ConsentLine::report(shown), &ConsentText::line(question), consent)
    }

    /// The report of a dry run: everything would go.
    pub(crate) fn planned(&self) -> RemovalReport<&T> {
        RemovalReport::of(self.items.iter().map(|item| (item, Fate::Planned)).collect())
    }

    /// Removes one item after the other. A failure does not keep the rest.
    pub(crate) fn carry_out(&self, mut remove: impl FnMut(&T) -> Fate) -> RemovalReport<&T> {
        RemovalReport::of(self.items.iter().map(|item| (item, remove(item))).collect())
    }
}
