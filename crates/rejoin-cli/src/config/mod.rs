//! The configuration: layers read once, checked once, then trusted.

use std::path::PathBuf;

use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The flags that stand above every file and variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) store: Option<String>,
    pub(crate) conversation_directory: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
}

/// The checked configuration of this run.
#[derive(Debug)]
pub(crate) struct Config {}

impl Config {
    pub(crate) fn load(_surroundings: &Surroundings, _overrides: &Overrides) -> Result<Self, Failure> {
        Ok(Self {})
    }
}
