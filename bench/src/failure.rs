//! Errors of the benchmark: a chain of what was attempted and why it failed.

use std::error::Error;
use std::fmt;

/// What went wrong, as a sentence for the person who started the benchmark.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What something that can fail gives.
pub type Result<T> = std::result::Result<T, Failure>;

/// Adds what was attempted to an error.
pub trait Context<T> {
    /// Says what was attempted, where it failed.
    fn context(self, attempted: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for std::result::Result<T, E> {
    fn context(self, attempted: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Attempted { what: attempted(), cause: cause.into() }.into())
    }
}

/// Returns the error and its causes on one line, outermost first.
#[must_use]
pub fn chain(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[derive(Debug)]
struct Attempted {
    what: String,
    cause: Failure,
}

impl fmt::Display for Attempted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Error for Attempted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_ref())
    }
}
