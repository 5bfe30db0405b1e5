//! `/tree`, `/fork` and `/rewind`: other ways a conversation could go.

use rejoin::view::Compaction;
use rejoin::{Archive, ConversationId, MessageId, Role, SavingState, StoredMessage};
use rejoin_agent::History;

use super::After;
use super::listing::command_line;
use crate::error::{Failure, Kind};
use crate::named;
use crate::prompt::{Keeping, Prompt};
use crate::ui::fit;
use crate::ui::paint::Meaning;

/// Columns of what a message says, inside a sentence.
const SAID: usize = 40;

/// Shows the messages and branches of the conversation.
pub(super) fn tree(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    if prompt.keeping != Keeping::Kept {
        return Err(Failure::usage("show the tree of a conversation that is not saved"));
    }
    let id = prompt.session.conversation().to_string();
    command_line(prompt, &["tree", &id, "--style", "compact"])?;
    Ok(After::Stay)
}

/// Goes on in a new branch, from here or from a message.
pub(super) fn fork(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    let (archive, id) = settled(prompt)?;
    let at = match name {
        "" => head(prompt)?.ok_or_else(nothing_said)?,
        name => named::message_in(&archive, id, name).map_err(in_prompt)?,
    };
    let stored = archive.conversation(id)?;
    let title = format!("{} (fork {})", named::title(&stored), stored.branches.len() + 1);
    let branch = title.clone();
    prompt.move_recorder(move |recorder| recorder.fork(at, &branch))?;
    prompt.line(Meaning::Plain, &format!("You are on the branch \"{title}\". It goes on from {at}"))?;
    Ok(After::Stay)
}

/// Goes back to a message; without a name, to before what was said last, which can then be said differently.
pub(super) fn rewind(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    let (archive, id) = settled(prompt)?;
    let was = head(prompt)?.ok_or_else(nothing_said)?;
    let (to, said) = match name {
        "" => before_last(&archive, id, was)?,
        name => (named::message_in(&archive, id, name).map_err(in_prompt)?, None),
    };
    prompt.move_recorder(move |recorder| recorder.rewind(to))?;
    let message = archive.messages(id, &[to])?.pop();
    let words = message.map(|stored| fit::snippet(&stored.message.text(), SAID)).unwrap_or_default();
    prompt.line(Meaning::Plain, &format!("The next message follows \"{words}\"."))?;
    prompt.dim(&format!("Undo: /rewind {was}"))?;
    if let Some(said) = said {
        prompt.reader.offer(said);
    }
    Ok(After::Stay)
}

/// The message before the last one of the user, and what the user said.
fn before_last(
    archive: &Archive,
    id: ConversationId,
    head: MessageId,
) -> Result<(MessageId, Option<String>), Failure> {
    let path = archive.path(id, Some(head))?;
    let last = last_said(&path).ok_or_else(nothing_said)?;
    let to = last.parent.ok_or_else(|| {
        Failure::new(Kind::NotFound, "go back further than the first message")
            .hint("type /clear to start a new conversation")
    })?;
    Ok((to, Some(last.message.text())))
}

/// The last message of the user on a path. A summary is stored as one, and nobody said it.
pub(super) fn last_said(path: &[StoredMessage]) -> Option<&StoredMessage> {
    path.iter().rev().find(|stored| {
        stored.message.role == Role::User && Compaction::from_message(&stored.message).is_none()
    })
}

/// Where the conversation is kept. What waits in memory has no place in a tree yet.
pub(super) fn settled(prompt: &Prompt<'_>) -> Result<(Archive, ConversationId), Failure> {
    if prompt.session.talk.recorder().state() != SavingState::Saved {
        return Err(Failure::new(Kind::Unavailable, "change branches while messages are not saved"));
    }
    Ok((prompt.session.archive.clone(), prompt.session.conversation()))
}

pub(super) fn head(prompt: &Prompt<'_>) -> Result<Option<MessageId>, Failure> {
    let recording = prompt.session.talk.recorder();
    Ok(prompt.runtime.block_on(recording.with(|recorder| recorder.handle().head()))?)
}

pub(super) fn nothing_said() -> Failure {
    Failure::new(Kind::NotFound, "nothing was said yet")
}

/// At the prompt, messages are found with its own commands.
pub(super) fn in_prompt(failure: Failure) -> Failure {
    failure.hint("type /tree to see the messages, or press Tab")
}

impl Prompt<'_> {
    /// Moves the recorder to another message and goes on from what leads there.
    fn move_recorder(
        &mut self,
        change: impl FnOnce(&mut rejoin::Recorder) -> rejoin::Result<()> + Send + 'static,
    ) -> Result<(), Failure> {
        let moved = self.session.talk.recorder().with(|recorder| {
            change(recorder)?;
            History::load(recorder.handle())
        });
        let history = self.runtime.block_on(moved)??;
        self.session.talk.go_on_from(history);
        Ok(())
    }
}
