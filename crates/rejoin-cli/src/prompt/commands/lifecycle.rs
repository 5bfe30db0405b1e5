//! `/stop` and `/complete`: what becomes of the conversation.

use rejoin::Status;

use super::After;
use crate::error::Failure;
use crate::named;
use crate::prompt::{Keeping, Prompt};
use crate::ui::paint::Meaning;

/// Pauses the conversation and leaves.
pub(super) fn stop(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, Status::Paused, "Paused")
}

/// Marks the conversation as done and leaves.
pub(super) fn complete(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, Status::Completed, "Completed")
}

fn end(prompt: &mut Prompt<'_>, status: Status, word: &str) -> Result<After, Failure> {
    if prompt.keeping == Keeping::Incognito {
        return Ok(After::Leave);
    }
    let (archive, id) = prompt.place()?;
    let stored = archive.update(id, |conversation| conversation.status = status)?;
    prompt.line(Meaning::Plain, &format!("{word} \"{}\".", named::title(&stored)))?;
    Ok(After::Leave)
}
