//! Reads a streamed reply of the Responses language.
//!
//! The item in `response.output_item.done` is what counts; deltas only show it coming. The reply is complete
//! when the provider says so, and not before.

use std::collections::BTreeMap;

use rejoin::{Block, Fields, Json, Message, Role, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::complaint::error_in_stream;
use crate::providers::openai::{one_line, string};
use crate::providers::responses::items;
use crate::providers::wire::{EventReader, ServerEvent};
use crate::providers::{Api, Piece, Reply, Stop};

/// One reply while it is read.
pub(super) struct ResponsesReader {
    provider: String,
    model: String,
    response_id: Option<String>,
    items: BTreeMap<u64, OutputItem>,
    end: Option<ResponsesEnd>,
}

/// An item of the reply.
enum OutputItem {
    /// It began; of a message, the words so far by part.
    Open { item: Fields, words: BTreeMap<u64, String> },
    /// It is complete.
    Done(Vec<Block>),
}

/// How the reply ended.
struct ResponsesEnd {
    finish: String,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct NamedEvent {
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct ItemEvent {
    output_index: Option<u64>,
    item: Fields,
}

#[derive(Deserialize)]
struct DeltaEvent {
    output_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(default)]
    delta: String,
}

#[derive(Deserialize)]
struct SummaryPartEvent {
    #[serde(default)]
    summary_index: u64,
}

#[derive(Deserialize)]
struct ResponseEvent {
    response: ResponseObject,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseObject {
    id: Option<String>,
    model: Option<String>,
    output: Option<Vec<Fields>>,
    usage: Option<Json>,
    error: Option<Json>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IncompleteDetails {
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesTokens {
    input_tokens: u64,
    output_tokens: u64,
}

impl ResponsesReader {
    pub(super) fn new(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            response_id: None,
            items: BTreeMap::new(),
            end: None,
        }
    }

    fn note(&mut self, response: &ResponseObject) {
        if let Some(id) = &response.id {
            self.response_id = Some(id.clone());
        }
        if let Some(model) = &response.model {
            self.model.clone_from(model);
        }
    }

    fn begin(&mut self, event: ItemEvent, tell: &mut dyn FnMut(Piece)) {
        if items::text_of(&event.item, "type").as_deref() == Some("function_call") {
            tell(Piece::Call { name: items::text_of(&event.item, "name").unwrap_or_default() });
        }
        let index = event.output_index.unwrap_or_else(|| self.next_index());
        self.items.insert(index, OutputItem::Open { item: event.item, words: BTreeMap::new() });
    }

    fn add_words(&mut self, event: &DeltaEvent) {
        let index = event.output_index.or_else(|| self.items.keys().next_back().copied()).unwrap_or(0);
        if let Some(OutputItem::Open { words, .. }) = self.items.get_mut(&index) {
            words.entry(event.content_index.unwrap_or(0)).or_default().push_str(&event.delta);
        }
    }

    fn complete(&mut self, index: u64, item: &Fields, tell: &mut dyn FnMut(Piece)) {
        let blocks = items::to_blocks(item);
        for block in &blocks {
            tell(Piece::Finished(block.clone()));
        }
        self.items.insert(index, OutputItem::Done(blocks));
    }

    /// Ends the reply, with the items that were not told one by one.
    fn end(&mut self, finish: String, response: &ResponseObject, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        for (index, item) in (0..).zip(response.output.iter().flatten()) {
            if !matches!(self.items.get(&index), Some(OutputItem::Done(_))) {
                self.complete(index, item, tell);
            }
        }
        let usage = response.usage.as_ref().map(|detail| {
            let tokens: ResponsesTokens = detail.to().unwrap_or_default();
            Usage {
                input_tokens: tokens.input_tokens,
                output_tokens: tokens.output_tokens,
                detail: Some(detail.clone()),
            }
        });
        let open: Vec<u64> =
            self.items.iter().filter(|(_, slot)| slot.is_open()).map(|(index, _)| *index).collect();
        if finish == COMPLETED && !open.is_empty() {
            return Err(malformed("the reply is said to be complete, but an item of it is not"));
        }
        for index in open {
            self.cut_off(index, tell);
        }
        self.end = Some(ResponsesEnd { finish, usage });
        Ok(())
    }

    /// Keeps the words of an item that the limit cut off. What else was in it cannot be sent back.
    fn cut_off(&mut self, index: u64, tell: &mut dyn FnMut(Piece)) {
        let Some(OutputItem::Open { item, words }) = self.items.remove(&index) else { return };
        if items::text_of(&item, "type").as_deref() != Some("message") || words.is_empty() {
            return;
        }
        let parts: Vec<Fields> = words.values().map(|text| items::plain_part(text)).collect();
        let mut item = item;
        item.set("status", string("incomplete"));
        item.set("content", Json::of(&parts).expect("fields are JSON"));
        self.complete(index, &item, tell);
    }

    fn next_index(&self) -> u64 {
        self.items.keys().next_back().map_or(0, |last| last + 1)
    }

    /// Where an item belongs whose event does not say.
    fn open_index(&self) -> u64 {
        let open = self.items.iter().find(|(_, slot)| slot.is_open());
        open.map_or_else(|| self.next_index(), |(index, _)| *index)
    }
}

impl OutputItem {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// The finish reason of a reply that ended by itself.
const COMPLETED: &str = "completed";

impl EventReader for ResponsesReader {
    fn take(&mut self, event: &ServerEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        if self.end.is_some() || event.data.trim().is_empty() || event.data == "[DONE]" {
            return Ok(());
        }
        let kind = read::<NamedEvent>(event)?.kind.unwrap_or_else(|| event.name.clone());
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.note(&read::<ResponseEvent>(event)?.response);
            }
            "response.output_item.added" => self.begin(read(event)?, tell),
            "response.output_text.delta" | "response.refusal.delta" => {
                let delta: DeltaEvent = read(event)?;
                self.add_words(&delta);
                tell(Piece::Text(delta.delta));
            }
            "response.reasoning_summary_part.added" if read::<SummaryPartEvent>(event)?.summary_index > 0 => {
                tell(Piece::Thinking("\n\n".to_owned()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                tell(Piece::Thinking(read::<DeltaEvent>(event)?.delta));
            }
            "response.output_item.done" => {
                let done: ItemEvent = read(event)?;
                let index = done.output_index.unwrap_or_else(|| self.open_index());
                self.complete(index, &done.item, tell);
            }
            "response.completed" | "response.done" => {
                let response = read::<ResponseEvent>(event)?.response;
                self.note(&response);
                self.end(COMPLETED.to_owned(), &response, tell)?;
            }
            "response.incomplete" => {
                let mut response = read::<ResponseEvent>(event)?.response;
                self.note(&response);
                let reason = response.incomplete_details.take().and_then(|details| details.reason);
                self.end(reason.unwrap_or_else(|| "incomplete".to_owned()), &response, tell)?;
            }
            "response.failed" => {
                let error = read::<ResponseEvent>(event)?.response.error.unwrap_or_default();
                return Err(error_in_stream(&error));
            }
            "error" => return Err(error_in_stream(&error_of(event)?)),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Reply> {
        let Some(ResponsesEnd { finish, usage }) = self.end else {
            return Err(malformed("the stream ended before the reply was complete"));
        };
        let blocks: Vec<Block> = self
            .items
            .into_values()
            .flat_map(|slot| match slot {
                OutputItem::Done(blocks) => blocks,
                OutputItem::Open { .. } => Vec::new(),
            })
            .collect();
        let stop = stop(&finish, &blocks);
        let mut message = Message::new(Role::Assistant, blocks);
        message.extra.set("provider", string(&self.provider));
        message.extra.set("api", string(Api::Responses.as_str()));
        message.extra.set("model", string(&self.model));
        if let Some(id) = &self.response_id {
            message.extra.set("response_id", string(id));
        }
        message.usage = usage;
        message.finish = Some(finish);
        Ok(Reply { message, stop })
    }
}

fn stop(finish: &str, blocks: &[Block]) -> Stop {
    match finish {
        "max_output_tokens" => return Stop::Length,
        "content_filter" => return Stop::Refused,
        _ => {}
    }
    if blocks.iter().any(|block| matches!(block, Block::ToolCall(_))) {
        Stop::Tools
    } else if blocks.iter().any(items::is_refusal) {
        Stop::Refused
    } else {
        Stop::Done
    }
}

/// The error object of an `error` event: the event itself, or what it has below `error`.
fn error_of(event: &ServerEvent) -> Result<Json> {
    let fields: Fields = read(event)?;
    let below = fields.field("error").filter(|error| error.as_str() != "null");
    Ok(below.cloned().unwrap_or_else(|| Json::of(&fields).expect("fields are JSON")))
}

fn read<T: DeserializeOwned>(event: &ServerEvent) -> Result<T> {
    serde_json::from_str(&one_line(&event.data))
        .map_err(|cause| malformed("an event of the stream cannot be read").because(cause))
}

fn malformed(message: &str) -> Error {
    Error::new(ErrorKind::Malformed, message)
}
