//! What a compaction shows in place of what came before it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{self, Block, Json, Message, MessageId, Role, Summary};
use crate::ops::view::fact::{self, Fact};
use crate::ops::view::{PathMessage, Viewed};

/// The field of a summary block that says what stays.
const FIELD: &str = "compaction";

/// What is kept with a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Compaction {
    /// The user's messages that stay, oldest first.
    pub kept: Vec<KeptMessage>,
    /// Where they stand.
    #[serde(skip_serializing_if = "KeptPlace::is_before_summary")]
    pub(crate) place: KeptPlace,
    /// Texts of the user that stay and were not stored yet, so that nothing can name them. They
    /// are newer than the messages that stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<String>,
    /// How many of the oldest items the summariser could not be shown.
    pub trimmed: u64,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// What the new view no longer mentions.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "fact")]
    pub lost: Vec<Fact>,
}

/// Where the messages that stay stand in the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub(crate) enum KeptPlace {
    /// Before the summary, each for itself: a call or a result among them is sent as text.
    #[default]
    BeforeSummary,
    /// Between the summary and what follows it, as they were said.
    AfterSummary,
}

impl KeptPlace {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    fn is_before_summary(&self) -> bool {
        *self == Self::BeforeSummary
    }
}

/// A message of the user that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMessage {
    /// Which.
    pub message: MessageId,
    /// Its text when it had to be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Compaction {
    /// The message that stores it.
    pub fn to_message(&self, summary: &str) -> Result<Message> {
        let mut block = Summary { text: summary.to_owned(), ..Summary::default() };
        block.extra.set(FIELD, Json::of(self)?);
        Ok(Message::new(Role::User, vec![Block::Summary(block)]))
    }

    /// What a message stores, if it is a compaction. A summary of another program keeps nothing before it.
    pub fn from_message(message: &Message) -> Option<Result<Self>> {
        let summary = message.blocks.iter().find_map(|block| match block {
            Block::Summary(summary) => Some(summary),
            _ => None,
        })?;
        Some(summary.extra.field(FIELD).map_or(Ok(Self::default()), |json| {
            json.to().map_err(|cause| Error::corrupt("read a compaction").because(cause))
        }))
    }

    /// True for a text that a program wrote in the user's name, about the project and where it runs.
    ///
    /// No compaction keeps it: programs say it again.
    pub fn is_preamble(text: &str) -> bool {
        model::is_preamble(text)
    }
}

/// Where the newest compaction of a path is.
pub(super) fn newest(path: &[PathMessage<'_>], ignored: &[MessageId]) -> Option<usize> {
    let is_summary = |said: &PathMessage<'_>| {
        !is_ignored(said, ignored)
            && said.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)))
    };
    path.iter().rposition(is_summary)
}

/// The messages of a path that no compaction hides.
pub(super) fn all<'a>(path: &[PathMessage<'a>], ignored: &[MessageId]) -> impl Iterator<Item = Viewed<'a>> {
    path.iter().filter(|said| !is_ignored(said, ignored)).map(whole)
}

fn is_ignored(said: &PathMessage<'_>, ignored: &[MessageId]) -> bool {
    said.id.is_some_and(|id| ignored.contains(&id))
}

/// What the compaction at a place of a path leaves, its summary and what follows;
/// and how many messages it carries along.
pub(super) fn shown<'a>(
    path: &[PathMessage<'a>],
    ignored: &[MessageId],
    place: usize,
) -> (Vec<Viewed<'a>>, usize) {
    let (before, after) = path.split_at(place);
    let compaction = Compaction::from_message(after[0].message).and_then(Result::ok).unwrap_or_default();
    let (mut shown, mut following): (Vec<Viewed<'a>>, Vec<Viewed<'a>>) = (Vec::new(), Vec::new());
    let is_before = compaction.place == KeptPlace::BeforeSummary;
    let spoken = before.iter().position(|said| said.message.role == Role::Assistant).unwrap_or(before.len());
    // Of two for one message the first counts.
    let kept: HashMap<MessageId, &KeptMessage> =
        compaction.kept.iter().rev().map(|kept| (kept.message, kept)).collect();
    for (place, said) in before.iter().enumerate() {
        let is_initial = said.message.role == Role::System
            || is_before
                && place < spoken
                && said.message.role == Role::User
                && Compaction::is_preamble(&said.message.text());
        let stays = if is_before { &mut shown } else { &mut following };
        match said.id.and_then(|id| kept.get(&id)) {
            _ if is_initial || said.is_pinned => shown.push(whole(said)),
            Some(KeptMessage { text: Some(text), .. }) => {
                stays.push(with_blocks(said, vec![Block::text(text.clone())]));
            }
            Some(_) => stays.push(whole(said)),
            None => {}
        }
    }
    let unsaved = compaction.unsaved.into_iter().map(|text| Cow::Owned(Message::user(text)));
    shown.extend(unsaved.map(|message| Viewed { id: None, message }));
    let carried = shown.len();
    shown.push(whole(&after[0]));
    shown.append(&mut following);
    shown.extend(before.iter().filter_map(snapshots));
    shown.extend(all(&after[1..], ignored));
    (shown, carried)
}

fn whole<'a>(said: &PathMessage<'a>) -> Viewed<'a> {
    Viewed { id: said.id, message: Cow::Borrowed(said.message) }
}

/// The snapshots of a message, which survive a compaction.
fn snapshots<'a>(said: &PathMessage<'a>) -> Option<Viewed<'a>> {
    let is_carried = |block: &&Block| matches!(block, Block::Snapshot(snapshot) if !snapshot.is_of_files());
    let blocks: Vec<Block> = said.message.blocks.iter().filter(is_carried).cloned().collect();
    if blocks.is_empty() {
        return None;
    }
    let mut viewed = with_blocks(said, blocks);
    viewed.message.to_mut().role = Role::User;
    Some(viewed)
}

fn with_blocks<'a>(said: &PathMessage<'a>, blocks: Vec<Block>) -> Viewed<'a> {
    let mut message = said.message.clone();
    message.blocks = blocks;
    Viewed { id: said.id, message: Cow::Owned(message) }
}
