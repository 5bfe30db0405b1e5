//! The view: what a model is sent. It is computed from history, and history is never edited.
//!
//! A view begins at the newest compaction of its path, or at the root. Then it is made valid for whoever
//! receives it, and every repair is told. The same history gives the same view, byte for byte, and a longer
//! history gives a longer view with the same beginning, so that a provider's prompt cache works.

mod carried;
mod compacted;
mod edit;
mod ending;
mod fact;
mod fit;
mod media;
mod output;
mod pairs;
mod recipient;
mod repair;
mod server_tools;

use std::borrow::Cow;

use crate::model::{Message, MessageId, Role, StoredMessage};
use crate::ops::view::fit::Fitting;
use crate::ops::view::pairs::Pairing;

pub(crate) use compacted::KeptPlace;
pub use compacted::{Compaction, KeptMessage};
pub use fact::{Fact, FactKind};
pub use recipient::{CallIdRule, ItemRule, MediaRule, Recipient, ThinkingRule};
pub use repair::Repair;

/// What is said in place of a user, where one has to speak first.
const OPENING: &str = "[The conversation begins with the assistant.]";

/// A message on a path, as a view needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathMessage<'a> {
    /// Its id; none while it is not stored.
    pub id: Option<MessageId>,
    /// True when it survives every compaction.
    pub is_pinned: bool,
    /// What was said.
    pub message: &'a Message,
}

impl<'a> PathMessage<'a> {
    /// The messages of a stored path.
    pub fn all(path: &'a [StoredMessage]) -> Vec<Self> {
        path.iter().map(Self::from).collect()
    }
}

impl<'a> From<&'a StoredMessage> for PathMessage<'a> {
    fn from(stored: &'a StoredMessage) -> Self {
        Self { id: Some(stored.id), is_pinned: stored.is_pinned, message: &stored.message }
    }
}

/// What a model is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View<'a> {
    /// The messages, oldest first.
    pub messages: Vec<Viewed<'a>>,
    /// What was changed to make them valid, in order.
    pub repairs: Vec<Repair>,
}

/// A message of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewed<'a> {
    /// The stored message it shows; none when it only exists in the view.
    pub id: Option<MessageId>,
    /// What is sent: the message itself, or what a repair made of it.
    pub message: Cow<'a, Message>,
}

impl<'a> From<&'a Message> for Viewed<'a> {
    fn from(message: &'a Message) -> Self {
        Self { id: None, message: Cow::Borrowed(message) }
    }
}

impl<'a> View<'a> {
    /// Computes the view of a path, root first. Summaries named in `ignored` are passed over.
    pub fn of(path: &[PathMessage<'a>], ignored: &[MessageId], recipient: &Recipient) -> Self {
        let mut repairs = Vec::new();
        let mut fitting = Fitting::new(recipient);
        let newest = compacted::newest(path, ignored);
        let mut pairing = Pairing::new(recipient, path.len() - newest.unwrap_or_default());
        // One message after the other, so that each is looked at while it is near.
        let mut add = |viewed, repairs: &mut Vec<Repair>| {
            if let Some(fitted) = fitting.fit(viewed, repairs) {
                pairing.push(fitted, repairs);
            }
        };
        match newest {
            None => compacted::all(path, ignored).for_each(|viewed| add(viewed, &mut repairs)),
            Some(place) => {
                let (mut shown, carried) = compacted::shown(path, ignored, place);
                carried::stand_alone(&mut shown[..=carried], &mut repairs);
                shown.into_iter().for_each(|viewed| add(viewed, &mut repairs));
            }
        }
        let mut messages = pairing.finish(&mut repairs);
        if fitting.has_items && recipient.items == ItemRule::ServerTools {
            server_tools::settle(&mut messages, &mut repairs);
        }
        if fitting.has_items || fitting.has_thinking {
            messages.iter_mut().for_each(|viewed| {
                ending::drop_last_thinking(viewed, recipient, &mut repairs);
            });
            messages.retain(|viewed| !viewed.message.blocks.is_empty());
        }
        let first = messages.iter().position(|viewed| viewed.message.role != Role::System);
        if let Some(first) = first
            && recipient.begins_with_user
            && messages[first].message.role != Role::User
        {
            repairs.push(Repair::Began);
            messages.insert(first, Viewed { id: None, message: Cow::Owned(Message::user(OPENING)) });
        }
        View { messages, repairs }
    }
}

#[cfg(test)]
mod tests;
