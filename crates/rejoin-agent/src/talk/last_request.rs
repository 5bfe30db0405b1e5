//! The last request of a conversation, as hashes of its blocks: tells when the next one does not repeat it.
//!
//! Providers cache the beginning of a request. While each request repeats the last one and adds to it, only
//! what is new costs the full price. Where that cannot be, because a tool, the instructions or a message
//! changed, a person is told which, and about how much is sent again.

use rejoin::{Archive, Message, MessageId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::talk::History;

/// The newest messages that are remembered one by one; those before them count as one block.
const SINGLE: usize = 64;

/// The part of the last request that may be sent anew without a word: an end that was cut off, or a mark.
const TOLERATED: f64 = 0.01;

/// Bytes of a token, about.
const TOKEN: u64 = 4;

/// What was sent last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastRequest {
    /// The message that it ended with; none while that was not stored.
    head: Option<MessageId>,
    /// The summary that it began with.
    summary: Option<MessageId>,
    blocks: Vec<SentBlock>,
}

/// One or more pieces of a request that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SentBlock {
    /// What it is, for a person.
    #[serde(rename = "n")]
    name: String,
    /// How many pieces.
    #[serde(rename = "c")]
    count: usize,
    #[serde(rename = "b")]
    bytes: u64,
    #[serde(rename = "h")]
    hash: String,
}

/// A request, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Sending {
    pieces: Vec<(String, String)>,
    head: Option<MessageId>,
    summary: Option<MessageId>,
}

impl Sending {
    /// Reads the body of a request to a provider. None when it is not a JSON object.
    pub(super) fn read(provider: &str, body: &str, history: &History) -> Option<Self> {
        let Value::Object(mut body) = serde_json::from_str(body).ok()? else { return None };
        let model = body.remove("model").map(|model| model.to_string()).unwrap_or_default();
        let mut pieces = vec![("the model".to_owned(), format!("{provider} {model}"))];
        for tool in items(body.remove("tools")) {
            let name = tool.get("name").or_else(|| tool.pointer("/function/name"));
            let name = name.and_then(Value::as_str).unwrap_or_default();
            pieces.push((format!("the tool `{name}`"), text(tool)));
        }
        for field in ["system", "instructions"] {
            let system = body.remove(field);
            pieces.extend(items(system).into_iter().map(|part| ("the system prompt".to_owned(), text(part))));
        }
        for field in ["messages", "input"] {
            for message in items(body.remove(field)) {
                let is_system = message.get("role").is_some_and(|role| role == "system");
                let name = if is_system { "the system prompt" } else { "a message" };
                pieces.push((name.to_owned(), text(message)));
            }
        }
        let summary = history.newest_compaction().and_then(|place| history.id_at(place));
        Some(Self { pieces, head: history.newest(), summary })
    }

    /// The same without secrets. What is remembered lies in the store, where a hash of a text with a secret
    /// would let anybody try out what the secret is.
    pub(super) fn redacted(mut self, archive: &Archive) -> Self {
        let redaction = archive.redaction();
        for (_, text) in &mut self.pieces {
            if let Some(redacted) = redaction.apply(&Message::user(text.as_str())) {
                *text = redacted.text();
            }
        }
        self
    }

    /// What is remembered of it.
    pub(super) fn remembered(&self) -> LastRequest {
        let is_message = |(name, _): &&(String, String)| *name == "a message";
        let messages = self.pieces.iter().filter(is_message).count();
        let folded = messages.saturating_sub(SINGLE);
        let first = self.pieces.iter().position(|piece| is_message(&piece)).unwrap_or(self.pieces.len());
        let mut blocks: Vec<SentBlock> =
            self.pieces[..first].iter().map(|piece| block(std::slice::from_ref(piece))).collect();
        if folded > 0 {
            blocks.push(block(&self.pieces[first..first + folded]));
        }
        blocks.extend(self.pieces[first + folded..].iter().map(|piece| block(std::slice::from_ref(piece))));
        LastRequest { head: self.head, summary: self.summary, blocks }
    }

