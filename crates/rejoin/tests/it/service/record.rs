//! Records: stored and read back whole, changed by several at once, and never lost.

use std::sync::Barrier;

use proptest::prelude::*;
use rejoin::service::{
    AttachmentRef, AttachmentType, AudioArtifactRef, AudioFormat, Classification, ConversationRecord,
    ConversationRecordInput, ConversationRecordMutation, ConversationSummary, FramePrivacy, MessageFrame,
    PartialMetrics, PartialRetention, ParticipantRef, ParticipantRole, PrivacyEnvelope, RetentionInfo,
    RetentionPolicy,
};
use rejoin::store::MemoryStore;
use rejoin::testing::Place;
use rejoin::{Archive, ConversationId, ErrorKind, Fields, Json, Redaction, Role, Time};

use super::{everywhere, frame, id_of, input, open, said, saying};
use crate::stores::{File, Memory};
use crate::vault::Vault;

fn extra() -> impl Strategy<Value = Fields> {
    let value = prop_oneof![
        any::<i64>().prop_map(|number| Json::of(&number).unwrap()),
        ".{0,8}".prop_map(|text| Json::of(&text).unwrap()),
        Just(Json::parse(r#"{"b":[1,null],"a":true}"#).unwrap()),
    ];
    prop::collection::vec(("[x-z]", value), 0..3).prop_map(|entries| {
        let mut fields = Fields::new();
        entries.into_iter().for_each(|(name, value)| fields.set(name, value));
        fields
    })
}

fn time() -> impl Strategy<Value = Time> {
    (0i64..4_000_000_000_000_000).prop_map(Time::from_micros)
}

fn attachment() -> impl Strategy<Value = AttachmentRef> {
    let kind = prop::sample::select(vec![
        AttachmentType::Audio,
        AttachmentType::Transcript,
        AttachmentType::Code,
        AttachmentType::Document,
    ]);
    ("[a-z0-9]{1,8}", kind, ".{1,12}", "[0-9a-f]{64}", any::<u32>(), extra()).prop_map(
        |(attachment_id, kind, uri, checksum, bytes, extra)| AttachmentRef {
            attachment_id,
            kind,
            uri,
            checksum,
            byte_length: u64::from(bytes),
            extra,
        },
    )
}

fn audio() -> impl Strategy<Value = AudioArtifactRef> {
    let format = prop::sample::select(vec![AudioFormat::Pcm16, AudioFormat::Opus]);
    (".{1,12}", format, any::<u32>(), extra()).prop_map(|(uri, format, duration, extra)| AudioArtifactRef {
        uri,
        format,
        duration_ms: u64::from(duration),
        extra,
    })
}

fn privacy() -> impl Strategy<Value = FramePrivacy> {
    let words = || prop::collection::vec("[a-z:]{1,8}", 0..3);
    (any::<bool>(), words(), words()).prop_map(|(contains_secrets, redaction_rules_applied, pii_tokens)| {
        FramePrivacy { contains_secrets, redaction_rules_applied, pii_tokens }
    })
}

fn any_frame() -> impl Strategy<Value = MessageFrame> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant]);
    let files = prop::collection::vec(attachment(), 0..3);
    let sound = prop::option::of(audio());
    (0u64..9, role, "(.|\n){0,40}", time(), files, privacy(), sound, extra()).prop_map(
        |(sequence, role, content, created_at, attachments, privacy, audio, extra)| MessageFrame {
            frame_id: String::new(),
            sequence,
            role,
            content,
            created_at,
            attachments,
            privacy,
            audio,
            extra,
        },
    )
}

fn frames() -> impl Strategy<Value = Vec<MessageFrame>> {
    prop::collection::vec(any_frame(), 0..5).prop_map(|mut frames| {
        for (frame, number) in frames.iter_mut().zip(1..) {
            frame.frame_id = format!("frame {number}");
        }
        frames
    })
}

fn summary() -> impl Strategy<Value = ConversationSummary> {
    let words = || prop::collection::vec(".{0,8}", 0..3);
    (".{0,20}", time(), words(), words()).prop_map(|(synopsis, last_updated_at, keywords, action_items)| {
        ConversationSummary { synopsis, last_updated_at, keywords, action_items }
    })
}

