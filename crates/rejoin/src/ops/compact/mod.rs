//! Compaction: what is kept of a conversation that grew too long, apart from asking anyone for a summary.
//!
//! Pure: the caller brings the way tokens are counted, and the words of the summary. Nothing here edits
//! history; the result is one message to append: a summary with the ids of what stays. So a resume, a fork
//! and another program show the same, and undoing it is a mark in the header.

mod loss;
mod select;

pub(super) use loss::lost;
pub(super) use select::{Selected, select};

use crate::error::Result;
use crate::model::{Block, MediaKind, Message, MessageId, Role};
use crate::ops::view::{Compaction, KeptMessage, PathMessage, Recipient, View};

/// Counts the tokens of a text.
pub(super) type CountTokens<'a> = dyn Fn(&str) -> u64 + 'a;

/// What a summary begins with, for the model that reads it.
const PREFIX: &str = "Summary of earlier conversation:\n\n";

/// Beginnings of summaries that other programs wrote.
const OTHER_PREFIXES: [&str; 1] = ["Summary: "];

/// The threshold when it is not a part of anything: the least that is one.
const LEAST_THRESHOLD: f64 = 0.01;

/// The words of a summary message: the model's, or what stands for them.
pub(super) fn summary_text(answer: &str) -> String {
    let words = answer.trim();
    format!("{PREFIX}{}", if words.is_empty() { Compaction::NO_SUMMARY } else { words })
}

/// A message of the user, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// Which; none while it is not stored.
    pub id: Option<MessageId>,
    /// Its place on the path.
    pub place: usize,
    /// What it says.
    pub text: String,
}

impl AsRef<str> for Spoken {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl Spoken {
    /// The user's own messages that a compaction may choose from, oldest first.
    ///
    /// Summaries are not among them, nor what a program said in the user's name, nor empty messages. Pinned
    /// ones stay in any case, and are not among them either.
    pub fn all(path: &[PathMessage<'_>]) -> Vec<Self> {
        let spoken = path.iter().enumerate().filter(|(_, said)| {
            said.message.role == Role::User && !said.is_pinned && !is_summary(said.message)
        });
        spoken
            .map(|(place, said)| Self { id: said.id, place, text: said.message.text() })
            .filter(|spoken| !spoken.text.trim().is_empty() && !Compaction::is_preamble(&spoken.text))
            .collect()
    }
}

fn is_summary(message: &Message) -> bool {
    let text = message.text();
    message.blocks.iter().any(|block| matches!(block, Block::Summary(_)))
        || text.starts_with(PREFIX)
        || OTHER_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// What a compaction is made of, beside the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summarised<'a> {
    /// What the summariser answered.
    pub answer: &'a str,
    /// How many of the oldest messages it could not be shown.
    pub trimmed: u64,
    /// How many tokens of the user's messages stay.
    pub budget: u64,
    /// The place of a message that is not answered yet. It stays whole and takes nothing from the budget.
    pub pending: Option<usize>,
}

impl Compaction {
    /// The part of a context window above which a conversation is compacted.
    pub const THRESHOLD: f64 = 0.8;

    /// How many tokens of the user's own messages stay.
    pub const USER_TOKENS: u64 = 20_000;

    /// What a summariser is asked.
    pub const PROMPT: &str = "\
Please provide a concise summary of the conversation so far.

Focus on:
- Key decisions made
- Important information shared
- Current state of work
- Any unresolved issues or next steps

Keep the summary focused and under 500 tokens. \
This summary will be used to continue the conversation with compressed history.";

    /// What stands for a summary that could not be had.
    pub const NO_SUMMARY: &str = "(summary unavailable)";

    /// The most tokens of a history that is not compacted. A threshold outside of (0, 1] is moved into it.
    pub fn limit(window: u64, threshold: f64) -> u64 {
        let threshold =
            if threshold.is_nan() { Self::THRESHOLD } else { threshold.clamp(LEAST_THRESHOLD, 1.0) };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "windows are far below 2^53, and a threshold is between 0 and 1"
        )]
        let limit = (window as f64 * threshold).floor() as u64;
        limit
    }

