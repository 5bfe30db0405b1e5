//! Command files: a Markdown file whose text tells the model how to work, such
//! as `.rejoin/commands/brainstorm.md`.
//!
//! A project's own files win over the user's. A file is text for the model and nothing else: it may ask for
//! fewer tools than the configuration gives, never for more. The model that a project's file names counts
//! once the user trusts the project, as it does in the project's configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::trust::is_trusted;
use crate::context::Context;
use crate::error::Failure;
use crate::private::{self, Others};
use crate::project_file::{FileReading, read_inside, read_own};

/// The longest file: some fifteen thousand words.
const LARGEST: usize = 100_000;

/// Where a project keeps its commands.
const OF_PROJECT: &str = ".rejoin/commands";

/// Stands in the text for what the user says first.
const ARGUMENTS: &str = "$ARGUMENTS";

/// What the model reads there: the topic is said in the conversation itself, so
/// that it is the same on resume.
const FIRST_MESSAGE: &str = "(the user's first message)";

/// A command of the user or the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandFile {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) model: Option<String>,
    /// The tools it asks for; none means all that the configuration gives.
    pub(crate) tools: Option<Vec<String>>,
    /// Whose file it is.
    pub(crate) owner: Owner,
    text: String,
}

/// Whose a command file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    User,
    Project,
}

impl CommandFile {
    /// The model it asks for, where it may. One that a project names is told and
    /// ignored until the user trusts the project.
    pub(crate) fn allowed_model(&self, context: &Context) -> Option<String> {
        let model = self.model.as_ref()?;
        if self.owner == Owner::User || is_trusted(&context.surroundings, context.config.project_root()) {
            return Some(model.clone());
        }
        let told = format!(
            "ignored the model `{model}` that the project's command `{}` names: the project is not trusted",
            self.name
        );
        context.manner.warn(&told, Some(&format!("pass `--model {model}` to use it")));
        None
    }

    /// What the model is told.
    pub(crate) fn prompt(&self) -> String {
        self.text.replace(ARGUMENTS, FIRST_MESSAGE)
    }

    /// What tells whether the text has changed.
    pub(crate) fn hash(&self) -> String {
        hash(&self.text)
    }
}

