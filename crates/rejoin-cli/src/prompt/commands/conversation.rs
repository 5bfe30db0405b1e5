//! `/clear`, `/resume`, `/title` and `/show`: which conversation this is.

use super::After;
use super::listing::command_line;
use crate::error::Failure;
use crate::named;
use crate::prompt::{Keeping, Prompt};
use crate::session::{FirstSave, Session, SessionOverrides, Start, which};
use crate::ui::paint::Meaning;

/// Starts a new conversation. The one before is kept.
pub(super) fn clear(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let overrides = SessionOverrides { title: None, ..prompt.overrides.clone() };
    prompt.begin(&prompt.fresh_start(), &overrides)?;
    prompt.line(Meaning::Plain, "Conversation history cleared.")?;
    Ok(After::Stay)
}

/// Goes on with another conversation; without a name, with one that is picked.
pub(super) fn resume(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    if prompt.keeping == Keeping::Incognito {
        return Err(
            Failure::usage("go on with a kept conversation in incognito").hint("leave, then run `rejoin -r`")
        );
    }
    let chosen = which::choose(prompt.context, &prompt.session.archive, name)?;
    let Some(start) = chosen else { return Ok(After::Stay) };
    // What the conversation was held with counts for more than what this run began with.
    prompt.begin(&start, &SessionOverrides::default())?;
    prompt.redraw()?;
    prompt.greet()?;
    Ok(After::Stay)
}

/// Gives the conversation a title, or shows the one it has.
pub(super) fn title(prompt: &mut Prompt<'_>, title: &str) -> Result<After, Failure> {
    let (archive, id) = (&prompt.session.archive, prompt.session.conversation());
    if title.is_empty() {
        let title = named::title(&archive.conversation(id)?);
        prompt.line(Meaning::Plain, &format!("This conversation is \"{title}\"."))?;
        return Ok(After::Stay);
    }
    let stored = archive.rename(id, &title.split_whitespace().collect::<Vec<_>>().join(" "))?;
    prompt.line(Meaning::Plain, &format!("This conversation is \"{}\" now.", named::title(&stored)))?;
    Ok(After::Stay)
}

/// Shows the whole conversation, page by page.
pub(super) fn show(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    if prompt.keeping != Keeping::Kept {
        return Err(Failure::usage("show a conversation that is not saved"));
    }
    let id = prompt.session.conversation().to_string();
    command_line(prompt, &["show", &id])?;
    Ok(After::Stay)
}

impl Prompt<'_> {
    /// Takes up another conversation in the place of this one.
    pub(super) fn begin(&mut self, start: &Start, overrides: &SessionOverrides) -> Result<(), Failure> {
        let context = self.context;
        let next =
            self.runtime.block_on(async { Session::begin(context, start, overrides, FirstSave::AtOnce) })?;
        std::mem::replace(&mut self.session, next).forget_if_empty();
        self.overrides = overrides.clone();
        Ok(())
    }

    /// Where a new conversation begins, kept or not as this one is.
    pub(super) fn fresh_start(&self) -> Start {
        match self.keeping {
            Keeping::Kept | Keeping::Off => Start::New,
            Keeping::Incognito => Start::Incognito,
        }
    }
}
