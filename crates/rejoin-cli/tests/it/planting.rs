//! A store with something in it, and ways to harm it for real.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use rejoin::{Conversation, ConversationId, Message, Settings, Usage};
use rusqlite::Connection;

use crate::world::World;

/// Nobody's number: a user that exists everywhere and owns nothing.
pub(crate) const NOBODY: u32 = 65_534;

/// Bytes of a page of the store.
const PAGE: usize = 16_384;

impl World {
    /// Puts a conversation into the default store: a message for each text, with two tokens in and three out.
    pub(crate) fn talk(&self, title: &str, texts: &[&str]) -> ConversationId {
        let project = self.path("project").to_str().unwrap().to_owned();
        let conversation = Conversation {
            title: Some(title.to_owned()),
            project: Some(project),
            settings: Settings {
                provider: Some("offline".to_owned()),
                model: Some("echo".to_owned()),
                ..Settings::default()
            },
            ..Conversation::default()
        };
        let mut talk = self.archive().start(conversation).unwrap();
        for text in texts {
            let mut message = Message::user(*text);
            message.usage = Some(Usage { input_tokens: 2, output_tokens: 3, ..Usage::default() });
            talk.append(message).unwrap();
        }
        talk.id()
    }

    /// Folds the log, so that what is stored is in the main file alone.
    pub(crate) fn fold(&self) {
        self.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Changes the default store behind the program's back.
    pub(crate) fn sql(&self, statements: &str) {
        let connection = Connection::open(self.store()).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    /// Overwrites the page that holds a text with noise.
    pub(crate) fn corrupt_page_with(&self, text: &str) {
        self.fold();
        let mut bytes = fs::read(self.store()).unwrap();
        let place = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        let start = place / PAGE * PAGE;
        bytes[start..start + PAGE].fill(0xA5);
        fs::write(self.store(), bytes).unwrap();
    }

    /// Gives everything in this world to another user.
    pub(crate) fn give_to(&self, user: u32) {
        give(&self.path(""), user);
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), user));
    }
}

/// A file system of one megabyte in memory, gone with its value.
#[derive(Debug)]
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: PathBuf) -> Self {
        fs::create_dir_all(&at).unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
            .arg(&at)
            .status()
            .unwrap();
        assert!(status.success(), "mounting a small disk");
        Self(at)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Fills what is left.
    pub(crate) fn fill(&self) {
        fs::write(self.path("filler"), vec![1; 2 << 20]).unwrap_err();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// True when this runs as root. Otherwise says loudly that a test proves nothing, which is a failure in CI.
#[must_use]
pub(crate) fn is_root(needed_for: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: only root can {needed_for}");
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "skipped in CI: {needed_for}");
    }
    is_root
}