fn participants() -> impl Strategy<Value = Vec<ParticipantRef>> {
    let role = prop::sample::select(vec![
        ParticipantRole::User,
        ParticipantRole::Assistant,
        ParticipantRole::System,
    ]);
    let one = (".{0,8}", role, prop::option::of(".{0,8}"))
        .prop_map(|(id, role, display_name)| ParticipantRef { id, role, display_name, given_role: None });
    prop::collection::vec(one, 0..3)
}

fn metrics() -> impl Strategy<Value = PartialMetrics> {
    let number = || prop::option::of(0u64..1_000_000);
    (number(), number(), number(), number()).prop_map(|(users, assistants, duration, latency)| {
        PartialMetrics {
            user_utterance_count: users,
            assistant_utterance_count: assistants,
            duration_ms: duration,
            average_latency_ms: latency,
        }
    })
}

fn envelope() -> impl Strategy<Value = PrivacyEnvelope> {
    (any::<bool>(), prop::option::of(".{0,8}")).prop_map(|(exportable, consent_capture)| PrivacyEnvelope {
        classification: Classification::Confidential,
        exportable,
        consent_capture,
        given_classification: None,
    })
}

prop_compose! {
    fn any_input()(
        id: [u8; 16],
        title in "[a-z]\\PC{0,20}",
        created_at in time(),
        participants in participants(),
        messages in frames(),
        summary in prop::option::of(summary()),
        metrics in metrics(),
        privacy in envelope(),
        attachments in prop::collection::vec(attachment(), 0..3),
        extra in extra(),
    ) -> ConversationRecordInput {
        ConversationRecordInput {
            conversation_id: ConversationId::from_bytes(id).to_string(),
            title,
            created_at,
            participants,
            messages,
            summary,
            metrics: Some(metrics),
            privacy: Some(privacy),
            attachments,
            extra,
        }
    }
}

/// What a record that was made of an input is made of.
fn completed(input: &ConversationRecordInput) -> ConversationRecordInput {
    let count = |role| input.messages.iter().filter(|frame| frame.role == role).count() as u64;
    let given = input.metrics.unwrap();
    let metrics = PartialMetrics {
        user_utterance_count: given.user_utterance_count.or(Some(count(Role::User))),
        assistant_utterance_count: given.assistant_utterance_count.or(Some(count(Role::Assistant))),
        duration_ms: given.duration_ms.or(Some(0)),
        average_latency_ms: given.average_latency_ms.or(Some(0)),
    };
    ConversationRecordInput { metrics: Some(metrics), ..input.clone() }
}

fn round(place: &dyn Place, input: &ConversationRecordInput) -> Result<(), TestCaseError> {
    let created = open(place).create_record(input).unwrap();

    let read = open(place).get_record(&input.conversation_id).unwrap().unwrap();

    let text = serde_json::to_string(&read).unwrap();
    prop_assert_eq!(&serde_json::from_str::<ConversationRecord>(&text).unwrap(), &read);
    prop_assert_eq!(&created, &read);
    prop_assert_eq!(ConversationRecordInput::from(read), completed(input));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_record_comes_back_whole(input in any_input()) {
        round(&Memory(MemoryStore::new()), &input)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_record_comes_back_whole_from_a_vault(input in any_input()) {
        round(&Vault(File::new()), &input)?;
    }
}

#[test]
fn an_id_that_is_taken_is_a_conflict_and_changes_nothing() {
    everywhere(|place| {
        let service = open(place);
        let first = service.create_record(&input(1, "one")).unwrap();

        let refused = service.create_record(&input(1, "two")).unwrap_err();

        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused:?}");
        assert_eq!(service.get_record(&id_of(1)).unwrap(), Some(first));
    });
}

#[test]
fn a_record_that_is_not_there_is_none_and_cannot_be_changed() {
    let service = open(&Memory(MemoryStore::new()));

    let read = service.get_record(&id_of(1)).unwrap();
    let changed = service.update_record(&id_of(1), &saying(vec![frame(1, "word")])).unwrap_err();
    let deleted = service.delete_record(&id_of(1), rejoin::PurgeReason::UserRequested).unwrap_err();

    assert_eq!(read, None);
    assert_eq!([changed.kind(), deleted.kind()], [ErrorKind::NotFound; 2]);
}

