//! The line editor: its keys, its completions, its colours.

use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    AbbrExpandContext, Color, ColumnarMenu, EditCommand, EditMode, Emacs, FileBackedHistory, Highlighter,
    History, HistoryItem, KeyCode, KeyModifiers, MenuBuilder, PromptEditMode, Reedline, ReedlineEvent,
    ReedlineMenu, ReedlineRawEvent, StyledText, ValidationResult, Validator, default_emacs_keybindings,
};
use rejoin::parts::ArchiveState;

use super::complete::Completions;
use crate::context::Context;
use crate::ui::paint::Paint;

const MENU: &str = "completions";

/// What Ctrl+C stands for.
pub(super) const INTERRUPT: &str = "interrupt";

pub(super) fn new(
    context: &Context,
    lines: Vec<String>,
    completions: &Completions,
    continued: &Continued,
) -> Reedline {
    let mut history = FileBackedHistory::new(ArchiveState::PROMPT_HISTORY_LINES).unwrap_or_default();
    for line in lines {
        let _ = history.save(HistoryItem::from_command_line(line));
    }
    let mut keys = default_emacs_keybindings();
    let host = |command: &str| ReedlineEvent::ExecuteHostCommand(command.to_owned());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('c'), Chords::interrupt());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), host("/expand"));
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('x'), host(Chords::FIRST));
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('e'), Chords::second());
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline.clone());
    // Terminals that tell Shift+Enter apart send it as such.
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline);
    let complete =
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    Reedline::create()
        .with_history(Box::new(history))
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_completer(Box::new(completions.clone()))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu())))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_edit_mode(Box::new(Chords::over(Emacs::new(keys))))
        .with_highlighter(Box::new(Unpainted))
        .with_visual_selection_style(Color::Default.reverse())
        .with_validator(Box::new(continued.clone()))
        .with_ansi_colors(context.paint() == Paint::Colored)
        .use_bracketed_paste(true)
}

/// The line as it is: any colour would be hard to read on some background.
struct Unpainted;

impl Highlighter for Unpainted {
    fn should_expand_abbr(&self, _: &str, _: usize, _: AbbrExpandContext) -> bool {
        false
    }

    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut text = StyledText::new();
        text.push((Color::Default.normal(), line.to_owned()));
        text
    }
}

/// The completions in the colours of the text around them.
fn menu() -> ColumnarMenu {
    let plain = Color::Default.normal();
    ColumnarMenu::default()
        .with_name(MENU)
        .with_columns(1)
        .with_marker("> ")
        .with_text_style(plain)
        .with_selected_text_style(plain.reverse())
        .with_description_text_style(plain.dimmed())
        .with_match_text_style(plain.bold())
        .with_selected_match_text_style(plain.reverse().bold())
}

/// The keys of Emacs, and Ctrl+X Ctrl+E, which opens the line in an editor as it does in a shell.
struct Chords {
    keys: Emacs,
    /// True after Ctrl+X.
    is_begun: bool,
    /// True after Ctrl+R, while a search is typed. Then only some events have an effect.
    is_searching: bool,
}

impl Chords {
    /// What Ctrl+X stands for.
    const FIRST: &'static str = "chord";

    const fn over(keys: Emacs) -> Self {
        Self { keys, is_begun: false, is_searching: false }
    }

    /// Ctrl+E alone: the end of the line, in a form that no other key has.
    fn second() -> ReedlineEvent {
        let end = ReedlineEvent::Edit(vec![EditCommand::MoveToLineEnd { select: false }]);
        ReedlineEvent::Multiple(vec![end])
    }

    /// Ctrl+C. Whether the line is empty decides what it does; a menu closes in any case.
    fn interrupt() -> ReedlineEvent {
        let interrupt = ReedlineEvent::ExecuteHostCommand(INTERRUPT.to_owned());
        ReedlineEvent::Multiple(vec![ReedlineEvent::Esc, interrupt])
    }

    /// What a key means while a search is typed.
    fn searching(&mut self, parsed: ReedlineEvent) -> ReedlineEvent {
        match parsed {
            parsed @ (ReedlineEvent::Edit(_) | ReedlineEvent::SearchHistory | ReedlineEvent::None) => parsed,
            ReedlineEvent::ExecuteHostCommand(_) => ReedlineEvent::None,
            parsed => {
                self.is_searching = false;
                if parsed == Self::interrupt() { ReedlineEvent::CtrlC } else { parsed }
            }
        }
    }
}

impl EditMode for Chords {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let parsed = self.keys.parse_event(event);
        if self.is_searching {
            return self.searching(parsed);
        }
        self.is_searching = parsed == ReedlineEvent::SearchHistory;
        let is_begun = std::mem::take(&mut self.is_begun);
        match parsed {
            ReedlineEvent::ExecuteHostCommand(command) if command == Self::FIRST => {
                self.is_begun = true;
                ReedlineEvent::None
            }
            parsed if is_begun && parsed == Self::second() => {
                ReedlineEvent::ExecuteHostCommand("/editor".to_owned())
            }
            parsed => parsed,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// Lets a line go on after a backslash at its end.
///
/// Only a backslash that was typed for this is taken away: one in a text that was pasted belongs to the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Continued {
    /// What had been typed each time, up to and with the backslash.
    typed: Arc<Mutex<Vec<String>>>,
}

impl Continued {
    pub(super) fn join(&self, text: String) -> String {
        let mut typed = std::mem::take(&mut *self.typed.lock().unwrap_or_else(PoisonError::into_inner));
        typed.sort_by_key(|before| std::cmp::Reverse(before.len()));
        typed.dedup();
        typed.iter().fold(text, |mut text, before| {
            let goes_on = text.strip_prefix(before.as_str()).is_some_and(|rest| rest.starts_with('\n'));
            if goes_on {
                text.remove(before.len() - 1);
            }
            text
        })
    }

    pub(super) fn forget(&self) {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Validator for Continued {
    fn validate(&self, line: &str) -> ValidationResult {
        if !line.ends_with('\\') {
            return ValidationResult::Complete;
        }
        self.typed.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        ValidationResult::Incomplete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_backslash_that_was_typed_to_go_on_is_taken_away() {
        let continued = Continued::default();
        continued.validate("one\\");
        continued.validate("one\\\ntwo\\");

        let joined = continued.join("one\\\ntwo\\\npasted \\\nthree".to_owned());

        assert_eq!(joined, "one\ntwo\npasted \\\nthree");
    }
}
