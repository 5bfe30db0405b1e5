//! Which of the files that are followed are to be imported now.
//!
//! ```text
//!   changed ──► waits ──► has rested for two seconds, or changed for five ──► imported
//!                 ▲                                                              │
//!                 └──────────────────── changed again ◄──────────────────────────┘
//! ```

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rejoin::Time;
use rejoin::formats::Fingerprint;

/// A file that never rests is imported after so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// The files that are followed.
#[derive(Debug, Default)]
pub(super) struct Followed {
    files: HashMap<PathBuf, FollowedFile>,
}

#[derive(Debug, Default)]
struct FollowedFile {
    /// How it looked when it was imported, and whether it had rested then.
    imported: Option<(Fingerprint, bool)>,
    /// Since when it looks different.
    waits_since: Option<Instant>,
}

/// The time, as files and as this process know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchTime {
    pub(super) time: Time,
    pub(super) instant: Instant,
}

impl Followed {
    /// Sees a file, and says whether it is to be imported now.
    pub(super) fn is_due(&mut self, path: &Path, look: Fingerprint, now: WatchTime) -> bool {
        let file = self.files.entry(path.to_owned()).or_default();
        let has_rested = look.is_settled(now.time);
        match file.imported {
            // What was read while it was written could look the same and be more.
            Some((imported, had_rested)) if imported == look => {
                file.waits_since = None;
                return has_rested && !had_rested;
            }
            _ => {}
        }
        let since = *file.waits_since.get_or_insert(now.instant);
        has_rested || now.instant.duration_since(since) >= PATIENCE
    }

    /// Takes note that a file was imported as it looked then.
    pub(super) fn imported(&mut self, path: &Path, look: Fingerprint, now: WatchTime) {
        let file = FollowedFile { imported: Some((look, look.is_settled(now.time))), waits_since: None };
        self.files.insert(path.to_owned(), file);
    }

    /// Forgets the files that are no longer there, and tells which. One that no longer looks like a session,
    /// because it was cut off or is being written anew, is there all the same.
    pub(super) fn forget_all_but(&mut self, present: &HashSet<PathBuf>) -> Vec<PathBuf> {
        let is_gone = |path: &&PathBuf| !present.contains(*path) && path.symlink_metadata().is_err();
        let mut gone: Vec<PathBuf> = self.files.keys().filter(is_gone).cloned().collect();
        gone.sort();
        for path in &gone {
            self.files.remove(path);
        }
        gone
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rejoin::formats::Source;

    use super::*;

    /// A file and the moments around its last change, in milliseconds.
    struct Scene {
        directory: tempfile::TempDir,
        began: Instant,
    }

    impl Scene {
        fn path(&self) -> PathBuf {
            self.directory.path().join("a.jsonl")
        }

        fn write(&self, text: &str) -> Fingerprint {
            fs::write(self.path(), text).unwrap();
            Source::open(&self.path()).unwrap().fingerprint().unwrap()
        }

        fn at(&self, look: Fingerprint, after_change: i64, after_begin: u64) -> WatchTime {
            WatchTime {
                time: Time::from_micros(look.written_at().as_micros() + after_change * 1_000),
                instant: self.began + Duration::from_millis(after_begin),
            }
        }
    }

    fn scene() -> Scene {
        Scene { directory: tempfile::tempdir().unwrap(), began: Instant::now() }
    }

    #[test]
    fn a_file_is_due_when_it_has_rested() {
        let (scene, mut followed) = (scene(), Followed::default());
        let look = scene.write("one");

        let due = [(100, 0), (1_100, 1_000), (3_500, 3_000)].map(|(after_change, after_begin)| {
            followed.is_due(&scene.path(), look, scene.at(look, after_change, after_begin))
        });

        assert_eq!(due, [false, false, true]);
    }

    #[test]
    fn a_file_that_never_rests_is_due_after_a_while() {
        let (scene, mut followed) = (scene(), Followed::default());

        let due = [0, 2_000, 4_000, 6_000].map(|after_begin| {
            let look = scene.write(&"x".repeat(1 + after_begin as usize));
            followed.is_due(&scene.path(), look, scene.at(look, 50, after_begin))
        });

        assert_eq!(due, [false, false, false, true]);
    }

    #[test]
    fn what_was_imported_is_due_again_only_when_it_was_read_while_it_was_written() {
        let (scene, mut followed) = (scene(), Followed::default());
        let look = scene.write("one");
        followed.imported(&scene.path(), look, scene.at(look, 100, 0));

        let early = followed.is_due(&scene.path(), look, scene.at(look, 500, 500));
        let rested = followed.is_due(&scene.path(), look, scene.at(look, 4_000, 4_000));
        followed.imported(&scene.path(), look, scene.at(look, 4_000, 4_000));
        let after = followed.is_due(&scene.path(), look, scene.at(look, 9_000, 9_000));

        assert_eq!([early, rested, after], [false, true, false]);
    }

    #[test]
    fn a_file_that_is_gone_is_told_once() {
        let (scene, mut followed) = (scene(), Followed::default());
        let look = scene.write("one");
        followed.imported(&scene.path(), look, scene.at(look, 0, 0));

        let there = followed.forget_all_but(&HashSet::new());
        fs::remove_file(scene.path()).unwrap();
        let gone = [followed.forget_all_but(&HashSet::new()), followed.forget_all_but(&HashSet::new())];

        assert_eq!((there, gone, followed.len()), (vec![], [vec![scene.path()], vec![]], 0));
    }
}
