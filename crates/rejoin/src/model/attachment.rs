//! What is kept beside a message because it is too large to stand in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{Digest, Fields, Media, MediaKind};

/// The beginning of the address of an attachment; its digest follows.
const SCHEME: &str = "attachment:";

/// An attachment of a conversation: its digest is its name, so the same bytes are kept once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// How many bytes it has.
    pub byte_length: u64,
}

/// What an attachment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AttachmentKind {
    /// A sound.
    Audio,
    /// A piece of a program.
    Code,
    /// Any other file.
    Document,
    /// A picture.
    Image,
    /// What was said in a sound.
    Transcript,
    /// A film.
    Video,
}

impl AttachmentKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Audio, Self::Code, Self::Document, Self::Image, Self::Transcript, Self::Video];

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Code => "code",
            Self::Document => "document",
            Self::Image => "image",
            Self::Transcript => "transcript",
            Self::Video => "video",
        }
    }

    /// The kind of block that shows it.
    const fn media(self) -> MediaKind {
        match self {
            Self::Audio => MediaKind::Audio,
            Self::Image => MediaKind::Image,
            Self::Video => MediaKind::Video,
            Self::Code | Self::Document | Self::Transcript => MediaKind::File,
        }
    }
}

impl From<MediaKind> for AttachmentKind {
    fn from(kind: MediaKind) -> Self {
        match kind {
            MediaKind::Image => Self::Image,
            MediaKind::Audio => Self::Audio,
            MediaKind::Video => Self::Video,
            MediaKind::File => Self::Document,
        }
    }
}

impl fmt::Display for AttachmentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AttachmentKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            let all = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("`{shown}` is not a kind of attachment; expected one of {all}"))
        })
    }
}

impl Attachment {
    /// Its id within its conversation: `sha256:` and 64 digits.
    pub fn id(&self) -> String {
        self.digest.to_string()
    }

    /// Its address within its conversation.
    pub fn uri(&self) -> String {
        uri_of(self.digest)
    }

    /// A block that refers to it. A message with this block keeps the attachment;
    /// reading the message gives its bytes.
    pub fn to_media(&self, mime_type: impl Into<String>) -> Media {
        Media {
            kind: self.kind.media(),
            mime_type: mime_type.into(),
            data: None,
            uri: Some(self.uri()),
            extra: Fields::new(),
        }
    }
}

impl Media {
    /// The digest of the attachment that this block refers to, if it refers to one.
    pub fn attachment(&self) -> Option<Digest> {
        let uri = self.uri.as_deref().filter(|_| self.data.is_none())?;
        digest_in(uri)
    }
}

/// The address of an attachment.
pub(crate) fn uri_of(digest: Digest) -> String {
    format!("{SCHEME}{digest}")
}

/// The digest in the address of an attachment.
pub(crate) fn digest_in(uri: &str) -> Option<Digest> {
    let digest: Digest = uri.strip_prefix(SCHEME)?.parse().ok()?;
    // There is one way to write it.
    (uri_of(digest) == uri).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let digest = Digest::from_bytes([0xab; 32]);
        let uri = uri_of(digest);
        let others = [uri.to_uppercase(), uri.replace("ab", "AB"), uri[1..].to_owned(), format!("{uri}0")];

        assert_eq!(digest_in(&uri), Some(digest));
        assert_eq!(others.map(|other| digest_in(&other)), [None; 4]);
    }

    #[test]
    fn a_kind_reads_back_by_its_name() {
        let read = AttachmentKind::ALL.map(|kind| kind.as_str().parse::<AttachmentKind>().ok());

        assert_eq!(read, AttachmentKind::ALL.map(Some));
    }
}
