//! One setting and where it came from.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::keys::ConfigKey;
use crate::config::value::ConfigValue;

/// A value for a key, with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: &'static ConfigKey,
    /// The user's own name in the key, as `local` in `providers.local.kind`.
    pub(crate) member: Option<String>,
    pub(crate) value: ConfigValue,
    pub(crate) origin: ValueOrigin,
}

/// Where a value came from, from weakest to strongest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
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

impl fmt::Display for ValueOrigin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => out.write_str("default"),
            ValueOrigin::File { path, line } => write!(out, "{}", FileLine { path, line: *line }),
            ValueOrigin::Variable(name) => out.write_str(name),
            ValueOrigin::Flag(name) => out.write_str(name),
        }
    }
}

/// A line of a file, in the form that editors and terminals can follow.
#[derive(Debug)]
pub(crate) struct FileLine<'a> {
    pub(crate) path: &'a Path,
    pub(crate) line: usize,
}

impl fmt::Display for FileLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.path.display(), self.line)
    }
}
