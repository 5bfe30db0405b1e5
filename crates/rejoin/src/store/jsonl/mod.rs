//! The JSONL store: plain files to read, search and carry, one for each conversation.
//!
//! A file only grows. A turn is one write and one sync. Whoever writes holds the lock of the log of changes
//! (`change_log.rs`), notes the change there, appends the lines of the turn, syncs them and marks the note
//! (`writing.rs`). Readers wait for nobody and pass over a turn that is not whole yet. Messages that are
//! removed are left out of a new file that takes the old one's place, and the old one is overwritten.
//!
//! What a handle read of a file it remembers, and reads on from there (`files.rs`). The index
//! of lists (`index.rs`) and that of words (`words/`) can be deleted at any time: any process
//! that finds them stale rebuilds them.

mod amend;
mod append;
mod blob;
mod change_log;
mod check;
mod commit;
mod erase_store;
mod examine;
mod fault;
mod files;
mod find;
mod follow;
mod layout;
mod line;
mod lines;
mod list;
mod loaded;
mod missing;
mod read;
mod recover;
mod remove;
mod rewrite;
mod rows;
mod scan;
mod words;
mod writing;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{
    Backend, CommitHint, ConversationRow, Decide, DecideEach, Rows, Trim, one_by_one,
};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::KnownFiles;
use crate::store::jsonl::layout::Layout;
use crate::store::jsonl::rows::JsonlRows;
use crate::store::jsonl::writing::LogWriter;
use crate::store::owner::{self, User};
use crate::store::{
    BlobNames, Capabilities, Changed, Found, Hit, Keeper, ListQuery, Page, Progress, REPACK_EVERY, Safety,
    SearchQuery, Space, Stamp, Task, WAIT, durable, place,
};

/// Keeps conversations in files of JSON lines.
pub type JsonlStore = Keeper<Jsonl>;

/// Stores rows in files of JSON lines.
pub struct Jsonl {
    layout: Layout,
    options: JsonlOptions,
    /// Whose files are opened.
    user: User,
    files: Mutex<KnownFiles>,
    writer: Mutex<LogWriter>,
    sheet: Mutex<blob::sheet::SheetCache>,
    blob_files: Mutex<blob::blob_files::BlobFiles>,
    /// Rung after a change of this handle, so that `changes` need not wait for its next look.
    bell: (Mutex<u64>, Condvar),
    /// Rejoin's own folder, with a lock that tells whoever would erase the store that it is in use.
    _in_use: File,
}

/// How a JSONL store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonlOptions {
    /// How long a writer waits for another before it answers [`Locked`](crate::ErrorKind::Locked).
    pub wait: Duration,
    /// A longer line is a bad one.
    pub longest_line: usize,
    /// A file is written anew after so many changes of its conversation, if
    /// they are a quarter of it; 0 means never.
    pub repack_every: u32,
}

impl Default for JsonlOptions {
    /// Waits ten seconds, takes lines of up to 256 MiB, and collects five changes.
    fn default() -> Self {
        // The default of `limits.turn_bytes` is 10 MB; a message may be that
        // long when it is escaped, and then some.
        Self { wait: WAIT, longest_line: 1 << 28, repack_every: REPACK_EVERY }
    }
}

impl Keeper<Jsonl> {
    /// Opens the store in the directory `root`, and creates it when it is missing.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(root, JsonlOptions::default())
    }

    /// Opens the store with these options.
    pub fn open_with(root: impl AsRef<Path>, options: JsonlOptions) -> Result<Self> {
        let root = std::path::absolute(root.as_ref()).during(|| "find the working directory")?;
        let layout = Layout::new(root);
        let user = User::current();
        prepare(user, &layout)?;
        let in_use = use_store(&layout)?;
        Ok(Self::over(Jsonl {
            layout,
            options,
            user,
            files: Mutex::default(),
            writer: Mutex::default(),
            sheet: Mutex::default(),
            blob_files: Mutex::default(),
            bell: Default::default(),
            _in_use: in_use,
        }))
    }
}

