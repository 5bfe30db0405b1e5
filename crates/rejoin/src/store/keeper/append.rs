//! Where a turn goes: its parents, its sequences, and whether it starts a branch.
//!
//! A message whose parent already has a child is a branch. So is one without a
//! parent, where the conversation has a root.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::backend::{
    Append, Backend, Batch, CommitHint, Edit, LogEntry, NewConversation, NewMessage, Node, Presence, Rows,
    State, taken, unknown,
};
use crate::store::keeper::activity::last_activity;
use crate::store::keeper::{check_owners, no_message, present, snapshot};
use crate::store::{Anchor, Appended, Safety, Stale, Turn, What};

pub(super) fn append(backend: &dyn Backend, turn: &Turn<'_>) -> Result<Appended> {
    turn.check()?;
    let mut appended = None;
    let parents = first_parent(turn);
    let hint = hint(turn, &parents);
    let committed = backend.commit(&hint, Safety::Synced, &mut |rows| {
        let (batch, answer) = decide(rows, turn)?;
        appended = Some(answer);
        Ok(batch)
    });
    match committed {
        Ok(()) => Ok(appended.expect("a commit that succeeded was decided")),
        // What stood in the way may be the turn itself, stored by an earlier call.
        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
            let replayed = snapshot(backend, |rows| replay(rows, turn))?.ok_or(error)?;
            // Whoever stored it may have been killed before it was durable.
            backend.commit(&hint, Safety::Synced, &mut |_| {
                Ok(Batch::of(Edit::Confirm(turn.conversation), None))
            })?;
            Ok(replayed)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn append_all(backend: &dyn Backend, turns: &[Turn<'_>]) -> Result<Vec<Appended>> {
    let mut appended = Vec::with_capacity(turns.len());
    let parents: Vec<Vec<MessageId>> = turns.iter().map(first_parent).collect();
    let hints: Vec<CommitHint<'_>> =
        turns.iter().zip(&parents).map(|(turn, parent)| hint(turn, parent)).collect();
    let committed = backend.commit_each(&hints, Safety::Synced, &mut |place, rows| {
        turns[place].check()?;
        let (batch, answer) = decide(rows, &turns[place])?;
        // A decision may be asked for again.
        appended.truncate(place);
        appended.push(answer);
        Ok(batch)
    });
    match committed {
        Ok(()) => Ok(appended),
        // One is refused, or was stored before. On its own each gets its own answer.
        Err(error)
            if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Invalid) =>
        {
            turns.iter().map(|turn| append(backend, turn)).collect()
        }
        Err(error) => Err(error),
    }
}

/// The message that a turn was written against.
fn first_parent(turn: &Turn<'_>) -> Vec<MessageId> {
    turn.entries.iter().filter_map(|entry| Some(entry.parent?.id)).take(1).collect()
}

/// What the decision about a turn is going to read.
const fn hint<'a>(turn: &Turn<'_>, parent: &'a [MessageId]) -> CommitHint<'a> {
    CommitHint {
        attempt: "append a turn",
        conversation: Some(turn.conversation),
        is_made: turn.opening.is_some(),
        messages: parent,
        is_erasing: false,
    }
}

fn decide<'a>(rows: &dyn Rows, turn: &Turn<'a>) -> Result<(Batch<'a>, Appended)> {
    let id = turn.conversation;
    let state = match (rows.state(id)?, &turn.opening) {
        (Presence::Stored(state), None) => state,
        (Presence::Absent | Presence::Lost(_), Some(_)) => fresh(turn),
        (Presence::Absent, None) => return Err(unknown(id)),
        (Presence::Lost(error), None) => return Err(error),
        (Presence::Stored(_), Some(_)) => {
            return Err(Error::conflict(format!("conversation `{id}` already exists")));
        }
    };
    let active = if turn.opening.is_some() { turn.active } else { rows.active(id, &state)? };
    let messages = Placement::new(rows, turn, &state).place_all()?;
    if let Err(error) = check_owners(rows, turn.blobs, Some(id)) {
        refuse_taken_ids(rows, turn)?;
        return Err(error);
    }
    let appended = Appended {
        seq: messages.last().map_or(0, |message| message.seq),
        forked: messages.iter().any(|message| message.forked),
        replayed: false,
    };
    let change = LogEntry {
        conversation: id,
        at: turn.active,
        what: What::Stored { messages: state.messages + messages.len() as u64 },
    };
    let given = |text: &'a str| Some(text.as_bytes()).filter(|text| !text.is_empty());
    let append = Append {
        conversation: id,
        opening: turn.opening.map(|opening| NewConversation {
            facets: opening.facets,
            header: opening.header.as_bytes(),
            created: opening.created,
        }),
        branch: turn.branch.filter(|_| !messages.is_empty()),
        messages,
        said: turn.active,
        active: last_activity(active, turn),
        first: given(turn.previews.first).filter(|_| !state.has_first),
        last: given(turn.previews.last),
    };
    Ok((Batch { blobs: turn.blobs.into(), ..Batch::of(Edit::Append(append), Some(change)) }, appended))
}

/// Refuses ids that the conversation already has. A backend does so too, when it stores them; a turn with
/// another fault gets the same answer from every backend only if they are looked at here.
fn refuse_taken_ids(rows: &dyn Rows, turn: &Turn<'_>) -> Result<()> {
    for entry in turn.entries {
        if rows.node(turn.conversation, entry.id)?.is_some() {
            return Err(taken(entry.id));
        }
    }
    Ok(())
}

/// The state of a conversation that a turn creates.
const fn fresh(turn: &Turn<'_>) -> State {
    State {
        version: 1,
        next: 1,
        messages: 0,
        roots: 0,
        bytes: 0,
        head: None,
        active: turn.active,
        has_first: false,
    }
}

/// Places the entries of a turn, one after the other.
struct Placement<'r, 't, 'a> {
    rows: &'r dyn Rows,
    turn: &'t Turn<'a>,
    state: &'t State,
    placed: Vec<NewMessage<'a>>,
    /// How many children each placed message has.
    children: Vec<u32>,
    /// Stored messages that entries follow, with the children that the turn adds.
    parents: Vec<Node>,
    roots: u32,
}

