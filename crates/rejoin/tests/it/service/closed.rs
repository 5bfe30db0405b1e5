//! Words of which a record has only so many: refused where a caller gives
//! another, and kept where a store has one.

use rejoin::service::{
    AttachmentRef, AttachmentType, AudioArtifactRef, AudioFormat, Classification, ConversationRecordInput,
    ConversationRecordMutation, MessageFrame, ParticipantRole,
};
use rejoin::store::Change;
use rejoin::{Block, Fields, Json, Media, MediaKind, Message, Participant, Time};
use serde_json::{Value, json};

use super::{everywhere, frame, id_of, input, open, saying};

fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut record = json!({
        "conversationId": id_of(1), "title": "Lisbon", "createdAt": "2026-11-16T09:00:00Z",
        "participants": [{"id": "ada", "role": "user"}],
        "messages": [{
            "frameId": "f1", "sequence": 1, "role": "user", "content": "Listen.",
            "createdAt": "2026-11-16T09:00:00Z",
            "attachments": [{"attachmentId": "a1", "type": "code", "uri": "a", "checksum": "", "byteLength": 1}],
            "audio": {"uri": "b", "format": "opus", "durationMs": 20}
        }],
        "privacy": {"classification": "Confidential", "exportable": true}
    });
    serde_json::from_value::<ConversationRecordInput>(record.clone()).unwrap();
    change(&mut record);
    serde_json::from_value::<ConversationRecordInput>(record).unwrap_err().to_string()
}

#[test]
fn a_word_that_a_record_cannot_have_is_refused_with_its_field_and_those_there_are() {
    let told = [
        refused(|record| record["participants"][0]["role"] = json!("robot")),
        refused(|record| record["messages"][0]["attachments"][0]["type"] = json!("hologram")),
        refused(|record| record["messages"][0]["audio"]["format"] = json!("mp3")),
        refused(|record| record["privacy"]["classification"] = json!("Public")),
    ];

    let change = json!({"retention": {"retentionPolicy": "Custom"}});
    let policy = serde_json::from_value::<ConversationRecordMutation>(change).unwrap_err().to_string();

    assert_eq!(policy, "`retentionPolicy` is `Custom`; it can be `workspace-default`, `custom`");
    let expected = [
        "`role` is `robot`; it can be `user`, `assistant`, `system`",
        "`type` is `hologram`; it can be `audio`, `transcript`, `code`, `document`",
        "`format` is `mp3`; it can be `pcm16`, `opus`",
        "`classification` is `Public`; it can be `Confidential`",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_sound_of_a_frame_reads_back_as_it_was_given() {
    everywhere(|place| {
        let audio = AudioArtifactRef {
            uri: "audio/1.pcm".to_owned(),
            format: AudioFormat::Opus,
            duration_ms: 1_240,
            extra: Fields::new(),
        };
        let said = MessageFrame { audio: Some(audio.clone()), ..frame(2, "Listen.") };
        let service = open(place);
        service.create_record(&input(1, "a sound")).unwrap();

        service.update_record(&id_of(1), &saying(vec![said])).unwrap();

        let read = open(place).get_record(&id_of(1)).unwrap().unwrap();
        assert_eq!((&read.messages[0].audio, &read.messages[1].audio), (&None, &Some(audio)));
    });
}

fn media(kind: MediaKind, fields: Value) -> Block {
    let extra: Fields = Json::of(&fields).unwrap().to().unwrap();
    Block::Media(Media {
        kind,
        mime_type: "x/y".to_owned(),
        data: None,
        uri: Some("files/1".to_owned()),
        extra,
    })
}

#[test]
fn what_a_store_has_beside_is_given_as_one_of_them_and_is_still_there_after_a_commit() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "others")).unwrap();
        let (archive, id) = (service.archive().unwrap(), id_of(1).parse().unwrap());
        let robot = Participant { id: "r2".to_owned(), role: "robot".to_owned(), name: None };
        archive.update(id, |header| header.participants = vec![robot.clone()]).unwrap();
        let file =
            json!({"attachmentId": "a1", "attachmentType": "hologram", "checksum": "c", "byteLength": 7});
        let sound = json!({"format": "mp3", "durationMs": 20});
        let mut said = Message::user("Look and listen.");
        said.blocks.extend([media(MediaKind::File, file), media(MediaKind::Audio, sound)]);
        archive.resume(id).unwrap().append(said).unwrap();
        let before = archive.path(id, None).unwrap();

        let record = service.get_record(&id_of(1)).unwrap().unwrap();
        service.commit_conversation(&record.clone().into()).unwrap();

        let told = &record.messages[1];
        let mut extra = Fields::new();
        extra.set("givenType", Json::of(&"hologram").unwrap());
        let named = AttachmentRef {
            attachment_id: "a1".to_owned(),
            kind: AttachmentType::Document,
            uri: "files/1".to_owned(),
            checksum: "c".to_owned(),
            byte_length: 7,
            extra,
        };
        assert_eq!((&told.attachments[..], &told.audio), (&[named][..], &None));
        assert!(told.extra.field("givenAudio").unwrap().as_str().contains("mp3"));
        let taking = &record.participants[0];
        assert_eq!((taking.role, taking.given_role.as_deref()), (ParticipantRole::System, Some("robot")));
        assert_eq!(archive.path(id, None).unwrap(), before);
        assert_eq!(archive.conversation(id).unwrap().conversation.participants, [robot]);
    });
}

#[test]
fn a_class_of_an_older_store_is_given_as_confidential_and_is_not_lost() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "older")).unwrap();
        let (archive, id) = (service.archive().unwrap(), id_of(1).parse().unwrap());
        let stored = archive.conversation(id).unwrap();
        let mut header: Value = serde_json::from_str(&stored.conversation.to_header()).unwrap();
        header["privacy"] = json!({"classification": "Public", "exportable": true});
        let header = header.to_string();
        let change = Change::Header { facets: &Default::default(), header: &header };
        place.open().amend(id, None, &change, Time::from_micros(1)).unwrap();

        let record = service.get_record(&id_of(1)).unwrap().unwrap();
        service.commit_conversation(&record.clone().into()).unwrap();
        let after = archive.conversation(id).unwrap().conversation;

        let told = (record.privacy.classification, record.privacy.given_classification.as_deref());
        assert_eq!(told, (Classification::Confidential, Some("Public")));
        let kept = after.to_header();
        assert!(kept.contains(r#""classification":"Confidential""#), "{kept}");
        assert_eq!(after.privacy.given_classification.as_deref(), Some("Public"));
    });
}
