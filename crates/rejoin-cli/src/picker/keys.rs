//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::PickerState;

/// Lines that a page key moves.
const PAGE: isize = 10;

/// What a key asks for beyond a change of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickerStep {
    Stay,
    Leave,
    Pick,
    /// Offer the conversations of all projects, or of this one again.
    ChangeReach,
    /// Show the branches of what is selected.
    Unfold,
}

/// Applies a key.
pub(super) fn step(state: &mut PickerState, key: KeyEvent) -> PickerStep {
    state.hush();
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return control(state, key.code);
    }
    match key.code {
        KeyCode::Esc => return PickerStep::Leave,
        KeyCode::Enter => return PickerStep::Pick,
        KeyCode::Tab => return PickerStep::ChangeReach,
        KeyCode::Right => return PickerStep::Unfold,
        KeyCode::Left => state.fold(),
        KeyCode::Up => state.go(-1),
        KeyCode::Down => state.go(1),
        KeyCode::PageUp => state.go(-PAGE),
        KeyCode::PageDown => state.go(PAGE),
        KeyCode::Home => state.go(isize::MIN),
        KeyCode::End => state.go(isize::MAX),
        KeyCode::Backspace => state.erase(),
        KeyCode::Char(letter) => state.type_letter(letter),
        _ => {}
    }
    PickerStep::Stay
}

fn control(state: &mut PickerState, code: KeyCode) -> PickerStep {
    match code {
        KeyCode::Char('c' | 'd' | 'g') => return PickerStep::Leave,
        KeyCode::Char('p' | 'k') => state.go(-1),
        KeyCode::Char('n' | 'j') => state.go(1),
        KeyCode::Char('u') => state.erase_all(),
        KeyCode::Char('h') => state.erase(),
        _ => {}
    }
    PickerStep::Stay
}
