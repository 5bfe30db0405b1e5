//! `rejoin list`: the conversations of a project, page by page.

mod draw;

use std::collections::HashMap;
use std::io::Write;

use rejoin::{Archive, ConversationId, List, Listed, Status, StoredConversation, Time};

use crate::context::Context;
use crate::error::Failure;
use crate::retention::{self, Ahead, Policies};
use crate::shapes::{self, ConversationShape};

/// List conversations, the most recently active first
///
/// The arrow marks the active conversation, which `append` adds to. The id is the one to type; its
/// beginning is enough.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls", after_help = "\
Examples:
  rejoin list
  rejoin list --all-projects --limit 50
  rejoin list --status paused --json")]
pub(crate) struct Args {
    /// Those of every project, not only of this one
    #[arg(long)]
    all_projects: bool,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    /// Go on where a page ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Only this status: active, paused or completed
    #[arg(long)]
    status: Option<Status>,

    /// Only this kind, such as `chat`
    #[arg(long)]
    kind: Option<String>,

    /// Also those that have expired
    #[arg(long)]
    include_expired: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?.passing_over_damage();
    let now = archive.now();
    let query = args.query(now, &archive, context)?;
    let (mut listed, total) = standing(&query, now, &archive, context)?;
    context.warn_of_missing(&archive.reader().passed_over(), "rejoin verify")?;
    let ahead = if context.is_json() { Ahead::Any } else { Ahead::Notice };
    if args.all_projects {
        let policies = Policies::of_listed(&listed.items, &archive, context)?;
        listed.items.iter_mut().try_for_each(|stored| policies.date(stored, ahead, &archive))?;
    } else {
        listed.items.iter_mut().try_for_each(|stored| retention::date(stored, ahead, &archive, context))?;
    }
    let active = context.active_among(&listed.items, &archive)?;
    if context.is_json() {
        let items: Vec<_> = listed.items.iter().map(|item| ConversationShape::of(item, active)).collect();
        let next_cursor = listed.next_cursor.as_deref();
        return context.answer_json(&shapes::Page { items, next_cursor, total: Some(total) });
    }
    if total == 0 {
        return tell_empty(&args, &listed.left_out, &archive, context);
    }
    show(&Page { listed, total, active }, &args, &archive, context)
}

impl Args {
    fn query(&self, now: Time, archive: &Archive, context: &Context) -> Result<List, Failure> {
        let project = if self.all_projects { None } else { Some(context.project_key(archive)?) };
        Ok(List {
            project,
            status: self.status,
            // A process that was killed cannot say that its conversation is paused.
            idle_since: Some(context.idle_since(now)),
            kind: self.kind.clone(),
            includes_expired: self.include_expired,
            cursor: self.cursor.clone(),
            limit: self.limit.into(),
        })
    }

    /// The command that shows the next page of the same list.
    fn next_page(&self, cursor: &str) -> String {
        let mut command = "rejoin list".to_owned();
        if self.all_projects {
            command.push_str(" --all-projects");
        }
        if self.limit != 10 {
            command.push_str(&format!(" --limit {}", self.limit));
        }
        if let Some(status) = self.status {
            command.push_str(&format!(" --status {}", status.as_str()));
        }
        if let Some(kind) = &self.kind {
            command.push_str(&format!(" --kind '{}'", kind.replace('\'', r"'\''")));
        }
        if self.include_expired {
            command.push_str(" --include-expired");
        }
        format!("{command} --cursor {cursor}")
    }
}

/// A page and the total, with each conversation as it stands at the time that the query was made for.
fn standing(query: &List, now: Time, archive: &Archive, context: &Context) -> Result<(Listed<StoredConversation>, u64), Failure> {
    let listed = archive.list(query)?;
    let items = listed.items.into_iter().map(|stored| context.as_of(now, stored)).collect();
    Ok((Listed { items, ..listed }, archive.reader().count(query)?))
}

/// What is shown at once.
struct Page {
    listed: Listed<StoredConversation>,
    total: u64,
    active: Option<ConversationId>,
}

fn show(shown: &Page, args: &Args, archive: &Archive, context: &Context) -> Result<(), Failure> {
    let Page { listed, total, active } = shown;
    let paths: HashMap<String, String> = match args.all_projects {
        true => archive.projects().list()?.into_iter().map(|project| (project.key, project.path)).collect(),
        false => HashMap::new(),
    };
    let clock = context.clock();
    let look = draw::Look { clock: &clock, paint: context.paint(), screen: context.columns() };
    context.show(|page| {
        writeln!(page, "Saved Conversations:")?;
        for item in &listed.items {
            let key = item.conversation.project.as_deref().unwrap_or("none");
            let project = args.all_projects.then(|| paths.get(key).map_or(key, String::as_str));
            let mark = if *active == Some(item.id) { draw::Mark::Active } else { draw::Mark::None };
            write!(page, "\n{}", look.entry(item, mark, project))?;
        }
        writeln!(page, "\nTotal: {total} conversation(s)")?;
        if let Some(cursor) = &listed.next_cursor {
            writeln!(page, "More: {}", args.next_page(cursor))?;
        }
        Ok(())
    })
}

/// Says that there is nothing, and where something is.
fn tell_empty(args: &Args, left_out: &[String], archive: &Archive, context: &Context) -> Result<(), Failure> {
    let everything = List { includes_expired: true, limit: 1, ..List::default() };
    let all = archive.reader().count(&everything)?;
    let own = archive.reader().count(&List { project: Some(context.project_key(archive)?), ..everything })?;
    let mut answer = context.answer();
    let in_reach = if args.all_projects { all } else { own };
    if in_reach > 0 {
        let wide = if args.all_projects { " --all-projects" } else { "" };
        writeln!(answer, "No saved conversations match.")?;
        writeln!(answer, "To see all {in_reach}: rejoin list --include-expired{wide}")?;
    } else if !left_out.is_empty() {
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
