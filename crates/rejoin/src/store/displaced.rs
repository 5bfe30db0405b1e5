//! A file of an open store that is no longer at its path.

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

/// A file of an open store that is no longer at its path: it was removed, moved or replaced.
///
/// What is written to the open file then is not found by anyone who opens the store later. A store that
/// fails with this cause must not be opened again in its place, because that would create an empty one; it
/// takes writes again once the file is back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Displaced {
    /// Where the file was.
    pub path: PathBuf,
}

impl Displaced {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The displaced file that an error is about, if it is about one.
    pub fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was removed, moved or replaced while it was open", self.path.display())
    }
}

impl StdError for Displaced {}
