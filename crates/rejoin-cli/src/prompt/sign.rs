//! What stands before the line that is typed.

use rejoin::{SavingState, SavingWatch};
use std::borrow::Cow;

use reedline::{Color, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

use super::Keeping;

/// What stands before the line that is typed.
#[derive(Debug)]
pub(super) struct Sign {
    pub(super) state: SavingWatch,
    pub(super) keeping: Keeping,
}

impl reedline::Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        match (self.state.state(), self.keeping) {
            (SavingState::Waiting { .. }, _) => "not saved".into(),
            (SavingState::Saved, Keeping::Incognito) => "incognito".into(),
            (SavingState::Saved, Keeping::Off) => "not saving".into(),
            (SavingState::Saved, Keeping::Kept) => "".into(),
        }
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "  ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        match search.status {
            PromptHistorySearchStatus::Passing => format!("(search: {}) ", search.term).into(),
            PromptHistorySearchStatus::Failing => format!("(not found: {}) ", search.term).into(),
        }
    }

    fn get_prompt_color(&self) -> Color {
        Color::Yellow
    }

    fn get_indicator_color(&self) -> Color {
        Color::Green
    }
}