/// Makes what is missing.
fn prepare(user: User, layout: &Layout) -> Result<()> {
    let (root, changes) = (layout.root(), layout.changes());
    if root.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(Error::invalid(format!("`{}` is not a directory", root.display())));
    }
    for own in [layout.own(), layout.blobs(), layout.words(), layout.temporary()] {
        if own.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
            return Err(Error::invalid(format!("`{}` is not a directory", own.display())));
        }
    }
    let erasing = layout.erasing();
    if erasing.try_exists().during(|| format!("look at `{}`", erasing.display()))? {
        return Err(Error::new(
            ErrorKind::Unavailable,
            format!("erasing the store `{}` started but did not finish", root.display()),
        ));
    }
    durable::create_private_directory(&changes)
        .during(|| format!("create the directory `{}`", root.display()))?;
    refuse_foreign(user, layout)?;
    place::refuse_network(root)?;
    durable::create_private(&changes).during(|| format!("create `{}`", changes.display()))
}

/// Refuses a store that another user owns, can write or can put another directory in the place of. Files that
/// lie in it are looked at when they are opened.
fn refuse_foreign(user: User, layout: &Layout) -> Result<()> {
    let own = [layout.own(), layout.blobs(), layout.words(), layout.temporary()];
    let checked = owner::refuse_place(user, layout.root())
        .and_then(|_| own.iter().try_for_each(|directory| owner::refuse_directory(user, directory)));
    checked.map_err(|cause| {
        Error::new(ErrorKind::Denied, format!("open the store `{}`", layout.root().display())).because(cause)
    })
}

/// Tells others that the store is open. Only one who erases it stands in the way.
fn use_store(layout: &Layout) -> Result<File> {
    let own = layout.own();
    let folder = File::open(&own).during(|| format!("open `{}`", own.display()))?;
    match flock(&folder, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Err(Error::new(
            ErrorKind::Locked,
            format!("the store `{}` is being erased", layout.root().display()),
        )),
        Err(cause) => Err(io::Error::from(cause)).during(|| format!("lock `{}`", own.display())),
        Ok(()) => Ok(folder),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panicking caller leaves behind is checked against the files before it is used.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Debug for Jsonl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jsonl").field("root", &self.layout.root()).finish_non_exhaustive()
    }
}

impl Drop for Jsonl {
    fn drop(&mut self) {
        if lock(&self.writer).is_sound() && !std::thread::panicking() {
            // Nothing is lost when this fails: what the index does not cover is read.
            let _ = self.fill_what_was_written();
        }
    }
}

impl Backend for Jsonl {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_durable: true, is_shared: true, reads_past_damage: true, ..Capabilities::NONE }
    }

    fn snapshot(&self, work: &mut dyn FnMut(&dyn Rows) -> Result<()>) -> Result<()> {
        work(&JsonlRows::to_read(self))
    }

    fn commit<'a>(&self, hint: &CommitHint<'_>, safety: Safety, decide: &mut Decide<'_, 'a>) -> Result<()> {
        self.store(hint, safety, decide)
    }

    fn commit_each<'a>(
        &self,
        hints: &[CommitHint<'_>],
        safety: Safety,
        decide: &mut DecideEach<'_, 'a>,
    ) -> Result<()> {
        // Each conversation has a file of its own, and no two files are written as one.
        one_by_one(self, hints, safety, decide)
    }

    fn erasing(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.reserve().give_up_if_full();
        // What blobs were before may say what is erased.
        let worked = work().and_then(|()| self.drop_old_lines());
        self.reserve().keep();
        worked
    }

    fn make_room(&self, _: ConversationId, _: &mut Trim<'_>) -> Result<()> {
        // A conversation is deleted by renaming its file.
        Ok(())
    }

    fn blob(&self, space: Space, owner: Option<ConversationId>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.visit_blobs(space, owner, BlobNames::One(name), &mut |_, bytes| {
            found = Some(bytes.to_vec());
            Ok(())
        })?;
        Ok(found)
    }

    fn changes(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        self.wait_for_changes(after, wait)
    }

    fn upkeep(&self, task: Task, budget: Duration) -> Result<Progress> {
        match task {
            Task::Index => self.fill_words(budget),
            Task::Checkpoint => self.tidy_and_count(),
            Task::Repack => self.tidy(budget),
            Task::RepackOne(id) => self.repack_one(id),
            Task::Check => self.check(),
        }
    }

    fn list_indexed(&self, query: &ListQuery<'_>) -> Result<Option<Page<ConversationRow>>> {
        self.list_page(query).map(Some)
    }

    fn search_indexed(&self, query: &SearchQuery<'_>) -> Result<Option<Page<Hit>>> {
        self.search_page(query).map(Some)
    }

    fn find_indexed(&self, text: &str, limit: usize) -> Result<Option<Vec<Found>>> {
        self.find_names(text, limit).map(Some)
    }
}
