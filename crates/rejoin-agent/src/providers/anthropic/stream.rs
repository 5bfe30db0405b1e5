//! Reads a streamed reply.

use std::collections::BTreeMap;

use rejoin::{Block, Fields, Json, Message, Role, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::anthropic::history::string;
use crate::providers::anthropic::opened::OpenItem;
use crate::providers::http::Complaint;
use crate::providers::wire::{EventReader, ServerEvent};
use crate::providers::{Api, Piece, Reply, Stop};

/// A reply while it arrives.
#[derive(Debug)]
pub(super) struct Stream {
    provider: String,
    /// The message as it was announced, then with what was said about it at its end.
    about: Option<Fields>,
    usage: Fields,
    opened: BTreeMap<u64, OpenItem>,
    finished: BTreeMap<u64, Block>,
    is_stopped: bool,
}

/// The fields of any event; each kind has a few.
#[derive(Deserialize)]
struct StreamEvent {
    index: Option<u64>,
    message: Option<Fields>,
    content_block: Option<Fields>,
    delta: Option<Fields>,
    usage: Option<Fields>,
}

/// What an event without a name says it is; some gateways leave names out.
#[derive(Deserialize)]
struct StreamEventKind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Stream {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            about: None,
            usage: Fields::new(),
            opened: BTreeMap::new(),
            finished: BTreeMap::new(),
            is_stopped: false,
        }
    }

    fn begin(&mut self, event: StreamEvent) -> Result<()> {
        let message = need(event.message, "message")?;
        self.count(message.field("usage").and_then(|usage| usage.to().ok()));
        self.about = Some(message);
        Ok(())
    }

    fn open(&mut self, event: StreamEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        let (index, item) = (need(event.index, "index")?, need(event.content_block, "content_block")?);
        let opened = OpenItem::new(&item);
        if let Some(name) = opened.tool() {
            tell(Piece::Call { name });
        }
        if self.finished.contains_key(&index) || self.opened.insert(index, opened).is_some() {
            return Err(malformed(format!("content block {index} begins twice")));
        }
        Ok(())
    }

    fn add(&mut self, event: StreamEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        let (index, delta) = (need(event.index, "index")?, need(event.delta, "delta")?);
        let opened = self.opened.get_mut(&index);
        let opened = opened.ok_or_else(|| malformed(format!("content block {index} has not begun")))?;
        let word = |name: &str| {
            let value = delta.field(name).and_then(|value| value.to::<String>().ok());
            value.ok_or_else(|| malformed(format!("a delta has no `{name}`")))
        };
        match word("type")?.as_str() {
            "text_delta" => {
                let text = word("text")?;
                opened.add_text(&text);
                tell(Piece::Text(text));
            }
            "thinking_delta" => {
                let text = word("thinking")?;
                opened.add_thinking(&text);
                tell(Piece::Thinking(text));
            }
            "signature_delta" => opened.sign(word("signature")?),
            "input_json_delta" => opened.add_input(&word("partial_json")?),
            "citations_delta" => opened.cite(need(delta.field("citation").cloned(), "citation")?),
            kind => tracing::debug!(kind, "a kind of delta that is not known was passed over"),
        }
        Ok(())
    }

    fn close(&mut self, event: &StreamEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        let index = need(event.index, "index")?;
        let opened = self.opened.remove(&index);
        let block = opened
            .ok_or_else(|| malformed(format!("content block {index} ends without a beginning")))?
            .finish();
        self.finished.insert(index, block.clone());
        tell(Piece::Finished(block));
        Ok(())
    }

    /// Takes what is said about the whole message near its end.
    fn conclude(&mut self, event: StreamEvent) -> Result<()> {
        self.count(event.usage);
        let about = self.about.as_mut().ok_or_else(unannounced)?;
        for (name, value) in event.delta.iter().flat_map(Fields::iter) {
            about.set(name, value.clone());
        }
        Ok(())
    }

    /// Counts are totals: a later one stands for an earlier one, unless it is missing.
    fn count(&mut self, usage: Option<Fields>) {
        for (name, value) in usage.iter().flat_map(Fields::iter).filter(|(_, value)| value.as_str() != "null")
        {
            self.usage.set(name, value.clone());
        }
    }

    fn stop(&mut self) -> Result<()> {
        if self.about.is_none() {
            return Err(unannounced());
        }
        if let Some(index) = self.opened.keys().next() {
            return Err(malformed(format!("content block {index} does not end")));
        }
        self.is_stopped = true;
        Ok(())
    }
}

