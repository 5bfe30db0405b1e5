//! The list to pick a conversation from: typed letters narrow it, a pane shows what was said last.

mod branches;
mod draw;
mod keys;
mod preview;
mod screen;
mod state;

pub(crate) use self::screen::termination_is_heeded;

use rejoin::{Archive, ConversationId, ErrorKind, MessageId};

use crate::context::Context;
use crate::error::Failure;
use crate::project_names::ProjectNames;
use crate::session::reach::{Reach, all};

use self::draw::PickerLook;
use self::keys::{PickerStep, step};
use self::preview::PreviewCache;
use self::screen::{Happening, PickerScreen};
use self::state::{PickerRow, PickerState};

/// What was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Conversation(ConversationId),
    /// The end of a branch.
    Message(ConversationId, MessageId),
    Nothing,
}

/// Shows the list until something is picked. Where this project has no conversations, those of others are
/// offered at once.
pub(crate) fn pick(context: &Context, archive: &Archive, reach: Reach) -> Result<Picked, Failure> {
    let archive = &archive.clone().passing_over_damage();
    let mut state = PickerState::new(all(context, archive, reach)?, reach);
    if state.counts().1 == 0 && reach == Reach::Project {
        state.replace(all(context, archive, Reach::Everything)?, Reach::Everything);
        state.say("This project has no conversations yet. These are from other projects.");
    }
    // What the list leaves out was said before it opened.
    archive.reader().passed_over();
    let mut previews = PreviewCache::default();
    let names = ProjectNames::of(archive)?;
    let look = PickerLook { clock: context.clock(), paint: context.paint(), names };
    let mut screen = PickerScreen::open()?;
    loop {
        screen.draw(|frame| look.draw(frame, &mut state, &mut previews.of(archive)))?;
        let key = match screen.wait()? {
            Happening::Key(key) => key,
            Happening::Resized => continue,
        };
        match step(&mut state, key) {
            PickerStep::Stay => {}
            PickerStep::Leave => return Ok(Picked::Nothing),
            PickerStep::ChangeReach => {
                let reach = state.reach().other();
                state.replace(all(context, archive, reach)?, reach);
                tell_left_out(archive, &mut state);
            }
            PickerStep::Unfold => unfold(archive, &mut state),
            PickerStep::Pick => match picked(archive, &state) {
                Ok(Some(picked)) => return Ok(picked),
                // The others can still be picked.
                Err(failure) if failure.is_damage() => state.say(&failure.summary()),
                Err(failure) => return Err(failure),
                Ok(None) => {
                    state.say("It was deleted meanwhile.");
                    let reach = state.reach();
                    state.replace(all(context, archive, reach)?, reach);
                }
            },
        }
    }
}

fn unfold(archive: &Archive, state: &mut PickerState) {
    let Some(stored) = state.selected_conversation() else { return };
    let found = branches::of(archive, stored);
    match found {
        Ok(branches) if branches.len() < 2 => state.say("It has no branches."),
        Ok(branches) => state.unfold(branches),
        Err(error) => state.say(&error.to_string()),
    }
    tell_left_out(archive, state);
}

fn tell_left_out(archive: &Archive, state: &mut PickerState) {
    if let Some(missing) = preview::left_out(archive) {
        state.say(&format!("Left out: {missing}."));
    }
}

/// What is selected, or none when it is gone. The list may be minutes old.
fn picked(archive: &Archive, state: &PickerState) -> Result<Option<Picked>, Failure> {
    let Some(row) = state.selected() else { return Ok(Some(Picked::Nothing)) };
    let id = state.conversation_of(row).id;
    let outcome = match row {
        PickerRow::Conversation(_) => archive.conversation(id).map(|_| Picked::Conversation(id)),
        PickerRow::Branch(_, branch) => {
            archive.messages(id, &[branch.head]).map(|_| Picked::Message(id, branch.head))
        }
    };
    match outcome {
        Ok(picked) => Ok(Some(picked)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
