//! `rejoin show`: what was said, from the first message to a message, a branch or the head.

mod messages;
mod request;
mod transcript;

use rejoin::{Archive, MessageId, Named, StoredConversation};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::retention::{self, ExpiryNotice};
use crate::shapes::ConversationShape;

use self::messages::Messages;
pub(super) use self::request::Language;
use self::transcript::{ResultLength, Transcript};

/// Show a conversation
///
/// Shows the current branch of a conversation, or the path that leads to a message. Without ID, shows
/// the active conversation. Long tool results are shortened unless `--full` is given.
///
/// `--view` prints the exact request that a model would receive, without your next message. Nothing is
/// sent and no key is needed. Repairs made to fit the API are listed.
#[derive(Debug, clap::Args)]
#[command(visible_aliases = ["print", "view"], after_help = "\
Examples:
  rejoin show lisbon
  rejoin show lisbon --branch \"on a budget\"
  rejoin show k3f9aB --full
  rejoin show lisbon --view anthropic
  rejoin show lisbon --json | jq -r '.messages[].text'")]
pub(crate) struct Args {
    /// A conversation or a message; default: the active conversation
    pub(super) id: Option<String>,

    /// Use this named branch
    #[arg(long, value_name = "NAME")]
    pub(super) branch: Option<String>,

    /// Show tool results in full
    #[arg(long)]
    pub(super) full: bool,

    /// Show the request that a model would receive, for this API
    #[arg(long, value_name = "API", conflicts_with = "full")]
    pub(super) view: Option<Language>,
}

#[derive(Serialize)]
struct ShowAnswer<'a> {
    conversation: ConversationShape<'a>,
    messages: &'a Messages,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let named = match &args.id {
        Some(id) => named::resolve(&archive, id)?,
        None => Named::Conversation(context.needed_conversation(&archive)?),
    };
    let mut stored = context.as_of(archive.now(), archive.conversation(named.conversation())?);
    retention::date(&mut stored, ExpiryNotice::Any, &archive, context)?;
    let target = target(&args, named, &stored)?;
    if let Some(language) = args.view {
        return request::show(archive, &stored, target, language, context);
    }
    show(
        &archive,
        &stored,
        target,
        if args.full { ResultLength::Whole } else { ResultLength::Short },
        context,
    )
}

fn show(
    archive: &Archive,
    stored: &StoredConversation,
    target: Option<MessageId>,
    length: ResultLength,
    context: &Context,
) -> Result<(), Failure> {
    let archive = &archive.clone().passing_over_damage();
    let path = archive.reader().path(stored.id, target)?;
    context.warn_of_damage(archive, stored.id)?;
    if context.is_json() {
        let active = context.active_conversation(archive)?;
        let messages = Messages::of(path);
        let conversation = ConversationShape::of(stored, active);
        let written = context.answer_json(&ShowAnswer { conversation, messages: &messages });
        return messages.failure().map_or(written, Err);
    }
    let clock = context.clock();
    let transcript = Transcript { clock: &clock, paint: context.paint(), screen: context.columns(), length };
    context.show(|page| transcript.write(stored, path, page))
}

/// The message to end at; none is the conversation's head.
fn target(args: &Args, named: Named, stored: &StoredConversation) -> Result<Option<MessageId>, Failure> {
    match &args.branch {
        None => Ok(named.message()),
        Some(name) => Ok(Some(named::branch(stored, name)?.head)),
    }
}
