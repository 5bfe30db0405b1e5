//! Reads a streamed reply of the Chat Completions language.
//!
//! A reply is complete when it has a finish reason or the stream says `[DONE]`. Servers send usage after the
//! one and before the other, or leave the other out.

use rejoin::{Block, Fields, Json, Message, Role, Text, Usage};
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::chat::calls::PartialCalls;
use crate::providers::chat::thoughts::{self, Thoughts};
use crate::providers::complaint::error_in_stream;
use crate::providers::openai::{one_line, string};
use crate::providers::wire::{EventReader, ServerEvent};
use crate::providers::{Api, Piece, Reply, Stop};

/// Where a text keeps that it came as a refusal.
pub(super) const REFUSAL: &str = "refusal";

/// One reply while it is read.
pub(super) struct ChatReader {
    provider: String,
    model: String,
    turn: usize,
    response_id: Option<String>,
    blocks: Vec<Block>,
    open: Open,
    calls: PartialCalls,
    finish: Option<String>,
    is_done: bool,
    usage: Option<Json>,
    /// Fields of the chunks that have no place in a message.
    response: Fields,
    /// Fields of the deltas that have no place in a block.
    rest: Fields,
}

/// The block that is arriving.
#[derive(Default)]
enum Open {
    #[default]
    Nothing,
    Text(String),
    Refusal(String),
    Thoughts(Thoughts),
}

#[derive(Deserialize)]
struct StreamChoice {
    #[serde(default)]
    index: Option<u64>,
    delta: Option<Fields>,
    message: Option<Fields>,
    finish_reason: Option<String>,
    error: Option<Json>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatTokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl ChatReader {
    pub(super) fn new(provider: &str, model: &str, turn: usize) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            turn,
            response_id: None,
            blocks: Vec::new(),
            open: Open::Nothing,
            calls: PartialCalls::default(),
            finish: None,
            is_done: false,
            usage: None,
            response: Fields::new(),
            rest: Fields::new(),
        }
    }

    fn take_chunk(&mut self, chunk: &Fields, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        for (name, value) in chunk.iter().filter(|(_, value)| value.as_str() != "null") {
            match name {
                "error" => return Err(error_in_stream(value)),
                "id" => self.response_id = value.to().ok(),
                "model" => self.model = value.to().unwrap_or_else(|_| std::mem::take(&mut self.model)),
                "usage" => self.usage = Some(value.clone()),
                "choices" => {
                    let choices: Vec<StreamChoice> =
                        value.to().map_err(|cause| unreadable().because(cause))?;
                    // Only one choice is asked for.
                    if let Some(choice) = choices.into_iter().find(|choice| choice.index.unwrap_or(0) == 0) {
                        self.take_choice(choice, tell)?;
                    }
                }
                "object" => {}
                _ => self.response.set(name, value.clone()),
            }
        }
        Ok(())
    }

    fn take_choice(&mut self, choice: StreamChoice, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        if let Some(error) = choice.error {
            return Err(error_in_stream(&error));
        }
        if self.finish.is_some() {
            return Ok(());
        }
        if let Some(delta) = choice.delta.or(choice.message) {
            self.take_delta(&delta, tell);
        }
        match choice.finish_reason {
            Some(reason) if reason == "error" => {
                Err(Error::new(ErrorKind::Overloaded, "the provider broke off the reply"))
            }
            Some(reason) if !reason.is_empty() => {
                self.finish = Some(reason);
                self.close_all(tell);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_delta(&mut self, delta: &Fields, tell: &mut dyn FnMut(Piece)) {
        self.take_thoughts(delta, tell);
        for (name, value) in delta.iter().filter(|(_, value)| value.as_str() != "null") {
            match name {
                "content" => self.take_text(&words(value), tell),
                "refusal" => self.take_refusal(&words(value), tell),
                "tool_calls" => {
                    for call in value.to::<Vec<Fields>>().unwrap_or_default() {
                        self.take_call(&call, tell);
                    }
                }
                "function_call" => {
                    let mut call = Fields::new();
                    call.set("index", Json::of(&0).expect("a number is JSON"));
                    call.set("function", value.clone());
                    self.take_call(&call, tell);
                }
                "role" => {}
                name if name == thoughts::DETAILS || thoughts::NAMES.contains(&name) => {}
                _ => self.rest.set(name, value.clone()),
            }
        }
    }

    fn take_thoughts(&mut self, delta: &Fields, tell: &mut dyn FnMut(Piece)) {
        let texts = thoughts::NAMES.iter().filter_map(|name| {
            let text: String = delta.field(name)?.to().ok()?;
            (!text.is_empty()).then_some((*name, text))
        });
        // Servers that are changing the name send the same text under both.
        let text = texts.into_iter().next();
        let details: Option<Vec<Fields>> =
            delta.field(thoughts::DETAILS).and_then(|details| details.to().ok());
        let details = details.unwrap_or_default();
        if text.is_none() && details.is_empty() {
            return;
        }
        let is_open = match (&self.open, &text) {
            (Open::Thoughts(open), Some((name, _))) => open.accepts(name),
            (Open::Thoughts(_), None) => true,
            _ => false,
        };
        if !is_open {
            self.close(tell);
            self.open = Open::Thoughts(Thoughts::default());
        }
        let Open::Thoughts(open) = &mut self.open else { return };
        let spoken = open.add_details(details);
        let told = match text {
            Some((name, text)) => {
                open.add_text(name, &text);
                text
            }
            None => {
                open.add_words(&spoken);
                spoken
            }
        };
        if !told.is_empty() {
            tell(Piece::Thinking(told));
        }
    }

    fn take_text(&mut self, text: &str, tell: &mut dyn FnMut(Piece)) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, Open::Text(_)) {
            self.close(tell);
            self.open = Open::Text(String::new());
        }
        if let Open::Text(open) = &mut self.open {
            open.push_str(text);
        }
        tell(Piece::Text(text.to_owned()));
    }

    fn take_refusal(&mut self, text: &str, tell: &mut dyn FnMut(Piece)) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.open, Open::Refusal(_)) {
            self.close(tell);
            self.open = Open::Refusal(String::new());
        }
        if let Open::Refusal(open) = &mut self.open {
            open.push_str(text);
        }
        tell(Piece::Text(text.to_owned()));
    }

    fn take_call(&mut self, call: &Fields, tell: &mut dyn FnMut(Piece)) {
        if let Some(name) = self.calls.take(call) {
            self.close(tell);
            tell(Piece::Call { name });
        }
    }

    /// Finishes the block that is arriving.
    fn close(&mut self, tell: &mut dyn FnMut(Piece)) {
        let block = match std::mem::take(&mut self.open) {
            Open::Nothing => return,
            Open::Text(text) => Block::text(text),
            Open::Refusal(text) => {
                let mut extra = Fields::new();
                extra.set(REFUSAL, Json::of(&true).expect("a boolean is JSON"));
                Block::Text(Text { text, extra })
            }
            Open::Thoughts(thoughts) => thoughts.into_block(),
        };
        tell(Piece::Finished(block.clone()));
        self.blocks.push(block);
    }

    fn close_all(&mut self, tell: &mut dyn FnMut(Piece)) {
        self.close(tell);
        for block in std::mem::take(&mut self.calls).into_blocks(self.turn) {
            tell(Piece::Finished(block.clone()));
            self.blocks.push(block);
        }
    }

    fn stop(&self) -> Stop {
        let has = |wanted: fn(&Block) -> bool| self.blocks.iter().any(wanted);
        match self.finish.as_deref() {
            Some("length") => Stop::Length,
            Some("content_filter") => Stop::Refused,
            // Some servers say `stop` after calls as well.
            _ if has(|block| matches!(block, Block::ToolCall(_))) => Stop::Tools,
            _ if has(is_refusal) => Stop::Refused,
            _ => Stop::Done,
        }
    }
}

