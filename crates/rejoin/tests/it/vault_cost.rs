//! What a vault asks of the store inside: counted, so that no other program on
//! the machine changes the answer.
//!
//! How long it takes is measured by `sealing`, `rotating` and `vault` of the benchmark, which have the bars.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::store::backend::{Backend, MessageRow, Rows, Which};
use rejoin::store::{
    BlobNames, Entry, Facets, JsonlStore, MemoryStore, Note, Opening, PreviewUpdate, Put, Space, SqliteStore,
    Stale, Store, Task, Turn,
};
use rejoin::vault::{Keyholder, Keys, NewSlot, SecretFiles, SecretStores, VaultStore};
use rejoin::{Archive, Conversation, ConversationId, Digest, Message, Result, Time};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::write::{NOW, conversation, messages};

/// How many conversations are rotated.
const CONVERSATIONS: usize = 25;

/// How many bytes a rotation may move for each further message, of which a file has 1,300: an index of plain
/// files has its id, and a list reads the page of each head, which short conversations share.
const FURTHER: u64 = 100;

/// How many conversations are imported at once.
const SMALL: u8 = 50;

/// What was asked of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    reads: usize,
    /// Messages that were shown.
    messages: usize,
    /// Bytes of blobs that were shown.
    shown: usize,
    writes: Vec<Write>,
    /// Bytes of blobs that were stored.
    stored: usize,
}

/// A store that counts what it is asked.
struct Counting {
    store: Arc<dyn Backend>,
    asked: Mutex<Asked>,
}

impl Counting {
    fn over(store: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Self { store, asked: Mutex::default() })
    }

    fn count(&self, count: impl FnOnce(&mut Asked)) {
        count(&mut self.asked.lock().unwrap());
    }

    /// What some work asks.
    fn during<T>(&self, work: impl FnOnce() -> T) -> (Asked, T) {
        self.count(|asked| *asked = Asked::default());
        let done = work();
        (self.asked.lock().unwrap().clone(), done)
    }
}

impl Interpose for Counting {
    fn backend(&self) -> &dyn Backend {
        &self.store
    }

    fn writing(&self, write: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.count(|asked| asked.writes.push(write));
        work()
    }

    fn reading(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.count(|asked| asked.reads += 1);
        work()
    }

