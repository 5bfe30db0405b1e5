//! How a reply may end. One that reached its limit while it thought led to nothing, and is not taken back.

use crate::model::Block;
use crate::ops::view::edit::set_blocks;
use crate::ops::view::{Recipient, Repair, Viewed};

/// Leaves out thinking that nothing follows in the reply.
pub(super) fn drop_last_thinking(viewed: &mut Viewed<'_>, recipient: &Recipient, repairs: &mut Vec<Repair>) {
    let blocks = &viewed.message.blocks;
    let length = blocks.iter().rposition(|block| !is_thinking(block)).map_or(0, |last| last + 1);
    let is_allowed = recipient.takes_last_thinking && length > 0;
    if is_allowed || length == blocks.len() {
        return;
    }
    let said = blocks[..length].to_vec();
    let role = viewed.message.role;
    set_blocks(viewed, role, said);
    repairs.push(Repair::LastThinking { message: viewed.id });
}

fn is_thinking(block: &Block) -> bool {
    match block {
        Block::Thinking(_) => true,
        Block::Other(item) => item.kind == "redacted_thinking" || item.kind == "reasoning",
        _ => false,
    }
}
