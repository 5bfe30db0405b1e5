//! `rejoin handoff`: a conversation goes on in another agent, which finds it among its own sessions.

mod agent;

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use rejoin::view::Repair;
use rejoin::{Archive, AuditAction, AuditEntry, Json, MessageId, Named, StoredConversation, Time};
use serde::{Deserialize, Serialize};

use self::agent::Agent;
use crate::context::Context;
use crate::durable;
use crate::error::Failure;
use crate::named;
use crate::shapes::RepairShape;
use crate::ui::{json, size};

/// The field of a conversation's header that says to whom it was handed.
const HANDOFFS: &str = "handoffs";

/// So many hand-offs are remembered.
const REMEMBERED: usize = 20;

/// So many changes are told one by one.
const TOLD: usize = 10;

/// Continue a conversation in Claude Code or Codex
///
/// Writes the conversation as a new session of that agent, from the newest compaction on, and prints the
/// command that resumes it. Parts that the agent's model cannot accept, such as another model's
/// thinking, are left out and listed. Existing sessions and the conversation itself are not changed.
/// Without ID, the active conversation is handed off; given a message, the path that ends there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin handoff lisbon --to codex
  rejoin handoff lisbon --to claude --run          Continue at once
  eval \"$(rejoin handoff lisbon --to claude)\"")]
pub(crate) struct Args {
    /// A conversation or a message; default: the active conversation
    id: Option<String>,

    /// The agent
    #[arg(long, value_name = "AGENT")]
    to: Agent,

    /// Use this named branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Start the agent
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    run: bool,

    /// Show what would be written without writing it
    #[arg(long)]
    dry_run: bool,
}

/// What is remembered of a hand-off.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Handoff {
    to: String,
    session: String,
    message: Option<MessageId>,
    at: Time,
}

#[derive(Serialize)]
struct HandoffAnswer<'a> {
    conversation: String,
    to: &'a str,
    session: &'a str,
    directory: json::PathText<'a>,
    path: json::PathText<'a>,
    bytes: usize,
    command: &'a str,
    repairs: Vec<RepairShape>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let named = match &args.id {
        Some(id) => named::resolve(&archive, id)?,
        None => Named::Conversation(context.needed_conversation(&archive)?),
    };
    let stored = archive.conversation(named.conversation())?;
    if stored.messages == 0 {
        let short = stored.id.short();
        return Err(Failure::invalid(format!("conversation `{short}` has nothing to hand over"))
            .hint(format!("say something in it first: `rejoin append {short} \"your message\"`")));
    }
    let target = match &args.branch {
        None => named.message(),
        Some(name) => Some(named::branch(&stored, name)?.head),
    };
    let program = args.to.program(context.surroundings.variable("PATH"));
    if args.run && program.is_none() {
        return Err(Failure::not_found(format!("`{}` is not installed", args.to.command()))
            .hint(format!("install it: {}", args.to.installation())));
    }
    let directory = directory_of(&archive, &stored, context)?;
    let viewed = archive.exports().view_tree(stored.id, target, &args.to.recipient());
    let (mut tree, repairs) = viewed.map_err(|error| explain(error, &stored))?;
    tree.conversations[0].header.project = Some(directory.to_string_lossy().into_owned());
    let session = tree.conversations[0].id.clone();
    let written = args.to.format()?.write(&tree)?.swap_remove(0);
    let path = args.to.home(&context.surroundings)?.join(&written.path);
    let command = args.to.line(&directory, &session);
    if !args.dry_run {
        durable::place(&path, &written.bytes, durable::ExistingFile::Stays)
            .map_err(|error| Failure::io(format!("write `{}`", path.display()), error))?;
        let message = target.or(stored.head.map(|head| head.id));
        let to = args.to.command().to_owned();
        let handoff = Handoff { to, session: session.clone(), message, at: archive.now() };
        // The session is there and can be gone on with, whatever becomes of the note.
        if let Err(failure) = remember(&archive, &stored, &handoff) {
            let message = format!("the hand-off was not noted: {}", failure.summary());
            context.manner.warn(&message, failure.next_step());
        }
        let mut entry = AuditEntry::new(AuditAction::Exported, "user-requested").to(stored.id);
        entry.extra.set("format", Json::of(&args.to.command()).expect("a name is JSON"));
        if let Err(error) = archive.audit().note(entry.counting(stored.messages, stored.bytes)) {
            context.manner.warn(&format!("the hand-off was not recorded in the audit log: {error}"), None);
        }
    }
    if context.is_json() {
        return context.answer_json(&HandoffAnswer {
            conversation: stored.id.to_string(),
            to: args.to.command(),
            session: &session,
            directory: json::path(&directory),
            path: json::path(&path),
            bytes: written.bytes.len(),
            command: &command,
            repairs: repairs.iter().map(RepairShape::from).collect(),
        });
    }
    tell(&repairs, context);
    let did = if args.dry_run { "Would write" } else { "Wrote" };
    context.note(&format!("{did} {} to {}", size::bytes(written.bytes.len() as u64), path.display()));
    if let Some(program) = program.as_ref().filter(|_| args.run) {
        // Nothing of this process is left behind in the other one.
        drop(archive);
        return Err(start(program, args.to, &session, &directory, context));
    }
    if program.is_none() {
        context.note(&format!("{} is not installed here: {}", args.to.command(), args.to.installation()));
    }
    let mut answer = context.answer();
    writeln!(answer, "{command}")?;
    answer.flush()?;
    Ok(())
}

