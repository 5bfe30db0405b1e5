//! Conversations that nobody talks in: after a while they are paused, also when
//! nobody was left to pause them.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rejoin::{Archive, ConversationId, EndReason, StoredConversation, Time};

use crate::context::Context;
use crate::session::summary::{Describing, Occasion};

impl Context {
    /// A conversation as it stands now. One that is left without a word for long enough counts as paused, so
    /// a process that was killed does not leave it active for ever. Nothing is written.
    pub(crate) fn as_of(&self, now: Time, mut stored: StoredConversation) -> StoredConversation {
        stored.conversation.status = stored.status_at(now, self.config.auto_pause());
        stored
    }

    /// The last time of activity at which an active conversation counts as paused by now.
    pub(crate) fn idle_since(&self, now: Time) -> Time {
        let idle = i64::try_from(self.config.auto_pause().as_micros()).unwrap_or(i64::MAX);
        now.plus_micros(-idle)
    }
}

/// Pauses a conversation while its prompt waits for somebody to type.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    typed: mpsc::Sender<()>,
    limit: Duration,
    waiting: JoinHandle<bool>,
}

impl IdleWatch {
    /// Begins to wait, as long as the configuration says.
    pub(crate) fn start(context: &Context, archive: &Archive, id: ConversationId) -> Self {
        Self::after(context.config.auto_pause(), archive.clone(), id, Describing::of(context))
    }

    fn after(limit: Duration, archive: Archive, id: ConversationId, describing: Option<Describing>) -> Self {
        let (typed, inbox) = mpsc::channel();
        let waiting = thread::spawn(move || {
            let is_late = inbox.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            let is_paused = is_late && archive.status().pause(id, EndReason::AutoPaused).is_ok();
            if let Some(describing) = describing.filter(|_| is_paused) {
                describing.start_if_due(&archive, id, Occasion::Pause);
            }
            let _ = inbox.recv();
            // Another process may have completed it meanwhile; then it stays so until somebody asks.
            is_paused && archive.status().activate(id).is_ok()
        });
        Self { typed, limit, waiting }
    }

    /// Somebody typed. When the conversation was paused, it is active again, and this is what to say.
    pub(crate) fn finish(self) -> Option<String> {
        let Self { typed, limit, waiting } = self;
        drop(typed);
        waiting.join().unwrap_or(false).then(|| notice(limit))
    }
}

fn notice(limit: Duration) -> String {
    let minutes = limit.as_secs() / 60;
    let plural = if minutes == 1 { "" } else { "s" };
    format!("The conversation was saved and paused after {minutes} minute{plural} without activity.")
}

#[cfg(test)]
mod tests {
    use rejoin::{Conversation, Status};

    use super::*;

    fn status(archive: &Archive, id: ConversationId) -> Status {
        archive.conversation(id).unwrap().conversation.status
    }

    #[test]
    fn a_prompt_that_waits_too_long_pauses_and_the_next_key_tells() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let mut events = archive.subscribe().unwrap();
        let watch = IdleWatch::after(Duration::from_millis(5), archive.clone(), id, None);
        events.next(Duration::from_secs(10)).unwrap();
        let paused = status(&archive, id);

        let told = watch.finish();

        let expected = "The conversation was saved and paused after 0 minutes without activity.";
        assert_eq!((paused, told.as_deref()), (Status::Paused, Some(expected)));
        assert_eq!(status(&archive, id), Status::Active);
    }

    #[test]
    fn a_key_in_time_tells_nothing() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let watch = IdleWatch::after(Duration::from_secs(3600), archive.clone(), id, None);

        let told = watch.finish();

        assert_eq!((told, status(&archive, id)), (None, Status::Active));
    }
}
