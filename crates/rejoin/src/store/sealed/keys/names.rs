//! What the inner store calls things: keyed hashes, which say nothing and never change.

use std::fmt;

use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::Space;
use crate::store::sealed::keys::key::{Hasher, SealingKey};

/// How long the inner name of a blob is.
pub(crate) const BLOB_NAME: usize = 32;

/// How many bytes of an attachment's name its pieces have in common.
const STEM: usize = 32;

/// Half of the bits that a time needs, counted from the first there is.
const HALF_BITS: u32 = 30;

const HALF: u32 = (1 << HALF_BITS) - 1;

/// Makes inner names of outer ones.
pub(crate) struct InnerNames {
    names: Hasher,
    links: Hasher,
    times: Hasher,
}

impl InnerNames {
    /// The names that this key makes.
    pub(crate) fn new(name_key: &SealingKey) -> Self {
        Self {
            names: name_key.derive("rejoin/vault/name/1\n").hasher(),
            links: name_key.derive("rejoin/vault/link/1\n").hasher(),
            times: name_key.derive("rejoin/vault/time/1\n").hasher(),
        }
    }

    /// The inner name of a conversation.
    pub(crate) fn conversation(&self, id: ConversationId) -> ConversationId {
        let mut bytes = self.short(&[b"conversation\n", id.as_bytes()]);
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        ConversationId::from_bytes(bytes)
    }

    /// The inner name of a message of a conversation, which is named by its own inner name.
    pub(crate) fn message(&self, inner: ConversationId, id: MessageId) -> MessageId {
        self.letters(b"message\n", inner, id)
    }

    /// The inner name of a branch of a conversation.
    pub(crate) fn branch(&self, inner: ConversationId, id: MessageId) -> MessageId {
        self.letters(b"branch\n", inner, id)
    }

    /// The inner name of a blob.
    pub(crate) fn blob(&self, space: Space, inner: Option<ConversationId>, name: &[u8]) -> [u8; BLOB_NAME] {
        let mut bytes = [0; BLOB_NAME];
        bytes[..16].copy_from_slice(&self.stem(space, inner, stem(space, name)));
        let own = self.short(&[b"blob\n", &[space_byte(space)], &owner_bytes(inner), name]);
        bytes[16..].copy_from_slice(&own);
        bytes
    }

    /// How the inner names of all blobs begin whose names begin like this; none where that does not follow.
    pub(crate) fn beginning(
        &self,
        space: Space,
        inner: Option<ConversationId>,
        prefix: &[u8],
    ) -> Option<[u8; 16]> {
        if space == Space::Attachment && prefix.len() < STEM {
            return None;
        }
        Some(self.stem(space, inner, stem(space, prefix)))
    }

    /// What the inner store keeps of a digest.
    pub(crate) fn link(&self, digest: Digest) -> Digest {
        Digest::from_bytes(self.links.hash(&[digest.as_bytes()]))
    }

    /// What the inner store keeps of a time: another time, which is the same only for the same.
    pub(crate) fn time(&self, time: Time) -> Time {
        let mut micros = since_first(time);
        loop {
            micros = (0..4).fold(micros, |value, round| {
                let (left, right) = halves(value);
                join(right, left ^ self.round(round, right))
            });
            if micros <= LATEST {
                return Time::from_micros(FIRST + micros.cast_signed());
            }
        }
    }

    /// The time that [`InnerNames::time`] was given.
    pub(crate) fn time_of(&self, inner: Time) -> Time {
        let mut micros = since_first(inner);
        loop {
            micros = (0..4).rev().fold(micros, |value, round| {
                let (left, right) = halves(value);
                join(right ^ self.round(round, left), left)
            });
            if micros <= LATEST {
                return Time::from_micros(FIRST + micros.cast_signed());
            }
        }
    }

