//! Tool calls that arrive in pieces, or whole, with or without ids and places.

use std::collections::HashSet;

use rejoin::{Block, Fields, Json, ToolCall};

use crate::providers::openai;

/// Where a block keeps the rest of its call.
pub(super) const CALL: &str = "call";

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct PartialCalls(Vec<PartialCall>);

/// A call while it arrives.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields of the call that have no place in a block.
    rest: Fields,
    /// The same for the function in the call.
    function: Fields,
}

impl PartialCalls {
    /// Takes one element of `tool_calls`. Returns the name of a call that begins with it.
    pub(super) fn take(&mut self, delta: &Fields) -> Option<String> {
        let function: Fields = delta.field("function").and_then(|value| value.to().ok()).unwrap_or_default();
        let index = delta.field("index").and_then(|value| value.to().ok());
        let id = text(delta, "id");
        let name = text(&function, "name");
        let draft = self.draft(index, &id, &name);
        let is_first = draft.name.is_empty();
        // Some servers repeat id and name with every piece.
        let is_repeated = !draft.id.is_empty() && draft.id == id && draft.name == name;
        if draft.id != id {
            draft.id.push_str(&id);
        }
        if !is_repeated {
            draft.name.push_str(&name);
        }
        if let Some(arguments) = function.field("arguments").filter(|value| value.as_str() != "null") {
            // Servers that pass on what the model's template produced send an object.
            let text = arguments.to::<String>().unwrap_or_else(|_| arguments.as_str().to_owned());
            draft.arguments.push_str(&text);
        }
        keep(&mut draft.rest, delta, &["index", "id", "function"]);
        keep(&mut draft.function, &function, &["name", "arguments"]);
        (is_first && !name.is_empty()).then_some(name)
    }

    /// The finished calls. One without an id of its own gets one that no other call has since the last
    /// compaction: `turn` is how many messages were sent. A call before that may have the same, as with
    /// servers that repeat theirs; a view sends each under an id of its own.
    pub(super) fn into_blocks(self, turn: usize) -> Vec<Block> {
        let mut taken = HashSet::new();
        let blocks = self.0.into_iter().enumerate().map(|(place, draft)| {
            let is_usable = !draft.id.is_empty() && !taken.contains(&draft.id);
            let id = if is_usable { draft.id } else { format!("call_{turn}_{place}") };
            taken.insert(id.clone());
            let (input, exact) = openai::read_arguments(&draft.arguments);
            let mut rest = draft.rest;
            if !draft.function.is_empty() {
                rest.set("function", Json::of(&draft.function).expect("fields are JSON"));
            }
            let mut extra = Fields::new();
            extra.set(CALL, Json::of(&rest).expect("fields are JSON"));
            if let Some(exact) = exact {
                extra.set(openai::ARGUMENTS, exact);
            }
            Block::ToolCall(ToolCall { id, name: draft.name, input, extra })
        });
        blocks.collect()
    }

    /// The call that a piece belongs to.
    fn draft(&mut self, index: Option<u64>, id: &str, name: &str) -> &mut PartialCall {
        let known = match index {
            Some(_) => self.0.iter().rposition(|draft| draft.index == index),
            None if !id.is_empty() => self.0.iter().rposition(|draft| draft.id == id),
            None if name.is_empty() => self.0.len().checked_sub(1),
            None => None,
        };
        // Some servers give every call of a reply the same place; another id
        // with another name is another call.
        let known = known.filter(|place| {
            let draft = &self.0[*place];
            name.is_empty() || id.is_empty() || draft.id.is_empty() || draft.id == id
        });
        let place = known.unwrap_or_else(|| {
            self.0.push(PartialCall { index, ..PartialCall::default() });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

fn text(fields: &Fields, name: &str) -> String {
    fields.field(name).and_then(|value| value.to().ok()).unwrap_or_default()
}

fn keep(kept: &mut Fields, fields: &Fields, but: &[&str]) {
    for (name, value) in fields.iter() {
        if !but.contains(&name) && value.as_str() != "null" {
            kept.set(name, value.clone());
        }
    }
}
