//! Every call with its result: what no API accepts otherwise, and what a crash
//! or another program may leave behind.
//!
//! A round is one or more replies in a row and all that was said until the next reply. The results of its
//! calls stand right behind its replies, in the order of the calls, and then what else was said:
//!
//! ```text
//! reply(a, b)  user  tool(b)  tool(a)  reply      a round as it may be stored
//! reply(a, b)  tool(a)  tool(b)  user  reply      as it is viewed
//! ```
//!
//! Results that are stored in a reply are said after it, and a reply of nothing but results is none.
//!
//! A result that comes after the next reply cannot change what the model was
//! already sent. It is sent as text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::{Block, Fields, Json, Message, MessageId, Role, ToolCall, ToolResult};
use crate::ops::view::edit::{BlockEdit, all_blocks, edit_blocks, set_blocks};
use crate::ops::view::{CallIdRule, Recipient, Repair, Viewed, output};

/// What stands for a result that was never stored.
const NO_RESULT: &str = "no result of this call was recorded";

/// The longest id of a call where they must be short.
const SHORT: usize = 40;

/// The same for the recipient's own, which goes back as it came.
const SHORT_OWN: usize = 64;

/// Pairs the calls and results of messages that come one after the other.
pub(super) struct Pairing<'a, 'r> {
    recipient: &'r Recipient,
    /// The ids that calls are sent under, with the hash of what was called.
    taken: HashMap<String, u64>,
    /// The next number to try where an id is taken.
    numbers: HashMap<String, u64>,
    /// The stored ids of calls that got a stub.
    unanswered: HashSet<String>,
    /// The current round: its replies, and what was said since.
    replies: Vec<Viewed<'a>>,
    heard: Vec<Viewed<'a>>,
    is_heard: bool,
    paired: Vec<Viewed<'a>>,
}

/// Which message that was heard, and which block of it.
type BlockPlace = (usize, usize);

/// A call of the current round.
struct Call {
    message: Option<MessageId>,
    /// The id it was stored with, and the one it is sent with.
    stored: String,
    sent: String,
    /// Where its result is.
    result: Option<BlockPlace>,
}

impl<'a, 'r> Pairing<'a, 'r> {
    /// Begins with a guess of how many messages there will be.
    pub(super) fn new(recipient: &'r Recipient, length: usize) -> Self {
        Self {
            recipient,
            taken: HashMap::new(),
            numbers: HashMap::new(),
            unanswered: HashSet::new(),
            replies: Vec::new(),
            heard: Vec::new(),
            is_heard: false,
            paired: Vec::with_capacity(length),
        }
    }

    /// Adds the next message.
    pub(super) fn push(&mut self, mut viewed: Viewed<'a>, repairs: &mut Vec<Repair>) {
        if viewed.message.role != Role::Assistant {
            self.is_heard = true;
            self.heard.push(viewed);
            return;
        }
        let results = take_results(&mut viewed);
        if results.is_none() || !viewed.message.blocks.is_empty() {
            if self.is_heard {
                self.end_round(repairs);
            }
            self.replies.push(viewed);
        }
        self.is_heard |= results.is_some();
        self.heard.extend(results);
    }

