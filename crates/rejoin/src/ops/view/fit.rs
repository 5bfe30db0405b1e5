//! One message as its recipient can take it: what cannot be sent is left out, described or cut.

use std::collections::HashSet;

use serde::Deserialize;

use crate::model::{Block, Fields, Json, MessageId, Other, Role, Snapshot, Text, Thinking};
use crate::ops::marker::CHANGED;
use crate::ops::view::edit::{BlockEdit, all_blocks, edit_blocks};
use crate::ops::view::media::{self, MediaPlace};
use crate::ops::view::{ItemRule, Recipient, Repair, ThinkingRule, Viewed, output, recipient};

/// The field of a reply's `extra` that has the provider's own id of the reply.
const RESPONSE_ID: &str = "response_id";

/// The field in which a block keeps the item it came in.
const ITEM: &str = "item";

/// The field in which a block keeps its place in that item.
const PLACE: &str = "content_index";

/// A provider's call of a tool that takes text, and its answer.
const CUSTOM_CALL: &str = "custom_tool_call";
const CUSTOM_OUTPUT: &str = "custom_tool_call_output";

/// What such a call is answered: no such tool is offered.
const NO_TOOL: &str = "Error: there is no such tool";

/// Fits the messages of one view, one after the other.
pub(super) struct Fitting<'r> {
    recipient: &'r Recipient,
    /// The replies so far, and the items in them, by the ids their provider gave them.
    replies: HashSet<String>,
    items: HashSet<String>,
    /// True once thinking was fitted, and once an item of the provider was.
    pub(super) has_thinking: bool,
    pub(super) has_items: bool,
}

/// Who said it, as far as that decides what can be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// The recipient itself.
    Own,
    /// Another model.
    Foreign,
    /// The user, or a tool.
    Heard,
    /// The system.
    System,
}

impl<'r> Fitting<'r> {
    pub(super) fn new(recipient: &'r Recipient) -> Self {
        Self {
            recipient,
            replies: HashSet::new(),
            items: HashSet::new(),
            has_thinking: false,
            has_items: false,
        }
    }

    /// The message as it can be sent; none when nothing of it can.
    pub(super) fn fit<'a>(
        &mut self,
        mut viewed: Viewed<'a>,
        repairs: &mut Vec<Repair>,
    ) -> Option<Viewed<'a>> {
        let id = viewed.id;
        if all_blocks(&viewed, is_blank) && !self.is_kept_blank(&viewed) {
            repairs.push(Repair::Empty { message: id });
            return None;
        }
        let speaker = self.speaker(&mut viewed, repairs);
        edit_blocks(&mut viewed, |block| {
            self.has_thinking |= matches!(block, Block::Thinking(_));
            self.has_items |= matches!(block, Block::Other(_));
            fit_block(block, speaker, self.recipient, id, repairs)
        });
        if speaker == Speaker::Own && self.recipient.items == ItemRule::CustomCalls {
            answer_custom_calls(&mut viewed, repairs);
        }
        (!viewed.message.blocks.is_empty()).then_some(viewed)
    }

    fn speaker(&mut self, viewed: &mut Viewed<'_>, repairs: &mut Vec<Repair>) -> Speaker {
        match viewed.message.role {
            Role::System => return Speaker::System,
            Role::User | Role::Tool => return Speaker::Heard,
            Role::Assistant => {}
        }
        if !self.recipient.is_own(&viewed.message) {
            return Speaker::Foreign;
        }
        if !self.recipient.takes_repeats && self.comes_again(viewed) {
            repairs.push(Repair::RepeatedReply { message: viewed.id });
            recipient::disown(viewed.message.to_mut());
            return Speaker::Foreign;
        }
        Speaker::Own
    }

    fn comes_again(&mut self, viewed: &Viewed<'_>) -> bool {
        let reply = viewed.message.extra.field(RESPONSE_ID).map(Json::as_str);
        let named = reply.filter(|reply| !matches!(*reply, "\"\"" | "null"));
        let is_known = named.is_some_and(|reply| !self.replies.insert(reply.to_owned()));
        is_known || self.has_known_item(viewed)
    }

    /// True when an item of the reply came before. Blocks in a row may be the parts of one item.
    fn has_known_item(&mut self, viewed: &Viewed<'_>) -> bool {
        let mut current = None;
        let mut items: Vec<String> = Vec::new();
        for block in &viewed.message.blocks {
            let item = item_id(block);
            let is_next_part = item.is_some() && item == current && is_later_part(block);
            current.clone_from(&item);
            items.extend(item.filter(|_| !is_next_part));
        }
        let is_new = |item: &String| !self.items.contains(item);
        let mut here = HashSet::new();
        let has_known = !items.iter().all(|item| is_new(item) && here.insert(item));
        if !has_known {
            self.items.extend(items);
        }
        has_known
    }

    fn is_kept_blank(&self, viewed: &Viewed<'_>) -> bool {
        self.recipient.keeps_own_text
            && self.recipient.is_own(&viewed.message)
            && viewed.message.blocks.iter().any(is_as_it_came)
    }
}

