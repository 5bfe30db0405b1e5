//! Conversations that nobody talks in: after a while they are paused, also when
//! nobody was left to pause them.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rejoin::{Archive, ConversationId, EndReason, StoredConversation, Time};

use crate::context::Context;
use crate::session::summary::{Describing, Occasion};
use crate::session_files::FolderWriter;

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
    /// What is to be told, if the conversation was paused.
    waiting: JoinHandle<Option<Vec<String>>>,
}

/// What is done besides once a conversation is paused.
#[derive(Debug, Default)]
struct PauseWork {
    describing: Option<Describing>,
    files: Option<FolderWriter>,
}

impl IdleWatch {
    /// Begins to wait, as long as the configuration says.
    pub(crate) fn start(context: &Context, archive: &Archive, id: ConversationId) -> Self {
        let besides =
            PauseWork { describing: Describing::of(context), files: FolderWriter::of(context, archive, id) };
        Self::after(context.config.auto_pause(), archive.clone(), id, besides)
    }

    fn after(limit: Duration, archive: Archive, id: ConversationId, besides: PauseWork) -> Self {
        let (typed, inbox) = mpsc::channel();
        let waiting = thread::spawn(move || {
            let is_late = inbox.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            let is_paused = is_late && archive.status().pause(id, EndReason::AutoPaused).is_ok();
            let mut told = vec![notice(limit)];
            if is_paused {
                if let Some(describing) = besides.describing {
                    describing.start_if_due(&archive, id, Occasion::Pause);
                }
                told.extend(besides.files.and_then(|files| files.write(&archive)).map(|why| why.message));
            }
            let _ = inbox.recv();
            // Another process may have completed it meanwhile; then it stays so until somebody asks.
            (is_paused && archive.status().activate(id).is_ok()).then_some(told)
        });
        Self { typed, waiting }
    }

    /// Somebody typed. When the conversation was paused, it is active again, and these lines say so.
    pub(crate) fn finish(self) -> Vec<String> {
        let Self { typed, waiting } = self;
        drop(typed);
        waiting.join().ok().flatten().unwrap_or_default()
    }
}

fn notice(limit: Duration) -> String {
    let minutes = limit.as_secs() / 60;
    let plural = if minutes == 1 { "" } else { "s" };
    format!("The conversation was saved and paused after {minutes} minute{plural} without activity.")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rejoin::{Conversation, Message, Status};

    use super::*;

    fn status(archive: &Archive, id: ConversationId) -> Status {
        archive.conversation(id).unwrap().conversation.status
    }

    #[test]
    fn a_prompt_that_waits_too_long_pauses_and_the_next_key_tells() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let mut events = archive.subscribe().unwrap();
        let watch = IdleWatch::after(Duration::from_millis(5), archive.clone(), id, PauseWork::default());
        events.next(Duration::from_secs(10)).unwrap();
        let paused = status(&archive, id);

        let told = watch.finish();

        let expected = "The conversation was saved and paused after 0 minutes without activity.";
        assert_eq!((paused, told), (Status::Paused, vec![expected.to_owned()]));
        assert_eq!(status(&archive, id), Status::Active);
    }

    #[test]
    fn a_pause_writes_the_session_files_when_they_are_wanted() {
        let (archive, project) = (Archive::open("memory:").unwrap(), tempfile::tempdir().unwrap());
        let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
        trip.append(Message::user("Where to eat?")).unwrap();
        let mut events = archive.subscribe().unwrap();
        let files = Some(FolderWriter::below(project.path(), trip.id()));
        let besides = PauseWork { files, ..PauseWork::default() };
        let watch = IdleWatch::after(Duration::from_millis(5), archive.clone(), trip.id(), besides);
        events.next(Duration::from_secs(10)).unwrap();

        let told = watch.finish();

        let day = fs::read_dir(project.path().join("conversations")).unwrap().next().unwrap().unwrap().path();
        let folder = fs::read_dir(day).unwrap().next().unwrap().unwrap().path();
        let state = fs::read_to_string(folder.join(".session/session.json")).unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            state.contains("\"status\":\"paused\"") || state.contains("\"status\": \"paused\""),
            "{state}"
        );
    }

    #[test]
    fn a_key_in_time_tells_nothing() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
        let watch = IdleWatch::after(Duration::from_secs(3600), archive.clone(), id, PauseWork::default());

        let told = watch.finish();

        assert_eq!((told, status(&archive, id)), (Vec::new(), Status::Active));
    }
}
