//! The envelope of an encrypted record: a header naming version, cipher suite and key, then nonce, ciphertext
//! and GCM tag.
//!
//! ```text
//! RJ | version | suite | id of the key, 16 | form, 4 | nonce, 12 | ciphertext | tag, 16
//! └───────────────── header, 24 ───────────────────┘
//! ```
//!
//! The additional data is the context string (such as `rejoin/vault/message/1\n`), the header and the place
//! (ids of owner and record), so an envelope moved elsewhere does not decrypt.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::store::sealed::keys::key::{KeyId, SealingKey, fill};

const MAGIC: &[u8; 2] = b"RJ";
const VERSION: u8 = 2;
const SUITE: u8 = 1;
const FORM: u32 = 1;

const HEADER_LENGTH: usize = 24;
const TAG_LENGTH: usize = 16;

/// How long a nonce is.
pub(crate) const NONCE_LENGTH: usize = 12;

/// How many bytes an envelope has more than what is inside.
pub(crate) const OVERHEAD: usize = HEADER_LENGTH + NONCE_LENGTH + TAG_LENGTH;

/// Why an envelope does not open. It is part of a sentence: "the message `a` does not open: …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It is no envelope, or one of another version.
    Shape,
    /// It was sealed with a key that is not known here.
    Key(KeyId),
    /// It was changed, or is not where it was put.
    Seal,
    /// What is inside is not what stands there, or does not fit what stands around it.
    Inside,
    /// It is in order, and has another number, turn or beginning of a branch than it was sealed with.
    Numbers,
    /// It follows another message than the one it was written after.
    Parent,
    /// The key of its conversation is missing.
    NoKey,
    /// The key of its conversation does not open.
    WrappedKey,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("it is not an envelope of this version"),
            Self::Key(id) => write!(f, "key `{id}` is not known here"),
            Self::Seal => f.write_str("it was changed or moved since it was sealed"),
            Self::Inside => f.write_str("what is inside does not belong there"),
            Self::Numbers => f.write_str("it has another number or turn than it was sealed with"),
            Self::Parent => f.write_str("it follows another message than it was written after"),
            Self::NoKey => f.write_str("the key of its conversation is missing"),
            Self::WrappedKey => f.write_str("the key of its conversation does not open"),
        }
    }
}

impl std::error::Error for Broken {}

/// A key that seals and opens, with the id that stands in its envelopes.
pub(crate) struct Sealer {
    id: KeyId,
    key: LessSafeKey,
}

