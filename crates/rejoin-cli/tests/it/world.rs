//! A home and a project for one test, and the real program run in them with an empty environment.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A home and a project for one test. Both go away with it.
#[derive(Debug)]
pub(crate) struct World {
    // The guard removes the directory; `root` is the same place with symbolic links resolved.
    _directory: TempDir,
    root: PathBuf,
}

/// One run of the program, being prepared.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    world: &'a World,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    directory: PathBuf,
    input: String,
    user: Option<u32>,
}

/// What a run left behind. The world's own directory reads `[world]`, so that whole values can be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl World {
    /// An empty home, and an empty repository in `project`.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home")).unwrap();
        fs::create_dir_all(root.join("project/.git")).unwrap();
        Self { _directory: directory, root }
    }

    /// The absolute path of a place in this world, such as `project/.rejoin/config.toml`.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Writes a file, creating the directories above it.
    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// Writes the user's own configuration.
    pub(crate) fn user_config(&self, text: &str) {
        self.write("home/.config/rejoin/config.toml", text);
    }

    /// Writes the project's own configuration.
    pub(crate) fn project_config(&self, text: &str) {
        self.write("project/.rejoin/config.toml", text);
    }

    /// Prepares a run in the project.
    pub(crate) fn rejoin<const N: usize>(&self, arguments: [&str; N]) -> Invocation<'_> {
        Invocation {
            world: self,
            arguments: arguments.map(str::to_owned).to_vec(),
            variables: Vec::new(),
            directory: self.path("project"),
            input: String::new(),
            user: None,
        }
    }
}

impl Invocation<'_> {
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn from(mut self, relative: &str) -> Self {
        self.directory = self.world.path(relative);
        self
    }

    #[expect(dead_code, reason = "for commands that read messages from a pipe")]
    pub(crate) fn input(mut self, text: &str) -> Self {
        self.input = text.to_owned();
        self
    }

    /// Runs as another user, which only root may ask for.
    pub(crate) fn by_user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    pub(crate) fn run(self) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let mut child = command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .env("HOME", self.world.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input closes the pipe, which is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(self.input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let root = self.world.root.to_str().unwrap();
        let told = |bytes| String::from_utf8(bytes).unwrap().replace(root, "[world]");
        Outcome {
            stdout: told(output.stdout),
            stderr: told(output.stderr),
            code: output.status.code().expect("the program was not killed"),
        }
    }
}

impl Outcome {
    /// A success that said this on stdout and nothing on stderr.
    pub(crate) fn answer(stdout: &str) -> Self {
        Self { stdout: stdout.to_owned(), stderr: String::new(), code: 0 }
    }

    /// A success that said this on stderr and nothing on stdout.
    pub(crate) fn note(stderr: &str) -> Self {
        Self { stdout: String::new(), stderr: stderr.to_owned(), code: 0 }
    }

    /// A failure that said this on stderr and nothing on stdout.
    pub(crate) fn failure(code: i32, stderr: &str) -> Self {
        Self { stdout: String::new(), stderr: stderr.to_owned(), code }
    }
}
