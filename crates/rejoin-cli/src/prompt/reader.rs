//! Reads lines from the keyboard: with an editor, or plainly on a terminal that cannot do more.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    ColumnarMenu, EditCommand, Emacs, FileBackedHistory, History, HistoryItem, KeyCode, KeyModifiers,
    MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult, Validator,
    default_emacs_keybindings,
};
use rejoin::SavingWatch;
use rejoin::parts::ArchiveState;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::complete::{Completions, Place};
use super::sign::Sign;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::paint::Paint;

const MENU: &str = "completions";

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Text(String),
    /// Ctrl+C: the line was thrown away.
    Interrupt,
    /// Ctrl+D, or there is no more input.
    End,
}

/// Reads lines from the keyboard.
pub(super) struct Reader {
    editor: Option<Box<Reedline>>,
    completions: Completions,
    continued: Continued,
    sign: Option<Sign>,
    /// What the next line begins with.
    offered: Option<String>,
    watch: Option<JoinHandle<()>>,
}

impl Reader {
    pub(super) fn open(context: &Context, lines: Vec<String>) -> Self {
        let is_dumb = context.surroundings.variable("TERM").is_none_or(|term| term == "dumb");
        let (completions, continued) = (Completions::default(), Continued::default());
        let editor = (!is_dumb).then(|| Box::new(editor(context, lines, &completions, &continued)));
        Self { editor, completions, continued, sign: None, offered: None, watch: None }
    }

    /// Gets ready for a line: where names are looked up, and whether everything is saved.
    pub(super) fn prepare(&mut self, place: Place, state: SavingWatch, runtime: &Runtime) {
        self.sign = Some(Sign { state: state.clone(), keeping: place.keeping });
        self.completions.look_in(place);
        let Some(editor) = &mut self.editor else { return };
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
        // The sign is drawn again as soon as the state changes, not only with the next key.
        let repaint = editor.repaint_signal();
        let mut state = state;
        self.watch = Some(runtime.spawn(async move {
            while state.changed().await.is_some() {
                repaint.request_repaint();
            }
        }));
    }

    /// Puts a text on the next line, to be changed and sent.
    pub(super) fn offer(&mut self, text: String) {
        self.offered = Some(text);
    }

    pub(super) fn read(&mut self) -> Result<Typed, Failure> {
        let Some(sign) = &self.sign else { return Ok(Typed::End) };
        let Some(editor) = &mut self.editor else { return plainly(sign) };
        if let Some(text) = self.offered.take() {
            editor.run_edit_commands(&[EditCommand::InsertString(text)]);
        }
        loop {
            let signal = editor.read_line(sign);
            return match signal {
                Ok(Signal::Success(text)) => Ok(Typed::Text(self.continued.join(text))),
                Ok(Signal::CtrlC) => {
                    self.continued.forget();
                    Ok(Typed::Interrupt)
                }
                Ok(Signal::CtrlD) => Ok(Typed::End),
                Ok(_) => continue,
                Err(error) => Err(Failure::io("read from the terminal", io::Error::other(error))),
            };
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("offered", &self.offered).finish_non_exhaustive()
    }
}

fn editor(
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
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline.clone());
    // Terminals that tell Shift+Enter apart send it as such.
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline);
    let complete =
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let menu = ColumnarMenu::default().with_name(MENU).with_columns(1).with_marker("> ");
    Reedline::create()
        .with_history(Box::new(history))
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_completer(Box::new(completions.clone()))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_validator(Box::new(continued.clone()))
        .with_ansi_colors(context.paint() == Paint::Colored)
        .use_bracketed_paste(true)
}

/// A terminal that cannot move its cursor still reads and writes lines.
fn plainly(sign: &Sign) -> Result<Typed, Failure> {
    use reedline::{Prompt, PromptEditMode};
    let mut text = String::new();
    loop {
        let begin = if text.is_empty() {
            format!("{}{}", sign.render_prompt_left(), sign.render_prompt_indicator(PromptEditMode::Default))
        } else {
            sign.render_prompt_multiline_indicator().into_owned()
        };
        let mut out = io::stdout().lock();
        write!(out, "{begin}")?;
        out.flush()?;
        drop(out);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        if read.map_err(|error| Failure::io("read from the terminal", error))? == 0 {
            writeln!(io::stdout())?;
            return Ok(if text.is_empty() { Typed::End } else { Typed::Text(text) });
        }
        let line = line.trim_end_matches(['\r', '\n']);
        match line.strip_suffix('\\') {
            Some(part) => text += &format!("{part}\n"),
            None => return Ok(Typed::Text(text + line)),
        }
    }
}

/// Lets a line go on after a backslash at its end.
///
/// Only a backslash that was typed for this is taken away: one in a text that was pasted belongs to the text.
#[derive(Clone, Debug, Default)]
struct Continued {
    /// What had been typed each time, up to and with the backslash.
    typed: Arc<Mutex<Vec<String>>>,
}

impl Continued {
    fn join(&self, text: String) -> String {
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

    fn forget(&self) {
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
