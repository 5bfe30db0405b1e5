//! Small conversations wait for each other: how many commits they take, and what a write that fails leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::ErrorKind;
use crate::archive::List;
use crate::doubles::{Around, Write, a_store};
use crate::formats::ReadLimits;
use crate::model::MessageId;
use crate::store::{MemoryStore, Order, Store};

/// A store in memory that counts what is written to it, and fails once where a test says so.
#[derive(Default)]
struct Watched {
    inner: MemoryStore,
    written: Mutex<Vec<Write>>,
    /// How many writes there are until one fails; none does at zero.
    left: AtomicU64,
    /// What somebody else does just before the next write.
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

a_store!(Watched);

impl Around for Watched {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn writing<T>(&self, write: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if before == Ok(1) {
            return Err(Error::new(ErrorKind::Unavailable, "the store failed"));
        }
        self.written.lock().unwrap().push(write);
        if let Some(meanwhile) = self.meanwhile.lock().unwrap().take() {
            meanwhile();
        }
        work(&self.inner)
    }
}

impl Watched {
    fn count(&self, write: Write) -> usize {
        self.written.lock().unwrap().iter().filter(|own| **own == write).count()
    }
}

/// Sessions in a folder, and an archive that they are imported into.
struct Desk {
    folder: TempDir,
    store: Arc<Watched>,
    archive: Archive,
}

/// Everything that an import brings of a conversation.
type Brought = (ConversationId, Vec<(MessageId, Option<MessageId>)>, usize);

impl Desk {
    fn new() -> Self {
        let store = Arc::new(Watched::default());
        let archive = Archive::with_store(Arc::clone(&store) as _);
        Self { folder: tempfile::tempdir().unwrap(), store, archive }
    }

    /// Sessions of so many messages, by their numbers.
    fn with(lengths: &[usize]) -> Self {
        let desk = Self::new();
        lengths.iter().enumerate().for_each(|(number, length)| drop(desk.write(number, number, *length)));
        desk
    }

    /// Writes a session to the file of a number.
    fn write(&self, file: usize, session: usize, length: usize) -> PathBuf {
        let id = |place: usize| format!("{session:08x}-0000-4000-8000-{place:012}");
        let line = |place: usize| {
            let parent = place.checked_sub(1).map_or(Value::Null, |before| json!(id(before)));
            json!({"type": "user", "uuid": id(place), "parentUuid": parent, "cwd": "/p",
                "sessionId": format!("{session:08x}-45d4-4ced-8b45-47d6a5359b48"),
                "timestamp": "2026-01-02T03:04:05.000Z",
                "message": {"role": "user", "content": format!("{session} says {place}")}})
            .to_string()
                + "\n"
        };
        let path = self.folder.path().join(format!("{file:03}.jsonl"));
        fs::write(&path, (0..length).map(line).collect::<String>()).unwrap();
        path
    }

    fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// Imports all that lies in the folder, and returns what was told, by the places of the sources.
    fn import(&self, imports: &mut Imports) -> Vec<(usize, Result<Imported>)> {
        let mut told = Vec::new();
        self.import_telling(imports, &mut |_, place, imported| told.push((place, imported)));
        told
    }

    fn import_alone(archive: &Archive, imports: &mut Imports, path: &Path) -> Result<Imported> {
        let source = Source::open(path).unwrap();
        let format = Format::of(&source).unwrap();
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        archive.imports().add_noting(imports, &source, format, DeletedHere::StayDeleted, &mut how)
    }

    fn import_telling(
        &self,
        imports: &mut Imports,
        tell: &mut dyn FnMut(&mut Imports, usize, Result<Imported>),
    ) {
        let sources: Vec<Source> = self.paths().iter().map(|path| Source::open(path).unwrap()).collect();
        let claude = Format::named("claude").unwrap();
        let sources = sources.iter().map(|source| (source, claude, DeletedHere::StayDeleted));
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        let Ok(()) =
            self.archive.imports().add_all(imports, sources, &mut how, |imports, place, imported| {
                tell(imports, place, imported);
                Ok::<(), Infallible>(())
            });
    }

    fn brought(&self) -> Vec<Brought> {
        let list = self.archive.list(&List { limit: 1_000, ..List::default() }).unwrap();
        let ids: BTreeSet<ConversationId> = list.items.iter().map(|one| one.id).collect();
        ids.into_iter().map(|id| self.brought_of(id)).collect()
    }

    fn brought_of(&self, id: ConversationId) -> Brought {
        let messages = self.archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
        let sources =
            messages.iter().filter(|one| self.archive.imports().source_of(id, one.id).unwrap().is_some());
        (id, messages.iter().map(|one| (one.id, one.parent)).collect(), sources.count())
    }

