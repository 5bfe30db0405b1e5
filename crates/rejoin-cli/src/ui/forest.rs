//! Orders a flat list of messages into trees, the most recently active branch last.
//!
//! Every message of the list has exactly one place in the forest: one whose parent is not in the list is a
//! root, and so is one of a circle of parents, which only a damaged store can hold. Nothing here recurses,
//! since a conversation can be deeper than the stack.

use std::collections::{HashMap, HashSet};

/// What the forest needs to know of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForestLink<'a> {
    /// The id of the message, different from all others.
    pub(crate) id: &'a str,
    /// The id of the message it answers.
    pub(crate) parent: Option<&'a str>,
    /// When it was made, in microseconds since 1970.
    pub(crate) time: i64,
}

/// Trees of positions in the list they were grown from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forest {
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
}

impl Forest {
    /// Grows the forest. Siblings of the same age keep the order of the list.
    pub(crate) fn grow(links: &[ForestLink<'_>]) -> Self {
        let positions = links.iter().enumerate().map(|(position, link)| (link.id, position));
        let positions = positions.collect::<HashMap<_, _>>();
        let mut parents = links
            .iter()
            .map(|link| link.parent.and_then(|parent| positions.get(parent).copied()))
            .collect::<Vec<_>>();
        let mut children = vec![Vec::new(); links.len()];
        for (position, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(position);
            }
        }

        let order = place(&mut parents, &mut children);
        let mut roots =
            order.iter().copied().filter(|&position| parents[position].is_none()).collect::<Vec<_>>();
        let mut latest = links.iter().map(|link| link.time).collect::<Vec<_>>();
        for &position in order.iter().rev() {
            if let Some(parent) = parents[position] {
                latest[parent] = latest[parent].max(latest[position]);
            }
        }
        for siblings in children.iter_mut().chain([&mut roots]) {
            siblings.sort_by_key(|&position| latest[position]);
        }
        Self { roots, children }
    }

    /// Returns the roots, the most recently active last.
    pub(crate) fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Returns the answers to a message, the most recently active last.
    pub(crate) fn children(&self, position: usize) -> &[usize] {
        &self.children[position]
    }
}

/// Returns all positions, each after its parent, and makes a root of one message of every circle.
fn place(parents: &mut [Option<usize>], children: &mut [Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    let mut is_placed = vec![false; parents.len()];
    let roots = (0..parents.len()).filter(|&position| parents[position].is_none()).collect::<Vec<_>>();
    for start in roots.into_iter().chain(0..parents.len()) {
        if is_placed[start] {
            continue;
        }
        // Whatever no root leads to hangs on a circle.
        let top = top_of(start, parents);
        if let Some(parent) = parents[top].take() {
            children[parent].retain(|&child| child != top);
        }

        let mut next = order.len();
        order.push(top);
        while let Some(&position) = order.get(next) {
            is_placed[position] = true;
            order.extend(&children[position]);
            next += 1;
        }
    }
    order
}

/// Walks up to the root, or around a circle to the first message met twice.
fn top_of(start: usize, parents: &[Option<usize>]) -> usize {
    let mut met = HashSet::new();
    let mut top = start;
    while met.insert(top) {
        let Some(parent) = parents[top] else {
            break;
        };
        top = parent;
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grow(links: &[(&'static str, Option<&'static str>, i64)]) -> Forest {
        let links = links.iter().map(|&(id, parent, time)| ForestLink { id, parent, time });
        Forest::grow(&links.collect::<Vec<_>>())
    }

    #[test]
    fn siblings_and_roots_are_sorted_by_their_latest_descendant() {
        let forest = grow(&[
            ("old root, new answer", None, 1),
            ("new root", None, 5),
            ("early branch, late leaf", Some("old root, new answer"), 2),
            ("late branch", Some("old root, new answer"), 3),
            ("late leaf", Some("early branch, late leaf"), 9),
        ]);

        let expected =
            Forest { roots: vec![1, 0], children: vec![vec![3, 2], vec![], vec![4], vec![], vec![]] };
        assert_eq!(forest, expected);
    }

    #[test]
    fn a_message_without_its_parent_is_a_root() {
        let forest = grow(&[("a", Some("not in the list"), 2), ("b", Some("a"), 1)]);

        assert_eq!(forest, Forest { roots: vec![0], children: vec![vec![1], vec![]] });
    }

    #[test]
    fn a_circle_of_parents_is_cut_and_loses_nothing() {
        let forest = grow(&[
            ("tail", Some("b"), 1),
            ("a", Some("b"), 2),
            ("b", Some("a"), 3),
            ("self", Some("self"), 4),
        ]);

        let expected = Forest { roots: vec![2, 3], children: vec![vec![], vec![], vec![0, 1], vec![]] };
        assert_eq!(forest, expected);
    }

    #[test]
    fn an_answer_may_stand_before_its_question_in_the_list() {
        let forest = grow(&[("b", Some("a"), 2), ("a", None, 1)]);

        assert_eq!(forest, Forest { roots: vec![1], children: vec![vec![], vec![0]] });
    }
}
