//! Blocks that refer to an attachment: their bytes are taken out before they are
//! stored, and put back when they are read.
//!
//! ```text
//! {"type":"image","mime_type":"image/png","data":"…"}
//! {"type":"image","mime_type":"image/png","uri":"attachment:sha256:…","attachment":{"byte_length":4711}}
//! ```

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::model::{AttachmentKind, Block, Digest, FileSnapshot, Json, Media, Message, SOURCE, uri_of};
use crate::ops::attachment::ReferenceOrigin;
use crate::ops::attachment::chunks::digest_of;

/// Data of more characters is kept as an attachment. Below that, a chunk and its card would cost more than
/// they save; and the value is part of the format, because digests are of what is stored.
const INLINE: usize = 256 << 10;

/// The field of a block that says what was taken out of it.
const FIELD: &str = "attachment";

/// What was taken out of a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Detached {
    pub(crate) kind: AttachmentKind,
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

impl Detached {
    pub(crate) fn new(kind: AttachmentKind, bytes: Vec<u8>) -> Self {
        Self { kind, digest: digest_of(&bytes), bytes }
    }

    /// Its name, and how many bytes it has.
    pub(crate) const fn size(&self) -> (Digest, u64) {
        (self.digest, self.bytes.len() as u64)
    }
}

/// What the block says about it.
#[derive(Serialize, Deserialize)]
struct ReferenceFields {
    byte_length: u64,
    /// How the bytes were written; base64 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<TextEncoding>,
    /// The address that the block had of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TextEncoding {
    /// The bytes are the characters of the data, which are no base64.
    Text,
}

/// True when a message has data that is kept as an attachment, or refers to one.
pub(crate) fn has_attachments(message: &Message) -> bool {
    message.blocks.iter().any(|block| match block {
        Block::Media(media) => is_large(media) || media.attachment().is_some(),
        block => FileSnapshot::of(block).is_some(),
    })
}

fn is_large(media: &Media) -> bool {
    media.data.as_ref().is_some_and(|data| data.len() > INLINE)
}

/// Removes what the writer of a message that is about to be stored says was
/// taken out before: only the archive knows.
pub(crate) fn disown(message: &mut Message) {
    for media in media_of(message).filter(|media| media.attachment().is_some()) {
        media.extra.remove(FIELD);
    }
}

/// Takes the bytes of large blocks out of a message that is about to be stored.
pub(crate) fn detach(message: &mut Message) -> Vec<Detached> {
    media_of(message).filter_map(|media| detach_one(media, decode_or_keep)).collect()
}

/// The same, for data in base64 that is not text and has no address of its own.
pub(crate) fn detach_binary(message: &mut Message, is_text: &dyn Fn(&Media) -> bool) -> Vec<Detached> {
    let binary = media_of(message).filter(|media| media.uri.is_none() && !is_text(media));
    binary.filter_map(|media| detach_one(media, decode)).collect()
}

fn media_of(message: &mut Message) -> impl Iterator<Item = &mut Media> {
    message.blocks.iter_mut().filter_map(|block| match block {
        Block::Media(media) => Some(media),
        _ => None,
    })
}

/// The bytes of an attachment, and how the data was written.
type Decoded = (Vec<u8>, Option<TextEncoding>);

fn decode(data: &str) -> Option<Decoded> {
    Some((STANDARD.decode(data).ok()?, None))
}

/// What is read back must be what was written, to the letter.
fn decode_or_keep(data: &str) -> Option<Decoded> {
    Some(decode(data).unwrap_or_else(|| (data.as_bytes().to_vec(), Some(TextEncoding::Text))))
}

fn detach_one(media: &mut Media, decode: impl Fn(&str) -> Option<Decoded>) -> Option<Detached> {
    if !is_large(media) || media.extra.field(FIELD).is_some() {
        return None;
    }
    let (bytes, encoding) = decode(media.data.as_ref()?)?;
    media.data = None;
    let detached = Detached::new(media.kind.into(), bytes);
    let (digest, byte_length) = detached.size();
    let taken = ReferenceFields { byte_length, encoding, uri: media.uri.take() };
    media.uri = Some(uri_of(digest));
    media.extra.set(FIELD, Json::of(&taken).expect("it is plain data"));
    Some(detached)
}

/// Gives a block its bytes back.
pub(crate) fn put_back(media: &mut Media, bytes: &[u8]) {
    let taken = taken(media);
    let encoding = taken.as_ref().and_then(|taken| taken.encoding);
    media.data = match (encoding, str::from_utf8(bytes)) {
        (Some(TextEncoding::Text), Ok(text)) => Some(text.to_owned()),
        _ => Some(STANDARD.encode(bytes)),
    };
    if taken.is_some() {
        media.extra.remove(FIELD);
    }
    media.uri = taken.and_then(|taken| taken.uri);
}