    /// All messages, paired.
    pub(super) fn finish(mut self, repairs: &mut Vec<Repair>) -> Vec<Viewed<'a>> {
        self.end_round(repairs);
        self.paired
    }

    fn end_round(&mut self, repairs: &mut Vec<Repair>) {
        self.is_heard = false;
        let mut calls: Vec<Call> = Vec::new();
        let mut replies = std::mem::take(&mut self.replies);
        for mut reply in replies.drain(..) {
            self.name_calls(&mut reply, &mut calls, repairs);
            if !reply.message.blocks.is_empty() {
                self.paired.push(reply);
            }
        }
        let mut heard = std::mem::take(&mut self.heard);
        claim(&mut calls, &heard, repairs);
        let ready = ready(&calls, &heard);
        let is_ready = ready == heard.len();
        let claimed: HashSet<BlockPlace> =
            calls.iter().filter(|_| !is_ready).filter_map(|call| call.result).collect();
        if ready == 0 {
            self.push_results(&calls, &heard, repairs);
        }
        for (place, viewed) in heard.drain(..).enumerate() {
            if place < ready {
                self.paired.push(viewed);
            } else {
                self.push_heard(viewed, place, &claimed, repairs);
            }
        }
        // Their room is used again.
        (self.replies, self.heard) = (replies, heard);
    }

    /// Gives each call of a reply an id that is accepted and not taken, and its tool a name that is accepted.
    fn name_calls(&mut self, reply: &mut Viewed<'a>, calls: &mut Vec<Call>, repairs: &mut Vec<Repair>) {
        let message = reply.id;
        let rule = self.recipient.call_ids;
        let is_own = self.recipient.is_own(&reply.message);
        edit_blocks(reply, |block| {
            let Block::ToolCall(call) = block else { return BlockEdit::Keep };
            let longest = if is_own && call.id.len() <= SHORT_OWN { SHORT_OWN } else { SHORT };
            let accepted = accepted_id(&call.id, rule, longest);
            let sent = self.free_id(&accepted, call, message, repairs);
            let name = accepted_name(&call.name, self.recipient.name_bytes);
            if name != call.name {
                repairs.push(Repair::RenamedTool { message, name: call.name.clone() });
            }
            calls.push(Call { message, stored: call.id.clone(), sent: sent.clone(), result: None });
            if name == call.name && sent == call.id {
                return BlockEdit::Keep;
            }
            BlockEdit::Replace(Block::ToolCall(ToolCall {
                id: sent,
                name: name.into_owned(),
                ..call.clone()
            }))
        });
    }

    fn free_id(
        &mut self,
        accepted: &str,
        call: &ToolCall,
        message: Option<MessageId>,
        repairs: &mut Vec<Repair>,
    ) -> String {
        let mut hasher = DefaultHasher::new();
        (&call.name, call.input.as_str()).hash(&mut hasher);
        let asked = hasher.finish();
        let known = self.taken.get(accepted).copied();
        let sent = if known.is_none() {
            accepted.to_owned()
        } else {
            let short = &accepted[..accepted.floor_char_boundary(SHORT - 12)];
            // All numbers before it are taken, and stay so.
            let next = self.numbers.entry(short.to_owned()).or_insert(2);
            loop {
                let other = format!("{short}_{next}");
                *next += 1;
                if !self.taken.contains_key(&other) {
                    break other;
                }
            }
        };
        let call = call.id.clone();
        if known == Some(asked) {
            repairs.push(Repair::RepeatedCall { message, call });
        } else if sent != call {
            repairs.push(Repair::RenamedCall { message, call });
        }
        self.taken.insert(sent.clone(), asked);
        sent
    }

    /// One message for each result, in the order of the calls.
    fn push_results(&mut self, calls: &[Call], heard: &[Viewed<'a>], repairs: &mut Vec<Repair>) {
        for call in calls {
            let found =
                call.result.map(|(place, index)| (heard[place].id, &heard[place].message.blocks[index]));
            let (id, result) = match found {
                Some((id, Block::ToolResult(result))) => {
                    (id, ToolResult { call_id: call.sent.clone(), ..result.clone() })
                }
                _ => {
                    self.unanswered.insert(call.stored.clone());
                    repairs.push(Repair::MissingResult { message: call.message, call: call.stored.clone() });
                    (None, stub(&call.sent))
                }
            };
            let message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
            self.paired.push(Viewed { id, message: Cow::Owned(message) });
        }
    }

    /// What was heard besides results. A tool says it with the voice of the user.
    fn push_heard(
        &mut self,
        mut viewed: Viewed<'a>,
        place: usize,
        claimed: &HashSet<BlockPlace>,
        repairs: &mut Vec<Repair>,
    ) {
        let message = viewed.id;
        let mut index = 0;
        edit_blocks(&mut viewed, |block| {
            let here = (place, index);
            index += 1;
            let Block::ToolResult(result) = block else { return BlockEdit::Keep };
            let call = result.call_id.clone();
            if claimed.contains(&here) {
                BlockEdit::Drop
            } else if self.unanswered.remove(&call) {
                let text =
                    format!("[A late result of the call `{call}`]\n{}", output::as_text(&result.output));
                repairs.push(Repair::LateResult { message, call });
                BlockEdit::Replace(Block::text(text))
            } else {
                repairs.push(Repair::OrphanResult { message, call });
                BlockEdit::Drop
            }
        });
        if viewed.message.blocks.is_empty() {
            return;
        }
        if viewed.message.role == Role::Tool {
            let blocks = std::mem::take(&mut viewed.message.to_mut().blocks);
            set_blocks(&mut viewed, Role::User, blocks);
        }
        self.paired.push(viewed);
    }
}

