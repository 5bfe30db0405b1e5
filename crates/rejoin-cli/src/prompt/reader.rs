//! Reads lines from the keyboard: with an editor, or plainly on a terminal that cannot do more.

use std::fmt;
use std::io::{self, BufRead, Write};

use reedline::{EditCommand, Reedline, Signal};
use rejoin::SavingWatch;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::TypedAhead;
use super::complete::{Completions, NameScope};
use super::editor::{self, Continued, INTERRUPT};
use super::hangup::{self, Hangup};
use super::sign::Sign;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::clean;

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Text(String),
    /// A key that stands for a command. What was typed stays on the line.
    Key(String),
    /// Ctrl+C on an empty line.
    Interrupt,
    /// Ctrl+D, there is no more input, or the program is told to end.
    End,
}

/// Reads lines from the keyboard.
pub(super) struct LineReader {
    editor: Option<Box<Reedline>>,
    completions: Completions,
    continued: Continued,
    sign: Option<Sign>,
    /// What the next line begins with.
    offered: Option<String>,
    watch: Option<JoinHandle<()>>,
    hangup: Hangup,
    guard: Option<JoinHandle<()>>,
}

impl LineReader {
    pub(super) fn open(context: &Context, lines: Vec<String>) -> Result<Self, Failure> {
        let is_dumb = context.surroundings.variable("TERM").is_none_or(|term| term == "dumb");
        let (completions, continued) = (Completions::default(), Continued::default());
        // A plain read cannot be woken up, so the signals end it as they always do.
        let hangup = if is_dumb { Ok(Hangup::default()) } else { Hangup::watch() };
        let hangup = hangup.map_err(|error| Failure::io("watch for signals", error))?;
        let open =
            || editor::new(context, lines, &completions, &continued).with_break_signal(hangup.for_editor());
        let editor = (!is_dumb).then(|| Box::new(open()));
        Ok(Self {
            editor,
            completions,
            continued,
            sign: None,
            offered: None,
            watch: None,
            hangup,
            guard: None,
        })
    }

    /// Gets ready for a line: where names are looked up, and whether everything is saved.
    pub(super) fn prepare(&mut self, place: NameScope, state: SavingWatch, runtime: &Runtime) {
        self.sign = Some(Sign { state: state.clone(), keeping: place.keeping });
        let (archive, conversation, keeping) = (place.archive.clone(), place.conversation, place.keeping);
        self.completions.look_in(place);
        let Some(editor) = &mut self.editor else { return };
        for task in [self.watch.take(), self.guard.take()].into_iter().flatten() {
            task.abort();
        }
        self.guard = Some(runtime.spawn(hangup::guard(archive, conversation, keeping)));
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

    /// Takes what stands on the line.
    pub(super) fn take_line(&mut self) -> String {
        let Some(editor) = &mut self.editor else { return String::new() };
        let text = editor.current_buffer_contents().to_owned();
        editor.run_edit_commands(&[EditCommand::Clear]);
        text
    }

    /// What is typed while something is under way. Where a line cannot be changed, the terminal keeps it.
    pub(super) fn typed_ahead(&self) -> TypedAhead {
        if self.editor.is_some() { TypedAhead::kept(self.hangup.clone()) } else { TypedAhead::ignored() }
    }

    /// Whether the program is told to end.
    pub(super) fn is_hung_up(&self) -> bool {
        self.hangup.was_told()
    }

    /// Puts what was typed meanwhile on the next line.
    pub(super) fn keep(&mut self, ahead: TypedAhead) {
        if let Some(text) = ahead.into_text() {
            self.offer(text);
        }
    }

    pub(super) fn read(&mut self) -> Result<Typed, Failure> {
        let Some(sign) = &self.sign else { return Ok(Typed::End) };
        let Some(editor) = &mut self.editor else { return plainly(sign, self.offered.take()) };
        if let Some(text) = self.offered.take() {
            editor.run_edit_commands(&[EditCommand::InsertString(text)]);
        }
        loop {
            if self.hangup.was_told() {
                return Ok(Typed::End);
            }
            let signal = editor.read_line(sign);
            if self.hangup.was_told()
                && let Some(guard) = self.guard.take()
            {
                guard.abort();
            }
            return match signal {
                Ok(Signal::Success(text)) => Ok(Typed::Text(self.continued.join(text))),
                Ok(Signal::HostCommand(key)) if key == INTERRUPT => {
                    self.continued.forget();
                    if editor.current_buffer_contents().is_empty() {
                        writeln!(io::stdout())?;
                        return Ok(Typed::Interrupt);
                    }
                    editor.run_edit_commands(&[EditCommand::Clear]);
                    continue;
                }
                Ok(Signal::HostCommand(key)) => {
                    writeln!(io::stdout())?;
                    Ok(Typed::Key(key))
                }
                // It ended a search, and takes what was found away.
                Ok(Signal::CtrlC) => {
                    self.continued.forget();
                    editor.run_edit_commands(&[EditCommand::Clear]);
                    continue;
                }
                Ok(Signal::CtrlD) => Ok(Typed::End),
                Ok(_) => continue,
                // A terminal that is gone cannot be read.
                Err(_) if self.hangup.was_told() => Ok(Typed::End),
                Err(error) => Err(Failure::io("read from the terminal", io::Error::other(error))),
            };
        }
    }
}

impl Drop for LineReader {
    fn drop(&mut self) {
        for task in [self.watch.take(), self.guard.take()].into_iter().flatten() {
            task.abort();
        }
    }
}

impl fmt::Debug for LineReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("offered", &self.offered).finish_non_exhaustive()
    }
}

/// A terminal that cannot move its cursor still reads and writes lines.
///
/// A text that is offered cannot be changed there; it is shown to be typed again.
fn plainly(sign: &Sign, offered: Option<String>) -> Result<Typed, Failure> {
    use reedline::{Prompt, PromptEditMode};
    if let Some(offered) = offered {
        writeln!(io::stdout(), "It was: {}", clean::block(&offered))?;
    }
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
