//! Opening the files of conversations, and remembering what was read of them.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::backend::unknown;
use crate::store::jsonl::change_log::LastChange;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::list::index::{IndexEntry, KeyInLines};
use crate::store::jsonl::scan::{ScanDepth, ScannedFile};
use crate::store::jsonl::{Jsonl, change_log, lock};
use crate::store::{Stamp, User, durable};

/// How many conversations are remembered; a program works with few at a time.
const REMEMBERED: usize = 32;

/// Of how many conversations keys are remembered, at a few hundred bytes each.
const GLIMPSED: usize = 100_000;

/// What a handle remembers of files.
#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    folders: HashMap<ConversationId, String>,
    /// Folders with copies that are not read, where there are any.
    copies: HashMap<ConversationId, Vec<String>>,
    known: HashMap<ConversationId, RememberedScan>,
    /// What this handle wrote to. It made the names of these files durable.
    grown: HashMap<ConversationId, Grown>,
    /// What lists told of keys, so that whoever looks at the keys of everybody reads no conversation.
    keys: HashMap<ConversationId, Glimpse>,
}

/// What is known of keys in a file that was not read.
#[derive(Debug)]
struct Glimpse {
    folder: String,
    seen: FileIdentity,
    keys: Arc<Vec<KeyInLines>>,
}

impl KnownFiles {
    /// The conversations that this handle wrote to.
    pub(super) fn grown(&self) -> Vec<(ConversationId, Grown)> {
        self.grown.iter().map(|(id, grown)| (*id, *grown)).collect()
    }
}

/// How a file looked before this handle wrote to it and nobody else did, and after
/// that. One that was made has no before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    pub(super) before: Option<FileIdentity>,
    pub(super) after: FileIdentity,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
}

#[derive(Debug)]
struct RememberedScan {
    seen: FileIdentity,
    known: Arc<ScannedFile>,
}

/// How a file looked: when it looks the same, it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileIdentity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) length: u64,
    /// In nanoseconds.
    pub(super) modified: i128,
}

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        }
    }

    pub(super) const fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

/// A conversation's file, open, under a lock that keeps it from being overwritten:
/// its own, or that of those who write.
#[derive(Debug)]
pub(super) struct LockedFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) folder: String,
    pub(super) seen: FileIdentity,
    /// Copies of it in other folders, which are not read.
    copies: Vec<PathBuf>,
}

/// A file, and what is known of it.
pub(super) type OpenScan = (LockedFile, Arc<ScannedFile>);

impl LockedFile {
    /// What is wrong with a conversation in this file, in words.
    pub(super) fn damage(&self, known: &ScannedFile) -> Vec<String> {
        let mut damage = known.damage(&self.path);
        damage.extend(self.copies.iter().map(|copy| {
            format!("`{}` is read, and `{}` is another copy of it", self.path.display(), copy.display())
        }));
        damage
    }
}

impl Jsonl {
    /// Opens the file of a conversation; none when there is no such file.
    pub(super) fn open_file(&self, id: ConversationId) -> Result<Option<LockedFile>> {
        self.open_for(Purpose::Read, id)
    }

    /// The same, to read it or to write to it too.
    pub(super) fn open_for(&self, purpose: Purpose, id: ConversationId) -> Result<Option<LockedFile>> {
        // It may move to another folder, or be written anew, between being found and being opened.
        for _ in 0..100 {
            let remembered = lock(&self.files).folders.get(&id).cloned();
            let folder = match remembered {
                Some(folder) => Some(folder),
                None => self.locate(id)?,
            };
            let Some(folder) = folder else { return Ok(None) };
            let path = self.layout.file(&folder, id);
            match open_locked(self.user, &path, purpose) {
                Ok(Some((file, seen))) => {
                    lock(&self.files).folders.insert(id, folder.clone());
                    return Ok(Some(LockedFile { file, path, folder, seen, copies: self.copies_of(id) }));
                }
                Ok(None) => lock(&self.files).folders.remove(&id),
                Err(cause) => return Err(cause).during(|| format!("open `{}`", path.display())),
            };
        }
        Err(Error::new(crate::error::ErrorKind::Locked, format!("conversation `{id}` is being rewritten")))
    }

