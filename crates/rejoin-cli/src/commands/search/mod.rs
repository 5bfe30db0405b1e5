//! `rejoin search`: messages by their words.

mod draw;

use std::collections::BTreeMap;

use rejoin::store::{SearchOrder, WordQuery};
use rejoin::{Archive, ConversationId, Listed, MessageId, Role, Search, SearchHit, StoredConversation, Time};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::shapes::PageShape;
use crate::source;
use crate::ui::{clean, period, quote};

/// How many hits are shown unless told otherwise: about a screen.
const LIMIT: u16 = 20;

/// Search messages
///
/// Finds messages that contain every word. Case and accents are ignored. The last word also matches
/// longer words that start with it, unless a space or punctuation follows. Vault messages that cannot be
/// decrypted are reported.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin search cheap food
  rejoin search tasca --all-projects --since 30d
  rejoin search error --role tool --sort best --limit 5")]
pub(crate) struct Args {
    /// The words to search for
    #[arg(required = true)]
    text: Vec<String>,

    /// Search all projects
    #[arg(long)]
    all_projects: bool,

    /// Only this role: user, assistant, tool or system
    #[arg(long)]
    role: Option<Role>,

    /// Only conversations imported from this program; `rejoin` for those started here
    #[arg(long, value_name = "NAME", value_parser = source::parser())]
    source: Option<String>,

    /// Only messages since this time, such as 3d, yesterday or 2026-01-31
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Maximum number of results; default: 20
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,

    /// The order of results
    #[arg(long, value_enum, default_value = "newest")]
    sort: Sort,

    /// Continue after the previous page
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// Newest first
    Newest,
    /// Best match first, on one page
    Best,
}

/// A message that was found, as programs read it.
#[derive(Serialize)]
struct HitShape<'a> {
    conversation: ConversationId,
    message: MessageId,
    role: Role,
    created_at: Time,
    snippet: String,
    /// Where the words stand in the snippet, in bytes.
    matches: Vec<(usize, usize)>,
    title: Option<&'a str>,
    project: Option<&'a str>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let search = args.to_search(&archive, context)?;
    let found = archive.search(&search)?;
    let conversations = conversations_of(&archive, &found)?;
    context.warn_of_missing(&found.left_out, "rejoin verify")?;
    if context.is_json() {
        return context.answer_json(&page(&found, &conversations, &search)?);
    }
    if found.items.is_empty() {
        return tell_nothing(&args, &search, &archive, context);
    }
    let projects = if args.all_projects { draw::ProjectDisplay::Shown } else { draw::ProjectDisplay::Left };
    draw::draw(&found.items, &conversations, projects, context)?;
    if let Some(cursor) = &found.next_cursor {
        context.note(&format!("There are more: {}", args.command_for(&["--cursor", cursor])));
    }
    Ok(())
}

impl Args {
    fn text(&self) -> String {
        self.text.join(" ")
    }

    fn to_search(&self, archive: &Archive, context: &Context) -> Result<Search, Failure> {
        let text = self.text();
        if WordQuery::parse(&text).words().is_empty() {
            return Err(Failure::usage(format!("`{}` contains no word to search for", clean::line(&text)))
                .hint("search for letters or digits, as in `rejoin search cheap food`"));
        }
        if self.sort == Sort::Best && self.cursor.is_some() {
            return Err(
                Failure::usage("`--sort best` has one page only").hint("omit `--cursor`, or raise `--limit`")
            );
        }
        let since = self.since.as_deref().map(|typed| period::moment(typed, &context.clock())).transpose();
        Ok(Search {
            text,
            conversation: None,
            project: if self.all_projects { None } else { Some(context.project_key(archive)?) },
            source: self.source.as_deref().map(source::key),
            role: self.role,
            since: since.map_err(|error| Failure::usage(error.to_string()))?.map(Time::from_micros),
            order: match self.sort {
                Sort::Newest => SearchOrder::Newest,
                Sort::Best => SearchOrder::Best,
            },
            cursor: self.cursor.clone(),
            limit: self.limit.unwrap_or(LIMIT).into(),
        })
    }

