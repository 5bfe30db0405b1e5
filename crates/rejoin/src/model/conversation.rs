//! A conversation: what is known about a tree of messages, apart from the messages.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::preview::INTERRUPTED_MARK;
use crate::model::{ConversationId, Digest, Fields, MessageId, Redacted, Time, begins_injected, fast_parse};

/// Titles and labels stand in lists; longer ones are text.
pub(crate) const TITLE_BYTES: usize = 1_000;

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Being talked in.
    #[default]
    Active,
    /// Left, to be resumed.
    Paused,
    /// Done.
    Completed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Completed];

    /// The status's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
        }
    }
}

impl std::str::FromStr for Status {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            Error::invalid(format!("`{text}` is not a status; expected active, paused or completed"))
        })
    }
}

/// Why a conversation may not be removed by age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Nothing holds it.
    #[default]
    None,
    /// It was imported and not yet released.
    Import,
    /// Its owner keeps it.
    User,
}

impl Hold {
    /// Every hold.
    pub const ALL: [Self; 3] = [Self::None, Self::Import, Self::User];

    /// The hold's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Import => "import",
            Self::User => "user",
        }
    }
}

/// What a conversation was talked with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The command it was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The hash of the command's prompt, tagged with its algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_hash: Option<String>,
    /// The tools that were offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// Where a conversation stopped, in a few words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Synopsis {
    /// What happened.
    pub text: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What is left to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_items: Vec<String>,
    /// When this was written.
    pub updated_at: Time,
}

/// Someone or something that takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    /// Who.
    pub id: String,
    /// As what: user, assistant or system.
    pub role: String,
    /// The name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What was measured while talking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Messages by a person.
    pub user_messages: u64,
    /// Messages by a model.
    pub assistant_messages: u64,
    /// How long it lasted.
    pub duration_ms: u64,
    /// How long a reply took on average.
    pub average_latency_ms: u64,
}

/// The one class there is: what is kept is always `Confidential`.
const CLASSIFICATION: &str = "Confidential";

/// How private a conversation is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "KeptPrivacy", into = "KeptPrivacy")]
pub struct Privacy {
    /// False when it must not leave the store.
    pub exportable: bool,
    /// How consent was given.
    pub consent: Option<String>,
    /// What an older store or another program called its class, where that is not
    /// `Confidential`. It means nothing here.
    pub given_classification: Option<String>,
}

impl Default for Privacy {
    fn default() -> Self {
        Self { exportable: true, consent: None, given_classification: None }
    }
}

/// The same as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct KeptPrivacy {
    classification: String,
    exportable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_classification: Option<String>,
}

impl Default for KeptPrivacy {
    fn default() -> Self {
        Privacy::default().into()
    }
}

impl From<Privacy> for KeptPrivacy {
    fn from(Privacy { exportable, consent, given_classification }: Privacy) -> Self {
        Self { classification: CLASSIFICATION.to_owned(), exportable, consent, given_classification }
    }
}

impl From<KeptPrivacy> for Privacy {
    fn from(kept: KeptPrivacy) -> Self {
        let KeptPrivacy { classification, exportable, consent, given_classification } = kept;
        let other = Some(classification).filter(|class| class != CLASSIFICATION);
        Self { exportable, consent, given_classification: given_classification.or(other) }
    }
}

/// Where an imported conversation came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The format that its program writes.
    pub format: String,
    /// The format of the file it was read from, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Its id there.
    pub source_id: String,
    /// The file it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_path: Option<String>,
    /// When it was read.
    pub imported_at: Time,
}

/// What is known about a conversation and can be changed: its header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conversation {
    /// The project it belongs to, by the project's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `chat`, or the name of the command it was started with.
    #[serde(skip_serializing_if = "is_chat")]
    pub kind: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands.
    #[serde(skip_serializing_if = "is_default")]
    pub status: Status,
    /// What holds it.
    #[serde(skip_serializing_if = "is_default")]
    pub hold: Hold,
    /// True when it goes by the retention of its project; else it stays until
    /// it is deleted or its own expiry comes.
    #[serde(skip_serializing_if = "is_default")]
    pub follows_retention: bool,
    /// When it expires, if not by the general policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// What it is talked with.
    #[serde(skip_serializing_if = "is_default")]
    pub settings: Settings,
    /// Where it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synopsis: Option<Synopsis>,
    /// Who takes part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<Participant>,
    /// What was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// How private it is.
    #[serde(skip_serializing_if = "is_default")]
    pub privacy: Privacy,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The commit of the project's repository when it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Summaries that the view passes over, so that it shows again what they stood for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_summaries: Vec<MessageId>,
    /// The caller's own fields.
    #[serde(skip_serializing_if = "Fields::is_empty")]
    pub extra: Fields,
}

