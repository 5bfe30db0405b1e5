//! Which lines of a tree are messages, and which are not: whatever follows one of the others follows what that follows.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The lines of a tree, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// The names of messages, as hashes, so that one takes a few bytes.
    told: HashSet<u64>,
    hasher: RandomState,
    /// The lines that were passed over, with the line above each.
    passed: HashMap<String, Option<String>>,
}

impl Lineage {
    /// Learns of a message.
    pub(super) fn add(&mut self, message: &str) {
        self.told.insert(self.hasher.hash_one(message));
        if !self.passed.is_empty() {
            self.passed.remove(message);
        }
    }

    pub(super) fn has_message(&self, message: &str) -> bool {
        self.told.contains(&self.hasher.hash_one(message))
    }

    /// Passes over a line. Under the name of a message it would take the message from the path, and is not counted.
    ///
    /// What is above it is looked up now and never again, so that lines which follow each other in a circle end.
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

    /// A line, or the one above it that was not passed over; none when that is a root.
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
