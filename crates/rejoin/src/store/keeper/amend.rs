//! Changing what is known about a conversation, by compare and swap.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{
    Amend, Amendment, Backend, Batch, CommitHint, Edit, LogEntry, NewBody, Node, Rows,
};
use crate::store::keeper::{no_message, present};
use crate::store::{Change, Safety, Version, What};

pub(super) fn amend(
    backend: &dyn Backend,
    id: ConversationId,
    expected: Option<Version>,
    change: &Change<'_>,
    at: Time,
) -> Result<Version> {
    change.check()?;
    amend_rows(backend, (id, expected), (What::of(change), at), &mut |rows| decide(rows, id, change))
}

/// Changes a conversation as it is decided in the backend's terms, whose bytes need not be text.
pub(in crate::store) fn amend_rows<'a>(
    backend: &dyn Backend,
    (id, expected): (ConversationId, Option<Version>),
    (what, at): (What, Time),
    decide: &mut dyn FnMut(&dyn Rows) -> Result<Amendment<'a>>,
) -> Result<Version> {
    let mut version = 0;
    let is_erasing = what == What::Rewritten;
    let hint = CommitHint {
        attempt: "change a conversation",
        conversation: Some(id),
        is_erasing,
        ..CommitHint::default()
    };
    let mut commit = || {
        backend.commit(&hint, Safety::Synced, &mut |rows| {
            let state = present(rows, id)?;
            if expected.is_some_and(|expected| state.version != expected) {
                return Err(Error::conflict(format!("conversation `{id}` changed meanwhile")));
            }
            version = state.version + 1;
            let logged = LogEntry { conversation: id, at, what: what.clone() };
            let change = decide(rows)?;
            let amend = Amend { conversation: id, version, change, last: None };
            Ok(Batch::of(Edit::Amend(amend), Some(logged)))
        })
    };
    if is_erasing {
        // What was said before must be gone when this returns.
        backend.erasing(&mut commit)?;
    } else {
        commit()?;
    }
    Ok(version)
}

fn decide<'a>(rows: &dyn Rows, id: ConversationId, change: &Change<'a>) -> Result<Amendment<'a>> {
    let seq_of = |message: MessageId| node(rows, id, message).map(|node| node.seq);
    Ok(match change {
        Change::Header { facets, header } => Amendment::Header(facets, header.as_bytes()),
        Change::Head(head) => Amendment::Head(head.map(|head| Ok((head, seq_of(head)?))).transpose()?),
        Change::Note(message, note) => {
            Amendment::Note(*message, seq_of(*message)?, note.label.map(str::as_bytes), note.is_pinned)
        }
        Change::Branch(branch) => Amendment::Branch(branch, seq_of(branch.head)?),
        Change::Unbranch(branch) => Amendment::Unbranch(*branch),
        Change::Rewrite { messages, previews } => {
            let new = messages.iter().map(|new| (new.id, new.link, new.body.as_bytes()));
            let bodies = rewrite(rows, id, new)?;
            Amendment::Rewrite(bodies, previews.first.as_bytes(), previews.last.as_bytes())
        }
    })
}

fn node(rows: &dyn Rows, id: ConversationId, message: MessageId) -> Result<Node> {
    rows.node(id, message)?.ok_or_else(|| no_message(message))
}

/// New bodies of messages, with what these vouch for from now on.
pub(crate) fn rewrite<'a>(
    rows: &dyn Rows,
    id: ConversationId,
    messages: impl Iterator<Item = (MessageId, Digest, &'a [u8])>,
) -> Result<Vec<NewBody<'a>>> {
    let mut relinked = HashSet::new();
    let mut bodies = Vec::new();
    for (message, link, body) in messages {
        let node = node(rows, id, message)?;
        if !rows.vouches(&node, link) {
            relinked.insert(node.seq);
        }
        bodies.push(NewBody { id: message, seq: node.seq, link, body });
    }
    if !relinked.is_empty() {
        refuse_to_leave_behind(rows, id, &relinked)?;
    }
    Ok(bodies)
}

/// A child that was appended while its parent was being rewritten would vouch for what is gone.
fn refuse_to_leave_behind(rows: &dyn Rows, id: ConversationId, relinked: &HashSet<u32>) -> Result<()> {
    rows.nodes(id, &mut |node| {
        let follows = node.parent.is_some_and(|parent| relinked.contains(&parent));
        if follows && !relinked.contains(&node.seq) { Err(left_behind(node.id)) } else { Ok(()) }
    })
}

/// Says that a message would vouch for something that its parent no longer says.
fn left_behind(child: MessageId) -> Error {
    Error::conflict(format!("message `{child}` is not rewritten with the one that it follows"))
}
