//! The crate's one error: a kind to act on, what was attempted, and why it failed.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What the crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of failure a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The provider does not accept the key, or there is none.
    Unauthorized,
    /// The provider asks to slow down.
    Limited,
    /// The provider cannot answer now.
    Overloaded,
    /// The conversation does not fit the model.
    TooLong,
    /// The provider refuses the request itself; trying again cannot help.
    Refused,
    /// The connection failed or broke.
    Network,
    /// Nobody listens at the provider's address.
    Unreachable,
    /// The provider did not say anything for too long.
    Silent,
    /// What came back is not what the provider's language allows.
    Malformed,
    /// Configuration is missing or wrong.
    Invalid,
    /// The archive could not be read or written.
    Store,
}

impl ErrorKind {
    /// Every kind, so that a table over kinds can be checked for completeness.
    pub const ALL: [Self; 11] = [
        Self::Unauthorized,
        Self::Limited,
        Self::Overloaded,
        Self::TooLong,
        Self::Refused,
        Self::Network,
        Self::Unreachable,
        Self::Silent,
        Self::Malformed,
        Self::Invalid,
        Self::Store,
    ];

    /// True when the same request may succeed later.
    pub const fn is_passing(self) -> bool {
        match self {
            Self::Limited
            | Self::Overloaded
            | Self::Network
            | Self::Unreachable
            | Self::Silent
            | Self::Malformed => true,
            Self::Unauthorized | Self::TooLong | Self::Refused | Self::Invalid | Self::Store => false,
        }
    }
}

/// A failed operation. Its source chain says why, innermost last.
pub struct Error {
    kind: ErrorKind,
    message: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Makes an error: the message is lower case, without a full stop, with values in backticks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds how long the provider asked to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The kind to act on.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// How long the provider asked to wait before trying again.
    pub const fn wait(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl From<rejoin::Error> for Error {
    fn from(error: rejoin::Error) -> Self {
        Self::new(ErrorKind::Store, "use the archive").because(error)
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
        write!(f, "[{:?}] {}", self.kind, self.message)?;
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
