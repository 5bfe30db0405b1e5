//! The request that a path becomes, for each provider that could be asked.

use rejoin::view::{PathMessage, View};
use rejoin::{Block, Fields, Role};
use rejoin_agent::{
    Api, Http, HttpSettings, LimitField, Provider, Quirks, Request, ThinkingBudget, ToolSpec,
};
use serde_json::Value;

use crate::damaged::damage::{Entry, id_at};
use crate::damaged::spoken::provider;
use crate::stored_talk::read_spec;
use crate::valid::{faults, foreign};

/// The name that the recorded replies have kept.
const MINE: &str = "mine";

/// A provider, and what it is offered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) provider: Http,
    tools: Vec<ToolSpec>,
}

impl Asked {
    /// Providers of every API with the settings that change a request.
    pub(crate) fn all() -> Vec<Self> {
        let thinking = |thinking| {
            let mut settings = HttpSettings::new(MINE);
            settings.thinking = thinking;
            settings
        };
        let mut quirks = Quirks::default();
        quirks.limit = LimitField::MaxCompletionTokens;
        let mut reasoning = HttpSettings::new(MINE);
        reasoning.reasoning_effort = Some("high".to_owned());
        reasoning.reasoning_summary = Some("auto".to_owned());
        let chat = |settings| Http::chat(settings, quirks).unwrap();
        vec![
            Self::new(provider(Api::Anthropic, thinking(ThinkingBudget::Usual)), &[read_spec()]),
            Self::new(provider(Api::Anthropic, thinking(ThinkingBudget::Usual)), &[]),
            Self::new(provider(Api::Anthropic, thinking(ThinkingBudget::Tokens(2048))), &[read_spec()]),
            Self::new(provider(Api::Responses, reasoning), &[read_spec()]),
            Self::new(provider(Api::Responses, HttpSettings::new("theirs")), &[]),
            Self::new(chat(HttpSettings::new(MINE)), &[read_spec()]),
            Self::new(chat(HttpSettings::new("theirs")), &[]),
        ]
    }

    fn new(provider: Http, tools: &[ToolSpec]) -> Self {
        Self { provider, tools: tools.to_vec() }
    }

    pub(crate) fn api(&self) -> Api {
        self.provider.api()
    }

    /// The text that would be posted for a path.
    pub(crate) fn written(&self, path: &[Entry]) -> String {
        let said = path.iter().enumerate().map(|(place, entry)| PathMessage {
            id: Some(id_at(place)),
            is_pinned: entry.is_pinned,
            message: &entry.message,
        });
        let messages = &View::of(&said.collect::<Vec<_>>(), &[], &self.provider.recipient()).messages;
        let (model, system, tools) = ("model-1", "Be kind.", &self.tools);
        let request = Request { model, system, messages, tools, max_tokens: Some(4096) };
        self.provider.written(&request).unwrap()
    }

    /// The request for a path.
    pub(crate) fn request(&self, path: &[Entry]) -> Value {
        serde_json::from_str(&self.written(path)).unwrap()
    }

    /// What is wrong with the request for a path.
    pub(crate) fn objections(&self, path: &[Entry]) -> Vec<String> {
        let body = self.request(path);
        let found = faults(self.api(), &body);
        // A server that is not OpenAI's may give its calls longer ids; they go back to it as they came.
        let is_own_id =
            |at: &str| self.api() == Api::Chat && own_ids(&self.provider, path).any(|id| at.contains(id));
        let found = found.iter().filter(|fault| fault.rule != "call id" || !is_own_id(&fault.to_string()));
        let mut objections: Vec<String> = found.map(ToString::to_string).collect();
        if !path.iter().any(|entry| is_own(&self.provider, entry)) {
            let traces = foreign(self.api(), &body);
            objections.extend(traces.iter().map(|trace| format!("of another: {trace}")));
        }
        objections
    }
}

fn own_ids<'a>(provider: &Http, path: &'a [Entry]) -> impl Iterator<Item = &'a str> {
    let own = path.iter().filter(|entry| is_own(provider, entry)).flat_map(|entry| &entry.message.blocks);
    own.filter_map(|block| match block {
        Block::ToolCall(call) if !call.id.is_empty() => Some(call.id.as_str()),
        _ => None,
    })
}

fn is_own(provider: &Http, entry: &Entry) -> bool {
    let is = |name, value: &str| text(&entry.message.extra, name).is_none_or(|own| own == value);
    entry.message.role == Role::Assistant
        && entry.message.extra.field("api").is_some()
        && is("api", provider.api().as_str())
        && is("provider", provider.name())
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.field(name).and_then(|value| value.to().ok())
}

/// The smallest part of a path that still has the objection: for a person to look at.
pub(crate) fn smallest(path: &[Entry], is_bad: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
    let mut path = path.to_vec();
    for place in (0..path.len()).rev() {
        let mut smaller = path.clone();
        smaller.remove(place);
        if is_bad(&smaller) {
            path = smaller;
        }
    }
    for place in 0..path.len() {
        for block in (0..path[place].message.blocks.len()).rev() {
            let mut smaller = path.clone();
            smaller[place].message.blocks.remove(block);
            if is_bad(&smaller) {
                path = smaller;
            }
        }
    }
    path
}

/// The part of a request that grows with the conversation, without the marks for a cache, which move on.
pub(crate) fn growing(body: &Value) -> Vec<Value> {
    let grown = body.get("messages").or(body.get("input")).and_then(Value::as_array);
    let mut grown = grown.cloned().unwrap_or_default();
    grown.iter_mut().for_each(unmark);
    grown
}

fn unmark(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(unmark),
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The request without what servers that are not OpenAI's add to its language, in what they said themselves.
pub(crate) fn published(mut body: Value) -> Value {
    let added = ["reasoning", "reasoning_content", "thinking", "reasoning_details", "extra_content"];
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten().filter_map(Value::as_object_mut) {
        message.retain(|name, _| !added.contains(&name.as_str()));
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            call.retain(|name, _| !added.contains(&name.as_str()));
        }
    }
    body
}