/// An error, with the way out for a conversation that must not leave the store.
fn explain(error: rejoin::Error, stored: &StoredConversation) -> Failure {
    let failure = Failure::from(error);
    if stored.conversation.privacy.exportable {
        return failure;
    }
    failure.or_hint(format!("run `rejoin keep {} --exportable yes` to allow it", stored.id.short()))
}

/// Becomes the agent; comes back only when that fails.
fn start(program: &Path, agent: Agent, session: &str, directory: &Path, context: &Context) -> Failure {
    let mut command = context.environment_of_agent().command(program);
    let error = command.args(agent.arguments(session)).current_dir(directory).exec();
    Failure::io(format!("start `{}`", program.display()), error)
        .hint(format!("the session was written: {}", agent.line(directory, session)))
}

/// The real directory of the conversation's project. One that is gone gives way to the project of this run.
fn directory_of(
    archive: &Archive,
    stored: &StoredConversation,
    context: &Context,
) -> Result<PathBuf, Failure> {
    if let Some(found) = context.directory_of(archive, stored)? {
        return Ok(found);
    }
    let instead = context.config.project().canonicalize().map_err(|error| {
        Failure::io(format!("find `{}`", context.config.project().display()), error)
            .hint("name another directory with `--project`")
    })?;
    let gone = stored.conversation.project.as_deref().unwrap_or_default();
    context.note(&format!("The project {gone} does not exist any more. Using {}", instead.display()));
    Ok(instead)
}

/// Notes the hand-off in the conversation's header.
fn remember(archive: &Archive, stored: &StoredConversation, handoff: &Handoff) -> Result<(), Failure> {
    archive.update(stored.id, |conversation| {
        let known = conversation.extra.field(HANDOFFS).and_then(|known| known.to::<Vec<Handoff>>().ok());
        let mut all = known.unwrap_or_default();
        all.push(handoff.clone());
        all.drain(..all.len().saturating_sub(REMEMBERED));
        conversation.extra.set(HANDOFFS, Json::of(&all).expect("names and times are JSON"));
    })?;
    Ok(())
}

/// Tells what was changed; the same sentence once, with how often.
fn tell(repairs: &[Repair], context: &Context) {
    let mut sentences = Vec::new();
    let mut times: HashMap<String, usize> = HashMap::new();
    for repair in repairs {
        let sentence = RepairShape::from(repair).repair;
        let known = times.entry(sentence.clone()).or_default();
        if *known == 0 {
            sentences.push(sentence);
        }
        *known += 1;
    }
    for sentence in sentences.iter().take(TOLD) {
        match times[sentence] {
            1 => context.note(sentence),
            times => context.note(&format!("{sentence} ({times} times)")),
        }
    }
    let rest = sentences.len().saturating_sub(TOLD);
    if rest > 0 {
        context.note(&format!("And {rest} more changes; `--json --dry-run` lists them all."));
    }
}
