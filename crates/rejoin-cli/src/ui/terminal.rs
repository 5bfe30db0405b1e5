//! What the terminal and the environment say, read once at the start. No other module of `ui` reads them.

use std::{
    env,
    io::{self, BufRead, IsTerminal},
};

use super::{
    ask::Keyboard,
    page::{Pager, Screen},
    paint::{ColorChoice, ColorSigns, Paint},
};

/// The streams that are terminals, and the size of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Whether a person types the input.
    pub(crate) has_keyboard: bool,
    /// Whether a person reads the answers.
    pub(crate) shows_answers: bool,
    /// Whether a person reads warnings and progress.
    pub(crate) shows_messages: bool,
    /// The size of the screen the answers go to.
    pub(crate) screen: Option<Screen>,
}

impl Terminal {
    /// Asks the three standard streams.
    pub(crate) fn read() -> Self {
        let shows_answers = io::stdout().is_terminal();
        let size = if shows_answers { terminal_size::terminal_size() } else { None };
        let screen = size.map(|(terminal_size::Width(columns), terminal_size::Height(rows))| Screen {
            columns: columns.into(),
            rows: rows.into(),
        });
        Self {
            has_keyboard: io::stdin().is_terminal(),
            shows_answers,
            shows_messages: io::stderr().is_terminal(),
            // Some terminals, and all serial lines, answer with zero, which means that they do not know.
            screen: screen.filter(|screen| screen.columns > 0 && screen.rows > 0),
        }
    }

    /// Returns the width to draw for, or `None` where lines may have any length.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.screen.map(|screen| screen.columns)
    }

    /// Chooses the brush for answers.
    pub(crate) fn paint_answers(&self, choice: ColorChoice) -> Paint {
        paint(choice, self.shows_answers)
    }

    /// Chooses the brush for warnings and errors.
    pub(crate) fn paint_messages(&self, choice: ColorChoice) -> Paint {
        paint(choice, self.shows_messages)
    }

    /// Chooses the pager and the screen it is for, or `None` where there is nothing to page on.
    pub(crate) fn paging(&self) -> Option<(Pager, Screen)> {
        let named = env::var("PAGER").ok();
        let pager = Pager::choose(named.as_deref(), env::var_os("LESS").as_deref())?;
        self.screen.map(|screen| (pager, screen))
    }

    /// Returns the keyboard to ask on.
    pub(crate) fn keyboard(&self) -> Keyboard<impl BufRead> {
        if self.has_keyboard { Keyboard::Present(io::stdin().lock()) } else { Keyboard::Absent }
    }
}

fn paint(choice: ColorChoice, is_terminal: bool) -> Paint {
    let [no_color, clicolor_force, term] = ["NO_COLOR", "CLICOLOR_FORCE", "TERM"].map(env::var_os);
    let signs = ColorSigns {
        is_terminal,
        no_color: no_color.as_deref(),
        clicolor_force: clicolor_force.as_deref(),
        term: term.as_deref(),
    };
    Paint::choose(choice, signs)
}
