//! Lists: newest first, page by page, without what has expired.

use std::sync::Arc;

use proptest::prelude::*;
use rejoin::service::{
    ConversationRecordMutation, ConversationStorageService, ListOptions, PartialRetention,
};
use rejoin::store::{MemoryStore, Store};
use rejoin::{Archive, ErrorKind, Retention};

use super::{frame, id_of, input, saying};
use crate::archive::Lab;
use crate::stores::File;
use crate::vault::Vault;
use rejoin::testing::Place;

const DAY: i64 = 86_400;

fn service(store: Arc<dyn Store>, lab: &Arc<Lab>) -> ConversationStorageService {
    ConversationStorageService::new(Archive::with_store(store).with_nature(lab.clone()))
}

/// Every page of a list, and the counts that they tell.
fn pages(service: &ConversationStorageService, options: &ListOptions) -> (Vec<Vec<String>>, Vec<u64>) {
    let mut options = options.clone();
    let (mut pages, mut counts) = (Vec::new(), Vec::new());
    loop {
        let page = service.list_records(&options).unwrap();
        pages.push(page.items.into_iter().map(|item| item.title).collect());
        counts.push(page.total_count);
        match page.next_cursor {
            Some(cursor) => options.cursor = Some(cursor),
            None => return (pages, counts),
        }
    }
}

/// What becomes of a record, and how many days pass before the next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Create(i64),
    TalkAgain(u8, i64),
    Hold(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4i64).prop_map(Step::Create),
        2 => (any::<u8>(), 0..4i64).prop_map(|(which, days)| Step::TalkAgain(which, days)),
        1 => any::<u8>().prop_map(Step::Hold),
    ]
}

/// A record as this test remembers it.
struct Known {
    title: String,
    last: i64,
    number: u8,
    is_held: bool,
}

fn check(store: Arc<dyn Store>, steps: &[Step], limit: usize) -> Result<(), TestCaseError> {
    let lab = Lab::new();
    let service = service(store, &lab).with_retention(Retention::of_days(7).unwrap());
    let mut known: Vec<Known> = Vec::new();
    let mut day = 0;
    for step in steps {
        let count = u8::try_from(known.len()).unwrap();
        match *step {
            Step::Create(days) => {
                let title = format!("record {count}");
                service.create_record(&input(count, &title)).unwrap();
                known.push(Known { title, last: day, number: count, is_held: false });
                lab.turn_clock(days * DAY);
                day += days;
            }
            Step::TalkAgain(which, days) if count > 0 => {
                let record = &mut known[usize::from(which % count)];
                let said =
                    rejoin::service::MessageFrame { frame_id: format!("on {day}"), ..frame(2, "word") };
                service.update_record(&id_of(record.number), &saying(vec![said])).unwrap();
                record.last = day;
                lab.turn_clock(days * DAY);
                day += days;
            }
            Step::Hold(which) if count > 0 => {
                let record = &mut known[usize::from(which % count)];
                let retention = PartialRetention { manual_hold: Some(true), ..PartialRetention::default() };
                let hold = ConversationRecordMutation {
                    retention: Some(retention),
                    ..ConversationRecordMutation::default()
                };
                service.update_record(&id_of(record.number), &hold).unwrap();
                record.is_held = true;
            }
            Step::TalkAgain(..) | Step::Hold(_) => {}
        }
    }
    known.sort_by_key(|record| std::cmp::Reverse((record.last, record.number)));

    for include_expired in [false, true] {
        let expected: Vec<String> = known
            .iter()
            .filter(|record| include_expired || record.is_held || record.last + 7 > day)
            .map(|record| record.title.clone())
            .collect();
        let options = ListOptions { limit: Some(limit), include_expired, ..ListOptions::default() };

        let (pages, counts) = pages(&service, &options);

        let whole: Vec<Vec<String>> = expected.chunks(limit).map(<[String]>::to_vec).collect();
        let whole = if whole.is_empty() { vec![Vec::new()] } else { whole };
        prop_assert_eq!(&counts, &vec![expected.len() as u64; whole.len()]);
        prop_assert_eq!(pages, whole);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn pages_together_are_the_list(steps in prop::collection::vec(step(), 0..30), limit in 1..6usize) {
        check(Arc::new(MemoryStore::new()), &steps, limit)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_a_vault_together_are_the_list(steps in prop::collection::vec(step(), 0..15), limit in 1..6usize) {
        let place = Vault(File::new());
        check(place.open(), &steps, limit)?;
    }
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let service = service(Arc::new(MemoryStore::new()), &Lab::new());

    let options = ListOptions { cursor: Some("next".to_owned()), ..ListOptions::default() };

    assert_eq!(service.list_records(&options).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn options_and_pages_are_spelled_as_in_the_document() {
    let service = service(Arc::new(MemoryStore::new()), &Lab::new());
    service.create_record(&input(1, "one")).unwrap();
    service.create_record(&input(2, "two")).unwrap();
    let options: ListOptions = serde_json::from_str(r#"{"limit":1,"includeExpired":true}"#).unwrap();

    let page = service.list_records(&options).unwrap();

    let shown = serde_json::to_value(&page).unwrap();
    let names: Vec<&String> = shown.as_object().unwrap().keys().collect();
    let item: Vec<&String> = shown["items"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["items", "nextCursor", "totalCount"]);
    let expected = [
        "conversationId",
        "title",
        "createdAt",
        "lastInteractionAt",
        "messageCount",
        "retention",
        "blobVersion",
    ];
    assert_eq!(item, expected);
}
