//! The numbers of a conversation that stay in plaintext, beside those of its messages.
//!
//! The trailer has them too, encrypted, and every commit that changes one of them replaces it. What a
//! commit adds is added to what the trailer said before, not to what stands in plaintext: a number that
//! somebody changed does not become right by the next write. Counters that follow from messages are not
//! in the trailer: a check counts again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::model::{Branch, MessageId};
use crate::store::Version;
use crate::store::backend::{Amend, Amendment, Node, Removal, State};

/// The numbers of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationNumbers {
    pub(crate) version: Version,
    /// The sequence of the next message.
    pub(crate) next: u32,
    pub(crate) messages: u64,
    /// The sequence of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<u32>,
    /// The inner names of branches and of their heads, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) branches: Vec<(MessageId, MessageId)>,
}

impl ConversationNumbers {
    /// The numbers as the backend has them.
    pub(crate) fn of(state: &State, branches: &[Branch]) -> Self {
        Self {
            version: state.version,
            next: state.next,
            messages: state.messages,
            head: state.head,
            branches: pairs(branches),
        }
    }

    /// The numbers of a conversation that is being made.
    pub(crate) const fn first() -> Self {
        Self { version: 1, next: 1, messages: 0, head: None, branches: Vec::new() }
    }

    /// Takes in so many new messages, the inner name and the sequence of the
    /// last, and the branch that ends there.
    pub(crate) fn append(&mut self, many: usize, (id, seq): (MessageId, u32), branch: Option<MessageId>) {
        self.next = self.next.wrapping_add(u32::try_from(many).unwrap_or(u32::MAX));
        self.messages = self.messages.wrapping_add(many as u64);
        self.head = Some(seq);
        if let Some(branch) = branch {
            self.move_branch(branch, id);
        }
    }

    /// Takes in a change of a conversation that is in this state, in the backend's terms.
    pub(crate) fn amend(&mut self, state: &State, amend: &Amend<'_>) {
        self.add_versions(state, amend.version);
        match &amend.change {
            Amendment::Head(head) => self.head = head.map(|(_, seq)| seq),
            Amendment::Branch(branch, _) => {
                if !self.move_branch(branch.id, branch.head) {
                    self.branches.push((branch.id, branch.head));
                }
            }
            Amendment::Unbranch(id) => self.branches.retain(|(own, _)| own != id),
            Amendment::Header(..) | Amendment::Note(..) | Amendment::Rewrite(..) => {}
        }
    }

    /// Takes in a removal from a conversation that is in this state and has
    /// these branches, in the backend's terms.
    pub(crate) fn remove(&mut self, state: &State, before: &[Branch], removal: &Removal<'_>) {
        self.add_versions(state, removal.version);
        self.messages = self.messages.wrapping_sub(removal.going.len() as u64);
        if self.loses_head(removal) {
            self.head = removal.head.map(|(_, seq)| seq);
        }
        for branch in before {
            match removal.branches.iter().find(|(left, _)| left.id == branch.id) {
                None => self.branches.retain(|(own, _)| *own != branch.id),
                Some((left, _)) if left.head != branch.head => {
                    self.move_branch(branch.id, left.head);
                }
                Some(_) => {}
            }
        }
    }

    /// True when a removal takes the head. If it does not, the head beside these numbers says
    /// nothing: somebody may have changed it.
    pub(crate) fn loses_head(&self, removal: &Removal<'_>) -> bool {
        removal.going.iter().any(|node| Some(node.seq) == self.head)
    }

    fn add_versions(&mut self, state: &State, version: Version) {
        self.version = self.version.wrapping_add(version.wrapping_sub(state.version));
    }

    /// False when there is no such branch.
    fn move_branch(&mut self, id: MessageId, head: MessageId) -> bool {
        let own = self.branches.iter_mut().find(|(own, _)| *own == id);
        own.map(|own| own.1 = head).is_some()
    }

    /// Names those that are not what they should be.
    pub(crate) fn differences(&self, found: &Self) -> Vec<String> {
        let mut told = Vec::new();
        let mut compare = |what: &str, found: u64, sealed: u64| {
            if found != sealed {
                told.push(format!("its {what} is {found}, and should be {sealed}"));
            }
        };
        compare("version", found.version, self.version);
        compare("next number", found.next.into(), self.next.into());
        compare("count of messages", found.messages, self.messages);
        if found.head != self.head {
            let number = |head: Option<u32>| head.map_or_else(|| "none".to_owned(), |head| head.to_string());
            told.push(format!("its head is {}, and should be {}", number(found.head), number(self.head)));
        }
        if found.branches != self.branches {
            told.push("its branches, their order or their heads are not those it should have".to_owned());
        }
        told
    }
}

fn pairs(branches: &[Branch]) -> Vec<(MessageId, MessageId)> {
    branches.iter().map(|branch| (branch.id, branch.head)).collect()
}

/// Counters that follow from messages, counted again.
#[derive(Default)]
pub(crate) struct Recount {
    nodes: Vec<Node>,
    /// How many messages name one as their parent, by its sequence.
    children: HashMap<u32, u32>,
}

impl Recount {
    /// Takes in a message, in order of sequence.
    pub(crate) fn add(&mut self, node: &Node) {
        if let Some(parent) = node.parent {
            *self.children.entry(parent).or_default() += 1;
        }
        self.nodes.push(*node);
    }

    /// Names counters that are not what the messages say.
    pub(crate) fn differences(&self, state: &State) -> Vec<String> {
        let mut told = Vec::new();
        let mut compare = |what: String, found: u64, counted: u64| {
            if found != counted {
                told.push(format!("{what} is {found}, and should be {counted}"));
            }
        };
        let roots = self.nodes.iter().filter(|node| node.parent.is_none()).count();
        compare("its count of roots".to_owned(), state.roots.into(), roots as u64);
        let bytes = self.nodes.iter().map(|node| node.size).sum();
        compare("its count of bytes".to_owned(), state.bytes, bytes);
        let mut depths: HashMap<u32, u32> = HashMap::new();
        for node in &self.nodes {
            let children = self.children.get(&node.seq).copied().unwrap_or(0);
            compare(
                format!("the count of children of message {}", node.seq),
                node.children.into(),
                children.into(),
            );
            // Of a parent that is missing, the backend tells.
            let depth = node.parent.map_or(Some(0), |parent| Some(depths.get(&parent)?.saturating_add(1)));
            let depth = depth.unwrap_or(node.depth);
            compare(format!("the depth of message {}", node.seq), node.depth.into(), depth.into());
            depths.insert(node.seq, depth);
        }
        told
    }
}
