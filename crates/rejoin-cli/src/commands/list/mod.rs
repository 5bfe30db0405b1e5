//! `rejoin list`: the conversations of a project, page by page.

mod draw;
mod line;
mod runs;

use std::io::Write;

use rejoin::{Archive, ConversationId, List, Listed, Status, StoredConversation, Time};

use crate::context::Context;
use crate::error::Failure;
use crate::project_names::{ProjectNames, are_several};
use crate::retention::{self, ExpiryNotice, Policies};
use crate::shapes;
use crate::source;
use crate::ui::size;

use self::line::{LineMark, ListLines, ListedConversation};
use self::runs::{RunCounts, RunFilter};

/// List conversations, most recently active first
///
/// One line each: ID, age, the program it was imported from or the model, messages and title. The arrow
/// marks the active conversation, which `rejoin append` adds to. Use an ID, or its first characters, with
/// the other commands.
///
/// Sub-agent runs are counted after the conversation that started them.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "ls",
    after_help = "\
Examples:
  rejoin list
  rejoin list --all-projects --limit 50
  rejoin list --source claude --long
  rejoin list --subagent reviewer
  rejoin list --status paused --json"
)]
pub(crate) struct Args {
    /// Include all projects
    #[arg(long)]
    all_projects: bool,

    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    /// Continue after the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Only this status: active, paused or completed
    #[arg(long)]
    status: Option<Status>,

    /// Only this kind, such as `chat`
    #[arg(long)]
    kind: Option<String>,

    /// Include expired conversations
    #[arg(long)]
    include_expired: bool,

    /// Only those imported from this program's files; `rejoin` for those that began here
    #[arg(long, value_name = "NAME", value_parser = source::parser())]
    source: Option<String>,

    /// Show runs of sub-agents, too
    #[arg(long)]
    subagents: bool,

    /// Only runs of this sub-agent, or this one run of it
    #[arg(long, value_name = "NAME[:RUN]", value_parser = clap::value_parser!(RunFilter),
          conflicts_with_all = ["cursor", "kind", "subagents"])]
    subagent: Option<RunFilter>,

    /// Show status, size, provider and the first and last words of each
    #[arg(long)]
    long: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?.passing_over_damage();
    let now = archive.now();
    let mut page = match &args.subagent {
        Some(run) => runs::named(run, &args, &archive, context)?,
        None => ListedPage::read(&args, now, &archive, context)?,
    };
    context.warn_of_missing(&archive.reader().passed_over(), "rejoin verify")?;
    page.items = page.items.into_iter().map(|stored| context.as_of(now, stored)).collect();
    let items = &mut page.items;
    let ahead = if context.is_json() { ExpiryNotice::Any } else { ExpiryNotice::Notice };
    if args.all_projects {
        let policies = Policies::of_listed(items, &archive, context)?;
        items.iter_mut().try_for_each(|stored| policies.date(stored, ahead, &archive))?;
    } else {
        items.iter_mut().try_for_each(|stored| retention::date(stored, ahead, &archive, context))?;
    }
    let runs = RunCounts::of(&page, &args, &archive)?;
    let active = context.active_among(&page.items, &archive)?;
    if context.is_json() {
        let items = page.items.iter().map(|item| runs.shape(item, active)).collect();
        let next_cursor = page.next_cursor.as_deref();
        return context.answer_json(&shapes::PageShape { items, next_cursor, total: Some(page.total) });
    }
    if page.total == 0 {
        return tell_empty(&args, &page, &archive, context);
    }
    show(&page, &runs, active, &args, &archive, context)
}

impl Args {
    fn query(&self, now: Time, archive: &Archive, context: &Context) -> Result<List, Failure> {
        Ok(List {
            project: self.project(archive, context)?,
            status: self.status,
            // A process that was killed cannot say that its conversation is paused.
            idle_since: Some(context.idle_since(now)),
            kind: self.kind.clone(),
            except_kind: self.folds().then(|| runs::KIND.to_owned()),
            source: self.source.as_deref().map(source::key),
            includes_expired: self.include_expired,
            cursor: self.cursor.clone(),
            limit: self.limit.into(),
        })
    }

    fn project(&self, archive: &Archive, context: &Context) -> Result<Option<String>, Failure> {
        if self.all_projects { Ok(None) } else { context.project_key(archive).map(Some) }
    }

    /// Whether runs are counted behind what started them, and not listed.
    const fn folds(&self) -> bool {
        !self.subagents && self.subagent.is_none() && self.kind.is_none()
    }