/// What an entry follows.
struct ParentRow {
    seq: u32,
    depth: u32,
    /// True when it had a child before the entry.
    has_child: bool,
}

impl<'r, 't, 'a> Placement<'r, 't, 'a> {
    fn new(rows: &'r dyn Rows, turn: &'t Turn<'a>, state: &'t State) -> Self {
        let length = turn.entries.len();
        Self {
            rows,
            turn,
            state,
            placed: Vec::with_capacity(length),
            children: Vec::with_capacity(length),
            parents: Vec::new(),
            roots: state.roots,
        }
    }

    fn place_all(mut self) -> Result<Vec<NewMessage<'a>>> {
        if u64::from(self.state.next) + self.turn.entries.len() as u64 > u64::from(u32::MAX) {
            return Err(Error::invalid("a conversation holds at most 4,294,967,294 messages"));
        }
        for (entry, seq) in self.turn.entries.iter().zip(self.state.next..) {
            let parent = entry.parent.map(|anchor| self.parent(anchor)).transpose()?;
            if self.placed.is_empty() {
                self.refuse_stale(parent.as_ref())?;
            }
            let forked = parent.as_ref().map_or(self.roots > 0, |parent| parent.has_child);
            self.roots += u32::from(parent.is_none());
            self.placed.push(NewMessage {
                id: entry.id,
                seq,
                parent: entry.parent.zip(parent.as_ref().map(|parent| parent.seq)),
                depth: parent.map_or(0, |parent| parent.depth + 1),
                turn: self.state.next,
                forked,
                link: entry.link,
                label: entry.note.label.map(str::as_bytes),
                is_pinned: entry.note.is_pinned,
                body: entry.body.as_bytes(),
            });
            self.children.push(0);
        }
        Ok(self.placed)
    }

    /// Finds what an entry follows, and counts the entry as a child of it.
    fn parent(&mut self, anchor: Anchor) -> Result<ParentRow> {
        let within = self.placed.iter().rposition(|earlier| earlier.id == anchor.id);
        let (seq, depth, children, vouches) = match within {
            Some(place) => {
                let earlier = &self.placed[place];
                (earlier.seq, earlier.depth, &mut self.children[place], earlier.link == anchor.link)
            }
            None => {
                let rows = self.rows;
                let node = self.stored(anchor)?;
                let vouches = rows.vouches(node, anchor.link);
                (node.seq, node.depth, &mut node.children, vouches)
            }
        };
        if !vouches {
            return Err(Error::conflict(format!("message `{}` was rewritten meanwhile", anchor.id)));
        }
        *children += 1;
        Ok(ParentRow { seq, depth, has_child: *children > 1 })
    }

    fn stored(&mut self, anchor: Anchor) -> Result<&mut Node> {
        let place = match self.parents.iter().position(|known| known.id == anchor.id) {
            Some(place) => place,
            None => {
                let node = self.rows.node(self.turn.conversation, anchor.id)?;
                self.parents.push(node.ok_or_else(|| no_message(anchor.id))?);
                self.parents.len() - 1
            }
        };
        Ok(&mut self.parents[place])
    }

    fn refuse_stale(&self, parent: Option<&ParentRow>) -> Result<()> {
        if self.turn.stale == Stale::Refuse && parent.map(|parent| parent.seq) != self.state.head {
            return Err(Error::conflict("the conversation has moved on since its head was read"));
        }
        Ok(())
    }
}

/// The answer to an append that already happened, if this turn is exactly that append.
fn replay(rows: &dyn Rows, turn: &Turn<'_>) -> Result<Option<Appended>> {
    let id: ConversationId = turn.conversation;
    if present(rows, id).is_err() {
        return Ok(None);
    }
    let mut answer = None;
    for entry in turn.entries {
        let Some(node) = rows.node(id, entry.id)?.filter(|node| rows.vouches(node, entry.link)) else {
            return Ok(None);
        };
        let forked = node.forked || answer.is_some_and(|earlier: Appended| earlier.forked);
        answer = Some(Appended { seq: node.seq, forked, replayed: true });
    }
    Ok(answer)
}
