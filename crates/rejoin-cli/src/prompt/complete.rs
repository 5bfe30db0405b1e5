//! Completes the names of commands, files, conversations and messages.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{Completer, CompletionResult, Span, Suggestion};
use rejoin::store::Order;
use rejoin::{Archive, ConversationId, List};

use super::commands::{self, Takes};
use super::{Keeping, attach};
use crate::commands::export_formats;
use crate::named;
use crate::ui::fit;

/// How many conversations or messages are offered: the newest.
const OFFERED: usize = 30;

/// Columns of what a message says, beside its id.
const SAID: usize = 50;

/// Where names are looked up.
pub(super) struct NameScope {
    pub(super) archive: Archive,
    pub(super) conversation: ConversationId,
    pub(super) project: Option<String>,
    pub(super) keeping: Keeping,
    /// Where the names of files are looked up.
    pub(super) directory: PathBuf,
}

/// Completes the names of commands, files, conversations and messages.
#[derive(Clone, Default)]
pub(super) struct Completions {
    place: Arc<Mutex<Option<NameScope>>>,
}

impl Completions {
    pub(super) fn look_in(&self, place: NameScope) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn files(&self, part: &str) -> Vec<(String, String)> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|place| attach::candidates(&place.directory, part)).unwrap_or_default()
    }

    fn candidates(&self, line: &str) -> Vec<(String, String)> {
        let Some(rest) = line.strip_prefix('/') else { return Vec::new() };
        let Some((name, argument)) = rest.split_once(' ') else {
            return commands::all()
                .map(|command| (format!("/{}", command.name), command.about.to_owned()))
                .collect();
        };
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        match (commands::named(name).map(|command| command.takes), &*place) {
            (Some(Takes::Words(words)), _) => {
                words.iter().map(|(word, about)| ((*word).to_owned(), (*about).to_owned())).collect()
            }
            (Some(Takes::Format), _) => formats(),
            (Some(Takes::ConversationAndFormat), _) if argument.contains(' ') => formats(),
            (Some(Takes::ConversationAndFormat), Some(place)) => {
                conversations(place).into_iter().chain(formats()).collect()
            }
            (Some(Takes::Message), Some(place)) => messages(place),
            (Some(Takes::Conversation), Some(place)) => conversations(place),
            _ => Vec::new(),
        }
    }
}

impl Completer for Completions {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let typed = line.get(..position).unwrap_or(line);
        let start = typed.rfind([' ', '\n']).map_or(0, |space| space + 1);
        let part = &typed[start..];
        let wanted = part.to_lowercase();
        let is_file = part.starts_with('@');
        let candidates = if is_file { self.files(part) } else { self.candidates(typed) };
        let suggestions: Vec<Suggestion> = candidates
            .into_iter()
            .filter(|(value, about)| {
                let is_named = value.to_lowercase().starts_with(&wanted);
                is_named || (start > 0 && !is_file && about.to_lowercase().contains(&wanted))
            })
            .map(|(value, about)| Suggestion {
                // What is in a folder comes next.
                append_whitespace: !(is_file && value.ends_with('/')),
                value,
                description: Some(about),
                span: Span::new(start, position),
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

fn formats() -> Vec<(String, String)> {
    export_formats().into_iter().map(|(name, about)| (name.to_owned(), about)).collect()
}

fn conversations(place: &NameScope) -> Vec<(String, String)> {
    let list = List { project: place.project.clone(), limit: OFFERED, ..List::default() };
    let Ok(listed) = place.archive.list(&list) else { return Vec::new() };
    let others = listed.items.iter().filter(|stored| stored.id != place.conversation && stored.messages > 0);
    others.map(|stored| (stored.id.short().to_string(), named::title(stored))).collect()
}

fn messages(place: &NameScope) -> Vec<(String, String)> {
    let found =
        place.archive.reader().all_messages(place.conversation, Order::NewestFirst, 0, OFFERED as u64);
    let Ok(found) = found else { return Vec::new() };
    let told = found.iter().map(|stored| {
        let said = fit::snippet(&stored.message.text(), SAID);
        (stored.id.to_string(), format!("{}: {said}", stored.message.role.as_str()))
    });
    told.collect()
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions").finish_non_exhaustive()
    }
}
