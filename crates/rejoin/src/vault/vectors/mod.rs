//! The vault's bytes against vectors that another program made from the document alone.

mod whole;

use serde_json::{Value, json};

use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::Space;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key::{KeyId, SealingKey};
use crate::store::sealed::keys::names::message_bytes;
use crate::store::sealed::keys::workspace::Workspace;
use crate::store::sealed::records::mark::{ResealMark, ResealStage, open_run};

const VECTORS: &str = include_str!("../../../tests/fixtures/vault/vectors.json");
/// What stands for the name of a run that seals everything anew.
const RUN: [u8; 16] = [0xe0; 16];
const DOCUMENT: &str = include_str!("../../../../../docs/vault-format.md");

/// `printf child | sha256sum` and the same of `parent`, which stand for digests.
fn digest(text: &str) -> Digest {
    use sha2::Digest as _;
    Digest::from_bytes(sha2::Sha256::digest(text).into())
}

fn counting(from: u8) -> SealingKey {
    let bytes: Vec<u8> = (from..from + 32).collect();
    SealingKey::from_slice(&bytes).unwrap()
}

fn workspace() -> Workspace {
    let [vault, id] = [0xa0, 0xb0].map(|byte| KeyId::from_bytes([byte; 16]));
    Workspace::of(vault, 1, id, counting(0), counting(32))
}

fn data_key() -> DataKey {
    DataKey::new(KeyId::from_bytes([0xc0; 16]), counting(64))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A vector as it stands, and the bytes of one that stands in hexadecimal.
fn vector(name: &str) -> String {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    vectors[name].as_str().unwrap().to_owned()
}

fn bytes(name: &str) -> Vec<u8> {
    let text = vector(name);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn conversation() -> ConversationId {
    "019f5e6a-0000-7000-8000-000000000001".parse().unwrap()
}

fn made() -> Value {
    let (workspace, key) = (workspace(), data_key());
    let names = workspace.names();
    let nonce = std::array::from_fn(|place| 200 + u8::try_from(place).unwrap());
    let inner = names.conversation(conversation());
    let ids: [MessageId; 2] = ["Ada2", "Ada1"].map(|id| id.parse().unwrap());
    let [message, parent] = ids.map(|id| names.message(inner, id));
    let (own, parents) = (message_bytes(Some(message)), message_bytes(Some(parent)));
    let source = names.blob(Space::Source, Some(inner), b"line 7");
    let times = [i64::MIN, 0, 1, 1_794_770_847_123_456, i64::MAX];

    let nonced = |context, place: &[&[u8]], inside: &[&[u8]]| {
        hex(&key.sealer(KeyUse::About).seal_with(nonce, context, place, inside))
    };

    json!({
        "sealed mark": nonced("rejoin/vault/mark/1\n", &[inner.as_bytes()], &[&RUN, &[2]]),
        "sealed reached": hex(&key.sealer(KeyUse::Blobs).seal_with(
            nonce,
            "rejoin/vault/reached/1\n",
            &[],
            &[&[1], &1_u32.to_be_bytes(), &3_u64.to_be_bytes()],
        )),
        "sealed run": nonced("rejoin/vault/run/1\n", &[], &[&RUN]),
        "wrapping": hex(workspace.key().derive("rejoin/vault/wrap/1\n").expose()),
        "slots": hex(workspace.slots_key().expose()),
        "anchor": hex(workspace.anchor_key().expose()),
        "token": hex(workspace.token_key().expose()),
        "bodies": hex(key.key().derive("rejoin/vault/body/1\n").expose()),
        "conversation": hex(inner.as_bytes()),
        "message": message,
        "branch": names.branch(inner, ids[0]),
        "source": hex(&source),
        "attachment": hex(&names.blob(Space::Attachment, None, &[5; 33])),
        "link": hex(names.link(digest("child")).as_bytes()),
        "times": times.map(|micros| names.time(Time::from_micros(micros)).as_micros()),
        "wrapped": hex(&[
            key.id().as_bytes().as_slice(),
            &workspace.wrapping().seal_with(
                nonce,
                "rejoin/vault/wrap/1\n",
                &[key.id().as_bytes(), inner.as_bytes()],
                &[key.key().expose()],
            ),
        ].concat()),
        "sealed message": hex(&key.sealer(KeyUse::Bodies).seal_with(
            nonce,
            "rejoin/vault/message/1\n",
            &[inner.as_bytes(), &own, &parents],
            &[
                b"\x04Ada2\x04Ada1",
                digest("child").as_bytes(),
                digest("parent").as_bytes(),
                &7u32.to_be_bytes(),
                &6u32.to_be_bytes(),
                &[1],
                br#"{"role":"user"}"#,
            ],
        )),
        "sealed note": hex(&key.sealer(KeyUse::About).seal_with(
            nonce,
            "rejoin/vault/note/1\n",
            &[inner.as_bytes(), &own],
            &[br#"{"label":"x","pinned":true}"#],
        )),
        "sealed blob": hex(&key.sealer(KeyUse::Blobs).seal_with(
            nonce,
            "rejoin/vault/blob/1\n",
            &[&[4], inner.as_bytes(), &source],
            &[&6u32.to_be_bytes(), b"line 7", b"bytes"],
        )),
    })
}

#[test]
fn another_program_makes_the_same_bytes_of_the_same_keys() {
    let made = made();
    let names: Vec<&String> = made.as_object().unwrap().keys().collect();
    let mut expected: Value = serde_json::from_str(VECTORS).unwrap();

    expected.as_object_mut().unwrap().retain(|name, _| names.contains(&name));

    assert_eq!(made, expected);
}

#[test]
fn what_the_other_program_says_of_a_run_is_read() {
    let inner = Some(workspace().names().conversation(conversation()));
    let read = |owner| ResealMark::open(owner, &data_key(), &bytes("sealed mark"));

    let (mark, run) = (read(inner), open_run(&data_key(), &bytes("sealed run")));

    assert_eq!((mark, run), (Ok(ResealMark::new(RUN, ResealStage::Done)), Ok(RUN)));
    assert_eq!(read(None), Err(Broken::Seal));
}

#[test]
fn the_document_shows_every_vector() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let texts = vectors.as_object().unwrap().values().flat_map(|value| match value {
        Value::Array(values) => values.iter().map(Value::to_string).collect(),
        value => vec![value.as_str().unwrap().to_owned()],
    });

    let missing: Vec<String> = texts.filter(|text| !DOCUMENT.contains(text.as_str())).collect();

    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_document_shows_every_reason_of_quarantine() {
    let reasons = [
        Broken::Shape,
        Broken::Seal,
        Broken::Inside,
        Broken::Numbers,
        Broken::Parent,
        Broken::NoKey,
        Broken::WrappedKey,
        Broken::Key(KeyId::from_bytes([0xc0; 16])),
    ];

    let missing = reasons.map(|why| why.to_string()).into_iter().filter(|why| !DOCUMENT.contains(why));

    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_the_other_program_wrapped_is_unwrapped() {
    let wrapped = bytes("wrapped");
    let inner = workspace().names().conversation(conversation());

    let keys = workspace().unwrap(&[wrapped.clone(), wrapped].concat(), Some(inner)).unwrap();

    let unwrapped: Vec<_> = keys.iter().map(|key| (key.id(), *key.key().expose())).collect();
    assert_eq!(unwrapped, [(data_key().id(), *counting(64).expose()); 2]);
}
