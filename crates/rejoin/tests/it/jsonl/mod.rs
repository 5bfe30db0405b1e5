//! The store of plain files: what stands in them, and what becomes of files that are cut, damaged or foreign.

mod blobs;
mod damage;
mod edited;
mod erase;
mod examine;
mod index;
mod links;
mod log;
mod missing;
mod shape;
mod torn;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{JsonlStore, Order, Store, Task};
use rejoin::{Archive, Conversation, ConversationId, Message};

/// A store in a directory of its own.
struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("conversations");
        Self { _directory: directory, root }
    }

    fn store(&self) -> Arc<JsonlStore> {
        Arc::new(JsonlStore::open(&self.root).unwrap())
    }

    fn archive(&self) -> Archive {
        Archive::with_store(self.store())
    }

    /// An archive that reads past what is damaged.
    fn reader(&self) -> Archive {
        self.archive().passing_over_damage()
    }

    /// What an archive named as left out, without the directory.
    fn without_root(&self, told: Vec<String>) -> Vec<String> {
        let root = format!("{}/", self.root.display());
        told.into_iter().map(|what| what.replace(&root, "")).collect()
    }

    /// A conversation of `/home/ada/trip` with a turn for each list of texts;
    /// people and assistants take turns.
    fn talk(&self, turns: &[&[&str]]) -> ConversationId {
        let archive = self.archive();
        let conversation =
            Conversation { project: Some("/home/ada/trip".to_owned()), ..Conversation::titled("Lisbon") };
        let mut talk = archive.start(conversation).unwrap();
        for turn in turns {
            talk.append_turn(turn.iter().map(|text| Message::user(*text)).collect()).unwrap();
        }
        talk.id()
    }

    fn file(&self, id: ConversationId) -> PathBuf {
        self.root.join(format!("home_ada_trip/{id}.jsonl"))
    }

    /// The texts on the way to the head.
    fn texts(&self, id: ConversationId) -> Vec<String> {
        let path = self.reader().resume(id).unwrap().path().unwrap();
        path.into_iter().map(|stored| stored.message.text()).collect()
    }

    /// The texts of all messages.
    fn all_texts(&self, id: ConversationId) -> Vec<String> {
        let all = self.reader().reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
        all.into_iter().map(|stored| stored.message.text()).collect()
    }

    fn titles(&self) -> Vec<String> {
        let listed = self.archive().list(&Default::default()).unwrap();
        listed.items.into_iter().filter_map(|stored| stored.conversation.title).collect()
    }

    fn log(&self) -> PathBuf {
        self.root.join(".store/changes.jsonl")
    }

    /// The log of changes as a process leaves it that is killed before its last change is safe.
    fn log_before_the_last_acknowledgement(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap();
        log.strip_suffix("\"done\":1}\n").unwrap().to_owned() + "\"done\":0}\n"
    }

    /// What a check finds, without the directory.
    fn faults(&self) -> Vec<String> {
        let faults = self.store().maintain(Task::Check, Duration::MAX).unwrap().faults;
        self.without_root(faults.into_iter().map(|fault| fault.what).collect())
    }
}

/// The lines of a file.
fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Replaces a line of a file, counted from 1.
fn replace_line(path: &Path, number: usize, with: &str) {
    let mut lines = lines(path);
    lines[number - 1] = with.to_owned();
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Every regular file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.sort();
    files
}
