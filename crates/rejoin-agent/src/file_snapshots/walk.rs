//! The files of a project that a snapshot lists.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::WalkBuilder;
use rejoin::files::FileStamp;

use crate::file_snapshots::is_copy;
use crate::tools::{ProjectDirectory, can_be_walked};

/// No more files are listed.
const MOST_FILES: usize = 50_000;

/// No more files and directories are looked at.
const MOST_ENTRIES: usize = 200_000;

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenFile {
    /// Below the project, separated by `/`.
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) stamp: FileStamp,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct WalkedFiles {
    pub(super) files: Vec<SeenFile>,
    /// Links, pipes, sockets and devices.
    pub(super) special: u64,
    /// Files whose names are not text, and directories that cannot be read.
    pub(super) unreadable: u64,
    /// True when there are more than a snapshot lists.
    pub(super) is_partial: bool,
}

impl WalkedFiles {
    /// Walks through a project. What its ignore files name, `.git` and copies of a restore are passed over.
    pub(super) fn of(project: &ProjectDirectory, is_stopped: &AtomicBool) -> Self {
        let root = project.directory();
        let mut walked = Self::default();
        if !can_be_walked(root) {
            walked.unreadable += 1;
            walked.is_partial = true;
            return walked;
        }
        let mut walk = WalkBuilder::new(root);
        walk.hidden(false)
            .follow_links(false)
            .same_file_system(true)
            .require_git(false)
            .git_global(false)
            // A `.git` that is a file names the directory that this would be read in.
            .git_exclude(false)
            .parents(root.ancestors().skip(1).all(can_be_walked))
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| {
                let is_git = entry.file_name().eq_ignore_ascii_case(".git");
                !is_git
                    && (!entry.file_type().is_some_and(|kind| kind.is_dir()) || can_be_walked(entry.path()))
            });
        for (count, entry) in walk.build().enumerate() {
            if count >= MOST_ENTRIES || walked.files.len() >= MOST_FILES || is_stopped.load(Ordering::Relaxed)
            {
                walked.is_partial = true;
                break;
            }
            let Ok(entry) = entry else {
                walked.unreadable += 1;
                continue;
            };
            match entry.file_type() {
                Some(kind) if kind.is_dir() => continue,
                Some(kind) if kind.is_file() => {}
                _ => {
                    walked.special += 1;
                    continue;
                }
            }
            let path = entry.path().strip_prefix(root).ok().and_then(|path| path.to_str());
            let (Some(path), Ok(metadata)) = (path, entry.path().symlink_metadata()) else {
                walked.unreadable += 1;
                continue;
            };
            if !is_copy(path) && metadata.is_file() {
                walked.files.push(SeenFile::of(path.to_owned(), &metadata));
            }
        }
        walked
    }
}

impl SeenFile {
    pub(super) fn of(path: String, metadata: &std::fs::Metadata) -> Self {
        let stamp = FileStamp {
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        };
        Self { path, size: metadata.len(), mode: metadata.mode() & 0o777, stamp }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
