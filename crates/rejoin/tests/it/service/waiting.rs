//! What waits for room: nothing of it is lost, and nothing of a purged record comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use rejoin::service::{ConversationRecordMutation, ConversationStorageService};
use rejoin::store::{MemoryStore, Store};
use rejoin::testing::Place;
use rejoin::{Archive, ErrorKind, Limits, PurgeReason};

use super::{frame, id_of, input, open, said, saying};
use crate::archive::Lab;
use crate::archive::moody::{Mood, Moody};
use crate::stores::Memory;

fn moody() -> (Arc<Moody>, ConversationStorageService) {
    let store = Arc::new(Moody::new());
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>);
    (store, ConversationStorageService::new(archive))
}

/// Holds the next write of a store. Tells when it has begun, and lets it go on when it is told to.
fn hold_first_write(store: &Moody) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((begun, has_begun), (release, may_go_on)) = (mpsc::channel(), mpsc::channel());
    let (is_first, may_go_on) = (AtomicBool::new(true), Mutex::new(may_go_on));
    store.while_writing(move || {
        if is_first.swap(false, Ordering::Relaxed) {
            begun.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    (has_begun, release)
}

fn is_there(service: &ConversationStorageService, number: u8) -> bool {
    service.get_record(&id_of(number)).unwrap().is_some()
}

#[test]
fn many_who_retry_at_once_lose_nothing_that_waits() {
    let (store, service) = moody();
    store.set(Mood::Full);
    (1..=60).for_each(|number| drop(service.create_record(&input(number, "waits")).unwrap_err()));
    store.set(Mood::Well);

    thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| service.retry().unwrap())));
    });

    let lost: Vec<u8> = (1..=60).filter(|number| !is_there(&service, *number)).collect();
    assert_eq!((lost, service.waiting_writes()), (vec![], 0));
}

#[test]
fn a_write_that_is_being_made_again_does_not_bring_a_purged_record_back() {
    let (store, service) = moody();
    store.set(Mood::Full);
    service.create_record(&input(1, "private")).unwrap_err();
    service.create_record(&input(2, "other")).unwrap_err();
    store.set(Mood::Well);
    let (has_begun, release) = hold_first_write(&store);

    thread::scope(|scope| {
        scope.spawn(|| service.retry().unwrap());
        has_begun.recv().unwrap();
        scope.spawn(|| service.delete_record(&id_of(1), PurgeReason::UserRequested));
        while service.waiting_writes() > 1 {
            thread::yield_now();
        }
        release.send(()).unwrap();
    });

    assert_eq!((is_there(&service, 1), is_there(&service, 2)), (false, true));
    assert_eq!(service.waiting_writes(), 0);
}

#[test]
fn a_write_that_fails_while_its_record_is_purged_does_not_wait() {
    let (store, service) = moody();
    store.set(Mood::Full);
    let (has_begun, release) = hold_first_write(&store);

    let refused = thread::scope(|scope| {
        let writer = scope.spawn(|| service.commit_conversation(&input(1, "private")).unwrap_err());
        has_begun.recv().unwrap();
        // There is nothing to purge yet, and nothing to write for it.
        let _ = service.delete_record(&id_of(1), PurgeReason::UserRequested);
        release.send(()).unwrap();
        writer.join().unwrap()
    });

    assert_eq!((refused.kind(), service.waiting_writes()), (ErrorKind::Unavailable, 0), "{refused:?}");
    store.set(Mood::Well);
    assert_eq!((service.retry().unwrap(), is_there(&service, 1)), (0, false));
}

#[test]
fn a_write_that_is_refused_for_another_reason_goes_on_waiting_and_holds_up_no_other_record() {
    let place = Memory(MemoryStore::new());
    let failing = Arc::new(Moody::new());
    let narrow = Limits { turn_bytes: 2_000, ..Limits::default() };
    let store = place.open();
    let service =
        ConversationStorageService::new(Archive::with_store(Arc::clone(&failing) as Arc<dyn Store>))
            .reopening(move || Ok(Archive::with_store(Arc::clone(&store)).with_limits(narrow)));
    failing.set(Mood::Full);
    let mut long = input(1, "long");
    long.messages = vec![frame(1, &"many words ".repeat(500))];
    service.create_record(&long).unwrap_err();
    service.update_record(&id_of(1), &saying(vec![frame(2, "Lint.")])).unwrap_err();
    service.create_record(&input(2, "short")).unwrap_err();

    let refused = service.retry().unwrap_err();

    assert_eq!((refused.kind(), service.waiting_writes()), (ErrorKind::Invalid, 2), "{refused:?}");
    assert_eq!(said(&open(&place), 2), ["Why is the build failing?"]);
}

#[test]
fn a_change_of_a_record_that_is_gone_is_dropped() {
    let (store, service) = moody();
    service.create_record(&input(1, "one")).unwrap();
    store.set(Mood::Full);
    service.update_record(&id_of(1), &saying(vec![frame(2, "private")])).unwrap_err();
    store.set(Mood::Well);
    service.archive().purge(&[id_of(1).parse().unwrap()], PurgeReason::UserRequested, &mut |_| ());

    let left = service.retry().unwrap();

    assert_eq!((left, is_there(&service, 1)), (0, false));
}

#[test]
fn a_change_of_a_version_that_nobody_looked_at_does_not_wait() {
    let (store, service) = moody();
    store.set(Mood::Full);
    service.create_record(&input(1, "one")).unwrap_err();
    let versioned =
        ConversationRecordMutation { blob_version: Some(7), ..saying(vec![frame(2, "of seven")]) };

    let refused = service.update_record(&id_of(1), &versioned).unwrap_err();

    assert_eq!((refused.kind(), service.waiting_writes()), (ErrorKind::Unavailable, 1));
}

#[test]
fn a_store_that_failed_is_left_alone_for_a_while() {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>).with_nature(lab.clone());
    let service = ConversationStorageService::new(archive);
    store.set(Mood::Failing(ErrorKind::Unavailable));
    service.create_record(&input(1, "one")).unwrap_err();
    let first = store.tried();
    store.set(Mood::Well);

    let told = service.create_record(&input(1, "one")).unwrap_err();
    let meanwhile = store.tried();
    lab.turn_clock(1);
    service.create_record(&input(1, "one")).unwrap();

    assert_eq!((first, meanwhile), (1, 0));
    assert_eq!(
        (told.kind(), told.to_string().as_str()),
        (ErrorKind::Unavailable, "the store failed and is left alone for `500` ms")
    );
    assert_eq!(service.waiting_writes(), 0);
}

#[test]
fn a_full_disk_is_not_tried_by_each_write_and_all_of_them_wait() {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>).with_nature(lab.clone());
    let service = ConversationStorageService::new(archive);
    store.set(Mood::Full);
    (1..=5).for_each(|number| drop(service.create_record(&input(number, "waits")).unwrap_err()));
    let tried = store.tried();
    store.set(Mood::Well);
    lab.turn_clock(1);

    service.create_record(&input(6, "goes")).unwrap();

    assert_eq!((tried, service.waiting_writes()), (1, 0));
    assert!((1..=6).all(|number| is_there(&service, number)));
}