    /// The folder that a conversation's file is in. If several have one, that with the newest change counts.
    fn locate(&self, id: ConversationId) -> Result<Option<String>> {
        let mut folders = self.layout.find_all(id).during(|| format!("find conversation `{id}`"))?;
        if folders.len() > 1 {
            let weights: Vec<_> = folders.iter().map(|folder| self.weigh(id, folder)).collect();
            let heaviest = weights.iter().max().copied().unwrap_or_default();
            let place = weights.iter().position(|weight| *weight == heaviest).unwrap_or_default();
            let chosen = folders.remove(place);
            folders.insert(0, chosen);
            lock(&self.files).copies.insert(id, folders[1..].to_vec());
        }
        Ok(folders.into_iter().next())
    }

    /// How much of a conversation a copy holds: its newest change, and how many messages.
    /// One that cannot be read holds nothing.
    fn weigh(&self, id: ConversationId, folder: &str) -> (Stamp, usize) {
        let path = self.layout.file(folder, id);
        let Ok(Some((file, seen))) = open_locked(self.user, &path, Purpose::Read) else { return (0, 0) };
        let opened = LockedFile { file, path, folder: folder.to_owned(), seen, copies: Vec::new() };
        let known = self.reread(id, &opened, ScanDepth::Fields);
        known.map_or((0, 0), |known| (known.kept.stamp, known.kept.tree.messages().len()))
    }

    fn copies_of(&self, id: ConversationId) -> Vec<PathBuf> {
        let folders = lock(&self.files).copies.get(&id).cloned().unwrap_or_default();
        let paths = folders.iter().map(|folder| self.layout.file(folder, id));
        paths.filter(|path| path.symlink_metadata().is_ok_and(|there| there.is_file())).collect()
    }

    /// Opens the file of a conversation, and what is known of it, which may be nothing.
    pub(super) fn look(&self, purpose: Purpose, id: ConversationId) -> Result<Option<OpenScan>> {
        let Some(opened) = self.open_for(purpose, id)? else { return Ok(None) };
        let known = self.known(id, &opened)?;
        Ok(Some((opened, known)))
    }

    /// Opens a conversation.
    pub(super) fn open_known(&self, id: ConversationId) -> Result<Option<OpenScan>> {
        Ok(self.look(Purpose::Read, id)?.filter(|(_, known)| !known.is_nothing()))
    }

    /// The same, where it is an error that there is none.
    pub(super) fn must_open(&self, purpose: Purpose, id: ConversationId) -> Result<OpenScan> {
        let look = match self.look(purpose, id)? {
            Some(look) if !look.1.is_nothing() => return Ok(look),
            look => look,
        };
        Err(self.loss_of(id, look.as_ref())?.map_or_else(|| unknown(id), Error::corrupt))
    }

    /// What a file says, read as far as it was not read before.
    fn known(&self, id: ConversationId, opened: &LockedFile) -> Result<Arc<ScannedFile>> {
        let seen = opened.seen;
        let attempt = || format!("read conversation `{id}`");
        let remembered = lock(&self.files).known.remove(&id);
        let known = match remembered {
            Some(own) if own.seen == seen => own.known,
            // One that was edited and grew has something else where the known part ends.
            Some(own)
                if own.seen.is_same_file(&seen)
                    && own.seen.length < seen.length
                    && own.known.is_beginning_of(&opened.file).during(attempt)? =>
            {
                let mut known = own.known;
                self.go_on(Arc::make_mut(&mut known), opened, ScanDepth::Fields)?;
                known
            }
            _ => Arc::new(self.reread(id, opened, ScanDepth::Fields)?),
        };
        let mut files = lock(&self.files);
        if files.known.len() >= REMEMBERED {
            files.known.clear();
        }
        files.known.insert(id, RememberedScan { seen, known: Arc::clone(&known) });
        Ok(known)
    }

