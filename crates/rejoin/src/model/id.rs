//! Names of conversations, messages and branches, and how people may spell them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, Result};
use crate::model::Time;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How many characters a short id has: easy to type, and 57 billion of them.
pub(crate) const SHORT_LENGTH: usize = 6;

/// A conversation's id: a UUIDv7, so that ids sort by creation time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId([u8; 16]);

impl ConversationId {
    /// Makes an id from a creation time and ten random bytes.
    pub fn new(created: Time, random: [u8; 10]) -> Self {
        let millis = u64::try_from(created.as_micros() / 1_000).unwrap_or(0);
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&random);
        // The version, 7, and the variant of RFC 9562.
        bytes[6] = 0x70 | bytes[6] & 0x0f;
        bytes[8] = 0x80 | bytes[8] & 0x3f;
        Self(bytes)
    }

    /// The sixteen bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id with these sixteen bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The six-character form that lists show, taken from the random part.
    pub fn short(&self) -> ShortId {
        let mut rest = u128::from_be_bytes(self.0) & ((1 << 62) - 1);
        let mut text = [b'0'; SHORT_LENGTH];
        for place in text.iter_mut().rev() {
            *place = BASE62[(rest % 62) as usize];
            rest /= 62;
        }
        ShortId(text)
    }
}

/// Reads a UUID with or without hyphens, or the `conv_…` spelling.
impl FromStr for ConversationId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bare = text.strip_prefix("conv_").unwrap_or(text);
        let bytes = bytes_of(bare.as_bytes());
        bytes.map(Self).ok_or_else(|| Error::invalid(format!("`{text}` is not a conversation id")))
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [b'-'; 36];
        let mut places = (0..text.len()).filter(|place| !HYPHENS.contains(place));
        for byte in self.0 {
            for digit in [byte >> 4, byte & 0x0f] {
                let place = places.next().expect("there are two places for each byte");
                text[place] = b"0123456789abcdef"[usize::from(digit)];
            }
        }
        f.pad(str::from_utf8(&text).expect("digits and hyphens are ASCII"))
    }
}

/// Where the hyphens of a UUID stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The bytes of a UUID, with hyphens or without.
fn bytes_of(text: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (place, letter) in text.iter().enumerate() {
        if text.len() == 36 && HYPHENS.contains(&place) {
            if *letter != b'-' {
                return None;
            }
            continue;
        }
        let digit = (*letter as char).to_digit(16)?;
        let byte = bytes.get_mut(digits / 2)?;
        *byte = *byte << 4 | digit as u8;
        digits += 1;
    }
    (digits == 32).then_some(bytes)
}

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The six characters that stand for a conversation or a branch in lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortId([u8; SHORT_LENGTH]);

impl ShortId {
    /// How many characters it has.
    pub const LENGTH: usize = SHORT_LENGTH;

    /// The characters.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("base62 is ASCII")
    }
}

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message's id: up to fifteen base62 characters, six when Rejoin makes it. Unique in its conversation.
///
/// A branch has an id of the same form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    text: [u8; Self::MAX_LENGTH],
    length: u8,
}

impl MessageId {
    /// The longest id; it makes the type sixteen bytes.
    pub const MAX_LENGTH: usize = 15;

    /// Makes a six-character id from eight random bytes.
    pub fn new(random: [u8; 8]) -> Self {
        Self::with_length(SHORT_LENGTH, random)
    }

    /// Makes an id of up to ten characters, which is what eight random bytes can fill.
    pub(crate) fn with_length(length: usize, random: [u8; 8]) -> Self {
        let mut rest = u64::from_le_bytes(random);
        let mut text = [0; Self::MAX_LENGTH];
        for place in &mut text[..length] {
            *place = BASE62[(rest % 62) as usize];
            rest /= 62;
        }
        Self { text, length: length as u8 }
    }

