//! What is asked of a store, and what it answers.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, Head, MessageId, Role, Status, Time, WordQuery};
use crate::store::body::Searchable;
use crate::store::{Change, Facets, Version};

/// Which messages of a conversation to read.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// From the root to this message, or to the head.
    Path(Option<MessageId>),
    /// All of them.
    All {
        /// Oldest or newest first.
        order: Order,
        /// How many to pass over.
        offset: u64,
        /// How many at most.
        limit: u64,
    },
    /// These.
    Ids(&'a [MessageId]),
}

/// In which order messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order of arrival.
    OldestFirst,
    /// Against it.
    NewestFirst,
}

/// A page of answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The answers.
    pub items: Vec<T>,
    /// Where the next page begins; none on the last.
    pub next: Option<Cursor>,
    /// How many there are on all pages, when it was asked for.
    pub total: Option<u64>,
    /// How many more there would be without [`ListQuery::except_kind`], when the total was asked for.
    pub excepted: Option<u64>,
    /// What could not be looked at, because it is damaged or does not open, in words.
    pub damaged: Vec<String>,
}

impl<T> Page<T> {
    /// The same page of something else.
    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        let Self { items, next, total, excepted, damaged } = self;
        Page { items: items.into_iter().map(change).collect(), next, total, excepted, damaged }
    }
}

/// Where a page ended: the order's key of its last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The last row's time.
    pub time: Time,
    /// The last row's conversation.
    pub conversation: ConversationId,
    /// The last hit's sequence; 0 in a list.
    pub seq: u32,
}

impl Cursor {
    /// What pages are ordered by, greatest first.
    pub(crate) const fn key(&self) -> (Time, ConversationId, u32) {
        (self.time, self.conversation, self.seq)
    }

    /// The cursor as text to hand out.
    pub fn to_text(&self) -> String {
        format!("{:x}.{}.{:x}", self.time.as_micros(), self.conversation, self.seq)
    }

    /// Reads what [`Cursor::to_text`] wrote.
    pub fn from_text(text: &str) -> Result<Self> {
        let refuse = || Error::invalid(format!("`{text}` is not a cursor; use the one from the page before"));
        let mut parts = text.split('.');
        let (Some(time), Some(conversation), Some(seq), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse());
        };
        Ok(Self {
            time: Time::from_micros(i64::from_str_radix(time, 16).map_err(|_| refuse())?),
            conversation: conversation.parse().map_err(|_| refuse())?,
            seq: u32::from_str_radix(seq, 16).map_err(|_| refuse())?,
        })
    }
}

/// Which conversations to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// Only this project.
    pub project: Option<&'a str>,
    /// Only this status.
    pub status: Option<Status>,
    /// Count an active conversation as paused when its last activity is at or before this time.
    pub idle_since: Option<Time>,
    /// Only this kind.
    pub kind: Option<&'a str>,
    /// Every kind but this one.
    pub except_kind: Option<&'a str>,
    /// Only these conversations.
    pub only: Option<&'a [ConversationId]>,
    /// Leave out conversations whose own expiry is at or before this time.
    pub unexpired_at: Option<Time>,
    /// Continue here.
    pub after: Option<Cursor>,
    /// How many rows at most.
    pub limit: usize,
    /// Whether to count all rows that match; it costs a scan.
    pub counts_total: bool,
}

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id.
    pub id: ConversationId,
    /// The header's version.
    pub version: Version,
    /// What it can be filtered by.
    pub facets: Facets,
    /// The header's bytes.
    pub header: String,
    /// The head and its link.
    pub head: Option<Head>,
    /// Named branches, in order of creation.
    pub branches: Vec<Branch>,
    /// When it was started.
    pub created: Time,
    /// When it last grew.
    pub active: Time,
    /// How many messages.
    pub messages: u64,
    /// How many bytes their bodies take.
    pub bytes: u64,
    /// The beginning of the first message.
    pub first: String,
    /// The beginning of the newest assistant message.
    pub last: String,
}

/// What a person typed to mean a conversation.
pub(crate) struct Sought<'t> {
    text: &'t str,
    digits: String,
}

impl<'t> Sought<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, digits: text.replace('-', "").to_lowercase() }
    }

    /// True when an id begins like it, in either case, with or without hyphens, or its short form does.
    pub(crate) fn begins(&self, id: ConversationId) -> bool {
        let bare = id.to_string().replace('-', "");
        (!self.digits.is_empty() && bare.starts_with(&self.digits))
            || id.short().as_str().starts_with(self.text)
    }
}

/// Something a person may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The conversation.
    pub conversation: ConversationId,
    /// The message in it, when a message was found.
    pub message: Option<MessageId>,
}

/// How hits are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    /// The newest message first.
    #[default]
    Newest,
    /// The best match first, where the store ranks; such a page has no next one.
    Best,
}

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    /// The words.
    pub words: &'a WordQuery,
    /// Only this conversation.
    pub conversation: Option<ConversationId>,
    /// Only this project.
    pub project: Option<&'a str>,
    /// Only messages of this role.
    pub role: Option<Role>,
    /// Only messages of this time or later.
    pub since: Option<Time>,
    /// The order.
    pub order: SearchOrder,
    /// Continue here.
    pub after: Option<Cursor>,
    /// How many hits at most.
    pub limit: usize,
}

impl SearchQuery<'_> {
    /// Returns whether a message has every word and the role. [`Self::page_of`] looks at times and the
    /// cursor.
    pub fn finds(&self, said: &Searchable) -> bool {
        self.role.is_none_or(|role| said.role == role) && self.words.matches(&said.text)
    }

    /// Returns the page of these hits: orders them, and leaves out those before the cursor or the earliest
    /// time.
    pub fn page_of(&self, mut hits: Vec<Hit>) -> Page<Hit> {
        hits.retain(|hit| self.since.is_none_or(|since| hit.time >= since));
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.cursor().key()));
        if let Some(after) = self.after {
            hits.retain(|hit| hit.cursor().key() < after.key());
        }
        let more = hits.len() > self.limit;
        hits.truncate(self.limit);
        let next = hits.last().filter(|_| more).map(Hit::cursor);
        Page { items: hits, next, total: None, excepted: None, damaged: Vec::new() }
    }
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its id.
    pub message: MessageId,
    /// Its sequence.
    pub seq: u32,
    /// Its time.
    pub time: Time,
    /// Its bytes.
    pub body: String,
}

impl Hit {
    /// Where the next page begins after this hit.
    pub(crate) const fn cursor(&self) -> Cursor {
        Cursor { time: self.time, conversation: self.conversation, seq: self.seq }
    }
}

/// A point in the order of changes.
pub(crate) type Stamp = u64;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The point to continue after.
    pub stamp: Stamp,
    /// When.
    pub at: Time,
    /// The conversation.
    pub conversation: ConversationId,
    /// What happened.
    pub what: What,
}

/// What can happen to a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum What {
    /// It was created or grew.
    Stored {
        /// Its message count afterwards.
        messages: u64,
    },
    /// Its header, head, branches or notes changed.
    Changed,
    /// What messages say was replaced.
    Rewritten,
    /// Messages were removed.
    Trimmed {
        /// Why.
        reason: String,
    },
    /// It was removed.
    Deleted {
        /// Why.
        reason: String,
    },
}

impl What {
    /// What a change is told as.
    pub(crate) const fn of(change: &Change<'_>) -> Self {
        match change {
            Change::Rewrite { .. } => Self::Rewritten,
            Change::Header { .. }
            | Change::Head(_)
            | Change::Note(..)
            | Change::Branch(_)
            | Change::Unbranch(_) => Self::Changed,
        }
    }
}
