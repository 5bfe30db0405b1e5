//! Titles and synopses: computed after each turn in the background, and asked of a model only on request.
//!
//! No turn waits for them, and no turn costs a request beyond its own. [`summarise`] is the one place that
//! asks a model; a conversation counts how often that happened.

mod ask;
mod requests;
mod snapshot;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rejoin::{Archive, ConversationId, Message, Synopsis};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use crate::summarise::requests::{SummaryRequests, is_summary_due, summarise};
use crate::summarise::snapshot::ConversationExcerpt;

/// Keeps the computed title and synopsis of one conversation up to date.
///
/// Dropping it keeps those for what was said last.
pub struct Summariser {
    shared: Arc<SharedSummariser>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct SharedSummariser {
    archive: Archive,
    conversation: Mutex<ConversationId>,
    state: Mutex<SummariserState>,
    /// Told when there is nothing left to do.
    idle: Notify,
}

#[derive(Default)]
struct SummariserState {
    /// What the task works on.
    current: Option<ConversationExcerpt>,
    /// What it does next; the newest only.
    next: Option<ConversationExcerpt>,
    is_running: bool,
}

impl Summariser {
    /// Describes a conversation. No model is asked.
    pub fn new(archive: Archive, conversation: ConversationId) -> Self {
        let conversation = Mutex::new(conversation);
        let shared = SharedSummariser { archive, conversation, state: Mutex::default(), idle: Notify::new() };
        Self { shared: Arc::new(shared), task: Mutex::new(None) }
    }

    /// Describes another conversation from the next time on: the talk went on there.
    pub fn describe_instead(&self, conversation: ConversationId) {
        *self.shared.conversation.lock().expect("nothing panics while it is held") = conversation;
    }

    /// Describes the conversation as it is after these messages, oldest first. Returns at once.
    ///
    /// It must be called inside a runtime.
    pub fn refresh<'a>(&self, messages: impl ExactSizeIterator<Item = &'a Message> + Clone) {
        let archive = &self.shared.archive;
        let stored = |message: &Message| archive.redaction().apply(message);
        let snapshot = ConversationExcerpt::of(messages, archive.now(), &stored);
        let mut state = self.shared.state();
        state.next = Some(snapshot);
        if !state.is_running {
            state.is_running = true;
            let task = tokio::spawn(work(self.shared.clone()));
            *self.task.lock().expect("nothing panics while it is held") = Some(task);
        }
    }

    /// Waits so long for what is under way; then the computed ones have to do.
    pub async fn finish(&self, grace: Duration) {
        let _ = tokio::time::timeout(grace, self.idle()).await;
        let shared = self.shared.clone();
        let unfinished = self.stop();
        let _ = tokio::task::spawn_blocking(move || unfinished.map(|left| shared.keep_computed(&left))).await;
    }

    /// Waits until there is nothing left to do.
    async fn idle(&self) {
        loop {
            let told = self.shared.idle.notified();
            if !self.shared.state().is_running {
                return;
            }
            told.await;
        }
    }

    /// Ends the task and returns what it did not get to.
    fn stop(&self) -> Option<ConversationExcerpt> {
        if let Some(task) = self.task.lock().expect("nothing panics while it is held").take() {
            task.abort();
        }
        let mut state = self.shared.state();
        state.is_running = false;
        let current = state.current.take();
        state.next.take().or(current)
    }
}

impl Drop for Summariser {
    fn drop(&mut self) {
        if let Some(unfinished) = self.stop() {
            self.shared.keep_computed(&unfinished);
        }
    }
}

impl SharedSummariser {
    fn state(&self) -> MutexGuard<'_, SummariserState> {
        self.state.lock().expect("nothing panics while it is held")
    }

    fn conversation(&self) -> ConversationId {
        *self.conversation.lock().expect("nothing panics while it is held")
    }

    fn keep_computed(&self, snapshot: &ConversationExcerpt) {
        self.keep(snapshot.title(), &snapshot.synopsis());
    }

    /// A failure is logged and no more: the messages themselves are what matters.
    fn keep(&self, title: Option<String>, synopsis: &Synopsis) {
        if let Err(error) =
            self.archive.marks().describe(self.conversation(), title.as_deref(), Some(synopsis))
        {
            tracing::warn!(kind = ?error.kind(), "the synopsis was not saved");
        }
    }
}

/// Works until nothing is left.
async fn work(shared: Arc<SharedSummariser>) {
    loop {
        let snapshot = {
            let mut state = shared.state();
            state.current = state.next.take();
            let Some(snapshot) = state.current.clone() else {
                state.is_running = false;
                break;
            };
            snapshot
        };
        describe(shared.clone(), snapshot).await;
    }
    shared.idle.notify_waiters();
}

async fn describe(shared: Arc<SharedSummariser>, snapshot: ConversationExcerpt) {
    let kept = tokio::task::spawn_blocking(move || {
        // From here on it cannot be stopped, so whoever stops need not do it again.
        shared.state().current = None;
        shared.keep_computed(&snapshot);
    });
    let _ = kept.await;
}

impl fmt::Debug for Summariser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summariser").field("conversation", &self.shared.conversation).finish_non_exhaustive()
    }
}
