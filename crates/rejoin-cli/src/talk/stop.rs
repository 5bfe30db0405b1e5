//! Leaving a conversation: paused or completed, and what a person is told then.

use rejoin::{Archive, ConversationId, Role, Status, StoredConversation, preview};

use crate::error::{Failure, Kind};
use crate::named;
use crate::ui::fit;

/// Columns of a summary: two or three lines on a usual screen.
const SUMMARY: usize = 240;

/// How a conversation is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// To be resumed.
    Pause,
    /// Done.
    Complete,
}

/// Why a conversation is no longer talked in; kept beside its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Somebody said so.
    Ended,
    /// Nothing was said for long enough.
    AutoPaused,
}

/// A conversation that was left.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) stored: StoredConversation,
    /// Where it stopped.
    pub(crate) summary: String,
}

/// Pauses or completes a conversation.
pub(crate) fn stop(archive: &Archive, id: ConversationId, end: End) -> Result<Stopped, Failure> {
    let to = match end {
        End::Pause => Status::Paused,
        End::Complete => Status::Completed,
    };
    change(archive, id, to, Some(Reason::Ended))?;
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

/// Changes a status where that is allowed. A completed conversation is opened again with [`reopen`] only.
pub(crate) fn change(
    archive: &Archive,
    id: ConversationId,
    to: Status,
    reason: Option<Reason>,
) -> Result<(), Failure> {
    let stored = archive.conversation(id)?;
    let from = stored.conversation.status;
    if !is_allowed(from, to) {
        let (short, title) = (id.short(), named::title(&stored));
        return Err(Failure::new(Kind::Conflict, format!("\"{title}\" is {} already", from.as_str()))
            .hint(format!("run `rejoin resume {short}` to go on with it")));
    }
    set(archive, id, to, reason)
}

/// Opens a completed conversation again.
pub(crate) fn reopen(archive: &Archive, id: ConversationId) -> Result<(), Failure> {
    set(archive, id, Status::Active, None)
}

fn is_allowed(from: Status, to: Status) -> bool {
    matches!(
        (from, to),
        (Status::Active, Status::Paused | Status::Completed)
            | (Status::Paused, Status::Active | Status::Completed)
    )
}

fn set(archive: &Archive, id: ConversationId, to: Status, reason: Option<Reason>) -> Result<(), Failure> {
    let reason = reason.map(|reason| match reason {
        Reason::Ended => "ended",
        Reason::AutoPaused => "auto-paused",
    });
    archive.update(id, |header| {
        header.status = to;
        let reason = rejoin::Json::of(&reason).expect("a word is JSON");
        header.extra.set("end_reason", reason);
    })?;
    Ok(())
}

/// Where a conversation stopped: its summary, or else its last words.
pub(crate) fn synopsis_of(archive: &Archive, id: ConversationId) -> Result<String, Failure> {
    let stored = archive.conversation(id)?;
    if let Some(text) = written(&stored) {
        return Ok(text);
    }
    let path = archive.path(id, None)?;
    let last = |role| {
        let found = path.iter().rev().find(|said| said.message.role == role)?;
        Some(preview(&found.message.text())).filter(|text| !text.is_empty())
    };
    let told = match (last(Role::User), last(Role::Assistant)) {
        (None, None) => String::new(),
        (Some(said), None) => format!("You said: {said}"),
        (None, Some(answer)) => format!("The last answer: {answer}"),
        (Some(said), Some(answer)) => format!("You said: {said} The last answer: {answer}"),
    };
    Ok(fit::snippet(&told, SUMMARY))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_transitions_are_allowed_and_no_other() {
        let pairs = Status::ALL.into_iter().flat_map(|from| Status::ALL.map(|to| (from, to)));

        let allowed: Vec<_> = pairs.filter(|(from, to)| is_allowed(*from, *to)).collect();

        let expected = [
            (Status::Active, Status::Paused),
            (Status::Active, Status::Completed),
            (Status::Paused, Status::Active),
            (Status::Paused, Status::Completed),
        ];
        assert_eq!(allowed, expected);
    }
}
