//! The lines that were typed at a prompt, of each project. They are kept in the store, so that there is no
//! side file, and a line that says what a conversation says goes when that is purged.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveState};
use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::{BlobNames, Space};

/// What lines are kept under, with the project's key.
const NAME: &str = "prompt.history:";

/// A longer line is not worth typing again, and would make each save slow.
const LONGEST: usize = 4096;

impl ArchiveState<'_> {
    /// How many lines of a project are kept.
    pub const PROMPT_HISTORY_LINES: usize = 500;

    /// The lines that were typed in a project, oldest first; none where they cannot be read.
    pub fn prompt_history(&self, project: &str) -> Vec<String> {
        self.archive.lines_under(&name_of(project))
    }

    /// Keeps a line that was typed in a project: the newest
    /// [`Self::PROMPT_HISTORY_LINES`] stay, each repeated line once.
    ///
    /// An empty line, a very long one, and one that begins with a space, as is
    /// the custom of shells, is not kept.
    pub fn keep_prompt_line(&self, project: &str, line: &str) -> Result<()> {
        if line.trim().is_empty() || line.starts_with(' ') || line.len() > LONGEST {
            return Ok(());
        }
        // Another prompt may have kept lines meanwhile, so they are read for each.
        let name = name_of(project);
        let mut lines = self.archive.lines_under(&name);
        if lines.last().is_some_and(|last| last == line) {
            return Ok(());
        }
        lines.push(line.to_owned());
        let surplus = lines.len().saturating_sub(Self::PROMPT_HISTORY_LINES);
        lines.drain(..surplus);
        self.archive.keep_lines(&name, &lines)
    }
}

impl Archive {
    fn lines_under(&self, name: &str) -> Vec<String> {
        let kept = self.state().recall(name).ok().flatten();
        kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn keep_lines(&self, name: &str, lines: &[String]) -> Result<()> {
        let text = serde_json::to_string(lines).expect("lines are plain data");
        self.state().remember(name, Some(&text))
    }
}

fn name_of(project: &str) -> String {
    format!("{NAME}{project}")
}

/// The lines of every project, of which some say what is said in conversations that go.
///
/// The lines are in memory, some hundred of each project, and messages are gone over one by one: a
/// conversation may be as large as the disk allows.
#[derive(Debug)]
pub(in crate::archive) struct PromptHistory<'a> {
    archive: &'a Archive,
    /// Those that are not found yet, by the name they are kept under; none before they were needed.
    sought: Option<BTreeMap<String, Vec<HistoryLine>>>,
}

/// A line, and what of it would be said in a conversation.
#[derive(Debug)]
struct HistoryLine {
    typed: String,
    meant: String,
}

impl<'a> PromptHistory<'a> {
    pub(in crate::archive) const fn of(archive: &'a Archive) -> Self {
        Self { archive, sought: None }
    }

    /// Takes away the lines that say what was said in a conversation that is
    /// about to go: its title and its messages.
    ///
    /// What cannot be read of it says nothing.
    pub(in crate::archive) fn forget_said_in(&mut self, id: ConversationId) -> Result<()> {
        let mut sought = match self.sought.take() {
            Some(sought) => sought,
            None => all_lines(self.archive)?,
        };
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        if sought.values().any(|lines| !lines.is_empty()) {
            each_text(self.archive, id, &mut |text| {
                for (name, lines) in &mut sought {
                    lines.retain(|line| {
                        let is_said = text.contains(&line.meant);
                        if is_said {
                            found.entry(name.clone()).or_default().insert(line.typed.clone());
                        }
                        !is_said
                    });
                }
            });
        }
        for (name, said) in found {
            // Another prompt may have kept lines meanwhile, so they are read again.
            let mut lines = self.archive.lines_under(&name);
            lines.retain(|line| !said.contains(line));
            self.archive.keep_lines(&name, &lines)?;
        }
        self.sought = Some(sought);
        Ok(())
    }
}

impl HistoryLine {
    /// A line that begins with a slash is a command, whose rest may be said, or, with two of them, a message
    /// that begins with one. None for a line that means nothing, such as a command without a text.
    fn of(typed: String) -> Option<Self> {
        let line = typed.trim();
        let meant = match line.strip_prefix('/') {
            Some(message) if message.starts_with('/') => message,
            Some(command) => command.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim()),
            None => line,
        };
        let meant = meant.to_owned();
        (!meant.is_empty()).then_some(Self { typed, meant })
    }
}

/// What is kept, by its name.
fn all_lines(archive: &Archive) -> Result<BTreeMap<String, Vec<HistoryLine>>> {
    let mut names = Vec::new();
    let read = archive.store().get(Space::State, None, BlobNames::Prefix(NAME.as_bytes()), &mut |name, _| {
        names.extend(str::from_utf8(name).map(str::to_owned));
        Ok(())
    });
    match read {
        // Lines that do not open say nothing.
        Err(error) if error.kind() == ErrorKind::Corrupt => {}
        other => other?,
    }
    let with_lines = |name: String| {
        let lines = archive.lines_under(&name).into_iter().filter_map(HistoryLine::of).collect();
        (name, lines)
    };
    Ok(names.into_iter().map(with_lines).collect())
}

/// Visits the title and the texts of a conversation, as far as they can be read.
fn each_text(archive: &Archive, id: ConversationId, visit: &mut dyn FnMut(&str)) {
    if let Some(title) = archive.conversation(id).ok().and_then(|stored| stored.conversation.title) {
        visit(&title);
    }
    let read = archive.reader().each_message(id, &mut |stored| {
        visit(&stored.message.text());
        Ok(())
    });
    if let Err(error) = read {
        tracing::debug!(kind = error.kind().as_str(), "a conversation that goes was not read to its end");
    }
}
