//! One conversation in memory: what is known of it, and its messages in order of sequence.
//!
//! Backends that hold conversations apply decided edits to it, and answer decisions from it. Where a
//! message's body is, they say themselves.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::{Branch, ConversationId, Head, MessageId, Time};
use crate::store::backend::{
    Amendment, Append, ConversationRow, Edit, MessageRow, NewBody, NewConversation, NewMessage, Node,
    Removal, State, Which, taken,
};
use crate::store::{Facets, Order, Version};

/// A conversation in memory, for backends that hold theirs.
///
/// Each message has a `T`, which is its body where [`Self::apply`] and [`Self::visit`] are used. It is
/// serialized as it is, so a backend that rewrites whole conversations can store it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConversationTree<T> {
    pub(crate) version: Version,
    pub(crate) facets: Facets,
    pub(crate) header: Vec<u8>,
    pub(crate) created: Time,
    pub(crate) active: Time,
    pub(crate) head: Option<u32>,
    pub(crate) next: u32,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    pub(crate) branches: Vec<Branch>,
    messages: Vec<TreeMessage<T>>,
    ids: HashMap<MessageId, u32>,
    roots: u32,
    bytes: u64,
}

/// A message of a tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TreeMessage<T> {
    pub(crate) node: Node,
    pub(crate) turn: u32,
    pub(crate) label: Option<Box<[u8]>>,
    pub(crate) is_pinned: bool,
    pub(crate) content: T,
}

impl<T> ConversationTree<T> {
    /// A conversation without messages, as an append opens it.
    pub fn new(opening: &NewConversation<'_>, active: Time) -> Self {
        Self {
            version: 1,
            facets: opening.facets.clone(),
            header: opening.header.to_vec(),
            created: opening.created,
            active,
            head: None,
            next: 1,
            first: Vec::new(),
            last: Vec::new(),
            branches: Vec::new(),
            messages: Vec::new(),
            ids: HashMap::new(),
            roots: 0,
            bytes: 0,
        }
    }

    /// What decisions need to know.
    pub fn state(&self) -> State {
        State {
            version: self.version,
            next: self.next,
            messages: self.messages.len() as u64,
            roots: self.roots,
            bytes: self.bytes,
            head: self.head,
            active: self.active,
            has_first: !self.first.is_empty(),
        }
    }

    /// All that is known but the messages.
    pub fn row(&self, id: ConversationId) -> ConversationRow {
        let head = self.head.and_then(|seq| self.message(seq));
        ConversationRow {
            id,
            version: self.version,
            facets: self.facets.clone(),
            header: self.header.clone(),
            head: head.map(|head| Head { id: head.node.id, digest: head.node.link }),
            branches: self.branches.clone(),
            created: self.created,
            active: self.active,
            messages: self.messages.len() as u64,
            bytes: self.bytes,
            first: self.first.clone(),
            last: self.last.clone(),
        }
    }

    /// What is known of a message besides its content.
    pub fn node_of(&self, id: MessageId) -> Option<&Node> {
        self.seq_of(id).and_then(|seq| self.node(seq))
    }

