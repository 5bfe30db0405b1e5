//! Importing while someone goes on with the same conversation.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{MemoryStore, Order, Store};
use rejoin::{Archive, ConversationId, Import, ImportMode, Imported, ImportedConversation, Message, Result};
use tempfile::TempDir;

use crate::doubles::{Around, Write, a_store};
use crate::formats::claude::{reply, text, user};

const NAME: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl";

/// What someone does just before an import writes.
type Act = Box<dyn FnOnce() + Send>;

/// A store that someone else writes to as well.
struct Shared {
    inner: Arc<MemoryStore>,
    /// How many such writes pass before someone acts.
    waiting: Mutex<Option<(Write, usize, Act)>>,
}

impl Shared {
    fn meet(&self, write: Write) {
        let mut waiting = self.waiting.lock().unwrap();
        if let Some((at, left, act)) = waiting.take_if(|(at, left, _)| {
            let is_it = *at == write;
            let is_due = is_it && *left == 0;
            *left = left.saturating_sub(usize::from(is_it));
            is_due
        }) {
            assert_eq!((at, left), (write, 0));
            act();
        }
    }
}

a_store!(Shared);

impl Around for Shared {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn writing<T>(&self, write: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        self.meet(write);
        work(self.inner())
    }
}

struct Desk {
    shared: Arc<Shared>,
    archive: Archive,
    /// The archive of someone else.
    other: Archive,
    directory: TempDir,
}

impl Desk {
    fn new() -> Self {
        let inner = Arc::new(MemoryStore::new());
        let shared = Arc::new(Shared { inner: inner.clone(), waiting: Mutex::new(None) });
        Self {
            archive: Archive::with_store(shared.clone()),
            other: Archive::with_store(inner),
            shared,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Someone says something just before the import does the like again, after so many times.
    fn say(&self, id: ConversationId, moment: Write, after: usize) {
        let other = self.other.clone();
        let act = move || {
            other.resume(id).unwrap().append(Message::user("here")).unwrap();
        };
        *self.shared.waiting.lock().unwrap() = Some((moment, after, Box::new(act)));
    }

    fn import(&self, lines: &[String]) -> ImportedConversation {
        let path = self.directory.path().join(NAME);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        self.import_file(&path).conversations.remove(0)
    }

    fn import_file(&self, path: &Path) -> Imported {
        let source = Source::open(path).unwrap();
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        self.archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap()
    }

    fn said(&self, id: ConversationId) -> Vec<String> {
        let path = self.archive.path(id, None).unwrap();
        path.iter().map(|stored| stored.message.text()).collect()
    }

    fn messages(&self, id: ConversationId) -> usize {
        self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap().len()
    }
}

#[test]
fn who_goes_on_from_half_a_reply_while_it_is_replaced_keeps_both() {
    let desk = Desk::new();
    let mut lines = vec![user("u1", None, "one"), reply("a1", "u1", "m1", text("first"))];
    let id = desk.import(&lines).id;
    lines.push(reply("a2", "a1", "m1", text("second")));

    desk.say(id, Write::Remove, 0);
    let imported = desk.import(&lines);

    assert_eq!((imported.added, imported.grown, imported.changed), (1, 0, 1));
    assert_eq!((desk.said(id), desk.messages(id)), (["one", "first", "here"].map(str::to_owned).to_vec(), 4));
}

/// Imports what fills several appends while someone says something before one of them.
fn interrupted(after: usize) -> Vec<String> {
    let desk = Desk::new();
    let name = |place: usize| format!("u{place}");
    let long = "word ".repeat(16_000);
    let lines: Vec<String> =
        (0..500).map(|place| user(&name(place), place.checked_sub(1).map(name).as_deref(), &long)).collect();
    let id = desk.import(&lines[..2]).id;

    desk.say(id, Write::Append, after);
    desk.import(&lines);

    assert_eq!((desk.shared.waiting.lock().unwrap().is_none(), desk.messages(id)), (true, 501));
    let said = desk.said(id);
    said[said.len() - 1..].to_vec()
}

#[test]
fn who_goes_on_during_an_import_stays_where_he_was() {
    let ends = [interrupted(0), interrupted(1), interrupted(3)];

    assert_eq!(ends, [["here"], ["here"], ["here"]]);
}