    /// The id of fifteen characters that a number makes, least significant first; it is taken modulo 62¹⁵.
    pub(crate) fn of_number(mut number: u128) -> Self {
        let text = std::array::from_fn(|_| {
            let letter = BASE62[(number % 62) as usize];
            number /= 62;
            letter
        });
        Self { text, length: Self::MAX_LENGTH as u8 }
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..usize::from(self.length)]).expect("base62 is ASCII")
    }
}

impl FromStr for MessageId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty()
            || text.len() > Self::MAX_LENGTH
            || !text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            let shown: String = text.chars().take(40).collect();
            return Err(Error::invalid(format!(
                "`{shown}` is not a message id: 1 to {} letters and digits",
                Self::MAX_LENGTH
            )));
        }
        let mut own = [0; Self::MAX_LENGTH];
        own[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { text: own, length: text.len() as u8 })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Ids are JSON strings.
macro_rules! as_json_string {
    ($($id:ty),+) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )+};
}

as_json_string!(ConversationId, MessageId);

/// Turns a title into words joined by hyphens, so that it can be typed as a name: `Lisbon,
/// on a budget` → `lisbon-on-a-budget`.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().flat_map(char::to_lowercase));
        if slug.len() >= 80 {
            break;
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn conversation_ids_sort_by_creation_time() {
        let ids =
            [1_000, 2_000, 3_000_000].map(|micros| ConversationId::new(Time::from_micros(micros), [7; 10]));

        assert!(ids.is_sorted());
    }

    #[test]
    fn every_spelling_of_a_conversation_id_is_read() {
        let id = ConversationId::new(Time::from_micros(1_794_770_847_000_000), [9; 10]);
        let bare = id.to_string().replace('-', "");

        let read = [id.to_string(), id.to_string().to_uppercase(), bare.clone(), format!("conv_{bare}")]
            .map(|text| text.parse::<ConversationId>().unwrap());

        assert_eq!(read, [id; 4]);
    }

    #[test]
    fn malformed_ids_are_refused() {
        let bad = ["", "../etc/passwd", "a b", "0123456789abcdef", "é", "a-b", "a\0b"];

        let refused =
            bad.map(|text| text.parse::<MessageId>().is_err() && text.parse::<ConversationId>().is_err());

        assert_eq!(refused, [true; 7]);
    }

    #[test]
    fn a_slug_holds_only_words() {
        let slugs = ["Lisbon, on a budget!", "  ", "../../x", "Ünïcode 42"].map(slug);

        assert_eq!(slugs, ["lisbon-on-a-budget", "", "x", "ünïcode-42"]);
    }

    proptest! {
        #[test]
        fn conversation_ids_are_what_others_make_and_read(millis in 0u64..1 << 47, random in any::<[u8; 10]>()) {
            let id = ConversationId::new(Time::from_number(i64::try_from(millis).unwrap()), random);
            let same = Time::from_number(i64::try_from(millis).unwrap()).as_micros() / 1_000;
            let others = uuid::Builder::from_unix_timestamp_millis(same.unsigned_abs(), &random).into_uuid();
            prop_assert_eq!(id.as_bytes(), others.as_bytes());
            prop_assert_eq!(id.to_string(), others.to_string());
            prop_assert_eq!(others.simple().to_string().parse::<ConversationId>().unwrap(), id);
        }

        #[test]
        fn what_is_read_as_a_conversation_id_is_a_uuid(text in "[0-9a-fA-F-]{30,37}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-g]{12}") {
            let read = text.parse::<ConversationId>().ok().map(|id| *id.as_bytes());
            prop_assert_eq!(read, uuid::Uuid::try_parse(&text).ok().map(uuid::Uuid::into_bytes));
        }

        #[test]
        fn message_ids_read_back(random in any::<[u8; 8]>()) {
            let id = MessageId::new(random);
            prop_assert_eq!(id.as_str().parse::<MessageId>().unwrap(), id);
        }
    }
}
