//! Finds what a person named: a conversation or a message, and says what to do when it is not there.

use rejoin::store::Found;
use rejoin::{
    Archive, Branch, ConversationId, Error, ErrorKind, List, MessageId, Named, Origin, PlainText,
    StoredConversation, StoredMessage,
};

use crate::error::{Failure, Kind};
use crate::ui::{clean, fit};

/// How many candidates for an ambiguous name are shown.
const CANDIDATES: usize = 5;

/// Columns of a title inside a sentence; the id beside it tells the rest.
const TITLE: usize = 60;

/// The day in a time as ISO 8601 writes it, such as `2025-11-22`.
const DAY: usize = 10;

/// What a name stands for: a conversation or a message.
pub(crate) fn resolve(archive: &Archive, name: &str) -> Result<Named, Failure> {
    find(archive, name).map_err(|error| explain(archive, name, error))
}

/// What a name stands for, with the library's error. An imported conversation also has the id of its source.
pub(crate) fn find(archive: &Archive, name: &str) -> rejoin::Result<Named> {
    match archive.names().resolve(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => find_imported(archive, name.trim(), error),
        outcome => outcome,
    }
}

/// The conversation with this id at its source, or a message of it; otherwise the error.
fn find_imported(archive: &Archive, name: &str, error: Error) -> rejoin::Result<Named> {
    if let Some(id) = only(name, &imported(archive, name))? {
        return Ok(Named::Conversation(id));
    }
    let Some((of, message)) = name.rsplit_once('/') else { return Err(error) };
    match only(of, &imported(archive, of))? {
        Some(id) => archive.names().resolve(&format!("{id}/{message}")),
        None => Err(error),
    }
}

fn only(name: &str, found: &[StoredConversation]) -> rejoin::Result<Option<ConversationId>> {
    match found {
        [] => Ok(None),
        [only] => Ok(Some(only.id)),
        several => {
            let told = format!("`{}` could be any of {}", clean::line(name), several.len());
            Err(Error::new(ErrorKind::Invalid, told))
        }
    }
}

/// The conversations that have this id in the program they were imported from. Folders above may be named:
/// `2025-11-22/001-lisbon`.
///
/// No store has an index of these ids, so all conversations are listed, for names that are nothing else.
pub(crate) fn imported(archive: &Archive, name: &str) -> Vec<StoredConversation> {
    let (folder, id) = name.rsplit_once('/').map_or((None, name), |(folder, id)| (Some(folder), id));
    let mut found = Vec::new();
    let listed = archive.reader().each_conversation(&List::default(), &mut |stored| {
        let origin = stored.conversation.origin.as_ref();
        let is_meant = origin.is_some_and(|origin| {
            origin.source_id == name
                || (origin.source_id == id && folder.is_some_and(|folder| lies_in(origin, folder)))
        });
        if is_meant {
            found.push(stored);
        }
        Ok(())
    });
    listed.map(|()| found).unwrap_or_default()
}

/// True when the conversation was read from a file or folder in this folder.
fn lies_in(origin: &Origin, folder: &str) -> bool {
    let path = origin.source_path.as_deref().unwrap_or_default();
    format!("/{path}").contains(&format!("/{folder}/"))
}

/// The conversation that a name stands for, with the library's error.
pub(crate) fn find_conversation(archive: &Archive, name: &str) -> rejoin::Result<ConversationId> {
    match find(archive, name)? {
        Named::Conversation(id) => Ok(id),
        // The library says why it is none.
        Named::Message(..) => archive.names().conversation(name),
    }
}

/// The conversation with this name.
pub(crate) fn conversation(archive: &Archive, name: &str) -> Result<StoredConversation, Failure> {
    match resolve(archive, name)? {
        Named::Conversation(id) => Ok(archive.conversation(id)?),
        Named::Message(id, message) => {
            Err(Failure::invalid(format!("`{message}` is a message; a conversation is needed here"))
                .hint(format!("it is a message of `{}`", id.short())))
        }
    }
}

/// The message with this name, and its conversation.
pub(crate) fn message(archive: &Archive, name: &str) -> Result<(StoredConversation, StoredMessage), Failure> {
    match resolve(archive, name)? {
        Named::Message(id, message) => {
            // Where reads pass over what is damaged, one that is asked for by
            // its id must be told all the same.
            let found = archive.messages(id, &[message])?.pop();
            let damaged = || archive.reader().passed_over().into_iter().next().unwrap_or_default();
            let found = found.ok_or_else(|| Failure::new(Kind::Corrupt, damaged()))?;
            Ok((archive.conversation(id)?, found))
        }
        Named::Conversation(id) => {
            let short = id.short();
            Err(Failure::invalid(format!("`{short}` is a conversation; a message is needed here"))
                .hint(format!("run `rejoin tree {short}` to see its messages")))
        }
    }
}

