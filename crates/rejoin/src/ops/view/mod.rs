//! The view: what a model is sent. It is computed from history, and history is never edited.
//!
//! A view begins at the newest compaction of its path, or at the root. Then it is made valid for whoever receives it,
//! and every repair is told. The same history gives the same view, byte for byte, and a longer history gives a longer
//! view with the same beginning, so that a provider's prompt cache works.

mod compacted;
mod pairs;
mod recipient;
mod repair;

use std::borrow::Cow;

use crate::model::{
    Block, Fields, Json, Media, MediaKind, Message, MessageId, Role, StoredMessage, ToolResult,
};

pub use compacted::{Compaction, Kept};
pub use recipient::{
    CallIdRule, EndingRule, FirstRule, ItemRule, MediaRule, Recipient, RepeatRule, TextRule, ThinkingRule,
};
pub use repair::Repair;

/// A message on a path, as a view needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said<'a> {
    /// Its id; none while it is not stored.
    pub id: Option<MessageId>,
    /// True when it survives every compaction.
    pub is_pinned: bool,
    /// What was said.
    pub message: &'a Message,
}

impl<'a> Said<'a> {
    /// The messages of a stored path.
    pub fn all(path: &'a [StoredMessage]) -> Vec<Self> {
        path.iter().map(Self::from).collect()
    }
}

impl<'a> From<&'a StoredMessage> for Said<'a> {
    fn from(stored: &'a StoredMessage) -> Self {
        Self { id: Some(stored.id), is_pinned: stored.is_pinned, message: &stored.message }
    }
}

/// What a model is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View<'a> {
    /// The messages, oldest first.
    pub messages: Vec<Viewed<'a>>,
    /// What was changed to make them valid, in order.
    pub repairs: Vec<Repair>,
}

/// A message of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewed<'a> {
    /// The stored message it shows; none when it only exists in the view.
    pub id: Option<MessageId>,
    /// What is sent: the message itself, or what a repair made of it.
    pub message: Cow<'a, Message>,
}

impl<'a> From<&'a Message> for Viewed<'a> {
    fn from(message: &'a Message) -> Self {
        Self { id: None, message: Cow::Borrowed(message) }
    }
}

/// Computes the view of a path, root first. Summaries named in `ignored` are passed over.
pub fn view<'a>(path: &[Said<'a>], ignored: &[MessageId], recipient: &Recipient) -> View<'a> {
    let mut repairs = Vec::new();
    let shown = compacted::shown(path, ignored);
    let fitted = shown.into_iter().filter_map(|viewed| fit(viewed, recipient, &mut repairs)).collect();
    let mut messages = pairs::pair(fitted, &mut repairs);
    let begins_wrong = messages.first().is_some_and(|first| first.message.role != Role::User);
    if begins_wrong && recipient.first == FirstRule::User {
        repairs.push(Repair::Began);
        messages.insert(
            0,
            Viewed { id: None, message: Cow::Owned(Message::user("(The beginning is not shown.)")) },
        );
    }
    View { messages, repairs }
}

/// Leaves out of one message what the recipient cannot take. A message of which nothing is left is left out.
fn fit<'a>(viewed: Viewed<'a>, recipient: &Recipient, repairs: &mut Vec<Repair>) -> Option<Viewed<'a>> {
    let Viewed { id, message } = viewed;
    let mut message = message.into_owned();
    let origin = if message.role != Role::Assistant || recipient.is_own(&message) {
        Origin::Own
    } else {
        Origin::Foreign
    };
    let blocks = std::mem::take(&mut message.blocks);
    let had_blocks = !blocks.is_empty();
    message.blocks = blocks
        .into_iter()
        .filter_map(|block| fit_block(block, origin, message.role, recipient, id, repairs))
        .collect();
    if message.blocks.is_empty() {
        if !had_blocks {
            repairs.push(Repair::Empty { message: id });
        }
        return None;
    }
    if origin == Origin::Foreign {
        message.extra = Fields::new();
    }
    Some(Viewed { id, message: Cow::Owned(message) })
}

