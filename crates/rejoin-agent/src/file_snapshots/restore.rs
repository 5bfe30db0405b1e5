//! Restoring files from a snapshot: what would change, and then exactly that.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rejoin::files::{FileContent, FileEntry, LeftOut};
use rejoin::{Archive, ConversationId, Digest, FileSnapshot};

use crate::directory_identity::directory_identity;
use crate::error::Result;
use crate::file_snapshots::LARGEST_FILE;
use crate::file_snapshots::beneath::{Beneath, FoundFile, RestoreRefusal, parts};
use crate::file_snapshots::walk::{SeenFile, WalkedFiles};
use crate::tools::{ExistingContent, ProjectDirectory, unified};

/// How much earlier than its clock a file system may say that something changed, in nanoseconds.
const CLOCK_TICK: i64 = 20_000_000;

/// What restoring a snapshot would change.
#[derive(Debug)]
pub struct RestorePlan {
    project: ProjectDirectory,
    beneath: Beneath,
    changes: Vec<FileChange>,
    contents: BTreeMap<Digest, Vec<u8>>,
    taken_in: String,
    is_of_here: bool,
}

/// What would become of one file.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// Its path below the project.
    pub path: String,
    /// What would be done.
    pub kind: FileChangeKind,
    /// The change as a diff. It is not made safe to print.
    pub diff: String,
    /// The file as it is; none where there is none.
    seen: Option<SeenFile>,
    content: Option<Digest>,
    mode: u32,
}

/// What would be done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileChangeKind {
    /// It is replaced, and a copy of it is kept.
    Replace,
    /// It is created: it is not there any more.
    Create,
    /// Only whether it may be run changes.
    Mode,
    /// It is new since then. It stays, or is set aside if that is asked for.
    New,
    /// It cannot be restored, for this reason.
    Kept(String),
}

/// What was done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOutcome {
    /// Its path below the project.
    pub path: String,
    /// Where what was there is kept.
    pub copy: Option<String>,
    /// Why nothing was done.
    pub problem: Option<String>,
}

impl RestorePlan {
    /// Compares a snapshot with the files in a directory. Nothing is changed.
    pub fn new(
        archive: &Archive,
        id: ConversationId,
        snapshot: &FileSnapshot,
        directory: &Path,
    ) -> Result<Self> {
        let project = ProjectDirectory::at(directory)?;
        let beneath = Beneath::of(&project).map_err(|cause| {
            crate::error::Error::new(crate::error::ErrorKind::Invalid, "open the project").because(cause)
        })?;
        let files = archive.files();
        let manifest = files.manifest(id, snapshot)?;
        let (mut changes, mut olds) = (Vec::new(), BTreeMap::new());
        for (path, entry) in &manifest.files {
            if let Some((change, old)) = compare(&beneath, path, entry) {
                olds.insert(path.clone(), old);
                changes.push(change);
            }
        }
        let wanted: BTreeSet<Digest> = changes.iter().filter_map(|change| change.content).collect();
        let mut contents = BTreeMap::new();
        files.contents(id, snapshot, &wanted, |digest, bytes| {
            contents.insert(digest, bytes);
            Ok::<_, rejoin::Error>(())
        })?;
        for change in &mut changes {
            let Some(digest) = change.content else { continue };
            let Some(bytes) = contents.get(&digest) else {
                change.kind = FileChangeKind::Kept("its content is not there any more".to_owned());
                continue;
            };
            let old = olds.remove(&change.path).flatten();
            change.diff = describe(&change.path, old, change.seen.as_ref(), bytes);
        }
        if !snapshot.is_partial {
            let walked = WalkedFiles::of(&project, &AtomicBool::new(false));
            // What was here already was ignored then, or could not be read.
            let since = manifest.taken.as_micros().saturating_mul(1_000) - CLOCK_TICK;
            let is_new = |seen: &SeenFile| {
                !manifest.files.contains_key(&seen.path)
                    && seen.stamp.changed >= since
                    && files.may_list(&seen.path)
            };
            changes.extend(walked.files.into_iter().filter(is_new).map(|seen| FileChange {
                path: seen.path.clone(),
                kind: FileChangeKind::New,
                diff: String::new(),
                seen: Some(seen),
                content: None,
                mode: 0,
            }));
        }
        let here = directory_identity(project.directory());
        // A path can be guessed by whoever writes a manifest.
        let is_of_here = match here {
            Some(here) => here == manifest.identity,
            None => project.directory().to_str() == Some(manifest.directory.as_str()),
        };
        Ok(Self { project, beneath, changes, contents, taken_in: manifest.directory, is_of_here })
    }

    /// The directory that the snapshot was taken in, if it was another one than this.
    pub fn other_directory(&self) -> Option<&str> {
        (!self.is_of_here).then_some(self.taken_in.as_str())
    }

    /// What would change, in order of path, and then the files that are new.
    pub fn changes(&self) -> &[FileChange] {
        &self.changes
    }

