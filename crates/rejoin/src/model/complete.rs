//! What counts as said: finished messages, and what becomes of those that never finish.
//!
//! Completeness asks whether something is there, not whether it is true: a result that is empty, `false` or
//! `null` is a result. Notices of a program to its user have no form here, so they can never become messages.

use std::fmt;

use crate::model::{Block, Fields, Json, Message, Role, ToolResult};

/// Why the model stopped, for a reply that was cut off.
pub(super) const INTERRUPTED: &str = "interrupted";

/// What stands for the result of a call that never came back.
const NO_RESULT: &str = "interrupted before it finished";

/// The field that programs put on thinking while it streams.
const THINKING_COMPLETE: &str = "isThinkingComplete";

/// The reasons of all providers for a reply that ended as it should: it was done,
/// reached its limit, or asked for tools.
const ORDINARY: [&str; 11] = [
    "stop",
    "end_turn",
    "stop_sequence",
    "completed",
    "length",
    "max_tokens",
    "max_output_tokens",
    "tool_use",
    "tool_calls",
    "function_call",
    "pause_turn",
];

/// What a turn lacks before it can be history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incomplete {
    /// A reply without content whose end was not told.
    Reply,
    /// Thinking that was still arriving.
    Thinking,
    /// A tool call, by its id, that nothing answers.
    Call(String),
    /// A tool's message without a result, or with one that does not say which call it answers.
    Result,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply => f.write_str("a reply has neither content nor an end"),
            Self::Thinking => f.write_str("thinking is not finished"),
            Self::Call(id) => write!(f, "tool call `{id}` has no result"),
            Self::Result => f.write_str("a tool's message has no result that names its call"),
        }
    }
}

impl Incomplete {
    /// What a turn lacks before it can be history; nothing when it is complete.
    ///
    /// What a person or a program says to the model is always complete. A call may
    /// be answered anywhere in the turn.
    pub fn of(turn: &[Message]) -> Option<Self> {
        turn.iter().find_map(lacking).or_else(|| unanswered(turn).next().map(|id| Self::Call(id.to_owned())))
    }
}

/// What one message lacks, leaving aside whether its calls are answered.
fn lacking(message: &Message) -> Option<Incomplete> {
    match message.role {
        Role::System | Role::User => None,
        Role::Assistant if message.blocks.is_empty() && message.finish.is_none() => Some(Incomplete::Reply),
        Role::Assistant => message.blocks.iter().any(is_arriving).then_some(Incomplete::Thinking),
        Role::Tool => {
            let mut results = message.blocks.iter().filter_map(Block::as_result).peekable();
            let is_lacking =
                results.peek().is_none() || results.any(|result| result.call_id.trim().is_empty());
            is_lacking.then_some(Incomplete::Result)
        }
    }
}

/// True for thinking of which more is to come.
fn is_arriving(block: &Block) -> bool {
    let Block::Thinking(thinking) = block else { return false };
    thinking.extra.field(THINKING_COMPLETE).is_some_and(|value| value.as_str() != "true")
}

/// The ids of calls that nothing in the turn answers.
fn unanswered(turn: &[Message]) -> impl Iterator<Item = &str> {
    let blocks = || turn.iter().flat_map(|message| &message.blocks);
    let calls = blocks().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    });
    calls.filter(move |id| !blocks().filter_map(Block::as_result).any(|result| result.call_id == *id))
}

fn cut_off(call_id: &str) -> Message {
    let result = ToolResult {
        call_id: call_id.to_owned(),
        output: Json::of(&NO_RESULT).expect("a string is JSON"),
        is_error: true,
        extra: Fields::new(),
    };
    let mut message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
    message.is_error = true;
    message
}

impl Message {
    /// True when the message can be history by itself; one that asks for tools needs their results beside it.
    pub fn is_complete(&self) -> bool {
        Incomplete::of(std::slice::from_ref(self)).is_none()
    }

    /// What is kept of a reply that was cut off, with the results of its tools so
    /// far: nothing, or a complete turn.
    ///
    /// The reply is marked as interrupted unless its own end was told. A call without a result gets one that
    /// says so. Thinking that is unfinished, or that led to nothing, is left out: no provider takes it back.
    pub fn interrupted(mut self, mut results: Vec<Self>) -> Vec<Self> {
        self.blocks.retain(|block| !is_arriving(block));
        while matches!(self.blocks.last(), Some(Block::Thinking(_))) {
            self.blocks.pop();
        }
        if self.blocks.is_empty() {
            return Vec::new();
        }
        self.finish.get_or_insert_with(|| INTERRUPTED.to_owned());
        let mut turn = vec![self];
        turn.append(&mut results);
        let missing: Vec<Self> = unanswered(&turn).map(cut_off).collect();
        turn.extend(missing);
        turn
    }