    /// The same list, with something added.
    fn command_with(&self, added: &str) -> String {
        let mut command = "rejoin list".to_owned();
        let flags = [
            (self.all_projects, " --all-projects"),
            (self.include_expired, " --include-expired"),
            (self.subagents, " --subagents"),
            (self.long, " --long"),
        ];
        if self.limit != 10 {
            command.push_str(&format!(" --limit {}", self.limit));
        }
        if let Some(status) = self.status {
            command.push_str(&format!(" --status {}", status.as_str()));
        }
        if let Some(kind) = &self.kind {
            command.push_str(&format!(" --kind '{}'", kind.replace('\'', r"'\''")));
        }
        if let Some(source) = &self.source {
            command.push_str(&format!(" --source {source}"));
        }
        flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| command.push_str(flag));
        format!("{command} {added}")
    }
}

/// What is listed at once.
struct ListedPage {
    items: Vec<StoredConversation>,
    next_cursor: Option<String>,
    left_out: Vec<String>,
    total: u64,
    /// Runs that the list leaves out, on all pages.
    folded: u64,
}

impl ListedPage {
    fn read(args: &Args, now: Time, archive: &Archive, context: &Context) -> Result<Self, Failure> {
        let query = args.query(now, archive, context)?;
        let Listed { items, next_cursor, left_out } = archive.list(&query)?;
        let (total, folded) = archive.reader().count_excepted(&query)?;
        Ok(Self { items, next_cursor, left_out, total, folded })
    }
}

fn show(
    shown: &ListedPage,
    runs: &RunCounts,
    active: Option<ConversationId>,
    args: &Args,
    archive: &Archive,
    context: &Context,
) -> Result<(), Failure> {
    let names = if args.all_projects { ProjectNames::of(archive)? } else { ProjectNames::default() };
    let clock = context.clock();
    let (paint, screen) = (context.paint(), context.columns());
    let is_several = args.all_projects && (args.long || are_several(&shown.items));
    let name = |stored| if args.long { names.path_of(stored) } else { names.short_of(stored) };
    let entries: Vec<ListedConversation<'_>> = runs
        .in_order(&shown.items)
        .map(|(stored, is_below)| ListedConversation {
            stored,
            mark: if active == Some(stored.id) { LineMark::Active } else { LineMark::None },
            project: is_several.then(|| name(stored)),
            runs: runs.folded(stored.id),
            is_below,
        })
        .collect();
    context.show(|page| {
        if args.long {
            let look = draw::ListLook { clock: &clock, paint, screen };
            writeln!(page, "Saved Conversations:")?;
            entries.iter().try_for_each(|entry| write!(page, "\n{}", look.entry(entry)))?;
        } else {
            write!(page, "{}", ListLines { clock: &clock, paint, screen }.draw(&entries))?;
        }
        writeln!(page, "\nTotal: {} conversation(s)", shown.total)?;
        if shown.folded > 0 {
            let folded = size::count(shown.folded, "sub-agent run", "sub-agent runs");
            writeln!(page, "And {folded}: {}", args.command_with("--subagents"))?;
        }
        if let Some(cursor) = &shown.next_cursor {
            writeln!(page, "More: {}", args.command_with(&format!("--cursor {cursor}")))?;
        }
        Ok(())
    })
}

/// Says that there is nothing, and where something is.
fn tell_empty(args: &Args, page: &ListedPage, archive: &Archive, context: &Context) -> Result<(), Failure> {
    let everything = List { includes_expired: true, limit: 1, ..List::default() };
    let all = archive.reader().count(&everything)?;
    let own = archive.reader().count(&List { project: Some(context.project_key(archive)?), ..everything })?;
    let mut answer = context.answer();
    let in_reach = if args.all_projects { all } else { own };
    if in_reach > 0 {
        let wide = if args.all_projects { " --all-projects" } else { "" };
        writeln!(answer, "No saved conversations match.")?;
        // What is folded stays so unless nothing else is there.
        let (all, runs) = match page.folded {
            0 => (in_reach, ""),
            folded => (in_reach.max(folded), " --subagents"),
        };
        writeln!(answer, "To see all {all}: rejoin list --include-expired{runs}{wide}")?;
    } else if !page.left_out.is_empty() {
        writeln!(answer, "No conversation can be read.")?;
        writeln!(answer, "To see what is wrong: rejoin verify")?;
    } else {
        writeln!(answer, "No saved conversations.")?;
        writeln!(answer, "Create one: rejoin new")?;
    }
    answer.flush()?;
    if all > in_reach {
        context.note("There are some in other projects: rejoin list --all-projects");
    }
    Ok(())
}
