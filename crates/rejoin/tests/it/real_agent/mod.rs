//! The real Claude Code and the real Codex, with a model on this machine: what they
//! send when they go on with a session.
//!
//! The programs come from npm, in the versions that are named here, into `target/tmp/agents` or where
//! `AGENTS_NPM` says. Each run has a home of its own and reaches nothing but the model.

mod model;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::skip::skip;
pub(crate) use model::ANSWER;
use model::Model;

/// What a run may take. A file that the program does not like can make it wait for ever.
const SECONDS: &str = "120";

/// A registry may fail once; it is asked so many times, with pauses that grow by this.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);

/// A program that goes on with sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
}

impl Agent {
    /// Its command.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// What npm calls it, and the version that is tested.
    const fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Claude => ("@anthropic-ai/claude-code", "2.1.197"),
            Self::Codex => ("@openai/codex", "0.166.0"),
        }
    }

    /// True when this version of it is there.
    fn is_in(self, place: &Path) -> bool {
        let (name, version) = self.package();
        let modules = place.join("node_modules");
        let text = fs::read(modules.join(name).join("package.json")).unwrap_or_default();
        let found: Value = serde_json::from_slice(&text).unwrap_or_default();
        found["version"] == version && modules.join(".bin").join(self.command()).exists()
    }

    /// The directory with its command. None where npm is missing or reaches nothing, which is said.
    pub(crate) fn installed(self) -> Option<PathBuf> {
        let place = std::env::var_os("AGENTS_NPM")
            .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents"), PathBuf::from);
        fs::create_dir_all(&place).unwrap();
        // Tests in other processes may want it, too.
        let lock = File::create(place.join(".lock")).unwrap();
        lock.lock().unwrap();
        let commands = place.join("node_modules/.bin");
        if self.is_in(&place) {
            return Some(commands);
        }
        let (name, version) = self.package();
        let package = format!("{name}@{version}");
        let mut why = String::new();
        for attempt in 0..ATTEMPTS {
            thread::sleep(PAUSE * attempt);
            let npm = Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", &package])
                .current_dir(&place)
                .stdin(Stdio::null())
                .output();
            why = match npm {
                Ok(output) if output.status.success() && self.is_in(&place) => return Some(commands),
                Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
                Err(error) => {
                    why = error.to_string();
                    break;
                }
            };
        }
        skip(&format!("{package} cannot be had from npm: {}", why.trim()));
        None
    }
}

/// A home for one agent, a project, and a model that answers.
#[derive(Debug)]
pub(crate) struct Desk {
    agent: Agent,
    commands: PathBuf,
    root: PathBuf,
    /// Removes the root, unless it is someone else's.
    _guard: Option<TempDir>,
    model: Model,
}

impl Desk {
    /// A desk for an agent whose command is in `commands`.
    pub(crate) fn of(agent: Agent, commands: &Path) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap();
        Self { _guard: Some(guard), ..Self::at(agent, commands, &root) }
    }

    /// The same in a directory that has, or gets, the places `home` and `project`.
    pub(crate) fn at(agent: Agent, commands: &Path, root: &Path) -> Self {
        let (commands, root) = (commands.to_owned(), root.to_owned());
        let desk = Self { agent, commands, root, _guard: None, model: Model::start() };
        for directory in [desk.home(), desk.project(), desk.settings()] {
            fs::create_dir_all(directory).unwrap();
        }
        if agent == Agent::Codex {
            fs::write(desk.settings().join("config.toml"), desk.codex_settings()).unwrap();
        }
        desk
    }

    /// The home of the user.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The directory that is worked in.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The directory in which the agent keeps its files.
    pub(crate) fn settings(&self) -> PathBuf {
        self.home().join(format!(".{}", self.agent.command()))
    }

    fn codex_settings(&self) -> String {
        format!(
            "model = \"some-model\"\nmodel_provider = \"local\"\napproval_policy = \"never\"\n\
             sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.local]\nname = \"local\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
             request_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n",
            self.model.url()
        )
    }

    /// Goes on with a session and says `prompt`.
    pub(crate) fn resume(&self, session: &str, prompt: &str) -> Output {
        match self.agent {
            Agent::Claude => self.run(["claude", "-p", "--resume", session, prompt]),
            Agent::Codex => {
                self.run(["codex", "exec", "--skip-git-repo-check", "--json", "resume", session, prompt])
            }
        }
    }

    /// Runs a command in the project, with the agent within reach and nothing else of this machine.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Output {
        // A proxy that is not there keeps every connection on this machine.
        let nowhere = "http://127.0.0.1:9";
        Command::new("timeout")
            .arg(SECONDS)
            .args(command)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.commands.display()))
            .env("HOME", self.home())
            .env("TZ", "UTC")
            .envs([("HTTP_PROXY", nowhere), ("HTTPS_PROXY", nowhere), ("NO_PROXY", "127.0.0.1")])
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "none")
            .envs(
                ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING"]
                    .map(|name| (name, "1")),
            )
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What the model was asked so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.model.requests()
    }
}
