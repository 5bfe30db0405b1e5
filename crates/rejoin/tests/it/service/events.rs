//! What those who follow a service are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rejoin::service::{ConversationRecordMutation, ConversationStorageService};
use rejoin::store::Store;
use rejoin::{Archive, EventKind, Events, Strain};

use super::{everywhere, frame, id_of, input, open, saying};
use crate::archive::Lab;
use crate::archive::moody::Moody;

/// What happened since, and to which record.
fn told(events: &mut Events) -> Vec<(String, EventKind)> {
    let told = events.next(Duration::from_secs(10)).unwrap();
    told.into_iter().map(|event| (event.conversation.unwrap().to_string(), event.kind)).collect()
}

/// The same without what was slow: a busy machine is. It may be told on its own.
fn told_but_slow(events: &mut Events) -> Vec<(String, EventKind)> {
    let is_slow = |kind: &EventKind| matches!(kind, EventKind::Strained(Strain::Slow { .. }));
    loop {
        let mut told = told(events);
        let was_empty = told.is_empty();
        told.retain(|(_, kind)| !is_slow(kind));
        if was_empty || !told.is_empty() {
            return told;
        }
    }
}

#[test]
fn a_record_that_is_new_or_grows_is_stored_and_any_other_change_is_a_change() {
    everywhere(|place| {
        let service = open(place);
        let mut events = service.subscribe().unwrap();
        let title = ConversationRecordMutation {
            title: Some("two".to_owned()),
            ..ConversationRecordMutation::default()
        };
        let both =
            ConversationRecordMutation { title: Some("three".to_owned()), ..saying(vec![frame(2, "Lint.")]) };

        service.create_record(&input(1, "one")).unwrap();
        let created = told_but_slow(&mut events);
        service.update_record(&id_of(1), &title).unwrap();
        let titled = told_but_slow(&mut events);
        service.update_record(&id_of(1), &both).unwrap();
        let grown = told_but_slow(&mut events);

        let of = |kind| (id_of(1), kind);
        assert_eq!(created, [of(EventKind::Stored { messages: 1 })]);
        assert_eq!(titled, [of(EventKind::Changed)]);
        assert_eq!(grown, [of(EventKind::Stored { messages: 2 }), of(EventKind::Changed)]);
    });
}

#[test]
fn a_slow_write_is_told_once_to_the_caller_and_to_those_who_follow() {
    let (lab, store) = (Lab::new(), Arc::new(Moody::new()));
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>).with_nature(lab.clone());
    let service = ConversationStorageService::new(archive);
    let mut events = service.subscribe().unwrap();
    let is_first = AtomicBool::new(true);
    store.while_writing(move || {
        if is_first.swap(false, Ordering::Relaxed) {
            lab.turn_clock(1);
        }
    });

    service.create_record(&input(1, "one")).unwrap();
    service.create_record(&input(2, "two")).unwrap();

    let slow = Strain::Slow { took: Duration::from_secs(1) };
    assert_eq!((service.take_strains(), service.take_strains()), (vec![slow.clone()], vec![]));
    let strained: Vec<_> =
        told(&mut events).into_iter().filter(|(_, kind)| matches!(kind, EventKind::Strained(_))).collect();
    assert_eq!(strained, [(id_of(1), EventKind::Strained(slow))]);
}

#[test]
fn little_room_is_told_before_there_is_none() {
    let service =
        ConversationStorageService::new(Archive::open("memory:").unwrap()).watching_room(|| Some(1 << 20));
    let mut events = service.subscribe().unwrap();

    service.create_record(&input(1, "one")).unwrap();

    let low = Strain::Low { free: 1 << 20 };
    let kinds = [EventKind::Stored { messages: 1 }, EventKind::Strained(low.clone())];
    let expected = kinds.map(|kind| (id_of(1), kind)).to_vec();
    assert_eq!((service.take_strains(), told(&mut events)), (vec![low], expected));
}