    /// Reads a file from its beginning, and remembers nothing.
    pub(super) fn reread(
        &self,
        id: ConversationId,
        opened: &LockedFile,
        depth: ScanDepth,
    ) -> Result<ScannedFile> {
        let mut known = ScannedFile::nothing_of(id);
        self.go_on(&mut known, opened, depth)?;
        Ok(known)
    }

    fn go_on(&self, known: &mut ScannedFile, opened: &LockedFile, depth: ScanDepth) -> Result<()> {
        let (id, longest) = (known.kept.id, self.options.longest_line);
        known.go_on(&opened.file, opened.seen.length, longest, depth, &|stamp| {
            let told = change_log::told_of(&self.layout.changes(), id, stamp)?;
            let is_acknowledged = matches!(told, Some(LastChange::Acknowledged(_)));
            // Its lines may have been written since the file was looked at. One
            // that still looks the same lost them.
            let there = opened.path.symlink_metadata();
            Ok(is_acknowledged && there.is_ok_and(|there| FileIdentity::of(&there) == opened.seen))
        })
    }

    /// True when this handle made the name of a conversation's file durable.
    pub(super) fn has_named(&self, id: ConversationId) -> bool {
        lock(&self.files).grown.contains_key(&id)
    }

    /// Remembers that this handle wrote to a conversation's file, and made its name durable.
    pub(super) fn note_growth(&self, id: ConversationId, before: Option<FileIdentity>, after: FileIdentity) {
        let mut files = lock(&self.files);
        let grown = files.grown.entry(id).or_insert(Grown { before, after });
        if before != Some(grown.after) {
            grown.before = before;
        }
        grown.after = after;
    }

    /// Forgets what was known of a conversation.
    pub(super) fn forget(&self, id: ConversationId) {
        let mut files = lock(&self.files);
        files.folders.remove(&id);
        files.copies.remove(&id);
        files.known.remove(&id);
        files.grown.remove(&id);
        files.keys.remove(&id);
    }

    /// Remembers what the index says of keys in a conversation's file.
    pub(super) fn remember_keys(&self, entry: &IndexEntry) {
        let Some(keys) = entry.keys() else { return };
        let glimpse = Glimpse { folder: entry.folder.clone(), seen: entry.seen, keys: Arc::new(keys) };
        let mut files = lock(&self.files);
        if files.keys.len() < GLIMPSED || files.keys.contains_key(&entry.id) {
            files.keys.insert(entry.id, glimpse);
        }
    }

    /// What lines of a conversation say of its keys, if that is remembered and the file looks as it did.
    pub(super) fn keys_in_lines(&self, id: ConversationId) -> Option<Arc<Vec<KeyInLines>>> {
        let (path, seen, keys) = {
            let files = lock(&self.files);
            let glimpse = files.keys.get(&id)?;
            (self.layout.file(&glimpse.folder, id), glimpse.seen, Arc::clone(&glimpse.keys))
        };
        path.symlink_metadata().is_ok_and(|there| FileIdentity::of(&there) == seen).then_some(keys)
    }
}

/// Opens a file to read and takes the lock of its readers; none when it is not there any more.
fn open_locked(
    user: User,
    path: &std::path::Path,
    purpose: Purpose,
) -> io::Result<Option<(File, FileIdentity)>> {
    let gone = |cause: io::Error| {
        if cause.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(cause) }
    };
    let opened = match purpose {
        Purpose::Read => durable::open_to_read_as(user, path),
        Purpose::Write => durable::open_to_write_as(user, path),
    };
    let (file, metadata) = match opened {
        Ok(opened) => opened,
        Err(cause) => return gone(cause),
    };
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // Whoever writes keeps out all who overwrite or exchange files, and looks
    // at the name when the lines are safe.
    if purpose == Purpose::Write {
        return Ok(Some((file, FileIdentity::of(&metadata))));
    }
    // Only one who overwrites a file that has no name any more keeps readers out.
    if flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        return Ok(None);
    }
    let (own, there) = (FileIdentity::of(&metadata), path.symlink_metadata());
    match there {
        Ok(there) if FileIdentity::of(&there).is_same_file(&own) => Ok(Some((file, own))),
        Ok(_) => Ok(None),
        Err(cause) => gone(cause),
    }
}
