//! The first preview of a conversation is the first thing the user said: on
//! every way in, and in every kind of store.

use std::fs;
use std::sync::Arc;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::service::{ConversationRecordInput, ConversationStorageService, MessageFrame};
use rejoin::store::{Change, Children, MemoryStore, PreviewUpdate, Store};
use rejoin::testing::Place;
use rejoin::{
    Archive, Block, Conversation, ConversationId, Extent, Import, ImportMode, Message, MessageId, Role,
    ScrubMode, Time,
};

use crate::stores::{Directory, File, Memory};
use crate::vault::Vault;

const SYSTEM: &str = "You are a careful assistant.";
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// The first preview that each kind of store shows, as the conversation is made
/// and as it is read by another handle.
fn everywhere(make: impl Fn(Arc<dyn Store>) -> ConversationId) -> Vec<[String; 2]> {
    let places: [Box<dyn Place>; 5] = [
        Box::new(Memory(MemoryStore::new())),
        Box::new(File::new()),
        Box::new(Directory::new()),
        Box::new(Vault(File::new())),
        Box::new(Vault(Directory::new())),
    ];
    let first = |place: &dyn Place| {
        let store = place.open();
        let id = make(store.clone());
        [store, place.open()].map(|store| Archive::with_store(store).conversation(id).unwrap().first)
    };
    places.iter().map(|place| first(place.as_ref())).collect()
}

fn five(text: &str) -> Vec<[String; 2]> {
    vec![[text.to_owned(), text.to_owned()]; 5]
}

fn system() -> Message {
    Message::new(Role::System, vec![Block::text(SYSTEM)])
}

/// A talk that begins with what no list should show.
fn talk() -> Vec<Message> {
    vec![
        system(),
        Message::assistant("How can I help?"),
        Message::user("Where is my bicycle?"),
        Message::assistant("In the shed."),
        Message::user("And my car?"),
    ]
}

/// A conversation of these messages, and what they are called.
fn stored(archive: &Archive, messages: Vec<Message>) -> (ConversationId, Vec<MessageId>) {
    let mut handle = archive.start(Conversation::titled("Vehicles")).unwrap();
    handle.append_turn(messages).unwrap();
    let ids = archive.path(handle.id(), None).unwrap().iter().map(|stored| stored.id).collect();
    (handle.id(), ids)
}

fn delete(archive: &Archive, id: ConversationId, messages: &[MessageId]) {
    archive.removal().delete_messages(id, messages, Children::Remove, "user-requested").unwrap();
}

#[test]
fn of_what_a_handle_appends() {
    let shown = everywhere(|store| stored(&Archive::with_store(store), talk()).0);

    assert_eq!(shown, five("Where is my bicycle?"));
}

#[test]
fn of_what_a_handle_appends_one_by_one_to_a_draft() {
    let shown = everywhere(|store| {
        let mut handle = Archive::with_store(store).draft(Conversation::titled("Vehicles")).unwrap();
        talk().into_iter().for_each(|message| drop(handle.append(message).unwrap()));
        handle.id()
    });

    assert_eq!(shown, five("Where is my bicycle?"));
}

#[test]
fn of_what_a_recorder_saves() {
    let shown = everywhere(|store| {
        let archive = Archive::with_store(store);
        let handle = archive.start(Conversation::titled("Vehicles")).unwrap();
        let id = handle.id();
        let mut recorder = archive.record(handle, "1@1");
        talk().into_iter().for_each(|message| drop(recorder.append(vec![message]).unwrap()));
        id
    });

    assert_eq!(shown, five("Where is my bicycle?"));
}

