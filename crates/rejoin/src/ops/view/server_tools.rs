//! Tools that run on the provider's server. The provider answers them itself, in the same reply or, after a
//! pause, in the next one. Once the user has spoken, what was asked and not answered can never be.

use std::collections::HashSet;

use crate::model::{Block, Other, Role};
use crate::ops::view::edit::{BlockEdit, edit_blocks};
use crate::ops::view::{Repair, Viewed};

/// How the kind of an item ends that asks, and of one that answers.
const ASKS: &str = "_tool_use";
const ANSWERS: &str = "_tool_result";

/// Leaves out what was asked and never answered, and what answers nothing.
pub(super) fn settle(messages: &mut [Viewed<'_>], repairs: &mut Vec<Repair>) {
    let (orphans, abandoned) = unsettled(messages);
    if orphans.is_empty() && abandoned.is_empty() {
        return;
    }
    for (place, viewed) in messages.iter_mut().enumerate() {
        let message = viewed.id;
        let mut index = 0;
        edit_blocks(viewed, |block| {
            let here = (place, index);
            index += 1;
            let call = match block {
                Block::Other(item) => id_of(item).map(|(_, id)| id).unwrap_or_default(),
                _ => return BlockEdit::Keep,
            };
            if orphans.contains(&here) {
                repairs.push(Repair::OrphanResult { message, call });
                BlockEdit::Drop
            } else if abandoned.contains(&here) {
                repairs.push(Repair::AbandonedTool { message, call });
                BlockEdit::Drop
            } else {
                BlockEdit::Keep
            }
        });
    }
}

type BlockPlaces = HashSet<(usize, usize)>;

/// Where results stand that answer nothing, and calls that were abandoned.
fn unsettled(messages: &[Viewed<'_>]) -> (BlockPlaces, BlockPlaces) {
    let (mut orphans, mut abandoned) = (BlockPlaces::new(), BlockPlaces::new());
    let mut known: HashSet<String> = HashSet::new();
    let mut open: Vec<(String, (usize, usize))> = Vec::new();
    for (place, viewed) in messages.iter().enumerate() {
        if viewed.message.role == Role::User {
            abandoned.extend(open.drain(..).map(|(_, here)| here));
        }
        for (index, block) in viewed.message.blocks.iter().enumerate() {
            let Block::Other(item) = block else { continue };
            let here = (place, index);
            match id_of(item) {
                Some((CallHalf::Asks, id)) if !id.is_empty() && known.insert(id.clone()) => {
                    open.push((id, here));
                }
                Some((CallHalf::Asks, _)) => drop(abandoned.insert(here)),
                Some((CallHalf::Answers, id)) => match open.iter().position(|(asked, _)| *asked == id) {
                    Some(asked) => drop(open.remove(asked)),
                    None => drop(orphans.insert(here)),
                },
                None => {}
            }
        }
    }
    (orphans, abandoned)
}

/// Which half of a call an item is.
enum CallHalf {
    Asks,
    Answers,
}

fn id_of(item: &Other) -> Option<(CallHalf, String)> {
    let id = |name| item.fields.field(name).and_then(|id| id.to::<String>().ok()).unwrap_or_default();
    if item.kind.ends_with(ASKS) {
        Some((CallHalf::Asks, id("id")))
    } else if item.kind.ends_with(ANSWERS) {
        Some((CallHalf::Answers, id("tool_use_id")))
    } else {
        None
    }
}
