//! What a person typed, told apart: a conversation or a message.

use crate::archive::{Archive, ArchiveNames};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Found;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A conversation.
    Conversation(ConversationId),
    /// A message of a conversation.
    Message(ConversationId, MessageId),
}

impl Named {
    /// The conversation, whichever was named.
    pub const fn conversation(self) -> ConversationId {
        match self {
            Self::Conversation(id) | Self::Message(id, _) => id,
        }
    }

    /// The message, if one was named.
    pub const fn message(self) -> Option<MessageId> {
        match self {
            Self::Conversation(_) => None,
            Self::Message(_, message) => Some(message),
        }
    }
}

/// How many candidates an error lists.
const SHOWN: usize = 5;

/// Of how many with the same name it is looked up where they began.
const COMPARED: usize = 100;

impl ArchiveNames<'_> {
    /// The conversations and messages that a text may stand for, at most so
    /// many. [`Self::resolve`] decides for one.
    pub fn find(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        self.archive.store().find(text, limit)
    }

    /// Finds what a name stands for: an id, a short id, a unique beginning of one, a slug,
    /// `conversation/message`, or a message id alone. Where several have the whole name, the one that began
    /// here is meant, if it is the only one.
    ///
    /// Nothing found is [`ErrorKind::NotFound`](crate::ErrorKind::NotFound), several are
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the candidates in the message.
    pub fn resolve(&self, text: &str) -> Result<Named> {
        let text = text.trim();
        if let Some((conversation, message)) = text.split_once('/') {
            let conversation = self.conversation(conversation).map_err(|error| match error.kind() {
                ErrorKind::NotFound => {
                    Error::not_found(format!("no conversation or message `{}`", shown(text)))
                }
                _ => error,
            })?;
            return self.archive.resolve_message_in(conversation, message);
        }
        let found = self.archive.candidates(text)?;
        // A whole id, short id or slug wins over the beginnings of longer ones.
        let exact: Vec<&Found> = found.iter().filter(|found| is_exact(found, text)).collect();
        let of = |found: &Found| match found.message {
            Some(message) => Named::Message(found.conversation, message),
            None => Named::Conversation(found.conversation),
        };
        let exact = self.archive.preferred(exact)?;
        match (exact.as_slice(), found.as_slice()) {
            ([one], all) if self.archive.hides_own(one, all)? => Err(ambiguous(text, all.iter())),
            ([one], _) => Ok(of(one)),
            ([], [one]) => Ok(of(one)),
            ([], []) => Err(Error::not_found(format!("no conversation or message `{}`", shown(text)))),
            ([], several) => Err(ambiguous(text, several.iter())),
            (several, _) => Err(ambiguous(text, several.iter().copied())),
        }
    }

    /// Finds a conversation by name; a message's name is not one.
    pub fn conversation(&self, text: &str) -> Result<ConversationId> {
        match self.resolve(text)? {
            Named::Conversation(id) => Ok(id),
            Named::Message(_, message) => {
                Err(Error::invalid(format!("`{message}` is a message; a conversation is needed here")))
            }
        }
    }

    /// Finds a message by name: its id or a unique beginning, alone or after `conversation/`.
    pub fn message(&self, text: &str) -> Result<(ConversationId, MessageId)> {
        match self.resolve(text)? {
            Named::Message(conversation, message) => Ok((conversation, message)),
            Named::Conversation(id) => {
                Err(Error::invalid(format!("`{}` is a conversation; a message is needed here", id.short())))
            }
        }
    }
}

impl Archive {
    /// True when the name of an imported conversation is the beginning of an id that began here.
    fn hides_own(&self, one: &Found, all: &[Found]) -> Result<bool> {
        if !(2..=COMPARED).contains(&all.len()) || !self.conversation(one.conversation)?.is_imported() {
            return Ok(false);
        }
        for other in all.iter().filter(|other| other.conversation != one.conversation) {
            if !self.conversation(other.conversation)?.is_imported() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Of several with the same name, the one that began here, if it is only
    /// one: what is imported may bear any name.
    fn preferred<'f>(&self, found: Vec<&'f Found>) -> Result<Vec<&'f Found>> {
        if !(2..=COMPARED).contains(&found.len()) {
            return Ok(found);
        }
        let mut own = Vec::new();
        for one in &found {
            if !self.conversation(one.conversation)?.is_imported() {
                own.push(*one);
            }
        }
        Ok(if own.len() == 1 { own } else { found })
    }

    fn resolve_message_in(&self, conversation: ConversationId, text: &str) -> Result<Named> {
        let id: MessageId = text.parse()?;
        let found = self.candidates(text)?;
        let own: Vec<MessageId> = found
            .iter()
            .filter(|found| found.conversation == conversation)
            .filter_map(|found| found.message)
            .collect();
        match own.as_slice() {
            [one] => Ok(Named::Message(conversation, *one)),
            several if several.contains(&id) => Ok(Named::Message(conversation, id)),
            [] => {
                Err(Error::not_found(format!("no message `{id}` in conversation `{}`", conversation.short())))
            }
            _ => Err(Error::invalid(format!("several messages begin with `{id}`; type more of it"))),
        }
    }

    fn candidates(&self, text: &str) -> Result<Vec<Found>> {
        if text.is_empty() {
            return Err(Error::invalid("an id must not be empty"));
        }
        if text.len() > 200 || text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            return Err(Error::invalid(format!("`{}` cannot be the name of anything", shown(text))));
        }
        if let Ok(id) = text.parse::<ConversationId>() {
            return match self.conversation(id) {
                Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
                // One of which nothing can be read is found all the same. Whoever opens it is told.
                Ok(_) | Err(_) => Ok(vec![Found { conversation: id, message: None }]),
            };
        }
        self.store().find(text, 1_000)
    }
}

fn is_exact(found: &Found, text: &str) -> bool {
    let Some(message) = found.message else {
        let short = found.conversation.short();
        // What begins neither like this was found by its slug, which is always whole.
        let is_slug = !short.as_str().starts_with(text)
            && !found
                .conversation
                .to_string()
                .replace('-', "")
                .starts_with(&text.replace('-', "").to_lowercase());
        return short.as_str() == text || is_slug;
    };
    message.as_str() == text
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(60).collect()
}

fn ambiguous<'f>(text: &str, found: impl Iterator<Item = &'f Found> + Clone) -> Error {
    let count = found.clone().count();
    // Where two share a short id, only their whole ids tell them apart.
    let id = |own: ConversationId| {
        let is_other = |other: &Found| other.conversation != own && other.conversation.short() == own.short();
        if found.clone().any(is_other) { own.to_string() } else { own.short().to_string() }
    };
    let names: Vec<String> = (found.clone().take(SHOWN))
        .map(|found| match found.message {
            Some(message) => format!("{}/{message}", id(found.conversation)),
            None => id(found.conversation),
        })
        .collect();
    let more = if count > SHOWN { ", ..." } else { "" };
    Error::invalid(format!("`{}` could be any of {count}: {}{more}", shown(text), names.join(", ")))
}