/// Finds the result of each call among what was heard.
fn claim(calls: &mut [Call], heard: &[Viewed<'_>], repairs: &mut Vec<Repair>) {
    if calls.is_empty() {
        return;
    }
    let mut is_interrupted = false;
    for (place, viewed) in heard.iter().enumerate() {
        for (index, block) in viewed.message.blocks.iter().enumerate() {
            let Block::ToolResult(result) = block else {
                is_interrupted |= viewed.message.role != Role::Tool;
                continue;
            };
            let mut waiting = calls.iter_mut().filter(|call| call.result.is_none());
            let Some(call) = waiting.find(|call| call.stored == result.call_id) else { continue };
            call.result = Some((place, index));
            if is_interrupted {
                let call = result.call_id.clone();
                repairs.push(Repair::MovedResult { message: viewed.id, call });
            }
        }
    }
}

/// The results in a reply, which some programs store beside the calls, as a message of their own.
fn take_results<'a>(reply: &mut Viewed<'a>) -> Option<Viewed<'a>> {
    let mut results = Vec::new();
    edit_blocks(reply, |block| {
        if !matches!(block, Block::ToolResult(_)) {
            return BlockEdit::Keep;
        }
        results.push(block.clone());
        BlockEdit::Drop
    });
    if results.is_empty() {
        return None;
    }
    Some(Viewed { id: reply.id, message: Cow::Owned(Message::new(Role::Tool, results)) })
}

/// How many of the messages that were heard are the results, as they have to be
/// sent; none when any has to change.
fn ready(calls: &[Call], heard: &[Viewed<'_>]) -> usize {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    let is_ready = |viewed: &&Viewed<'_>| viewed.message.role == Role::Tool && all_blocks(viewed, is_result);
    let mut expected = calls.iter();
    let mut place = 0;
    for viewed in heard.iter().take_while(is_ready) {
        if expected.len() == 0 {
            break;
        }
        for index in 0..viewed.message.blocks.len() {
            let is_next = expected
                .next()
                .is_some_and(|call| call.result == Some((place, index)) && call.sent == call.stored);
            if !is_next {
                return 0;
            }
        }
        place += 1;
    }
    if expected.len() == 0 { place } else { 0 }
}

fn stub(call: &str) -> ToolResult {
    ToolResult {
        call_id: call.to_owned(),
        output: Json::of(&NO_RESULT).expect("a string is JSON"),
        is_error: true,
        extra: Fields::new(),
    }
}

fn accepted_id(id: &str, rule: CallIdRule, longest: usize) -> Cow<'_, str> {
    match rule {
        _ if id.is_empty() => Cow::Borrowed("call"),
        CallIdRule::Any => Cow::Borrowed(id),
        CallIdRule::Plain => plain(id),
        CallIdRule::Short => Cow::Borrowed(&id[..id.floor_char_boundary(longest)]),
    }
}

fn accepted_name(name: &str, longest: usize) -> Cow<'_, str> {
    match plain(name) {
        plain if plain.is_empty() => Cow::Borrowed("tool"),
        Cow::Borrowed(plain) => Cow::Borrowed(&plain[..plain.floor_char_boundary(longest)]),
        Cow::Owned(mut plain) => {
            plain.truncate(longest);
            Cow::Owned(plain)
        }
    }
}

/// The name in letters, digits, `_` and `-`.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect())
}
