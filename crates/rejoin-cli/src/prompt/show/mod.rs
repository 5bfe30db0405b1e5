//! How a turn is shown while it happens: on a screen, as plain text for a pipe, or as events for a program.

mod approve;
mod events;
mod figures;
mod plain;
mod redraw;
mod screen;
mod tool;
mod waiting;

use std::io;
use std::time::Duration;

use rejoin::{ConversationId, SavingState};
use rejoin_agent::{Ended, Fullness, TurnEvent};

use self::events::EventDisplay;
pub(super) use self::figures::cost;
use self::plain::PlainDisplay;
pub(crate) use self::plain::again;
pub(super) use self::redraw::redraw;
use self::screen::ScreenDisplay;
pub(crate) use self::screen::ThinkingDisplay;
use super::Keeping;
use crate::context::Context;
use crate::error::Failure;
use crate::session::UnsavedReason;
pub(crate) use crate::ui::keyboard::Hushed;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, fit, page};

/// Columns to draw for when the terminal does not say.
const COLUMNS: usize = 80;

/// Rows to draw for when the terminal does not say.
const ROWS: usize = 24;

/// How often something that moves is drawn.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Shows a turn while it happens.
pub(crate) trait TurnDisplay {
    /// Shows what happened, and answers when an answer is asked for.
    fn event(&mut self, event: TurnEvent) -> Result<Course, Failure>;

    /// Time went by.
    fn tick(&mut self) -> Result<(), Failure>;

    /// What was said is not saved, or is saved again.
    fn saving(&mut self, state: &SavingState) -> Result<(), Failure>;

    /// The turn is over.
    fn end(&mut self, end: &TurnEnd) -> Result<(), Failure>;
}

/// Whether a turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    Go,
    /// The person at the keyboard wants it to stop.
    Stop,
}

/// Where a person can look at what a compaction left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossReport {
    /// At the prompt.
    Here,
    /// With another command.
    Elsewhere,
}

impl LossReport {
    /// What to type.
    const fn command(self) -> &'static str {
        match self {
            Self::Here => "/compact report",
            Self::Elsewhere => "rejoin compact --report",
        }
    }

    /// The key that shows a tool's result whole.
    const fn expand(self) -> Option<&'static str> {
        match self {
            Self::Here => Some("Ctrl+O shows all"),
            Self::Elsewhere => None,
        }
    }
}

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    Complete {
        ended: Ended,
        conversation: ConversationId,
        model: String,
        fullness: Fullness,
    },
    /// It was stopped.
    Interrupted {
        kept: ArrivedReply,
        conversation: ConversationId,
    },
    /// It failed; why is told elsewhere.
    Failed,
    /// It was no turn but a compaction, which was told.
    Compacted,
}

/// Whether anything of a reply had arrived when it was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivedReply {
    Part,
    Nothing,
}

/// A line of Rejoin's own, wrapped so that no word is cut.
pub(crate) fn own_line(text: &str, meaning: Meaning, paint: Paint) -> String {
    let lines = fit::wrap(&clean::line(text), columns());
    lines.iter().map(|line| paint.apply(meaning, line) + "\n").collect()
}

/// The width of the screen now: it may change at any time.
pub(crate) fn columns() -> usize {
    screen().columns
}

/// The size of the screen now.
pub(super) fn screen() -> page::ScreenSize {
    let size = terminal_size::terminal_size_of(io::stdout());
    let columns = size.map(|(columns, _)| usize::from(columns.0)).filter(|columns| *columns > 0);
    let rows = size.map(|(_, rows)| usize::from(rows.0)).filter(|rows| *rows > 0);
    page::ScreenSize { columns: columns.unwrap_or(COLUMNS), rows: rows.unwrap_or(ROWS) }
}

/// Tells a program that nothing is saved. A person was told when the talk began.
pub(crate) fn tell_unsaved(context: &Context, unsaved: &UnsavedReason) -> Result<(), Failure> {
    if context.is_json() { events::tell_unsaved(unsaved) } else { Ok(()) }
}

/// The way to show a turn that suits where the answer goes.
///
/// `state` is what is known about saving already.
pub(crate) fn choose<'a>(
    context: &'a Context,
    keeping: Keeping,
    thinking: ThinkingDisplay,
    state: &SavingState,
    report: LossReport,
) -> Box<dyn TurnDisplay + 'a> {
    if context.is_json() {
        Box::new(EventDisplay::new(context, keeping))
    } else if context.surroundings.terminal.stdout {
        Box::new(ScreenDisplay::new(context, thinking, state, report, io::stdout()))
    } else {
        Box::new(PlainDisplay::new(context, report))
    }
}