    /// The command that asks the same again, with something added.
    fn command_for(&self, added: &[&str]) -> String {
        let mut words = vec!["rejoin search".to_owned()];
        words.extend(self.all_projects.then(|| "--all-projects".to_owned()));
        words.extend(self.role.map(|role| format!("--role {}", role.as_str())));
        words.extend(self.source.as_ref().map(|source| format!("--source {source}")));
        words.extend(self.since.as_ref().map(|since| format!("--since {}", quote::argument(since))));
        words.extend(self.limit.map(|limit| format!("--limit {limit}")));
        words.extend((self.sort == Sort::Best).then(|| "--sort best".to_owned()));
        words.extend(added.iter().map(|word| quote::argument(word)));
        let text = self.text();
        words.extend(text.starts_with('-').then(|| "--".to_owned()));
        words.push(quote::argument(&text));
        words.join(" ")
    }
}

fn conversations_of(
    archive: &Archive,
    found: &Listed<SearchHit>,
) -> Result<BTreeMap<ConversationId, StoredConversation>, Failure> {
    let mut conversations = BTreeMap::new();
    for hit in &found.items {
        if conversations.contains_key(&hit.conversation) {
            continue;
        }
        match archive.conversation(hit.conversation) {
            Ok(stored) => conversations.insert(hit.conversation, stored),
            // It was deleted after the search; its hit is shown without a title.
            Err(error) if error.kind() == rejoin::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
    }
    Ok(conversations)
}

fn page<'a>(
    found: &'a Listed<SearchHit>,
    conversations: &'a BTreeMap<ConversationId, StoredConversation>,
    search: &Search,
) -> Result<PageShape<'a, HitShape<'a>>, Failure> {
    let items: Vec<HitShape<'_>> = found
        .items
        .iter()
        .map(|hit| {
            let stored = conversations.get(&hit.conversation);
            let (message, snippet) = (hit.read()?, hit.snippet()?);
            Ok(HitShape {
                conversation: hit.conversation,
                message: hit.message,
                role: message.role,
                created_at: hit.created_at,
                snippet: snippet.text,
                matches: snippet.matches,
                title: stored.map(StoredConversation::title),
                project: stored.and_then(|stored| stored.conversation.project.as_deref()),
            })
        })
        .collect::<rejoin::Result<_>>()?;
    // Counting what is on other pages would mean reading all of them.
    let is_everything = search.cursor.is_none()
        && found.next_cursor.is_none()
        && (search.order == SearchOrder::Newest || items.len() < search.limit);
    let total = is_everything.then_some(items.len() as u64);
    Ok(PageShape { items, next_cursor: found.next_cursor.as_deref(), total })
}

/// Says that nothing was found, and where else there is something.
fn tell_nothing(args: &Args, search: &Search, archive: &Archive, context: &Context) -> Result<(), Failure> {
    if args.cursor.is_some() {
        context.note("No more pages.");
        return Ok(());
    }
    let text = clean::line(&search.text);
    context.note(&format!("No message {} holds: {text}", place(args)));
    let elsewhere = Search { project: None, limit: 1, ..search.clone() };
    if !args.all_projects && !archive.search(&elsewhere)?.items.is_empty() {
        context.note(&format!("There is one in another project: {}", args.command_for(&["--all-projects"])));
    }
    Ok(())
}

fn place(args: &Args) -> &'static str {
    let is_narrowed = args.role.is_some() || args.source.is_some() || args.since.is_some();
    match (args.all_projects, is_narrowed) {
        (true, false) => "of any project",
        (true, true) => "of any project, with these options,",
        (false, false) => "of this project",
        (false, true) => "of this project, with these options,",
    }
}
