//! Which conversation a talk goes on with.

use std::collections::HashSet;

use rejoin::store::Order;
use rejoin::view::Compaction;
use rejoin::{
    Archive, ConversationId, ErrorKind, Handle, List, MessageId, Named, Role, StoredConversation,
    StoredMessage, Time,
};

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::named;
use crate::session::Start;

/// The kind of conversations that a tool holds on its own; nobody comes back to them by chance.
const OF_TOOLS: &str = "subagent";

/// How many messages are looked through at once for the newest answer.
const PAGE: u64 = 50;

/// A conversation that is taken up again.
#[derive(Debug)]
pub(super) struct ResumedConversation {
    pub(super) stored: StoredConversation,
    pub(super) handle: Handle,
}

/// The conversation to go on with; none means a new one.
pub(super) fn choose(
    context: &Context,
    archive: &Archive,
    start: &Start,
) -> Result<Option<ResumedConversation>, Failure> {
    match start {
        Start::New | Start::Incognito => Ok(None),
        Start::Conversation(name) => at_head(archive, conversation(archive, name)?).map(Some),
        Start::Message(name) => {
            let (stored, message) = named::message(archive, name)?;
            at_message(archive, stored, message.id).map(Some)
        }
        Start::Latest => match newest(context, archive)? {
            Some(stored) => at_head(archive, stored.id).map(Some),
            None => Ok(None),
        },
        Start::LatestMessage => match newest_answer(context, archive)? {
            Some((stored, message)) if is_summarised_since(archive, &stored, message)? => {
                at_head(archive, stored.id).map(Some)
            }
            Some((stored, message)) => at_message(archive, stored, message).map(Some),
            None => Ok(None),
        },
    }
}

/// True when only summaries follow a message: whoever goes on from it means to go on with them.
fn is_summarised_since(
    archive: &Archive,
    stored: &StoredConversation,
    message: MessageId,
) -> Result<bool, Failure> {
    let path = archive.path(stored.id, None).map_err(|error| damaged(stored.id, error))?;
    let since = path.iter().rev().take_while(|said| said.id != message).count();
    let is_summary = |said: &StoredMessage| Compaction::from_message(&said.message).is_some();
    Ok(since > 0 && since < path.len() && path[path.len() - since..].iter().all(is_summary))
}

