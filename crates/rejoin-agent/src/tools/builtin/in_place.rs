//! Keeps a tool to the directory that it was made for.

use std::sync::Arc;

use rejoin::Json;

use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::place::ProjectDirectory;
use crate::tools::{Prepared, Tool};

/// A tool that refuses once another directory has taken the project's place: before a rule or a person
/// decides about a call, and again right before the call acts.
#[derive(Debug)]
pub(super) struct InPlace {
    tool: Arc<dyn Tool>,
    project: ProjectDirectory,
}

impl InPlace {
    pub(super) fn new(tool: Arc<dyn Tool>, project: ProjectDirectory) -> Self {
        Self { tool, project }
    }
}

impl Tool for InPlace {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        self.project.check()?;
        let project = self.project.clone();
        Ok(self.tool.prepare(input)?.unless(move || project.check()))
    }
}
