//! Which lines of a tree are messages and which were skipped: a child of a skipped line becomes a child of
//! that line's parent.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The lines of a tree that were read so far.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// The ids of messages, as hashes to save memory.
    messages: HashSet<u64>,
    hasher: RandomState,
    /// The skipped lines, each with the nearest message above it.
    passed: HashMap<String, Option<String>>,
}

impl Lineage {
    /// Adds a message.
    pub(super) fn add(&mut self, message: &str) {
        self.messages.insert(self.hasher.hash_one(message));
        if !self.passed.is_empty() {
            self.passed.remove(message);
        }
    }

    pub(super) fn has_message(&self, message: &str) -> bool {
        self.messages.contains(&self.hasher.hash_one(message))
    }

    /// Skips a line. A line with the id of a message is ignored, because it would take the message off the
    /// path.
    ///
    /// The message above is resolved here and never again, so that lines in a cycle terminate.
    pub(super) fn skip(&mut self, line: String, parent: Option<&str>) {
        if self.has_message(&line) {
            return;
        }
        let above = parent.and_then(|parent| self.nearest_message(parent)).filter(|above| *above != line);
        let above = above.map(str::to_owned);
        self.passed.insert(line, above);
    }

    pub(super) fn is_skipped(&self, line: &str) -> bool {
        self.passed.contains_key(line)
    }

    /// Returns the line itself, or the nearest message above it if it was skipped; none if that is a root.
    pub(super) fn nearest_message<'s>(&'s self, line: &'s str) -> Option<&'s str> {
        self.passed.get(line).map_or(Some(line), Option::as_deref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_passed_lines_leads_to_the_message_above_it() {
        let mut lines = Lineage::default();

        lines.add("a");
        lines.skip("b".to_owned(), Some("a"));
        lines.skip("c".to_owned(), Some("b"));
        lines.skip("d".to_owned(), None);

        assert_eq!(
            ["a", "b", "c", "d"].map(|line| lines.nearest_message(line)),
            [Some("a"), Some("a"), Some("a"), None]
        );
    }

    #[test]
    fn lines_that_follow_each_other_in_a_circle_end_somewhere() {
        let mut lines = Lineage::default();

        for (line, parent) in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")] {
            lines.skip(line.to_owned(), Some(parent));
        }

        assert_eq!(lines.nearest_message("d"), None);
        assert_eq!(["a", "b", "c"].map(|line| lines.nearest_message(line).is_some()), [true; 3]);
    }

    #[test]
    fn a_name_stands_for_the_message_whichever_comes_first() {
        let (mut before, mut after) = (Lineage::default(), Lineage::default());

        before.add("b");
        before.skip("b".to_owned(), Some("a"));
        after.skip("b".to_owned(), Some("a"));
        after.add("b");

        assert_eq!([before.nearest_message("b"), after.nearest_message("b")], [Some("b"); 2]);
    }
}