    fn round(&self, number: u8, half: u32) -> u32 {
        let hash = self.times.hash(&[&[number], &half.to_be_bytes()]);
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) & HALF
    }

    fn short(&self, parts: &[&[u8]]) -> [u8; 16] {
        let hash = self.names.hash(parts);
        *hash.first_chunk().expect("a hash has 32 bytes")
    }

    fn letters(&self, kind: &[u8], inner: ConversationId, id: MessageId) -> MessageId {
        let hash = self.short(&[kind, inner.as_bytes(), id.as_str().as_bytes()]);
        MessageId::of_number(u128::from_be_bytes(hash))
    }

    fn stem(&self, space: Space, inner: Option<ConversationId>, stem: &[u8]) -> [u8; 16] {
        self.short(&[b"stem\n", &[space_byte(space)], &owner_bytes(inner), stem])
    }
}

impl fmt::Debug for InnerNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

/// The first time there is.
const FIRST: i64 = Time::from_micros(i64::MIN).as_micros();

/// The last time there is, counted from the first. A greater number goes through the network again.
const LATEST: u64 = since_first(Time::from_micros(i64::MAX));

const fn since_first(time: Time) -> u64 {
    time.as_micros().abs_diff(FIRST)
}

/// What stands for an owner in places: zeros for none.
pub(crate) fn owner_bytes(inner: Option<ConversationId>) -> [u8; 16] {
    inner.map_or([0; 16], |inner| *inner.as_bytes())
}

/// What stands for a message in places: its characters, padded with zeros; zeros for none.
pub(crate) fn message_bytes(inner: Option<MessageId>) -> [u8; MessageId::MAX_LENGTH] {
    let mut bytes = [0; MessageId::MAX_LENGTH];
    if let Some(inner) = inner {
        bytes[..inner.as_str().len()].copy_from_slice(inner.as_str().as_bytes());
    }
    bytes
}

/// What stands for a space in places.
pub(crate) fn space_byte(space: Space) -> u8 {
    u8::try_from(space.number()).expect("there are few spaces")
}

fn stem(space: Space, name: &[u8]) -> &[u8] {
    if space == Space::Attachment { &name[..name.len().min(STEM)] } else { &[] }
}

const fn halves(value: u64) -> (u32, u32) {
    ((value >> HALF_BITS) as u32 & HALF, value as u32 & HALF)
}

const fn join(left: u32, right: u32) -> u64 {
    (left as u64) << HALF_BITS | right as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> InnerNames {
        InnerNames::new(&SealingKey::from_slice(&[3; 32]).unwrap())
    }

    proptest! {
        #[test]
        fn a_time_comes_back(micros in -377_705_023_201_000_000i64..=253_402_207_200_000_000) {
            let time = Time::from_micros(micros);

            prop_assert_eq!(names().time_of(names().time(time)), time);
            prop_assert_eq!(names().time(names().time_of(time)), time);
        }
    }

    #[test]
    fn the_first_and_the_last_time_come_back() {
        let ends = [i64::MIN, i64::MAX].map(Time::from_micros);

        assert_eq!(ends.map(|time| names().time_of(names().time(time))), ends);
    }

    #[test]
    fn a_name_depends_on_the_key_the_kind_and_the_conversation() {
        let other = InnerNames::new(&SealingKey::from_slice(&[4; 32]).unwrap());
        let [one, two] = [1, 2].map(|byte| ConversationId::from_bytes([byte; 16]));
        let id: MessageId = "a".parse().unwrap();

        let mut made = vec![
            names().message(one, id),
            names().message(two, id),
            names().branch(one, id),
            other.message(one, id),
        ];
        made.sort();
        made.dedup();

        assert_eq!(made.len(), 4);
        assert_ne!(names().conversation(one), other.conversation(one));
    }

    #[test]
    fn the_pieces_of_an_attachment_share_the_beginning_of_their_names() {
        let owner = Some(ConversationId::from_bytes([1; 16]));
        let piece = |number: u8| [[5; 32].as_slice(), &[number]].concat();
        let beginning = names().beginning(Space::Attachment, owner, &[5; 32]).unwrap();

        let [first, second] = [1, 2].map(|number| names().blob(Space::Attachment, owner, &piece(number)));

        assert!(first.starts_with(&beginning) && second.starts_with(&beginning) && first != second);
        assert_eq!(names().beginning(Space::Attachment, owner, b"short"), None);
    }
}
