//! What a compaction carries along from before it. Its calls and results lost
//! each other, so they are sent as text.

use crate::model::{Block, Fields, Role};
use crate::ops::view::edit::{all_blocks, set_blocks};
use crate::ops::view::{Compaction, Repair, Viewed, output};

/// Makes what stands before a summary stand alone. The summary is the last of them.
pub(super) fn stand_alone(messages: &mut [Viewed<'_>], repairs: &mut Vec<Repair>) {
    let Some((summary, carried)) = messages.split_last_mut() else { return };
    if let Some(Err(_)) = Compaction::from_message(&summary.message) {
        repairs.push(Repair::UnreadableCompaction { message: summary.id });
    }
    for viewed in carried {
        if !all_blocks(viewed, stands_alone) {
            as_text(viewed, repairs);
        }
    }
}

/// Snapshots are shown again behind the summary.
fn stands_alone(block: &Block) -> bool {
    !matches!(block, Block::ToolCall(_) | Block::ToolResult(_) | Block::Snapshot(_))
}

fn as_text(viewed: &mut Viewed<'_>, repairs: &mut Vec<Repair>) {
    let message = viewed.id;
    let mut has_calls = false;
    let mut tell = |call: &str| repairs.push(Repair::AloneAsText { message, call: call.to_owned() });
    let blocks = viewed.message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => {
            has_calls = true;
            tell(&call.id);
            Some(Block::text(format!("[Call of the tool `{}`: {}]", call.name, call.input.as_str())))
        }
        Block::ToolResult(result) => {
            tell(&result.call_id);
            Some(Block::text(format!("[Result of a tool]\n{}", output::as_text(&result.output))))
        }
        Block::Snapshot(_) => None,
        other => Some(other.clone()),
    });
    let mut blocks: Vec<Block> = blocks.collect();
    let role = if viewed.message.role == Role::Tool { Role::User } else { viewed.message.role };
    if has_calls {
        // Thinking goes only with the calls that it led to.
        blocks.retain(|block| !matches!(block, Block::Thinking(_) | Block::Other(_)));
    }
    set_blocks(viewed, role, blocks);
    if has_calls {
        viewed.message.to_mut().extra = Fields::new();
    }
}
