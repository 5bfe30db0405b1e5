//! What a `session-meta` line says: how a conversation began, and how it changed since.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Result;
use crate::model::{Branch, Hold, MessageId, Status, Time};
use crate::store::backend::Amendment;
use crate::store::jsonl::line::octets::Octets;
use crate::store::jsonl::line::{owned_text, text};
use crate::store::{Facets, Stamp, Version};

/// The version of the format, so that a newer one is not misread.
pub(in crate::store::jsonl) const FORMAT: u32 = 1;

/// The message of a `session-meta` line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(in crate::store::jsonl) enum Meta {
    /// The first line of a file.
    SessionStart(Box<ConversationStart>),
    Header {
        version: Version,
        facets: Traits,
        header: Box<RawValue>,
    },
    Head {
        version: Version,
        head: Option<MessageId>,
    },
    Note {
        version: Version,
        id: MessageId,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        pinned: bool,
    },
    Branch {
        version: Version,
        branch: Branch,
    },
    Unbranch {
        version: Version,
        id: MessageId,
    },
    /// So many bytes of a turn that was never acknowledged stood here and were cut off. They are
    /// kept here, unless they are all zero.
    Repaired {
        bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        kept: Option<Octets>,
    },
    /// Messages were removed, which wrote the file anew.
    Trimmed {
        reason: String,
    },
    /// What messages say was replaced, which wrote the file anew.
    Rewritten {
        version: Version,
    },
    /// A newer Rejoin knows what this is.
    Unknown,
}

/// The types that are understood.
const KNOWN: [&str; 9] =
    ["session-start", "header", "head", "note", "branch", "unbranch", "repaired", "trimmed", "rewritten"];

/// Which of them it is.
#[derive(Deserialize)]
struct Tag {
    r#type: String,
}

/// Every field that any of them has. A tagged type cannot be read around a header that is kept to the letter.
#[derive(Deserialize)]
struct MetaFields {
    r#type: String,
    #[serde(default)]
    version: Version,
    #[serde(default)]
    facets: Traits,
    header: Option<Box<RawValue>>,
    head: Option<MessageId>,
    id: Option<MessageId>,
    label: Option<String>,
    #[serde(default)]
    pinned: bool,
    branch: Option<Branch>,
    #[serde(default)]
    bytes: u64,
    kept: Option<Octets>,
    #[serde(default)]
    reason: String,
}

/// How a conversation began, and, in a file that was written anew, where it stood then.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store::jsonl) struct ConversationStart {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) project_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) git_commit: Option<String>,
    pub(in crate::store::jsonl) format: u32,
    pub(in crate::store::jsonl) created: Time,
    pub(in crate::store::jsonl) facets: Traits,
    pub(in crate::store::jsonl) header: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) standing: Option<RewriteState>,
}

/// Where a conversation stood when its file was written anew.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::store::jsonl) struct RewriteState {
    pub(in crate::store::jsonl) version: Version,
    pub(in crate::store::jsonl) active: Time,
    pub(in crate::store::jsonl) next: u32,
    /// How many messages were written, and the change that the last line has. Older versions did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) messages: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store::jsonl) change: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::store::jsonl) branches: Vec<Branch>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::store::jsonl) first: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::store::jsonl) last: String,
}

/// The facets as they are written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::store::jsonl) struct Traits {
    #[serde(skip_serializing_if = "String::is_empty")]
    project: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    slug: String,
    status: Status,
    hold: Hold,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Time>,
}

impl Traits {
    pub(in crate::store::jsonl) fn of(facets: &Facets) -> Self {
        Self {
            project: facets.project.clone(),
            kind: facets.kind.clone(),
            slug: facets.slug.clone(),
            status: facets.status,
            hold: facets.hold,
            expires: facets.expires,
        }
    }

    pub(in crate::store::jsonl) fn into_facets(self) -> Facets {
        let Self { project, kind, slug, status, hold, expires } = self;
        Facets { project, kind, slug, status, hold, expires }
    }
}

