//! The terminal while the list is on it: taken over, and given back however this ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::SIGTERM;
use signal_hook::{flag, low_level};

use crate::error::Failure;

/// How soon the signal is noticed while no key is pressed.
const PATIENCE: Duration = Duration::from_millis(200);

/// What a handler of a signal needs belongs to the process, as the handler
/// does: it is installed once and stays.
static TERMINATION: OnceLock<Termination> = OnceLock::new();

/// True while something else than the picker heeds the signal.
static IS_HEEDED: AtomicBool = AtomicBool::new(false);

/// Something that happened on the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Key(KeyEvent),
    Resized,
}

/// The terminal, taken over.
#[derive(Debug)]
pub(super) struct PickerScreen {
    terminal: DefaultTerminal,
    termination: &'static Termination,
}

/// The request to end, put off while the terminal is taken over.
///
/// A hang-up is not put off: nothing is left to give back then, and reading from a terminal that is gone
/// never ends. Neither is an interrupt, which is a key like others here.
#[derive(Debug)]
struct Termination {
    was_asked: Arc<AtomicBool>,
    /// While true, the signal does what it always does.
    is_deadly: Arc<AtomicBool>,
}

impl PickerScreen {
    /// Takes the terminal over. A panic gives it back too.
    pub(super) fn open() -> Result<Self, Failure> {
        let termination = Termination::shared().map_err(|error| Failure::io("watch for signals", error))?;
        termination.is_deadly.store(false, Ordering::SeqCst);
        let terminal = ratatui::try_init().map_err(|error| {
            termination.is_deadly.store(true, Ordering::SeqCst);
            ratatui::restore();
            Failure::io("take over the terminal", error).hint("run `rejoin resume --list` instead")
        })?;
        Ok(Self { terminal, termination })
    }

    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        self.terminal.draw(picture).map_err(|error| Failure::io("draw on the terminal", error))?;
        Ok(())
    }

    /// Waits for something to happen. The signal gives the terminal back and then does what it always does.
    pub(super) fn wait(&mut self) -> Result<Happening, Failure> {
        let failed = |error: io::Error| Failure::io("read from the terminal", error);
        loop {
            if self.termination.was_asked.load(Ordering::SeqCst) {
                ratatui::restore();
                low_level::emulate_default_handler(SIGTERM).map_err(failed)?;
            }
            if !event::poll(PATIENCE).map_err(failed)? {
                continue;
            }
            match event::read().map_err(failed)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(Happening::Key(key)),
                Event::Resize(..) => return Ok(Happening::Resized),
                _ => {}
            }
        }
    }
}

impl Drop for PickerScreen {
    fn drop(&mut self) {
        ratatui::restore();
        self.termination.is_deadly.store(!IS_HEEDED.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

/// Tells that the prompt, which the screen returns to, heeds the signal itself.
pub(crate) fn termination_is_heeded() {
    IS_HEEDED.store(true, Ordering::SeqCst);
}

impl Termination {
    fn shared() -> io::Result<&'static Self> {
        if let Some(shared) = TERMINATION.get() {
            return Ok(shared);
        }
        let is_deadly = AtomicBool::new(!IS_HEEDED.load(Ordering::SeqCst));
        let own = Self { was_asked: Arc::default(), is_deadly: Arc::new(is_deadly) };
        flag::register_conditional_default(SIGTERM, Arc::clone(&own.is_deadly))?;
        flag::register(SIGTERM, Arc::clone(&own.was_asked))?;
        Ok(TERMINATION.get_or_init(|| own))
    }
}
