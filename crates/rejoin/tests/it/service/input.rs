//! What callers hand over: read as their language writes it, and refused before anything of it is stored.

use rejoin::service::{
    AttachmentRef, ConversationRecord, ConversationRecordInput, ConversationRecordMutation,
    ConversationStorageService, ConversationSummary, PartialMetrics, PartialRetention, RecoverySnapshot,
    RetentionPolicy,
};
use rejoin::store::MemoryStore;
use rejoin::{Archive, Conversation, ErrorKind, Fields, Hold, Json, Limits, Time};
use serde_json::{Value, json};

use super::{everywhere, frame, id_of, input, open, said, saying};
use crate::stores::{File, Memory};
use crate::vault::Vault;

fn fields(entries: &[(&str, Value)]) -> Fields {
    let mut fields = Fields::new();
    entries.iter().for_each(|(name, value)| fields.set(*name, Json::of(value).unwrap()));
    fields
}

#[test]
fn a_whole_record_can_be_read_as_an_input_and_handed_back() {
    everywhere(|place| {
        let service = open(place);
        let extra = fields(&[("mood", json!("calm"))]);
        let record = service.create_record(&ConversationRecordInput { extra, ..input(1, "one") }).unwrap();

        let read: ConversationRecordInput =
            serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        let after = service.commit_conversation(&read).unwrap();

        assert_eq!(read, ConversationRecordInput::from(record.clone()));
        let shown = serde_json::to_string(&after).unwrap();
        assert_eq!(serde_json::from_str::<ConversationRecord>(&shown).unwrap(), after);
        assert_eq!((after.messages, after.extra), (record.messages, record.extra));
    });
}

#[test]
fn a_field_that_is_called_like_one_of_a_record_is_not_kept_beside_it() {
    let service = open(&Memory(MemoryStore::new()));
    let named = AttachmentRef { attachment_id: "a1".to_owned(), ..AttachmentRef::default() };
    let whole = ConversationRecordInput {
        summary: Some(ConversationSummary::default()),
        attachments: vec![named],
        ..input(1, "one")
    };
    let every = serde_json::to_value(service.create_record(&whole).unwrap()).unwrap();
    let every = every.as_object().unwrap().keys().map(|name| (name.as_str(), json!("other")));
    let extra = fields(&every.chain([("mood", json!("calm"))]).collect::<Vec<_>>());

    let record = service.create_record(&ConversationRecordInput { extra, ..input(2, "one") }).unwrap();

    let shown = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<ConversationRecord>(&shown).unwrap(), record);
    assert_eq!((record.title.as_str(), record.extra), ("one", fields(&[("mood", json!("calm"))])));
}

#[test]
fn a_record_of_a_newer_version_is_not_read_as_an_input() {
    let mut record = serde_json::to_value(input(1, "one")).unwrap();
    record["version"] = json!(2);

    let refused = serde_json::from_value::<ConversationRecordInput>(record).unwrap_err();

    assert_eq!(refused.to_string(), "the record has the version 2; 1 is the newest known");
}

#[test]
fn numbers_may_be_fractions_and_are_rounded() {
    let service = open(&Memory(MemoryStore::new()));
    let mut record = serde_json::to_value(input(1, "one")).unwrap();
    record["messages"][0]["audio"] = json!({"uri": "a", "format": "opus", "durationMs": 1240.6});
    record["messages"][0]["attachments"] =
        json!([{"attachmentId": "a1", "type": "code", "uri": "a", "checksum": "", "byteLength": 7.0}]);
    record["metrics"] = json!({"durationMs": 90_000.4, "userUtteranceCount": null});
    let change: ConversationRecordMutation =
        serde_json::from_value(json!({"metrics": {"averageLatencyMs": 812.5}})).unwrap();

    service.create_record(&serde_json::from_value(record).unwrap()).unwrap();
    let record = service.update_record(&id_of(1), &change).unwrap();

    let said = &record.messages[0];
    let sound = said.audio.as_ref().map(|sound| sound.duration_ms);
    assert_eq!((sound, said.attachments[0].byte_length), (Some(1_241), 7));
    let metrics = PartialMetrics {
        user_utterance_count: Some(1),
        assistant_utterance_count: Some(0),
        duration_ms: Some(90_000),
        average_latency_ms: Some(813),
    };
    assert_eq!(PartialMetrics::from(record.metrics), metrics);
}

