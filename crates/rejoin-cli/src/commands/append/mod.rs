//! `rejoin append`: finished messages from anywhere, acknowledged once they are on disk.

mod line;
mod stream;

use std::io::{self, Read, Write};

use rejoin::{Archive, Block, Conversation, Handle, Message, MessageId, Receipt, Role};

use crate::config::size;
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::git::head_of;
use crate::named;
use crate::redaction;

/// Append messages to a conversation
///
/// Without ID, the message goes to this project's active conversation; if there is none, a new one
/// starts. Without TEXT, the text is read from stdin. A single word is read as an ID; to append it as
/// text, put `--` before it.
///
/// With `--jsonl`, each input line is a message, such as {"role":"user","content":"Where to eat?"}, or
/// an array of messages that form one turn. `content` is text or an array of blocks; `parent`, `label`,
/// `created_at`, `usage` and `extra` are optional. Each line gets one receipt line, printed after its
/// messages are on disk. The first invalid line stops the command; earlier lines stay stored.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin append \"Where should we eat?\"
  rejoin append lisbon --role assistant \"In Alfama.\"
  git diff | rejoin append --label review
  my-agent | rejoin append lisbon --jsonl -")]
pub(crate) struct Args {
    /// The conversation; default: the active one
    id: Option<String>,

    /// The text, in quotes
    #[arg(conflicts_with = "jsonl")]
    text: Option<String>,

    /// The text, even if it looks like an ID or an option
    #[arg(last = true, value_name = "WORDS", conflicts_with_all = ["text", "jsonl"])]
    literal: Option<String>,

    /// The role: system, user, assistant or tool
    #[arg(long, default_value = "user", conflicts_with = "jsonl")]
    role: Role,

    /// The message to append after; default: the last one. If it already has a reply, a new branch
    /// starts
    #[arg(long, value_name = "MESSAGE")]
    parent: Option<String>,

    /// The label of the message
    #[arg(long, conflicts_with = "jsonl")]
    label: Option<String>,

    /// Read one message per line from a file, or from stdin with `-`
    #[arg(long, value_name = "FILE")]
    jsonl: Option<String>,
}

pub(crate) fn run(mut args: Args, context: &Context) -> Result<(), Failure> {
    if let Some(source) = args.jsonl.take() {
        let input = stream::open(&source, context)?;
        let target = AppendTarget::find(args.id.as_deref(), args.parent.as_deref(), context)?;
        return stream::append(input, target, context);
    }
    let (name, text) = tell_apart(args.id, args.literal.or(args.text));
    // A name on its own may have been meant as the text.
    let doubtful = name.clone().filter(|_| text.is_none() && args.parent.is_none());
    let text = match text {
        Some(text) => text,
        None => piped_text(name.as_deref(), context)?,
    };
    let mut message = Message::new(args.role, vec![Block::text(text)]);
    message.label = args.label;
    refuse_empty(&message).map_err(|told| match &doubtful {
        Some(name) => Failure::invalid(told).hint(format!(
            "`{name}` was read as a conversation, and stdin was empty; to add it as text: `rejoin append -- {name}`"
        )),
        None => Failure::invalid(told),
    })?;
    let mut target = AppendTarget::find(name.as_deref(), args.parent.as_deref(), context)
        .map_err(|failure| hint_at_text(failure, doubtful.as_deref()))?;
    let receipt = target.handle(context)?.append(message)?;
    context.refuse_switched()?;
    tell(&receipt, context)
}

/// A single value is a name when it has no white space, and the text otherwise.
fn tell_apart(id: Option<String>, text: Option<String>) -> (Option<String>, Option<String>) {
    match (id, text) {
        (Some(id), None) if id.is_empty() || id.contains(char::is_whitespace) => (None, Some(id)),
        given => given,
    }
}

/// The text from a pipe, less its last line break, as the shell would give it.
fn piped_text(name: Option<&str>, context: &Context) -> Result<String, Failure> {
    if context.surroundings.terminal.stdin {
        let failure = Failure::usage("there is no text to append");
        return Err(match name {
            Some(name) => failure.hint(format!(
                "put it after the id, in quotes; if `{name}` is the text: `rejoin append -- {name}`"
            )),
            None => failure.hint("put it in quotes: `rejoin append \"your message\"`"),
        });
    }
    let limit = context.config.turn_bytes();
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("read the text from the pipe", error))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(format!(
            "the text is larger than `limits.turn_bytes` = {}",
            size::write(limit)
        )));
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|error| Failure::invalid("the text is not valid UTF-8").because(error.utf8_error()))?;
    if text.ends_with('\n') {
        text.truncate(text.len() - if text.ends_with("\r\n") { 2 } else { 1 });
    }
    Ok(text)
}

