//! `/clear`, `/resume` and `/title`: which conversation this is.

use super::After;
use crate::error::Failure;
use crate::named;
use crate::prompt::{Keeping, Prompt};
use crate::talk::{Overrides, Session, Start, which};
use crate::ui::paint::Meaning;

/// Starts a new conversation. The one before is kept.
pub(super) fn clear(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let start = match prompt.keeping {
        Keeping::Kept => Start::New,
        Keeping::Incognito => Start::Incognito,
    };
    let overrides = Overrides { title: None, ..prompt.overrides.clone() };
    prompt.begin(&start, &overrides)?;
    prompt.line(Meaning::Plain, "Conversation history cleared.")?;
    Ok(After::Stay)
}

/// Goes on with another conversation; without a name, offers them all.
pub(super) fn resume(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    if prompt.keeping == Keeping::Incognito {
        return Err(
            Failure::usage("go on with a kept conversation in incognito").hint("leave, then run `rejoin -r`")
        );
    }
    let (archive, _) = prompt.place()?;
    let Some(start) = which::choose(prompt.context, &archive, name)? else { return Ok(After::Stay) };
    let overrides = Overrides { title: None, command: None, ..prompt.overrides.clone() };
    prompt.begin(&start, &overrides)?;
    Ok(After::Stay)
}

/// Gives the conversation a title, or shows the one it has.
pub(super) fn title(prompt: &mut Prompt<'_>, title: &str) -> Result<After, Failure> {
    let (archive, id) = prompt.place()?;
    if title.is_empty() {
        let title = named::title(&archive.conversation(id)?);
        prompt.line(Meaning::Plain, &format!("This conversation is \"{title}\"."))?;
        return Ok(After::Stay);
    }
    let stored = archive.rename(id, &title.split_whitespace().collect::<Vec<_>>().join(" "))?;
    prompt.line(Meaning::Plain, &format!("This conversation is \"{}\" now.", named::title(&stored)))?;
    Ok(After::Stay)
}

impl Prompt<'_> {
    /// Takes up another conversation in the place of this one.
    pub(super) fn begin(&mut self, start: &Start, overrides: &Overrides) -> Result<(), Failure> {
        let context = self.context;
        self.session = self.runtime.block_on(async { Session::begin(context, start, overrides) })?;
        Ok(())
    }
}