impl EventReader for ChatReader {
    fn take(&mut self, event: &ServerEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        let data = event.data.trim();
        let is_known = matches!(event.name.as_str(), "" | "message" | "error");
        if self.is_done || data.is_empty() || !is_known {
            return Ok(());
        }
        if data == "[DONE]" {
            self.is_done = true;
            self.close_all(tell);
            return Ok(());
        }
        let chunk: Fields =
            serde_json::from_str(&one_line(data)).map_err(|cause| unreadable().because(cause))?;
        if event.name == "error" && chunk.field("error").is_none() {
            return Err(error_in_stream(&Json::of(&chunk).expect("fields are JSON")));
        }
        self.take_chunk(&chunk, tell)
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn finish(self: Box<Self>) -> Result<Reply> {
        let is_complete = self.finish.is_some() || (self.is_done && !self.blocks.is_empty());
        if !is_complete {
            return Err(Error::new(ErrorKind::Malformed, "the stream ended before the reply was complete"));
        }
        let stop = self.stop();
        let mut message = Message::new(Role::Assistant, self.blocks);
        message.extra.set("provider", string(&self.provider));
        message.extra.set("api", string(Api::Chat.as_str()));
        message.extra.set("model", string(&self.model));
        if let Some(id) = &self.response_id {
            message.extra.set("response_id", string(id));
        }
        for (name, fields) in [("response", &self.response), ("message", &self.rest)] {
            if !fields.is_empty() {
                message.extra.set(name, Json::of(fields).expect("fields are JSON"));
            }
        }
        message.usage = self.usage.map(|detail| {
            let tokens: ChatTokens = detail.to().unwrap_or_default();
            Usage {
                input_tokens: tokens.prompt_tokens,
                output_tokens: tokens.completion_tokens,
                detail: Some(detail),
            }
        });
        message.finish = self.finish;
        Ok(Reply { message, stop })
    }
}

/// True for a text in which the model declines.
pub(super) fn is_refusal(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.extra.field(REFUSAL).is_some())
}

/// The words of a content: a string, or parts of which some have words.
fn words(content: &Json) -> String {
    content.to::<String>().unwrap_or_else(|_| {
        let parts: Vec<Fields> = content.to().unwrap_or_default();
        parts.iter().filter_map(|part| part.field("text")?.to::<String>().ok()).collect()
    })
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Malformed, "an event of the stream cannot be read")
}