/// The kind of a conversation that no command started.
const CHAT: &str = "chat";

fn is_chat(kind: &str) -> bool {
    kind == CHAT
}

/// A header is parsed for every row of a list, so it holds only what differs from the default.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            project: None,
            kind: CHAT.to_owned(),
            title: None,
            status: Status::default(),
            hold: Hold::default(),
            follows_retention: false,
            expires_at: None,
            settings: Settings::default(),
            synopsis: None,
            participants: Vec::new(),
            metrics: None,
            privacy: Privacy::default(),
            origin: None,
            git_commit: None,
            ignored_summaries: Vec::new(),
            extra: Fields::new(),
        }
    }
}

impl Conversation {
    /// A conversation without a title.
    pub fn new() -> Self {
        Self::default()
    }

    /// A conversation with a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::default() }
    }

    /// The JSON text that is stored.
    pub fn to_header(&self) -> String {
        serde_json::to_string(self).expect("a header is plain data")
    }

    /// Reads what [`Conversation::to_header`] wrote, in this version or another.
    pub fn from_header(header: &str) -> Result<Self> {
        if let Some(conversation) = fast_parse::read_header(header) {
            return Ok(conversation);
        }
        serde_json::from_str(header).map_err(|cause| Error::corrupt("read a stored header").because(cause))
    }

    /// Puts it into a project.
    #[must_use]
    pub fn in_project(mut self, key: impl Into<String>) -> Self {
        self.project = Some(key.into());
        self
    }
}

/// A named path from the root to its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its id, of the form of a message id, unique in the conversation.
    pub id: MessageId,
    /// Its title.
    pub title: String,
    /// The message the next one on this branch will follow.
    pub head: MessageId,
}

/// The message the next one will follow, and what it vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its id.
    pub id: MessageId,
    /// Its digest.
    pub digest: Digest,
}

/// A conversation as the archive gives it back: its header and what the store knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredConversation {
    /// Its id.
    pub id: ConversationId,
    /// Counts the changes of the header.
    pub version: u64,
    /// The header.
    pub conversation: Conversation,
    /// The message the next one will follow; none while it is empty.
    pub head: Option<Head>,
    /// Named branches, in order of creation.
    pub branches: Vec<Branch>,
    /// When it was started.
    pub created_at: Time,
    /// When it last grew.
    pub last_active_at: Time,
    /// How many messages it holds.
    pub messages: u64,
    /// How many bytes its messages take.
    pub bytes: u64,
    /// The beginning of the first message.
    pub first: String,
    /// The beginning of the newest assistant message; empty while there is none.
    pub last: String,
}

impl StoredConversation {
    /// True when an import made it, and false when it began here.
    pub const fn is_imported(&self) -> bool {
        self.conversation.origin.is_some()
    }

    /// True when the newest reply with text was interrupted, as far as its preview tells.
    pub fn is_interrupted(&self) -> bool {
        self.last.ends_with(INTERRUPTED_MARK)
    }

    /// The title, or what stands for it: the beginning of the first message. What a program added to a
    /// message is neither.
    pub fn title(&self) -> &str {
        match self.conversation.title.as_deref() {
            Some(title) if !title.trim().is_empty() && !begins_injected(title) => title,
            _ if self.first.is_empty() || begins_injected(&self.first) => "untitled",
            _ => &self.first,
        }
    }
}

/// What an append returns once the bytes are safe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The conversation that grew.
    pub conversation: ConversationId,
    /// The ids of the messages, in the order they were given.
    pub messages: Vec<MessageId>,
    /// The head after the append.
    pub head: MessageId,
    /// The sequence of the last message.
    pub seq: u32,
    /// The digest of the last message.
    pub digest: Digest,
    /// True when the parent already had a child, so that a branch began.
    pub forked: bool,
    /// True when these messages were already there and nothing was written.
    pub replayed: bool,
    /// What was taken out of them before they were stored, by rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redacted>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        let mut header = Conversation::titled("Lisbon").in_project("/home/me/trip");
        header.settings.model = Some("m".into());

        let text = serde_json::to_string(&header).unwrap();

        assert_eq!(serde_json::from_str::<Conversation>(&text).unwrap(), header);
    }
}
