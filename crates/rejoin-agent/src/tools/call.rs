//! One call of a tool: what it would do, what was decided about it, what came of it.

use std::fmt;

use rejoin::{Block, Json};

use crate::error::Result;
use crate::providers::Future;
use crate::tools::rules;

/// A call that is ready to run.
pub struct Prepared {
    /// What it would do.
    pub plan: Plan,
    /// What it touches, as rules see it.
    pub subject: Subject,
    work: Future<'static, Output>,
}

impl Prepared {
    /// A call that does `work` once it is allowed.
    pub fn new(
        plan: Plan,
        subject: Subject,
        work: impl std::future::Future<Output = Output> + Send + 'static,
    ) -> Self {
        Self { plan, subject, work: Box::pin(work) }
    }

    /// The same, done only if `check` finds nothing against it at that moment.
    pub(super) fn unless(self, check: impl FnOnce() -> Result<()> + Send + 'static) -> Self {
        let work = self.work;
        let checked = async move {
            match check() {
                Ok(()) => work.await,
                Err(error) => Output::error(&error),
            }
        };
        Self { work: Box::pin(checked), ..self }
    }

    /// Does it. Dropping the future ends it, and everything it started.
    pub fn run(self) -> Future<'static, Output> {
        self.work
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("plan", &self.plan)
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One line for a person, such as "Run `git status`". It is not made safe to print.
    pub summary: String,
    /// What to look at before agreeing, such as a diff, whole. It is not made safe to print.
    pub detail: Option<String>,
    /// The rule that would allow this and the like of it, such as `run(git status)`.
    pub rule: String,
    /// True when it only looks, inside the project.
    pub is_harmless: bool,
}

impl Plan {
    /// A plan that needs approval.
    pub fn new(summary: impl Into<String>, subject: &Subject) -> Self {
        Self { summary: summary.into(), detail: None, rule: rules::rule_for(subject), is_harmless: false }
    }

    /// Adds what to look at before agreeing.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Says that it only looks, inside the project.
    #[must_use]
    pub const fn harmless(mut self) -> Self {
        self.is_harmless = true;
        self
    }
}

/// What a call touches, as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A file or a directory.
    Path {
        /// The tool: `read`, `list`, `find`, `write` or `edit`.
        tool: &'static str,
        /// Where it really is, with every link resolved.
        absolute: String,
        /// The same, below the project; none when it lies elsewhere.
        relative: Option<String>,
    },
    /// A command for the shell.
    Command(String),
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool, by the server's name for it.
        tool: String,
    },
    /// A tool that is none of these, by name.
    Tool(String),
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The answer, for the model.
    pub output: Json,
    /// True when the tool failed.
    pub is_error: bool,
    /// Pictures and sounds that came with the answer.
    pub media: Vec<Block>,
}

impl Output {
    /// A text.
    pub fn text(text: impl AsRef<str>) -> Self {
        let output = Json::of(&text.as_ref()).expect("a string is JSON");
        Self { output, is_error: false, media: Vec::new() }
    }

    /// A failure, told as text.
    pub fn failure(text: impl AsRef<str>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A failure with its causes.
    pub fn error(error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(Some(error), |cause| cause.source());
        Self::failure(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
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
