//! The terminal while the list is on it: taken over, and given back however this ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::error::Failure;

/// How soon a signal is noticed while no key is pressed.
const PATIENCE: Duration = Duration::from_millis(200);

/// A hang-up is not among them: nothing is left to give back then, and reading from a terminal that is gone never ends.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Something that happened on the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Key(KeyEvent),
    Resized,
}

/// The terminal, taken over.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: DefaultTerminal,
    signal: Arc<AtomicUsize>,
    /// Once true, signals do again what they always do.
    is_closed: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over. A panic gives it back too.
    pub(super) fn open() -> Result<Self, Failure> {
        let (signal, is_closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in SIGNALS {
            let outcome = flag::register_conditional_default(number, Arc::clone(&is_closed)).and_then(|_| {
                let value = usize::try_from(number).unwrap_or_default();
                flag::register_usize(number, Arc::clone(&signal), value)
            });
            outcome.map_err(|error| Failure::io("watch for signals", error))?;
        }
        let terminal = ratatui::try_init().map_err(|error| {
            ratatui::restore();
            Failure::io("take over the terminal", error).hint("run `rejoin resume --list` instead")
        })?;
        Ok(Self { terminal, signal, is_closed })
    }

    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        self.terminal.draw(picture).map_err(|error| Failure::io("draw on the terminal", error))?;
        Ok(())
    }

    /// Waits for something to happen. A signal gives the terminal back and then does what it always does.
    pub(super) fn wait(&mut self) -> Result<Happening, Failure> {
        let failed = |error: io::Error| Failure::io("read from the terminal", error);
        loop {
            if let Ok(number @ 1..) = i32::try_from(self.signal.load(Ordering::Relaxed)) {
                ratatui::restore();
                low_level::emulate_default_handler(number).map_err(failed)?;
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

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        ratatui::restore();
    }
}
