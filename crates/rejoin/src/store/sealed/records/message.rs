//! A sealed message and its note.
//!
//! ```text
//! length, 1 | id | length, 1 | parent's id | digest, 32 | parent's digest, 32
//!     | sequence, 4 | turn, 4 | forked, 1 | body
//! ```

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::model::{ConversationId, Digest, MessageId};
use crate::store::backend::MessageRow;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::keys::names::{InnerNames, message_bytes};
use crate::store::{Anchor, Note};

pub(crate) const MESSAGE: &str = "rejoin/vault/message/1\n";
pub(crate) const NOTE: &str = "rejoin/vault/note/1\n";

/// What is sealed of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainMessage<'a> {
    pub(crate) id: MessageId,
    pub(crate) parent: Option<Anchor>,
    pub(crate) digest: Digest,
    /// Its sequence, that of the first message of its turn, and whether its parent already had
    /// a child. They stand in plaintext too.
    pub(crate) seq: u32,
    pub(crate) turn: u32,
    pub(crate) forked: bool,
    pub(crate) body: &'a str,
}

impl<'a> PlainMessage<'a> {
    /// Seals it.
    pub(crate) fn seal(&self, key: &DataKey, names: &InnerNames, inner: ConversationId) -> Vec<u8> {
        let own = message_bytes(Some(names.message(inner, self.id)));
        let parent = message_bytes(self.parent.map(|parent| names.message(inner, parent.id)));
        let parent_id = self.parent.as_ref().map_or("", |parent| parent.id.as_str());
        let lengths = [self.id.as_str(), parent_id]
            .map(|id| [u8::try_from(id.len()).expect("an id has at most fifteen characters")]);
        key.seal(
            KeyUse::Bodies,
            MESSAGE,
            &[inner.as_bytes(), &own, &parent],
            &[
                &lengths[0],
                self.id.as_str().as_bytes(),
                &lengths[1],
                parent_id.as_bytes(),
                self.digest.as_bytes(),
                self.parent.as_ref().map_or(&[0; 32], |parent| parent.link.as_bytes()),
                &self.seq.to_be_bytes(),
                &self.turn.to_be_bytes(),
                &[u8::from(self.forked)],
                self.body.as_bytes(),
            ],
        )
    }

    /// Opens a message as the backend shows it, into a buffer.
    pub(crate) fn open(
        owner_keys: &mut OwnerKeys<'_>,
        names: &InnerNames,
        inner: ConversationId,
        sealed: &MessageRow<'_>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Self, OpenError> {
        let (own, parent) = (message_bytes(Some(sealed.id)), message_bytes(sealed.parent));
        let place: [&[u8]; 3] = [inner.as_bytes(), &own, &parent];
        let inside = owner_keys.open_stored(KeyUse::Bodies, MESSAGE, &place, sealed.body, buffer)?;
        let plain = Self::read(inside).ok_or(Broken::Inside)?;
        if names.link(plain.digest) != sealed.link || plain.parent.is_some() != sealed.parent.is_some() {
            return Err(Broken::Inside.into());
        }
        let is_as_sealed = (plain.seq, plain.turn, plain.forked) == (sealed.seq, sealed.turn, sealed.forked);
        if is_as_sealed { Ok(plain) } else { Err(Broken::Numbers.into()) }
    }

    /// The same with no body.
    pub(crate) const fn without_body(&self) -> PlainMessage<'static> {
        let Self { id, parent, digest, seq, turn, forked, .. } = *self;
        PlainMessage { id, parent, digest, seq, turn, forked, body: "" }
    }

    fn read(inside: &'a [u8]) -> Option<Self> {
        let (id, inside) = read_id(inside)?;
        let (parent, inside) = read_id(inside)?;
        let (digest, inside) = inside.split_first_chunk()?;
        let (link, inside) = inside.split_first_chunk()?;
        let (seq, inside) = inside.split_first_chunk()?;
        let (turn, inside) = inside.split_first_chunk()?;
        let (forked, body) = inside.split_first()?;
        Some(Self {
            id: id?,
            parent: parent.map(|id| Anchor { id, link: Digest::from_bytes(*link) }),
            digest: Digest::from_bytes(*digest),
            seq: u32::from_be_bytes(*seq),
            turn: u32::from_be_bytes(*turn),
            forked: match forked {
                0 => false,
                1 => true,
                _ => return None,
            },
            body: str::from_utf8(body).ok()?,
        })
    }
}

