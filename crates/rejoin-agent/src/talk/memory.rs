//! Where the last request of a conversation is remembered: in its archive, sealed like everything in it.

use std::fmt;
use std::sync::Arc;

use rejoin::{Archive, ConversationId};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::talk::History;
use crate::talk::last_request::{LastRequest, Sending};

/// The name of what is remembered for a conversation.
const NAME: &str = "request.last";

/// Remembers the last request of each conversation that is talked in.
pub(super) struct RequestMemory {
    archive: Archive,
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Default)]
struct MemoryState {
    /// What was sent last, and where.
    last: Option<(ConversationId, LastRequest)>,
    /// The write that is under way. A request does not wait for its own, only for the one before it.
    writing: Option<JoinHandle<()>>,
}

impl RequestMemory {
    pub(super) fn new(archive: Archive) -> Self {
        Self { archive, state: Arc::default() }
    }

    /// Remembers a request that is about to leave. Returns what is to be told when it does not repeat the
    /// last.
    ///
    /// Nothing here keeps the request from leaving. A power cut may undo it; then the next request is
    /// compared with an earlier one.
    pub(super) async fn remember(
        &self,
        conversation: ConversationId,
        provider: &str,
        body: &str,
        history: &History,
    ) -> Option<String> {
        let (sending, archive) = (Sending::read(provider, body, history)?, self.archive.clone());
        let sending = spawn_blocking(move || sending.redacted(&archive)).await.ok()?;
        let mut state = self.state.lock().await;
        if let Some(writing) = state.writing.take() {
            let _ = writing.await;
        }
        let known = match state.last.take() {
            Some((of, last)) if of == conversation => Some(last),
            _ => self.load(conversation).await,
        };
        let told = known.and_then(|last| sending.difference(&last, history));
        let last = sending.remembered();
        state.writing = Some(self.store(conversation, &last));
        state.last = Some((conversation, last));
        told
    }

    async fn load(&self, conversation: ConversationId) -> Option<LastRequest> {
        let archive = self.archive.clone();
        let text = spawn_blocking(move || archive.state().recall_for(conversation, NAME)).await;
        serde_json::from_str(&text.ok()?.ok()??).ok()
    }

    fn store(&self, conversation: ConversationId, last: &LastRequest) -> JoinHandle<()> {
        let (archive, text) = (self.archive.clone(), serde_json::to_string(last).expect("it is plain data"));
        spawn_blocking(move || {
            if let Err(error) = archive.state().remember_for_unsynced(conversation, NAME, &text) {
                tracing::debug!(kind = ?error.kind(), "the last request was not remembered");
            }
        })
    }
}

impl fmt::Debug for RequestMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestMemory").finish_non_exhaustive()
    }
}
