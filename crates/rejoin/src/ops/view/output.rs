//! What a tool gave back, as a recipient can take it: media sent or described,
//! and no more text than the limit.

use crate::model::{Block, Json, MessageId, ToolResult};
use crate::ops::view::media::{self, MediaPlace};
use crate::ops::view::{Recipient, Repair};

/// Room for the line that stands for what is missing, so that a cut output is not cut again.
const MARKER: usize = 60;

/// The result with an output that fits, if its own does not.
pub(super) fn fit(
    result: &ToolResult,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> Option<ToolResult> {
    let limit = recipient.output_bytes.max(2 * MARKER);
    let written = result.output.as_str();
    // A list may hold media; anything else that is short is fine.
    if written.len() <= limit && !written.starts_with('[') {
        return None;
    }
    let (output, missing) = match blocks(&result.output) {
        Some(blocks) => fit_blocks(blocks, limit, recipient, id, repairs)?,
        None => {
            let text = result.output.to::<String>().unwrap_or_else(|_| written.to_owned());
            let (text, missing) = cut(&text, limit)?;
            (Json::of(&text).expect("a string is JSON"), missing)
        }
    };
    if missing > 0 {
        repairs.push(Repair::CutOutput { message: id, call: result.call_id.clone(), bytes: missing });
    }
    Some(ToolResult { output, ..result.clone() })
}

/// The output in words, for a place where no result can stand.
pub(super) fn as_text(output: &Json) -> String {
    let Some(blocks) = blocks(output) else {
        return output.to::<String>().unwrap_or_else(|_| output.as_str().to_owned());
    };
    let texts = blocks.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text),
        Block::Media(media) => Some(media::described(&media)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The blocks of an output that is a list of texts and media.
fn blocks(output: &Json) -> Option<Vec<Block>> {
    if !output.as_str().starts_with('[') {
        return None;
    }
    let blocks: Vec<Block> = output.to().ok()?;
    let is_shown = |block: &Block| matches!(block, Block::Text(_) | Block::Media(_));
    (!blocks.is_empty() && blocks.iter().all(is_shown)).then_some(blocks)
}

/// The blocks as they fit, and how many bytes are missing in them; none when they fit as they are.
fn fit_blocks(
    mut blocks: Vec<Block>,
    limit: usize,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> Option<(Json, usize)> {
    let mut is_changed = false;
    for block in &mut blocks {
        if let Block::Media(media) = block
            && let Some(described) = media::fit(media, recipient, MediaPlace::Output, id, repairs)
        {
            *block = described;
            is_changed = true;
        }
    }
    let texts: Vec<usize> = blocks.iter().filter_map(text_of).map(str::len).collect();
    let mut missing = 0;
    if texts.iter().sum::<usize>() > limit {
        let share = (limit / texts.len()).max(2 * MARKER);
        for block in &mut blocks {
            if let Block::Text(text) = block
                && let Some((shorter, bytes)) = cut(&text.text, share)
            {
                text.text = shorter;
                missing += bytes;
                is_changed = true;
            }
        }
    }
    is_changed.then(|| (Json::of(&blocks).expect("blocks are JSON"), missing))
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        _ => None,
    }
}

/// Cuts the middle out of a text that is too long, and says how much is missing.
fn cut(text: &str, limit: usize) -> Option<(String, usize)> {
    if text.len() <= limit {
        return None;
    }
    let half = (limit - MARKER) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let missing = text.len() - head.len() - tail.len();
    Some((format!("{head}\n\n[... {missing} bytes left out ...]\n\n{tail}"), missing))
}
