//! `/clear`, `/resume`, `/title` and `/show`: which conversation this is.

use super::After;
use super::listing::command_line;
use crate::error::Failure;
use crate::named;
use crate::prompt::{Keeping, Prompt};
use crate::session::reach::{Reach, all};
use crate::session::{FirstSave, Session, SessionOverrides, Start, which};
use crate::ui::paint::Meaning;

/// How many conversations a list shows that asks for one of them.
const LISTED: usize = 20;

/// Starts a new conversation. The one before is kept.
pub(super) fn clear(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let overrides = SessionOverrides { title: None, ..prompt.overrides.clone() };
    prompt.begin(&prompt.fresh_start(), &overrides)?;
    prompt.line(Meaning::Plain, "Conversation history cleared.")?;
    Ok(After::Stay)
}

/// Goes on with another conversation; without a name, with one that is picked.
pub(super) fn resume(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    check_kept(prompt)?;
    let chosen = which::choose(prompt.context, &prompt.session.archive, name)?;
    go_on(prompt, chosen)
}

/// The same; without a name, with one of a list.
pub(super) fn resume_listed(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    if !name.is_empty() {
        return resume(prompt, name);
    }
    check_kept(prompt)?;
    let (context, archive) = (prompt.context, &prompt.session.archive);
    let mut items = all(context, archive, Reach::Project)?;
    items.retain(|stored| stored.id != prompt.session.conversation());
    let more = items.len().saturating_sub(LISTED);
    items.truncate(LISTED);
    if items.is_empty() {
        prompt.line(Meaning::Plain, "There are no resumable conversations in this project.")?;
        prompt.line(Meaning::Plain, "To start one, type a message.")?;
        return Ok(After::Stay);
    }
    prompt.line(Meaning::Plain, "Here are your resumable conversations:")?;
    if more > 0 {
        prompt.dim(&format!("The latest {LISTED}; for {more} more, type /resume"))?;
    }
    prompt.write("\n")?;
    let chosen = which::ask(context, archive, items)?;
    go_on(prompt, chosen)
}

fn check_kept(prompt: &Prompt<'_>) -> Result<(), Failure> {
    if prompt.keeping == Keeping::Incognito {
        return Err(
            Failure::usage("go on with a kept conversation in incognito").hint("leave, then run `rejoin -r`")
        );
    }
    Ok(())
}

fn go_on(prompt: &mut Prompt<'_>, chosen: Option<Start>) -> Result<After, Failure> {
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
