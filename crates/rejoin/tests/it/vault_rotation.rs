//! Rotation in a vault of files: how many syncs it takes, and what is left when
//! its process is killed at any of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rejoin::vault::{Keyholder, NewSlot, SecretFiles, SecretStores};
use rejoin::{Access, Archive, Existing, StoreUrl, Time};

use crate::skip::skip;
use crate::vault_keys::{copy_directory, say, titles, verified};

/// Names the vault to whoever runs this test program again, as the process that rotates.
const PLACE: &str = "REJOIN_TEST_VAULT_TO_ROTATE";

const SYNCS: [&str; 3] = ["fsync", "fdatasync", "syncfs"];

/// A directory with a vault, its key file and its anchor.
struct Place(PathBuf);

impl Place {
    fn access(&self) -> Access {
        let files = Arc::new(SecretFiles::new(self.0.join("keys")));
        let keys = Keyholder::new(SecretStores { files: Some(files), ..SecretStores::default() });
        Access { keys: Some(keys), anchors: Some(self.0.join("anchors")), ..Access::default() }
    }

    fn url(&self) -> StoreUrl {
        StoreUrl::parse(&format!("vault+jsonl:{}", self.0.join("vault").display())).unwrap()
    }

    fn open(&self) -> Archive {
        Archive::open_with(&self.url().to_string(), &self.access()).unwrap()
    }

    fn filled(path: PathBuf, conversations: usize) -> Self {
        let place = Self(path);
        fs::create_dir(&place.0).unwrap();
        let keys = place.url().keys(&place.access(), Existing::Optional).unwrap();
        keys.create(&[NewSlot::File], Time::now()).unwrap();
        let archive = place.open();
        for number in 0..conversations {
            say(&archive, &format!("{number:02}"));
        }
        place
    }

    fn rotate(&self) {
        let keys = self.url().keys(&self.access(), Existing::Needed).unwrap();
        keys.rotate(Time::now()).unwrap();
    }

    /// Rotates in another process, whose syncs are written down; one of them may kill it. Answers
    /// the trace, and whether it ended well.
    fn rotate_traced(&self, killed_at: Option<(&str, usize)>) -> (String, bool) {
        let trace = self.0.join("trace");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", &format!("trace={}", SYNCS.join(",")), "-o"]).arg(&trace);
        if let Some((call, number)) = killed_at {
            strace.args(["-e", &format!("inject={call}:signal=SIGKILL:when={number}")]);
        }
        let status = strace
            .arg("--")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "vault_rotation::who_rotates", "--nocapture"])
            .env(PLACE, &self.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        (fs::read_to_string(trace).unwrap(), status.success())
    }
}

/// Nothing, unless this program was started to rotate.
#[test]
fn who_rotates() {
    if let Some(path) = std::env::var_os(PLACE) {
        Place(PathBuf::from(path)).rotate();
    }
}

fn has_strace() -> bool {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        skip("strace is missing, or may not trace");
    }
    works
}

fn syncs(directory: &Path, conversations: usize) -> [usize; 2] {
    let place = Place::filled(directory.join(conversations.to_string()), conversations);
    [(); 2].map(|()| {
        let (trace, is_done) = place.rotate_traced(None);
        assert!(is_done, "{trace}");
        trace.lines().filter(|line| line.contains("sync") && line.contains("= 0")).count()
    })
}

#[test]
fn a_rotation_of_many_takes_as_many_syncs_as_one_of_few() {
    if !has_strace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();

    let [few, many] = [10, 50].map(|conversations| syncs(directory.path(), conversations));

    crate::skip::tell(&format!("syncs of two rotations: {few:?} for 10 conversations, {many:?} for 50"));
    assert_eq!(few, many);
}

#[test]
fn a_rotation_that_is_killed_at_any_sync_loses_nothing() {
    if !has_strace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = Place::filled(directory.path().join("vault"), 9);
    // The second one finds a sheet.
    place.rotate();
    let known = titles(&place.open());
    let mut killed = 0;
    for call in SYNCS {
        for number in 1.. {
            let copy = Place(directory.path().join(format!("{call}-{number}")));
            copy_directory(&place.0, &copy.0);

            let (trace, is_done) = copy.rotate_traced(Some((call, number)));

            let archive = copy.open();
            assert_eq!((titles(&archive), verified(&archive)), (known.clone(), vec![]), "{trace}");
            say(&archive, "after");
            drop(archive);
            copy.rotate();
            assert_eq!(titles(&copy.open()).len(), known.len() + 1);
            if is_done {
                break;
            }
            killed += 1;
        }
    }
    assert!(killed > 4, "{killed}");
}
