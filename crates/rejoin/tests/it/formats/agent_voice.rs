//! Records of Agent Voice, sealed and open.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rejoin::formats::{Format, Key, ReadLimits, Source, Tree};
use rejoin::{Archive, Block, ErrorKind, Hold, Import, ImportMode, MediaKind, PrivacyNotes};
use serde_json::Value;

use crate::formats::documents::write_below;
use crate::formats::round::{steps, tree_of};
use crate::formats::{file_of, fixture, outline, read};

const OPEN: &str = "agent-voice/agentvoice/conversations/47b9d8baefe9c46096ccfee37252b3bf.json";

/// A record with one frame, sealed by the crypto module of Node 20 with the key of the bytes 0 to 31.
const SEALED: &str = r#"{"conversationId":"3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b","schemaVersion":1,"cipherText":"Mzm9CRefM+xNAyuBtQsjmWD4JDntXpFKxODJZcLHkSm53Sb2Lj+jZcqWVQ6ecK78fm/+0kF8IwrW09qznfLM5Wau4T/6aU9s/wOIYSuodYMGDXhTzqvq5rmQX6gSfSlx+hThCklhmh3Bn7+xx2n5nAARoi3xS4wZg0m+g+vgOP4Ir6iSWQJsG/l5DCelojDj5bO0KCQu9PNS5RcijlDR2KoTFWyi6czRW3WTxrhEmvSmwfeZAp1i/0hbM2Tg8H68vkZlg9h0GnUxXVE4PhibbGJytHf0PX6Qln1ktZmJZcliBdCUzuAJBDjZL7Tad6zzNL9025+llIWmnX9JGByj9AJR991RC/mzznu3453VPCrz8G9M114dAJAnZGhNHHVR/9ZmDgkQ2IYD/XSmwtv02Wh9PstzJzurf6tMNvSzA0fUNIOFOTIzu+qhI1zpWRNN0shpSuxuifjSt8LqRtipKfio9P0aclmM1PX1kXg/y0o2+5F6rvbChTdDz4EC+tLRTSpheoSjmhC/4ADnMqrb9q8ePHbzGfeR3TlRA5pNW1IEZxUP0B+aR+059cS9cpsaF+tp/sgIK5JumOPNAx2EOlU5fiXqVz0FYKI=","iv":"ZGVmZ2hpamtsbW5v","authTag":"S59fKp59/6opuU0IAdiGsw==","createdAt":"2025-10-21T09:00:05.000Z","checksum":"24d764073c601fe39d6145bdfde6d199742003ae19e287f840f0eb453ebe289c"}"#;

fn key() -> Key {
    Key::new(std::array::from_fn(|place| u8::try_from(place).unwrap()))
}

fn open(path: &Path, key: Option<Key>) -> rejoin::Result<Tree> {
    let source = Source::open(path).unwrap();
    let source = match key {
        Some(key) => source.with_key(key),
        None => source,
    };
    let format = Format::of(&source).unwrap();
    assert_eq!(format.name, "agent-voice");
    Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading))
}

