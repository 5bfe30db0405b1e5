//! Reading messages of one conversation.

use crate::error::Result;
use crate::model::{ConversationId, MessageId};
use crate::store::backend::{MessageRow, Rows, VisitMessage, Which, text};
use crate::store::keeper::{no_message, present};
use crate::store::{Note, Order, Seen, Selection, Visit};

pub(super) fn read(
    rows: &dyn Rows,
    id: ConversationId,
    what: Selection<'_>,
    visit: &mut Visit<'_>,
) -> Result<()> {
    visit_rows(rows, id, what, &mut |row| show(row, visit))
}

/// Visits the rows of the messages that are meant.
pub(in crate::store) fn visit_rows(
    rows: &dyn Rows,
    id: ConversationId,
    what: Selection<'_>,
    show: &mut VisitMessage<'_>,
) -> Result<()> {
    let state = present(rows, id)?;
    let seq_of = |message: MessageId| {
        let node = rows.node(id, message)?;
        node.map(|node| node.seq).ok_or_else(|| no_message(message))
    };
    match what {
        Selection::Path(Some(target)) => rows.messages(id, Which::Path(seq_of(target)?), show),
        Selection::Path(None) => match state.head {
            Some(head) => rows.messages(id, Which::Path(head), show),
            None => rows.messages(id, Which::Range(Order::OldestFirst, 0, 0), show),
        },
        Selection::All { order, offset, limit } => {
            rows.messages(id, Which::Range(order, offset, limit), show)
        }
        Selection::Ids(ids) => {
            // Every id is looked up before the first is visited.
            let seqs = ids.iter().map(|id| seq_of(*id)).collect::<Result<Vec<_>>>()?;
            rows.messages(id, Which::These(&seqs), show)
        }
    }
}

fn show(row: &MessageRow<'_>, visit: &mut Visit<'_>) -> Result<()> {
    let label = row.label.map(text);
    visit(Seen {
        id: row.id,
        parent: row.parent,
        seq: row.seq,
        turn: row.turn,
        link: row.link,
        note: Note { label: label.as_deref(), is_pinned: row.is_pinned },
        body: &text(row.body),
        size: row.size,
    })
}