    /// True for a reply that ended in another way than being done, reaching its limit or asking for tools: it
    /// was interrupted, refused or filtered, as its `finish` says.
    pub fn was_cut_short(&self) -> bool {
        let finish = self.finish.as_deref();
        self.role == Role::Assistant && finish.is_some_and(|finish| !ORDINARY.contains(&finish))
    }
}

impl Block {
    /// The result, if it is one.
    const fn as_result(&self) -> Option<&ToolResult> {
        match self {
            Self::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Thinking;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn call(id: &str) -> Block {
        Block::tool_call(id, "read", json("{}"))
    }

    fn result(id: &str, output: &str) -> Message {
        Message::new(Role::Tool, vec![Block::tool_result(id, json(output))])
    }

    fn reply(blocks: Vec<Block>) -> Message {
        Message::new(Role::Assistant, blocks)
    }

    fn ended(finish: &str, blocks: Vec<Block>) -> Message {
        let mut message = reply(blocks);
        message.finish = Some(finish.to_owned());
        message
    }

    fn thinking(is_complete: Option<&str>) -> Block {
        let mut block = Thinking { text: "hm".into(), ..Thinking::default() };
        if let Some(value) = is_complete {
            block.extra.set(THINKING_COMPLETE, json(value));
        }
        Block::Thinking(block)
    }

    #[test]
    fn a_message_is_complete_when_what_it_needs_is_there() {
        let cases = [
            (vec![Message::user("")], None),
            (vec![Message::new(Role::System, Vec::new())], None),
            (vec![Message::assistant("hi")], None),
            (vec![reply(Vec::new())], Some(Incomplete::Reply)),
            (vec![ended("refusal", Vec::new())], None),
            (vec![reply(vec![thinking(None)])], None),
            (vec![reply(vec![thinking(Some("true"))])], None),
            (vec![reply(vec![thinking(Some("false")), Block::text("a")])], Some(Incomplete::Thinking)),
            (vec![reply(vec![call("a")])], Some(Incomplete::Call("a".into()))),
            (vec![reply(vec![call("a"), call("b")]), result("a", "1")], Some(Incomplete::Call("b".into()))),
            (vec![reply(vec![call("a"), call("b")]), result("b", "1"), result("a", "2")], None),
            (vec![result("", "1")], Some(Incomplete::Result)),
            (vec![Message::new(Role::Tool, vec![Block::text("done")])], Some(Incomplete::Result)),
        ];

        let found: Vec<_> = cases.iter().map(|(turn, _)| Incomplete::of(turn)).collect();

        assert_eq!(found, cases.map(|(_, expected)| expected));
    }

    #[test]
    fn a_result_that_is_empty_false_zero_or_null_is_a_result() {
        let complete = ["\"\"", "false", "0", "null", "[]", "{}"].map(|output| {
            result("a", output).is_complete()
                && Incomplete::of(&[reply(vec![call("a")]), result("a", output)]).is_none()
        });

        assert_eq!(complete, [true; 6]);
    }

    #[test]
    fn a_reply_says_whether_it_was_cut_short() {
        let is_cut_short = |finish: &str| ended(finish, Vec::new()).was_cut_short();

        let ordinary = ["stop", "length", "tool_use"].map(is_cut_short);
        let cut_short = ["interrupted", "refusal", "content_filter"].map(is_cut_short);

        assert!(!Message::assistant("a").was_cut_short());
        assert_eq!((ordinary, cut_short), ([false; 3], [true; 3]));
    }

    #[test]
    fn what_is_kept_of_an_interrupted_reply_is_a_complete_turn() {
        let cut = reply(vec![Block::text("Let me look."), call("a"), call("b"), thinking(None)]);

        let kept = cut.interrupted(vec![result("a", "1")]);

        let marked = ended("interrupted", vec![Block::text("Let me look."), call("a"), call("b")]);
        assert_eq!(kept, [marked, result("a", "1"), cut_off("b")]);
        assert_eq!(Incomplete::of(&kept), None);
    }

    #[test]
    fn a_reply_that_had_ended_keeps_its_own_reason() {
        let ended = ended("tool_use", vec![call("a")]);

        let kept = ended.clone().interrupted(Vec::new());

        assert_eq!(kept, [ended, cut_off("a")]);
    }

    #[test]
    fn nothing_is_kept_of_thinking_that_led_to_nothing() {
        let kept = [vec![], vec![thinking(None)], vec![thinking(Some("false"))]]
            .map(|blocks| reply(blocks).interrupted(vec![]));

        assert_eq!(kept, [const { Vec::<Message>::new() }; 3]);
    }
}
