//! The envelope of an encrypted record.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::formats::agent_voice::VERSION;
use crate::formats::raw_object::RawObject;
use crate::formats::{Key, encoding};
use crate::model::Time;

/// The length of the authentication tag.
const TAG: usize = 16;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SealedEnvelope<'a> {
    conversation_id: &'a str,
    schema_version: u64,
    cipher_text: String,
    iv: String,
    auth_tag: String,
    created_at: Time,
    checksum: String,
}

/// True for the text of an envelope.
pub(super) fn is_sealed(text: &str) -> bool {
    serde_json::from_str::<RawObject<'_>>(text).is_ok_and(|mut found| found.raw("cipherText").is_some())
}

/// Decrypts an envelope.
pub(super) fn open(text: &str, key: &Key) -> Result<String> {
    let mut found: RawObject<'_> =
        serde_json::from_str(text).map_err(|cause| Error::corrupt("read an envelope").because(cause))?;
    let version: Option<u64> = crate::formats::tag::read(found.raw("schemaVersion"));
    if version.is_some_and(|version| version > VERSION) {
        return Err(Error::new(
            crate::ErrorKind::Unsupported,
            format!(
                "the envelope has the version {}; {VERSION} is the newest known",
                version.unwrap_or_default()
            ),
        ));
    }
    let mut bytes = |name: &str| {
        let bytes = found.text(name).and_then(|text| STANDARD.decode(text).ok());
        bytes.ok_or_else(|| Error::corrupt(format!("`{name}` of the envelope is not base64")))
    };
    let (mut sealed, nonce, tag) = (bytes("cipherText")?, bytes("iv")?, bytes("authTag")?);
    let nonce: [u8; NONCE_LEN] = nonce
        .try_into()
        .map_err(|_| Error::corrupt(format!("`iv` of the envelope does not have {NONCE_LEN} bytes")))?;
    if tag.len() != TAG {
        return Err(Error::corrupt(format!("`authTag` of the envelope does not have {TAG} bytes")));
    }
    sealed.extend_from_slice(&tag);
    let plain = cipher(key)
        .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        .map_err(|_| Error::corrupt("the key does not decrypt the record, or the record was changed"))?;
    if found.text("checksum").is_some_and(|checksum| !checksum.eq_ignore_ascii_case(&hash(plain))) {
        return Err(Error::corrupt("the record does not match the checksum of its envelope"));
    }
    let plain = plain.to_vec();
    String::from_utf8(plain).map_err(|cause| Error::corrupt("read the sealed record as text").because(cause))
}

/// Encrypts a record.
pub(super) fn seal(conversation_id: &str, created_at: Time, record: &str, key: &Key) -> Result<String> {
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce)
        .map_err(|cause| Error::new(crate::ErrorKind::Unavailable, "draw a random number").because(cause))?;
    let mut sealed = record.as_bytes().to_vec();
    let tag = cipher(key)
        .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        .map_err(|_| Error::invalid("the record is too long to be sealed"))?;
    let envelope = SealedEnvelope {
        conversation_id,
        schema_version: VERSION,
        cipher_text: STANDARD.encode(&sealed),
        iv: STANDARD.encode(nonce),
        auth_tag: STANDARD.encode(tag.as_ref()),
        created_at,
        checksum: hash(record.as_bytes()),
    };
    Ok(serde_json::to_string(&envelope).expect("an envelope is plain data"))
}

fn cipher(key: &Key) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_bytes()).expect("a key has 32 bytes"))
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    encoding::hex(&Sha256::digest(bytes))
}
