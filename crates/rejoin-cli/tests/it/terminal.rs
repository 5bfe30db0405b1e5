//! The program at a real terminal: tmux draws it, and a test types and looks.

use std::fs;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::skip::skip;
use crate::world::World;

/// How long the terminal may take to show something on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long somebody looks at a question before answering: longer than what the
/// program asks for, as machines are busy.
const QUIET: Duration = Duration::from_millis(800);

/// Somebody who has decided that everything is kept, so that the prompt does not ask. The policy of the
/// configuration stays one that has to be seen before it counts.
const DECIDED: &str = "REJOIN_RETENTION_ACCEPTED=forever";

/// A shell in a terminal of its own, in the project of a world.
#[derive(Debug)]
pub(crate) struct Terminal<'a> {
    world: &'a World,
    socket: String,
}

impl<'a> Terminal<'a> {
    /// Opens a terminal, or says loudly that there is none.
    pub(crate) fn open(world: &'a World, columns: u16, rows: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("tmux is not installed");
            return None;
        }
        let socket = world.path("tmux").to_str().unwrap().to_owned();
        let terminal = Self { world, socket };
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_rejoin")).parent().unwrap().to_owned();
        let shell = format!(
            "exec env -i HOME='{}' PATH='{}:/usr/bin:/bin' TZ=UTC TERM=screen-256color LANG=C.UTF-8 PS1='$ ' \
             {DECIDED} bash --norc --noprofile",
            world.path("home").display(),
            program.display()
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let project = world.path("project");
        let project = project.to_str().unwrap();
        let outcome = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            project,
            &shell,
        ]);
        assert!(outcome.status.success(), "{outcome:?}");
        terminal.wait_for("$");
        Some(terminal)
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").args(["-u", "-S", &self.socket]).args(arguments).output().unwrap()
    }

    /// Types a text and presses return.
    pub(crate) fn enter(&self, text: &str) {
        self.letters(text);
        self.key("Enter");
    }

    pub(crate) fn letters(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    pub(crate) fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Presses a key as an answer: what is typed before the keyboard was quiet
    /// for half a second does not count.
    pub(crate) fn press(&self, key: &str) {
        thread::sleep(QUIET);
        self.key(key);
    }

    /// Pastes a text, as a terminal does that tells the program so.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Waits until the last line that is not empty is this one, and returns the screen.
    pub(crate) fn wait_for_last(&self, line: &str) -> String {
        self.wait_until(line, |screen| {
            let last = screen.lines().rev().find(|own| !own.trim().is_empty());
            last.is_some_and(|own| own.trim_end() == line)
        })
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// Waits until the screen shows a text, and returns the screen.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited for {what:?}:\n{screen}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Runs a command and waits until the shell is back; the file `settings` tells how the terminal was left.
    pub(crate) fn settings(&self, name: &str) -> String {
        let file = self.world.path(name);
        self.enter(&format!("stty -g > {0}.part; mv {0}.part {0}", file.display()));
        let began = Instant::now();
        while !file.exists() {
            assert!(began.elapsed() < PATIENCE, "the shell does not answer:\n{}", self.screen());
            thread::sleep(Duration::from_millis(30));
        }
        fs::read_to_string(file).unwrap()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
