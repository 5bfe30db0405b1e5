//! The audit log.

use proptest::prelude::*;
use rejoin::store::{BlobNames, Children, Space};
use rejoin::{
    Archive, AuditAction, AuditEntry, AuditFailure, AuditQuery, Conversation, ErrorKind, Json, Time,
};

use super::{Lab, archive, archive_in, talk};

fn everything(archive: &Archive) -> Vec<AuditEntry> {
    archive.audit().query(&AuditQuery::default()).unwrap()
}

#[test]
fn what_is_deleted_is_noted_with_counts_and_without_content() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut trip = archive.start(Conversation::titled("Lisbon in sentinelle")).unwrap();
    let messages = trip.append_turn(talk(&["sentinelle", "sentinelle", "sentinelle"])).unwrap().messages;
    let bytes = trip.conversation().unwrap().bytes;

    archive.removal().delete_messages(trip.id(), &messages[2..], Children::Refuse, "user-requested").unwrap();
    let left = trip.conversation().unwrap().bytes;
    lab.turn_clock(60);
    archive.removal().delete(&[trip.id()], "user-requested");

    let at = |seconds: i64| Time::from_micros((1_800_000_000 + seconds) * 1_000_000);
    let deleted = AuditEntry::new(AuditAction::Deleted, "user-requested").to(trip.id());
    let expected = [
        AuditEntry { at: at(60), ..deleted.clone().counting(2, left) },
        AuditEntry { at: at(0), conversations: 0, ..deleted.counting(1, bytes - left) },
    ];
    assert_eq!(everything(&archive), expected);
    let mut written = String::new();
    let store = archive.store();
    store
        .get(Space::Audit, None, BlobNames::ALL, &mut |_, bytes| {
            written += str::from_utf8(bytes).unwrap();
            Ok(())
        })
        .unwrap();
    assert!(!written.contains("sentinelle"), "{written}");
}

#[test]
fn nothing_that_was_deleted_is_nothing_to_note() {
    let archive = archive();
    let trip = archive.start(Conversation::titled("Lisbon")).unwrap();

    archive
        .removal()
        .delete_messages(trip.id(), &["nothere".parse().unwrap()], Children::Refuse, "x")
        .unwrap();
    archive.removal().delete(&["018f0000-0000-7000-8000-000000000000".parse().unwrap()], "x");

    assert_eq!(everything(&archive), []);
}

#[test]
fn the_log_is_read_newest_first_by_time_conversation_and_number() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let one = archive.start(Conversation::new()).unwrap().id();
    for place in 0..4 {
        let entry = AuditEntry::new(AuditAction::Rotated, place.to_string());
        archive.audit().note(if place == 1 { entry.to(one) } else { entry }).unwrap();
        lab.turn_clock(1);
    }
    let told = |query: AuditQuery| {
        archive.audit().query(&query).unwrap().into_iter().map(|entry| entry.reason).collect::<String>()
    };
    let since = Some(Time::from_micros(1_800_000_002_000_000));

    let queries = [
        AuditQuery::default(),
        AuditQuery { since, ..AuditQuery::default() },
        AuditQuery { conversation: Some(one), ..AuditQuery::default() },
        AuditQuery { limit: Some(3), ..AuditQuery::default() },
    ];

    assert_eq!(queries.map(told), ["3210", "32", "1", "321"]);
}

#[test]
fn an_entry_reads_back_as_it_was_written() {
    let archive = archive();
    let id = archive.start(Conversation::new()).unwrap().id();
    let mut entry = AuditEntry::new(AuditAction::Other("weighed".into()), "because").to(id).counting(3, 40);
    entry.failures.push(AuditFailure::of(id, ErrorKind::Locked));
    entry.extra.set("rules", Json::of(&["jwt"]).unwrap());

    archive.audit().note(entry.clone()).unwrap();

    assert_eq!(everything(&archive), [AuditEntry { at: archive.now(), ..entry }]);
}

proptest! {
    #[test]
    fn every_name_of_an_action_stands_for_itself(name in "[a-z-]{1,20}") {
        let action: AuditAction = serde_json::from_value(serde_json::json!(name)).unwrap();

        prop_assert_eq!(action.as_str(), &name);
    }
}
