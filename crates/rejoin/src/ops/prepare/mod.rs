//! Messages on their way into a store. Whatever is stored comes through here:
//! appended, recorded, imported or scrubbed.
//!
//! The order is fixed: time, redaction, attachments, encoding, digest, limits, previews. A digest covers the
//! bytes that are stored, so it comes after everything that changes them. A message is encoded once, and a
//! second time only if redaction changed it or a text file was taken out of it.

mod limits;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

pub use limits::Limits;
use limits::check_blocks;
pub(crate) use limits::check_title;

use crate::error::{Error, Result};
use crate::model::{Digest, Message, PreviewTexts, Time};
use crate::ops::attachment::{Detached, detach, detach_binary, disown, has_attachments, referred};
use crate::ops::marker::is_text;
use crate::ops::redact::{RedactionTally, Redactor};

/// A message as it is stored, before it has a place in a conversation.
#[derive(Debug)]
pub(crate) struct Encoded<'m> {
    /// Without what is secret, and without what is large.
    pub(crate) message: Cow<'m, Message>,
    /// The bytes that are stored.
    pub(crate) body: String,
    /// What was taken out because it is secret.
    pub(crate) tally: RedactionTally,
    /// What was taken out because it is large.
    pub(crate) detached: Vec<Detached>,
    /// The attachments that the message refers to.
    pub(crate) referred: BTreeSet<Digest>,
}

impl<'m> Encoded<'m> {
    /// Prepares a message that has a time. A borrowed message is cloned only if it has to change.
    pub(crate) fn of(mut message: Cow<'m, Message>, redactor: Option<&Redactor<'_>>) -> Self {
        let has_attachments = has_attachments(&message);
        let mut detached = Vec::new();
        if has_attachments {
            let own = message.to_mut();
            disown(own);
            // Redaction leaves such data alone, so it is neither encoded nor searched.
            detached = detach_binary(own, &is_text);
        }
        let mut body = message.to_body();
        let (mut tally, mut is_stale) = (RedactionTally::default(), false);
        if let Some(clean) = redactor.and_then(|redactor| redactor.message(&message, &body)) {
            (message, tally, is_stale) = (Cow::Owned(clean.message), clean.tally, true);
        }
        let mut references = BTreeSet::new();
        if has_attachments {
            let rest = detach(message.to_mut());
            is_stale |= !rest.is_empty();
            detached.extend(rest);
            references = referred(&message);
        }
        if is_stale {
            body = message.to_body();
        }
        Self { message, body, tally, detached, referred: references }
    }

    /// What the message vouches for after the one with this digest.
    pub(crate) fn digest(&self, parent: Option<Digest>) -> Digest {
        Digest::chain(parent, self.body.as_bytes())
    }
}

/// A message without its secrets, of which `body` is the written form. None when it has none.
///
/// Attachments stay what they are: for messages that are stored already, and for those that never are.
pub(crate) fn redacted(message: &Message, body: &str, redactor: &Redactor<'_>) -> Option<Encoded<'static>> {
    let clean = redactor.message(message, body)?;
    Some(Encoded {
        body: clean.message.to_body(),
        message: Cow::Owned(clean.message),
        tally: clean.tally,
        detached: Vec::new(),
        referred: BTreeSet::new(),
    })
}

/// Gives messages without a time this one. They are told apart by a microsecond
/// each, so that time order is their order.
pub(crate) fn stamp<'m>(messages: impl IntoIterator<Item = &'m mut Message>, now: Time) {
    messages.into_iter().zip(0..).for_each(|(message, place)| date(message, now, place));
}

fn date(message: &mut Message, now: Time, place: i64) {
    message.created_at.get_or_insert(now.plus_micros(place));
}

/// What a turn is prepared with.
#[derive(Clone, Copy)]
pub(crate) struct Preparation<'a> {
    pub(crate) redactor: Option<Redactor<'a>>,
    pub(crate) limits: &'a Limits,
    /// The time of messages that have none.
    pub(crate) now: Time,
    /// The bytes of the conversation's messages before the turn.
    pub(crate) stored: u64,
}

/// A turn that is ready to be stored but for the ids of its messages.
#[derive(Debug, Default)]
pub(crate) struct ReadyTurn {
    pub(crate) messages: Vec<ReadyMessage>,
    pub(crate) previews: PreviewTexts,
    /// What was taken out of it because it is secret.
    pub(crate) tally: RedactionTally,
    /// What was taken out of it because it is large.
    pub(crate) detached: Vec<Detached>,
}

/// A message that is ready to be stored but for its id.
#[derive(Debug)]
pub(crate) struct ReadyMessage {
    /// The earlier message of the turn that it follows; none when it follows what was there before.
    pub(crate) parent: Option<usize>,
    pub(crate) label: Option<String>,
    pub(crate) body: String,
    pub(crate) digest: Digest,
    /// The attachments that it refers to.
    pub(crate) referred: BTreeSet<Digest>,
    /// True when something was taken out of it because it is secret.
    pub(crate) is_redacted: bool,
}

impl Preparation<'_> {
    /// Prepares messages that follow the one with the digest `base`, or an
    /// earlier one of the turn by position.
    ///
    /// Nothing is read, so the only failure is a turn that is wrong in itself.
    pub(crate) fn turn<'m>(
        &self,
        messages: impl IntoIterator<Item = (Option<usize>, Cow<'m, Message>)>,
        base: Option<Digest>,
    ) -> Result<ReadyTurn> {
        let mut turn = ReadyTurn::default();
        for (parent, mut message) in messages {
            let place = turn.messages.len();
            if parent.is_some_and(|parent| parent >= place) {
                return Err(Error::invalid("a message can only follow an earlier one"));
            }
            check_blocks(message.blocks.len())?;
            message.label.as_deref().map_or(Ok(()), check_title)?;
            if message.created_at.is_none() {
                date(message.to_mut(), self.now, i64::try_from(place).unwrap_or(i64::MAX));
            }
            let encoded = Encoded::of(message, self.redactor.as_ref());
            let digest = encoded.digest(parent.map_or(base, |parent| Some(turn.messages[parent].digest)));
            turn.previews.note(&encoded.message);
            turn.tally.extend(&encoded.tally);
            turn.detached.extend(encoded.detached);
            turn.messages.push(ReadyMessage {
                parent,
                label: match encoded.message {
                    Cow::Owned(message) => message.label,
                    Cow::Borrowed(message) => message.label.clone(),
                },
                body: encoded.body,
                digest,
                referred: encoded.referred,
                is_redacted: !encoded.tally.is_empty(),
            });
        }
        if turn.messages.is_empty() {
            return Err(Error::invalid("append a turn without messages"));
        }
        self.check(&turn)?;
        Ok(turn)
    }

    fn check(&self, turn: &ReadyTurn) -> Result<()> {
        let bytes = turn.bytes();
        self.limits.check_turn(bytes)?;
        self.limits.check_conversation(self.stored + bytes)?;
        if turn.detached.is_empty() {
            return Ok(());
        }
        // What is attached twice is stored once.
        let attached: HashMap<Digest, u64> = turn.detached.iter().map(Detached::size).collect();
        self.limits.check_attachments(self.stored + bytes + attached.values().sum::<u64>())
    }
}

impl ReadyTurn {
    /// How many bytes its messages take.
    pub(crate) fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.body.len() as u64).sum()
    }
}

/// Messages of which each follows the one before.
pub(crate) fn in_line<T>(messages: impl IntoIterator<Item = T>) -> impl Iterator<Item = (Option<usize>, T)> {
    messages.into_iter().enumerate().map(|(place, message)| (place.checked_sub(1), message))
}
