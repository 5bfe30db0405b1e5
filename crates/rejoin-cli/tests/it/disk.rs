//! A disk that loses power: from what a program wrote and synced, every state that may be found afterwards.
//!
//! What was synced is there. Of what was written since, any part may be: all,
//! none, some, or the beginning of one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::dice::Dice;
use crate::feed::Receipt;
use crate::strace::Call;

/// The calls that a recording needs.
pub(crate) const CALLS: &str = "openat,mkdir,write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,link,linkat";

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
    /// A file was given another name, in place of what had it.
    Rename(PathBuf, PathBuf),
    /// Two files were given each other's names.
    Exchange(PathBuf, PathBuf),
    /// A file was given a second name.
    Link(PathBuf, PathBuf),
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
        let named_second = || PathBuf::from(OsStr::from_bytes(&call.quoted_second()));
        let length = || usize::try_from(call.last_number().unwrap()).unwrap();
        let done: Vec<Event> = match call.name.as_str() {
            "mkdir" => vec![Event::Make(named())],
            "openat" if call.has_flag("O_CREAT") => vec![Event::Create(named())],
            "pwrite64" => {
                vec![Event::Change(call.path(), Change::Write { offset: length(), data: call.data() })]
            }
            "ftruncate" => vec![Event::Change(call.path(), Change::Cut { length: length() })],
            "unlink" | "unlinkat" => vec![Event::Remove(named())],
            "renameat2" if call.has_flag("RENAME_EXCHANGE") => {
                vec![Event::Exchange(named(), named_second())]
            }
            "rename" | "renameat" | "renameat2" => vec![Event::Rename(named(), named_second())],
            "link" | "linkat" => vec![Event::Link(named(), named_second())],
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
            | Event::Rename(path, _)
            | Event::Exchange(path, _)
            | Event::Link(path, _) => path.starts_with(root) && !path.to_string_lossy().ends_with("-shm"),
            Event::Sync { path, .. } => path.starts_with(root),
            Event::Tell(_) => true,
        }
    }
}

/// What a disk holds, and what it was told but need not have done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: BTreeMap<PathBuf, Name>,
    /// Directories whose own names may be lost.
    unnamed: BTreeSet<PathBuf>,
    pub(crate) receipts: Vec<Receipt>,
}

#[derive(Clone, Debug, Default)]
struct File {
    safe: Vec<u8>,
    /// What was done since the last sync, and when.
    pending: Vec<(usize, Change)>,
}

/// The number of the file that has a name, if one has.
type Holder = Option<usize>;

/// A name, and which files had it since its directory was synced. Any of them may have it after the power
/// came back, whatever became of other names.
#[derive(Clone, Debug, Default)]
struct Name {
    safe: Holder,
    pending: Vec<Holder>,
}

impl Name {
    fn newest(&self) -> Holder {
        *self.pending.last().unwrap_or(&self.safe)
    }

    /// The last file that had it, if none has it now.
    fn last(&self) -> Holder {
        self.pending.iter().rev().copied().flatten().next().or(self.safe)
    }
}

/// What is found after the power came back: the file that each name has.
pub(crate) type State = BTreeMap<PathBuf, Found>;

/// A file as it is found. Names with the same number are names of the same file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Found {
    pub(crate) number: usize,
    pub(crate) content: Vec<u8>,
}

impl Disk {
    /// A disk that holds the files of a directory, all safe.
    pub(crate) fn holding(directory: &Path) -> Self {
        let mut disk = Self::default();
        for path in below(directory).into_iter().filter(|path| !path.to_string_lossy().ends_with("-shm")) {
            disk.names.insert(path.clone(), Name { safe: Some(disk.files.len()), pending: Vec::new() });
            disk.files.push(File { safe: fs::read(&path).unwrap(), pending: Vec::new() });
        }
        disk
    }

    pub(crate) fn apply(&mut self, (at, event): &(usize, Event)) {
        match event {
            Event::Make(path) => drop(self.unnamed.insert(path.clone())),
            Event::Create(path) => drop(self.created(path)),
            Event::Change(path, change) => {
                let number = self.created(path);
                self.files[number].pending.push((*at, change.clone()));
            }
            Event::Remove(path) => self.give(path, None),
            Event::Rename(from, to) => {
                let number = self.created(from);
                self.give(to, Some(number));
                self.give(from, None);
            }
            Event::Exchange(one, other) => {
                let numbers = (self.created(one), self.created(other));
                self.give(one, Some(numbers.1));
                self.give(other, Some(numbers.0));
            }
            Event::Link(from, to) => {
                let number = self.created(from);
                self.give(to, Some(number));
            }
            Event::Sync { path, began } => self.sync(path, *began),
            Event::Tell(receipt) => self.receipts.push((**receipt).clone()),
        }
    }

    /// Gives a name to a file, or to none.
    fn give(&mut self, path: &Path, holder: Holder) {
        self.names.entry(path.to_owned()).or_default().pending.push(holder);
    }

    /// The file that has a name, made when none has it.
    fn created(&mut self, path: &Path) -> usize {
        if let Some(number) = self.names.get(path).and_then(Name::newest) {
            return number;
        }
        self.files.push(File::default());
        self.give(path, Some(self.files.len() - 1));
        self.files.len() - 1
    }

    fn sync(&mut self, path: &Path, began: usize) {
        if let Some(number) = self.names.get(path).and_then(Name::last) {
            let file = &mut self.files[number];
            let (before, after) = file.pending.drain(..).partition(|(at, _)| *at < began);
            file.safe = done(&file.safe, before);
            file.pending = after;
            return;
        }
        self.unnamed.retain(|directory| directory.parent() != Some(path));
        for (_, name) in self.names.iter_mut().filter(|(own, _)| own.parent() == Some(path)) {
            *name = Name { safe: name.newest(), pending: Vec::new() };
        }
        self.names.retain(|_, name| name.last().is_some());
    }

    /// States that may be found if the power goes at this moment.
    pub(crate) fn states(&self, dice: &mut Dice) -> Vec<State> {
        let safe: Vec<_> = self.files.iter().map(|file| file.safe.clone()).collect();
        let whole: Vec<_> = self.files.iter().map(|file| done(&file.safe, file.pending.clone())).collect();
        let mut states = vec![
            self.state(&safe, Name::last),
            self.state(&whole, Name::newest),
            // A name that was not made safe may be lost whatever was done to the file.
            self.state(&whole, |name| name.safe),
        ];
        for _ in 0..3 {
            let mut coin = || dice.below(2) == 0;
            let some = |file: &File| done(&file.safe, some(&file.pending, &mut coin));
            let content: Vec<_> = self.files.iter().map(some).collect();
            states.push(self.state(&content, |name| {
                let at = dice.below(name.pending.len() as u64 + 1) as usize;
                at.checked_sub(1).map_or(name.safe, |at| name.pending[at])
            }));
        }
        if !self.unnamed.is_empty() {
            let is_below = |path: &PathBuf| self.unnamed.iter().any(|directory| path.starts_with(directory));
            let mut without = self.state(&whole, Name::last);
            without.retain(|path, _| !is_below(path));
            states.push(without);
        }
        states
    }

    fn state(&self, content: &[Vec<u8>], mut holder: impl FnMut(&Name) -> Holder) -> State {
        let found = |(path, name): (&PathBuf, &Name)| {
            let number = holder(name)?;
            Some((path.clone(), Found { number, content: content[number].clone() }))
        };
        self.names.iter().filter_map(found).collect()
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