impl ConversationStart {
    pub(in crate::store::jsonl) fn new(facets: &Facets, header: &str, created: Time) -> Self {
        /// What the first document wants to stand in the line by itself.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Shown {
            settings: ShownSettings,
            git_commit: Option<String>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct ShownSettings {
            provider: Option<String>,
        }
        let shown: Shown = serde_json::from_str(header).unwrap_or_default();
        Self {
            project_path: Some(facets.project.clone()).filter(|project| !project.is_empty()),
            provider: shown.settings.provider,
            git_commit: shown.git_commit,
            format: FORMAT,
            created,
            facets: Traits::of(facets),
            header: embed(header),
            standing: None,
        }
    }
}

impl Meta {
    /// What a change says once it made this version.
    pub(in crate::store::jsonl) fn of(change: &Amendment<'_>, version: Version) -> Result<Self> {
        Ok(match change {
            Amendment::Header(facets, header) => {
                Self::Header { version, facets: Traits::of(facets), header: embed(text(header)?) }
            }
            Amendment::Head(head) => Self::Head { version, head: head.map(|(head, _)| head) },
            Amendment::Note(id, _, label, pinned) => {
                let label = label.map(owned_text).transpose()?;
                Self::Note { version, id: *id, label, pinned: *pinned }
            }
            Amendment::Branch(branch, _) => Self::Branch { version, branch: (*branch).clone() },
            Amendment::Unbranch(id) => Self::Unbranch { version, id: *id },
            Amendment::Rewrite(..) => Self::Rewritten { version },
        })
    }

    /// What is said about bytes that are cut off.
    pub(in crate::store::jsonl) fn repaired(cut_off: &[u8]) -> Self {
        let kept = cut_off.iter().any(|byte| *byte != 0).then(|| Octets::of(cut_off));
        Self::Repaired { bytes: cut_off.len() as u64, kept }
    }

    /// True when a file that is written anew says it in its first line.
    pub(in crate::store::jsonl) const fn is_folded(&self) -> bool {
        match self {
            Self::Header { .. }
            | Self::Note { .. }
            | Self::Branch { .. }
            | Self::Unbranch { .. }
            | Self::Repaired { .. } => true,
            Self::SessionStart(_)
            | Self::Head { .. }
            | Self::Trimmed { .. }
            | Self::Rewritten { .. }
            | Self::Unknown => false,
        }
    }

    pub(in crate::store::jsonl) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("it is plain data")
    }

    /// None when it is damaged.
    pub(in crate::store::jsonl) fn from_json(json: &str) -> Option<Self> {
        // What a newer Rejoin says may have these fields with other values.
        let tag: Tag = serde_json::from_str(json).ok()?;
        if !KNOWN.contains(&tag.r#type.as_str()) {
            return Some(Self::Unknown);
        }
        let said: MetaFields = serde_json::from_str(json).ok()?;
        let version = said.version;
        Some(match said.r#type.as_str() {
            "session-start" => Self::SessionStart(serde_json::from_str(json).ok()?),
            "header" => Self::Header { version, facets: said.facets, header: said.header? },
            "head" => Self::Head { version, head: said.head },
            "note" => Self::Note { version, id: said.id?, label: said.label, pinned: said.pinned },
            "branch" => Self::Branch { version, branch: said.branch? },
            "unbranch" => Self::Unbranch { version, id: said.id? },
            "repaired" => Self::Repaired { bytes: said.bytes, kept: said.kept },
            "trimmed" => Self::Trimmed { reason: said.reason },
            "rewritten" => Self::Rewritten { version },
            _ => Self::Unknown,
        })
    }
}

/// A header within a line: as it is, or as a string when it is no JSON object on one line.
fn embed(header: &str) -> Box<RawValue> {
    let stands = header.starts_with('{') && header.ends_with('}') && !header.contains(['\n', '\r']);
    let own = stands.then(|| RawValue::from_string(header.to_owned()).ok()).flatten();
    own.unwrap_or_else(|| serde_json::value::to_raw_value(header).expect("a text is plain data"))
}

/// The header that [`embed`] wrote.
pub(in crate::store::jsonl) fn header_of(embedded: &RawValue) -> String {
    serde_json::from_str::<String>(embedded.get()).unwrap_or_else(|_| embedded.get().to_owned())
}