fn too_large(attempt: String) -> Failure {
    Failure::new(Kind::TooLarge, attempt)
        .hint("split it, or raise the limit: `rejoin config set limits.turn_bytes \"100 MB\"`")
}

/// A message that says nothing is a mistake of whoever sent it.
fn refuse_empty(message: &Message) -> Result<(), &'static str> {
    let is_blank = |block: &Block| matches!(block, Block::Text(block) if block.text.trim().is_empty());
    if message.blocks.iter().all(is_blank) { Err("the message is empty") } else { Ok(()) }
}

fn hint_at_text(failure: Failure, name: Option<&str>) -> Failure {
    match name {
        Some(name) if failure.is_not_found() => failure.hint(format!(
            "run `rejoin list` to see the conversations; to add it as text: `rejoin append -- {name}`"
        )),
        _ => failure,
    }
}

/// Where messages go: a conversation that exists, or one that is started with the first message.
#[derive(Debug)]
struct AppendTarget {
    archive: Archive,
    handle: Option<Handle>,
}

impl AppendTarget {
    /// Finds the conversation by its name or by one of its messages, else the active one.
    fn find(name: Option<&str>, parent: Option<&str>, context: &Context) -> Result<Self, Failure> {
        let archive = context.archive()?;
        let named = name.map(|name| named::conversation(&archive, name)).transpose()?.map(|stored| stored.id);
        let (id, parent) = match (named, parent) {
            (Some(id), Some(parent)) => (Some(id), Some(named::message_in(&archive, id, parent)?)),
            (None, Some(parent)) => {
                let (stored, parent) = named::message(&archive, parent)?;
                (Some(stored.id), Some(parent.id))
            }
            (Some(id), None) => (Some(id), None),
            (None, None) => (context.active_conversation(&archive)?, None),
        };
        let handle = match (id, parent) {
            (Some(id), Some(parent)) => Some(archive.resume_at(id, parent)?),
            (Some(id), None) => Some(archive.resume(id)?),
            (None, _) => None,
        };
        // Another project's conversation can be added to from here without becoming this project's.
        if let Some(id) = id
            && archive.conversation(id)?.conversation.project == Some(context.project_key(&archive)?)
        {
            context.set_active_unsynced(&archive, id)?;
        }
        Ok(Self { archive, handle })
    }

    fn handle(&mut self, context: &Context) -> Result<&mut Handle, Failure> {
        let handle = match self.handle.take() {
            Some(handle) => handle,
            None => {
                let project = context.project(&self.archive)?;
                let git_commit = head_of(context.config.project());
                let conversation = Conversation { git_commit, ..Conversation::new().in_project(project.key) };
                let handle = self.archive.start(conversation)?;
                context.set_active_unsynced(&self.archive, handle.id())?;
                context.note(&format!(
                    "There was no active conversation here, so one was started: {}",
                    handle.id().short()
                ));
                handle
            }
        };
        Ok(self.handle.insert(handle))
    }

    /// The handle at one of the conversation's messages, so that the next one follows it.
    fn handle_at(&mut self, parent: MessageId, context: &Context) -> Result<&mut Handle, Failure> {
        let handle = self.handle(context)?;
        if handle.head() == Some(parent) {
            return self.handle(context);
        }
        let id = handle.id();
        Ok(self.handle.insert(self.archive.resume_at(id, parent)?))
    }
}

/// Tells what was stored: the ids to a pipe, the rest to a person.
fn tell(receipt: &Receipt, context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(receipt);
    }
    if let Some(told) = redaction::told(&receipt.redacted) {
        context.note(&told);
    }
    let mut answer = context.answer();
    for id in &receipt.messages {
        writeln!(answer, "{id}")?;
    }
    answer.flush()?;
    let conversation = receipt.conversation.short();
    if receipt.forked {
        context.note(&format!(
            "It starts a branch next to an earlier reply. To see both: rejoin tree {conversation}"
        ));
    } else {
        context.note(&format!("Stored in conversation {conversation}"));
    }
    Ok(())
}
