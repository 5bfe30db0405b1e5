//! What is told of a record that does not decrypt.

use crate::model::{ConversationId, Time};

/// A record that does not decrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// When that was found.
    pub at: Time,
    /// What it is, such as `message` or `header`.
    pub what: String,
    /// Why it does not decrypt.
    pub why: String,
    /// The conversation it belongs to, where that is known.
    pub conversation: Option<ConversationId>,
    /// How long it is, encrypted.
    pub bytes: u64,
    /// True when nothing will ever decrypt it: it goes when its days are over.
    pub is_lost: bool,
    /// The name of its copy.
    pub(crate) name: Vec<u8>,
}