#[test]
fn a_stale_version_is_a_conflict_and_nothing_is_lost() {
    everywhere(|place| {
        let [one, two] = [open(place), open(place)];
        let seen = one.create_record(&input(1, "shared")).unwrap().storage.blob_version;
        let change = |version, number, word: &str| ConversationRecordMutation {
            blob_version: Some(version),
            title: Some(word.to_owned()),
            ..saying(vec![frame(number, word)])
        };
        one.update_record(&id_of(1), &change(seen, 2, "first")).unwrap();

        let refused = two.update_record(&id_of(1), &change(seen, 3, "second")).unwrap_err();
        let between = two.get_record(&id_of(1)).unwrap().unwrap();
        two.update_record(&id_of(1), &change(between.storage.blob_version, 3, "second")).unwrap();

        let after = one.get_record(&id_of(1)).unwrap().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!((between.title.as_str(), between.messages.len()), ("first", 2));
        assert_eq!(after.title, "second");
        assert_eq!(said(&one, 1), ["Why is the build failing?", "first", "second"]);
    });
}

#[test]
fn a_version_that_only_the_header_left_behind_is_stale_too() {
    let service = open(&Memory(MemoryStore::new()));
    let seen = service.create_record(&input(1, "one")).unwrap().storage.blob_version;
    let title = |word: &str| ConversationRecordMutation {
        blob_version: Some(seen),
        title: Some(word.to_owned()),
        ..ConversationRecordMutation::default()
    };
    service.update_record(&id_of(1), &title("two")).unwrap();

    let refused = service.update_record(&id_of(1), &title("three")).unwrap_err();

    let expected = format!(
        "[conflict] update record `{}`: the record is of version `{}`, not `{seen}`: read it again",
        id_of(1),
        seen + 1
    );
    assert_eq!(format!("{refused:?}"), expected);
}

#[test]
fn sessions_that_add_at_once_lose_nothing_and_stay_in_line() {
    let place = Vault(File::new());
    open(&place).create_record(&input(1, "shared")).unwrap();
    let barrier = Barrier::new(3);

    std::thread::scope(|scope| {
        for session in 0..3_u64 {
            let (service, barrier) = (open(&place), &barrier);
            scope.spawn(move || {
                barrier.wait();
                for number in 0..4 {
                    let mut said = frame(2 + session * 4 + number, "word");
                    said.content = format!("{session}.{number}");
                    service.update_record(&id_of(1), &saying(vec![said])).unwrap();
                }
            });
        }
    });

    let mut words = said(&open(&place), 1).split_off(1);
    words.sort();
    let expected: Vec<String> =
        (0..3).flat_map(|session| (0..4).map(move |number| format!("{session}.{number}"))).collect();
    assert_eq!(words, expected);
}

#[test]
fn a_frame_that_is_there_is_not_stored_again() {
    let service = open(&Memory(MemoryStore::new()));
    service.create_record(&input(1, "one")).unwrap();
    let both = saying(vec![frame(1, "Why is the build failing?"), frame(2, "Lint.")]);

    let versions = [(); 2].map(|()| service.update_record(&id_of(1), &both).unwrap().storage.blob_version);

    assert_eq!(versions[0], versions[1]);
    assert_eq!(said(&service, 1), ["Why is the build failing?", "Lint."]);
}

#[test]
fn what_was_measured_is_kept_and_counted_on() {
    let service = open(&Memory(MemoryStore::new()));
    let measured = PartialMetrics { duration_ms: Some(90), ..PartialMetrics::default() };
    service.create_record(&ConversationRecordInput { metrics: Some(measured), ..input(1, "one") }).unwrap();

    let latency = PartialMetrics { average_latency_ms: Some(7), ..PartialMetrics::default() };
    let counted = service.update_record(&id_of(1), &saying(vec![frame(2, "a"), frame(3, "b")])).unwrap();
    let last = ConversationRecordMutation { metrics: Some(latency), ..saying(vec![frame(4, "c")]) };
    let last = service.update_record(&id_of(1), &last).unwrap();

    let told = [counted, last].map(|record| {
        let metrics = record.metrics;
        let counts = (metrics.user_utterance_count, metrics.assistant_utterance_count);
        (counts, metrics.duration_ms, metrics.average_latency_ms)
    });
    assert_eq!(told, [((2, 1), 90, 0), ((2, 2), 90, 7)]);
}

