//! Assigns messages to conversations, with a few bytes per message and without loading text.

use std::collections::HashMap;

use crate::error::Result;
use crate::formats::Reading;
use crate::formats::cpe::shape::TextKind;
use crate::formats::database::Database;

/// Every message of a database, in the order in which they were written.
pub(super) struct MessageForest {
    nodes: Vec<MessageNode>,
    places: HashMap<String, usize>,
}

/// One message.
pub(super) struct MessageNode {
    /// Its row id.
    pub(super) row: i64,
    /// The index of its parent.
    pub(super) parent: Option<usize>,
    /// Whether it replaces its parent as a summary.
    pub(super) words: TextKind,
    root: Option<usize>,
}

impl MessageForest {
    pub(super) fn of(database: &Database, reading: &mut Reading<'_>) -> Result<Self> {
        let compacts = database.has("messages", &["compaction_parent_id"])?;
        let other = if compacts { "compaction_parent_id" } else { "NULL" };
        let sql = format!(
            "SELECT rowid AS number, id, parent_id, {other} AS stands_for FROM messages ORDER BY rowid"
        );
        let mut forest = Self { nodes: Vec::new(), places: HashMap::new() };
        let mut above: Vec<(Option<String>, Option<String>)> = Vec::new();
        let mut held = database.id_budget();
        database.each(&sql, &[], &mut |row| {
            ["id", "parent_id", "stands_for"]
                .iter()
                .filter_map(|name| row.text(name))
                .try_for_each(|id| held.add(id))?;
            let (Some(id), Some(number)) = (row.word("id"), row.integer("number")) else {
                return reading.skip(database.path(), 0, "a message has no id");
            };
            if forest.places.insert(id, forest.nodes.len()).is_some() {
                reading.skip(database.path(), 0, "two messages have the same id")?;
            }
            above.push((row.word("parent_id"), row.word("stands_for")));
            forest.nodes.push(MessageNode { row: number, parent: None, words: TextKind::Said, root: None });
            Ok(())
        })?;
        for (place, (parent, stands_for)) in above.into_iter().enumerate() {
            let node = &mut forest.nodes[place];
            let find = |name: Option<String>| name.and_then(|name| forest.places.get(&name).copied());
            node.parent = find(parent);
            if node.parent.is_none() {
                node.parent = find(stands_for);
                node.words = if node.parent.is_some() { TextKind::Summary } else { TextKind::Said };
            }
        }
        (0..forest.nodes.len()).for_each(|place| forest.find_root(place));
        Ok(forest)
    }

    /// Sets the root of a message and of those above it. A cycle hangs below the first of its messages that
    /// was visited.
    fn find_root(&mut self, place: usize) {
        let mut path = Vec::new();
        let mut at = place;
        let root = loop {
            if let Some(root) = self.nodes[at].root {
                break root;
            }
            // Marked during the visit, so that a cycle terminates.
            self.nodes[at].root = Some(place);
            path.push(at);
            match self.nodes[at].parent {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        if path.contains(&root) {
            self.nodes[root].parent = None;
        }
        path.into_iter().for_each(|seen| self.nodes[seen].root = Some(root));
    }

    pub(super) fn node(&self, place: usize) -> &MessageNode {
        &self.nodes[place]
    }

    /// Returns the index of a message.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Returns the root of a message's tree.
    pub(super) fn root_of(&self, place: usize) -> usize {
        self.nodes[place].root.unwrap_or(place)
    }

    /// Returns the trees, each with its root first.
    pub(super) fn trees(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|place| (self.root_of(*place), *place != self.root_of(*place), *place));
        order
            .chunk_by(|one, other| self.root_of(*one) == self.root_of(*other))
            .map(<[usize]>::to_vec)
            .collect()
    }
}