    /// The same of every message, in order of sequence.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.messages.iter().map(|message| &message.node)
    }

    /// The messages, in order of sequence.
    pub(crate) fn messages(&self) -> &[TreeMessage<T>] {
        &self.messages
    }

    /// The sequence of a message.
    pub(crate) fn seq_of(&self, id: MessageId) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    /// The message with a sequence.
    pub(crate) fn message(&self, seq: u32) -> Option<&TreeMessage<T>> {
        self.place_of(seq).map(|place| &self.messages[place])
    }

    /// The same, without its content.
    pub(crate) fn node(&self, seq: u32) -> Option<&Node> {
        self.message(seq).map(|message| &message.node)
    }

    /// The message with a sequence, to change it.
    pub(crate) fn message_mut(&mut self, seq: u32) -> Option<&mut TreeMessage<T>> {
        self.place_of(seq).map(|place| &mut self.messages[place])
    }

    /// Sequences have gaps only where messages were removed, so the place is
    /// found at once in most conversations.
    fn place_of(&self, seq: u32) -> Option<usize> {
        let guess = (seq as usize).checked_sub(1)?;
        match self.messages.get(guess) {
            Some(message) if message.node.seq == seq => Some(guess),
            _ => self.messages.binary_search_by_key(&seq, |message| message.node.seq).ok(),
        }
    }

    /// The messages from the root to one.
    pub(crate) fn path_to(&self, target: u32) -> Vec<&TreeMessage<T>> {
        let parent = |message: &&TreeMessage<T>| message.node.parent.and_then(|parent| self.message(parent));
        let mut path: Vec<_> = std::iter::successors(self.message(target), parent).collect();
        path.reverse();
        path
    }

    /// Adds a message, which becomes the head.
    pub(crate) fn push(&mut self, new: &NewMessage<'_>, size: u64, content: T) {
        match new.parent.and_then(|(_, parent)| self.message_mut(parent)) {
            Some(parent) => parent.node.children += 1,
            None => self.roots += 1,
        }
        let node = Node {
            id: new.id,
            seq: new.seq,
            parent: new.parent.map(|(_, seq)| seq),
            depth: new.depth,
            children: 0,
            forked: new.forked,
            link: new.link,
            size,
        };
        let label = new.label.map(Into::into);
        self.messages.push(TreeMessage { node, turn: new.turn, label, is_pinned: new.is_pinned, content });
        self.ids.insert(new.id, new.seq);
        self.bytes += size;
        self.next = self.next.max(new.seq + 1);
        self.head = Some(new.seq);
    }

    /// Takes in what an append says beside its messages. The branch comes with its head.
    pub(crate) fn settle(
        &mut self,
        active: Time,
        first: Option<&[u8]>,
        last: Option<&[u8]>,
        branch: Option<(MessageId, MessageId)>,
    ) {
        self.active = active;
        if let Some(first) = first.filter(|_| self.first.is_empty()) {
            self.first = first.to_vec();
        }
        if let Some(last) = last {
            self.last = last.to_vec();
        }
        if let Some((id, head)) = branch
            && let Some(branch) = self.branches.iter_mut().find(|branch| branch.id == id)
        {
            branch.head = head;
        }
    }

    /// Changes what is known. Bodies are [replaced](Self::replace) one by one.
    pub(crate) fn amend(&mut self, version: Version, change: &Amendment<'_>) {
        self.version = version;
        match change {
            Amendment::Header(facets, header) => {
                self.facets.clone_from(facets);
                self.header = header.to_vec();
            }
            Amendment::Head(head) => self.head = head.map(|(_, seq)| seq),
            Amendment::Note(_, seq, label, is_pinned) => {
                if let Some(message) = self.message_mut(*seq) {
                    message.label = label.map(Into::into);
                    message.is_pinned = *is_pinned;
                }
            }
            Amendment::Branch(branch, _) => match self.branches.iter_mut().find(|own| own.id == branch.id) {
                Some(own) => own.clone_from(branch),
                None => self.branches.push((*branch).clone()),
            },
            Amendment::Unbranch(branch) => self.branches.retain(|own| own.id != *branch),
            Amendment::Rewrite(_, first, last) => {
                (self.first, self.last) = (first.to_vec(), last.to_vec());
            }
        }
    }

    /// Replaces what a message vouches for, how long it is, and where its body is.
    pub(crate) fn replace(&mut self, new: &NewBody<'_>, content: impl FnOnce(&T) -> T) {
        let Some(message) = self.message_mut(new.seq) else { return };
        let (before, size) = (message.node.size, new.body.len() as u64);
        (message.node.link, message.node.size) = (new.link, size);
        message.content = content(&message.content);
        self.bytes = self.bytes + size - before;
    }

    /// Removes messages.
    pub(crate) fn remove(&mut self, removal: &Removal<'_>) {
        let is_going = |seq: u32| removal.going.binary_search_by_key(&seq, |gone| gone.seq).is_ok();
        for gone in &removal.going {
            self.ids.remove(&gone.id);
            self.bytes -= gone.size;
            match gone.parent {
                None => self.roots -= 1,
                Some(parent) if is_going(parent) => {}
                Some(parent) => {
                    if let Some(parent) = self.message_mut(parent) {
                        parent.node.children -= 1;
                    }
                }
            }
        }
        self.messages.retain(|message| !is_going(message.node.seq));
        self.version = removal.version;
        self.head = removal.head.map(|(_, seq)| seq);
        self.branches = removal.branches.iter().map(|(branch, _)| branch.clone()).collect();
        self.first = removal.first.clone();
        self.last = removal.last.clone();
    }
}

