//! Changing what is known about a conversation, by compare and swap.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::backend::{
    Amend, Amendment, Ask, Backend, Batch, Edit, Entry as Logged, NewBody, Node, Rows,
};
use crate::store::keeper::{no_message, present};
use crate::store::{Change, Rewritten, Safety, Version, What};

pub(super) fn amend(
    backend: &dyn Backend,
    id: ConversationId,
    expected: Option<Version>,
    change: &Change<'_>,
    at: Time,
) -> Result<Version> {
    change.check()?;
    let mut version = 0;
    let is_erasing = matches!(change, Change::Rewrite { .. });
    let ask = Ask { attempt: "change a conversation", conversation: Some(id), is_erasing, ..Ask::default() };
    let mut commit = || {
        backend.commit(&ask, Safety::Synced, &mut |rows| {
            let state = present(rows, id)?;
            if expected.is_some_and(|expected| state.version != expected) {
                return Err(Error::conflict(format!("conversation `{id}` changed meanwhile")));
            }
            version = state.version + 1;
            let logged = Logged { conversation: id, at, what: What::of(change) };
            let change = decide(rows, id, change)?;
            let amend = Amend { conversation: id, version, change, tip: None };
            Ok(Batch::of(Edit::Amend(amend), Some(logged)))
        })
    };
    match change {
        // What was said before must be gone when this returns.
        Change::Rewrite { .. } => backend.erasing(&mut commit)?,
        Change::Header { .. }
        | Change::Head(_)
        | Change::Note(..)
        | Change::Branch(_)
        | Change::Unbranch(_) => {
            commit()?;
        }
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
        Change::Rewrite { messages, tip } => {
            let bodies = rewrite(rows, id, messages)?;
            Amendment::Rewrite(bodies, tip.first.as_bytes(), tip.last.as_bytes())
        }
    })
}

fn node(rows: &dyn Rows, id: ConversationId, message: MessageId) -> Result<Node> {
    rows.node(id, message)?.ok_or_else(|| no_message(message))
}

fn rewrite<'a>(rows: &dyn Rows, id: ConversationId, messages: &[Rewritten<'a>]) -> Result<Vec<NewBody<'a>>> {
    let mut relinked = HashSet::new();
    let mut bodies = Vec::with_capacity(messages.len());
    for message in messages {
        let node = node(rows, id, message.id)?;
        if !rows.vouches(&node, message.link) {
            relinked.insert(node.seq);
        }
        let body = message.body.as_bytes();
        bodies.push(NewBody { id: message.id, seq: node.seq, link: message.link, body });
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
