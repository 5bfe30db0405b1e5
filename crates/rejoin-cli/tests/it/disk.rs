//! A disk that loses power: from what a program wrote and synced, every state that may be found afterwards.
//!
//! What was synced is there. Of what was written since, any part may be: all, none, some, or the beginning of one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::dice::Dice;
use crate::feed::Receipt;
use crate::strace::Call;

/// The calls that a recording needs.
pub(crate) const CALLS: &str =
    "openat,mkdir,write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2";

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Write { offset: usize, data: Vec<u8> },
    Cut { length: usize },
}

/// Something that a program did, in the order in which it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A directory was made.
    Make(PathBuf),
    /// A file was created, if it was not there.
    Create(PathBuf),
    Change(PathBuf, Change),
    Remove(PathBuf),
    /// A file was given a name that none had.
    Rename(PathBuf, PathBuf),
    /// A file or directory was synced; what was done before this event's beginning is safe.
    Sync {
        path: PathBuf,
        began: usize,
    },
    /// The user was told that a turn is stored.
    Tell(Box<Receipt>),
}

/// Reads what a program did below a directory.
pub(crate) fn events(calls: &[Call], root: &Path) -> Vec<(usize, Event)> {
    let mut events = Vec::new();
    for call in calls.iter().filter(|call| call.result >= 0) {
        let named = || PathBuf::from(OsStr::from_bytes(&call.quoted()));
        let length = || usize::try_from(call.last_number().unwrap()).unwrap();
        let done: Vec<Event> = match call.name.as_str() {
            "mkdir" => vec![Event::Make(named())],
            "openat" if call.has_flag("O_CREAT") => vec![Event::Create(named())],
            "pwrite64" => {
                vec![Event::Change(call.path(), Change::Write { offset: length(), data: call.data() })]
            }
            "ftruncate" => vec![Event::Change(call.path(), Change::Cut { length: length() })],
            "unlink" | "unlinkat" => vec![Event::Remove(named())],
            "rename" | "renameat" | "renameat2" => {
                let to = PathBuf::from(OsStr::from_bytes(&call.quoted_second()));
                vec![Event::Rename(named(), to)]
            }
            "fsync" | "fdatasync" => vec![Event::Sync { path: call.path(), began: call.began }],
            "write" if call.descriptor() == Some(1) => {
                let told = String::from_utf8(call.data()).unwrap();
                told.split_inclusive('\n').filter_map(Receipt::read).map(Box::new).map(Event::Tell).collect()
            }
            _ => Vec::new(),
        };
        events.extend(done.into_iter().filter(|event| event.is_below(root)).map(|event| (call.ended, event)));
    }
    events
}

impl Event {
    /// The shared memory of SQLite is no part of what survives.
    fn is_below(&self, root: &Path) -> bool {
        match self {
            Event::Make(path)
            | Event::Create(path)
            | Event::Change(path, _)
            | Event::Remove(path)
            | Event::Rename(path, _) => path.starts_with(root) && !path.to_string_lossy().ends_with("-shm"),
            Event::Sync { path, .. } => path.starts_with(root),
            Event::Tell(_) => true,
        }
    }
}

/// What a disk holds, and what it was told but need not have done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<PathBuf, File>,
    /// Directories whose own names may be lost.
    unnamed: BTreeSet<PathBuf>,
    pub(crate) receipts: Vec<Receipt>,
}

#[derive(Clone, Debug, Default)]
struct File {
    safe: Vec<u8>,
    /// What was done since the last sync, and when.
    pending: Vec<(usize, Change)>,
    /// Whether its name is safe.
    is_named: bool,
    is_removed: bool,
}

/// What is found after the power came back: the content of each file.
pub(crate) type State = BTreeMap<PathBuf, Vec<u8>>;

impl Disk {
    /// A disk that holds the files of a directory, all safe.
    pub(crate) fn holding(directory: &Path) -> Self {
        let files = below(directory).into_iter().filter(|path| !path.to_string_lossy().ends_with("-shm"));
        let safe = |path: PathBuf| {
            let file = File { safe: fs::read(&path).unwrap(), is_named: true, ..File::default() };
            (path, file)
        };
        Self { files: files.map(safe).collect(), ..Self::default() }
    }