fn taken(media: &Media) -> Option<ReferenceFields> {
    media.extra.field(FIELD)?.to().ok()
}

/// What the bytes of an attachment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Packing {
    /// What the data of its block stands for, as base64.
    Unpacked,
    /// The data itself, which is no base64.
    Letters,
}

impl Packing {
    /// Of the attachment that a block refers to.
    pub(crate) fn of(media: &Media) -> Self {
        match taken(media).and_then(|taken| taken.encoding) {
            Some(TextEncoding::Text) => Self::Letters,
            None => Self::Unpacked,
        }
    }
}

/// Lets a block refer to another attachment, of the same packing.
pub(crate) fn renamed(media: &Media, digest: Digest, byte_length: u64) -> Media {
    let mut media = media.clone();
    media.uri = Some(uri_of(digest));
    if let Some(taken) = taken(&media) {
        let taken = ReferenceFields { byte_length, ..taken };
        media.extra.set(FIELD, Json::of(&taken).expect("it is plain data"));
    }
    media
}

/// The blocks of a message that refer to attachments.
pub(super) fn references(message: &mut Message) -> impl Iterator<Item = &mut Media> {
    message.blocks.iter_mut().filter_map(|block| match block {
        Block::Media(media) if media.attachment().is_some() => Some(media),
        _ => None,
    })
}

/// What a message refers to.
pub(crate) fn referred(message: &Message) -> BTreeSet<Digest> {
    with_origins(message).map(|(digest, _)| digest).collect()
}

/// The same, with who made each reference.
pub(super) fn with_origins(message: &Message) -> impl Iterator<Item = (Digest, ReferenceOrigin)> {
    let media = message.blocks.iter().filter_map(|block| {
        let Block::Media(media) = block else { return None };
        let origin = if media.extra.field(FIELD).is_some() {
            ReferenceOrigin::Archive
        } else {
            ReferenceOrigin::Writer
        };
        Some((media.attachment()?, origin))
    });
    // A file of another program does not bring along what its snapshot refers to.
    let is_foreign = message.extra.field(SOURCE).is_some();
    let origin = if is_foreign { ReferenceOrigin::Writer } else { ReferenceOrigin::Archive };
    let snapshots = message.blocks.iter().filter_map(FileSnapshot::of);
    let files = snapshots.flat_map(|snapshot| snapshot.attachments().collect::<Vec<_>>());
    media.chain(files.map(move |digest| (digest, origin)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Fields, MediaKind, Role};

    fn media(data: String, uri: Option<&str>) -> Media {
        let mut extra = Fields::new();
        extra.set("title", Json::parse("\"A\"").unwrap());
        let uri = uri.map(str::to_owned);
        Media { kind: MediaKind::Image, mime_type: "image/png".into(), data: Some(data), uri, extra }
    }

    fn round_trip(media: &Media) -> (usize, Media) {
        let mut message = Message::new(Role::User, vec![Block::Media(media.clone())]);
        let detached = detach(&mut message);
        let mut stored = Message::from_body(&message.to_body()).unwrap();
        for (media, own) in references(&mut stored).zip(&detached) {
            put_back(media, &own.bytes);
        }
        let Block::Media(read) = stored.blocks.remove(0) else { panic!("it is media") };
        (message.to_body().len(), read)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_data_comes_back_to_the_letter(
            ending in "[A-Za-z0-9+/=ü\\n\\\\\"]{0,9}",
            more in -4_i32..9,
            uri in proptest::option::of("[a-z:]{0,9}"),
        ) {
            let length = usize::try_from(i32::try_from(INLINE).unwrap() + more).unwrap();
            let media = media("QUJD".repeat(length / 4) + &"A".repeat(length % 4) + &ending, uri.as_deref());

            prop_assert_eq!(round_trip(&media).1, media);
        }
    }

    #[test]
    fn only_large_data_is_taken_out() {
        let [small, large] = [INLINE, INLINE + 4].map(|length| media("A".repeat(length), None));

        let sizes = [&small, &large].map(|media| round_trip(media).0 > INLINE);

        assert_eq!(sizes, [true, false]);
    }

    #[test]
    fn what_a_writer_says_was_taken_out_is_not_believed() {
        let mut media = media(String::new(), Some(&uri_of(Digest::from_bytes([7; 32]))));
        media.data = None;
        media.extra.set(FIELD, Json::parse(r#"{"byte_length":9}"#).unwrap());
        let mut message = Message::new(Role::User, vec![Block::Media(media)]);

        disown(&mut message);
        let detached = detach(&mut message);

        let origins: Vec<ReferenceOrigin> = with_origins(&message).map(|(_, origin)| origin).collect();
        assert_eq!((detached, origins), (vec![], vec![ReferenceOrigin::Writer]));
    }
}
