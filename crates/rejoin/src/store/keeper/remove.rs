//! Removing conversations and messages, and what is left of a conversation then.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ErrorKind, Result};
use crate::model::{Branch, ConversationId, MessageId, Time};
use crate::store::backend::{
    Backend, Batch, CommitHint, Edit, LogEntry, Node, Presence, Removal, Rows, State, Which, text,
};
use crate::store::body::{first_preview, last_preview};
use crate::store::{Children, Order, Outcome, Safety, Target, Version, What};

/// How many messages are read at a time to find the newest reply.
const STEP: u64 = 16;

pub(super) fn remove(
    backend: &dyn Backend,
    targets: &[Target<'_>],
    reason: &str,
    at: Time,
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(targets.len());
    backend.erasing(&mut || {
        for target in targets {
            outcomes.push(match target {
                Target::Conversation(id) => remove_conversation(backend, *id, reason, at)?,
                Target::Messages { conversation, ids, children } => {
                    remove_messages(backend, *conversation, (ids, *children), reason, at)?
                }
            });
        }
        Ok(())
    })?;
    Ok(outcomes)
}

fn remove_conversation(backend: &dyn Backend, id: ConversationId, reason: &str, at: Time) -> Result<Outcome> {
    let mut trimmed = (0, 0);
    backend.make_room(id, &mut |ids| {
        if let Outcome::Removed { messages, bytes } =
            remove_messages(backend, id, (ids, Children::Remove), reason, at)?
        {
            trimmed = (trimmed.0 + messages, trimmed.1 + bytes);
        }
        Ok(())
    })?;
    let mut outcome = Outcome::NotFound;
    let hint =
        CommitHint { attempt: "remove a conversation", conversation: Some(id), ..CommitHint::default() };
    backend.commit(&hint, Safety::Synced, &mut |rows| {
        // A decision may be asked for again.
        outcome = Outcome::NotFound;
        let (messages, bytes) = match rows.state(id)? {
            Presence::Absent => return Ok(Batch::NOTHING),
            // Nobody misses it any more.
            Presence::Lost(_) => (0, 0),
            Presence::Stored(state) => (state.messages, state.bytes),
        };
        outcome = Outcome::Removed { messages: trimmed.0 + messages, bytes: trimmed.1 + bytes };
        let what = What::Deleted { reason: reason.to_owned() };
        let change = Some(LogEntry { conversation: id, at, what });
        Ok(Batch::of(Edit::Delete(id), change))
    })?;
    Ok(outcome)
}

fn remove_messages(
    backend: &dyn Backend,
    id: ConversationId,
    (ids, children): (&[MessageId], Children),
    reason: &str,
    at: Time,
) -> Result<Outcome> {
    let mut outcome = Outcome::NotFound;
    let hint = CommitHint {
        attempt: "remove messages",
        conversation: Some(id),
        messages: ids,
        is_erasing: true,
        ..CommitHint::default()
    };
    backend.commit(&hint, Safety::Synced, &mut |rows| {
        // A decision may be asked for again.
        outcome = Outcome::NotFound;
        let Presence::Stored(state) = rows.state(id)? else { return Ok(Batch::NOTHING) };
        let tree = read_tree(rows, id)?;
        let going = match going(&tree, ids, children) {
            Ok(going) => going,
            Err(parent) => {
                outcome = Outcome::HasChildren(parent);
                return Ok(Batch::NOTHING);
            }
        };
        let what = What::Trimmed { reason: reason.to_owned() };
        let change = (!going.is_empty()).then_some(LogEntry { conversation: id, at, what });
        let removal =
            Remainder { rows, id, state: &state, tree: &tree, going: &going }.removal(ids, reason, at)?;
        let bytes = removal.going.iter().map(|node| node.size).sum();
        outcome = Outcome::Removed { messages: going.len() as u64, bytes };
        Ok(Batch::of(Edit::Remove(removal), change))
    })?;
    Ok(outcome)
}

fn read_tree(rows: &dyn Rows, id: ConversationId) -> Result<BTreeMap<u32, Node>> {
    let mut tree = BTreeMap::new();
    rows.nodes(id, &mut |node| {
        tree.insert(node.seq, *node);
        Ok(())
    })?;
    Ok(tree)
}

/// The sequences that go, or a message that keeps them from going because it has children.
fn going(
    tree: &BTreeMap<u32, Node>,
    ids: &[MessageId],
    children: Children,
) -> std::result::Result<BTreeSet<u32>, MessageId> {
    let named: BTreeSet<MessageId> = ids.iter().copied().collect();
    let mut going: BTreeSet<u32> =
        tree.values().filter(|node| named.contains(&node.id)).map(|node| node.seq).collect();
    // A child's sequence is above its parent's, so one pass in order reaches the whole subtree.
    for (seq, node) in tree {
        let Some(parent) = node.parent.filter(|parent| going.contains(parent)) else { continue };
        if going.contains(seq) {
            continue;
        }
        match children {
            Children::Remove => going.insert(*seq),
            Children::Refuse => return Err(tree[&parent].id),
        };
    }
    Ok(going)
}

/// A conversation without the messages that go.
struct Remainder<'r> {
    rows: &'r dyn Rows,
    id: ConversationId,
    state: &'r State,
    tree: &'r BTreeMap<u32, Node>,
    going: &'r BTreeSet<u32>,
}

