//! The times that the document asks for, with a few records. `cargo run --release -p rejoin-bench --bin service` measures.

use std::time::{Duration, Instant};

use rejoin::PurgeReason;
use rejoin::service::RecoverySnapshot;
use rejoin::testing::Place;

use super::{BEGAN, frame, id_of, input, open};
use crate::stores::File;
use crate::vault::Vault;

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn check(place: &dyn Place) {
    let service = open(place);
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
    let (restored, found) = timed(|| open(place).get_snapshot(&id_of(1)).unwrap());
    let service = open(place);
    let (purged, ()) = timed(|| {
        for number in 1..=4 {
            service.delete_record(&id_of(number), PurgeReason::UserRequested).unwrap();
        }
    });

    assert_eq!(found, Some(snapshot));
    let bar = Duration::from_secs(2);
    assert!(
        flushed < bar && restored < bar && purged / 4 < Duration::from_millis(500),
        "{flushed:?} {restored:?} {purged:?}"
    );
}

#[test]
fn snapshots_take_less_than_two_seconds_and_purges_half_a_second_a_record() {
    check(&File::new());
}

#[test]
fn the_same_holds_in_a_vault() {
    check(&Vault(File::new()));
}
