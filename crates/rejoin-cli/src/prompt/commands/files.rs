//! Command files: their names stand beside the built-in commands, and each begins a conversation of its own.

use super::After;
use crate::context::Context;
use crate::error::Failure;
use crate::prompt::Prompt;
use crate::session::{SessionOverrides, command_file};
use crate::ui::clean;

/// A command that a file describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedCommand {
    pub(super) name: String,
    pub(super) about: String,
}

/// The command files of the project.
pub(super) fn found(context: &Context) -> Vec<ListedCommand> {
    let files = command_file::all(context).into_iter();
    // The names are letters, digits and a few signs; what a file says about itself can be anything.
    let about = |text: Option<String>| text.map_or("a command file".to_owned(), |text| clean::line(&text));
    files.map(|file| ListedCommand { name: file.name, about: about(file.description) }).collect()
}

/// Begins a conversation with a command, and says what was typed after its name.
pub(super) fn begin(prompt: &mut Prompt<'_>, name: &str, argument: &str) -> Result<After, Failure> {
    let overrides =
        SessionOverrides { command: Some(name.to_owned()), title: None, ..prompt.overrides.clone() };
    prompt.begin(&prompt.fresh_start(), &overrides)?;
    if argument.is_empty() {
        prompt.dim(&format!("A new conversation with /{name}. Say what it is about."))?;
    } else {
        prompt.say(argument)?;
    }
    Ok(After::Stay)
}
