//! Finds the thread that started a sub-agent, and the message with the call.

use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::codex::paths;
use crate::formats::codex::read::{conversation, first, read_thread};
use crate::formats::{Reading, SourceConversation, SourceMessage, SourcePiece};
use crate::model::{Role, Time};

/// How many messages after the start of a run are searched for its name; a tool answers quickly.
const SOON: usize = 16;

/// Announces the thread that started this one, without its messages, and finds the message with the call.
///
/// The import knows that thread by the same id once it reads the thread's own file. If that file is missing
/// or damaged, it is reported there.
pub(super) fn tell_parent(
    path: &Path,
    run: &mut SourceConversation,
    reading: &mut Reading<'_>,
) -> Result<()> {
    let Some(parent) = &mut run.parent else { return Ok(()) };
    let Some(file) = paths::rollout(path, &parent.conversation)?.filter(|file| file != path) else {
        return Ok(());
    };
    let Ok(Some((meta, title))) = first(&file, reading) else { return Ok(()) };
    if meta.id != parent.conversation {
        return Ok(());
    }
    let mut asked = CallerSearch {
        run: &run.id,
        started: run.created_at,
        newest: None,
        before: None,
        named: None,
        later: 0,
    };
    let mut look = |piece| {
        if let SourcePiece::Message(found) = piece {
            asked.message(*found);
        }
        // An error is the only way to end a pass early.
        if asked.is_done() { Err(Error::invalid("it was found")) } else { Ok(()) }
    };
    // Whatever was read of it is enough.
    let _ = read_thread(&file, &meta, title.clone(), &mut Reading::new(reading.limits(), &mut look));
    parent.message = asked.named.or(asked.before);
    let above = SourceConversation { parent: None, ..conversation(&file, &meta, title)? };
    reading.give(SourcePiece::Conversation(Box::new(above)))
}

/// Searches for the message that started a run.
struct CallerSearch<'a> {
    run: &'a str,
    started: Time,
    /// The newest reply so far.
    newest: Option<String>,
    /// The newest reply when the run started.
    before: Option<String>,
    /// The reply before the first message that names the run: a tool returns the name of what it started.
    named: Option<String>,
    /// How many messages followed the start of the run.
    later: usize,
}

impl CallerSearch<'_> {
    fn message(&mut self, found: SourceMessage) {
        let is_later = found.message.created_at.is_some_and(|time| time > self.started);
        let is_reply = found.message.role == Role::Assistant;
        if is_reply {
            if found.message.created_at.is_some_and(|time| time <= self.started) {
                self.before = Some(found.id.clone());
            }
            self.newest = Some(found.id);
        }
        if self.named.is_none() && found.source.contains(self.run) {
            self.named.clone_from(&self.newest);
        }
        self.later += usize::from(is_later);
    }

    const fn is_done(&self) -> bool {
        self.named.is_some() || self.later >= SOON
    }
}
