//! The storage service, over every store.

mod accept;
mod bars;
mod closed;
mod events;
mod example;
mod full;
mod input;
mod list;
mod record;
mod repack;
mod snapshot;
mod sweep;
mod version;
mod waiting;

use rejoin::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, FramePrivacy,
    MessageFrame, ParticipantRef, ParticipantRole,
};
use rejoin::store::MemoryStore;
use rejoin::testing::Place;
use rejoin::{Archive, ConversationId, Fields, Role, Time};

use crate::stores::{Directory, File, Memory};
use crate::vault::Vault;

/// When the talks of these tests began.
const BEGAN: Time = Time::from_micros(1_800_000_000_000_000);

fn open(place: &dyn Place) -> ConversationStorageService {
    ConversationStorageService::new(Archive::with_store(place.open()))
}

/// Checks something on every kind of store.
fn everywhere(check: impl Fn(&dyn Place)) {
    check(&Memory(MemoryStore::new()));
    check(&File::new());
    check(&Directory::new());
    check(&Vault(File::new()));
    check(&Vault(Directory::new()));
}

fn id_of(number: u8) -> String {
    ConversationId::from_bytes([number; 16]).to_string()
}

/// A frame that says something, by the user if its number is odd.
fn frame(sequence: u64, content: &str) -> MessageFrame {
    MessageFrame {
        frame_id: format!("f{sequence}"),
        sequence,
        role: if sequence % 2 == 1 { Role::User } else { Role::Assistant },
        content: content.to_owned(),
        created_at: BEGAN.plus_micros(i64::try_from(sequence).unwrap()),
        attachments: Vec::new(),
        privacy: FramePrivacy::default(),
        audio: None,
        extra: Fields::new(),
    }
}

fn participants() -> Vec<ParticipantRef> {
    let (user, assistant) = (ParticipantRole::User, ParticipantRole::Assistant);
    [("user-default", user, "You"), ("assistant-agentvoice", assistant, "Agent Voice")]
        .map(|(id, role, name)| ParticipantRef {
            id: id.to_owned(),
            role,
            display_name: Some(name.to_owned()),
            given_role: None,
        })
        .into()
}

/// A record with one frame.
fn input(number: u8, title: &str) -> ConversationRecordInput {
    ConversationRecordInput {
        conversation_id: id_of(number),
        title: title.to_owned(),
        created_at: BEGAN,
        participants: participants(),
        messages: vec![frame(1, "Why is the build failing?")],
        ..ConversationRecordInput::default()
    }
}

fn saying(frames: Vec<MessageFrame>) -> ConversationRecordMutation {
    ConversationRecordMutation { append_messages: frames, ..ConversationRecordMutation::default() }
}

/// What the frames of a record say.
fn said(service: &ConversationStorageService, number: u8) -> Vec<String> {
    let record = service.get_record(&id_of(number)).unwrap().unwrap();
    record.messages.into_iter().map(|frame| frame.content).collect()
}
