//! Conversations that nobody talks in: after a while they are paused, also when nobody was left to pause them.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rejoin::{Archive, ConversationId, Status, StoredConversation, Time};

use crate::context::Context;
use crate::talk::stop::{self, Reason};

impl Context {
    /// A conversation as it stands now. One that is left without a word for long enough counts as paused, so a
    /// process that was killed does not leave it active for ever. Nothing is written.
    pub(crate) fn as_of(&self, now: Time, mut stored: StoredConversation) -> StoredConversation {
        let idle = now.as_micros().saturating_sub(stored.last_active_at.as_micros());
        let limit = i64::try_from(self.config.auto_pause().as_micros()).unwrap_or(i64::MAX);
        if stored.conversation.status == Status::Active && idle >= limit {
            stored.conversation.status = Status::Paused;
        }
        stored
    }
}

/// Pauses a conversation while its prompt waits, and remembers that it did.
#[derive(Debug)]
pub(crate) struct Watch {
    keys: mpsc::Sender<mpsc::Sender<bool>>,
    limit: Duration,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Waits for the time that the configuration sets.
    pub(crate) fn start(context: &Context, archive: &Archive, id: ConversationId) -> Self {
        Self::after(context.config.auto_pause(), archive.clone(), id)
    }

    fn after(limit: Duration, archive: Archive, id: ConversationId) -> Self {
        let (keys, inbox) = mpsc::channel();
        let thread = thread::spawn(move || wait(&inbox, limit, &archive, id));
        Self { keys, limit, thread: Some(thread) }
    }

    /// Starts the time anew. When the conversation was paused meanwhile, it is active again, and this is what to say.
    pub(crate) fn touch(&self) -> Option<String> {
        let (answer, answered) = mpsc::channel();
        self.keys.send(answer).ok()?;
        let was_paused = answered.recv().unwrap_or(false);
        was_paused.then(|| notice(self.limit))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Ends the thread, which waits for keys.
        let (keys, _) = mpsc::channel();
        self.keys = keys;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn wait(inbox: &mpsc::Receiver<mpsc::Sender<bool>>, limit: Duration, archive: &Archive, id: ConversationId) {
    let mut is_paused = false;
    loop {
        match inbox.recv_timeout(limit) {
            Ok(answer) => {
                // Another process may have completed it meanwhile; then it stays so until somebody asks.
                let is_back = is_paused && stop::change(archive, id, Status::Active, None).is_ok();
                is_paused = false;
                let _ = answer.send(is_back);
            }
            Err(RecvTimeoutError::Timeout) if !is_paused => {
                is_paused = stop::change(archive, id, Status::Paused, Some(Reason::AutoPaused)).is_ok();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn notice(limit: Duration) -> String {
    let minutes = limit.as_secs() / 60;
    let plural = if minutes == 1 { "" } else { "s" };
    format!("The conversation was saved and paused after {minutes} minute{plural} without activity.")
}

#[cfg(test)]
mod tests {
    use rejoin::Conversation;

    use super::*;

    fn status(archive: &Archive, id: ConversationId) -> Status {
        archive.conversation(id).unwrap().conversation.status
    }

    #[test]
    fn a_prompt_that_waits_too_long_pauses_and_the_next_key_tells() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let mut events = archive.subscribe().unwrap();
        let watch = Watch::after(Duration::from_millis(5), archive.clone(), id);
        events.next(Duration::from_secs(10)).unwrap();
        let paused = status(&archive, id);

        let told = watch.touch();

        let expected = "The conversation was saved and paused after 0 minutes without activity.";
        assert_eq!((paused, told.as_deref()), (Status::Paused, Some(expected)));
    }

    #[test]
    fn a_key_in_time_tells_nothing() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let watch = Watch::after(Duration::from_secs(3600), archive.clone(), id);

        let told = watch.touch();

        assert_eq!((told, status(&archive, id)), (None, Status::Active));
    }
}
