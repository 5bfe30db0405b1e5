//! The thread that started a sub-agent: it has a file of its own, and the message in it that asked.

use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::codex::paths;
use crate::formats::codex::read::{conversation, first, read_thread};
use crate::formats::{Piece, Reading, SourceConversation, SourceMessage};
use crate::model::{Role, Time};

/// So many messages after a run began are looked at for its name; a tool answers soon.
const SOON: usize = 16;

/// Tells of the thread that started this one, without its messages, and finds the message that asked for it.
///
/// The thread is known to the import under the same name when its own file is read. A file that is missing or broken
/// is its own matter.
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
        if let Piece::Message(found) = piece {
            asked.message(*found);
        }
        // An error is how a reading ends before its end.
        if asked.is_done() { Err(Error::invalid("it was found")) } else { Ok(()) }
    };
    // What can be read of it is enough.
    let _ = read_thread(&file, &meta, title.clone(), &mut Reading::new(reading.limits(), &mut look));
    parent.message = asked.named.or(asked.before);
    let above = SourceConversation { parent: None, ..conversation(&file, &meta, title)? };
    reading.give(Piece::Conversation(Box::new(above)))
}

/// Looks for the message that asked for a run.
struct CallerSearch<'a> {
    run: &'a str,
    started: Time,
    /// The newest reply so far.
    newest: Option<String>,
    /// The newest reply when the run began.
    before: Option<String>,
    /// The reply before the first message that names the run: a tool answers with the name of what it has started.
    named: Option<String>,
    /// How many messages came after the run had begun.
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
