//! `/stop` and `/complete`: what becomes of the conversation.

use super::After;
use crate::error::Failure;
use crate::prompt::{Keeping, Prompt};
use crate::session::stop::StopMode;
use crate::session_files::save_session;
use crate::ui::paint::Meaning;

/// Pauses the conversation and leaves.
pub(super) fn stop(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, StopMode::Pause, None)
}

/// Pauses the conversation and leaves. The way back is in the spelling that was typed.
pub(super) fn stop_conversation(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, StopMode::Pause, Some("/workspace.resume"))
}

/// Marks the conversation as done and leaves.
pub(super) fn complete(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    end(prompt, StopMode::Complete, None)
}

fn end(prompt: &mut Prompt<'_>, end: StopMode, way_back: Option<&str>) -> Result<After, Failure> {
    if prompt.keeping != Keeping::Kept {
        return Ok(After::Leave);
    }
    let stopped = prompt.runtime.block_on(prompt.session.stop(end))?;
    let by_id = || format!("rejoin resume {}", prompt.session.conversation().short());
    let way_back = way_back.map_or_else(by_id, str::to_owned);
    for line in stopped.told(&way_back).lines() {
        prompt.line(Meaning::Plain, line)?;
    }
    save_session(prompt.context, &prompt.session.archive, prompt.session.conversation());
    Ok(After::Stopped)
}