/// Finds a conversation that was named. One that does not exist is told in fixed words.
pub(crate) fn conversation(archive: &Archive, name: &str) -> Result<ConversationId, Failure> {
    match named::find(archive, name) {
        Ok(Named::Conversation(id)) => Ok(id),
        Ok(Named::Message(id, message)) => {
            Err(Failure::invalid(format!("`{message}` is a message; a conversation is needed here"))
                .hint(format!("run `rejoin -c {message}`, or `rejoin -r {}`", id.short())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(missing(name)),
        Err(error) => Err(named::explain(archive, name, error)),
    }
}

/// The failure of a conversation that does not exist.
pub(crate) fn missing(name: &str) -> Failure {
    Failure::not_found(format!("Conversation {name} not found. Run: rejoin list"))
        .hint("run `rejoin list` to see the conversations")
        .worded(format!("✗ Conversation '{name}' not found\nList available: rejoin list"))
}

/// The failure of a conversation that is there and cannot be read.
pub(super) fn damaged(id: ConversationId, error: rejoin::Error) -> Failure {
    if error.kind() != ErrorKind::Corrupt {
        return error.into();
    }
    let short = id.short();
    let failure = Failure::from(error);
    let detail = failure.summary();
    Failure::new(Kind::Corrupt, format!("Conversation {short} has corrupted data: {detail}"))
        .hint(format!("run `rejoin verify {short}` to see what is still readable"))
        .worded(format!(
            "✗ Conversation '{short}' has corrupted data\n{detail}\nSee what is still readable: rejoin verify {short}"
        ))
}

fn at_head(archive: &Archive, id: ConversationId) -> Result<ResumedConversation, Failure> {
    let handle = archive.resume(id).map_err(|error| damaged(id, error))?;
    Ok(ResumedConversation { stored: archive.conversation(id)?, handle })
}

fn at_message(
    archive: &Archive,
    stored: StoredConversation,
    message: MessageId,
) -> Result<ResumedConversation, Failure> {
    let handle = archive.resume_at(stored.id, message).map_err(|error| damaged(stored.id, error))?;
    Ok(ResumedConversation { stored, handle })
}

/// The conversation that was last used here. Imports are no use; they count where nothing was ever used.
fn newest(context: &Context, archive: &Archive) -> Result<Option<StoredConversation>, Failure> {
    if let Some(resumed) = resumed_import(context, archive)? {
        return Ok(Some(resumed));
    }
    let mut imported = None;
    let mut list = List { limit: PAGE as usize, ..of_project(context, archive)? };
    loop {
        let page = archive.list(&list)?;
        for stored in page.items.into_iter().filter(is_of_people) {
            if archive.imports().was_used_here(&stored)? {
                return Ok(Some(stored));
            }
            imported.get_or_insert(stored);
        }
        match page.next_cursor {
            Some(cursor) => list.cursor = Some(cursor),
            None => return Ok(imported),
        }
    }
}

/// An imported conversation that was resumed here, and not written to yet.
fn resumed_import(context: &Context, archive: &Archive) -> Result<Option<StoredConversation>, Failure> {
    let Some(active) = context.active_conversation(archive)? else { return Ok(None) };
    let stored = match archive.conversation(active) {
        // The list passes over it, and names it.
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        stored => stored?,
    };
    let is_resumed = is_of_people(&stored) && !archive.imports().was_used_here(&stored)?;
    Ok(is_resumed.then_some(stored))
}

fn of_project(context: &Context, archive: &Archive) -> Result<List, Failure> {
    Ok(List { project: Some(context.project_key(archive)?), ..List::default() })
}

/// Whether people talk in it, so that it can be "the newest".
pub(crate) fn is_of_people(stored: &StoredConversation) -> bool {
    let kind = &stored.conversation.kind;
    kind != OF_TOOLS && !kind.starts_with(&format!("{OF_TOOLS}:"))
}

/// The newest message of the project that a model or a tool said, in conversations that were used here. Those
/// of imports count where nothing was ever used.
fn newest_answer(context: &Context, archive: &Archive) -> Result<Option<ResumePoint>, Failure> {
    if let Some(stored) = resumed_import(context, archive)?
        && let Some((_, message)) = last_answer(archive, &stored)?
    {
        return Ok(Some((stored, message)));
    }
    let list = of_project(context, archive)?;
    let mut is_any_used = false;
    let used = newest_among(archive, list.clone(), &mut |stored| {
        let is_used = archive.imports().was_used_here(stored)?;
        is_any_used |= is_used;
        Ok(is_used)
    })?;
    if is_any_used { Ok(used) } else { newest_among(archive, list, &mut |_| Ok(true)) }
}

/// A message to go on from, and its conversation.
type ResumePoint = (StoredConversation, MessageId);

fn newest_among(
    archive: &Archive,
    list: List,
    admits: &mut dyn FnMut(&StoredConversation) -> Result<bool, Failure>,
) -> Result<Option<ResumePoint>, Failure> {
    let mut list = List { limit: PAGE as usize, ..list };
    let mut best: Option<(Time, ResumePoint)> = None;
    loop {
        let page = archive.list(&list)?;
        for stored in page.items.into_iter().filter(is_of_people) {
            // What was last active before the best answer was given cannot hold a newer one.
            if best.as_ref().is_some_and(|(time, _)| stored.last_active_at < *time) {
                return Ok(best.map(|(_, answer)| answer));
            }
            if !admits(&stored)? {
                continue;
            }
            let Some((time, message)) = last_answer(archive, &stored)? else { continue };
            let time = plausible(time, &stored, archive.now());
            if best.as_ref().is_none_or(|(known, _)| time > *known) {
                best = Some((time, (stored, message)));
            }
        }
        match page.next_cursor {
            Some(cursor) => list.cursor = Some(cursor),
            None => return Ok(best.map(|(_, answer)| answer)),
        }
    }
}

/// When an answer was given, as far as that can be believed: an imported one may carry any
/// time, and a clock may have been wrong.
fn plausible(time: Time, stored: &StoredConversation, now: Time) -> Time {
    let is_wrong = stored.last_active_at.is_far_ahead_of(now);
    if is_wrong { Time::default() } else { time.min(stored.last_active_at) }
}

/// The newest answer of a conversation. One that an import brought counts on the way to the head only: an
/// import does not decide where a talk goes on, and does not move the head.
fn last_answer(archive: &Archive, stored: &StoredConversation) -> Result<Option<(Time, MessageId)>, Failure> {
    let read = |error| damaged(stored.id, error);
    let mut path: Option<HashSet<MessageId>> = None;
    let mut offset = 0;
    loop {
        let messages =
            archive.reader().all_messages(stored.id, Order::NewestFirst, offset, PAGE).map_err(read)?;
        for said in messages.iter().filter(|said| matches!(said.message.role, Role::Assistant | Role::Tool)) {
            if archive.imports().was_imported(stored.id, said)? {
                let path = match &mut path {
                    Some(path) => path,
                    None => path.insert(path_of(archive, stored.id)?),
                };
                if !path.contains(&said.id) {
                    continue;
                }
            }
            return Ok(Some((said.message.created_at.unwrap_or(stored.created_at), said.id)));
        }
        if messages.is_empty() {
            return Ok(None);
        }
        offset += PAGE;
    }
}

fn path_of(archive: &Archive, id: ConversationId) -> Result<HashSet<MessageId>, Failure> {
    let path = archive.path(id, None).map_err(|error| damaged(id, error))?;
    Ok(path.into_iter().map(|said| said.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_from_the_future_is_not_the_newest() {
        let archive = Archive::open("memory:").unwrap();
        let id = archive.start(rejoin::Conversation::new()).unwrap().id();
        let (stored, now) = (archive.conversation(id).unwrap(), Time::now());
        let far = now.plus_micros(1_000_000_000_000);
        let pinned = StoredConversation { last_active_at: far, ..stored.clone() };

        let times = [
            plausible(far, &stored, now),
            plausible(far, &pinned, now),
            plausible(Time::default(), &stored, now),
        ];

        assert_eq!(times, [stored.last_active_at, Time::default(), Time::default()]);
    }
}
