//! Turns to append, written in few words: `DraftTurn::opening(conversation(1)).say("a", "", "hello")`.

use crate::error::Result;
use crate::model::{ConversationId, Digest, Message, MessageId, Time};
use crate::store::{
    Anchor, Appended, Entry, Facets, Note, Opening, PreviewUpdate, Put, Space, Stale, Store, Turn,
};

/// A conversation's id; the greater number is the greater id, and stands in its first digit. At most 13.
pub(super) fn conversation(number: u8) -> ConversationId {
    const FIRST_DIGIT: i64 = (1 << 44) * 1_000;
    ConversationId::new(Time::from_micros(i64::from(number) * FIRST_DIGIT), [number; 10])
}

/// A message's id.
pub(super) fn message(name: &str) -> MessageId {
    name.parse().expect("rules use names that are ids")
}

/// The link of a message of this name. To a store, links are 32 bytes without a meaning.
pub(super) fn link(name: &str) -> Digest {
    Digest::chain(None, name.as_bytes())
}

/// A time, so many seconds after some other.
pub(super) const fn at(seconds: i64) -> Time {
    Time::from_micros(1_800_000_000_000_000 + seconds * 1_000_000)
}

/// What is stored of a message that a person wrote at a time.
pub(super) fn body(text: &str, seconds: i64) -> String {
    Message::user(text).at(at(seconds)).to_body()
}

/// A blob that belongs to nothing.
pub(super) const fn state<'a>(name: &'a [u8], bytes: Option<&'a [u8]>) -> Put<'a> {
    Put { space: Space::State, owner: None, name, bytes }
}

/// A turn in the making.
#[derive(Clone)]
pub(super) struct DraftTurn<'a> {
    conversation: ConversationId,
    opening: Option<(Facets, String)>,
    stale: Stale,
    lines: Vec<DraftLine>,
    previews: PreviewUpdate<'a>,
    branch: Option<MessageId>,
    seconds: i64,
    blobs: Vec<Put<'a>>,
}

#[derive(Clone)]
struct DraftLine {
    id: MessageId,
    parent: Option<Anchor>,
    link: Digest,
    label: Option<String>,
    body: String,
}

impl<'a> DraftTurn<'a> {
    /// Grows a conversation that exists.
    pub(super) fn to(conversation: ConversationId) -> Self {
        let previews = PreviewUpdate { first: "", last: "" };
        Self {
            conversation,
            opening: None,
            stale: Stale::Branch,
            lines: Vec::new(),
            previews,
            branch: None,
            seconds: 0,
            blobs: Vec::new(),
        }
    }

    /// Creates a conversation.
    pub(super) fn opening(conversation: ConversationId) -> Self {
        Self { opening: Some((Facets::default(), "{}".to_owned())), ..Self::to(conversation) }
    }

    /// Creates it with these facets and this header.
    pub(super) fn about(mut self, facets: Facets, header: &str) -> Self {
        self.opening = Some((facets, header.to_owned()));
        self
    }

    /// Refuses a stale parent.
    pub(super) fn linear(mut self) -> Self {
        self.stale = Stale::Refuse;
        self
    }

    /// Sets when it happens.
    pub(super) fn active(mut self, seconds: i64) -> Self {
        self.seconds = seconds;
        self
    }

    pub(super) fn previews(mut self, first: &'a str, last: &'a str) -> Self {
        self.previews = PreviewUpdate { first, last };
        self
    }

    /// Goes on with a branch.
    pub(super) fn on_branch(mut self, branch: &str) -> Self {
        self.branch = Some(message(branch));
        self
    }

    pub(super) fn blob(mut self, blob: Put<'a>) -> Self {
        self.blobs.push(blob);
        self
    }

    /// Adds a message of a person under a parent; no name means none.
    pub(super) fn say(self, name: &str, parent: &str, text: &str) -> Self {
        let body = body(text, self.seconds);
        self.put(name, parent, &body)
    }

    /// Adds a message with exactly these bytes.
    pub(super) fn put(mut self, name: &str, parent: &str, body: &str) -> Self {
        let parent = (!parent.is_empty()).then(|| Anchor { id: message(parent), link: link(parent) });
        self.lines.push(DraftLine {
            id: message(name),
            parent,
            link: link(name),
            label: None,
            body: body.to_owned(),
        });
        self
    }

    /// Gives the last message another link.
    pub(super) fn linked(mut self, other: &str) -> Self {
        self.last().link = link(other);
        self
    }

    /// Makes the last message name another link of its parent.
    pub(super) fn against(mut self, other: &str) -> Self {
        if let Some(parent) = &mut self.last().parent {
            parent.link = link(other);
        }
        self
    }

    /// Labels and pins the last message.
    pub(super) fn pinned(mut self, label: &str) -> Self {
        self.last().label = Some(label.to_owned());
        self
    }

    fn last(&mut self) -> &mut DraftLine {
        self.lines.last_mut().expect("a message was added before")
    }

    pub(super) fn append(&self, store: &dyn Store) -> Result<Appended> {
        store.append(&self.turn(&self.entries()))
    }

    /// Appends several of them at once.
    pub(super) fn append_all(drafts: &[Self], store: &dyn Store) -> Result<Vec<Appended>> {
        let entries: Vec<Vec<Entry<'_>>> = drafts.iter().map(Self::entries).collect();
        let turns: Vec<Turn<'_>> =
            drafts.iter().zip(&entries).map(|(draft, entries)| draft.turn(entries)).collect();
        store.append_all(&turns)
    }

    fn entries(&self) -> Vec<Entry<'_>> {
        let lines = self.lines.iter();
        let entries = lines.map(|line| Entry {
            id: line.id,
            parent: line.parent,
            link: line.link,
            note: Note { label: line.label.as_deref(), is_pinned: line.label.is_some() },
            body: &line.body,
        });
        entries.collect()
    }

    fn turn<'t>(&'t self, entries: &'t [Entry<'t>]) -> Turn<'t> {
        let opening = self.opening.as_ref().map(|(facets, header)| Opening {
            facets,
            header,
            created: at(self.seconds),
        });
        Turn {
            conversation: self.conversation,
            opening,
            stale: self.stale,
            entries,
            previews: self.previews,
            branch: self.branch,
            active: at(self.seconds),
            now: at(self.seconds),
            blobs: &self.blobs,
        }
    }
}
