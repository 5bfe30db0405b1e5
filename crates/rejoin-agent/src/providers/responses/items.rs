//! Items of the Responses language as blocks, and back.
//!
//! A block keeps the item it came from in the field `item`, without what the block itself says. So an item
//! comes back with every field, and a change of the block's words is a change of the item.

use rejoin::{Block, Fields, Json, Other, Text, Thinking, ToolCall};

use crate::providers::openai;

/// Where a block keeps the rest of its item.
const ITEM: &str = "item";
/// Where a text keeps the rest of its part of the item.
const PART: &str = "part";
/// Where a text keeps its place in the item. A text at place 0 begins an item.
const PLACE: &str = "content_index";
/// A part of a message that has no words.
const PART_KIND: &str = "message_part";
/// An item whose own kind would be mistaken for another block when it is read again.
const ITEM_KIND: &str = "output_item";

/// What separates texts that are sent as one.
const BETWEEN: &str = "\n\n";

/// The blocks of an item.
pub(super) fn to_blocks(item: &Fields) -> Vec<Block> {
    let known = match text_of(item, "type").as_deref() {
        Some("message") => message(item),
        Some("reasoning") => Some(vec![reasoning(item)]),
        Some("function_call") => function_call(item).map(|block| vec![block]),
        _ => None,
    };
    known.unwrap_or_else(|| vec![other(item)])
}

/// The items of blocks that came from items, in order, with those that came from elsewhere as plain ones.
pub(super) fn from_blocks(blocks: &[Block]) -> Vec<Fields> {
    let mut items: Vec<Fields> = Vec::new();
    let mut parts: Vec<Fields> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text(text) => parts.push(part_of(text)),
            Block::Other(block) if block.kind == PART_KIND => {
                parts.extend(block.fields.field(PART).and_then(|part| part.to().ok()));
            }
            Block::Thinking(block) => items.extend(rest(&block.extra)),
            Block::ToolCall(call) => items.push(call_item(rest(&call.extra), call)),
            Block::Other(block) => items.push(exact(block)),
            _ => {}
        }
        let is_last_part = blocks.get(index + 1).is_none_or(|next| !continues(next));
        if !parts.is_empty() && is_last_part {
            items.extend(message_item(block, std::mem::take(&mut parts)));
        }
    }
    items
}

/// The items of a reply that came from elsewhere: its words in one message, then its calls.
pub(super) fn plain(blocks: &[Block]) -> Vec<Fields> {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let words = (!texts.is_empty()).then(|| plain_message(&texts));
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call_item(None, call)),
        _ => None,
    });
    words.into_iter().chain(calls).collect()
}

/// A message for words that did not come from an item. The schema allows parts only in a message with an id.
fn plain_message(texts: &[&str]) -> Fields {
    fields([
        ("type", openai::string("message")),
        ("role", openai::string("assistant")),
        ("content", openai::string(&texts.join(BETWEEN))),
    ])
}

/// A part of a message.
pub(super) fn plain_part(text: &str) -> Fields {
    fields([("type", openai::string("output_text")), ("text", openai::string(text))])
}

/// A call as an item, with the rest of the item it came from.
fn call_item(rest: Option<Fields>, call: &ToolCall) -> Fields {
    let mut item = rest.unwrap_or_else(|| fields([("type", openai::string("function_call"))]));
    item.set("call_id", openai::string(&call.id));
    item.set("name", openai::string(&call.name));
    item.set("arguments", openai::string(&openai::arguments(call)));
    item
}

/// True for a text in which the model declines.
pub(super) fn is_refusal(block: &Block) -> bool {
    let Block::Text(text) = block else { return false };
    let part = text.extra.field(PART).and_then(|part| part.to::<Fields>().ok());
    part.is_some_and(|part| words_field(&part) == "refusal")
}

/// The string in a field.
pub(super) fn text_of(fields: &Fields, name: &str) -> Option<String> {
    fields.field(name).and_then(|value| value.to().ok())
}

