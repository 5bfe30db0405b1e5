//! `rejoin resume`: come back to a conversation, by picking it, by id, by number or by words.

use std::io::Write;

use rejoin::{Archive, ConversationId, StoredConversation};
use serde::Serialize;

use crate::commands::talk::TalkManner;
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::retention::{self, ExpiryNotice};
use crate::session::reach::{Reach, all};
use crate::session::stop::summary_in_list;
use crate::session::which::{self, ListNumbers, NameMatch};
use crate::session::{self, FirstSave, Session, SessionOverrides, Start, TalkInput, Then, banner};
use crate::shapes::{ConversationShape, PageShape};

/// Resume a conversation
///
/// Without an argument, opens a list to choose from; if this project has no conversations, it offers those
/// of other projects. In a terminal, opens the prompt; otherwise makes the conversation the active one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin resume
  rejoin resume AU4eqF
  rejoin resume \"trip to lisbon\"
  rejoin resume --all-projects
  rejoin resume --list")]
pub(crate) struct Args {
    /// An ID, a number from the last list, or words of the title or summary
    #[arg(value_name = "ID|N|TEXT")]
    which: Option<String>,

    /// List the conversations that can be resumed
    #[arg(long)]
    list: bool,

    /// Include all projects
    #[arg(long)]
    all_projects: bool,

    /// Maximum number to print
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    #[command(flatten)]
    manner: TalkManner,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    args.manner.check()?;
    let archive = context.archive_to_read()?.passing_over_damage();
    let told = |all| {
        context.warn_of_missing(&archive.reader().passed_over(), "rejoin verify")?;
        Ok::<Vec<StoredConversation>, Failure>(all)
    };
    let reach = if args.all_projects { Reach::Everything } else { Reach::Project };
    let overrides = args.manner.clone().overrides();
    if args.list {
        let all = all(context, &archive, reach).and_then(told)?;
        let items = match &args.which {
            Some(words) => which::matching(all, words),
            None => all,
        };
        return print(&args, context, &archive, items);
    }
    let found = match args.which.as_deref() {
        None => all(context, &archive, reach).and_then(told)?,
        Some(name) => match which::named(context, &archive, name, reach)? {
            NameMatch::One(start) => return go_on(context, &archive, &start, &overrides),
            NameMatch::Several(items) => items,
        },
    };
    let is_elsewhere = found.is_empty()
        && reach == Reach::Project
        && args.which.is_none()
        && !all(context, &archive, Reach::Everything)?.is_empty();
    if is_elsewhere && !is_at_terminal(context) {
        tell_nothing(context)?;
        context.note("There are some in other projects: rejoin resume --list --all-projects");
        return Ok(());
    }
    if found.is_empty() && !is_elsewhere {
        return tell_nothing(context);
    }
    if is_at_terminal(context) {
        let asked = match &args.which {
            Some(_) => which::ask(context, &archive, found)?,
            None => which::pick(context, &archive, reach)?,
        };
        return asked.map_or(Ok(()), |start| go_on(context, &archive, &start, &overrides));
    }
    let count = found.len();
    print(&args, context, &archive, found)?;
    Err(Failure::new(Kind::Invalid, format!("not running in a terminal to choose one of {count}"))
        .hint("run `rejoin resume ID`, or use its number above"))
}

/// Whether a person sits there who can be asked and talked to.
fn is_at_terminal(context: &Context) -> bool {
    let terminal = context.surroundings.terminal;
    terminal.stdin && terminal.stdout && !context.is_json()
}

/// At a terminal the talk goes on; elsewhere the conversation becomes the active one.
fn go_on(
    context: &Context,
    archive: &Archive,
    start: &Start,
    overrides: &SessionOverrides,
) -> Result<(), Failure> {
    if is_at_terminal(context) {
        return session::say(context, start, overrides, TalkInput { message: None, then: Then::Stay });
    }
    let session = Session::begin(context, start, overrides, FirstSave::AtOnce)?;
    let mut stored = archive.conversation(session.conversation())?;
    retention::date(&mut stored, ExpiryNotice::Any, archive, context)?;
    if context.is_json() {
        return context.answer_json(&ResumeAnswer {
            conversation: ConversationShape::of(&stored, Some(stored.id)),
            summary: summary_in_list(&stored),
        });
    }
    let mut answer = context.answer();
    writeln!(answer, "✓ Resumed conversation: {}", stored.id.short())?;
    writeln!(answer, "Continue chatting: rejoin chat \"your message\"")?;
    writeln!(answer, "Provider: {}", banner::talked_with(&stored.conversation.settings))?;
    answer.flush()?;
    Ok(())
}

#[derive(Serialize)]
struct ResumeAnswer<'a> {
    #[serde(flatten)]
    conversation: ConversationShape<'a>,
    summary: String,
}

fn print(
    args: &Args,
    context: &Context,
    archive: &Archive,
    mut items: Vec<StoredConversation>,
) -> Result<(), Failure> {
    let total = items.len();
    items.truncate(args.limit.into());
    if context.is_json() {
        let active: Option<ConversationId> = context.active_conversation(archive)?;
        items
            .iter_mut()
            .try_for_each(|stored| retention::date(stored, ExpiryNotice::Any, archive, context))?;
        let items: Vec<ResumeAnswer<'_>> = items
            .iter()
            .map(|stored| ResumeAnswer {
                conversation: ConversationShape::of(stored, active),
                summary: summary_in_list(stored),
            })
            .collect();
        return context.answer_json(&PageShape { items, next_cursor: None, total: Some(total as u64) });
    }
    if items.is_empty() {
        return tell_nothing(context);
    }
    ListNumbers::remember(context, archive, &items)?;
    let look = which::MatchLook::of(context);
    context.show(|page| {
        write!(page, "{}", look.list(&items))?;
        if total > items.len() {
            writeln!(page, "{} more: rejoin resume --list --limit {total}", total - items.len())?;
        }
        Ok(writeln!(page, "Resume one: rejoin resume NUMBER")?)
    })
}

fn tell_nothing(context: &Context) -> Result<(), Failure> {
    let mut answer = context.answer();
    writeln!(answer, "There is nothing to resume in this project.")?;
    writeln!(answer, "Start a conversation: rejoin \"your message\"")?;
    answer.flush()?;
    Ok(())
}
