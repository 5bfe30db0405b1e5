//! How much something may be. A program that measures more ends with a failure.

use std::fmt;
use std::process::ExitCode;

/// What was held against its bar, and went beyond it.
#[derive(Debug, Default)]
pub struct Bars {
    beyond: Vec<String>,
}

impl Bars {
    /// Holds what was measured against what it may be. What cannot be compared is beyond.
    pub fn hold<T: PartialOrd + fmt::Debug>(&mut self, what: impl fmt::Display, measured: T, bar: T) {
        if measured.partial_cmp(&bar).is_none_or(std::cmp::Ordering::is_gt) {
            self.beyond.push(format!("{what}: {measured:.3?}, and the bar is {bar:?}"));
        }
    }

    /// The failure of a program that went beyond a bar, each of which is told.
    #[must_use]
    pub fn verdict(self) -> ExitCode {
        self.beyond.iter().for_each(|beyond| eprintln!("beyond its bar: {beyond}"));
        if self.beyond.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_beyond_its_bar_is_told_and_nothing_else_is() {
        let mut bars = Bars::default();
        bars.hold("as much", 1.1, 1.1);
        bars.hold("a ratio", 1.25, 1.1);
        bars.hold("a time", Duration::from_millis(2_500), Duration::from_secs(2));
        bars.hold("nothing by nothing", f64::NAN, 1.5);

        let expected = [
            "a ratio: 1.250, and the bar is 1.1",
            "a time: 2.500s, and the bar is 2s",
            "nothing by nothing: NaN, and the bar is 1.5",
        ];
        assert_eq!(bars.beyond, expected);
        assert_eq!(bars.verdict(), ExitCode::FAILURE);
        assert_eq!(Bars::default().verdict(), ExitCode::SUCCESS);
    }
}
