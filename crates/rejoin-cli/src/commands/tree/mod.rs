//! `rejoin tree`: every message of a conversation, and how one follows from another.

mod item;
mod nested;

use std::io::Write;

use rejoin::{Archive, List, MessageId, StoredConversation};

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::paint::Meaning;
use crate::ui::tree::{self, DrawnMessage, Style, TreeDrawing};
use crate::ui::{clean, fit};

use self::item::{TextExtent, TreeItem};

/// Show messages as a tree, most recently active branch last
///
/// Each line shows a message's ID, time, role, label and first words. `------` ends a branch. Without
/// ID, shows every conversation of this project.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin tree
  rejoin tree lisbon --style full
  rejoin append --parent k3f9aB \"Or in Porto?\"     Start a branch at a message")]
pub(crate) struct Args {
    /// The conversation; default: all of this project
    id: Option<String>,

    /// The layout; default: `compact` in a terminal, otherwise `full`
    #[arg(long, value_enum)]
    style: Option<Style>,

    /// Include all projects
    #[arg(long, conflicts_with = "id")]
    all_projects: bool,
}

impl Args {
    /// The same in full style, unless another one was asked for.
    pub(super) fn in_full(mut self) -> Self {
        self.style.get_or_insert(Style::Full);
        self
    }

    fn style(&self, context: &Context) -> Style {
        let usual = if context.surroundings.terminal.stdout { Style::Compact } else { Style::Full };
        self.style.unwrap_or(usual)
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?.passing_over_damage();
    answer(&args, &archive, context)?;
    context.warn_of_missing(&archive.reader().passed_over(), "rejoin verify")?;
    Ok(())
}

fn answer(args: &Args, archive: &Archive, context: &Context) -> Result<(), Failure> {
    let conversations = match &args.id {
        Some(id) => vec![archive.conversation(named::resolve(archive, id)?.conversation())?],
        None => every_conversation(archive, args, context)?,
    };
    if context.is_json() {
        return nested::answer(archive, &conversations, context);
    }
    if conversations.iter().all(|stored| stored.messages == 0) {
        let mut answer = context.answer();
        writeln!(answer, "No messages found.")?;
        answer.flush()?;
        return Ok(());
    }
    let clock = context.clock();
    let drawing = TreeDrawing {
        style: args.style(context),
        clock: &clock,
        paint: context.paint(),
        screen: context.columns(),
    };
    context.show(|page| {
        let mut is_first = true;
        for stored in conversations.iter().filter(|stored| stored.messages > 0) {
            if args.id.is_none() {
                let gap = if is_first { "" } else { "\n" };
                let short = stored.id.short();
                let start = "Conversation : ".len() + short.as_str().len();
                let title = match drawing.screen.filter(|_| drawing.style == Style::Compact) {
                    Some(columns) => fit::snippet(stored.title(), columns.saturating_sub(start)),
                    None => clean::line(stored.title()),
                };
                let title = drawing.paint.apply(Meaning::Title, &title);
                let id = drawing.paint.apply(Meaning::Id, short.as_str());
                writeln!(page, "{gap}Conversation {id}: {title}")?;
            }
            is_first = false;
            draw(archive, stored, &drawing, page)?;
        }
        Ok(())
    })
}

/// Newest last, as the branches are.
fn every_conversation(
    archive: &Archive,
    args: &Args,
    context: &Context,
) -> Result<Vec<StoredConversation>, Failure> {
    let project = if args.all_projects { None } else { Some(context.project_key(archive)?) };
    let list = List { project, includes_expired: true, ..List::default() };
    let mut conversations = Vec::new();
    archive.reader().each_conversation(&list, &mut |stored| {
        conversations.push(stored);
        Ok(())
    })?;
    conversations.reverse();
    Ok(conversations)
}

fn draw(
    archive: &Archive,
    stored: &StoredConversation,
    drawing: &TreeDrawing<'_>,
    page: &mut dyn Write,
) -> Result<(), Failure> {
    let items = item::read(archive, stored, TextExtent::Beginning)?;
    let marks: Vec<Option<String>> = items.iter().map(TreeItem::mark).collect();
    let nodes: Vec<DrawnMessage<'_>> = items
        .iter()
        .zip(&marks)
        .map(|(item, mark)| DrawnMessage {
            id: item.id.as_str(),
            parent: item.parent.as_ref().map(MessageId::as_str),
            time: item.time.as_micros(),
            role: item.role.as_str(),
            text: &item.text,
            label: mark.as_deref(),
        })
        .collect();
    Ok(tree::draw(&nodes, drawing, page)?)
}