    pub(crate) fn apply(&mut self, (at, event): &(usize, Event)) {
        match event {
            Event::Make(path) => drop(self.unnamed.insert(path.clone())),
            Event::Create(path) => self.files.entry(path.clone()).or_default().is_removed = false,
            Event::Change(path, change) => {
                self.files.entry(path.clone()).or_default().pending.push((*at, change.clone()));
            }
            Event::Remove(path) => self.files.entry(path.clone()).or_default().is_removed = true,
            Event::Rename(from, to) => {
                let old = self.files.entry(from.clone()).or_default();
                old.is_removed = true;
                let fresh = File { is_named: false, is_removed: false, ..old.clone() };
                self.files.insert(to.clone(), fresh);
            }
            Event::Sync { path, began } => self.sync(path, *began),
            Event::Tell(receipt) => self.receipts.push((**receipt).clone()),
        }
    }

    fn sync(&mut self, path: &Path, began: usize) {
        if let Some(file) = self.files.get_mut(path) {
            let (before, after) = file.pending.drain(..).partition(|(at, _)| *at < began);
            file.safe = done(&file.safe, before);
            file.pending = after;
            return;
        }
        self.unnamed.retain(|directory| directory.parent() != Some(path));
        self.files.retain(|own, file| own.parent() != Some(path) || !file.is_removed);
        let inside = self.files.iter_mut().filter(|(own, _)| own.parent() == Some(path));
        inside.for_each(|(_, file)| file.is_named = true);
    }

    /// States that may be found if the power goes at this moment.
    pub(crate) fn states(&self, dice: &mut Dice) -> Vec<State> {
        let mut states = vec![
            self.state(|file| Some(file.safe.clone())),
            self.state(|file| (!file.is_removed).then(|| done(&file.safe, file.pending.clone()))),
            // A name that was not made safe may be lost whatever was done to the file.
            self.state(|file| file.is_named.then(|| done(&file.safe, file.pending.clone()))),
        ];
        for _ in 0..3 {
            let mut coin = || dice.below(2) == 0;
            states.push(self.state(|file| {
                let is_there = (file.is_named || coin()) && (!file.is_removed || coin());
                is_there.then(|| done(&file.safe, some(&file.pending, &mut coin)))
            }));
        }
        if !self.unnamed.is_empty() {
            states.push(State::new());
        }
        states
    }

    fn state(&self, mut found: impl FnMut(&File) -> Option<Vec<u8>>) -> State {
        self.files.iter().filter_map(|(path, file)| Some((path.clone(), found(file)?))).collect()
    }
}

/// Every file below a directory.
pub(crate) fn below(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).map(|entries| entries.map(|entry| entry.unwrap().path()));
    paths
        .into_iter()
        .flatten()
        .flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] })
        .collect()
}

/// Some of these changes; now and then only the first sector of one.
fn some(changes: &[(usize, Change)], coin: &mut impl FnMut() -> bool) -> Vec<(usize, Change)> {
    let mut kept = Vec::new();
    for (at, change) in changes {
        match change {
            Change::Write { offset, data } if coin() && coin() && coin() => {
                let data = data[..data.len().min(512)].to_vec();
                kept.push((*at, Change::Write { offset: *offset, data }));
            }
            whole if coin() => kept.push((*at, whole.clone())),
            _ => {}
        }
    }
    kept
}

/// The content of a file after these changes.
fn done(safe: &[u8], changes: Vec<(usize, Change)>) -> Vec<u8> {
    let mut content = safe.to_vec();
    for (_, change) in changes {
        match change {
            Change::Cut { length } => content.resize(length, 0),
            Change::Write { offset, data } => {
                let end = offset + data.len();
                content.resize(content.len().max(end), 0);
                content[offset..end].copy_from_slice(&data);
            }
        }
    }
    content
}
