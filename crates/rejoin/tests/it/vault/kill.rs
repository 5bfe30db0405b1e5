//! A process that is killed while it appends to a vault: what it was told is safe can be read.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rejoin::Archive;
use rejoin::store::{JsonlStore, SqliteStore};

use crate::vault::write::{conversation, messages, open, say};
use crate::vault::{Inner, sealed};

/// Names the store to whoever runs this test program again, as the process to be killed.
const STORE: &str = "REJOIN_TEST_VAULT_TO_APPEND_TO";

/// How often it happens.
const ROUNDS: usize = 12;

type Open = fn(&Path) -> Arc<dyn Inner>;

/// Appends until it is killed, and says what is safe.
fn append_for_ever(inner: Arc<dyn Inner>) {
    let vault = sealed(inner);
    let mut said = messages(&vault, conversation(1)).map(|all| all.len()).unwrap_or_default();
    if said == 0 {
        open(&vault, conversation(1));
    }
    loop {
        said += 1;
        say(&vault, conversation(1), &format!("m{said}"), None, "hello").unwrap();
        println!("safe {said}");
    }
}

/// Kills processes that run this test, which is called `test`, and reads what they were told.
fn kill(test: &str, inner: Open) {
    if let Some(path) = std::env::var_os(STORE) {
        return append_for_ever(inner(Path::new(&path)));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(sealed(inner(&path)));
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("vault::kill::{test}"), "--nocapture"])
            .env(STORE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut safe = 0;
        let told = lines.filter_map(|line| line.split("safe ").nth(1)?.parse::<usize>().ok());
        for (count, number) in told.enumerate() {
            safe = number;
            // Later in each round; what it says before it is dead counts too.
            if count == 3 + 5 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();

        let vault = sealed(inner(&path));
        let read = messages(&vault, conversation(1)).unwrap().len();
        assert!(read == safe || read == safe + 1, "{read} messages, {safe} were safe");
        assert!(
            Archive::with_vault(Arc::new(vault)).maintenance().verify(conversation(1)).unwrap().is_sound()
        );
    }
}

#[test]
fn what_a_killed_process_was_told_is_safe_can_be_read() {
    kill("what_a_killed_process_was_told_is_safe_can_be_read", |path| {
        Arc::new(SqliteStore::open(path).unwrap())
    });
}

#[test]
fn what_a_killed_process_was_told_is_safe_in_files_can_be_read() {
    kill("what_a_killed_process_was_told_is_safe_in_files_can_be_read", |path| {
        Arc::new(JsonlStore::open(path).unwrap())
    });
}
