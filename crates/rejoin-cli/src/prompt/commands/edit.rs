//! `/editor` and Ctrl+X Ctrl+E: the next message, written in an editor.

use std::fs;
use std::io::Write;

use super::After;
use crate::error::Failure;
use crate::prompt::Prompt;
use crate::ui::external_editor;

/// Opens the editor on the line, or on the text after the name. What is written there is the next line.
pub(super) fn editor(prompt: &mut Prompt<'_>, text: &str) -> Result<After, Failure> {
    let line = prompt.reader.take_line();
    let text = if text.is_empty() { line.as_str() } else { text };
    match written(prompt, text) {
        Ok(written) => prompt.reader.offer(written.trim_end().to_owned()),
        Err(failure) => {
            prompt.reader.offer(text.to_owned());
            return Err(failure);
        }
    }
    Ok(After::Stay)
}

/// The text after the editor was left. The file is the user's alone, and is removed.
fn written(prompt: &Prompt<'_>, text: &str) -> Result<String, Failure> {
    let attempt = |error| Failure::io("write a file for the editor", error);
    let mut file = tempfile::Builder::new().prefix("rejoin-").suffix(".md").tempfile().map_err(attempt)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(attempt)?;
    external_editor::open(file.path(), prompt.context)?;
    fs::read_to_string(file.path()).map_err(|error| Failure::io("read what the editor wrote", error))
}
