//! Which conversation somebody wants to come back to: named, found by words, or picked from a list.

mod draw;
mod find;

use std::io::{self, Write};

use rejoin::{Archive, StoredConversation};

pub(crate) use self::draw::MatchLook;
pub(crate) use self::find::{ListNumbers, NameMatch, matching, named};

use crate::context::Context;
use crate::error::Failure;
use crate::picker::{self, Picked};
use crate::session::Start;
use crate::session::reach::Reach;
use crate::ui::ask as question;

/// Finds what a name stands for and asks where that is not clear; without a name everything is offered. None
/// means that the person changed their mind.
pub(crate) fn choose(context: &Context, archive: &Archive, name: &str) -> Result<Option<Start>, Failure> {
    if name.is_empty() {
        return pick(context, archive, Reach::Project);
    }
    match named(context, archive, name, Reach::Project)? {
        NameMatch::One(start) => Ok(Some(start)),
        NameMatch::Several(items) => ask(context, archive, items),
    }
}

/// Offers conversations on the whole screen: at first these, which a key changes.
pub(crate) fn pick(context: &Context, archive: &Archive, reach: Reach) -> Result<Option<Start>, Failure> {
    Ok(match picker::pick(context, archive, reach)? {
        Picked::Conversation(id) => Some(Start::Conversation(id.to_string())),
        Picked::Message(id, message) => Some(Start::Message(format!("{id}/{message}"))),
        Picked::Nothing => None,
    })
}

/// Shows some conversations with numbers and asks for one, again until it is clear which.
pub(crate) fn ask(
    context: &Context,
    archive: &Archive,
    mut offered: Vec<StoredConversation>,
) -> Result<Option<Start>, Failure> {
    let look = MatchLook::of(context);
    let start = |stored: &StoredConversation| Start::Conversation(stored.id.to_string());
    loop {
        let mut answer = context.answer();
        write!(answer, "{}", look.list(&offered))?;
        answer.flush()?;
        drop(answer);
        ListNumbers::remember(context, archive, &offered)?;
        let prompt = "Which conversation would you like to continue? (number or search) ";
        let typed = question::ask(prompt, &mut io::stdin().lock(), &mut io::stderr())?.unwrap_or_default();
        if typed.is_empty() {
            return Ok(None);
        }
        let numbered = typed.parse::<usize>().ok().and_then(|number| offered.get(number.checked_sub(1)?));
        if let Some(chosen) = numbered {
            return Ok(Some(start(chosen)));
        }
        match matching(offered.clone(), &typed).as_slice() {
            [] => context.note("No match."),
            [only] => return Ok(Some(start(only))),
            several => offered = several.to_vec(),
        }
    }
}