impl EventReader for Stream {
    fn take(&mut self, event: &ServerEvent, tell: &mut dyn FnMut(Piece)) -> Result<()> {
        let kind = match event.name.as_str() {
            "" | "message" if event.data == "[DONE]" => return Ok(()),
            "" | "message" => read::<StreamEventKind>(event)?.kind.unwrap_or_default(),
            name => name.to_owned(),
        };
        match kind.as_str() {
            "message_start" => self.begin(read(event)?),
            "content_block_start" => self.open(read(event)?, tell),
            "content_block_delta" => self.add(read(event)?, tell),
            "content_block_stop" => self.close(&read(event)?, tell),
            "message_delta" => self.conclude(read(event)?),
            "message_stop" => self.stop(),
            "error" => Err(Complaint::read(&event.data).into_error()),
            _ => Ok(()),
        }
    }

    fn is_complete(&self) -> bool {
        self.is_stopped
    }

    fn finish(self: Box<Self>) -> Result<Reply> {
        let Self { provider, about, usage, finished, is_stopped, .. } = *self;
        let about =
            about.filter(|_| is_stopped).ok_or_else(|| malformed("the reply ends too early".to_owned()))?;
        let word = |name: &str| about.field(name).and_then(|value| value.to::<String>().ok());
        let mut message = Message::new(Role::Assistant, finished.into_values().collect());
        message.finish = word("stop_reason");
        message.usage = Some(tokens(&usage));
        message.extra.set("provider", string(&provider));
        message.extra.set("api", string(Api::Anthropic.as_str()));
        message.extra.set("model", string(&word("model").unwrap_or_default()));
        message.extra.set("response_id", string(&word("id").unwrap_or_default()));
        // What else was said about the message: a stop sequence, why it was refused, what is not known yet.
        let placed = ["id", "type", "role", "content", "model", "stop_reason", "usage"];
        let others = about.iter().filter(|(name, value)| !placed.contains(name) && value.as_str() != "null");
        for (name, value) in others {
            message.extra.set(name, value.clone());
        }
        let stop = meaning(&message);
        Ok(Reply { message, stop })
    }
}

/// Tokens as the provider counts them: those read from its cache or written to it are input too.
fn tokens(usage: &Fields) -> Usage {
    let count = |name: &str| usage.field(name).and_then(|count| count.to::<u64>().ok()).unwrap_or_default();
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Usage {
        input_tokens: input.into_iter().map(count).sum(),
        output_tokens: count("output_tokens"),
        detail: Some(Json::of(usage).expect("fields are JSON")),
    }
}

/// What a stop reason means for the loop. One that is not known ends the turn, unless tools were asked for.
fn meaning(message: &Message) -> Stop {
    let has_calls = message.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    match message.finish.as_deref() {
        Some("end_turn" | "stop_sequence") => Stop::Done,
        Some("tool_use") => Stop::Tools,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("pause_turn") => Stop::Paused,
        Some("refusal") => Stop::Refused,
        _ if has_calls => Stop::Tools,
        _ => Stop::Done,
    }
}

fn read<T: DeserializeOwned>(event: &ServerEvent) -> Result<T> {
    serde_json::from_str(&event.data)
        .map_err(|error| malformed(format!("event `{}` cannot be read", event.name)).because(error))
}

fn need<T>(field: Option<T>, name: &str) -> Result<T> {
    field.ok_or_else(|| malformed(format!("an event has no `{name}`")))
}

fn unannounced() -> Error {
    malformed("the reply was not announced".to_owned())
}

fn malformed(what: String) -> Error {
    Error::new(ErrorKind::Malformed, what)
}
