//! What servers tell of a model's thinking: a text under one of several names, and details with signatures.

use rejoin::{Block, Fields, Json, Thinking};

use crate::providers::openai::string;

/// The names under which servers send the text.
pub(super) const NAMES: [&str; 3] = ["reasoning", "reasoning_content", "thinking"];

/// The name under which routers send details, which they need back in the same order.
pub(super) const DETAILS: &str = "reasoning_details";

/// Where a block keeps the name that its text came under.
const FIELD: &str = "field";

/// Thinking while it arrives.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    name: Option<&'static str>,
    text: String,
    details: Vec<Fields>,
}

impl Thoughts {
    /// True when a text of this name belongs here.
    pub(super) fn accepts(&self, name: &str) -> bool {
        self.name.is_none_or(|own| own == name)
    }

    pub(super) fn add_text(&mut self, name: &'static str, text: &str) {
        self.name = Some(name);
        self.text.push_str(text);
    }

    /// Adds details. Returns the words in them, which stand in for a text that does not come.
    pub(super) fn add_details(&mut self, details: Vec<Fields>) -> String {
        let words: String = details
            .iter()
            .flat_map(|detail| ["text", "summary"].map(|name| text(detail, name)))
            .flatten()
            .collect();
        for detail in details {
            match self.details.last_mut().filter(|last| continues(last, &detail)) {
                Some(last) => join(last, &detail),
                None => self.details.push(detail),
            }
        }
        words
    }

    /// Adds words that came only in details.
    pub(super) fn add_words(&mut self, words: &str) {
        self.text.push_str(words);
    }

    pub(super) fn into_block(self) -> Block {
        let mut extra = Fields::new();
        if let Some(name) = self.name {
            extra.set(FIELD, string(name));
        }
        if !self.details.is_empty() {
            extra.set(DETAILS, Json::of(&self.details).expect("fields are JSON"));
        }
        Block::Thinking(Thinking { text: self.text, signature: None, extra })
    }
}

/// Puts the thinking of a message back under the names that it came under.
pub(super) fn write_back<'a>(blocks: impl Iterator<Item = &'a Block>, message: &mut Fields) {
    let mut details: Vec<Fields> = Vec::new();
    for block in blocks {
        let Block::Thinking(thinking) = block else { continue };
        if let Some(name) = text(&thinking.extra, FIELD) {
            let before = text(message, &name).unwrap_or_default();
            message.set(name, string(&(before + &thinking.text)));
        }
        let more: Option<Vec<Fields>> = thinking.extra.field(DETAILS).and_then(|details| details.to().ok());
        details.extend(more.into_iter().flatten());
    }
    if !details.is_empty() {
        message.set(DETAILS, Json::of(&details).expect("fields are JSON"));
    }
}

/// True when a detail is the next piece of the one before it: same kind, same place, and it has more words.
fn continues(last: &Fields, next: &Fields) -> bool {
    let is_same = |name| last.field(name) == next.field(name);
    let is_of_words =
        PIECES.iter().any(|name| text(next, name).is_some()) || next.field("signature").is_some();
    is_same("type") && is_same("index") && next.field("index").is_some() && is_of_words
}

/// The fields of a detail that come in pieces.
const PIECES: [&str; 3] = ["text", "summary", "data"];

fn join(last: &mut Fields, next: &Fields) {
    for (name, value) in next.iter() {
        match (text(last, name), text(next, name)) {
            (Some(before), Some(more)) if PIECES.contains(&name) => last.set(name, string(&(before + &more))),
            _ if value.as_str() == "null" && last.field(name).is_some() => {}
            _ => last.set(name, value.clone()),
        }
    }
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    fields.field(name).and_then(|value| value.to().ok())
}
