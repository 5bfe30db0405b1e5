//! `/export` and `/export-all`: conversations as files.

use super::After;
use super::listing::command_line;
use crate::commands::export_formats;
use crate::error::Failure;
use crate::prompt::{Keeping, Prompt};

/// The format when none is named.
const FORMAT: &str = "markdown";

/// Writes a conversation to a file: this one, unless another is named.
pub(super) fn export(prompt: &mut Prompt<'_>, words: &str) -> Result<After, Failure> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let is_format = |word: &str| export_formats().iter().any(|(name, _)| *name == word);
    let (named, format) = match words.as_slice() {
        [] => (None, FORMAT),
        [only] if is_format(only) => (None, *only),
        [id] => (Some(*id), FORMAT),
        [id, format] => (Some(*id), *format),
        _ => return Err(Failure::usage("`/export` takes a conversation and a format")),
    };
    if prompt.keeping != Keeping::Kept && named.is_none() {
        return Err(Failure::usage("export a conversation that is not saved")
            .hint("leave, then start a conversation that is saved"));
    }
    let own = prompt.session.conversation().to_string();
    command_line(prompt, &["export", "--format", format, "--", named.unwrap_or(&own)])?;
    Ok(After::Stay)
}

/// Writes every conversation of this project to a file.
pub(super) fn export_all(prompt: &mut Prompt<'_>, format: &str) -> Result<After, Failure> {
    let format = if format.trim().is_empty() { FORMAT } else { format.trim() };
    command_line(prompt, &["export", "--all", "--format", format])?;
    Ok(After::Stay)
}
