//! Leaving a conversation: paused or completed, and what a person is told then.

use rejoin::{Archive, ConversationId, EndReason, Ending, Status, StoredConversation};

use crate::error::{Failure, Kind};
use crate::named;
use crate::session::summary::Occasion;
use crate::session::{GRACE, Session};
use crate::ui::fit;

/// Columns of a summary: two or three lines on a usual screen.
const SUMMARY: usize = 240;

/// How a conversation is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopMode {
    /// To be resumed.
    Pause,
    /// Done.
    Complete,
}

/// A conversation that was left.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) stored: StoredConversation,
    /// Where it stopped.
    pub(crate) summary: String,
}

/// Pauses or completes a conversation.
pub(crate) fn stop(archive: &Archive, id: ConversationId, end: StopMode) -> Result<Stopped, Failure> {
    check(&archive.conversation(id)?, end)?;
    match end {
        StopMode::Pause => archive.status().pause(id, EndReason::Ended)?,
        StopMode::Complete => archive.status().complete(id)?,
    };
    stopped(archive, id)
}

impl Session {
    /// Pauses or completes the conversation that is talked in, with what was measured while talking.
    pub(crate) async fn stop(&self, end: StopMode) -> Result<Stopped, Failure> {
        check(&self.archive.conversation(self.conversation())?, end)?;
        self.talk.finish(GRACE).await;
        let ending = match end {
            StopMode::Pause => Ending::Paused(EndReason::Ended),
            StopMode::Complete => Ending::Completed,
        };
        self.talk.recorder().with(move |recorder| recorder.end(ending)).await??;
        self.describe(Occasion::Pause);
        stopped(&self.archive, self.conversation())
    }
}

/// Tells a change that is not allowed in words that lead on.
fn check(stored: &StoredConversation, end: StopMode) -> Result<(), Failure> {
    let from = stored.conversation.status;
    let to = match end {
        StopMode::Pause => Status::Paused,
        StopMode::Complete => Status::Completed,
    };
    if from.may_become(to) {
        return Ok(());
    }
    let (short, title) = (stored.id.short(), named::title(stored));
    Err(Failure::new(Kind::Conflict, format!("\"{title}\" is {} already", from.as_str()))
        .hint(format!("run `rejoin resume {short}` to continue it")))
}

fn stopped(archive: &Archive, id: ConversationId) -> Result<Stopped, Failure> {
    Ok(Stopped { stored: archive.conversation(id)?, summary: synopsis_of(archive, id)? })
}

impl Stopped {
    /// What a person is told; `way_back` is the command that resumes it.
    pub(crate) fn told(&self, way_back: &str) -> String {
        let title = named::title(&self.stored);
        let (done, back) = match self.stored.conversation.status {
            Status::Completed => ("completed", "reopen it"),
            Status::Active | Status::Paused => ("paused", "continue"),
        };
        let mut told = format!(
            "Session saved.\nConversation \"{title}\" has been {done}.\nYou can {back} later with {way_back}\n"
        );
        if !self.summary.is_empty() {
            told += &format!("Summary: {}\n", self.summary);
        }
        told
    }
}

/// Where a conversation stopped: its summary, computed when there is none that is up to date.
pub(crate) fn synopsis_of(archive: &Archive, id: ConversationId) -> Result<String, Failure> {
    Ok(fit::snippet(&archive.marks().synopsis(id)?.text, SUMMARY))
}

/// The same in a list, from what is at hand: no message is read.
pub(crate) fn summary_in_list(stored: &StoredConversation) -> String {
    let at_hand = if stored.last.is_empty() { &stored.first } else { &stored.last };
    written(stored).unwrap_or_else(|| fit::snippet(at_hand, SUMMARY))
}

fn written(stored: &StoredConversation) -> Option<String> {
    let synopsis = stored.conversation.synopsis.as_ref()?;
    Some(fit::snippet(&synopsis.text, SUMMARY)).filter(|text| !text.is_empty())
}
