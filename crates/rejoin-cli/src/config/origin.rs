//! One setting and where it came from.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::keys::Key;
use crate::config::value::Value;

/// A value for a key, with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    /// The user's own name in the key, as `local` in `providers.local.kind`.
    pub(crate) member: Option<String>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Where a value came from, from weakest to strongest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(&'static str),
}

impl Setting {
    pub(crate) fn name(&self) -> String {
        self.key.name_for(self.member.as_deref())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => out.write_str("default"),
            Origin::File { path, line } => write!(out, "{}", Place { path, line: *line }),
            Origin::Variable(name) => out.write_str(name),
            Origin::Flag(name) => out.write_str(name),
        }
    }
}

/// A line of a file, in the form that editors and terminals can follow.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    pub(crate) line: usize,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.path.display(), self.line)
    }
}
