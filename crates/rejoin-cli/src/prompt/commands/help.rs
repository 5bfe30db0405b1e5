//! `/help` and `/quit`.

use std::io::{self, Write};

use super::{After, all, files};
use crate::error::Failure;
use crate::prompt::Prompt;
use crate::prompt::show::columns;
use crate::ui::fit;
use crate::ui::paint::Meaning;

/// The keys that are worth knowing.
const KEYS: &[(&str, &str)] = &[
    ("@FILE", "attach a text file or an image; Tab completes its name"),
    ("!COMMAND", "run a command in your shell; the next message includes its output"),
    ("Alt+Enter", "a new line; so does a backslash at the end of a line"),
    ("Tab", "complete a command, a file, a conversation or a message"),
    ("Ctrl+C", "stop a reply, or clear the line; twice on an empty line: exit"),
    ("Esc", "stop a reply"),
    ("Ctrl+O", "show the last result of a tool whole"),
    ("Ctrl+X Ctrl+E", "open the line in your editor"),
    ("Ctrl+D", "exit"),
];

/// Where what a command is for begins.
const COLUMN: usize = 24;

/// What can be typed here.
pub(super) fn help(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let commands =
        all().map(|command| (format!("/{} {}", command.name, command.argument), command.about.to_owned()));
    let files = files::found(prompt.context).into_iter().map(|file| (format!("/{}", file.name), file.about));
    let keys = KEYS.iter().map(|(key, about)| ((*key).to_owned(), (*about).to_owned()));
    let mut out = io::stdout().lock();
    for (name, about) in commands.chain(files).chain(keys) {
        out.write_all(entry(prompt, name.trim_end(), &about, COLUMN).as_bytes())?;
    }
    out.flush()?;
    Ok(After::Stay)
}

/// Side by side where there is room, else one below the other. `column` is where the second begins.
pub(super) fn entry(prompt: &Prompt<'_>, name: &str, about: &str, column: usize) -> String {
    let columns = columns();
    let paint = prompt.context.paint();
    let is_narrow = columns < 60;
    let indentation = if is_narrow { 4 } else { column };
    let mut entry = paint.apply(Meaning::Title, name);
    entry += &if is_narrow {
        "\n    ".to_owned()
    } else {
        " ".repeat(column.saturating_sub(fit::width(name)).max(1))
    };
    let lines = fit::wrap(about, columns.saturating_sub(indentation).max(8));
    entry += &lines.join(&format!("\n{}", " ".repeat(indentation)));
    entry.push('\n');
    entry
}

pub(super) fn quit(_: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    Ok(After::Leave)
}
