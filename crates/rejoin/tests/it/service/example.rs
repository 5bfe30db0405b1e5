//! The example of the document that the service comes from, as it stands there.

use rejoin::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, ListOptions,
};
use rejoin::testing::Place;
use serde_json::json;

use super::{everywhere, open};

/// Does what the example does, and returns the titles that it prints.
fn run(storage: &ConversationStorageService) -> Vec<String> {
    let input: ConversationRecordInput = serde_json::from_value(json!({
        "conversationId": "3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b",
        "title": "Debugging failing test",
        "createdAt": "2026-11-16T09:00:00.000Z",
        "participants": [
            {"id": "user-default", "role": "user", "displayName": "You"},
            {"id": "assistant-agentvoice", "role": "assistant", "displayName": "Agent Voice"}
        ],
        "messages": [{
            "frameId": "7d1e6a34-0d1f-4f0e-9a44-3b1c4f7c2f10",
            "sequence": 1,
            "role": "user",
            "content": "Why is the build failing?",
            "createdAt": "2026-11-16T09:00:00.000Z",
            "privacy": {"containsSecrets": false, "redactionRulesApplied": []}
        }]
    }))
    .unwrap();
    let record = storage.create_record(&input).unwrap();
    let mutation: ConversationRecordMutation = serde_json::from_value(json!({
        "appendMessages": [{
            "frameId": "7d1e6a34-0d1f-4f0e-9a44-3b1c4f7c2f11",
            "sequence": 2,
            "role": "assistant",
            "content": "The lint step is failing on unused imports.",
            "createdAt": "2026-11-16T09:00:04.000Z",
            "privacy": {"containsSecrets": false, "redactionRulesApplied": []}
        }],
        "summary": {
            "synopsis": "Identified lint failure root cause",
            "lastUpdatedAt": "2026-11-16T09:00:05.000Z",
            "keywords": ["lint", "unused imports"]
        }
    }))
    .unwrap();
    storage.update_record(&record.conversation_id, &mutation).unwrap();
    let options = ListOptions { limit: Some(5), ..ListOptions::default() };
    storage.list_records(&options).unwrap().items.into_iter().map(|item| item.title).collect()
}

fn check(place: &dyn Place) {
    let titles = run(&open(place));
    let record = open(place).get_record("3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b").unwrap().unwrap();

    let mut shown = serde_json::to_value(&record).unwrap();
    let last = record.last_interaction_at;
    let expires = last.plus_micros(30 * 86_400_000_000);
    let storage = json!({
        "blobUri": "rejoin:3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b",
        "blobVersion": record.storage.blob_version,
        "sizeBytes": record.storage.size_bytes,
        "checksum": record.storage.checksum,
    });
    let frame = |id: &str, sequence: u64, role: &str, content: &str, at: &str| {
        json!({
            "frameId": id, "sequence": sequence, "role": role, "content": content, "createdAt": at,
            "privacy": {"containsSecrets": false, "redactionRulesApplied": []},
        })
    };
    let expected = json!({
        "conversationId": "3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b",
        "version": 1,
        "title": "Debugging failing test",
        "createdAt": "2026-11-16T09:00:00.000000Z",
        "lastInteractionAt": last,
        "summary": {
            "synopsis": "Identified lint failure root cause",
            "lastUpdatedAt": "2026-11-16T09:00:05.000000Z",
            "keywords": ["lint", "unused imports"],
        },
        "participants": [
            {"id": "user-default", "role": "user", "displayName": "You"},
            {"id": "assistant-agentvoice", "role": "assistant", "displayName": "Agent Voice"},
        ],
        "messages": [
            frame("7d1e6a34-0d1f-4f0e-9a44-3b1c4f7c2f10", 1, "user", "Why is the build failing?",
                "2026-11-16T09:00:00.000000Z"),
            frame("7d1e6a34-0d1f-4f0e-9a44-3b1c4f7c2f11", 2, "assistant",
                "The lint step is failing on unused imports.", "2026-11-16T09:00:04.000000Z"),
        ],
        "metrics": {
            "userUtteranceCount": 1, "assistantUtteranceCount": 1, "durationMs": 0, "averageLatencyMs": 0,
        },
        "retention": {"retentionExpiresAt": expires, "retentionPolicy": "workspace-default"},
        "privacy": {"classification": "Confidential", "exportable": shown["privacy"]["exportable"].take()},
        "storage": storage,
    });
    shown["privacy"]["exportable"] = expected["privacy"]["exportable"].clone();
    assert_eq!((titles, shown), (vec!["Debugging failing test".to_owned()], expected));
}

#[test]
fn the_example_of_the_document_runs_on_every_store() {
    everywhere(check);
}