fn fit_block(
    block: &Block,
    speaker: Speaker,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> BlockEdit {
    let is_model = matches!(speaker, Speaker::Own | Speaker::Foreign);
    match block {
        Block::Text(_) if !is_blank(block) => BlockEdit::Keep,
        Block::Text(_) if speaker == Speaker::Own && recipient.keeps_own_text && is_as_it_came(block) => {
            BlockEdit::Keep
        }
        Block::Text(_) => {
            repairs.push(Repair::EmptyText { message: id });
            BlockEdit::Drop
        }
        Block::Thinking(thinking) => fit_thinking(thinking, speaker, recipient, id, repairs),
        Block::ToolCall(_) if is_model => BlockEdit::Keep,
        Block::ToolCall(call) => {
            repairs.push(Repair::MisplacedCall { message: id, call: call.id.clone() });
            BlockEdit::Drop
        }
        Block::ToolResult(result) => output::fit(result, recipient, id, repairs)
            .map_or(BlockEdit::Keep, |result| BlockEdit::Replace(Block::ToolResult(result))),
        Block::Media(media) => {
            let place = if speaker == Speaker::Heard { MediaPlace::Heard } else { MediaPlace::Elsewhere };
            media::fit(media, recipient, place, id, repairs).map_or(BlockEdit::Keep, BlockEdit::Replace)
        }
        Block::Summary(summary) if summary.text.trim().is_empty() => {
            repairs.push(Repair::EmptyText { message: id });
            BlockEdit::Drop
        }
        Block::Summary(summary) => BlockEdit::Replace(Block::text(summary.text.clone())),
        Block::Snapshot(snapshot) if snapshot.is_of_files() => BlockEdit::Drop,
        Block::Snapshot(snapshot) => BlockEdit::Replace(carried(snapshot)),
        Block::Other(item) if is_sent(item, speaker, recipient) => BlockEdit::Keep,
        Block::Other(item) => {
            repairs.push(Repair::ForeignItem { message: id, kind: item.kind.clone() });
            BlockEdit::Drop
        }
    }
}

fn fit_thinking(
    thinking: &Thinking,
    speaker: Speaker,
    recipient: &Recipient,
    id: Option<MessageId>,
    repairs: &mut Vec<Repair>,
) -> BlockEdit {
    let is_proven = match recipient.thinking {
        _ if speaker != Speaker::Own => None,
        ThinkingRule::Never => None,
        ThinkingRule::Own => Some(true),
        ThinkingRule::Signed => Some(thinking.signature.as_ref().is_some_and(|it| !it.is_empty())),
        ThinkingRule::Item => Some(thinking.extra.field(ITEM).is_some_and(is_readable)),
    };
    // What was signed are not these words.
    let is_changed = thinking.extra.field(CHANGED).is_some();
    match is_proven {
        Some(true) if is_changed && recipient.thinking != ThinkingRule::Own => {
            repairs.push(Repair::RedactedThinking { message: id });
        }
        Some(true) => return BlockEdit::Keep,
        Some(false) => repairs.push(Repair::UnsignedThinking { message: id }),
        None => repairs.push(Repair::ForeignThinking { message: id }),
    }
    BlockEdit::Drop
}

/// True for reasoning that brings its content, sealed or in words. The provider
/// keeps nothing that it could look up.
fn is_readable(item: &Json) -> bool {
    let item: Fields = item.to().unwrap_or_default();
    let is_there =
        |name| item.field(name).is_some_and(|value| !matches!(value.as_str(), "null" | "\"\"" | "[]"));
    is_there("encrypted_content") || is_there("content")
}

/// The id that its provider gave to the item that a block came in.
fn item_id(block: &Block) -> Option<String> {
    /// All of an item that is read here: it may be long.
    #[derive(Deserialize)]
    struct Named {
        id: Option<String>,
    }

    match (extra_of(block)?.field(ITEM), block) {
        (Some(item), _) => item.to::<Named>().ok()?.id,
        (None, Block::Other(other)) => other.fields.field("id")?.to().ok(),
        (None, _) => None,
    }
}

fn is_later_part(block: &Block) -> bool {
    let place = extra_of(block).and_then(|extra| extra.field(PLACE));
    place.and_then(|place| place.to::<u64>().ok()).is_some_and(|place| place > 0)
}

const fn extra_of(block: &Block) -> Option<&Fields> {
    match block {
        Block::Text(text) => Some(&text.extra),
        Block::Thinking(thinking) => Some(&thinking.extra),
        Block::ToolCall(call) => Some(&call.extra),
        Block::Other(other) => Some(&other.fields),
        Block::ToolResult(_) | Block::Media(_) | Block::Snapshot(_) | Block::Summary(_) => None,
    }
}

/// True for an item that the provider made, and takes back.
fn is_sent(item: &Other, speaker: Speaker, recipient: &Recipient) -> bool {
    speaker == Speaker::Own && recipient.items != ItemRule::Never && !item.kind.is_empty()
}

fn carried(snapshot: &Snapshot) -> Block {
    Block::text(format!("State to carry along: {}", snapshot.data.as_str()))
}

/// A text without a word.
fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.text.chars().all(char::is_whitespace))
}

