//! What a handle remembers of the conversations it wrote, so that the next append needs no look at the
//! server.

use std::cell::Cell;
use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{Append, ConversationRow, Node, Presence, Rows, State, VisitMessage, Which};
use crate::store::{BlobNames, Space, VisitBlob};

/// So many conversations are remembered; a server writes in many at once.
const CONVERSATIONS: usize = 512;

/// So many of the last messages of each: the next turn follows one of them.
const NODES: usize = 32;

/// What is known of a conversation, as one commit left it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Which commit that was. Another one in the database means that all of this is out of date.
    pub(super) revision: i64,
    pub(super) state: State,
    /// Some of its messages.
    pub(super) nodes: Vec<Node>,
    /// How many ancestors its head has, where it has one.
    pub(super) head_depth: Option<u32>,
}

impl Known {
    pub(super) fn node(&self, id: MessageId) -> Option<Node> {
        self.nodes.iter().rev().find(|node| node.id == id).copied()
    }

    /// What is known after an append; `fresh` stands for a conversation that it makes.
    pub(super) fn after(mut self, append: &Append<'_>) -> Self {
        self.revision += 1;
        for message in &append.messages {
            let parent = message.parent.map(|(_, seq)| seq);
            let known = self.nodes.iter_mut().find(|node| Some(node.seq) == parent);
            known.into_iter().for_each(|node| node.children += 1);
            self.state.roots += u32::from(parent.is_none());
            self.nodes.push(Node {
                id: message.id,
                seq: message.seq,
                parent,
                depth: message.depth,
                children: 0,
                forked: message.forked,
                link: message.link,
                size: message.body.len() as u64,
            });
        }
        if let Some(last) = append.messages.last() {
            self.state.head = Some(last.seq);
            self.head_depth = Some(last.depth);
        }
        self.state.next += append.messages.len() as u32;
        self.state.messages += append.messages.len() as u64;
        self.state.bytes += append.messages.iter().map(|message| message.body.len() as u64).sum::<u64>();
        self.state.active = append.active;
        self.state.has_first |= append.first.is_some_and(|first| !first.is_empty());
        self.nodes.drain(..self.nodes.len().saturating_sub(NODES));
        self
    }

    /// A conversation that is about to be made, whose first commit gets this number plus one.
    pub(super) const fn fresh(revision: i64, active: Time) -> Self {
        let state = State {
            version: 1,
            next: 1,
            messages: 0,
            roots: 0,
            bytes: 0,
            head: None,
            active,
            has_first: false,
        };
        Self { revision, state, nodes: Vec::new(), head_depth: None }
    }
}

/// What a handle remembers.
#[derive(Default)]
pub(super) struct AppendCache(HashMap<ConversationId, Known>);

impl AppendCache {
    pub(super) fn get(&self, id: ConversationId) -> Option<Known> {
        self.0.get(&id).cloned()
    }

    pub(super) fn insert(&mut self, id: ConversationId, known: Known) {
        if self.0.len() >= CONVERSATIONS && !self.0.contains_key(&id) {
            self.0.clear();
        }
        self.0.insert(id, known);
    }

    pub(super) fn forget(&mut self, id: ConversationId) {
        self.0.remove(&id);
    }
}

/// `Rows` of what is remembered. Whoever asks for more gets an error, and `missed` is set.
pub(super) struct CachedRows<'c> {
    pub(super) id: Option<ConversationId>,
    pub(super) known: Option<&'c Known>,
    /// True when the conversation is about to be made, so that it is most likely not there.
    pub(super) is_made: bool,
    pub(super) missed: Cell<bool>,
}

impl CachedRows<'_> {
    fn miss<T>(&self) -> Result<T> {
        self.missed.set(true);
        Err(Error::new(ErrorKind::Unavailable, "it is not remembered"))
    }

    fn known(&self, id: ConversationId) -> Option<&Known> {
        self.known.filter(|_| self.id == Some(id))
    }
}

impl Rows for CachedRows<'_> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        if self.known(id).is_some() { Ok(true) } else { self.miss() }
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        match self.known(id) {
            Some(known) => Ok(Presence::Stored(known.state)),
            None if self.is_made && self.id == Some(id) => Ok(Presence::Absent),
            None => self.miss(),
        }
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        match self.known(id).and_then(|known| known.node(message)) {
            Some(node) => Ok(Some(node)),
            None => self.miss(),
        }
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, _: ConversationId, _: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        self.miss()
    }

    fn messages(&self, _: ConversationId, _: Which<'_>, _: &mut VisitMessage<'_>) -> Result<()> {
        self.miss()
    }

    fn conversation(&self, _: ConversationId) -> Result<Option<ConversationRow>> {
        self.miss()
    }

    fn conversations(&self, _: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        self.miss()
    }

    fn blobs(
        &self,
        _: Space,
        _: Option<ConversationId>,
        _: BlobNames<'_>,
        _: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.miss()
    }
}
