//! What a summary no longer mentions, as it is stored with it: facts of one kind in one message stand
//! together, so that thousands take little room.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::MessageId;

/// Something a reader may want back: a path, a name, a number, an address, an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fact {
    /// What kind of thing it is.
    pub kind: FactKind,
    /// How it was written.
    pub text: String,
    /// The message it stood in first; none when that is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// What kind of thing a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactKind {
    /// An address on the web, or of a mailbox.
    Url,
    /// A file or directory, with a line if one was named.
    Path,
    /// A name of a program's making, such as `parse_line`, `HttpClient` or a commit.
    Identifier,
    /// A number with at least two digits or with a unit, a version, a date or a time.
    Number,
    /// Words in quotation marks or backticks.
    Quote,
    /// A sentence that says what to do or not to do: an instruction of the user, or what anyone decided.
    Instruction,
}

impl FactKind {
    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Path => "path",
            Self::Identifier => "identifier",
            Self::Number => "number",
            Self::Quote => "quote",
            Self::Instruction => "instruction",
        }
    }
}

/// Facts of one kind that stood in one message.
#[derive(Serialize, Deserialize)]
struct FactGroup {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageId>,
    kind: FactKind,
    texts: Vec<String>,
}

/// Writes facts, in their order.
pub(crate) fn serialize<S: Serializer>(facts: &[Fact], serializer: S) -> Result<S::Ok, S::Error> {
    let groups = facts.chunk_by(|one, next| (one.message, one.kind) == (next.message, next.kind));
    let groups = groups.map(|group| FactGroup {
        message: group[0].message,
        kind: group[0].kind,
        texts: group.iter().map(|fact| fact.text.clone()).collect(),
    });
    serializer.collect_seq(groups)
}

/// Reads facts, in their order.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Fact>, D::Error> {
    let groups: Vec<FactGroup> = Deserialize::deserialize(deserializer)?;
    let facts = groups.into_iter().flat_map(|FactGroup { message, kind, texts }| {
        texts.into_iter().map(move |text| Fact { kind, text, message })
    });
    Ok(facts.collect())
}
