//! A backend of one's own: a directory of files, each of which is the store as one commit
//! left it. `tests/it/stores.rs` runs the conformance suite on it.
//!
//!     cargo run -p rejoin --example own_store
//!
//! Each commit rewrites the whole store, and what a killed one left: copy the structure, not the storage.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind::NotFound;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rejoin::store::backend::{
    Backend, Batch, CommitHint, ConversationRow, MessageRow, Node, Presence, Rows, State, Which,
};
use rejoin::store::{
    BlobNames, Capabilities, Changed, ConversationTree, Found, Hit, Keeper, ListQuery, Page, Progress,
    Safety, SearchQuery, Space, Task,
};
use rejoin::{Archive, Conversation, ConversationId, Digest, Error, ErrorKind, Message, MessageId, Result};
use serde::{Deserialize, Serialize};

/// Stores rows in a directory.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The number of the last file that was read, and its rows.
    seen: Mutex<(u64, Arc<Tables>)>,
}

/// Whose blob, in which space, by which name.
type BlobKey = (Space, Option<ConversationId>, Vec<u8>);
type Decide<'d, 'a> = dyn FnMut(&dyn Rows) -> Result<Batch<'a>> + 'd;
type Visit<'v> = dyn FnMut(&MessageRow<'_>) -> Result<()> + 'v;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tables {
    trees: BTreeMap<ConversationId, ConversationTree<Vec<u8>>>,
    blobs: Vec<(BlobKey, Vec<u8>)>,
    log: Vec<Changed>,
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Unavailable, "use a directory of commits").because(error)
}

impl Directory {
    /// Opens a directory, which is made if it is not there.
    pub(crate) fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self { path, seen: Mutex::default() })
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number}.json"))
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect())
    }

    /// The rows as they are now, and the number of their file.
    fn newest(&self) -> Result<(u64, Arc<Tables>)> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let last = self.numbers()?.into_iter().max().unwrap_or_default();
            if last <= seen.0 {
                return Ok(seen.clone());
            }
            match fs::read(self.file(last)) {
                // It went, because there is another.
                Err(error) if error.kind() == NotFound => {}
                Err(error) => return Err(failed(error)),
                Ok(bytes) => *seen = (last, serde_json::from_slice(&bytes).map(Arc::new).map_err(failed)?),
            }
        }
    }

    /// Stores the next file. Its bytes are on disk before it has its name, and its name before older ones go.
    fn write(&self, number: u64, tables: &Tables) -> Result<()> {
        let draft = self.path.join("next"); // a fixed name, so what a killed commit left is overwritten
        fs::write(&draft, serde_json::to_vec(tables).map_err(failed)?).map_err(failed)?;
        File::open(&draft).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(&draft, self.file(number)).map_err(failed)?;
        File::open(&self.path).and_then(|directory| directory.sync_all()).map_err(failed)?;
        let older = self.numbers()?.into_iter().filter(|other| *other < number);
        older.map(|other| self.file(other)).try_for_each(|file| fs::remove_file(file).map_err(failed))
    }
}

impl Backend for Directory {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_durable: true, is_shared: true, ..Capabilities::NONE }
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        work(&*self.newest()?.1)
    }

    fn commit<'a>(&self, _: &CommitHint<'_>, _: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        let lock = File::create(self.path.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let (number, tables) = self.newest()?;
        self.write(number + 1, &tables.after(&decide(&*tables)?)?)
    }

    fn commit_each<'a>(
        &self,
        asks: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut dyn FnMut(usize, &dyn Rows) -> Result<Batch<'a>>,
    ) -> Result<()> {
        let mut asks = asks.iter().enumerate();
        asks.try_for_each(|(place, ask)| self.commit(ask, safety, &mut |rows| decide(place, rows)))
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    fn make_room(&self, _: ConversationId, _: &mut dyn FnMut(&[MessageId]) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let (wanted, tables) = ((space, owner, name.to_vec()), self.newest()?.1);
        Ok(tables.blobs.iter().find(|(key, _)| *key == wanted).map(|(_, bytes)| bytes.clone()))
    }

    fn changes(&self, after: u64, wait: Duration) -> Result<Vec<Changed>> {
        let (began, after) = (Instant::now(), usize::try_from(after).unwrap_or(usize::MAX));
        loop {
            let tables = self.newest()?.1;
            let found = tables.log.get(after..).unwrap_or_default();
            if !found.is_empty() || began.elapsed() >= wait {
                return Ok(found.to_vec());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn upkeep(&self, _: Task, _: Duration) -> Result<Progress> {
        Ok(Progress::default())
    }

    fn list_indexed(&self, _: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        Ok(None)
    }

    fn search_indexed(&self, _: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        Ok(None)
    }

    fn find_indexed(&self, _: &str, _: usize) -> Result<Option<Vec<Found>>> {
        Ok(None)
    }
}

impl Tables {
    /// These rows after a commit.
    fn after(&self, batch: &Batch<'_>) -> Result<Self> {
        let mut after = self.clone();
        if let Some(id) = batch.edit.conversation() {
            match ConversationTree::edited(self.trees.get(&id), &batch.edit)? {
                Some(tree) => drop(after.trees.insert(id, tree)),
                None => {
                    after.trees.remove(&id);
                    after.blobs.retain(|((_, owner, _), _)| *owner != Some(id));
                }
            }
        }
        for blob in batch.blobs.iter() {
            let key = (blob.space, blob.owner, blob.name.to_vec());
            after.blobs.retain(|(other, _)| *other != key);
            after.blobs.extend(blob.bytes.map(|bytes| (key, bytes.to_vec())));
        }
        after.blobs.sort_unstable();
        after.log.extend(batch.change.iter().map(|entry| {
            let stamp = self.log.len() as u64 + 1;
            Changed { stamp, at: entry.at, conversation: entry.conversation, what: entry.what.clone() }
        }));
        Ok(after)
    }
}

impl Rows for Tables {
    fn has(&self, id: ConversationId) -> Result<bool> {
        Ok(self.trees.contains_key(&id))
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        Ok(self.trees.get(&id).map_or(Presence::Absent, |tree| Presence::Stored(tree.state())))
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<rejoin::Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        Ok(self.trees.get(&id).and_then(|tree| tree.node_of(message)).copied())
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        self.trees.get(&id).map_or(Ok(()), |tree| tree.nodes().try_for_each(visit))
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut Visit<'_>) -> Result<()> {
        self.trees.get(&id).map_or(Ok(()), |tree| tree.visit(which, visit))
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        Ok(self.trees.get(&id).map(|tree| tree.row(id)))
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        self.trees.iter().try_for_each(|(id, tree)| visit(tree.row(*id)))
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let own = |key: &BlobKey| key.0 == space && key.1 == owner && named.admit(&key.2);
        self.blobs.iter().filter(|(key, _)| own(key)).try_for_each(|(key, bytes)| visit(&key.2, bytes))
    }
}

pub(crate) fn main() -> Result<()> {
    let place = tempfile::tempdir().map_err(failed)?;
    let open = || Ok::<_, Error>(Archive::with_store(Arc::new(Keeper::over(Directory::open(place.path())?))));
    let mut trip = open()?.start(Conversation::titled("Lisbon"))?;
    trip.append(Message::user("Where should we eat?"))?;
    trip.append(Message::assistant("A tasca in Alfama."))?;

    assert_eq!(open()?.path(trip.id(), None)?.len(), 2);
    println!("2 messages are in {}", place.path().display());
    Ok(())
}
