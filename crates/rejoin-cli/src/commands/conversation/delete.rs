//! `rejoin conversation delete`: messages, all of those named or none.

use std::io::Write;

use rejoin::store::{Children, Order};
use rejoin::{Archive, ConversationId, ErrorKind, MessageId, Result as Stored};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::named;

/// Delete messages, either all of those named or none
///
/// A message with replies is deleted only with `--cascade`, which deletes the replies too. A message
/// that does not exist counts as deleted. Full IDs are required; a prefix is not accepted.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "rm",
    after_help = "\
Examples:
  rejoin conversation delete k3f9aB
  rejoin conversation delete k3f9aB --cascade
  rejoin conversation delete lisbon/k3f9aB lisbon/Qx7d2M"
)]
pub(crate) struct Args {
    /// The messages, as `ID` or `CONVERSATION/ID`
    #[arg(value_name = "MESSAGE", required = true)]
    ids: Vec<String>,

    /// Also delete all replies
    #[arg(long)]
    cascade: bool,
}

/// What the names on the command line stand for.
struct ChosenMessages {
    conversation: Option<ConversationId>,
    found: Vec<MessageId>,
    missing: Vec<String>,
}

/// What went, and the names of messages that were not there.
#[derive(Serialize)]
struct DeletedMessagesAnswer<'a> {
    deleted: &'a [MessageId],
    missing: &'a [String],
    messages: u64,
    bytes: u64,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let chosen = choose(&archive, &args.ids)?;
    let children = if args.cascade { Children::Remove } else { Children::Refuse };
    let (mut messages, mut bytes) = (0, 0);
    if let Some(conversation) = chosen.conversation {
        let outcome =
            archive.removal().delete_messages(conversation, &chosen.found, children, "deleted by the user");
        let deleted = outcome.map_err(|error| match error.kind() {
            ErrorKind::Conflict => has_children(&archive, conversation, &chosen.found),
            _ => error.into(),
        })?;
        (messages, bytes) = (deleted.messages, deleted.bytes);
    }
    if context.is_json() {
        let ChosenMessages { found, missing, .. } = &chosen;
        return context.answer_json(&DeletedMessagesAnswer { deleted: found, missing, messages, bytes });
    }
    let mut answer = context.answer();
    let extent = if args.cascade { " and all its descendants" } else { "" };
    for id in &chosen.found {
        writeln!(answer, "Successfully deleted message {id}{extent}")?;
    }
    answer.flush()?;
    Ok(())
}

fn choose(archive: &Archive, names: &[String]) -> Result<ChosenMessages, Failure> {
    let mut chosen = ChosenMessages { conversation: None, found: Vec::new(), missing: Vec::new() };
    for name in names {
        let Some((conversation, id)) = find(archive, name)? else {
            chosen.missing.push(name.clone());
            continue;
        };
        if chosen.conversation.is_some_and(|other| other != conversation) {
            return Err(Failure::invalid("messages of several conversations cannot be deleted together")
                .hint("run the command once for each conversation"));
        }
        chosen.conversation = Some(conversation);
        if !chosen.found.contains(&id) {
            chosen.found.push(id);
        }
    }
    Ok(chosen)
}

/// The message of this name, or none when there is no such message.
fn find(archive: &Archive, name: &str) -> Result<Option<(ConversationId, MessageId)>, Failure> {
    let typed = name.rsplit_once('/').map_or(name, |(_, id)| id).trim();
    // What cannot be an id is a slip, and not a message that has gone already.
    typed.parse::<MessageId>()?;
    let (conversation, id) = match named::message(archive, name) {
        Ok((stored, message)) => (stored.id, message.id),
        Err(failure) if failure.is_not_found() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    if id.as_str() != typed {
        return Err(Failure::invalid(format!("`{typed}` is only the beginning of an id"))
            .hint(format!("to delete it, type the full ID {id}")));
    }
    Ok(Some((conversation, id)))
}

/// Says which of the messages is followed by one that would be left behind.
fn has_children(archive: &Archive, conversation: ConversationId, going: &[MessageId]) -> Failure {
    let followed = || -> Stored<Option<MessageId>> {
        let all = archive.reader().all_messages(conversation, Order::OldestFirst, 0, u64::MAX)?;
        let left = all.iter().filter(|message| !going.contains(&message.id));
        Ok(left.filter_map(|message| message.parent).find(|parent| going.contains(parent)))
    };
    match followed() {
        Err(error) => error.into(),
        Ok(found) => {
            let id = found.or(going.first().copied()).map(|id| id.to_string()).unwrap_or_default();
            Failure::new(Kind::Conflict, format!("cannot delete message with ID {id}: message has children"))
                .hint("pass `--cascade` to delete its replies too")
        }
    }
}
