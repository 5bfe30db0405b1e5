//! What waits for room: nothing of it is lost, and nothing of a purged record comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use rejoin::service::{ConversationRecordMutation, ConversationStorageService, RecoverySnapshot};
use rejoin::store::{MemoryStore, Store};
use rejoin::testing::Place;
use rejoin::{Archive, Conversation, Error, ErrorKind, Limits, List, PurgeReason};

use super::{BEGAN, frame, id_of, input, open, said, saying};
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
    service.archive().unwrap().removal().purge(
        &[id_of(1).parse().unwrap()],
        PurgeReason::UserRequested,
        &mut |_| (),
    );

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

#[test]
fn what_waits_for_room_has_a_bound_and_no_write_waits_twice() {
    let (store, service) = moody();
    let large = |number: u8| {
        let mut large = input(number, "large");
        large.messages = vec![frame(1, &"many words ".repeat(700_000))];
        large
    };
    store.set(Mood::Full);

    let told: Vec<String> =
        (1..=12).map(|number| service.create_record(&large(number)).unwrap_err().to_string()).collect();
    let waiting = service.waiting_writes();
    service.create_record(&large(1)).unwrap_err();
    service.update_record(&id_of(1), &saying(vec![frame(2, "Lint.")])).unwrap_err();
    service.update_record(&id_of(1), &saying(vec![frame(2, "Lint.")])).unwrap_err();

    let refused = "there is no room left to save, and too much waits for some; make it again later";
    let first = told.iter().position(|told| told == refused).unwrap();
    assert_eq!((first, told[first..].iter().all(|told| told == refused), waiting), (8, true, 8));
    assert_eq!(service.waiting_writes(), 9);
    store.set(Mood::Well);
    assert_eq!(service.retry().unwrap(), 0);
    assert_eq!((is_there(&service, 8), is_there(&service, 9), said(&service, 1).len()), (true, false, 2));
}

#[test]
fn while_a_store_cannot_be_opened_again_nobody_is_given_another() {
    let place = Memory(MemoryStore::new());
    let (failing, is_away) = (Arc::new(Moody::new()), Arc::new(AtomicBool::new(true)));
    let (store, away) = (place.open(), Arc::clone(&is_away));
    let service =
        ConversationStorageService::new(Archive::with_store(Arc::clone(&failing) as Arc<dyn Store>))
            .reopening(move || match away.load(Ordering::Relaxed) {
                true => Err(Error::new(ErrorKind::Unavailable, "the disk is away")),
                false => Ok(Archive::with_store(Arc::clone(&store))),
            });
    failing.set(Mood::Failing(ErrorKind::Unavailable));
    service.create_record(&input(1, "one")).unwrap_err();

    let refused = [(); 2].map(|()| service.archive().unwrap_err().to_string());
    is_away.store(false, Ordering::Relaxed);
    service.archive().unwrap().start(Conversation::titled("kept")).unwrap();

    assert_eq!(refused, ["the disk is away"; 2]);
    let kept = Archive::with_store(place.open()).list(&List::default()).unwrap().items;
    assert_eq!(kept.iter().map(|kept| kept.title()).collect::<Vec<_>>(), ["kept"]);
}

fn snapshot(word: &str) -> RecoverySnapshot {
    RecoverySnapshot {
        conversation_id: id_of(1),
        saved_at: BEGAN,
        messages: vec![frame(3, word)],
        ..RecoverySnapshot::default()
    }
}

#[test]
fn a_record_that_waited_takes_only_the_snapshot_away_that_was_there() {
    let left = [false, true].map(|goes_on| {
        let (store, service) = moody();
        service.create_record(&input(1, "one")).unwrap();
        service.commit_snapshot(&snapshot("before")).unwrap();
        store.set(Mood::Full);
        service.commit_conversation(&input(1, "ended")).unwrap_err();
        store.set(Mood::Well);
        let newer = goes_on.then(|| snapshot("after"));
        newer.iter().for_each(|newer| service.commit_snapshot(newer).unwrap());
        assert_eq!(service.retry().unwrap(), 0);
        (service.get_record(&id_of(1)).unwrap().unwrap().title, service.get_snapshot(&id_of(1)).unwrap())
    });

    assert_eq!(left, [("ended".to_owned(), None), ("ended".to_owned(), Some(snapshot("after")))]);
}

#[test]
fn a_new_record_that_waited_is_a_conflict_when_its_id_is_taken() {
    let (store, service) = moody();
    let other = ConversationStorageService::new(service.archive().unwrap());
    store.set(Mood::Full);
    let mut late = input(1, "late");
    late.messages.push(frame(2, "Lint."));
    service.create_record(&late).unwrap_err();
    store.set(Mood::Well);
    other.create_record(&input(1, "other")).unwrap();
    other.commit_snapshot(&snapshot("other")).unwrap();

    let refused = service.retry().unwrap_err();

    let record = other.get_record(&id_of(1)).unwrap().unwrap();
    assert_eq!(
        (refused.kind(), record.title.as_str(), record.messages.len()),
        (ErrorKind::Conflict, "other", 1)
    );
    assert_eq!(other.get_snapshot(&id_of(1)).unwrap(), Some(snapshot("other")));
}

#[test]
fn closing_makes_what_waits_or_tells_how_much_is_left() {
    let (store, service) = moody();
    let nothing = service.close();
    store.set(Mood::Full);
    service.create_record(&input(1, "one")).unwrap_err();
    service.update_record(&id_of(1), &saying(vec![frame(2, "Lint.")])).unwrap_err();

    let full = service.close().unwrap_err();
    store.set(Mood::Failing(ErrorKind::Unavailable));
    let failing = service.close().unwrap_err();
    store.set(Mood::Well);
    let made = service.close();

    let told = "of the writes that wait, 2 could not be stored and are lost with the service";
    assert_eq!((full.kind(), full.to_string().as_str()), (ErrorKind::Unavailable, told));
    let cause = format!("[unavailable] {told}: create record `{}`: the store is in a mood", id_of(1));
    assert_eq!(format!("{failing:?}"), cause);
    assert!(nothing.is_ok() && made.is_ok(), "{nothing:?} {made:?}");
    assert_eq!((service.waiting_writes(), said(&service, 1).len()), (0, 2));
}