    /// Says what keeps this from repeating the last request, in a sentence; nothing when it does repeat it,
    /// or when the conversation went on from an earlier message.
    pub(super) fn difference(&self, last: &LastRequest, history: &History) -> Option<String> {
        let (mut at, mut common) = (0, 0);
        let total: u64 = last.blocks.iter().map(|block| block.bytes).sum();
        let mut changed = None;
        for sent in &last.blocks {
            let now = self.pieces.get(at..at + sent.count);
            if now.is_some_and(|now| block(now) == *sent) {
                common += sent.bytes;
                at += sent.count;
                continue;
            }
            if self.goes_on(at, sent) {
                return None;
            }
            changed = Some(sent);
            break;
        }
        let changed = changed?;
        let lost = total.saturating_sub(common);
        if lost as f64 <= total as f64 * TOLERATED {
            return None;
        }
        let is_message = changed.name == "a message" || changed.count > 1;
        let is_here = last.head.is_some_and(|head| history.holds(head));
        let what = if is_message && self.summary != last.summary {
            "a summary stands for earlier messages now".to_owned()
        } else if is_message && !is_here {
            return None;
        } else {
            let gone = self.pieces.get(at).is_none_or(|(name, _)| *name != changed.name);
            let verb =
                if gone && changed.name.starts_with("the tool") { "is gone or moved" } else { "changed" };
            format!("{} {verb} since the last request", changed.name)
        };
        let bytes: usize = self.pieces.get(at..).unwrap_or_default().iter().map(|(_, text)| text.len()).sum();
        let tokens = (bytes as u64).div_ceil(TOKEN);
        Some(format!("{what}, so about {tokens} tokens are sent again that the provider had cached"))
    }

    /// True when the piece at a place begins with what was sent: a message that was not answered is sent
    /// together with the next.
    fn goes_on(&self, at: usize, sent: &SentBlock) -> bool {
        let Some((name, text)) = self.pieces.get(at) else { return false };
        let open = sent.bytes as usize;
        *name == sent.name
            && sent.count == 1
            && text.len() > open
            && text.is_char_boundary(open)
            && block(&[(name.clone(), text[..open].to_owned())]) == *sent
    }
}

fn items(value: Option<Value>) -> Vec<Value> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(one) => vec![one],
    }
}