impl<T: AsRef<[u8]> + for<'b> From<&'b [u8]>> ConversationTree<T> {
    /// Returns what an edit makes of a conversation; none when it is deleted. A
    /// message id that is taken is a conflict.
    pub fn edited(before: Option<&Self>, edit: &Edit<'_>) -> Result<Option<Self>>
    where
        T: Clone,
    {
        let mut tree = match edit {
            Edit::Delete(_) => None,
            Edit::Append(Append { opening: Some(opening), active, .. }) => Some(Self::new(opening, *active)),
            _ => before.cloned(),
        };
        if let (Some(tree), Edit::Append(append)) = (&tree, edit)
            && let Some(message) = append.messages.iter().find(|message| tree.seq_of(message.id).is_some())
        {
            return Err(taken(message.id));
        }
        tree.iter_mut().for_each(|tree| tree.apply(edit));
        Ok(tree)
    }

    /// Makes an edit of this conversation. A deletion is for whoever holds it.
    pub fn apply(&mut self, edit: &Edit<'_>) {
        match edit {
            Edit::None | Edit::Confirm(_) | Edit::Delete(_) => {}
            Edit::Append(append) => {
                for message in &append.messages {
                    self.push(message, message.body.len() as u64, message.body.into());
                }
                let branch = append.branch.zip(append.messages.last().map(|last| last.id));
                self.settle(append.active, append.first, append.last, branch);
            }
            Edit::Amend(amend) => {
                if let Amendment::Rewrite(bodies, ..) = &amend.change {
                    bodies.iter().for_each(|new| self.replace(new, |_| new.body.into()));
                }
                self.amend(amend.version, &amend.change);
                self.last = amend.last.map_or_else(|| std::mem::take(&mut self.last), <[u8]>::to_vec);
            }
            Edit::Remove(removal) => self.remove(removal),
        }
    }

    /// Visits messages, as [`Rows::messages`](crate::store::backend::Rows::messages) does.
    pub fn visit(
        &self,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut show = |message| visit(&self.shown(message));
        match which {
            Which::Path(target) => self.path_to(target).into_iter().try_for_each(show),
            Which::These(seqs) => seqs.iter().filter_map(|seq| self.message(*seq)).try_for_each(show),
            Which::Range(order, offset, limit) => {
                let [offset, limit] = [offset, limit].map(|many| usize::try_from(many).unwrap_or(usize::MAX));
                let all = self.messages.iter();
                match order {
                    Order::OldestFirst => all.skip(offset).take(limit).try_for_each(&mut show),
                    Order::NewestFirst => all.rev().skip(offset).take(limit).try_for_each(&mut show),
                }
            }
        }
    }

    fn shown<'t>(&'t self, message: &'t TreeMessage<T>) -> MessageRow<'t> {
        let node = &message.node;
        MessageRow {
            id: node.id,
            parent: node.parent.and_then(|parent| self.node(parent)).map(|parent| parent.id),
            seq: node.seq,
            turn: message.turn,
            forked: node.forked,
            link: node.link,
            label: message.label.as_deref(),
            is_pinned: message.is_pinned,
            body: message.content.as_ref(),
            size: node.size,
        }
    }
}