/// The message of this conversation that a name stands for.
pub(crate) fn message_in(
    archive: &Archive,
    conversation: ConversationId,
    name: &str,
) -> Result<MessageId, Failure> {
    // A name that says its conversation itself is taken as it is, and must say this one.
    let full = if name.contains('/') { name.to_owned() } else { format!("{conversation}/{name}") };
    let (found, message) = message(archive, &full)?;
    if found.id != conversation {
        let (short, id) = (conversation.short(), message.id);
        return Err(Failure::not_found(format!("no message `{id}` in conversation `{short}`"))
            .hint(format!("it belongs to conversation {}", found.id.short())));
    }
    Ok(message.id)
}

/// Tells why a name was not understood, and what to type instead.
pub(crate) fn explain(archive: &Archive, name: &str, error: Error) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    if kind == ErrorKind::Invalid
        && let Some(same) = same_source(archive, name.trim())
    {
        return failure.hint(format!("use its own ID: {same}"));
    }
    match (kind, candidates(archive, name)) {
        (ErrorKind::Invalid, Some(candidates)) => failure.hint(format!("type more characters: {candidates}")),
        (ErrorKind::NotFound, _) => {
            failure.or_hint("run `rejoin list` to see conversations, `rejoin tree` for messages")
        }
        (ErrorKind::Invalid, None) => {
            failure.or_hint("run `rejoin list` for IDs; the first characters are enough")
        }
        _ => failure,
    }
}

/// Finds a branch by its id or by its name, in any spelling that makes the same words.
pub(crate) fn branch<'a>(stored: &'a StoredConversation, name: &str) -> Result<&'a Branch, Failure> {
    let by_id = stored.branches.iter().find(|branch| branch.id.as_str() == name);
    let called = |branch: &&Branch| {
        branch.title == name
            || (!PlainText::slug(name).is_empty() && PlainText::slug(&branch.title) == PlainText::slug(name))
    };
    let by_name: Vec<&Branch> = stored.branches.iter().filter(called).collect();
    match (by_id, by_name.as_slice()) {
        (Some(branch), _) | (None, &[branch]) => Ok(branch),
        (None, []) => {
            let hint = match names(&stored.branches) {
                names if names.is_empty() => {
                    format!("it has no named branches; run `rejoin tree {}`", stored.id.short())
                }
                names => format!("its branches are {names}"),
            };
            Err(Failure::not_found(format!("no branch `{}`", clean::line(name))).hint(hint))
        }
        (None, several) => {
            Err(Failure::invalid(format!("several branches are called `{}`", clean::line(name)))
                .hint(format!("name it by its id: {}", names(several.iter().copied()))))
        }
    }
}

fn names<'a>(branches: impl IntoIterator<Item = &'a Branch>) -> String {
    let named = branches.into_iter().map(|branch| format!("{} ({})", clean::line(&branch.title), branch.id));
    named.collect::<Vec<_>>().join(", ")
}

/// The title of a conversation, safe and short enough to stand in a sentence.
pub(crate) fn title(stored: &StoredConversation) -> String {
    fit::snippet(stored.title(), TITLE)
}

/// The title of a conversation as it is, for a question. Only `consent` may show it.
pub(crate) fn title_as_it_is(stored: &StoredConversation) -> String {
    let title = stored.title();
    match title.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}...", &title[..end]),
        None => title.to_owned(),
    }
}

/// What a name could stand for, if that is more than one thing.
fn candidates(archive: &Archive, name: &str) -> Option<String> {
    let found = archive.names().find(name.trim(), CANDIDATES + 1).ok().filter(|found| found.len() > 1)?;
    let told: Vec<String> = found.iter().take(CANDIDATES).map(|found| tell(archive, found)).collect();
    let more = if found.len() > CANDIDATES { ", ..." } else { "" };
    Some(format!("{}{more}", told.join(", ")))
}

/// The conversations that share an id of a source, each with its title and the day it began.
fn same_source(archive: &Archive, name: &str) -> Option<String> {
    let found = imported(archive, name);
    let told = |stored: &StoredConversation| {
        let began = stored.created_at.to_string();
        let day = began.get(..DAY).unwrap_or_default();
        format!("`{}` ({}, {day})", stored.id.short(), title(stored))
    };
    let shown: Vec<String> = found.iter().take(CANDIDATES).map(told).collect();
    let more = if found.len() > CANDIDATES { ", ..." } else { "" };
    (found.len() > 1).then(|| format!("{}{more}", shown.join(", ")))
}

fn tell(archive: &Archive, found: &Found) -> String {
    let title = archive.conversation(found.conversation).map(|stored| title(&stored)).unwrap_or_default();
    // Two conversations may share a short id, in which case only the long one tells them apart.
    let is_shared = archive
        .names()
        .find(found.conversation.short().as_str(), 2)
        .is_ok_and(|same| same.iter().filter(|same| same.message.is_none()).count() > 1);
    let conversation =
        if is_shared { found.conversation.to_string() } else { found.conversation.short().to_string() };
    match found.message {
        Some(message) => format!("`{conversation}/{message}` ({title})"),
        None => format!("`{conversation}` ({title})"),
    }
}