    fn has(&self, id: ConversationId) -> bool {
        self.archive.conversation(id).is_ok()
    }
}

fn ids(imported: &Imported) -> Vec<ConversationId> {
    imported.conversations.iter().map(|one| one.id).collect()
}

#[test]
fn small_conversations_of_many_sources_are_one_commit() {
    let desk = Desk::with(&[3; 40]);

    let told = desk.import(&mut Imports::default());

    assert_eq!(told.iter().map(|(place, _)| *place).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    assert!(told.iter().all(|(_, imported)| imported.as_ref().is_ok_and(|one| one.added() == 3)));
    assert_eq!((desk.brought().len(), desk.store.count(Write::Append)), (40, 1));
}

#[test]
fn small_conversations_of_one_source_are_one_commit() {
    let desk = Desk::new();
    let talk = |number: usize| {
        let id = |place: usize| format!("{number:08x}-0000-4000-8000-{place:012}");
        let at = "2026-05-01T08:00:00.000000Z";
        let said = |place: usize, sender: &str| {
            json!({"uuid": id(place), "text": "hello", "content": [{"type": "text", "text": "hello"}],
                "sender": sender, "created_at": at, "updated_at": at, "attachments": [], "files": [],
                "parent_message_uuid": id(place - 1)})
        };
        json!({"uuid": id(0), "name": "", "summary": "", "created_at": at, "updated_at": at,
            "account": {"uuid": "a"}, "chat_messages": [said(1, "human"), said(2, "assistant")]})
    };
    let path = desk.folder.path().join("conversations.json");
    fs::write(&path, Value::from((1..=30).map(talk).collect::<Vec<_>>()).to_string()).unwrap();

    let imported = Desk::import_alone(&desk.archive, &mut Imports::default(), &path).unwrap();

    assert_eq!((imported.added(), desk.brought().len(), desk.store.count(Write::Append)), (60, 30, 1));
}

#[test]
fn what_is_told_and_noted_is_stored() {
    let desk = Desk::with(&[3; 20]);
    let mut seen = Vec::new();

    desk.import_telling(&mut Imports::default(), &mut |imports, _, imported| {
        let told = ids(&imported.unwrap());
        let noted: Vec<ConversationId> = imports.given.iter().copied().collect();
        seen.push(told.iter().chain(&noted).all(|id| desk.has(*id)));
    });

    assert_eq!(seen, [true; 20]);
}

#[test]
fn a_source_that_goes_on_where_one_that_waits_ends_makes_one_conversation_with_it() {
    let apart = Desk::with(&[2, 3]);
    let together = Desk::with(&[2, 3]);
    for desk in [&apart, &together] {
        desk.write(2, 0, 5);
    }

    let mut imports = Imports::default();
    for path in apart.paths() {
        Desk::import_alone(&apart.archive, &mut imports, &path).unwrap();
    }
    let told = together.import(&mut Imports::default());

    assert_eq!(together.brought(), apart.brought());
    assert_eq!(told.iter().map(|(_, one)| one.as_ref().unwrap().added()).collect::<Vec<_>>(), [2, 3, 3]);
}

#[test]
fn a_conversation_that_somebody_else_made_meanwhile_is_told_of_its_own_source() {
    let (desk, other) = (Desk::with(&[3; 5]), Desk::new());
    let path = other.write(0, 2, 4);
    let text = fs::read_to_string(&path).unwrap().replace("says", "said");
    fs::write(&path, text).unwrap();
    let theirs = Archive::with_store(Arc::new(desk.store.inner.clone()));
    *desk.store.meanwhile.lock().unwrap() = Some(Box::new(move || {
        Desk::import_alone(&theirs, &mut Imports::default(), &path).unwrap();
    }));

    let told = desk.import(&mut Imports::default());

    let kinds: Vec<Option<ErrorKind>> =
        told.iter().map(|(_, one)| one.as_ref().err().map(Error::kind)).collect();
    assert_eq!(kinds, [None, None, Some(ErrorKind::Conflict), None, None]);
    let lengths: BTreeSet<usize> = desk.brought().iter().map(|(_, messages, _)| messages.len()).collect();
    assert_eq!((desk.brought().len(), lengths), (5, BTreeSet::from([3, 4])));
}

#[test]
fn a_write_that_fails_loses_nothing_that_was_told_and_the_next_import_completes_it() {
    let lengths = [3, 1, 4, 2, 5];
    let whole = Desk::with(&lengths);
    let mut imports = Imports::default();
    whole.import(&mut imports);
    whole.archive.imports().save(&mut imports).unwrap();
    let writes = whole.store.written.lock().unwrap().len() as u64;

    for failing in 1..=writes {
        let desk = Desk::with(&lengths);
        desk.store.left.store(failing, Ordering::Relaxed);
        let mut imports = Imports::default();
        let told = desk.import(&mut imports);
        let saved = desk.archive.imports().save(&mut imports);
        desk.store.left.store(0, Ordering::Relaxed);

        let failed = told.iter().filter(|(_, one)| one.is_err()).count() + usize::from(saved.is_err());
        assert!(failed > 0, "write {failing}");
        let stored = told.iter().filter_map(|(_, one)| one.as_ref().ok()).flat_map(ids);
        assert!(stored.into_iter().all(|id| desk.has(id)), "write {failing}");
        let noted = desk.archive.imports().known().unwrap();
        assert!(noted.given.iter().all(|id| desk.has(*id)), "write {failing}");

        let again = desk.import(&mut desk.archive.imports().known().unwrap());
        assert!(again.iter().all(|(_, one)| one.is_ok()), "write {failing}");
        assert_eq!(desk.brought(), whole.brought(), "write {failing}");
    }
}