impl Sealer {
    /// What seals with this key.
    pub(crate) fn new(id: KeyId, key: &SealingKey) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key.expose()).expect("the key has 32 bytes");
        Self { id, key: LessSafeKey::new(key) }
    }

    /// The id that stands in the envelopes.
    pub(crate) const fn id(&self) -> KeyId {
        self.id
    }

    /// Encrypts the parts of `inside`, one after the other, for a context and a place.
    pub(crate) fn seal(&self, context: &str, place: &[&[u8]], inside: &[&[u8]]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LENGTH];
        fill(&mut nonce);
        self.seal_with(nonce, context, place, inside)
    }

    /// Seals with a given nonce, which must be used once only: for test vectors.
    pub(crate) fn seal_with(
        &self,
        nonce: [u8; NONCE_LENGTH],
        context: &str,
        place: &[&[u8]],
        inside: &[&[u8]],
    ) -> Vec<u8> {
        let length: usize = inside.iter().map(|part| part.len()).sum();
        let mut envelope = Vec::with_capacity(OVERHEAD + length);
        envelope.extend_from_slice(MAGIC);
        envelope.extend_from_slice(&[VERSION, SUITE]);
        envelope.extend_from_slice(self.id.as_bytes());
        envelope.extend_from_slice(&FORM.to_be_bytes());
        let additional = additional(context, &envelope, place);
        envelope.extend_from_slice(&nonce);
        inside.iter().for_each(|part| envelope.extend_from_slice(part));
        let sealed = self
            .key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(additional),
                &mut envelope[HEADER_LENGTH + NONCE_LENGTH..],
            )
            .expect("what fits into memory can be sealed");
        envelope.extend_from_slice(sealed.as_ref());
        envelope
    }

    /// Decrypts an envelope in place, and returns what was inside.
    pub(crate) fn open_in_place<'e>(
        &self,
        context: &str,
        place: &[&[u8]],
        envelope: &'e mut [u8],
    ) -> Result<&'e [u8], Broken> {
        let id = key_of(envelope)?;
        if id != self.id {
            return Err(Broken::Key(id));
        }
        let additional = additional(context, &envelope[..HEADER_LENGTH], place);
        let (head, sealed) = envelope.split_at_mut(HEADER_LENGTH + NONCE_LENGTH);
        let nonce = head[HEADER_LENGTH..].try_into().expect("the head was split off with the nonce");
        let opened =
            self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(additional), sealed);
        opened.map(|inside| &*inside).map_err(|_| Broken::Seal)
    }

    /// Opens a copy of an envelope.
    pub(crate) fn open(&self, context: &str, place: &[&[u8]], envelope: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut copy = envelope.to_vec();
        let inside = self.open_in_place(context, place, &mut copy)?.len();
        copy.drain(..HEADER_LENGTH + NONCE_LENGTH);
        copy.truncate(inside);
        Ok(copy)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The id of the key that an envelope was sealed with.
pub(crate) fn key_of(envelope: &[u8]) -> Result<KeyId, Broken> {
    let is_own = envelope.len() >= OVERHEAD
        && envelope.starts_with(MAGIC)
        && envelope[2..4] == [VERSION, SUITE]
        && envelope[20..HEADER_LENGTH] == FORM.to_be_bytes();
    if !is_own {
        return Err(Broken::Shape);
    }
    Ok(KeyId::from_bytes(envelope[4..20].try_into().expect("it is longer than a head")))
}

// For each context every part but the last has a fixed length, so the concatenation is unambiguous.
fn additional(context: &str, head: &[u8], place: &[&[u8]]) -> Vec<u8> {
    let mut additional = Vec::with_capacity(128);
    additional.extend_from_slice(context.as_bytes());
    additional.extend_from_slice(head);
    place.iter().for_each(|part| additional.extend_from_slice(part));
    additional
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealer() -> Sealer {
        Sealer::new(KeyId::from_bytes([7; 16]), &SealingKey::from_slice(&[9; 32]).unwrap())
    }

    proptest! {
        #[test]
        fn what_was_sealed_opens_where_it_was_put(inside in any::<Vec<u8>>(), place in any::<[u8; 16]>()) {
            let envelope = sealer().seal("use\n", &[&place], &[&inside]);

            prop_assert_eq!(envelope.len(), inside.len() + OVERHEAD);
            prop_assert_eq!(sealer().open("use\n", &[&place], &envelope).unwrap(), inside);
        }
    }

    #[test]
    fn it_opens_nowhere_else() {
        let envelope = sealer().seal("use\n", &[b"here"], &[b"inside"]);
        let other = Sealer::new(KeyId::from_bytes([8; 16]), &SealingKey::from_slice(&[9; 32]).unwrap());
        let false_key = Sealer::new(KeyId::from_bytes([7; 16]), &SealingKey::from_slice(&[8; 32]).unwrap());

        let opened = [
            sealer().open("use\n", &[b"there"], &envelope),
            sealer().open("misuse\n", &[b"here"], &envelope),
            false_key.open("use\n", &[b"here"], &envelope),
            other.open("use\n", &[b"here"], &envelope),
            sealer().open("use\n", &[b"here"], &[]),
        ];

        let key = Broken::Key(KeyId::from_bytes([7; 16]));
        assert_eq!(opened, [Broken::Seal, Broken::Seal, Broken::Seal, key, Broken::Shape].map(Err));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_shows() {
        let envelope = sealer().seal("use\n", &[b"here"], &[b"inside"]);
        let opens = |envelope: &[u8]| sealer().open("use\n", &[b"here"], envelope).is_ok();

        let flipped = (0..envelope.len() * 8).filter(|bit| {
            let mut envelope = envelope.clone();
            envelope[bit / 8] ^= 1 << (bit % 8);
            opens(&envelope)
        });
        let truncated = (0..envelope.len()).filter(|length| opens(&envelope[..*length]));

        assert_eq!((flipped.count(), truncated.count()), (0, 0));
    }

    #[test]
    fn no_two_nonces_are_the_same() {
        let nonce = || sealer().seal("", &[], &[])[HEADER_LENGTH..HEADER_LENGTH + NONCE_LENGTH].to_vec();
        let mut nonces: Vec<Vec<u8>> = (0..1_000).map(|_| nonce()).collect();

        nonces.sort();
        nonces.dedup();

        assert_eq!(nonces.len(), 1_000);
    }
}
