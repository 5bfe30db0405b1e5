//! The agents that conversations are handed to: where they look, what they take, how they are started.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rejoin::formats::Format;
use rejoin::view::Recipient;

use crate::error::Failure;
use crate::surroundings::Surroundings;
use crate::ui::quote;

/// An agent that goes on with a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Agent {
    /// Codex
    Codex,
    /// Claude Code
    Claude,
}

impl Agent {
    /// Its command, which is also the name of its format.
    pub(super) const fn command(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
        }
    }

    pub(super) fn format(self) -> Result<&'static Format, Failure> {
        Ok(Format::named(self.command())?)
    }

    /// What its model can be sent.
    pub(super) fn recipient(self) -> Recipient {
        match self {
            Self::Codex => Recipient::responses(),
            Self::Claude => Recipient::anthropic(),
        }
    }

    /// The directory in which it keeps its files.
    pub(super) fn home(self, surroundings: &Surroundings) -> Result<PathBuf, Failure> {
        let (variable, directory) = match self {
            Self::Codex => ("CODEX_HOME", ".codex"),
            Self::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        };
        match surroundings.variable(variable) {
            Some(named) => Ok(surroundings.working_directory.join(named)),
            None => Ok(surroundings.home()?.join(directory)),
        }
    }

    /// What it is called with to go on with a session.
    pub(super) fn arguments(self, session: &str) -> [&str; 2] {
        match self {
            Self::Codex => ["resume", session],
            Self::Claude => ["--resume", session],
        }
    }

    /// The same as a line for a shell. Both agents look at the directory that they are started in.
    pub(super) fn line(self, directory: &Path, session: &str) -> String {
        let [verb, session] = self.arguments(session);
        let directory = quote::path(directory);
        format!("cd {directory} && {} {verb} {session}", self.command())
    }

    /// The line that installs it.
    pub(super) const fn installation(self) -> &'static str {
        match self {
            Self::Codex => "npm install -g @openai/codex",
            Self::Claude => "npm install -g @anthropic-ai/claude-code",
        }
    }

    /// Its program, if a shell would find it.
    pub(super) fn program(self, search: Option<&OsStr>) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        env::split_paths(search?).map(|directory| directory.join(self.command())).find(is_program)
    }
}
