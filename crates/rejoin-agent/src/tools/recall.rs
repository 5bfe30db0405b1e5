//! Fetches what a summary stands for: the original messages of this conversation, by id or by words.
//!
//! It looks only at the path that the talk is on, as it is stored. So nothing of another conversation or
//! another branch can appear. What it fetched before is not found again.

use std::collections::HashSet;
use std::fmt::Write;

use rejoin::{Block, Handle, Json, MessageId, StoredMessage};
use serde::Deserialize;
use serde_json::json;

use crate::error::Result;
use crate::providers::{Future, ToolSpec};
use crate::tools::builtin::off_thread;
use crate::tools::input::{self, wrong};
use crate::tools::{Output, Plan, Prepared, Subject};

/// The name that the model calls it by.
pub(crate) const NAME: &str = "recall";

/// Bytes of one message that are returned at most.
const MOST_BYTES: usize = 20_000;

/// Bytes that are shown of each message that has the words.
const EXCERPT: usize = 2_000;

/// Bytes that are shown before the words, so that they can be understood.
const LEAD: usize = 300;

/// How many messages are shown when the model does not say, and at most.
const MATCHES: (usize, usize) = (5, 20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallInput {
    message: Option<String>,
    offset: Option<usize>,
    text: Option<String>,
    limit: Option<usize>,
}

/// What is looked for.
enum RecallQuery {
    Message { id: MessageId, offset: usize },
    Text { words: Vec<String>, limit: usize },
}

/// The tool as the model sees it.
pub(crate) fn spec() -> ToolSpec {
    input::spec(
        NAME,
        "Fetches earlier messages of this conversation, which a summary stands for, exactly as they were. Use it \
         with words to look for, or with the id of a message, whenever a detail is needed that the summary leaves out.",
        json!({
            "message": {"type": "string", "description": "The id of a message to fetch."},
            "offset": {"type": "integer", "minimum": 0, "description": format!(
                "With `message`: the byte to begin at; 0 when left out. At most {MOST_BYTES} bytes are returned at once."
            )},
            "text": {"type": "string", "description": "Words to look for, in any case; the best matches come first."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MATCHES.1, "description": format!(
                "With `text`: how many messages to show; {} when left out.", MATCHES.0
            )},
        }),
        &[],
    )
}

/// Checks an input and prepares the look. The handle says which conversation and which branch.
pub(crate) fn prepare(input: &Json, handle: Future<'static, rejoin::Result<Handle>>) -> Result<Prepared> {
    let wanted = wanted(input::read(input)?)?;
    let summary = match &wanted {
        RecallQuery::Message { id, .. } => format!("Recall message `{id}`"),
        RecallQuery::Text { words, .. } => format!("Recall `{}`", words.join(" ")),
    };
    let subject = Subject::Tool(NAME.to_owned());
    let plan = Plan::new(summary, &subject).harmless();
    Ok(Prepared::new(plan, subject, async move {
        let handle = match handle.await {
            Ok(handle) => handle,
            Err(error) => return Output::error(&error),
        };
        off_thread(move || match handle.path() {
            Ok(path) => look(&path, &wanted),
            Err(error) => Output::error(&error),
        })
        .await
    }))
}

fn wanted(input: RecallInput) -> Result<RecallQuery> {
    match input {
        RecallInput { message: Some(id), text: None, offset, limit: None } => {
            let id = id.parse().map_err(|_| wrong(format!("`{id}` is not the id of a message")))?;
            Ok(RecallQuery::Message { id, offset: offset.unwrap_or_default() })
        }
        RecallInput { message: None, text: Some(text), offset: None, limit } => {
            let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
            let limit = limit.unwrap_or(MATCHES.0);
            if words.is_empty() || !(1..=MATCHES.1).contains(&limit) {
                return Err(wrong(format!("`text` needs words, and `limit` is 1 to {}", MATCHES.1)));
            }
            Ok(RecallQuery::Text { words, limit })
        }
        _ => Err(wrong("give either `message`, with an `offset`, or `text`, with a `limit`".to_owned())),
    }
}

fn look(path: &[StoredMessage], wanted: &RecallQuery) -> Output {
    match wanted {
        RecallQuery::Message { id, offset } => match path.iter().find(|stored| stored.id == *id) {
            Some(stored) => fetch(stored, *offset),
            None => Output::failure(format!("no message `{id}` in this conversation, on this branch")),
        },
        RecallQuery::Text { words, limit } => search(path, words, *limit),
    }
}

fn fetch(stored: &StoredMessage, offset: usize) -> Output {
    let text = text_of(stored.message.blocks.iter());
    if offset > 0 && offset >= text.len() {
        return Output::failure(format!("message `{}` has {} bytes only", stored.id, text.len()));
    }
    Output::text(piece(stored, &text, offset, MOST_BYTES))
}

/// A piece of a message, after a line that says which.
fn piece(stored: &StoredMessage, text: &str, offset: usize, most: usize) -> String {
    let begin = text.floor_char_boundary(offset);
    let end = text.floor_char_boundary(begin.saturating_add(most));
    let time = stored.message.created_at.unwrap_or_default();
    let role = stored.message.role.as_str();
    let mut shown =
        format!("[message {}, {role}, {time}, bytes {begin} to {end} of {}", stored.id, text.len());
    if end < text.len() {
        let _ = write!(shown, "; the rest begins at offset {end}");
    }
    shown.push_str("]\n");
    shown.push_str(&text[begin..end]);
    shown
}

/// A message that has some of the words.
struct Match<'a> {
    stored: &'a StoredMessage,
    text: String,
    /// How many of the words it has, and how often it has any.
    score: (usize, usize),
}

