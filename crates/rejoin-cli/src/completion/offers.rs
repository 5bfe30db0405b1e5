//! What can stand where the cursor is: commands, options, and the conversations, branches and models there
//! are.

use std::collections::BTreeSet;

use clap::{Arg, Command};
use rejoin::PlainText;
use rejoin::{Archive, List, StoreUrl, StoredConversation};

use crate::completion::Shell;
use crate::completion::line::{CompletionKind, CompletionLine};
use crate::config::keys::KEYS;
use crate::config::{Config, ConfigOverrides};
use crate::context::{Context, Manner, Notes, OutputFormat, Paging};
use crate::error::Failure;
use crate::named;
use crate::provider::KnownProvider;
use crate::surroundings::{Surroundings, Terminals};
use crate::ui::fit;
use crate::ui::paint::ColorChoice;

/// How many conversations are offered at most.
const MOST: usize = 200;

/// Columns of a description.
const ABOUT: usize = 60;

/// Something that can stand where the cursor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompletionOffer {
    pub(super) value: String,
    /// What it is, where the shell shows it.
    pub(super) about: String,
}

impl CompletionOffer {
    fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self { value: value.into(), about: about.into() }
    }

    /// A name that somebody else may have chosen is offered only if no shell reads anything into it.
    fn is_plain(&self) -> bool {
        let is_plain = |sign: char| sign.is_alphanumeric() || "-_.:/@+".contains(sign);
        !self.value.is_empty() && self.value.chars().all(is_plain)
    }
}

/// Everything that can stand there, in the order in which it is shown.
pub(super) fn at(line: &CompletionLine<'_>, shell: Shell) -> Vec<CompletionOffer> {
    match &line.wanted {
        CompletionKind::Nothing => Vec::new(),
        CompletionKind::Option => options(line.command),
        CompletionKind::Value(arg) => values(arg, line, shell),
        CompletionKind::Command(arg) => {
            let mut offers = commands(line.command);
            offers.extend(arg.iter().flat_map(|arg| values(arg, line, shell)));
            offers
        }
    }
}

fn commands(command: &Command) -> Vec<CompletionOffer> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    shown.map(|below| CompletionOffer::new(below.get_name(), text(below.get_about()))).collect()
}

fn options(command: &Command) -> Vec<CompletionOffer> {
    let named = command.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    named.map(|(arg, long)| CompletionOffer::new(format!("--{long}"), text(arg.get_help()))).collect()
}

fn text(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default()
}

