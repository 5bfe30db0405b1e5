//! What a program was told to measure.

use crate::Clock;

/// Flags, which begin with two hyphens, and all other words.
#[derive(Debug)]
pub struct Arguments {
    flags: Vec<String>,
    /// All but the flags, in order.
    pub words: Vec<String>,
}

impl Arguments {
    /// What this process was told.
    #[must_use]
    pub fn read() -> Self {
        let (flags, words) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
        Self { flags, words }
    }

    /// Whether a flag was given, such as `--databases`.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// The clock that bars are held against: with `--processor` that of the processor.
    #[must_use]
    pub fn clock(&self) -> Clock {
        if self.has("--processor") { Clock::Processor } else { Clock::Wall }
    }
}
