//! A conversation that was continued both in the source and in the copy: what was said in the source
//! becomes a branch of the copy, as with two writers of one store.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::{Digest, MessageId};
use crate::ops::convert::{Links, both_changed, carry, entry, find, reduced};
use crate::store::{Change, Entry, PreviewUpdate, Row, Stale, Store, Turn};

/// Adds what the source alone has to the copy, whose head, title and branches stay. Any other difference
/// is a conflict: nobody knows which title is newer, or whether a message is new here or was deleted there.
pub(super) fn take_over(
    from: &dyn Store,
    to: &dyn Store,
    (row, ours): (&Row, &Links),
    (there, theirs): (&Row, &Links),
) -> Result<()> {
    let has_only_grown = about(row) == about(there)
        && theirs.iter().all(|(id, link)| ours.get(id).is_none_or(|own| own == link))
        && !reduced(from)?.contains(&row.id)
        && !reduced(to)?.contains(&row.id);
    if !has_only_grown {
        return Err(both_changed(row.id));
    }
    let mut known: BTreeMap<MessageId, Digest> = BTreeMap::new();
    let mut newest = None;
    carry(from, row.id, &mut |batch| {
        known.extend(batch.iter().map(|carried| (carried.id, carried.link)));
        for turn in batch.chunk_by(|one, next| one.turn == next.turn) {
            let said = turn.iter().filter(|carried| !theirs.contains_key(&carried.id));
            let entries: Vec<Entry<'_>> = said.map(|carried| entry(carried, &known)).collect();
            let Some(last) = entries.last() else { continue };
            newest = Some(last.id);
            to.append(&Turn {
                conversation: row.id,
                opening: None,
                stale: Stale::Branch,
                entries: &entries,
                previews: PreviewUpdate::default(),
                branch: None,
                active: row.active,
                now: row.active,
                blobs: &[],
            })?;
        }
        Ok(())
    })?;
    // Unless somebody has continued it there meanwhile.
    let head = find(to, row.id)?.and_then(|now| now.head).map(|head| head.id);
    if newest.is_some() && head == newest {
        let before = there.head.as_ref().map(|head| head.id);
        to.amend(row.id, None, &Change::Head(before), row.active)?;
    }
    Ok(())
}

/// What is known of a conversation beside what is said in it.
fn about(row: &Row) -> impl PartialEq {
    let branches: Vec<_> =
        row.branches.iter().map(|branch| (branch.id, branch.title.clone(), branch.head)).collect();
    (row.header.clone(), row.facets.clone(), row.created, branches)
}