impl Remainder<'_> {
    fn removal<'a>(&self, named: &'a [MessageId], reason: &'a str, at: Time) -> Result<Removal<'a>> {
        let row = self.rows.conversation(self.id)?;
        let (first, last) = match &row {
            // Nothing that the previews show is gone.
            Some(row) if self.going.is_empty() => (row.first.clone(), row.last.clone()),
            _ => (self.first()?.into_bytes(), self.last()?.into_bytes()),
        };
        let by_id = |id: MessageId| self.tree.values().find(|node| node.id == id).map(|node| node.seq);
        let branches = row.iter().flat_map(|row| &row.branches).filter_map(|branch| {
            let (head, seq) = self.remaining(by_id(branch.head))?;
            Some((Branch { head, ..branch.clone() }, seq))
        });
        Ok(Removal {
            conversation: self.id,
            version: self.state.version + after_removal(self.going.len()),
            going: self.going.iter().map(|seq| self.tree[seq]).collect(),
            named,
            head: self.remaining(self.state.head),
            branches: branches.collect(),
            first,
            last,
            at,
            reason,
        })
    }

    /// The nearest ancestor that stays.
    fn remaining(&self, mut seq: Option<u32>) -> Option<(MessageId, u32)> {
        while let Some(now) = seq.filter(|now| self.going.contains(now)) {
            seq = self.tree[&now].parent;
        }
        seq.and_then(|seq| Some((self.tree.get(&seq)?.id, seq)))
    }

    /// The preview of the first thing the user said that stays.
    fn first(&self) -> Result<String> {
        self.shown(Order::OldestFirst, first_preview)
    }

    /// The preview of the newest reply that stays.
    fn last(&self) -> Result<String> {
        self.shown(Order::NewestFirst, last_preview)
    }

    /// The preview of the first message in an order that has one and stays.
    fn shown(&self, order: Order, preview: fn(&str) -> Option<String>) -> Result<String> {
        let mut shown = None;
        for offset in (0..self.state.messages).step_by(STEP as usize) {
            self.visit(Which::Range(order, offset, STEP), &mut |seq, body| {
                if shown.is_none() && !self.going.contains(&seq) {
                    shown = preview(body);
                }
            })?;
            if let Some(shown) = shown {
                return Ok(shown);
            }
        }
        Ok(String::new())
    }

    /// Visits the bodies that can be read; the others have no preview.
    fn visit(&self, which: Which<'_>, visit: &mut dyn FnMut(u32, &str)) -> Result<()> {
        let read = self.rows.messages(self.id, which, &mut |row| {
            visit(row.seq, &text(row.body));
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(()),
            other => other,
        }
    }
}

/// By how much the version grows when so many messages are removed: the two together only grow.
const fn after_removal(messages: usize) -> Version {
    if messages == 0 { 0 } else { messages as Version + 1 }
}
