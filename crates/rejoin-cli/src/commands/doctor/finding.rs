//! What one check found.

use rejoin::{Ailment, Severity};
use serde::Serialize;

use crate::error::Failure;

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CheckFinding {
    /// The check's name; scripts rely on it.
    pub(super) name: &'static str,
    pub(super) state: CheckState,
    pub(super) message: String,
    /// What to do, with the exact command.
    pub(super) remedy: Option<String>,
    /// What the library found, when it was the library.
    #[serde(skip)]
    pub(super) ailment: Option<Ailment>,
}

/// How a check came out, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckState {
    Ok,
    Warning,
    Problem,
}

impl CheckFinding {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: CheckState::Ok, message: message.into(), remedy: None, ailment: None }
    }

    pub(super) fn warning(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: CheckState::Warning, remedy: Some(remedy.into()), ..Self::ok(name, message) }
    }

    pub(super) fn problem(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: CheckState::Problem, remedy: Some(remedy.into()), ..Self::ok(name, message) }
    }

    /// A check that could not be made.
    pub(super) fn failed(name: &'static str, failure: &Failure) -> Self {
        let remedy = failure.next_step().map(str::to_owned);
        Self { state: CheckState::Problem, remedy, ..Self::ok(name, failure.summary()) }
    }
}

impl CheckState {
    pub(super) fn name(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Problem => "problem",
        }
    }
}

impl From<Severity> for CheckState {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Warning => CheckState::Warning,
            Severity::Problem => CheckState::Problem,
        }
    }
}
