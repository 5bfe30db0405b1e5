//! A history as Anthropic Messages can take it: turns that alternate, and every call answered right after it.
//!
//! What this provider sent goes back as it came. Of another provider's replies only text and calls are sent. Nothing
//! here fails: a history that was imported, cut or changed by hand still becomes a request.

use std::collections::{HashMap, HashSet};

use rejoin::view::Viewed;
use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Role, ToolCall, ToolResult};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::providers::Api;

/// What the answer to a call says when history has none.
const NO_ANSWER: &str = "no result of this call was recorded";

/// The API wants the user to speak first.
const OPENING: &str = "[The conversation begins with the assistant.]";

/// Where a call keeps what the model wrote when that is not JSON.
pub(super) const ARGUMENTS: &str = "arguments";

/// What one side said until the other spoke.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    /// User or assistant.
    pub(super) role: Role,
    /// Content items in the language of the API.
    pub(super) content: Vec<Fields>,
}

impl Serialize for Turn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut turn = serializer.serialize_struct("Turn", 2)?;
        turn.serialize_field("role", &self.role)?;
        turn.serialize_field("content", &self.content)?;
        turn.end()
    }
}

/// The turns of a history for the provider with this name.
pub(super) fn turns(messages: &[Viewed<'_>], provider: &str) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut taken = HashSet::new();
    let mut calls = Vec::new();
    let spoken: Vec<&Message> = messages
        .iter()
        .map(|viewed| viewed.message.as_ref())
        .filter(|message| message.role != Role::System)
        .collect();
    for group in spoken.chunk_by(|one, next| is_reply(one) == is_reply(next)) {
        if is_reply(group[0]) {
            let mut said: Vec<Fields> = group.iter().flat_map(|message| said(message, provider)).collect();
            // The API refuses a reply that ends with thinking, such as one that reached its limit there.
            while said.pop_if(|last| is_thinking(last)).is_some() {}
            calls = tell_apart(&mut said, &mut taken);
            add(&mut turns, Role::Assistant, said);
        } else {
            add(&mut turns, Role::User, heard(group, &std::mem::take(&mut calls)));
        }
    }
    add(&mut turns, Role::User, heard(&[], &calls));
    drop_abandoned(&mut turns);
    if turns.first().is_some_and(|first| first.role == Role::Assistant) {
        turns.insert(0, Turn { role: Role::User, content: vec![text(OPENING)] });
    }
    turns
}

fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// Adds content to the turn of that side. No content is no turn.
fn add(turns: &mut Vec<Turn>, role: Role, content: Vec<Fields>) {
    match turns.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => turns.push(Turn { role, content }),
    }
}

/// Leaves out what a server's tool was asked and never answered, if the user has spoken since. Until then the reply
/// goes on: after a pause, or after results that the server's tool waits for.
fn drop_abandoned(turns: &mut Vec<Turn>) {
    let is_result = |item: &Fields| word(item, "type").is_some_and(|kind| kind == "tool_result");
    let has_spoken = |turn: &Turn| turn.role == Role::User && !turn.content.iter().all(is_result);
    let Some(spoken) = turns.iter().rposition(has_spoken) else { return };
    let items = turns.iter().flat_map(|turn| &turn.content);
    let answered: HashSet<String> = items.filter_map(|item| word(item, "tool_use_id")).collect();
    let is_abandoned = |item: &Fields| {
        word(item, "type").is_some_and(|kind| kind.ends_with("_tool_use"))
            && word(item, "id").is_some_and(|id| !answered.contains(&id))
    };
    for turn in &mut turns[..spoken] {
        turn.content.retain(|item| !is_abandoned(item));
        while turn.content.pop_if(|last| turn.role == Role::Assistant && is_thinking(last)).is_some() {}
    }
    for turn in std::mem::take(turns) {
        add(turns, turn.role, turn.content);
    }
}

/// The items of a reply.
fn said(message: &Message, provider: &str) -> Vec<Fields> {
    let field = |name| message.extra.field(name).and_then(|value| value.to::<String>().ok());
    let is_own = field("api").is_some_and(|api| api == Api::Anthropic.as_str())
        && field("provider").is_none_or(|name| name == provider);
    let item = if is_own { own } else { foreign };
    message.blocks.iter().filter_map(item).collect()
}

/// A block that this provider sent, as it sent it.
fn own(block: &Block) -> Option<Fields> {
    match block {
        Block::Text(block) if is_blank(&block.text) => None,
        Block::Text(block) => Some(with(text(&block.text), &block.extra)),
        Block::Thinking(block) => {
            let signature = block.signature.as_ref().filter(|signature| !signature.is_empty())?;
            let fields = [("thinking", string(&block.text)), ("signature", string(signature))];
            Some(with(item("thinking", fields), &block.extra))
        }
        Block::ToolCall(block) => Some(with(call(block), &block.extra)),
        Block::Other(block) => Some(with(item(&block.kind, []), &block.fields)),
        Block::ToolResult(_) | Block::Media(_) | Block::Snapshot(_) | Block::Summary(_) => foreign(block),
        _ => None,
    }
}

/// A block of another origin: text and calls.
fn foreign(block: &Block) -> Option<Fields> {
    match block {
        Block::Text(block) if !is_blank(&block.text) => Some(text(&block.text)),
        Block::Summary(block) if !is_blank(&block.text) => Some(text(&block.text)),
        Block::ToolCall(block) => Some(call(block)),
        _ => None,
    }
}

fn call(block: &ToolCall) -> Fields {
    let fields = [
        ("id", string(&acceptable(&block.id))),
        ("name", string(&acceptable(&block.name))),
        ("input", input(&block.input)),
    ];
    item("tool_use", fields)
}