/// White space, or a text that is part of an item, as only a provider writes it.
fn is_as_it_came(block: &Block) -> bool {
    matches!(block, Block::Text(Text { text, extra }) if !text.is_empty() || !extra.is_empty())
}

/// Gives every custom call an output; the API refuses a call without one.
fn answer_custom_calls(viewed: &mut Viewed<'_>, repairs: &mut Vec<Repair>) {
    let ids = |kind: &'static str| {
        let items = viewed.message.blocks.iter().filter_map(move |block| match block {
            Block::Other(item) if item.kind == kind => item.fields.field("call_id").cloned(),
            _ => None,
        });
        items.collect::<Vec<Json>>()
    };
    let calls = ids(CUSTOM_CALL);
    if calls.is_empty() {
        return;
    }
    let answered = ids(CUSTOM_OUTPUT);
    for call in calls.into_iter().filter(|call| !answered.contains(call)) {
        let name = call.to::<String>().unwrap_or_default();
        repairs.push(Repair::MissingResult { message: viewed.id, call: name });
        let mut fields = Fields::new();
        fields.set("call_id", call);
        fields.set("output", Json::of(&NO_TOOL).expect("a string is JSON"));
        let output = Block::Other(Other { kind: CUSTOM_OUTPUT.to_owned(), fields });
        viewed.message.to_mut().blocks.push(output);
    }
}
