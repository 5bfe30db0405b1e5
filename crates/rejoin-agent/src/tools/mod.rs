//! Tools: what a model may ask to be done, and whether it may.
//!
//! A call is prepared first: its input is checked, its paths are resolved, and a person can see what it would
//! do. What runs afterwards is exactly what was prepared.

mod builtin;
mod call;
mod capture;
mod diff;
mod files;
pub(crate) mod group;
mod input;
mod place;
pub(crate) mod recall;
mod rules;
mod toolbox;
mod walkable;

use std::fmt;

pub use builtin::Builtin;
pub(crate) use builtin::off_thread;
pub use call::{Decision, Output, Plan, Prepared, Subject};
pub(crate) use capture::clip;
pub(crate) use diff::unified;
pub(crate) use files::{ExistingContent, open, open_directory, open_in};
pub(crate) use input::object;
pub(crate) use place::ProjectDirectory;
pub use rules::{Rules, Verdict};
pub use toolbox::Toolbox;
pub(crate) use walkable::can_be_walked;

use rejoin::Json;

use crate::error::Result;
use crate::providers::ToolSpec;

/// Something a model may ask to be done.
pub trait Tool: fmt::Debug + Send + Sync {
    /// The tool as the model sees it.
    fn spec(&self) -> &ToolSpec;

    /// Checks an input, and prepares what it asks for. An input that is wrong
    /// is an error that the model is told.
    ///
    /// Nothing is changed yet.
    fn prepare(&self, input: &Json) -> Result<Prepared>;
}
