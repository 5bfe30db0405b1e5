//! What a source looks like from outside, so that an unchanged one is not read again.
//!
//! ```text
//!   session.jsonl          the file itself
//!   session.jsonl-wal      what a database has not folded in yet
//!   session/…              everything in the directory of the same name: runs of sub-agents, attachments
//!   directory/…            of a directory: every file in it
//!   whatever a format names that it reads with it, and that lies elsewhere
//! ```
//!
//! The device, number, size and times of each file count, including the change time that no program can set.
//! The change time of a database's log does not count: SQLite running as root gives the log to the owner of
//! the database on each open, so looking at it would count as a change.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::formats::folder;
use crate::formats::source::DEPTH;
use crate::model::Time;

/// Part of every fingerprint, because a new version may read more of the same file.
const READER: &str = env!("CARGO_PKG_VERSION");

/// Suffixes of the files that a database keeps next to its own.
const BESIDE: [&str; 2] = [LOG, "-journal"];

/// The suffix of a database's log.
const LOG: &str = "-wal";

/// A file that was changed less than this before it was looked at may change again without looking different:
/// file timestamps have a granularity, two seconds at worst.
const STEP: i64 = 2_000_000;

/// Something that is read with a source although its name does not show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Companion {
    /// A file, or every file in a directory.
    Path(PathBuf),
    /// What a file shared by many sources says about this one.
    Words(String),
    /// Something that could not be read.
    Unreadable,
}

/// What a source looks like from outside. A changed source has another fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    digest: [u8; 16],
    bytes: u64,
    written: Time,
    touched: Time,
}

impl Fingerprint {
    /// Looks at a file or a directory and at its companions.
    pub(super) fn of(path: &Path, metadata: &Metadata, companions: &[Companion]) -> Self {
        let mut look = FileSurvey { hash: Sha256::new_with_prefix(READER), bytes: 0, written: 0, touched: 0 };
        if metadata.is_dir() {
            look.below(path, 0);
        } else {
            look.at(path, metadata);
            for ending in BESIDE {
                let mut beside = OsString::from(path);
                beside.push(ending);
                if let Ok(metadata) = fs::symlink_metadata(&beside)
                    && metadata.len() > 0
                {
                    look.at(beside.as_ref(), &metadata);
                }
            }
            look.below(&path.with_extension(""), 0);
        }
        companions.iter().for_each(|companion| look.companion(companion));
        look.end()
    }

    /// The total size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When it was last written.
    pub const fn written_at(&self) -> Time {
        self.written
    }

    /// True when any change after `now` will be visible.
    pub fn is_settled(&self, now: Time) -> bool {
        self.touched.max(self.written).as_micros().saturating_add(STEP) < now.as_micros()
    }

    /// The part that is compared.
    pub(crate) const fn digest(&self) -> [u8; 16] {
        self.digest
    }
}

/// Accumulates the metadata of files.
struct FileSurvey {
    hash: Sha256,
    bytes: u64,
    written: i64,
    touched: i64,
}

impl FileSurvey {
    fn at(&mut self, path: &Path, metadata: &Metadata) {
        let is_log = path.as_os_str().as_encoded_bytes().ends_with(LOG.as_bytes());
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let changed = if is_log { modified } else { (metadata.ctime(), metadata.ctime_nsec()) };
        for number in [metadata.dev(), metadata.ino(), metadata.len()] {
            self.hash.update(number.to_le_bytes());
        }
        for number in [modified.0, modified.1, changed.0, changed.1] {
            self.hash.update(number.to_le_bytes());
        }
        self.bytes += metadata.len();
        self.written = self.written.max(micros(modified.0, modified.1));
        self.touched = self.touched.max(micros(changed.0, changed.1));
    }

