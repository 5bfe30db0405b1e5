//! `/stop` and `/complete`: what becomes of the conversation.

use super::After;
use crate::error::Failure;
use crate::git::commit_session;
use crate::prompt::{Keeping, Prompt};
use crate::talk::stop::End;
use crate::ui::paint::Meaning;

/// Pauses the conversation and leaves.
pub(super) fn stop(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, End::Pause)
}

/// Marks the conversation as done and leaves.
pub(super) fn complete(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, End::Complete)
}

fn end(prompt: &mut Prompt<'_>, end: End) -> Result<After, Failure> {
    if prompt.keeping != Keeping::Kept {
        return Ok(After::Leave);
    }
    let stopped = prompt.runtime.block_on(prompt.session.stop(end))?;
    let way_back = format!("rejoin resume {}", prompt.session.conversation().short());
    for line in stopped.told(&way_back).lines() {
        prompt.line(Meaning::Plain, line)?;
    }
    commit_session(prompt.context, &prompt.session.archive, prompt.session.conversation());
    Ok(After::Stopped)
}