/// The values of an argument. Nothing that goes wrong here is told.
fn values(arg: &Arg, line: &CompletionLine<'_>, shell: Shell) -> Vec<CompletionOffer> {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return shown.map(|value| CompletionOffer::new(value.get_name(), text(value.get_help()))).collect();
    }
    let names_message = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "MESSAGE"));
    let mut offers = match (arg.get_id().as_str(), line.path.first()) {
        ("command", Some(&"help")) => help_topics(line),
        ("key", _) => KEYS.iter().map(|key| CompletionOffer::new(key.name, key.about)).collect(),
        ("provider", _) | ("name", Some(&"provider")) => providers().unwrap_or_default(),
        ("model", _) => models().unwrap_or_default(),
        ("branch", _) => branches(line.given.first()).unwrap_or_default(),
        ("id" | "ids" | "conversation" | "into" | "resume" | "which" | "name", _) if !names_message => {
            conversations(&line.typed, shell).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    offers.retain(CompletionOffer::is_plain);
    offers
}

/// The commands below those that were named after `help`.
fn help_topics(line: &CompletionLine<'_>) -> Vec<CompletionOffer> {
    use clap::CommandFactory;

    let root = crate::args::Arguments::command();
    let named = line.given.iter().try_fold(&root, |command, name| command.find_subcommand(name));
    named.map(commands).unwrap_or_default()
}

/// The newest conversations, those of this project first.
///
/// A shell without descriptions gets titles, which can be told apart, and ids only once one was begun.
fn conversations(typed: &str, shell: Shell) -> Result<Vec<CompletionOffer>, Failure> {
    let stored = newest()?;
    let slugs: Vec<String> = stored.iter().map(|stored| PlainText::slug(stored.title())).collect();
    let is_unique =
        |slug: &String| !slug.is_empty() && slugs.iter().filter(|other| *other == slug).count() == 1;
    let mut offers = Vec::new();
    for (stored, slug) in stored.iter().zip(&slugs) {
        let (id, about) = (stored.id.short().to_string(), fit::snippet(stored.title(), ABOUT));
        let offers_slug = is_unique(slug) && (shell == Shell::Bash || !typed.is_empty());
        if !offers_slug || shell != Shell::Bash || (!typed.is_empty() && id.starts_with(typed)) {
            offers.push(CompletionOffer::new(id, about.clone()));
        }
        if offers_slug {
            offers.push(CompletionOffer::new(slug, about));
        }
    }
    Ok(offers)
}

/// The named branches of the conversation that was named, or of all.
fn branches(conversation: Option<&String>) -> Result<Vec<CompletionOffer>, Failure> {
    let stored = match conversation {
        Some(name) => context()?.and_then(|(_, archive)| named::conversation(&archive, name).ok()),
        None => None,
    };
    let stored = stored.map_or_else(newest, |stored| Ok(vec![stored]))?;
    let branches = stored.iter().flat_map(|stored| &stored.branches);
    Ok(branches
        .map(|branch| CompletionOffer::new(branch.id.as_str(), fit::snippet(&branch.title, ABOUT)))
        .collect())
}

/// The models that are configured, and those that conversations were held with.
fn models() -> Result<Vec<CompletionOffer>, Failure> {
    let (config, _) = configuration()?;
    let mut names: BTreeSet<String> = config.models().into_keys().collect();
    names.extend(KnownProvider::all(&config).into_iter().filter_map(|provider| provider.model));
    let used = newest().unwrap_or_default();
    names.extend(used.into_iter().filter_map(|stored| stored.conversation.settings.model));
    Ok(names.into_iter().map(|name| CompletionOffer::new(name, "")).collect())
}

fn providers() -> Result<Vec<CompletionOffer>, Failure> {
    let (config, _) = configuration()?;
    Ok(KnownProvider::all(&config)
        .into_iter()
        .map(|known| CompletionOffer::new(known.name, known.title))
        .collect())
}

fn newest() -> Result<Vec<StoredConversation>, Failure> {
    let Some((context, archive)) = context()? else { return Ok(Vec::new()) };
    let list = List { includes_expired: true, limit: MOST, ..List::default() };
    let mut stored = archive.list(&list)?.items;
    let here = context.config.project().to_string_lossy().into_owned();
    stored.sort_by_key(|stored| stored.conversation.project.as_ref() != Some(&here));
    Ok(stored)
}

/// The archive to look into; none where it is a vault, which would have to be unlocked.
fn context() -> Result<Option<(Context, Archive)>, Failure> {
    let (config, surroundings) = configuration()?;
    let context = Context::new(config, surroundings, SILENT);
    if matches!(context.store_url()?, StoreUrl::Vault(_)) {
        return Ok(None);
    }
    let archive = context.archive_to_read()?.passing_over_damage();
    Ok(Some((context, archive)))
}

/// Without a terminal nobody is asked anything.
fn configuration() -> Result<(Config, Surroundings), Failure> {
    let surroundings = Surroundings { terminal: Terminals::default(), ..Surroundings::capture()? };
    Ok((Config::load(&surroundings, &ConfigOverrides::default())?, surroundings))
}

const SILENT: Manner = Manner {
    format: OutputFormat::Text,
    color: ColorChoice::Never,
    pager: Paging::Never,
    notes: Notes::Hidden,
};