/// The hash of a text, tagged with its algorithm.
pub(super) fn hash(text: &str) -> String {
    let hex: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The command with this name, or none.
pub(crate) fn find(context: &Context, name: &str) -> Result<Option<CommandFile>, Failure> {
    if !is_name(name) {
        return Err(Failure::invalid(format!("`{name}` cannot be the name of a command file"))
            .hint("a name has letters, digits, `-`, `_` and `.`"));
    }
    let project = context.config.project();
    let file = format!("{name}.md");
    let of_project = project.join(OF_PROJECT).join(&file);
    let (place, found, owner) = match read_inside(&of_project, project, LARGEST) {
        // Nothing of a directory of another user is used, and the configuration said so.
        FileReading::Foreign(foreign) if foreign.path == project => read_of_user(context, &file)?,
        FileReading::Absent => read_of_user(context, &file)?,
        other => (of_project, other, Owner::Project),
    };
    let shown = place.display();
    match found {
        FileReading::Absent => Ok(None),
        FileReading::Content(content) if content.is_whole => Ok(Some(parse(name, owner, &content.text()))),
        FileReading::Content(_) => Err(Failure::invalid(format!("`{shown}` is longer than {LARGEST} bytes"))),
        FileReading::Outside => {
            Err(Failure::invalid(format!("`{OF_PROJECT}/{file}` is a link that leads out of the project")))
        }
        FileReading::Irregular => Err(Failure::invalid(format!("`{shown}` is not a regular file"))),
        FileReading::Foreign(foreign) => Err(private::refusal(format!("read `{shown}`"), &foreign)),
        FileReading::Failed(error) => Err(Failure::io(format!("read `{shown}`"), error)),
    }
}

/// A file of the user's own, which only the user may write.
fn read_of_user(context: &Context, file: &str) -> Result<(PathBuf, FileReading, Owner), Failure> {
    let folder = of_user(context)?;
    let place = folder.join(file);
    private::keep(&folder, Others::Read, context.manner)?;
    private::keep(&place, Others::Read, context.manner)?;
    let found = read_own(&place, LARGEST);
    Ok((place, found, Owner::User))
}

/// The command with this name, which must exist.
pub(crate) fn required(context: &Context, name: &str) -> Result<CommandFile, Failure> {
    find(context, name)?.ok_or_else(|| {
        let known: Vec<String> = all(context).into_iter().map(|command| command.name).collect();
        let hint = match known.as_slice() {
            [] => format!("write its instructions to `{OF_PROJECT}/{name}.md`"),
            _ => format!("the commands here are {}", known.join(", ")),
        };
        Failure::not_found(format!("no command file `{name}`")).hint(hint)
    })
}

/// Every command that can be used here, by name.
pub(crate) fn all(context: &Context) -> Vec<CommandFile> {
    let folders = [Some(context.config.project().join(OF_PROJECT)), of_user(context).ok()];
    let names = folders.into_iter().flatten().flat_map(|folder| names_in(&folder));
    let found: BTreeMap<String, CommandFile> =
        names.filter_map(|name| Some((name.clone(), find(context, &name).ok().flatten()?))).collect();
    found.into_values().collect()
}

fn of_user(context: &Context) -> Result<PathBuf, Failure> {
    Ok(context.surroundings.user_config_file()?.with_file_name("commands"))
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .filter(|name| is_name(name))
        .collect()
}

pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn parse(name: &str, owner: Owner, file: &str) -> CommandFile {
    let file = file.replace("\r\n", "\n");
    let (matter, text) = split(&file);
    let mut command = CommandFile {
        name: name.to_owned(),
        description: None,
        model: None,
        tools: None,
        owner,
        text: text.trim().to_owned(),
    };
    let mut field = "";
    for line in matter.lines() {
        let is_item = line.trim_start().strip_prefix("- ").filter(|_| field == "tools");
        if let Some(tool) = is_item {
            command.tools.get_or_insert_default().extend(words(tool));
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        field = key.trim();
        let word = || Some(unquoted(value)).filter(|value| !value.is_empty());
        match field {
            "description" => command.description = word(),
            "model" => command.model = word(),
            "tools" => command.tools.get_or_insert_default().extend(words(value)),
            _ => {}
        }
    }
    command
}

/// Splits what stands between two lines of hyphens at the very beginning from the rest.
fn split(file: &str) -> (&str, &str) {
    let Some(rest) = file.strip_prefix("---\n") else { return ("", file) };
    match rest.split_once("\n---\n") {
        Some(parts) => parts,
        None => rest.strip_suffix("\n---").map_or(("", file), |matter| (matter, "")),
    }
}

fn words(value: &str) -> Vec<String> {
    let inner = value.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(unquoted).filter(|word| !word.is_empty()).collect()
}

fn unquoted(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str, tools: Option<&[&str]>) -> CommandFile {
        CommandFile {
            name: "b".to_owned(),
            description: None,
            model: None,
            tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
            owner: Owner::User,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_file_without_front_matter_is_all_prompt() {
        assert_eq!(
            parse("b", Owner::User, "Ask *why*.\n---\nmodel: x\n"),
            command("Ask *why*.\n---\nmodel: x", None)
        );
    }

    #[test]
    fn front_matter_names_description_model_and_tools() {
        let file = "---\r\ndescription: \"Find ideas\"\r\nmodel: opus\r\ntools: [read, 'find']\r\nother: 1\r\n---\r\nAsk.";

        let expected = CommandFile {
            description: Some("Find ideas".to_owned()),
            model: Some("opus".to_owned()),
            ..command("Ask.", Some(&["read", "find"]))
        };
        assert_eq!(parse("b", Owner::User, file), expected);
    }

    #[test]
    fn tools_can_be_listed_line_by_line_or_be_none_at_all() {
        let listed = parse("b", Owner::User, "---\ntools:\n  - read\n  - find\n---\nAsk.");
        let none = parse("b", Owner::User, "---\ntools: []\n---\nAsk.");

        assert_eq!([listed, none], [command("Ask.", Some(&["read", "find"])), command("Ask.", Some(&[]))]);
    }

    #[test]
    fn the_topic_is_the_first_message_and_the_hash_is_of_what_was_written() {
        let file = command("Think about $ARGUMENTS.", None);

        assert_eq!(file.prompt(), "Think about (the user's first message).");
        assert_eq!(hash(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_ne!(file.hash(), command("Think.", None).hash());
    }

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        let names = ["brainstorm", "a.b-c_d", "", "../x", "a/b", ".hidden", "-r", "a b"];

        assert_eq!(names.map(is_name), [true, true, false, false, false, false, false, false]);
    }
}