    /// The message that compacts a path, and what it holds: append it, and the view begins there. `count`
    /// tells the tokens of a text.
    pub fn of(
        path: &[PathMessage<'_>],
        ignored: &[MessageId],
        recipient: &Recipient,
        summarised: Summarised<'_>,
        count: &dyn Fn(&str) -> u64,
    ) -> Result<(Message, Self)> {
        let mut compaction = kept(path, summarised, count);
        compaction.trimmed = summarised.trimmed;
        let text = summary_text(summarised.answer);
        let message = compaction.to_message(&text)?;
        let longer: Vec<PathMessage<'_>> = path
            .iter()
            .copied()
            .chain([PathMessage { id: None, is_pinned: false, message: &message }])
            .collect();
        let (before, after) = (View::of(path, ignored, recipient), View::of(&longer, ignored, recipient));
        compaction.tokens_before = tokens(&before, count);
        compaction.tokens_after = tokens(&after, count);
        compaction.lost = lost(&before, &after);
        Ok((compaction.to_message(&text)?, compaction))
    }
}

/// Chooses what stays of the user's own words.
fn kept(path: &[PathMessage<'_>], summarised: Summarised<'_>, count: &CountTokens<'_>) -> Compaction {
    let mut spoken = Spoken::all(path);
    spoken.retain(|spoken| Some(spoken.place) != summarised.pending);
    // Whatever it says, it is what will be answered.
    let pending = summarised.pending.and_then(|place| Some((place, path.get(place)?)));
    let pending = pending.map(|(place, said)| Spoken { id: said.id, place, text: said.message.text() });
    let selected = select(&spoken, summarised.budget, count);
    let staying = selected.into_iter().map(|Selected { place, cut }| {
        let words = &spoken[place];
        // The budget is for words; images would fill the window again.
        let is_all_words = path[words.place].message.blocks.iter().all(|block| block.words().is_some());
        (words, cut.or_else(|| (!is_all_words).then(|| words.text.clone())))
    });
    let mut staying: Vec<(&Spoken, Option<String>)> =
        staying.chain(pending.as_ref().map(|pending| (pending, None))).collect();
    staying.sort_by_key(|(spoken, _)| spoken.place);
    let mut compaction = Compaction::default();
    for (spoken, cut) in staying {
        match spoken.id {
            Some(message) => compaction.kept.push(KeptMessage { message, text: cut }),
            None if spoken.text.trim().is_empty() => {}
            None => compaction.unsaved.push(cut.unwrap_or_else(|| spoken.text.clone())),
        }
    }
    compaction
}

/// The tokens of a view.
pub(super) fn tokens(view: &View<'_>, count: &CountTokens<'_>) -> u64 {
    view.messages.iter().map(|viewed| tokens_of(&viewed.message, count)).sum()
}

/// What a message costs beside its words: its role and the marks around it.
const MESSAGE_TOKENS: u64 = 4;

/// What an image costs: providers scale it down to about this.
const IMAGE_TOKENS: u64 = 1_600;

/// The tokens of one message, so that a caller can count each message once.
pub(super) fn tokens_of(message: &Message, count: &CountTokens<'_>) -> u64 {
    let tokens = message.blocks.iter().map(|block| match block {
        Block::Media(media) if media.kind == MediaKind::Image => IMAGE_TOKENS,
        Block::Snapshot(snapshot) if snapshot.is_of_files() => 0,
        Block::Snapshot(snapshot) => count(snapshot.data.as_str()),
        _ => block.words().map_or(0, |words| count(&words)),
    });
    tokens.sum::<u64>() + MESSAGE_TOKENS
}

#[cfg(test)]
mod tests;
