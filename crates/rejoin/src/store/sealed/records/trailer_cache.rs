//! Cache of trailers: what this handle last encrypted of a conversation, so that the next append need not
//! decrypt it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{ConversationId, Head, Time};
use crate::store::backend::State;
use crate::store::sealed::keys::key_cache::DataKeys;
use crate::store::sealed::records::numbers::ConversationNumbers;

/// So many conversations are remembered, because an import may make thousands and come back to none.
const MOST: usize = 1_000;

/// What is encrypted of a conversation besides its header and messages; stored with the last preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) active: Time,
    /// The message that was appended last. It is the head, unless that was moved since.
    pub(crate) head: Option<Head>,
    /// The last preview.
    pub(crate) last: String,
    /// What stands in plaintext too.
    pub(crate) numbers: ConversationNumbers,
}

/// The trailers of conversations, by inner name.
#[derive(Default)]
pub(crate) struct TrailerCache(HashMap<ConversationId, CachedTrailer>);

struct CachedTrailer {
    /// What the backend says of the conversation. Its numbers only grow, so the
    /// same ones mean that nothing changed.
    state: State,
    /// A conversation that was removed and made again has other keys.
    keys: Arc<DataKeys>,
    trailer: Trailer,
}

impl TrailerCache {
    /// The trailer of a conversation, if it is as this handle left it.
    pub(crate) fn get(&self, inner: ConversationId, state: &State, keys: &Arc<DataKeys>) -> Option<Trailer> {
        let known = self.0.get(&inner)?;
        (known.state == *state && Arc::ptr_eq(&known.keys, keys)).then(|| known.trailer.clone())
    }

    pub(crate) fn insert(
        &mut self,
        inner: ConversationId,
        state: State,
        keys: Arc<DataKeys>,
        trailer: Trailer,
    ) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(inner, CachedTrailer { state, keys, trailer });
    }
}
