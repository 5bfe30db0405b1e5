//! Creates or replaces a file.

use std::io;

use rejoin::Json;
use serde::Deserialize;
use serde_json::json;

use super::off_thread;
use crate::error::{Error, Result};
use crate::providers::ToolSpec;
use crate::tools::files::{ExistingContent, Refusal};
use crate::tools::input::{self, wrong};
use crate::tools::place::{ProjectDirectory, ResolvedPath};
use crate::tools::{Output, Plan, Prepared, Subject, Tool, diff, files};

/// A file that is larger is not replaced: its diff could not be shown.
pub(super) const LARGEST_FILE: u64 = 10_000_000;

/// Creates or replaces a file.
#[derive(Debug)]
pub(super) struct WriteTool {
    spec: ToolSpec,
    project: ProjectDirectory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    path: String,
    content: String,
}

impl WriteTool {
    pub(super) fn new(project: ProjectDirectory) -> Self {
        let spec = input::spec(
            "write",
            "Creates a file or replaces it whole. Missing directories are made. To change a part of a file, use `edit`.",
            json!({
                "path": {"type": "string", "description": "The file, relative to the project or absolute."},
                "content": {"type": "string", "description": "What the file shall hold."},
            }),
            &["path", "content"],
        );
        Self { spec, project }
    }
}

impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let WriteInput { path, content } = input::read(input)?;
        let place = self.project.resolve(&path)?;
        let subject = place.subject("write");
        let was = match current(&place) {
            Ok(was) => was,
            Err(error) => {
                let plan = Plan::new(format!("Write `{}`", place.shown()), &subject);
                return Ok(failing(&place, plan, subject, error));
            }
        };
        let (doing, done) = match was {
            ExistingContent::Nothing => ("Create", "created"),
            ExistingContent::Bytes(_) => ("Replace", "replaced"),
        };
        let plan = Plan::new(format!("{doing} `{}`", place.shown()), &subject).with_detail(diff::unified(
            &place.shown(),
            &was,
            &content,
        ));
        let told = format!("{done} `{}` ({} bytes)", place.shown(), content.len());
        Ok(Prepared::new(plan, subject, replace(place, was, content, told)))
    }
}

/// A call that can only fail. It asks as if it could succeed, since why it
/// fails tells something about the file.
pub(super) fn failing(place: &ResolvedPath, plan: Plan, subject: Subject, error: Error) -> Prepared {
    let plan = if place.is_inside() { plan.harmless() } else { plan };
    Prepared::new(plan, subject, async move { Output::error(&error) })
}

/// What is in the place now.
pub(super) fn current(place: &ResolvedPath) -> Result<ExistingContent> {
    files::read(&place.path, LARGEST_FILE).map_err(|cause| {
        let shown = place.shown();
        match cause.kind() {
            io::ErrorKind::IsADirectory => wrong(format!("`{shown}` is a directory")),
            _ => wrong(format!("cannot read `{shown}`")).because(cause),
        }
    })
}

/// Replaces what was there when the plan was made, if it is still there.
pub(super) async fn replace(
    place: ResolvedPath,
    was: ExistingContent,
    content: String,
    told: String,
) -> Output {
    let shown = place.shown();
    match off_thread(move || files::replace(&place.path, &was, content.as_bytes())).await {
        Ok(()) => Output::text(told),
        Err(Refusal::Changed) => {
            Output::failure(format!("`{shown}` changed meanwhile, so it was not written; read it again"))
        }
        Err(Refusal::Failed(error)) => Output::failure(format!("cannot write `{shown}`: {error}")),
    }
}