fn message(item: &Fields) -> Option<Vec<Block>> {
    let parts: Vec<Fields> = item.field("content")?.to().ok()?;
    if parts.is_empty() {
        return None;
    }
    let kept = json(&without(item, &["content"]));
    let blocks = parts.iter().enumerate().map(|(place, part)| {
        let mut extra = fields([(ITEM, kept.clone()), (PLACE, json(&place))]);
        let name = words_field(part);
        match text_of(part, name) {
            Some(text) => {
                extra.set(PART, json(&without(part, &[name])));
                Block::Text(Text { text, extra })
            }
            None => {
                extra.set(PART, json(part));
                Block::Other(Other { kind: PART_KIND.to_owned(), fields: extra })
            }
        }
    });
    Some(blocks.collect())
}

fn reasoning(item: &Fields) -> Block {
    let joined = |name| {
        let parts: Vec<Fields> = item.field(name).and_then(|parts| parts.to().ok()).unwrap_or_default();
        parts.iter().filter_map(|part| text_of(part, "text")).collect::<Vec<_>>().join("\n\n")
    };
    let summary = joined("summary");
    let text = if summary.is_empty() { joined("content") } else { summary };
    Block::Thinking(Thinking { text, signature: None, extra: fields([(ITEM, json(item))]) })
}

fn function_call(item: &Fields) -> Option<Block> {
    let id = text_of(item, "call_id")?;
    let name = text_of(item, "name")?;
    let (input, exact) = openai::read_arguments(&text_of(item, "arguments")?);
    let mut extra = fields([(ITEM, json(&without(item, &["call_id", "name", "arguments"])))]);
    if let Some(exact) = exact {
        extra.set(openai::ARGUMENTS, exact);
    }
    Some(Block::ToolCall(ToolCall { id, name, input, extra }))
}

fn other(item: &Fields) -> Block {
    let kind = text_of(item, "type").unwrap_or_default();
    let block = Block::Other(Other { kind, fields: without(item, &["type"]) });
    let stored = serde_json::to_string(&block).expect("a block is plain data");
    // An item may be called `text` or `image`, and would be read back as such.
    if serde_json::from_str::<Block>(&stored).is_ok_and(|read| read == block) && block.kind() != ITEM_KIND {
        return block;
    }
    Block::Other(Other { kind: ITEM_KIND.to_owned(), fields: fields([(ITEM, json(item))]) })
}

fn exact(block: &Other) -> Fields {
    if block.kind == ITEM_KIND
        && let Some(item) = rest(&block.fields)
    {
        return item;
    }
    let mut item = fields([("type", openai::string(&block.kind))]);
    for (name, value) in block.fields.iter() {
        item.set(name, value.clone());
    }
    item
}

/// The item that the parts up to this block belong to.
fn message_item(block: &Block, parts: Vec<Fields>) -> Option<Fields> {
    let extra = match block {
        Block::Text(text) => &text.extra,
        Block::Other(other) => &other.fields,
        _ => return None,
    };
    let Some(mut item) = rest(extra) else {
        let texts: Vec<String> = parts.iter().filter_map(|part| text_of(part, words_field(part))).collect();
        return Some(plain_message(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    };
    item.set("content", json(&parts));
    Some(item)
}

fn part_of(text: &Text) -> Fields {
    let Some(mut part) = text.extra.field(PART).and_then(|part| part.to::<Fields>().ok()) else {
        return plain_part(&text.text);
    };
    part.set(words_field(&part), openai::string(&text.text));
    part
}

/// True when the block is a later part of the item that the block before it belongs to.
fn continues(block: &Block) -> bool {
    let extra = match block {
        Block::Text(text) => &text.extra,
        Block::Other(other) if other.kind == PART_KIND => &other.fields,
        _ => return false,
    };
    extra.field(PLACE).and_then(|place| place.to::<u64>().ok()).is_some_and(|place| place > 0)
}

/// Which field of a part has the words.
fn words_field(part: &Fields) -> &'static str {
    if text_of(part, "type").as_deref() == Some("refusal") { "refusal" } else { "text" }
}

fn rest(extra: &Fields) -> Option<Fields> {
    extra.field(ITEM).and_then(|item| item.to().ok())
}

fn without(all: &Fields, names: &[&str]) -> Fields {
    let mut kept = Fields::new();
    for (name, value) in all.iter().filter(|(name, _)| !names.contains(name)) {
        kept.set(name, value.clone());
    }
    kept
}

fn fields<const N: usize>(pairs: [(&str, Json); N]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in pairs {
        fields.set(name, value);
    }
    fields
}

fn json(value: &impl serde::Serialize) -> Json {
    Json::of(value).expect("fields and numbers are JSON")
}
