//! What can be asked for with a slash. `/help` and completion read the same table.

mod branches;
mod clipboard;
mod compaction;
mod conversation;
mod edit;
mod export;
mod files;
mod help;
mod lifecycle;
mod listing;
mod partner;
mod status;
mod view;

use super::Prompt;
use crate::error::Failure;
use crate::suggest::nearest;

/// What happens to the prompt after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Stay,
    Leave,
    /// Leave a conversation that was stopped; how to come back is told.
    Stopped,
}

/// What a command takes after its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    Nothing,
    Text,
    Conversation,
    Message,
    /// A format to export in.
    Format,
    /// A conversation, and a format to export it in.
    ConversationAndFormat,
    /// One of these words, each with what it is for.
    Words(&'static [(&'static str, &'static str)]),
}

/// A command, as `/help` shows it and completion offers it.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// What follows the name, as it is shown.
    pub(super) argument: &'static str,
    pub(super) about: &'static str,
    pub(super) takes: Takes,
    run: fn(&mut Prompt<'_>, &str) -> Result<After, Failure>,
}

#[rustfmt::skip]
const COMMANDS: &[Command] = &[
    command("help", "", "what can be typed here", Takes::Nothing, help::help),
    command("clear", "", "start a new conversation; this one is kept", Takes::Nothing, conversation::clear),
    command("resume", "[ID]", "go on with another conversation", Takes::Conversation, conversation::resume),
    command("title", "TITLE", "give this conversation a title", Takes::Text, conversation::title),
    command("show", "", "the whole conversation", Takes::Nothing, conversation::show),
    command("status", "", "the conversation, its model, tokens and cost", Takes::Nothing, status::status),
    command("tree", "", "the messages and branches of this conversation", Takes::Nothing, branches::tree),
    command("fork", "[MESSAGE]", "go on in a new branch", Takes::Message, branches::fork),
    command("rewind", "[MESSAGE]", "go back to a message, or by one exchange", Takes::Message, branches::rewind),
    command("retry", "", "ask the last message again, in a new branch", Takes::Nothing, branches::retry),
    command("compact", "[report]", "shorten what the model is sent; what that left out", Takes::Words(compaction::WORDS), compaction::compact),
    command("uncompact", "", "send the model again what a summary stands for", Takes::Nothing, compaction::uncompact),
    command("pin", "[MESSAGE]", "keep a message whatever is compacted, or let it go", Takes::Message, compaction::pin),
    command("conversations", "[clean]", "list conversations, or delete old ones", Takes::Words(listing::WORDS), listing::conversations),
    command("export", "[ID] [FORMAT]", "write this conversation, or another, to a file", Takes::ConversationAndFormat, export::export),
    command("export-all", "[FORMAT]", "write every conversation of this project to a file", Takes::Format, export::export_all),
    command("stop", "", "pause this conversation and leave", Takes::Nothing, lifecycle::stop),
    command("complete", "", "mark this conversation as done and leave", Takes::Nothing, lifecycle::complete),
    command("model", "[MODEL]", "ask another model", Takes::Text, partner::model),
    command("models", "", "the models of the provider", Takes::Nothing, partner::models),
    command("provider", "[NAME [MODEL]]", "ask another provider", Takes::Text, partner::provider),
    command("tools", "", "the tools the model may ask for", Takes::Nothing, view::tools),
    command("thinking", "", "show thinking, or fold it again", Takes::Nothing, view::thinking),
    command("expand", "", "the last result of a tool, whole", Takes::Nothing, view::expand),
    command("copy", "", "copy the last reply to the clipboard", Takes::Nothing, clipboard::copy),
    command("editor", "[TEXT]", "write the next message in your editor", Takes::Text, edit::editor),
    command("quit", "", "leave", Takes::Nothing, help::quit),
];

/// Other spellings, which are accepted but not shown.
const SPELLINGS: &[(&str, &str)] = &[("exit", "quit")];

/// Spellings that answer in words of their own. They are not shown either.
#[rustfmt::skip]
const SPELLED: &[Command] = &[
    command("workspace.resume", "[ID]", "go on with another conversation", Takes::Conversation, conversation::resume_listed),
    command("workspace.stop-conversation", "", "pause this conversation and leave", Takes::Nothing, lifecycle::stop_conversation),
];

const fn command(
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    takes: Takes,
    run: fn(&mut Prompt<'_>, &str) -> Result<After, Failure>,
) -> Command {
    Command { name, argument, about, takes, run }
}

/// Every command, in the order of `/help`.
pub(super) fn all() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter()
}

/// The command with this name or spelling.
pub(super) fn named(name: &str) -> Option<&'static Command> {
    let spelled = SPELLINGS.iter().find(|(spelling, _)| *spelling == name);
    let name = spelled.map_or(name, |(_, own)| own);
    COMMANDS.iter().chain(SPELLED).find(|command| command.name == name)
}

/// Runs a command by its name.
pub(super) fn run(prompt: &mut Prompt<'_>, name: &str, argument: &str) -> Result<After, Failure> {
    if let Some(command) = named(name) {
        return (command.run)(prompt, argument);
    }
    if files::found(prompt.context).iter().any(|file| file.name == name) {
        return files::begin(prompt, name, argument);
    }
    Err(unknown(name))
}

/// Tells what to type instead of a name that means nothing.
fn unknown(name: &str) -> Failure {
    let names = COMMANDS.iter().chain(SPELLED).map(|command| command.name);
    let known = names.chain(SPELLINGS.iter().map(|(name, _)| *name));
    let failure = Failure::usage(format!("no command `/{name}`"));
    match nearest(name, known) {
        Some(near) => failure.hint(format!("did you mean /{near}?")),
        None => failure.hint("type /help to see all; start a message with two slashes to send one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_met_with_the_nearest() {
        let told = ["tre", "exprot", "etc/hosts"].map(|name| unknown(name).to_string());

        let expected = [
            "error: no command `/tre`\nhint: did you mean /tree?",
            "error: no command `/exprot`\nhint: did you mean /export?",
            "error: no command `/etc/hosts`\nhint: type /help to see all; start a message with two slashes to send one",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn other_spellings_are_accepted() {
        let names = ["exit", "workspace.resume", "workspace.stop-conversation", "quit"]
            .map(|name| named(name).map(|command| command.name));

        assert_eq!(
            names,
            [Some("quit"), Some("workspace.resume"), Some("workspace.stop-conversation"), Some("quit")]
        );
    }
}