/// Whether a reply came from the API that the view is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Own,
    Foreign,
}

fn fit_block(
    block: Block,
    origin: Origin,
    role: Role,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> Option<Block> {
    let is_assistant = role == Role::Assistant;
    match block {
        Block::Text(text) if text.text.trim().is_empty() => None,
        Block::Text(mut text) => {
            if origin == Origin::Foreign {
                text.extra = Fields::new();
            }
            Some(Block::Text(text))
        }
        Block::Thinking(_)
            if !is_assistant || origin == Origin::Foreign || recipient.thinking == ThinkingRule::Never =>
        {
            repairs.push(Repair::ForeignThinking { message: id });
            None
        }
        Block::Thinking(thinking)
            if recipient.thinking == ThinkingRule::Signed && thinking.signature.is_none() =>
        {
            repairs.push(Repair::UnsignedThinking { message: id });
            None
        }
        Block::Thinking(thinking) => Some(Block::Thinking(thinking)),
        Block::ToolCall(call) if !is_assistant => {
            repairs.push(Repair::MisplacedCall { message: id, call: call.id });
            None
        }
        Block::ToolCall(mut call) => {
            if origin == Origin::Foreign {
                call.extra = Fields::new();
            }
            Some(Block::ToolCall(call))
        }
        Block::ToolResult(result) if role != Role::Tool => {
            repairs.push(Repair::OrphanResult { message: id, call: result.call_id });
            None
        }
        Block::ToolResult(result) => Some(Block::ToolResult(cut(result, recipient, id, repairs))),
        Block::Media(media) => Some(fit_media(media, recipient, id, repairs)),
        Block::Summary(summary) => Some(Block::text(summary.text)),
        Block::Snapshot(snapshot) => {
            Some(Block::text(format!("State to carry along: {}", snapshot.data.as_str())))
        }
        Block::Other(other) if is_assistant && origin == Origin::Own => Some(Block::Other(other)),
        Block::Other(other) => {
            repairs.push(Repair::ForeignItem { message: id, kind: other.kind });
            None
        }
    }
}

fn fit_media(media: Media, recipient: &Recipient, id: Option<MessageId>, repairs: &mut Vec<Repair>) -> Block {
    let is_sent =
        media.kind == MediaKind::Image && media.data.is_some() && recipient.media == MediaRule::Images;
    if is_sent {
        return Block::Media(media);
    }
    let name = media.uri.as_deref().unwrap_or("without a name");
    let text = format!("({}, {}, {name}; not sent)", media.kind.as_str(), media.mime_type);
    repairs.push(Repair::DescribedMedia { message: id, mime_type: media.mime_type });
    Block::text(text)
}

/// Cuts the middle out of an output that is too long, and says how much is missing.
fn cut(
    mut result: ToolResult,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> ToolResult {
    if result.output.as_str().len() <= recipient.output_bytes {
        return result;
    }
    let text = result.output.to::<String>().unwrap_or_else(|_| result.output.as_str().to_owned());
    if text.len() <= recipient.output_bytes {
        return result;
    }
    let (head, tail) = ends(&text, recipient.output_bytes.saturating_sub(MARKER));
    let missing = text.len() - head.len() - tail.len();
    let shortened = format!("{head}\n\n[... {missing} bytes left out ...]\n\n{tail}");
    result.output = Json::of(&shortened).expect("a string is JSON");
    repairs.push(Repair::CutOutput { message: id, call: result.call_id.clone(), bytes: missing });
    result
}

/// Room for the line that stands for what is missing, so that a cut output is not cut again.
const MARKER: usize = 60;

/// The first and last halves of `most` bytes, at character borders.
fn ends(text: &str, most: usize) -> (&str, &str) {
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    (&text[..head], &text[tail..])
}

#[cfg(test)]
mod tests;