fn search(path: &[StoredMessage], words: &[String], limit: usize) -> Output {
    let mut recalled = Recalled::default();
    let mut matches: Vec<Match<'_>> = path
        .iter()
        .filter(|stored| !stored.message.blocks.iter().any(|block| matches!(block, Block::Summary(_))))
        .filter_map(|stored| {
            let text = recalled.leave_out(stored);
            let lower = text.to_lowercase();
            let counts: Vec<usize> = words.iter().map(|word| lower.matches(word.as_str()).count()).collect();
            let score = (counts.iter().filter(|count| **count > 0).count(), counts.iter().sum());
            (score.0 > 0).then_some(Match { stored, text, score })
        })
        .collect();
    if matches.is_empty() {
        return Output::text("No message has any of these words.");
    }
    // The sort keeps the order of equals, and of equals the newest comes first.
    matches.reverse();
    matches.sort_by_key(|found| std::cmp::Reverse(found.score));
    let found = matches.len();
    let mut pieces: Vec<String> = matches.iter().take(limit).map(|found| excerpt(found, words)).collect();
    if found > limit {
        pieces.push(format!("[{} more messages have some of the words]", found - limit));
    }
    Output::text(pieces.join("\n\n"))
}

/// A message, or its part around the words when it is long.
fn excerpt(found: &Match<'_>, words: &[String]) -> String {
    let Match { stored, text, .. } = found;
    if text.len() <= EXCERPT {
        return piece(stored, text, 0, EXCERPT);
    }
    // Small letters may be longer or shorter than the letters they stand for.
    let mut lower = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len());
    for (place, letter) in text.char_indices() {
        lower.extend(letter.to_lowercase());
        places.resize(lower.len(), place);
    }
    let first = words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or_default();
    let place = places.get(first).copied().unwrap_or_default();
    piece(stored, text, place.saturating_sub(LEAD), EXCERPT)
}

/// What a message says.
fn text_of<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let words: Vec<_> = blocks.filter_map(Block::words).collect();
    words.join("\n")
}

/// Tells what was recalled from the rest, while a path is walked from its root.
#[derive(Default)]
struct Recalled<'a> {
    /// The ids whose latest call was one of this tool. Some servers use an id again and again.
    own: HashSet<&'a str>,
}

impl<'a> Recalled<'a> {
    /// What the next message says, without what was recalled.
    fn leave_out(&mut self, stored: &'a StoredMessage) -> String {
        text_of(stored.message.blocks.iter().filter(|block| !self.is_own(block)))
    }

    fn is_own(&mut self, block: &'a Block) -> bool {
        match block {
            Block::ToolCall(call) if call.name == NAME => {
                self.own.insert(&call.id);
                true
            }
            Block::ToolCall(call) => {
                self.own.remove(call.id.as_str());
                false
            }
            Block::ToolResult(result) => self.own.contains(result.call_id.as_str()),
            _ => false,
        }
    }
}
