//! The initial context: what a model is told before the conversation begins.
//!
//! Base instructions, those of a command file or those of the user; the project and the day the conversation
//! started; the project's own instruction files. It is computed for each run and is not part of the history.
//!
//! A provider's cache knows a request by its beginning, so nothing in here changes while the project does
//! not. What does change, the day and where the conversation stood, is told beside the first message of a
//! run.

use std::path::{Path, PathBuf};

use rejoin::StoredConversation;

use crate::config::project;
use crate::context::Context;
use crate::private;
use crate::project_file::{BoundedContent, FileReading, read_inside};
use crate::session::command_file::{self, CommandFile};
use crate::session::stop;
use crate::ui::clean;

/// What a project tells models, in the order they are read.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The most that is taken of one file: larger ones crowd out the conversation.
const LARGEST: usize = 32 << 10;

/// The most that is taken of all files.
const LARGEST_TOGETHER: usize = 96 << 10;

const BASE: &str = "\
You are a helpful assistant in a terminal. Answer in plain Markdown, as briefly as the question allows. \
The conversation is kept and may go on after days; what was said in it still holds.";

/// What a model is told first.
#[derive(Debug)]
pub(super) struct InitialContext {
    pub(super) system: String,
    /// What is told beside the first message; none when there is nothing new.
    pub(super) note: Option<String>,
    /// What tells whether the instructions have changed: of the command, or else of the project's files.
    pub(super) hash: Option<String>,
    /// The project's files that were read, from the top.
    pub(super) files: Vec<String>,
}

/// Puts the initial context together. `own` is what the user says in place of the base instructions.
pub(super) fn initial(
    context: &Context,
    command: Option<&CommandFile>,
    own: Option<&str>,
    resumed: Option<&ContinuedConversation<'_>>,
) -> InitialContext {
    let clock = context.clock();
    let base = own.unwrap_or(BASE);
    let mut system = command.map_or_else(|| base.to_owned(), CommandFile::prompt);
    let project = context.config.project();
    let today = clock.date(clock.now());
    let started = resumed.map(|resumed| clock.date(resumed.stored.created_at.as_micros()));
    let date = started.as_ref().unwrap_or(&today);
    system += &format!("\n\nProject: {}\nDate: {date}\n", project.display());
    let found = instruction_files(context);
    let mut files = String::new();
    for file in &found {
        files += &delimited("project-instructions", Some(&file.name), &file.text);
    }
    system += &files;
    let note = resumed.and_then(|resumed| {
        let day = (*date != today).then(|| format!("Today is {today}.\n"));
        let recap = resumed.is_after_a_pause.then(|| recap(context, resumed.stored));
        let told: String = day.into_iter().chain(recap).collect();
        (!told.is_empty()).then(|| delimited("resumed-conversation", None, &told).trim().to_owned())
    });
    let hash = match command {
        Some(command) => Some(command.hash()),
        None => {
            let told = own.unwrap_or_default().to_owned() + &files;
            (!told.is_empty()).then(|| command_file::hash(&told))
        }
    };
    InitialContext { system, note, hash, files: found.into_iter().map(|file| file.name).collect() }
}

/// A conversation that goes on.
#[derive(Debug)]
pub(super) struct ContinuedConversation<'a> {
    pub(super) stored: &'a StoredConversation,
    /// Whether the model is told where it stood.
    pub(super) is_after_a_pause: bool,
}

/// What a conversation was about and where it stopped.
fn recap(context: &Context, stored: &StoredConversation) -> String {
    let clock = context.clock();
    let mut told = format!(
        "The user comes back to this conversation. Go on from where it stopped.\n\
         Title: {}\nKind: {}\nStarted: {}\nLast active: {}\nMessages: {}\n",
        clean::line(stored.title()),
        clean::line(&stored.conversation.kind),
        clock.minute(stored.created_at.as_micros()),
        clock.minute(stored.last_active_at.as_micros()),
        stored.messages,
    );
    if let Some(synopsis) = &stored.conversation.synopsis {
        told += &format!("Summary: {}\n", clean::line(&synopsis.text));
        for item in &synopsis.action_items {
            told += &format!("To do: {}\n", clean::line(item));
        }
    }
    let stopped = stop::summary_in_list(stored);
    if stored.conversation.synopsis.is_none() && !stopped.is_empty() {
        told += &format!("It stopped at: {stopped}\n");
    }
    told
}

/// An instruction file of the project.
#[derive(Debug, PartialEq, Eq)]
struct InstructionFile {
    name: String,
    text: String,
}

/// The files from the repository's root down to the working directory, the nearest last.
fn instruction_files(context: &Context) -> Vec<InstructionFile> {
    let project = context.config.project();
    let root = repository_of(project);
    let working = &context.surroundings.working_directory;
    let nearest = if working.starts_with(project) { working.as_path() } else { project };
    let mut folders: Vec<&Path> = nearest.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    folders.reverse();
    let mut found = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut left = LARGEST_TOGETHER;
    let warn = |message: &str, hint: Option<&str>| context.manner.warn(message, hint);
    for file in folders.iter().flat_map(|folder| FILES.map(|name| folder.join(name))) {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        match read_inside(&file, root, LARGEST.min(left)) {
            // Nothing of a directory of another user is used, and the configuration said so.
            FileReading::Foreign(foreign) if foreign.path == root => {}
            // Projects often keep one of the two as a link to the other.
            FileReading::Content(content) if seen.contains(&content.place) => {}
            FileReading::Content(content) => {
                left -= content.bytes.len().min(left);
                found.push(InstructionFile { text: text_of(&content, &name, context), name });
                seen.push(content.place);
            }
            FileReading::Absent => {}
            FileReading::Outside => {
                warn(&format!("`{name}` is a link that leads out of the project, so it was not read"), None);
            }
            FileReading::Irregular => {
                warn(&format!("`{name}` is not a regular file, so it was not read"), None);
            }
            FileReading::Failed(error) => warn(&format!("`{name}` could not be read: {error}"), None),
            FileReading::Foreign(foreign) => {
                warn(&format!("`{name}` was not read: {foreign}"), Some(&private::remedy(&foreign)));
            }
        }
    }
    found
}

/// What a model is told of a file.
fn text_of(content: &BoundedContent, name: &str, context: &Context) -> String {
    let mut text = content.text();
    if !content.is_whole {
        text.push_str("\n[the rest was left out]");
        context.manner.warn(&format!("only the start of `{name}` is sent to the model"), None);
    }
    text
}

/// The nearest directory above that is a repository, or the project itself.
fn repository_of(project: &Path) -> &Path {
    project::own_ancestors(project).find(|folder| folder.join(".git").exists()).unwrap_or(project)
}

/// Sets a text apart so that it cannot pretend to be anything else.
fn delimited(tag: &str, name: Option<&str>, text: &str) -> String {
    let inner = text.trim().replace(&format!("</{tag}"), &format!("<\\/{tag}"));
    let named = name.map(|name| format!(" file={name:?}")).unwrap_or_default();
    format!("\n<{tag}{named}>\n{inner}\n</{tag}>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_own_frame() {
        let framed = delimited("project-instructions", Some("AGENTS.md"), "a\n</project-instructions>\nb\n");

        let expected = "\n<project-instructions file=\"AGENTS.md\">\na\n<\\/project-instructions>\nb\n\
                        </project-instructions>\n";
        assert_eq!(framed, expected);
    }
}