/// The text of a piece, without the marks for the cache, which move, and without the signs that close it, so
/// that a text that goes on begins in the same way.
fn text(mut piece: Value) -> String {
    unmark(&mut piece);
    let mut text = piece.to_string();
    text.truncate(text.trim_end_matches(['"', '}', ']']).len());
    text
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn block(pieces: &[(String, String)]) -> SentBlock {
    let name = pieces.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let bytes = pieces.iter().map(|(_, text)| text.len() as u64).sum();
    SentBlock { name, count: pieces.len(), bytes, hash: hash(pieces.iter().map(|(_, text)| text.as_str())) }
}

/// FNV-1a over the texts and their lengths, in letters: what is remembered passes through the rules that take
/// out secrets, and digits could look like one. It recognises what changed, and protects nothing.
fn hash<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    let mut feed = |byte: u8| state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for text in texts {
        text.len().to_le_bytes().into_iter().chain(text.bytes()).for_each(&mut feed);
    }
    (0..16).map(|place| char::from(b'a' + ((state >> (4 * place)) & 15) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use rejoin::Redaction;
    use serde_json::json;

    use super::*;

    fn history() -> History {
        let mut history = History::default();
        history.extend(&[Message::user("a")]);
        history
    }

    fn request(system: &str, tools: &[&str], messages: &[&str]) -> Sending {
        let tools: Vec<Value> =
            tools.iter().map(|name| json!({"name": name, "description": "d".repeat(40)})).collect();
        let messages: Vec<Value> = messages
            .iter()
            .map(|text| json!({"role": "user", "content": [{"type": "text", "text": text}]}))
            .collect();
        let body = json!({"model": "m", "tools": tools, "system": system, "messages": messages});
        Sending::read("p", &body.to_string(), &history()).unwrap()
    }

    fn difference(before: &Sending, after: &Sending) -> Option<String> {
        let mut last = before.remembered();
        let stored: MessageId = "k3f9aB".parse().unwrap();
        let mut history = history();
        history.name_for_test(stored);
        last.head = Some(stored);
        after.difference(&last, &history)
    }

    #[test]
    fn a_request_that_repeats_the_last_one_and_adds_to_it_says_nothing() {
        let long: Vec<String> = (0..200).map(|place| format!("message {place}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let cases = [
            (request("s", &["run"], &["a"]), request("s", &["run"], &["a", "b", "c"])),
            // What was not answered is sent together with what is said next.
            (request("s", &["run"], &["a"]), request("s", &["run"], &["a\n\nb"])),
            (request("s", &["run"], &long[..150]), request("s", &["run"], &long)),
        ];

        assert_eq!(cases.map(|(before, after)| difference(&before, &after)), [None, None, None]);
        assert!(request("s", &["run"], &long).remembered().blocks.len() < SINGLE + 5);
    }

    #[test]
    fn what_changed_is_named_with_what_is_sent_again() {
        let before = request("Be brief.", &["run", "read"], &["a", "b"]);
        let cases = [
            request("Be very brief.", &["run", "read"], &["a", "b", "c"]),
            request("Be brief.", &["read"], &["a", "b", "c"]),
            request("Be brief.", &["run", "read"], &["a", "B", "c"]),
        ];

        let told = cases.map(|after| difference(&before, &after).unwrap_or_default());

        let whats = told.each_ref().map(|told| told.split_once(", so about").unwrap().0);
        let expected = [
            "the system prompt changed since the last request",
            "the tool `run` is gone or moved since the last request",
            "a message changed since the last request",
        ];
        assert_eq!(whats, expected);
        assert!(told[0].ends_with(" tokens are sent again that the provider had cached"), "{}", told[0]);
    }

    #[test]
    fn a_compaction_and_another_branch_are_told_apart() {
        let before = request("s", &["run"], &["a long message", "b"]);
        let mut compacted = request("s", &["run"], &["Summary of earlier conversation", "b"]);
        compacted.summary = Some("s1".parse().unwrap());
        let elsewhere = request("s", &["run"], &["a long message", "another"])
            .difference(&before.remembered(), &history());

        let told = difference(&before, &compacted).unwrap();

        assert!(told.starts_with("a summary stands for earlier messages now, so about "), "{told}");
        assert_eq!(elsewhere, None);
    }

    #[test]
    fn a_secret_leaves_no_trace_in_what_is_remembered() {
        let archive = Archive::open("memory:").unwrap().with_redaction(Redaction::new());
        let remembered = |secret: &str| {
            let said = format!("my password is \"{secret}\", and the rest is the same");
            request("s", &["run"], &[&said]).redacted(&archive).remembered()
        };
        let unguarded = |secret: &str| request("s", &["run"], &[secret]).remembered();

        let stored = remembered("hunter-27-Tango").blocks.pop().unwrap();

        let marker = archive.redaction().apply(&Message::user("my password is \"hunter-27-Tango\"")).unwrap();
        let marker = marker.text().split('"').nth(1).unwrap().to_owned();
        assert_eq!(remembered(&marker).blocks.pop().unwrap(), stored);
        assert_ne!(unguarded("hunter-27-Tango"), unguarded("hunter-28-Tango"));
    }

    #[test]
    fn marks_for_the_cache_do_not_count() {
        let marked = json!({"model": "m", "messages": [{"role": "user", "content":
            [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}]});
        let plain =
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]});

        let read = [marked, plain].map(|body| Sending::read("p", &body.to_string(), &history()).unwrap());

        assert_eq!(read[0].remembered(), read[1].remembered());
    }
}