/// Reads an id after its length, and the rest; one without characters is none.
fn read_id(inside: &[u8]) -> Option<(Option<MessageId>, &[u8])> {
    let (length, inside) = inside.split_first()?;
    let (id, rest) = inside.split_at_checked(usize::from(*length))?;
    let id = if id.is_empty() { None } else { Some(str::from_utf8(id).ok()?.parse().ok()?) };
    Some((id, rest))
}

/// What was read of a conversation so far: a child must name the digest that its parent has.
///
/// Where each message follows the one before it, nothing has to be looked up.
#[derive(Default)]
pub(crate) struct DigestChain {
    newest: Option<Anchor>,
    /// Those before it that nobody has looked for, in order.
    before: Vec<Anchor>,
    /// Those before them.
    known: HashMap<MessageId, Digest>,
}

impl DigestChain {
    /// Adds a message that was opened.
    pub(crate) fn follow(&mut self, plain: &PlainMessage<'_>) -> Result<(), Broken> {
        if let Some(parent) = plain.parent
            && self.digest_of(parent.id).is_some_and(|digest| digest != parent.link)
        {
            return Err(Broken::Parent);
        }
        self.before.extend(self.newest.replace(Anchor { id: plain.id, link: plain.digest }));
        Ok(())
    }

    fn digest_of(&mut self, id: MessageId) -> Option<Digest> {
        if let Some(newest) = self.newest.filter(|newest| newest.id == id) {
            return Some(newest.link);
        }
        self.known.extend(self.before.drain(..).map(|anchor| (anchor.id, anchor.link)));
        self.known.get(&id).copied()
    }
}

/// A note as it is sealed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SealedNote {
    pub(crate) label: Option<String>,
    pub(crate) pinned: bool,
}

impl SealedNote {
    /// Seals a note of a message, which is named by its inner name; none when it says nothing.
    pub(crate) fn seal(
        note: &Note<'_>,
        key: &DataKey,
        inner: ConversationId,
        message: MessageId,
    ) -> Option<Vec<u8>> {
        (note.label.is_some() || note.is_pinned).then(|| {
            let own = Self { label: note.label.map(str::to_owned), pinned: note.is_pinned };
            let text = serde_json::to_vec(&own).expect("a note is plain");
            key.seal(KeyUse::About, NOTE, &[inner.as_bytes(), &message_bytes(Some(message))], &[&text])
        })
    }

    /// Opens the note of a message as the backend shows it.
    pub(crate) fn open(
        owner_keys: &mut OwnerKeys<'_>,
        inner: ConversationId,
        sealed: &MessageRow<'_>,
    ) -> Result<Self, OpenError> {
        if sealed.is_pinned {
            return Err(Broken::Inside.into());
        }
        let Some(label) = sealed.label else { return Ok(Self::default()) };
        let place: [&[u8]; 2] = [inner.as_bytes(), &message_bytes(Some(sealed.id))];
        let mut buffer = Vec::new();
        let inside = owner_keys.open_stored(KeyUse::About, NOTE, &place, label, &mut buffer)?;
        Ok(serde_json::from_slice(inside).map_err(|_| Broken::Inside)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::sealed::keys::key::SealingKey;

    proptest! {
        #[test]
        fn what_is_inside_reads_back(id in "[a-z]{1,15}", parent in proptest::option::of("[A-Z]{1,15}"), body in ".*") {
            let plain = PlainMessage {
                id: id.parse().unwrap(),
                parent: parent.map(|id| Anchor { id: id.parse().unwrap(), link: Digest::chain(None, b"p") }),
                digest: Digest::chain(None, b"d"),
                seq: 7,
                turn: 6,
                forked: true,
                body: &body,
            };
            let names = InnerNames::new(&SealingKey::random());
            let inner = ConversationId::from_bytes([1; 16]);
            let key = DataKey::random();

            let mut envelope = plain.seal(&key, &names, inner);

            let own = message_bytes(Some(names.message(inner, plain.id)));
            let above = message_bytes(plain.parent.map(|parent| names.message(inner, parent.id)));
            let inside = key
                .open_in_place(KeyUse::Bodies, MESSAGE, &[inner.as_bytes(), &own, &above], &mut envelope)
                .unwrap();
            prop_assert_eq!(PlainMessage::read(inside), Some(plain));
        }

        #[test]
        fn any_bytes_inside_are_read_without_a_panic(inside in any::<Vec<u8>>()) {
            let _ = PlainMessage::read(&inside);
        }
    }
}
