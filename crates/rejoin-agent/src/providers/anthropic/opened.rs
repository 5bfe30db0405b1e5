//! One content item while it arrives: how it began, and what was added since.

use rejoin::{Block, Fields, Json, Other, Text, Thinking, ToolCall};

use crate::providers::anthropic::history::{ARGUMENTS, input, string};

/// A content item that is not complete.
#[derive(Debug)]
pub(super) struct OpenItem {
    kind: String,
    /// The fields it began with, apart from its type.
    fields: Fields,
    text: String,
    thinking: String,
    signature: Option<String>,
    /// The JSON text of a tool's input, in pieces.
    input: String,
    citations: Vec<Json>,
}

impl OpenItem {
    pub(super) fn new(item: &Fields) -> Self {
        let mut fields = Fields::new();
        for (name, value) in item.iter().filter(|(name, _)| *name != "type") {
            fields.set(name, value.clone());
        }
        let word = |name: &str| item.field(name).and_then(|value| value.to::<String>().ok());
        Self {
            kind: word("type").unwrap_or_default(),
            text: word("text").unwrap_or_default(),
            thinking: word("thinking").unwrap_or_default(),
            signature: word("signature"),
            input: String::new(),
            citations: item.field("citations").and_then(|list| list.to().ok()).unwrap_or_default(),
            fields,
        }
    }

    /// The tool that the item asks us to run, if it does.
    pub(super) fn tool(&self) -> Option<String> {
        let name = self.fields.field("name").and_then(|name| name.to::<String>().ok());
        name.filter(|_| self.kind == "tool_use")
    }

    pub(super) fn add_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn add_thinking(&mut self, text: &str) {
        self.thinking.push_str(text);
    }

    /// Signatures come whole, so that a second one stands for the first.
    pub(super) fn sign(&mut self, signature: String) {
        self.signature = Some(signature);
    }

    pub(super) fn add_input(&mut self, text: &str) {
        self.input.push_str(text);
    }

    pub(super) fn cite(&mut self, citation: Json) {
        self.citations.push(citation);
    }

    /// The complete item.
    pub(super) fn finish(mut self) -> Block {
        if !self.citations.is_empty() {
            self.fields.set("citations", Json::of(&self.citations).expect("a list of JSON is JSON"));
        }
        match self.kind.as_str() {
            "text" => Block::Text(Text { extra: self.rest(&["text"]), text: self.text }),
            "thinking" => Block::Thinking(Thinking {
                extra: self.rest(&["thinking", "signature"]),
                text: self.thinking,
                signature: self.signature.filter(|signature| !signature.is_empty()),
            }),
            "tool_use" => self.finish_call(),
            _ => self.finish_other(),
        }
    }

    fn finish_call(self) -> Block {
        let word = |name: &str| self.fields.field(name).and_then(|value| value.to::<String>().ok());
        let mut extra = self.rest(&["id", "name", "input"]);
        let input = self.written_input().unwrap_or_else(|| {
            let written = string(&self.input);
            extra.set(ARGUMENTS, written.clone());
            written
        });
        Block::ToolCall(ToolCall {
            id: word("id").unwrap_or_default(),
            name: word("name").unwrap_or_default(),
            input,
            extra,
        })
    }

    /// A kind that Rejoin has no word for: redacted thinking, a tool on the server, its result.
    fn finish_other(mut self) -> Block {
        if !self.input.is_empty() {
            let written = self.written_input().unwrap_or_else(|| input(&string(&self.input)));
            self.fields.set("input", written);
        }
        let added = [("text", &self.text), ("thinking", &self.thinking)];
        for (name, text) in added.into_iter().filter(|(_, text)| !text.is_empty()) {
            self.fields.set(name, string(text));
        }
        if let Some(signature) = &self.signature {
            self.fields.set("signature", string(signature));
        }
        Block::Other(Other { kind: self.kind, fields: self.fields })
    }

    /// What the model wrote as input: a JSON object, or nothing of the kind.
    fn written_input(&self) -> Option<Json> {
        if self.input.trim().is_empty() {
            let first = self.fields.field("input").filter(|first| first.as_str().starts_with('{'));
            return Some(
                first.cloned().unwrap_or_else(|| Json::parse("{}").expect("an empty object is JSON")),
            );
        }
        Json::parse(self.input.as_str()).ok()
    }

    /// The fields apart from those that have a place of their own.
    fn rest(&self, known: &[&str]) -> Fields {
        let mut rest = Fields::new();
        for (name, value) in self.fields.iter().filter(|(name, _)| !known.contains(name)) {
            rest.set(name, value.clone());
        }
        rest
    }
}
