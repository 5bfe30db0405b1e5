//! A line that shows that something goes on, and for how long. Nothing of it remains.

use std::time::{Duration, Instant};

use crate::ui::{clean, fit};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What is quicker than this is not announced: a line that flashes by cannot be read.
const PATIENCE: Duration = Duration::from_millis(300);

/// Text that stops for this long is waited for again.
const STALL: Duration = Duration::from_secs(2);

/// Goes to the beginning of the line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// A line that shows that something goes on.
#[derive(Debug)]
pub(super) struct WaitingLine {
    what: String,
    since: Instant,
    patience: Duration,
    ticks: usize,
    is_drawn: bool,
}

impl WaitingLine {
    pub(super) fn for_what(what: &str) -> Self {
        Self { what: clean::line(what), since: Instant::now(), patience: PATIENCE, ticks: 0, is_drawn: false }
    }

    /// Announces something at once.
    pub(super) fn at_once(what: &str) -> Self {
        Self { patience: Duration::ZERO, ..Self::for_what(what) }
    }

    /// Waits for more of something that is arriving.
    pub(super) fn for_more(what: &str) -> Self {
        Self { patience: STALL, ..Self::for_what(what) }
    }

    /// The line as it is by now, which overwrites the one before; none while it is too early.
    pub(super) fn draw(&mut self, columns: usize) -> Option<String> {
        let elapsed = self.since.elapsed();
        if elapsed < self.patience {
            return None;
        }
        let frame = FRAMES[self.ticks % FRAMES.len()];
        self.ticks += 1;
        self.is_drawn = true;
        let time = format!(" · {} s", elapsed.as_secs());
        // One column is left free, because a full line would make some terminals go on to the next.
        let room = columns.saturating_sub(fit::width(frame) + 1 + fit::width(&time) + 1);
        Some(format!("{CLEAR}{frame} {}{time}", fit::truncate(&self.what, room)))
    }

    /// What takes the line away.
    pub(super) fn erase(&self) -> &'static str {
        if self.is_drawn { CLEAR } else { "" }
    }
}
