//! A project in a temporary directory, and the built-in tools at work in it.

use std::fs;
use std::path::{Path, PathBuf};

use rejoin::Json;
use rejoin_agent::{Builtin, Output, Plan, Prepared, Rules, Subject, Toolbox};
use serde_json::Value;
use tempfile::TempDir;

/// A project, a place beside it, and tools.
pub(crate) struct Workshop {
    _directory: TempDir,
    root: PathBuf,
    pub(crate) toolbox: Toolbox,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self::with_rules(Rules::default())
    }

    pub(crate) fn with_rules(rules: Rules) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project")).unwrap();
        fs::create_dir_all(root.join("elsewhere")).unwrap();
        let builtin = Builtin::new(&root.join("project")).unwrap();
        Self {
            _directory: directory,
            root,
            toolbox: Toolbox::default().with_rules(rules).with_builtin(&builtin),
        }
    }

    /// A path in the project, or beside it with `../elsewhere/…`.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join("project").join(relative)
    }

    pub(crate) fn elsewhere(&self, relative: &str) -> PathBuf {
        self.root.join("elsewhere").join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub(crate) fn prepare(&self, tool: &str, input: Value) -> Prepared {
        self.toolbox.named(tool).unwrap().prepare(&json(&input)).unwrap()
    }

    pub(crate) fn refusal(&self, tool: &str, input: Value) -> String {
        self.toolbox.named(tool).unwrap().prepare(&json(&input)).unwrap_err().to_string()
    }

    pub(crate) fn plan(&self, tool: &str, input: Value) -> Plan {
        self.prepare(tool, input).plan
    }

    pub(crate) async fn run(&self, tool: &str, input: Value) -> Output {
        self.prepare(tool, input).run().await
    }

    /// What a tool said, when it did not fail.
    pub(crate) async fn said(&self, tool: &str, input: Value) -> String {
        let output = self.run(tool, input).await;
        assert!(!output.is_error, "{output:?}");
        text(&output)
    }

    /// What a tool said when it failed.
    pub(crate) async fn failed(&self, tool: &str, input: Value) -> String {
        let output = self.run(tool, input).await;
        assert!(output.is_error, "{output:?}");
        text(&output)
    }

    /// Whether a call stays inside the project, by its plan.
    pub(crate) fn is_inside(&self, tool: &str, input: Value) -> bool {
        match self.prepare(tool, input).subject {
            Subject::Path { relative, .. } => relative.is_some(),
            other => panic!("not a path: {other:?}"),
        }
    }
}

pub(crate) fn json(value: &Value) -> Json {
    Json::of(value).unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    output.output.to::<String>().unwrap()
}
