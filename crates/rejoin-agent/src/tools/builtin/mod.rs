//! The tools that Rejoin brings along.

mod edit;
mod find;
mod in_place;
mod list;
mod read;
mod run;
mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::environment::Environment;
use crate::error::Result;
use crate::tools::group::Endings;
use crate::tools::place::ProjectDirectory;
use crate::tools::{Rules, Tool};

/// How long a command may run when nobody says otherwise.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// The tools that Rejoin brings along: `read`, `write`, `edit`, `list`, `find` and `run`, in one project.
#[derive(Clone, Debug)]
pub struct Builtin {
    project: ProjectDirectory,
    run_limit: Duration,
    environment: Environment,
    endings: Endings,
}

impl Builtin {
    /// Tools that work in a directory.
    pub fn new(project: &Path) -> Result<Self> {
        let project = ProjectDirectory::at(project)?;
        let environment = Environment::default();
        Ok(Self { project, run_limit: RUN_LIMIT, environment, endings: Endings::default() })
    }

    /// Sets how long a command may run when the model does not say.
    #[must_use]
    pub const fn with_run_limit(mut self, limit: Duration) -> Self {
        self.run_limit = limit;
        self
    }

    /// Sets what commands see of the environment.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    pub(super) fn tools(&self, rules: &Arc<Mutex<Rules>>) -> Vec<Arc<dyn Tool>> {
        let project = || self.project.clone();
        let tools: [Arc<dyn Tool>; 6] = [
            Arc::new(read::ReadTool::new(project())),
            Arc::new(list::ListTool::new(project())),
            Arc::new(find::FindTool::new(project(), Arc::clone(rules))),
            Arc::new(edit::EditTool::new(project())),
            Arc::new(write::WriteTool::new(project())),
            Arc::new(run::RunTool::new(
                project(),
                self.run_limit,
                self.environment.clone(),
                self.endings.clone(),
            )),
        ];
        tools.map(|tool| Arc::new(in_place::InPlace::new(tool, project())) as Arc<dyn Tool>).into()
    }
}

/// Does work that waits for the disk on a thread for such work.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and nobody waits for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}