#[test]
fn a_number_below_zero_is_refused() {
    let refused = [json!(-1), json!(-0.6), json!("4")].map(|number| {
        let change = json!({"metrics": {"averageLatencyMs": number}});
        serde_json::from_value::<ConversationRecordMutation>(change).unwrap_err().to_string()
    });

    let expected = [
        "invalid value: integer `-1`, expected a number from 0",
        "invalid value: floating point `-0.6`, expected a number from 0",
        "invalid type: string \"4\", expected a number from 0",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn two_frames_of_one_id_in_one_call_are_refused_before_anything_is_stored() {
    let service = open(&Memory(MemoryStore::new()));
    let twice = |number| vec![frame(number, "word"), frame(number + 1, "word"), frame(number, "other")];
    let whole = ConversationRecordInput { messages: twice(1), ..input(1, "one") };
    let snapshot =
        RecoverySnapshot { conversation_id: id_of(1), messages: twice(2), ..RecoverySnapshot::default() };

    let begun = service.create_record(&whole).unwrap_err();
    let was_stored = service.get_record(&id_of(1)).unwrap().is_some();
    service.create_record(&input(1, "one")).unwrap();
    let refused = [
        begun,
        service.update_record(&id_of(1), &saying(twice(2))).unwrap_err(),
        service.commit_conversation(&whole).unwrap_err(),
        service.commit_snapshot(&snapshot).unwrap_err(),
    ];

    let told = refused.map(|error| (error.kind(), error.to_string()));
    let stands = |id: &str| (ErrorKind::Invalid, format!("frame `{id}` appears twice in one call"));
    assert_eq!(told, [stands("f1"), stands("f2"), stands("f1"), stands("f2")]);
    assert_eq!((was_stored, service.get_snapshot(&id_of(1)).unwrap()), (false, None));
    assert_eq!(said(&service, 1), ["Why is the build failing?"]);
}

#[test]
fn what_else_is_known_of_a_record_has_the_limit_of_a_turn() {
    let limits = Limits { turn_bytes: 3_000, ..Limits::default() };
    let archive = Archive::open("memory:").unwrap().with_limits(limits);
    let service = ConversationStorageService::new(archive.clone());
    service.create_record(&input(1, "one")).unwrap();
    let before = service.get_record(&id_of(1)).unwrap();
    let long =
        Some(ConversationSummary { synopsis: "long ".repeat(20_000), ..ConversationSummary::default() });
    let change =
        ConversationRecordMutation { summary: long.clone(), ..saying(vec![frame(2, "is not stored")]) };
    let whole = |number| ConversationRecordInput { summary: long.clone(), ..input(number, "two") };
    let empty = ConversationRecordInput { messages: Vec::new(), ..whole(3) };

    let refused = [
        service.update_record(&id_of(1), &change).unwrap_err(),
        service.commit_conversation(&whole(1)).unwrap_err(),
        service.create_record(&whole(2)).unwrap_err(),
        service.create_record(&empty).unwrap_err(),
        archive
            .update(id_of(1).parse().unwrap(), |header| header.title = Some("x".repeat(100_000)))
            .unwrap_err(),
        archive.start(Conversation::titled("x".repeat(100_000))).unwrap_err(),
    ];

    let is_told = |error: &rejoin::Error| {
        let told = format!("{error:?}");
        error.kind() == ErrorKind::Invalid
            && told.contains("the header has ")
            && told.contains("more than `limits.turn_bytes` = 3000")
    };
    assert!(refused.iter().all(is_told), "{refused:?}");
    assert_eq!(service.get_record(&id_of(1)).unwrap(), before);
    assert_eq!(service.list_records(&Default::default()).unwrap().total_count, 1);
}

fn keeping(retention: PartialRetention) -> ConversationRecordMutation {
    ConversationRecordMutation { retention: Some(retention), ..ConversationRecordMutation::default() }
}

#[test]
fn an_expiry_of_its_own_has_to_be_named() {
    let service = open(&Memory(MemoryStore::new()));
    service.create_record(&input(1, "one")).unwrap();
    let custom =
        PartialRetention { retention_policy: Some(RetentionPolicy::Custom), ..PartialRetention::default() };
    let own = Time::from_micros(4_000_000_000_000_000);
    let named = PartialRetention { retention_expires_at: Some(own), ..custom };
    let unnamed = ConversationRecordMutation { append_messages: vec![frame(2, "no")], ..keeping(custom) };

    let refused = service.update_record(&id_of(1), &unnamed).unwrap_err();
    let frames = said(&service, 1).len();
    service.update_record(&id_of(1), &keeping(named)).unwrap();
    let again = service.update_record(&id_of(1), &keeping(custom)).unwrap().retention;

    let told = format!("{refused:?}");
    assert_eq!((refused.kind(), frames), (ErrorKind::Invalid, 1));
    assert!(told.contains("`retentionPolicy` is `custom`, and there is no `retentionExpiresAt`"), "{told}");
    assert_eq!((again.retention_policy, again.retention_expires_at), (RetentionPolicy::Custom, Some(own)));
}

#[test]
fn a_hold_that_an_import_made_is_not_released_by_a_caller() {
    let service = open(&Memory(MemoryStore::new()));
    service.create_record(&input(1, "one")).unwrap();
    let (archive, id) = (service.archive().unwrap(), id_of(1).parse().unwrap());
    archive.update(id, |header| header.hold = Hold::Import).unwrap();
    let release = PartialRetention { manual_hold: Some(false), ..PartialRetention::default() };

    service.update_record(&id_of(1), &keeping(release)).unwrap();

    assert_eq!(archive.conversation(id).unwrap().conversation.hold, Hold::Import);
}

#[test]
fn a_record_in_a_vault_stays_there_unless_it_says_otherwise() {
    let (plain, vault) = (Memory(MemoryStore::new()), Vault(File::new()));
    let exportable = |service: &ConversationStorageService| {
        let asked = service.create_record(&input(1, "one")).unwrap().privacy;
        let mut open = asked.clone();
        open.exportable = true;
        let whole = ConversationRecordInput { privacy: Some(open), ..input(2, "two") };
        (asked.exportable, service.create_record(&whole).unwrap().privacy.exportable)
    };

    assert_eq!([exportable(&open(&plain)), exportable(&open(&vault))], [(true, true), (false, true)]);
}
