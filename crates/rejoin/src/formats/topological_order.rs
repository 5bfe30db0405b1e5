//! Orders a tree whose source lists it in any order: parents first, siblings by rank.

use std::collections::HashMap;

/// An item with an id and a parent.
pub(super) struct TreeNode<'a> {
    pub(super) id: &'a str,
    pub(super) parent: Option<&'a str>,
    /// Its position among its siblings.
    pub(super) rank: usize,
}

/// Returns the indexes of all nodes, parents before children. Cycles come last, in their original order.
pub(super) fn parents_first(nodes: &[TreeNode<'_>]) -> Vec<usize> {
    let places: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut next = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        match node.parent.and_then(|parent| places.get(parent)) {
            Some(parent) => children.entry(*parent).or_default().push(place),
            None => next.push(place),
        }
    }
    next.reverse();
    let mut order = Vec::with_capacity(nodes.len());
    let mut is_told = vec![false; nodes.len()];
    while let Some(place) = next.pop() {
        is_told[place] = true;
        order.push(place);
        if let Some(mut own) = children.remove(&place) {
            own.sort_by_key(|child| (nodes[*child].rank, *child));
            next.extend(own.into_iter().rev());
        }
    }
    order.extend((0..nodes.len()).filter(|place| !is_told[*place]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first_and_circles_last() {
        let nodes = [
            ("c", Some("b"), 0),
            ("x", Some("y"), 0),
            ("y", Some("x"), 0),
            ("d", Some("a"), 1),
            ("a", None, 0),
            ("b", Some("a"), 0),
            ("e", Some("gone"), 0),
        ]
        .map(|(id, parent, rank)| TreeNode { id, parent, rank });

        let told: String = parents_first(&nodes).into_iter().map(|place| nodes[place].id).collect();

        assert_eq!(told, "abcdexy");
    }
}
