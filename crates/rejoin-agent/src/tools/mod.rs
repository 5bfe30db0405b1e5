//! Tools: what a model may ask to be done, and whether it may.

use std::fmt;
use std::sync::Arc;

use rejoin::Json;

use crate::error::Result;
use crate::providers::{Future, ToolSpec};

/// Something a model may ask to be done.
pub trait Tool: fmt::Debug + Send + Sync {
    /// The tool as the model sees it.
    fn spec(&self) -> &ToolSpec;

    /// Checks an input and tells what it would do. An input that is wrong is an error that the model is told.
    fn plan(&self, input: &Json) -> Result<Plan>;

    /// Does it. Dropping the future ends it, and everything it started.
    fn run<'a>(&'a self, input: &'a Json) -> Future<'a, Output>;
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One line for a person, such as "Run `git status`".
    pub summary: String,
    /// What to look at before agreeing, such as a diff.
    pub detail: Option<String>,
    /// The rule that would allow this and the like of it, such as `run(git status)`.
    pub rule: String,
    /// True when it only looks, inside the project.
    pub is_harmless: bool,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The answer, for the model.
    pub output: Json,
    /// True when the tool failed.
    pub is_error: bool,
}

impl Output {
    /// A text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self { output: Json::of(&text.as_ref()).expect("a string is JSON"), is_error: false }
    }

    /// A failure, told as text.
    pub fn failure(text: impl AsRef<str>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// What a person decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This once.
    Once,
    /// This and the like of it, for the rest of the conversation.
    Always,
    /// Not this, with what the model should be told.
    No(Option<String>),
    /// Nothing like it, for the rest of the conversation.
    Never,
}

/// The tools of a talk.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// The tools as a model sees them.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// The tool with a name.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}
