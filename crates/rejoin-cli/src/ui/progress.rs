//! Shows on stderr that long work goes on. Nothing of it remains when the work is done.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::clean;

/// How often the display moves even if the work does not: often enough to be seen within a second.
const TICK: Duration = Duration::from_millis(200);

/// What the work is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Conversations, messages, files.
    Items,
    /// Bytes, with their speed where the total is unknown.
    Bytes,
}

/// Whether there is anyone to show progress to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Stderr is a terminal and neither `--quiet` nor `--json` was given.
    Shown,
    /// Nothing is printed.
    Hidden,
}

/// The progress of one piece of work, cleared when it is dropped, so that an early error leaves no trace
/// either.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    /// Starts showing what is being done (`Copying messages`), with the total if it is known.
    pub(crate) fn start(visibility: Visibility, doing: &str, unit: Unit, total: Option<u64>) -> Self {
        let target = match visibility {
            Visibility::Shown => ProgressDrawTarget::stderr(),
            Visibility::Hidden => ProgressDrawTarget::hidden(),
        };
        let progress = Self::on(target, doing, unit, total);
        progress.bar.enable_steady_tick(TICK);
        progress
    }

    fn on(target: ProgressDrawTarget, doing: &str, unit: Unit, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, target);
        bar.set_style(style(unit, total));
        bar.set_message(clean::line(doing));
        Self { bar }
    }

    /// Does something while nothing is drawn, so that it has the terminal for itself.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Counts more work as done.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
    }

    /// Ends the display and returns how long the work took.
    pub(crate) fn finish(self) -> Duration {
        self.bar.elapsed()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(unit: Unit, total: Option<u64>) -> ProgressStyle {
    let template = match (unit, total) {
        (Unit::Items, Some(_)) => "{spinner} {msg} [{bar:20}] {human_pos}/{human_len}, {eta} left",
        (Unit::Items, None) => "{spinner} {msg} {human_pos}, {elapsed}",
        (Unit::Bytes, Some(_)) => {
            "{spinner} {msg} [{bar:20}] {decimal_bytes}/{decimal_total_bytes}, {eta} left"
        }
        (Unit::Bytes, None) => "{spinner} {msg} {decimal_bytes}, {decimal_bytes_per_sec}, {elapsed}",
    };
    ProgressStyle::with_template(template)
        .expect("the templates above are checked by a test")
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use indicatif::TermLike;

    use super::*;

    /// A terminal of one line, as wide as it needs to be.
    #[derive(Clone, Debug, Default)]
    struct OneLine(Arc<Mutex<String>>);

    impl OneLine {
        fn text(&self) -> String {
            self.0.lock().expect("no test panics while it holds this").trim().to_owned()
        }

        fn change(&self, change: impl FnOnce(&mut String)) -> io::Result<()> {
            change(&mut self.0.lock().expect("no test panics while it holds this"));
            Ok(())
        }
    }

    impl TermLike for OneLine {
        fn width(&self) -> u16 {
            100
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.change(|line| line.push_str(text))
        }

        fn clear_line(&self) -> io::Result<()> {
            self.change(String::clear)
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn on(terminal: &OneLine, unit: Unit, total: Option<u64>) -> ProgressLine {
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        ProgressLine::on(target, "Copying\u{1b}[2J messages", unit, total)
    }

    #[test]
    fn every_unit_can_be_shown_with_and_without_a_total() {
        let cases = [
            (Unit::Items, Some(2_000), "⠁ Copying messages [                    ] 0/2,000, 0s left"),
            (Unit::Items, None, "⠁ Copying messages 0, 0s"),
            (Unit::Bytes, Some(2_000), "⠁ Copying messages [                    ] 0 B/2.00 kB, 0s left"),
            (Unit::Bytes, None, "⠁ Copying messages 0 B, 0 B/s, 0s"),
        ];

        let shown = cases.map(|(unit, total, _)| {
            let terminal = OneLine::default();
            let progress = on(&terminal, unit, total);
            progress.bar.force_draw();
            terminal.text()
        });

        assert_eq!(shown, cases.map(|(_, _, expected)| expected.to_owned()));
    }

    #[test]
    fn nothing_remains_when_the_work_is_done_or_given_up() {
        let (done, given_up) = (OneLine::default(), OneLine::default());

        let progress = on(&done, Unit::Items, Some(2));
        progress.advance(2);
        progress.finish();
        drop(on(&given_up, Unit::Items, None));

        assert_eq!([done.text(), given_up.text()], ["", ""]);
    }

    #[test]
    fn hidden_progress_draws_nothing() {
        let progress = ProgressLine::start(Visibility::Hidden, "Copying", Unit::Bytes, None);

        assert!(progress.bar.is_hidden());
    }
}
