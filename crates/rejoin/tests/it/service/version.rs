//! The version of a record: it only grows, and whoever names an old one overwrites nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rejoin::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, PartialMetrics,
};
use rejoin::store::{Children, Store};
use rejoin::{Archive, ErrorKind};

use super::{everywhere, frame, id_of, input, open, said, saying};
use crate::archive::moody::Moody;

fn version(service: &ConversationStorageService) -> u64 {
    service.get_record(&id_of(1)).unwrap().unwrap().storage.blob_version
}

/// Deletes the newest frame, as somebody does who holds the archive.
fn delete_newest(service: &ConversationStorageService) {
    let (archive, id) = (service.archive().unwrap(), id_of(1).parse().unwrap());
    let newest = archive.conversation(id).unwrap().head.unwrap().id;
    archive.removal().delete_messages(id, &[newest], Children::Refuse, "test").unwrap();
}

#[test]
fn a_version_never_falls_nor_comes_back_when_frames_are_deleted() {
    everywhere(|place| {
        let service = open(place);
        let say = |number| service.update_record(&id_of(1), &saying(vec![frame(number, "word")])).unwrap();
        let mut told = vec![service.create_record(&input(1, "one")).unwrap().storage.blob_version];
        told.push(say(2).storage.blob_version);
        delete_newest(&service);
        told.push(version(&service));
        told.push(say(3).storage.blob_version);
        delete_newest(&service);
        delete_newest(&service);
        told.push(version(&open(place)));
        told.push(say(4).storage.blob_version);

        let stale = told.iter().map(|version| {
            let late = ConversationRecordMutation {
                blob_version: Some(*version),
                title: Some(format!("of {version}")),
                ..ConversationRecordMutation::default()
            };
            service.update_record(&id_of(1), &late).map_err(|error| error.kind()).map(|record| record.title)
        });
        let stale: Vec<_> = stale.collect();

        assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
        let mut expected = vec![Err(ErrorKind::Conflict); 5];
        expected.push(Ok(format!("of {}", told[5])));
        assert_eq!(stale, expected);
    });
}

#[test]
fn a_title_that_another_gave_between_the_frames_and_the_header_stays() {
    let store = Arc::new(Moody::new());
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>);
    let service = ConversationStorageService::new(archive.clone());
    let measured = PartialMetrics { duration_ms: Some(90), ..PartialMetrics::default() };
    let record = ConversationRecordInput { metrics: Some(measured), ..input(1, "one") };
    let seen = service.create_record(&record).unwrap().storage.blob_version;
    let (writes, id) = (AtomicUsize::new(0), id_of(1).parse().unwrap());
    store.while_writing(move || {
        // The first write has the frames, the second the header.
        if writes.fetch_add(1, Ordering::Relaxed) == 1 {
            archive.rename(id, "theirs").unwrap();
        }
    });
    let mine = |version| ConversationRecordMutation {
        blob_version: Some(version),
        title: Some("mine".to_owned()),
        ..saying(vec![frame(2, "Lint.")])
    };

    let refused = service.update_record(&id_of(1), &mine(seen)).unwrap_err();
    store.while_writing(|| ());
    let between = service.get_record(&id_of(1)).unwrap().unwrap();
    let after = service.update_record(&id_of(1), &mine(between.storage.blob_version)).unwrap();

    let told = format!("{refused:?}");
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(told.contains("the frames are stored and the rest is not: read the record again"), "{told}");
    assert_eq!((between.title.as_str(), after.title.as_str()), ("theirs", "mine"));
    assert_eq!(said(&service, 1), ["Why is the build failing?", "Lint."]);
    let counts = after.metrics;
    assert_eq!(
        (counts.user_utterance_count, counts.assistant_utterance_count, counts.duration_ms),
        (1, 1, 90)
    );
}

#[test]
fn frames_under_a_version_do_not_mind_a_title_that_is_given_meanwhile() {
    let store = Arc::new(Moody::new());
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>);
    let service = ConversationStorageService::new(archive.clone());
    let measured = ConversationRecordInput { metrics: Some(PartialMetrics::default()), ..input(1, "one") };
    let seen = service.create_record(&measured).unwrap().storage.blob_version;
    let (writes, id) = (AtomicUsize::new(0), id_of(1).parse().unwrap());
    store.while_writing(move || {
        if writes.fetch_add(1, Ordering::Relaxed) == 1 {
            archive.rename(id, "theirs").unwrap();
        }
    });

    let frames = ConversationRecordMutation { blob_version: Some(seen), ..saying(vec![frame(2, "Lint.")]) };
    let record = service.update_record(&id_of(1), &frames).unwrap();
    store.while_writing(|| ());

    let counts = (record.metrics.user_utterance_count, record.metrics.assistant_utterance_count);
    assert_eq!((record.title.as_str(), counts), ("theirs", (1, 1)));
}
