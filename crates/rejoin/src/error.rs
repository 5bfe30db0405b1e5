//! The library's one error: a kind to act on, what was attempted, and why it failed.
//!
//! Callers match on [`ErrorKind`], never on text. Hints for people belong to the program that prints.

use std::error::Error as StdError;
use std::fmt;

/// What the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of failure a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was named does not exist.
    NotFound,
    /// Something changed meanwhile, or already exists: read again and decide.
    Conflict,
    /// Another process holds the store for longer than the wait allows.
    Locked,
    /// Stored bytes are not what was written.
    Corrupt,
    /// The request itself is wrong; trying again cannot help.
    Invalid,
    /// This store, or this version, cannot do it.
    Unsupported,
    /// The place cannot be used now: missing, full, read-only or failing.
    Unavailable,
    /// It is sealed, and what would open it is missing or wrong; or another user owns it or can write it.
    Denied,
}

impl ErrorKind {
    /// Every kind, so that a table over kinds can be checked for completeness.
    pub const ALL: [Self; 8] = [
        Self::NotFound,
        Self::Conflict,
        Self::Locked,
        Self::Corrupt,
        Self::Invalid,
        Self::Unsupported,
        Self::Unavailable,
        Self::Denied,
    ];

    /// The kind as it stands in messages and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::Locked => "locked",
            Self::Corrupt => "corrupt",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed operation. Its source chain says why, innermost last.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    /// What failed in the same way beside it, in words.
    others: Vec<String>,
}

impl Error {
    /// Makes an error: the message is lower case, without a full stop, with values in backticks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None, others: Vec::new() }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Wraps this error in the larger thing that was attempted; the kind stays.
    #[must_use]
    pub fn during(self, attempt: impl Into<String>) -> Self {
        Self { kind: self.kind, message: attempt.into(), source: Some(Box::new(self)), others: Vec::new() }
    }

    /// The same error, with other names in all that it says: what a store calls
    /// a thing need not be what others do.
    pub(crate) fn renamed(self, names: &[(String, String)]) -> Self {
        let rename = |text: String| names.iter().fold(text, |text, (own, other)| text.replace(own, other));
        let message = rename(self.message);
        let others = self.others.into_iter().map(rename).collect();
        let source = self.source.map(|source| match source.downcast::<Self>() {
            Ok(error) => Box::new(error.renamed(names)),
            Err(source) => source,
        });
        Self { kind: self.kind, message, source, others }
    }

    /// The same error, to be acted on as one of another kind.
    pub(crate) fn of_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// The same error, which stands for others too: what failed in the same
    /// attempt and in the same way, in words.
    pub(crate) fn with_others(mut self, others: impl IntoIterator<Item = String>) -> Self {
        self.others.extend(others);
        self
    }

    /// What failed beside it, in words.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }

    /// The kind to act on.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What was asked for needs a feature of the crate that this build lacks.
    pub(crate) fn not_built(what: &str, feature: &str) -> Self {
        Self::new(
            ErrorKind::Unsupported,
            format!("this build of rejoin has no {what}; enable the feature `{feature}`"),
        )
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Shows the kind and the whole chain, so that a failed `unwrap` in a test tells everything.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.kind, self.message)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_in_the_whole_chain() {
        let error = Error::not_found("there is no `x1`").during("read `x1`");

        let renamed = error.renamed(&[("x1".to_owned(), "lisbon".to_owned())]);

        assert_eq!(format!("{renamed:?}"), "[not found] read `lisbon`: there is no `lisbon`");
    }

    #[test]
    fn wrapping_keeps_the_kind_and_the_cause() {
        let error = Error::corrupt("line 41 does not match its digest").during("read conversation `lisbon`");

        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(
            format!("{error:?}"),
            "[corrupt] read conversation `lisbon`: line 41 does not match its digest"
        );
    }
}
