//! Ids of what is imported: the same source gives the same ids, so that
//! importing again recognises what is there.
//!
//! ```text
//! conversation  UUIDv7( its time at the source, SHA-256( "rejoin/import/conversation/2\n"
//!               ‖ format ‖ 0 ‖ source id ‖ 0 ‖ the time in milliseconds ) )
//! message       11 of base 62 of SHA-256( "rejoin/import/message/1\n"
//!               ‖ format ‖ 0 ‖ conversation ‖ 0 ‖ message )
//! ```
//!
//! The time is in the hash because the short id is made of the hash alone, and a program may write a session
//! again under its id, with another time. Without it, as before version 2, both had one short id. What was
//! imported so keeps its id. A separate conversation, beside one that has the same id at its source, is told
//! apart by the place that it was read from and by a number, each after another zero.
//!
//! A message whose text changed at the source is another message: its digest
//! follows its id, after another zero.
//!
//! Rejoin's own files have ids of Rejoin in them. They stay what they are; what
//! is no id there gets one as above.

use sha2::{Digest as _, Sha256};

use crate::formats::Format;
use crate::model::{ConversationId, Digest, MessageId, Time};

const CONVERSATION: &[u8] = b"rejoin/import/conversation/2\n";
const EARLIER_CONVERSATION: &[u8] = b"rejoin/import/conversation/1\n";
const MESSAGE: &[u8] = b"rejoin/import/message/1\n";

/// So many characters that two of a billion messages hardly ever meet, and that
/// an imported id is told apart by eye.
const LENGTH: usize = 11;

/// Gives what is imported its ids.
#[derive(Clone, Copy)]
pub(super) struct ImportNames(pub(super) &'static Format);

impl ImportNames {
    pub(super) fn conversation(self, source: &str, created: Time) -> ConversationId {
        let own = source.parse().ok().filter(|_| self.0.is_own());
        own.unwrap_or_else(|| conversation_id(self.0.name, source, created))
    }

    /// The id that an earlier version gave a conversation.
    pub(super) fn earlier_conversation(self, source: &str, created: Time) -> ConversationId {
        let own = source.parse().ok().filter(|_| self.0.is_own());
        own.unwrap_or_else(|| earlier_conversation_id(self.0.name, source, created))
    }

    /// A conversation beside the one that has this id at its source.
    pub(super) fn separate(self, source: &str, created: Time, area: &str, number: u32) -> ConversationId {
        let (millis, number) = (millis(created), number.to_string());
        let name = [self.0.name.as_bytes(), source.as_bytes(), millis.as_bytes()];
        with_time(created, hash(CONVERSATION, &[&name[..], &[area.as_bytes(), number.as_bytes()]].concat()))
    }

    /// A message or a branch.
    pub(super) fn message(self, conversation: &str, source: &str) -> MessageId {
        let own = source.parse().ok().filter(|_| self.0.is_own());
        own.unwrap_or_else(|| message_id(self.0.name, conversation, source))
    }

    /// The id of a message that is not what it was when it was imported first.
    pub(super) fn changed(self, conversation: &str, source: &str, digest: &Digest) -> MessageId {
        changed_id(self.0.name, conversation, source, digest)
    }
}

fn conversation_id(format: &str, source: &str, created: Time) -> ConversationId {
    with_time(
        created,
        hash(CONVERSATION, &[format.as_bytes(), source.as_bytes(), millis(created).as_bytes()]),
    )
}

fn earlier_conversation_id(format: &str, source: &str, created: Time) -> ConversationId {
    with_time(created, hash(EARLIER_CONVERSATION, &[format.as_bytes(), source.as_bytes()]))
}

fn millis(created: Time) -> String {
    (created.as_micros() / 1_000).to_string()
}

fn with_time(created: Time, hash: [u8; 32]) -> ConversationId {
    ConversationId::new(created, hash[..10].try_into().expect("a hash has 32 bytes"))
}

fn message_id(format: &str, conversation: &str, message: &str) -> MessageId {
    short(hash(MESSAGE, &[format.as_bytes(), conversation.as_bytes(), message.as_bytes()]))
}

fn changed_id(format: &str, conversation: &str, message: &str, digest: &Digest) -> MessageId {
    let digest = digest.to_string();
    let parts = [format.as_bytes(), conversation.as_bytes(), message.as_bytes(), digest.as_bytes()];
    short(hash(MESSAGE, &parts))
}

fn hash(tag: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tag);
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            hasher.update([0]);
        }
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn short(hash: [u8; 32]) -> MessageId {
    const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = u128::from_le_bytes(hash[..16].try_into().expect("a hash has 32 bytes"));
    let text: String = (0..LENGTH)
        .map(|_| {
            let letter = BASE62[(rest % 62) as usize];
            rest /= 62;
            char::from(letter)
        })
        .collect();
    text.parse().expect("eleven letters and digits are an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_known_values() {
        let created = Time::from_micros(1_794_770_847_000_000);

        let ids = [
            conversation_id("claude", "s", created).to_string(),
            earlier_conversation_id("claude", "s", created).to_string(),
            message_id("claude", "s", "m").to_string(),
            changed_id("claude", "s", "m", &Digest::chain(None, b"x")).to_string(),
        ];

        // Computed with another program; a change here makes every import be imported again.
        assert_eq!(
            ids,
            [
                "01a1e0ad-c518-7fa9-a3fb-e7c3c0a3efe7",
                "01a1e0ad-c518-7e1e-98e3-cc71ebb4da4f",
                "Z8RTgI0IH3e",
                "YjpnM9uer2v"
            ]
        );
    }

    #[test]
    fn names_that_run_together_stay_apart() {
        assert_ne!(message_id("a", "bc", "d"), message_id("a", "b", "cd"));
    }
}
