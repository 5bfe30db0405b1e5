//! What one check found.

use rejoin::{Ailment, Severity};
use serde::Serialize;

use crate::error::Failure;

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The check's name; scripts rely on it.
    pub(super) name: &'static str,
    pub(super) state: State,
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
pub(super) enum State {
    Ok,
    Warning,
    Problem,
}

impl Finding {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: State::Ok, message: message.into(), remedy: None, ailment: None }
    }

    pub(super) fn warning(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Warning, remedy: Some(remedy.into()), ..Self::ok(name, message) }
    }

    pub(super) fn problem(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Problem, remedy: Some(remedy.into()), ..Self::ok(name, message) }
    }

    /// A check that could not be made.
    pub(super) fn failed(name: &'static str, failure: &Failure) -> Self {
        let remedy = failure.next_step().map(str::to_owned);
        Self { state: State::Problem, remedy, ..Self::ok(name, failure.summary()) }
    }
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }
}

impl From<Severity> for State {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Warning => State::Warning,
            Severity::Problem => State::Problem,
        }
    }
}