/// The API takes objects only. What is none is wrapped in one, in the way the API's documentation proposes.
pub(super) fn input(input: &Json) -> Json {
    match input.as_str() {
        text if text.starts_with('{') => input.clone(),
        "null" => Json::parse("{}").expect("an empty object is JSON"),
        text => {
            let text = input.to::<String>().unwrap_or_else(|_| text.to_owned());
            Json::of(&HashMap::from([("INVALID_JSON", text)])).expect("a map of strings is JSON")
        }
    }
}

/// A call: the id it came with, and the id it is sent with.
struct Call {
    own: String,
    sent: String,
}

/// Gives a call whose id was used before another one. Servers that count their calls begin anew with each reply.
fn tell_apart(content: &mut [Fields], taken: &mut HashSet<String>) -> Vec<Call> {
    let calls = content.iter_mut().filter(|item| word(item, "type").is_some_and(|kind| kind == "tool_use"));
    let named = calls.map(|item| {
        let own = word(item, "id").unwrap_or_default();
        let others = (2_u32..).map(|number| format!("{own}_{number}"));
        let mut names = std::iter::once(own.clone()).chain(others);
        let sent = names.find(|name| !taken.contains(name)).expect("some number is free");
        taken.insert(sent.clone());
        item.set("id", string(&sent));
        Call { own, sent }
    });
    named.collect()
}

/// What was said to the model: the answers to its calls first, in the order of the calls, then the rest.
fn heard(messages: &[&Message], calls: &[Call]) -> Vec<Fields> {
    let blocks = || messages.iter().flat_map(|message| &message.blocks);
    let mut results: Vec<&ToolResult> = blocks()
        .filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    let mut content = Vec::new();
    for call in calls {
        let found = results.iter().position(|result| acceptable(&result.call_id) == call.own);
        content.push(match found {
            Some(place) => answer(&call.sent, results.remove(place)),
            None => unanswered(&call.sent),
        });
    }
    content.extend(blocks().filter_map(shown));
    content
}

fn answer(id: &str, result: &ToolResult) -> Fields {
    let mut fields = item("tool_result", [("tool_use_id", string(id))]);
    fields.set("content", content(&result.output));
    if result.is_error {
        fields.set("is_error", Json::of(&true).expect("a boolean is JSON"));
    }
    fields
}

fn unanswered(id: &str) -> Fields {
    let result = ToolResult { output: string(NO_ANSWER), is_error: true, ..ToolResult::default() };
    answer(id, &result)
}

/// What a tool gave back: text and media as such, other JSON as its text.
fn content(output: &Json) -> Json {
    if output.as_str().starts_with('"') {
        return output.clone();
    }
    let is_shown = |block: &Block| matches!(block, Block::Text(_) | Block::Media(_));
    match output.to::<Vec<Block>>() {
        Ok(blocks) if !blocks.is_empty() && blocks.iter().all(is_shown) => {
            let items: Vec<Fields> = blocks.iter().filter_map(shown).collect();
            Json::of(&items).expect("items are JSON")
        }
        _ => string(output.as_str()),
    }
}

/// A block of what was said to the model, apart from results.
fn shown(block: &Block) -> Option<Fields> {
    match block {
        Block::Text(block) if !is_blank(&block.text) => Some(text(&block.text)),
        Block::Summary(block) if !is_blank(&block.text) => Some(text(&block.text)),
        Block::Snapshot(block) => Some(text(block.data.as_str())),
        Block::Media(media) => Some(attached(media)),
        _ => None,
    }
}

fn attached(media: &Media) -> Fields {
    let kind = match media.kind {
        MediaKind::Image => Some("image"),
        MediaKind::File if media.mime_type == "application/pdf" => Some("document"),
        MediaKind::File | MediaKind::Audio | MediaKind::Video => None,
    };
    let is_web = |uri: &&String| uri.starts_with("https://") || uri.starts_with("http://");
    let source = match (&media.data, media.uri.as_ref().filter(is_web)) {
        (Some(data), _) => {
            Some(item("base64", [("media_type", string(&media.mime_type)), ("data", string(data))]))
        }
        (None, Some(uri)) => Some(item("url", [("url", string(uri))])),
        (None, None) => None,
    };
    match (kind, source) {
        (Some(kind), Some(source)) => item(kind, [("source", Json::of(&source).expect("fields are JSON"))]),
        _ => text(&format!("[{} of type `{}`, not sent]", media.kind.as_str(), media.mime_type)),
    }
}

/// A content item.
pub(super) fn item<const N: usize>(kind: &str, fields: [(&str, Json); N]) -> Fields {
    let mut item = Fields::new();
    item.set("type", string(kind));
    for (name, value) in fields {
        item.set(name, value);
    }
    item
}

fn text(text: &str) -> Fields {
    item("text", [("text", string(text))])
}

/// The item with the fields that were kept beside those that Rejoin knows.
fn with(mut item: Fields, extra: &Fields) -> Fields {
    for (name, value) in extra.iter().filter(|(name, _)| *name != ARGUMENTS) {
        item.set(name, value.clone());
    }
    item
}

/// A string as JSON.
pub(super) fn string(text: &str) -> Json {
    Json::of(&text).expect("a string is JSON")
}

pub(super) fn is_thinking(item: &Fields) -> bool {
    word(item, "type").is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking")
}

pub(super) fn word(item: &Fields, name: &str) -> Option<String> {
    item.field(name).and_then(|value| value.to::<String>().ok())
}

/// The API refuses text without a letter.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// An id or a name that the API accepts: letters, digits, `_` and `-`.
fn acceptable(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(
            |letter| if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') { letter } else { '_' },
        )
        .collect();
    if plain.is_empty() { "unnamed".to_owned() } else { plain }
}