#[test]
fn a_hold_and_an_expiry_of_its_own_come_and_go() {
    let service = open(&Memory(MemoryStore::new()));
    let by_default = service.create_record(&input(1, "one")).unwrap().retention;
    let own = Time::from_micros(4_000_000_000_000_000);
    let steps = [
        PartialRetention { retention_expires_at: Some(own), ..PartialRetention::default() },
        PartialRetention { manual_hold: Some(true), ..PartialRetention::default() },
        PartialRetention {
            retention_policy: Some(RetentionPolicy::WorkspaceDefault),
            manual_hold: Some(false),
            ..PartialRetention::default()
        },
    ];

    let told = steps.map(|retention| {
        let mutation = ConversationRecordMutation {
            retention: Some(retention),
            ..ConversationRecordMutation::default()
        };
        service.update_record(&id_of(1), &mutation).unwrap().retention
    });

    let custom = |manual_hold| RetentionInfo {
        retention_expires_at: Some(own),
        retention_policy: RetentionPolicy::Custom,
        manual_hold,
    };
    assert_eq!(told, [custom(None), custom(Some(true)), by_default]);
}

#[test]
fn what_cannot_be_stored_is_refused_before_anything_is() {
    let service = open(&Memory(MemoryStore::new()));
    let cases = [
        ConversationRecordInput { conversation_id: "one".to_owned(), ..input(1, "title") },
        ConversationRecordInput { title: " ".to_owned(), ..input(1, "title") },
        ConversationRecordInput {
            messages: vec![MessageFrame { role: Role::Tool, ..frame(1, "word") }],
            ..input(1, "title")
        },
        ConversationRecordInput {
            messages: vec![MessageFrame { frame_id: String::new(), ..frame(1, "word") }],
            ..input(1, "title")
        },
        ConversationRecordInput { messages: vec![frame(1, &"x".repeat(10_000_001))], ..input(1, "title") },
    ];

    let refused = cases.map(|input| service.create_record(&input).unwrap_err().kind());

    assert_eq!(refused, [ErrorKind::Invalid; 5]);
    assert_eq!(service.list_records(&Default::default()).unwrap().total_count, 0);
}

#[test]
fn a_record_has_at_most_ten_million_bytes() {
    everywhere(|place| {
        let service = open(place);
        let most = |sequence| frame(sequence, &"x".repeat(4_000_000));
        service
            .create_record(&ConversationRecordInput { messages: vec![most(1)], ..input(1, "title") })
            .unwrap();
        let id = id_of(1);

        let second =
            service.update_record(&id, &saying(vec![most(2)])).map(drop).map_err(|error| error.kind());
        let third =
            service.update_record(&id, &saying(vec![most(3)])).map(drop).map_err(|error| error.kind());
        let whole =
            ConversationRecordInput { messages: vec![most(1), most(2), most(3)], ..input(1, "title") };
        let at_the_end = service.commit_conversation(&whole).map(drop).map_err(|error| error.kind());
        let again =
            service.update_record(&id, &saying(vec![most(2)])).map(drop).map_err(|error| error.kind());
        let short = service.update_record(&id, &saying(vec![frame(4, "short")])).map(drop);

        let refused = Err(ErrorKind::Invalid);
        assert_eq!([second, third, at_the_end, again], [Ok(()), refused, refused, Ok(())]);
        assert!(short.is_ok(), "{short:?}");
        assert_eq!(said(&service, 1).len(), 3);
    });
}

#[test]
fn a_secret_is_taken_out_of_records_and_snapshots_and_the_frame_says_so() {
    let store = Memory(MemoryStore::new());
    let archive = Archive::with_store(store.open()).with_redaction(Redaction::default());
    let service = rejoin::service::ConversationStorageService::new(archive);
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let told = MessageFrame { frame_id: "f9".to_owned(), ..frame(1, &format!("my token is {secret}")) };
    service
        .create_record(&ConversationRecordInput { messages: vec![told.clone()], ..input(1, "one") })
        .unwrap();
    let snapshot = rejoin::service::RecoverySnapshot {
        conversation_id: id_of(1),
        messages: vec![told],
        ..Default::default()
    };
    service.commit_snapshot(&snapshot).unwrap();

    let record = service.get_record(&id_of(1)).unwrap().unwrap();
    let snapshot = service.get_snapshot(&id_of(1)).unwrap().unwrap();

    for frame in [&record.messages[0], &snapshot.messages[0]] {
        assert!(!frame.content.contains(secret) && frame.content.starts_with("my token is "), "{frame:?}");
        assert!(frame.privacy.contains_secrets && frame.frame_id == "f9", "{frame:?}");
    }
}