/// The innermost cause of an error.
fn cause(error: &rejoin::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[test]
fn an_open_record_is_read_whole() {
    let tree = read(&fixture(OPEN));

    let header = &tree.conversations[0].header;
    assert_eq!(
        outline(&tree.messages),
        [
            "f1a0 < - user: Why is the build failing? | <audio>",
            "f2a0 < f1a0 assistant: The lint step is failing on un | <file>",
            "f3a0 < f2a0 user: My token is [redacted].",
        ]
    );
    assert_eq!(
        (tree.conversations[0].id.as_str(), tree.conversations[0].created_at.to_string()),
        ("3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b", "2025-10-21T09:00:00.000000Z".to_owned())
    );
    assert_eq!(header.title.as_deref(), Some("Debugging failing test"));
    assert_eq!(header.synopsis.as_ref().unwrap().keywords, ["lint", "unused imports"]);
    assert_eq!(header.participants[1].name.as_deref(), Some("Agent Voice"));
    assert_eq!(header.metrics.as_ref().map(|metrics| metrics.duration_ms), Some(90_000));
    let notes = PrivacyNotes {
        contains_secrets: true,
        redaction_rules: vec!["token".to_owned()],
        tokens: vec!["sha256:ab".to_owned()],
    };
    assert_eq!(tree.messages[2].message.privacy, Some(notes));
    let Block::Media(sound) = &tree.messages[0].message.blocks[1] else { panic!("{tree:?}") };
    assert_eq!((sound.kind, sound.uri.as_deref()), (MediaKind::Audio, Some("audio/1.opus")));
}

#[test]
fn a_record_is_written_as_it_was_read() {
    let tree = read(&fixture(OPEN));
    let files = Format::named("agent-voice").unwrap().write(&tree).unwrap();
    let text = fs::read_to_string(fixture(OPEN)).unwrap();

    let mut written: Value =
        serde_json::from_str(&str::from_utf8(&files[0].bytes).unwrap().replace(".000000Z", ".000Z")).unwrap();
    let mut expected: Value = serde_json::from_str(&text).unwrap();
    for (record, name) in [(&mut written, "rejoin"), (&mut expected, "storage")] {
        record.as_object_mut().unwrap().remove(name);
    }
    let storage = written.as_object_mut().unwrap().remove("storage").unwrap();
    let frames = written["messages"].as_array_mut().unwrap();
    let tags: Vec<Value> =
        frames.iter_mut().map(|frame| frame.as_object_mut().unwrap().remove("rejoin").unwrap()).collect();

    assert_eq!(written, expected);
    // Nothing of a message is written twice.
    assert!(tags.iter().all(|tag| tag.get("message").is_none()), "{tags:?}");
    assert_eq!(storage["blobUri"].as_str().map(Path::new), Some(files[0].path.as_path()));
    assert_eq!(files[0].path, Path::new(OPEN).strip_prefix("agent-voice").unwrap());
}

#[test]
fn a_sealed_record_is_read_with_its_key() {
    let (_directory, path) = file_of("x.vpconv", &[SEALED]);

    let tree = open(&path, Some(key())).unwrap();

    assert_eq!(outline(&tree.messages), ["f1 < - user: Why is the build failing?"]);
    assert_eq!(tree.conversations[0].header.title.as_deref(), Some("Debugging failing test"));
}

#[test]
fn a_sealed_record_without_its_key_says_which_key_it_takes() {
    let (_directory, path) = file_of("x.vpconv", &[SEALED]);

    let error = open(&path, None).unwrap_err();

    let expected = "it is sealed; opening it takes the key that Agent Voice keeps in the editor's secret storage \
                    as `agentvoice.conversation.key`";
    assert_eq!((error.kind(), cause(&error).as_str()), (ErrorKind::Invalid, expected));
}

#[test]
fn a_record_that_was_changed_or_has_another_key_is_refused() {
    let other = Key::from_base64("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    let (_directory, path) = file_of("x.vpconv", &[SEALED]);
    let refused = "the key does not decrypt the record, or the record was changed";
    assert_eq!(cause(&open(&path, Some(other)).unwrap_err()), refused);
    for field in ["cipherText", "iv", "authTag", "checksum"] {
        let mut envelope: Value = serde_json::from_str(SEALED).unwrap();
        let text = envelope[field].as_str().unwrap();
        let first = if text.starts_with('0') { "1" } else { "0" };
        envelope[field] = format!("{first}{}", &text[1..]).into();
        fs::write(&path, envelope.to_string()).unwrap();

        let error = open(&path, Some(key())).unwrap_err();

        assert_eq!(error.kind(), ErrorKind::Corrupt, "{field}: {error:?}");
    }
}

#[test]
fn what_is_sealed_shows_nothing_and_imports_once() {
    let mut tree = read(&fixture(OPEN));
    tree.key = Some(key());
    let directory = tempfile::tempdir().unwrap();
    write_below(directory.path(), "agent-voice", &tree);
    let path = directory.path().join("agentvoice/conversations/47b9d8baefe9c46096ccfee37252b3bf.vpconv");
    let archive = Archive::open("memory:").unwrap();

    let source = Source::open(&path).unwrap().with_key(key());
    let format = Format::of(&source).unwrap();
    let import = || {
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        archive.imports().add(&source, format, &mut how).unwrap().added()
    };

    assert_eq!((import(), import()), (3, 0));
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("build") && !text.contains("Debugging") && !text.contains("frameId"), "{text}");
    assert!(format!("{source:?}").contains("Some([redacted])"));
}

#[test]
fn a_frame_of_nobody_is_kept_and_told() {
    let text = fs::read_to_string(fixture(OPEN)).unwrap();
    let (_directory, path) = file_of(
        "x.json",
        &[&text.replacen("\"role\": \"assistant\", \"content\"", "\"role\": \"robot\", \"content\"", 1)],
    );

    let tree = open(&path, None).unwrap();

    assert_eq!(outline(&tree.messages).len(), 2);
    assert_eq!(tree.skipped[0].why, "frame 2 says nothing that is known");
    assert!(tree.asides[1].source.contains("unused imports"));
}

#[test]
fn a_record_or_an_envelope_of_a_newer_version_is_refused() {
    let text = fs::read_to_string(fixture(OPEN)).unwrap();
    let cases = [
        (text.replacen("\"version\": 1", "\"version\": 99", 1), None),
        (SEALED.replacen("\"schemaVersion\":1", "\"schemaVersion\":99", 1), Some(key())),
    ];

    let told = cases.map(|(text, key)| {
        let (_directory, path) = file_of("x.json", &[&text]);
        let error = open(&path, key).unwrap_err();
        (error.kind(), cause(&error))
    });

    let refused = |what: &str| {
        (ErrorKind::Unsupported, format!("the {what} has the version 99; 1 is the newest known"))
    };
    assert_eq!(told, [refused("record"), refused("envelope")]);
}

#[test]
fn numbers_that_are_fractions_are_rounded_and_lose_nothing() {
    let text = fs::read_to_string(fixture(OPEN)).unwrap();
    let text = text.replacen("\"durationMs\": 1800", "\"durationMs\": 1800.5", 1);
    let text = text.replacen("\"averageLatencyMs\": 4000", "\"averageLatencyMs\": 812.4", 1);
    let (_directory, path) = file_of("x.json", &[&text]);

    let tree = open(&path, None).unwrap();
    let files = Format::named("agent-voice").unwrap().write(&tree).unwrap();

    let metrics = tree.conversations[0].header.metrics.clone().unwrap();
    assert_eq!((metrics.duration_ms, metrics.average_latency_ms), (90_000, 812));
    let written: Value = serde_json::from_slice(&files[0].bytes).unwrap();
    let sound = serde_json::json!({"uri": "audio/1.opus", "format": "opus", "durationMs": 1801});
    assert_eq!(written["messages"][0]["audio"], sound);
}

#[test]
fn a_policy_that_is_not_known_leaves_the_hold_and_no_expiry() {
    let text = fs::read_to_string(fixture(OPEN)).unwrap();
    let policies = ["workspace-default", "custom", "Custom"];

    let kept = policies.map(|policy| {
        let named = format!("\"manualHold\": true, \"retentionPolicy\": \"{policy}\"");
        let (_directory, path) =
            file_of("x.json", &[&text.replacen("\"retentionPolicy\": \"workspace-default\"", &named, 1)]);
        let header = open(&path, None).unwrap().conversations.remove(0).header;
        (header.hold, header.expires_at.is_some())
    });

    assert_eq!(kept, [(Hold::User, false), (Hold::User, true), (Hold::User, false)]);
}

#[test]
fn a_torn_record_is_an_error() {
    let text = fs::read_to_string(fixture(OPEN)).unwrap();
    let (_directory, path) = file_of("x.json", &[&text[..text.len() / 2]]);
    let source = Source::open(&path).unwrap();
    let format = Format::named("agent-voice").unwrap();

    let error = Tree::gather(ReadLimits::default(), |reading| format.read(&source, reading)).unwrap_err();

    assert!(format!("{error:?}").contains("it is not a record of a conversation"), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_survives_being_sealed(steps in steps(), head in any::<prop::sample::Index>()) {
        let mut tree = tree_of(steps, head, None, "anthropic");
        tree.key = Some(key());
        let directory = tempfile::tempdir().unwrap();
        write_below(directory.path(), "agent-voice", &tree);

        let mut read = Tree::default();
        for entry in fs::read_dir(directory.path().join("agentvoice/conversations")).unwrap() {
            let one = open(&entry.unwrap().path(), Some(key())).unwrap();
            read.conversations = one.conversations;
            for mut message in one.messages {
                message.source.clear();
                if read.messages.iter().all(|known| known.id != message.id) {
                    read.messages.push(message);
                }
            }
        }
        read.messages.sort_by(|a, b| a.id.cmp(&b.id));
        read.key = Some(key());
        prop_assert_eq!(read, tree);
    }
}
