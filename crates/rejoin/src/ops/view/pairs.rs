//! Every call with its result: what no API accepts otherwise, and what a crash or another program may leave behind.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::model::{Block, Fields, Json, Message, Role, ToolResult};
use crate::ops::view::{Repair, Viewed};

/// What stands for a result that was never stored.
const NO_RESULT: &str = "(no result was recorded)";

/// Puts the results of each reply's calls directly behind it, in the order of the calls.
///
/// A result is looked for among the tool messages that follow the reply, up to the next reply or user message.
pub(super) fn pair<'a>(messages: Vec<Viewed<'a>>, repairs: &mut Vec<Repair>) -> Vec<Viewed<'a>> {
    let mut names = Names::default();
    let mut paired: Vec<Viewed<'a>> = Vec::with_capacity(messages.len());
    let mut rest = messages.into_iter().peekable();
    while let Some(mut viewed) = rest.next() {
        if viewed.message.role == Role::Tool {
            // It follows no reply, so nothing asked for it.
            drop_results(&viewed, repairs);
            continue;
        }
        let calls = names.unique_calls(&mut viewed, repairs);
        let mut answers = Vec::new();
        while let Some(next) = rest.next_if(|next| next.message.role == Role::Tool) {
            answers.push(next);
        }
        let asker = viewed.id;
        paired.push(viewed);
        let mut waiting: HashMap<String, Call> =
            calls.iter().map(|call| (call.original.clone(), call.clone())).collect();
        for mut answer in answers {
            let id = answer.id;
            answer.message.to_mut().blocks.retain_mut(|block| match block {
                Block::ToolResult(result) => match waiting.remove(&result.call_id) {
                    Some(call) => {
                        result.call_id = call.sent;
                        true
                    }
                    None => {
                        repairs.push(Repair::OrphanResult { message: id, call: result.call_id.clone() });
                        false
                    }
                },
                _ => true,
            });
            let has_result = answer.message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
            if has_result {
                paired.push(answer);
            }
        }
        for call in calls.iter().filter(|call| waiting.contains_key(&call.original)) {
            repairs.push(Repair::MissingResult { message: asker, call: call.sent.clone() });
            paired.push(Viewed { id: None, message: Cow::Owned(stub(&call.sent)) });
        }
    }
    paired
}

/// A call, by the id it was stored with and the id it is sent with.
#[derive(Clone)]
struct Call {
    original: String,
    sent: String,
}

/// The ids of calls so far; no two calls of a view share one.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// The calls of a message, renamed where an earlier one has the id. A second call of that id in the same message is
    /// left out, because its result could not be told apart.
    fn unique_calls(&mut self, viewed: &mut Viewed<'_>, repairs: &mut Vec<Repair>) -> Vec<Call> {
        let id = viewed.id;
        let mut calls: Vec<Call> = Vec::new();
        viewed.message.to_mut().blocks.retain_mut(|block| {
            let Block::ToolCall(call) = block else { return true };
            if calls.iter().any(|known| known.original == call.id) {
                repairs.push(Repair::MisplacedCall { message: id, call: call.id.clone() });
                return false;
            }
            let original = call.id.clone();
            if self.0.contains(&call.id) {
                repairs.push(Repair::RenamedCall { message: id, call: call.id.clone() });
                let mut number = 2;
                while self.0.contains(&format!("{original}-{number}")) {
                    number += 1;
                }
                call.id = format!("{original}-{number}");
                // Fields of the provider's own item name the old id.
                call.extra = Fields::new();
            }
            self.0.insert(call.id.clone());
            calls.push(Call { original, sent: call.id.clone() });
            true
        });
        calls
    }
}

fn drop_results(viewed: &Viewed<'_>, repairs: &mut Vec<Repair>) {
    for block in &viewed.message.blocks {
        if let Block::ToolResult(result) = block {
            repairs.push(Repair::OrphanResult { message: viewed.id, call: result.call_id.clone() });
        }
    }
}

fn stub(call: &str) -> Message {
    let result = ToolResult {
        call_id: call.to_owned(),
        output: Json::of(&NO_RESULT).expect("a string is JSON"),
        is_error: true,
        extra: Fields::new(),
    };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}