#[test]
fn of_what_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let other = Archive::open("memory:").unwrap();
    let tree = other.exports().tree(stored(&other, talk()).0, Extent::Tree).unwrap();
    let written = Format::named("json").unwrap().write(&tree).unwrap();
    let path = directory.path().join("vehicles.json");
    fs::write(&path, &written[0].bytes).unwrap();

    let shown = everywhere(|store| {
        let (archive, source) = (Archive::with_store(store), Source::open(&path).unwrap());
        let mut how = Import {
            limits: ReadLimits::default(),
            mode: ImportMode::Store,
            project: &str::to_owned,
            progress: &mut |_| {},
        };
        archive.imports().add(&source, Format::of(&source).unwrap(), &mut how).unwrap();
        archive.maintenance().survey().unwrap().conversations[0]
    });

    assert_eq!(shown, five("Where is my bicycle?"));
}

#[test]
fn of_what_was_scrubbed() {
    let shown = everywhere(|store| {
        let archive = Archive::with_store(store);
        let token = Message::user(format!("Is {TOKEN} good?"));
        let (id, _) = stored(&archive, vec![system(), token, Message::user("And my car?")]);
        archive.removal().scrub(id, ScrubMode::Replace).unwrap();
        id
    });

    let kept: Vec<bool> = shown.iter().flatten().map(|first| first.starts_with("Is [")).collect();
    assert_eq!((kept, shown.iter().flatten().any(|first| first.contains(TOKEN))), (vec![true; 10], false));
}

#[test]
fn of_what_was_scrubbed_after_it_showed_a_system_prompt() {
    let shown = everywhere(|store| {
        let archive = Archive::with_store(store.clone());
        let (id, _) = stored(&archive, talk());
        let older = Change::Rewrite {
            messages: &[],
            previews: PreviewUpdate { first: SYSTEM, last: "In the shed." },
        };
        store.amend(id, None, &older, archive.now()).unwrap();
        archive.removal().scrub(id, ScrubMode::Replace).unwrap();
        id
    });

    assert_eq!(shown, five("Where is my bicycle?"));
}

#[test]
fn of_what_is_left_after_a_removal() {
    let shown = everywhere(|store| {
        let archive = Archive::with_store(store);
        let (id, _) = stored(&archive, vec![system(), Message::assistant("How can I help?")]);
        let mut handle = archive.resume(id).unwrap();
        let first = handle.append(Message::user("Where is my bicycle?")).unwrap().head;
        archive.rewind(id, archive.path(id, None).unwrap()[1].id).unwrap();
        archive.resume(id).unwrap().append(Message::user("And my car?")).unwrap();
        delete(&archive, id, &[first]);
        id
    });

    assert_eq!(shown, five("And my car?"));
}

#[test]
fn of_what_is_said_after_everything_said_was_removed() {
    let (bare, again) = (
        everywhere(|store| {
            let archive = Archive::with_store(store);
            let (id, messages) = stored(&archive, talk());
            delete(&archive, id, &messages[2..]);
            id
        }),
        everywhere(|store| {
            let archive = Archive::with_store(store);
            let (id, messages) = stored(&archive, talk());
            delete(&archive, id, &messages[2..]);
            archive.resume(id).unwrap().append(Message::user("And my car?")).unwrap();
            id
        }),
    );

    assert_eq!((bare, again), (five(""), five("And my car?")));
}

#[test]
fn of_what_the_service_commits() {
    let frame = |(sequence, message): (u64, Message)| MessageFrame {
        frame_id: format!("f{sequence}"),
        sequence,
        role: message.role,
        content: message.text(),
        created_at: Time::from_micros(1_800_000_000_000_000),
        attachments: Vec::new(),
        privacy: Default::default(),
        audio: None,
        extra: Default::default(),
    };
    let id = ConversationId::from_bytes([1; 16]);
    let record = ConversationRecordInput {
        conversation_id: id.to_string(),
        title: "Vehicles".to_owned(),
        // A record has no other roles.
        messages: (1..).zip(talk().split_off(1)).map(frame).collect(),
        ..ConversationRecordInput::default()
    };

    let shown = everywhere(|store| {
        let service = ConversationStorageService::new(Archive::with_store(store));
        service.commit_conversation(&record).unwrap();
        id
    });

    assert_eq!(shown, five("Where is my bicycle?"));
}
