//! Agent Voice: `agentvoice/conversations/<hash of the id>.vpconv`, an encrypted record per conversation.
//!
//! ```text
//! sealed   {"conversationId":…,"schemaVersion":1,"cipherText":…,"iv":…,"authTag":…,"checksum":…}
//! open     {"conversationId":…,"version":1,"title":…,"messages":[{"frameId":…,"sequence":1,…}],…}
//! ```
//!
//! The cipher text of an envelope is the plain record, encrypted with AES-256-GCM. The program keeps the key
//! in the editor's secret storage under `agentvoice.conversation.key`. With that key, envelopes are read and
//! written; plain records are read without a key and written if none is given. A record holds only what a
//! person and an assistant said. Everything else is stored in fields of a frame that the program ignores.

mod envelope;
pub(crate) mod frame;
mod read;
pub(crate) mod record;
pub(crate) mod schema;
pub(crate) mod string_enum;
mod write;

use crate::formats::raw_object::RawObject;
use crate::formats::{Detection, Format, Source};

/// The version of the record that is written.
const VERSION: u64 = 1;

/// Conversations of Agent Voice.
pub(super) const FORMAT: Format = Format {
    name: "agent-voice",
    program: "Agent Voice",
    places: &[
        "~/.config/Code/User/workspaceStorage",
        "~/.vscode-server/data/User/workspaceStorage",
        "~/Library/Application Support/Code/User/workspaceStorage",
    ],
    fidelity: "A record is a line of frames: every branch but the chosen one is written to a record of its \
               own, and reading all of them gives the tree again. Frames are by a person or an assistant: \
               instructions and tools speak as the assistant there. The files of attachments and sounds are \
               named and not copied. Snapshots for recovery are not read. Holds, origins and compactions \
               that were undone stay in the store.",
    expects: "a record whose `messages` have `content`",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// Recognises the leading fields of a record or an envelope. A record may be longer than the head.
fn detect(source: &Source) -> Detection {
    if source.is_directory() {
        return Detection::No;
    }
    let Ok(head) = str::from_utf8(&source.head()[..boundary(source.head())]) else { return Detection::No };
    let is_whole = serde_json::from_str::<RawObject<'_>>(head).is_ok_and(|mut found| {
        let is_sealed = found.raw("cipherText").is_some() && found.raw("authTag").is_some();
        found.raw("conversationId").is_some() && (is_sealed || is_record(&mut found))
    });
    let begins = || {
        let start = head.trim_start();
        let has = |name: &str| head.contains(&format!("\"{name}\""));
        source.bytes() > head.len() as u64
            && start.starts_with('{')
            && has("conversationId")
            && ((has("cipherText") && has("schemaVersion")) || (has("frameId") && has("participants")))
    };
    if is_whole || begins() { Detection::Yes } else { Detection::No }
}

/// True for an envelope, by its leading fields.
pub(super) fn is_sealed(source: &Source) -> bool {
    detect(source) == Detection::Yes && memchr::memmem::find(source.head(), b"\"cipherText\"").is_some()
}

fn is_record(found: &mut RawObject<'_>) -> bool {
    found.raw("messages").is_some() && found.raw("participants").is_some()
}

/// Returns the end of the last complete character.
fn boundary(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    }
}
