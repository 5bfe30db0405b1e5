//! A sweep of the service: it leaves what is held or waited for, and believes no clock that has jumped.

use std::sync::Arc;

use rejoin::service::{
    ConversationRecordMutation, ConversationStorageService, ListOptions, PartialRetention,
};
use rejoin::store::Store;
use rejoin::{Archive, Retention};

use super::{everywhere, frame, id_of, input, said, saying};
use crate::archive::Lab;
use crate::archive::moody::{Mood, Moody};

const DAY: i64 = 86_400;

/// A service that keeps records for seven days.
fn weekly(store: Arc<dyn Store>, lab: &Arc<Lab>) -> ConversationStorageService {
    let archive = Archive::with_store(store).with_nature(lab.clone());
    ConversationStorageService::new(archive).with_retention(Retention::of_days(7).unwrap())
}

/// How many records a sweep took away; none when it waits.
fn swept(service: &ConversationStorageService) -> Option<u64> {
    service.sweep().unwrap().map(|report| report.purged_count)
}

/// The titles of what is left, the newest first.
fn left(service: &ConversationStorageService) -> Vec<String> {
    let everything = ListOptions { include_expired: true, ..ListOptions::default() };
    service.list_records(&everything).unwrap().items.into_iter().map(|item| item.title).collect()
}

fn hold(is_held: bool) -> ConversationRecordMutation {
    let retention = PartialRetention { manual_hold: Some(is_held), ..PartialRetention::default() };
    ConversationRecordMutation { retention: Some(retention), ..ConversationRecordMutation::default() }
}

#[test]
fn a_clock_that_jumped_is_believed_a_day_later() {
    everywhere(|place| {
        let lab = Lab::new();
        let service = weekly(place.open(), &lab);
        service.create_record(&input(1, "one")).unwrap();

        let told = [0, 40, 0, 1].map(|days| {
            lab.turn_clock(days * DAY);
            (swept(&service), left(&service).len())
        });

        assert_eq!(told, [(Some(0), 1), (None, 1), (None, 1), (Some(1), 0)]);
    });
}

#[test]
fn what_expired_while_nothing_ran_goes_when_the_service_begins() {
    everywhere(|place| {
        let lab = Lab::new();
        let before = weekly(place.open(), &lab);
        before.create_record(&input(1, "old")).unwrap();
        swept(&before);
        before.create_record(&input(2, "held")).unwrap();
        before.update_record(&id_of(2), &hold(true)).unwrap();
        drop(before);
        lab.turn_clock(8 * DAY);

        let service = weekly(place.open(), &lab);
        let report = service.initialize().unwrap();

        assert_eq!(
            (report.map(|report| report.purged_count), left(&service)),
            (Some(1), vec!["held".to_owned()])
        );
    });
}

#[test]
fn what_is_held_stays_until_it_is_released() {
    everywhere(|place| {
        let lab = Lab::new();
        let service = weekly(place.open(), &lab);
        service.create_record(&input(1, "held")).unwrap();
        service.create_record(&input(2, "free")).unwrap();
        service.update_record(&id_of(1), &hold(true)).unwrap();
        lab.turn_clock(8 * DAY);

        let first = (swept(&service), left(&service));
        service.update_record(&id_of(1), &hold(false)).unwrap();
        let second = (swept(&service), left(&service));

        assert_eq!((first, second), ((Some(1), vec!["held".to_owned()]), (Some(1), vec![])));
    });
}

#[test]
fn a_record_that_a_write_waits_for_stays_and_gets_it() {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let service = weekly(Arc::clone(&store) as Arc<dyn Store>, &lab);
    service.create_record(&input(1, "waited for")).unwrap();
    service.create_record(&input(2, "free")).unwrap();
    store.set(Mood::Full);
    service.update_record(&id_of(1), &saying(vec![frame(2, "Lint.")])).unwrap_err();
    store.set(Mood::Well);
    lab.turn_clock(8 * DAY);

    let told = [swept(&service), swept(&service)];

    assert_eq!((told, service.waiting_writes()), ([Some(1), Some(0)], 0));
    assert_eq!(left(&service), ["waited for"]);
    assert_eq!(said(&service, 1), ["Why is the build failing?", "Lint."]);
}
