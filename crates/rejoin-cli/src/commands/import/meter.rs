//! How far an import has come: a bar for a person at a terminal, a line every second for everyone else.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;

use crate::context::{Context, Notes};
use crate::ui::progress::{ProgressLine, Unit};
use crate::ui::{json, size};

/// A line comes more often than every second, so that a busy machine does not make it late.
const PACE: Duration = Duration::from_millis(500);

/// What is smaller is done before anyone wonders.
const LONG: u64 = 16 << 20;

/// How far work has come.
#[derive(Debug)]
pub(super) struct Meter {
    bar: ProgressLine,
    lines: Option<ProgressThread>,
}

/// The thread that tells.
#[derive(Debug)]
struct ProgressThread {
    done: Arc<AtomicU64>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is told, again and again.
#[derive(Clone, Copy, Debug)]
struct Wording {
    doing: &'static str,
    unit: Unit,
    total: u64,
    is_json: bool,
}

/// A line as programs read it.
#[derive(Serialize)]
struct ProgressShape {
    progress: Come,
}

/// How far it has come.
#[derive(Serialize)]
struct Come {
    doing: &'static str,
    unit: &'static str,
    done: u64,
    total: u64,
}

impl Meter {
    /// Starts to tell of work with this total; `bytes` says how large it is.
    pub(super) fn start(context: &Context, doing: &'static str, unit: Unit, total: u64, bytes: u64) -> Self {
        let bar = context.progress(doing, unit, Some(total));
        let is_bar = context.surroundings.terminal.stderr && !context.is_json();
        let tells = !is_bar && context.manner.notes == Notes::Shown && bytes >= LONG;
        let wording = Wording { doing, unit, total, is_json: context.is_json() };
        Self { bar, lines: tells.then(|| ProgressThread::start(wording)) }
    }

    pub(super) fn advance(&self, amount: u64) {
        self.bar.advance(amount);
        if let Some(lines) = &self.lines {
            lines.done.fetch_add(amount, Ordering::Relaxed);
        }
    }
}

impl ProgressThread {
    fn start(wording: Wording) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        let (end, ended) = mpsc::channel();
        let counter = Arc::clone(&done);
        let thread = thread::spawn(move || {
            while ended.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                // Nobody is left to tell when stderr is closed.
                let _ = writeln!(io::stderr(), "{}", wording.line(counter.load(Ordering::Relaxed)));
            }
        });
        Self { done, end: Some(end), thread: Some(thread) }
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A thread that only writes lines has nothing to hand over.
            let _ = thread.join();
        }
    }
}

impl Wording {
    fn line(self, done: u64) -> String {
        // A file may have grown since it was counted.
        let done = done.min(self.total);
        if self.is_json {
            let unit = match self.unit {
                Unit::Bytes => "bytes",
                Unit::Items => "items",
            };
            let progress = Come { doing: self.doing, unit, done, total: self.total };
            return json::line(&ProgressShape { progress });
        }
        let shown = |amount| match self.unit {
            Unit::Bytes => size::bytes(amount),
            Unit::Items => size::number(amount),
        };
        format!("{}: {} of {}.", self.doing, shown(done), shown(self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_people_or_for_programs() {
        let people = Wording { doing: "Importing", unit: Unit::Bytes, total: 2_000_000, is_json: false };
        let programs = Wording { is_json: true, ..people };

        let lines = [people.line(1_500_000), programs.line(9_000_000)];

        let json = r#"{"progress":{"doing":"Importing","unit":"bytes","done":2000000,"total":2000000}}"#;
        assert_eq!(lines, ["Importing: 1.5 MB of 2.0 MB.", json]);
    }
}