    fn messages(
        &self,
        rows: &dyn Rows,
        id: ConversationId,
        which: Which<'_>,
        visit: &mut dyn FnMut(&MessageRow<'_>) -> Result<()>,
    ) -> Result<()> {
        rows.messages(id, which, &mut |row| {
            self.count(|asked| asked.messages += 1);
            visit(row)
        })
    }

    fn looked(&self, _: Space, _: BlobNames<'_>, bytes: usize) {
        self.count(|asked| asked.shown += bytes);
    }

    fn storing(&self, blobs: &[Put<'_>]) {
        self.count(|asked| {
            asked.stored += blobs.iter().filter_map(|put| put.bytes).map(<[u8]>::len).sum::<usize>();
        });
    }
}

/// Opens or makes a store in a directory.
type Make = fn(&Path) -> Arc<dyn Backend>;

/// A vault in a store that counts, and what opens it.
struct Counted {
    inner: Arc<Counting>,
    holder: Keyholder,
    directory: tempfile::TempDir,
}

impl Counted {
    fn new(make: Make) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let inner = Counting::over(make(directory.path()));
        let files = Arc::new(SecretFiles::new(directory.path().join("keys")));
        let holder = Keyholder::new(SecretStores { files: Some(files), ..SecretStores::default() });
        let counted = Self { inner, holder, directory };
        counted.keys().create(&[NewSlot::File], Time::now()).unwrap();
        counted
    }

    fn keys(&self) -> Keys {
        Keys::of(Arc::new(Interposed(Arc::clone(&self.inner))), self.holder.clone())
    }

    fn archive(&self) -> Archive {
        let inner = Arc::new(Interposed(Arc::clone(&self.inner)));
        Archive::with_vault(Arc::new(VaultStore::open(inner, Arc::new(self.holder.clone())).unwrap()))
    }

    /// Starts conversations of so many messages, each in one turn.
    fn fill(&self, conversations: usize, messages: usize) -> Vec<ConversationId> {
        let archive = self.archive();
        let start = |number| {
            let mut talk = archive.start(Conversation::titled(format!("{number:02}"))).unwrap();
            talk.append_turn(vec![Message::user("x".repeat(500)); messages]).unwrap();
            talk.id()
        };
        (0..conversations).map(start).collect()
    }
}

fn in_memory(_: &Path) -> Arc<dyn Backend> {
    Arc::new(MemoryStore::new())
}

fn in_sqlite(directory: &Path) -> Arc<dyn Backend> {
    Arc::new(SqliteStore::open(directory.join("store.db")).unwrap())
}

fn in_files(directory: &Path) -> Arc<dyn Backend> {
    Arc::new(JsonlStore::open(directory.join("store")).unwrap())
}

const PLACES: [Make; 3] = [in_memory, in_sqlite, in_files];

/// What a rotation of conversations with so many messages asks.
fn rotated(make: Make, messages: usize) -> Asked {
    let vault = Counted::new(make);
    vault.fill(CONVERSATIONS, messages);

    let (asked, rotated) = vault.inner.during(|| vault.keys().rotate(Time::now()).unwrap());

    assert_eq!(rotated.keys, CONVERSATIONS as u64 + 1);
    asked
}

#[test]
fn a_rotation_asks_the_same_whatever_the_conversations_hold() {
    for make in PLACES {
        let [short, long] = [2, 200].map(|messages| rotated(make, messages));

        assert_eq!((short.messages, short.writes.as_slice()), (0, &[Write::Put; 2][..]));
        assert_eq!(short, long);
    }
}

/// The bytes that this thread has read from files and written to them so far.
fn moved() -> [u64; 2] {
    let told = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    ["rchar: ", "wchar: "]
        .map(|name| told.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap())
}

/// The bytes that are read and written by a rotation of conversations with so many messages.
fn moved_by_rotation(make: Make, messages: usize) -> [u64; 2] {
    let vault = Counted::new(make);
    vault.fill(CONVERSATIONS, messages);
    // Plain files that grew since they were listed are read once more.
    vault.keys().rotate(Time::now()).unwrap();
    // As a new process does.
    let keys = Keys::of(make(vault.directory.path()), vault.holder.clone());
    let before = moved();
    keys.rotate(Time::now()).unwrap();
    let after = moved();
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn a_rotation_moves_no_messages_of_a_database_and_of_files() {
    let moved =
        [in_sqlite as Make, in_files].map(|make| [2, 200].map(|messages| moved_by_rotation(make, messages)));

    let room = FURTHER * 198 * CONVERSATIONS as u64;
    let is_within = |[[short_read, short_written], [read, written]]: [[u64; 2]; 2]| {
        read <= short_read + room && written <= short_written + room
    };
    assert!(moved.into_iter().all(is_within), "{moved:?}");
}

#[test]
fn an_append_to_a_vault_is_one_write_and_asks_the_same_of_long_conversations() {
    let asked = [2, 200].map(|messages| {
        let vault = Counted::new(in_memory);
        let id = vault.fill(1, messages)[0];
        let mut talk = vault.archive().resume(id).unwrap();
        // The first one also asks what a handle then knows.
        talk.append(Message::user("Where to eat?")).unwrap();

        vault.inner.during(|| talk.append(Message::assistant("Try a tasca.")).unwrap()).0
    });

    assert_eq!(asked[0].writes, [Write::Append]);
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn a_load_from_a_vault_looks_at_each_message_once() {
    let asked = [2, 200].map(|messages| {
        let vault = Counted::new(in_memory);
        let id = vault.fill(1, messages)[0];
        let archive = vault.archive();

        let (asked, path) = vault.inner.during(|| archive.path(id, None).unwrap());

        assert_eq!((path.len(), asked.messages), (messages, messages));
        Asked { messages: 0, ..asked }
    });

    assert_eq!(asked[0].writes, []);
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn many_small_conversations_take_one_commit_of_sqlite() {
    let counted = Counted::new(in_sqlite);
    let inner = Arc::new(Interposed(Arc::clone(&counted.inner)));
    let vault = VaultStore::open(inner, Arc::new(counted.holder.clone())).unwrap();
    let bodies: Vec<String> =
        (0..SMALL).map(|number| Message::user(format!("{number}")).at(NOW).to_body()).collect();
    let entries: Vec<[Entry<'_>; 1]> = bodies
        .iter()
        .map(|body| {
            let (id, link) = ("a".parse().unwrap(), Digest::chain(None, body.as_bytes()));
            [Entry { id, parent: None, link, note: Note::default(), body }]
        })
        .collect();
    let facets = Facets::default();
    let turn = |(number, entries)| Turn {
        conversation: conversation(number),
        opening: Some(Opening { facets: &facets, header: "{}", created: NOW }),
        stale: Stale::Branch,
        entries,
        previews: PreviewUpdate::default(),
        branch: None,
        active: NOW,
        now: NOW,
        blobs: &[],
    };
    let turns: Vec<Turn<'_>> = (0..).zip(entries.iter().map(<[_; 1]>::as_slice)).map(turn).collect();

    let (asked, appended) = counted.inner.during(|| vault.append_all(&turns).unwrap());

    assert_eq!((appended.len(), asked.writes), (usize::from(SMALL), vec![Write::Append]));
    let stored: Vec<usize> =
        (0..SMALL).map(|number| messages(&vault, conversation(number)).unwrap().len()).collect();
    assert_eq!(stored, vec![1; usize::from(SMALL)]);
    assert_eq!(vault.maintain(Task::Check, Duration::MAX).unwrap().faults, []);
}
