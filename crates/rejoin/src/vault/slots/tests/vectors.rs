//! Slots against what another program made of the document.

use serde_json::Value;

use crate::store::sealed::{SealingKey, Workspace};
use crate::vault::slots::passphrase::PassphraseCost;
use crate::vault::slots::record::KeysRecord;
use crate::vault::slots::{Secret, recovery};

const VECTORS: &str = include_str!("../../../../tests/fixtures/vault/vectors.json");

fn vector(name: &str) -> String {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    vectors[name].as_str().unwrap().to_owned()
}

fn hex(key: &SealingKey) -> String {
    key.expose().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_record_is_written_as_the_other_program_writes_it() {
    let text = vector("record");
    let (record, _) = KeysRecord::parse(text.as_bytes()).unwrap();
    let key = |from: u8| SealingKey::from_slice(&(from..from + 32).collect::<Vec<_>>()).unwrap();
    let workspace = Workspace::of(record.vault.to_key_id(), 1, record.key(), key(0), key(32));

    let written = record.to_bytes(&workspace);

    assert_eq!(String::from_utf8(written).unwrap(), text);
}

#[test]
fn slot_keys_are_those_of_the_other_program() {
    let figures: Value = serde_json::from_str(&vector("record")).unwrap();
    let figures: PassphraseCost = serde_json::from_value(figures["slots"][0]["argon2"].clone()).unwrap();
    let secret = Secret::new((96..128).collect());
    let of_recovery = SealingKey::from_slice(secret.as_bytes()).unwrap().derive("rejoin/vault/recovery/1\n");

    let of_passphrase = figures.key(&Secret::from("correct horse".to_owned())).unwrap();

    assert_eq!(
        [hex(&of_passphrase), hex(&of_recovery), recovery::to_text(&secret).as_text().unwrap().to_owned()],
        ["passphrase key", "recovery slot key", "recovery"].map(vector)
    );
}
