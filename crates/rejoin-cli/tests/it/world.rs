//! A home and a project for one test, and the real program run in them with an empty environment.

use std::fs::{self, DirBuilder, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use rejoin::{Archive, ConversationId};
use serde_json::Value;
use tempfile::TempDir;

/// A home and a project for one test. Both go away with it.
#[derive(Debug)]
pub(crate) struct World {
    // The guard removes the directory; `root` is the same place with symbolic links resolved.
    _directory: TempDir,
    root: PathBuf,
    /// The kind of its store, and the place of it in the data directory.
    store: (&'static str, &'static str),
}

/// One run of the program, being prepared.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    world: &'a World,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    directory: PathBuf,
    input: Vec<u8>,
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
        DirBuilder::new().mode(0o700).create(root.join("home")).unwrap();
        fs::create_dir_all(root.join("project/.git")).unwrap();
        Self { _directory: directory, root, store: ("sqlite", "rejoin.db") }
    }

    /// The same, where conversations are kept in plain files.
    pub(crate) fn of_files() -> Self {
        let world = Self { store: ("jsonl", "conversations"), ..Self::new() };
        world.user_config(&format!("store = \"jsonl:{}\"\n", world.store().display()));
        world
    }

    /// True when conversations are kept in plain files.
    pub(crate) fn is_of_files(&self) -> bool {
        self.store.0 == "jsonl"
    }

    /// The absolute path of a place in this world, such as `project/.rejoin/config.toml`.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Writes a file, creating the directories above it. What is below the home
    /// is the user's alone, as it should be.
    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        let is_private = relative.starts_with("home/");
        let (directories, files) = if is_private { (0o700, 0o600) } else { (0o755, 0o644) };
        DirBuilder::new().recursive(true).mode(directories).create(path.parent().unwrap()).unwrap();
        let is_new = !path.exists();
        fs::write(&path, text).unwrap();
        if is_new {
            fs::set_permissions(path, Permissions::from_mode(files)).unwrap();
        }
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

    /// The program itself, for a test that holds its pipes open. It runs in the project.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The file or the directory of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("home/.local/share/rejoin").join(self.store.1)
    }

    /// The store of this world, opened without the program.
    pub(crate) fn archive(&self) -> Archive {
        Archive::open(&self.url_in(&self.path("home/.local/share/rejoin"))).unwrap()
    }

    /// The URL of a store of the same kind in another data directory.
    pub(crate) fn url_in(&self, directory: &Path) -> String {
        format!("{}:{}", self.store.0, directory.join(self.store.1).display())
    }

    /// Starts a conversation with a title and returns its id; the store's first
    /// note is out of the way afterwards.
    pub(crate) fn started(&self, title: &str) -> String {
        let short = self.rejoin(["new", "--title", title]).run().stdout;
        self.archive().names().resolve(&short).unwrap().conversation().to_string()
    }

    /// Appends lines of JSON to a conversation and returns the id of every message.
    pub(crate) fn append(&self, conversation: &str, lines: &str) -> Vec<String> {
        let outcome = self.rejoin(["append", conversation, "--jsonl", "-"]).input(lines).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        let receipts = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ids = receipts.flat_map(|receipt| receipt["messages"].as_array().unwrap().clone());
        ids.map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Prepares a run in the project.
    pub(crate) fn rejoin<const N: usize>(&self, arguments: [&str; N]) -> Invocation<'_> {
        Invocation {
            world: self,
            arguments: arguments.map(str::to_owned).to_vec(),
            variables: Vec::new(),
            directory: self.path("project"),
            input: Vec::new(),
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

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Runs as another user, which only root may ask for.
    pub(crate) fn by_user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    pub(crate) fn run(self) -> Outcome {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut program = self.world.program(&arguments);
        if let Some(user) = self.user {
            program.uid(user).gid(user);
        }
        let mut child = program.current_dir(&self.directory).envs(self.variables).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // Both pipes may fill, so one is written while the other is read. A program that does not read its
        // input closes the pipe, which is no failure of the test.
        let writer = thread::spawn(move || drop(pipe.write_all(&self.input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let root = self.world.root.to_str().unwrap();
        let told = |bytes| String::from_utf8(bytes).unwrap().replace(root, "[world]");
        Outcome {
            stdout: told(output.stdout),
            stderr: told(output.stderr),
            code: output.status.code().expect("the program was not killed"),
        }
    }
}

/// The six characters that stand for a conversation.
pub(crate) fn short(id: &str) -> String {
    id.parse::<ConversationId>().unwrap().short().to_string()
}

impl Outcome {
    /// The answer, read as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The outcome with each of these texts, such as an id, replaced by a name for it.
    pub(crate) fn naming(mut self, names: &[(&str, &str)]) -> Self {
        for (text, name) in names {
            self.stdout = self.stdout.replace(text, name);
            self.stderr = self.stderr.replace(text, name);
        }
        self
    }

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
