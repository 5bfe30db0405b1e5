//! What callers hand over: read as their language writes it, and refused before anything of it is stored.

use rejoin::service::{
    AttachmentRef, ConversationRecord, ConversationRecordInput, ConversationRecordMutation,
    ConversationSummary, PartialMetrics,
};
use rejoin::store::MemoryStore;
use rejoin::{Fields, Json};
use serde_json::{Value, json};

use super::{everywhere, id_of, input, open};
use crate::stores::Memory;

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