    fn companion(&mut self, companion: &Companion) {
        match companion {
            Companion::Path(path) => {
                let metadata = match fs::symlink_metadata(path) {
                    Ok(metadata) => metadata,
                    Err(cause) if folder::is_absent(&cause) => return,
                    Err(_) => return self.unsettle(),
                };
                if metadata.is_dir() {
                    self.below(path, 0);
                } else if metadata.is_file() {
                    self.hash.update(path.as_os_str().as_encoded_bytes());
                    self.at(path, &metadata);
                }
            }
            Companion::Unreadable => self.unsettle(),
            Companion::Words(words) => {
                self.hash.update((words.len() as u64).to_le_bytes());
                self.hash.update(words);
            }
        }
    }

    /// Visits every file below a directory.
    fn below(&mut self, directory: &Path, depth: usize) {
        let Ok(paths) = folder::entries(directory) else { return self.unsettle() };
        for path in paths {
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(cause) if folder::is_absent(&cause) => continue,
                Err(_) => return self.unsettle(),
            };
            if metadata.is_dir() && depth < DEPTH {
                self.below(&path, depth + 1);
            } else if metadata.is_file() {
                self.hash.update(path.as_os_str().as_encoded_bytes());
                self.at(&path, &metadata);
            }
        }
    }

    /// Records that something could not be examined. It could change without looking different, so the source
    /// never counts as settled.
    fn unsettle(&mut self) {
        self.touched = i64::MAX;
    }

    fn end(self) -> Fingerprint {
        let hash: [u8; 32] = self.hash.finalize().into();
        Fingerprint {
            digest: hash[..16].try_into().expect("a hash has 32 bytes"),
            bytes: self.bytes,
            written: Time::from_micros(self.written),
            touched: Time::from_micros(self.touched),
        }
    }
}

fn micros(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn look(path: &Path) -> Fingerprint {
        Fingerprint::of(path, &fs::symlink_metadata(path).unwrap(), &[])
    }

    #[test]
    fn what_belongs_to_a_file_counts_and_what_stands_beside_it_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let first = look(&path);

        fs::write(directory.path().join("b.jsonl"), "other").unwrap();
        let beside = look(&path);
        fs::create_dir_all(directory.path().join("a/runs")).unwrap();
        fs::write(directory.path().join("a/runs/agent-1.jsonl"), "run").unwrap();
        let with_run = look(&path);
        fs::write(directory.path().join("a.jsonl-wal"), "").unwrap();
        let with_empty_log = look(&path);
        fs::write(directory.path().join("a.jsonl-wal"), "log").unwrap();
        let with_log = look(&path);

        assert_eq!((beside, with_empty_log), (first, with_run));
        assert!(first != with_run && with_run != with_log);
        assert_eq!([first.bytes(), with_run.bytes(), with_log.bytes()], [3, 6, 9]);
    }

    #[test]
    fn a_log_that_was_given_to_its_owner_again_looks_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let (path, log) = (directory.path().join("a.db"), directory.path().join("a.db-wal"));
        for path in [&path, &log] {
            fs::write(path, "one").unwrap();
        }
        let before = look(&path);
        let touch = |path: &Path| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::set_permissions(path, fs::metadata(path).unwrap().permissions()).unwrap();
            look(path.with_extension("db").as_path())
        };

        let looks = [touch(&log), touch(&path)];

        assert_eq!(looks.map(|look| look == before), [true, false], "(the log, the database itself)");
        fs::write(&log, "two, and longer").unwrap();
        assert_ne!(look(&path), looks[1]);
    }

    #[test]
    fn a_file_that_was_replaced_by_one_of_the_same_size_and_time_looks_different() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let before = look(&path);

        let other = directory.path().join("b");
        fs::write(&other, "two").unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        fs::File::options().write(true).open(&other).unwrap().set_modified(written).unwrap();
        fs::rename(&other, &path).unwrap();

        assert_ne!(look(&path), before);
    }

    #[test]
    fn only_what_has_rested_for_a_while_is_settled() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let written = look(&path).written_at().as_micros();

        let settled =
            [0, 1_999_999, 3_000_000].map(|later| look(&path).is_settled(Time::from_micros(written + later)));

        assert_eq!(settled, [false, false, true]);
    }
}