    /// Does it. New files are set aside only if `remove_new` says so. What changed since the plan was made is
    /// left alone.
    pub fn apply(&self, new: NewFiles) -> Result<Vec<FileOutcome>> {
        self.project.check()?;
        let done = self.changes.iter().filter_map(|change| {
            let copy = match (&change.kind, &change.seen) {
                (FileChangeKind::Replace, Some(seen)) => {
                    self.beneath.replace(seen, self.content(change), is_executable(change.mode)).map(Some)
                }
                (FileChangeKind::Create, _) => {
                    self.beneath.create(&change.path, self.content(change), change.mode).map(|()| None)
                }
                (FileChangeKind::Mode, Some(seen)) => {
                    self.beneath.set_executable(seen, is_executable(change.mode)).map(|()| None)
                }
                (FileChangeKind::New, Some(seen)) if new == NewFiles::SetAside => {
                    self.beneath.set_aside(seen).map(Some)
                }
                _ => return None,
            };
            let (copy, problem) = match copy {
                Ok(copy) => (copy, None),
                Err(RestoreRefusal::Changed) => (None, Some("it changed meanwhile".to_owned())),
                Err(RestoreRefusal::Failed(error)) => (None, Some(error.to_string())),
            };
            Some(FileOutcome { path: change.path.clone(), copy, problem })
        });
        Ok(done.collect())
    }

    fn content(&self, change: &FileChange) -> &[u8] {
        change.content.and_then(|digest| self.contents.get(&digest)).map_or(&[], Vec::as_slice)
    }
}

/// What becomes of files that are new since the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFiles {
    /// They stay.
    Stay,
    /// They get the name of a copy.
    SetAside,
}

const fn is_executable(mode: u32) -> bool {
    mode & 0o100 != 0
}

/// What would become of a file, and what it holds if that can be shown; none when it is as it was.
fn compare(beneath: &Beneath, path: &str, entry: &FileEntry) -> Option<(FileChange, Option<Vec<u8>>)> {
    let change = |kind, seen, content| {
        let (path, diff) = (path.to_owned(), String::new());
        FileChange { path, kind, diff, seen, content, mode: entry.mode }
    };
    let kept = |why: &str| Some((change(FileChangeKind::Kept(why.to_owned()), None, None), None));
    if parts(path).is_none() {
        return kept("its path leads out of the project, or into `.git`");
    }
    let place = match beneath.look(path) {
        Ok(place) => place,
        Err(error) => return kept(&format!("it cannot be read: {error}")),
    };
    match (place, entry.content) {
        (FoundFile::Other, _) => kept("a link, a directory or a special file is in its place"),
        (FoundFile::Nothing, FileContent::Kept(digest)) => {
            Some((change(FileChangeKind::Create, None, Some(digest)), None))
        }
        (FoundFile::Nothing, FileContent::LeftOut(why)) => kept(reason(why)),
        (FoundFile::File(file), FileContent::LeftOut(why)) => {
            let seen = file.metadata().ok().map(|metadata| SeenFile::of(path.to_owned(), &metadata))?;
            let is_same = (seen.size, seen.stamp.modified) == (entry.size, entry.stamp.modified);
            if is_same { None } else { kept(reason(why)) }
        }
        (FoundFile::File(file), FileContent::Kept(digest)) => {
            let (seen, bytes) = match read(path, &file) {
                Ok(read) => read,
                Err(error) => return kept(&format!("it cannot be read: {error}")),
            };
            let is_same = bytes.as_deref().is_some_and(|bytes| FileContent::of(bytes) == entry.content);
            let is_as_executable = is_executable(seen.mode) == is_executable(entry.mode);
            match (is_same, is_as_executable) {
                (true, true) => None,
                (true, false) => {
                    let mut change = change(FileChangeKind::Mode, Some(seen), None);
                    let now =
                        if is_executable(entry.mode) { "can be run again" } else { "can no longer be run" };
                    change.diff = format!("{path}: {now}");
                    Some((change, None))
                }
                (false, _) => Some((change(FileChangeKind::Replace, Some(seen), Some(digest)), bytes)),
            }
        }
    }
}

/// What a file looks like, and its bytes unless there are too many to have been kept.
fn read(path: &str, file: &std::fs::File) -> io::Result<(SeenFile, Option<Vec<u8>>)> {
    let seen = SeenFile::of(path.to_owned(), &file.metadata()?);
    if seen.size > LARGEST_FILE {
        return Ok((seen, None));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok((seen, Some(bytes)))
}

/// The change as a diff, or in words where one side is not text.
fn describe(path: &str, old: Option<Vec<u8>>, seen: Option<&SeenFile>, new: &[u8]) -> String {
    let was = match (old, seen) {
        (Some(bytes), _) => ExistingContent::Bytes(bytes),
        (None, None) => ExistingContent::Nothing,
        (None, Some(seen)) => {
            return format!("{path}: {} bytes become {} bytes that were there", seen.size, new.len());
        }
    };
    match str::from_utf8(new) {
        Ok(text) => unified(path, &was, text),
        Err(_) => {
            let before = match was {
                ExistingContent::Nothing => "nothing".to_owned(),
                ExistingContent::Bytes(bytes) => format!("{} bytes", bytes.len()),
            };
            format!("{path}: {before} becomes {} bytes that are not text", new.len())
        }
    }
}

const fn reason(why: LeftOut) -> &'static str {
    match why {
        LeftOut::Large => "it was larger than 10 MB, so its content was not kept",
        LeftOut::Secret => "it held a secret, so its content was not kept",
        LeftOut::Full => "the snapshot had no room for its content",
        _ => "its content was not kept",
    }
}
