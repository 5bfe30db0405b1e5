//! The same bytes, attached by two at once or while somebody erases them: nobody ends with half of them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rejoin::store::{BlobNames, Children, JsonlStore, Put, Read, Safety, Space, SqliteStore, Store};
use rejoin::{
    Archive, AttachmentKind, Block, Conversation, ConversationId, ErrorKind, Fields, Limits, Media,
    MediaKind, Message, PurgeReason, Result, Role,
};

use super::moody::{Mood, Moody};
use super::{Lab, archive_in};

/// Three chunks of the one, and five of the other.
static BYTES: [u8; 30_000] = [7; 30_000];
const SIZES: [u64; 2] = [10_000, 7_000];

fn open(kind: &str, directory: &Path) -> Box<dyn Store> {
    match kind {
        "sqlite" => Box::new(SqliteStore::open(directory.join("store.db")).unwrap()),
        _ => Box::new(JsonlStore::open(directory.join("files")).unwrap()),
    }
}

fn cutting(store: Arc<dyn Store>, size: u64) -> Archive {
    Archive::with_store(store).with_limits(Limits { attachment_chunk_bytes: size, ..Limits::default() })
}

/// Attaches the bytes, with a message that refers to them.
fn attach(archive: &Archive, id: ConversationId) -> Result<()> {
    let attached = archive.attachments().add(id, AttachmentKind::Document, &mut &BYTES[..])?;
    let block = Block::Media(attached.to_media("application/octet-stream"));
    archive.resume(id)?.append(Message::new(Role::User, vec![block])).map(drop)
}

fn is_whole(archive: &Archive, id: ConversationId) -> bool {
    let attached = archive.attachments().list(id).unwrap();
    attached.iter().all(|one| {
        let mut bytes = Vec::new();
        archive.attachments().read(id, one.digest, &mut bytes).is_ok() && bytes == BYTES
    })
}

/// One attaches; at one of its writes another begins, cuts the bytes differently, and dies at one of its own.
fn interleave(kind: &str, begins: usize, dies: usize) -> (bool, bool, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let stores = [(); 2].map(|()| Arc::new(Moody::around(open(kind, directory.path()))));
    let [one, other] = [0, 1].map(|place| cutting(stores[place].clone(), SIZES[place]));
    let id = one
        .start(Conversation::titled("Lisbon"))
        .and_then(|mut talk| talk.append(Message::user("Look.")).map(|_| talk.id()))
        .unwrap();
    let (own, moody) = (AtomicUsize::new(0), Arc::clone(&stores[1]));
    stores[1].while_writing(move || {
        if own.fetch_add(1, Ordering::Relaxed) >= dies {
            moody.set(Mood::Failing(ErrorKind::Unavailable));
        }
    });
    let count = AtomicUsize::new(0);
    stores[0].while_writing(move || {
        if count.fetch_add(1, Ordering::Relaxed) == begins {
            // It may die.
            let _ = attach(&other, id);
        }
    });

    let is_stored = attach(&one, id).is_ok();

    stores[0].while_writing(|| ());
    (is_stored, is_whole(&one, id), one.maintenance().verify(id).unwrap().faults)
}

#[test]
fn two_who_cut_the_same_bytes_differently_do_not_damage_them() {
    let all: Vec<_> = ["sqlite", "jsonl"]
        .into_iter()
        .flat_map(|kind| {
            (0..6).flat_map(move |begins| [0, 1, 2, 4, 6, 9].map(|dies| interleave(kind, begins, dies)))
        })
        .collect();

    assert_eq!(all, vec![(true, true, vec![]); 72]);
}

#[test]
fn two_threads_that_cut_the_same_bytes_differently_do_not_damage_them() {
    let directory = tempfile::tempdir().unwrap();
    let archives = SIZES
        .map(|size| cutting(Arc::new(SqliteStore::open(directory.path().join("store.db")).unwrap()), size));
    let ids: Vec<_> = (0..10)
        .map(|_| {
            let mut talk = archives[0].start(Conversation::titled("Lisbon")).unwrap();
            talk.append(Message::user("Look.")).unwrap();
            talk.id()
        })
        .collect();

    thread::scope(|scope| {
        for archive in &archives {
            scope.spawn(|| ids.iter().for_each(|id| attach(archive, *id).unwrap()));
        }
    });

    for id in ids {
        assert_eq!(archives[0].maintenance().verify(id).unwrap().faults, [""; 0]);
        assert!(is_whole(&archives[1], id));
    }
}

fn image() -> Message {
    let data = Some(STANDARD.encode(vec![9; 1_000_001]));
    let media = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data,
        uri: None,
        extra: Fields::new(),
    };
    Message::new(Role::User, vec![Block::Media(media)])
}

/// A conversation with an image that nothing refers to any more, which is not erased yet.
fn leftover(archive: &Archive, store: &dyn Store) -> ConversationId {
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("Look.")).unwrap();
    let said = talk.append(image()).unwrap().head;
    let (id, target) = (talk.id(), [said]);
    let target =
        rejoin::store::Target::Messages { conversation: id, ids: &target, children: Children::Refuse };
    store.remove(&[target], "test", archive.now()).unwrap();
    id
}

#[test]
fn what_is_attached_again_while_it_is_erased_stays() {
    for kind in ["sqlite", "jsonl"] {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Moody::around(open(kind, directory.path())));
        let eraser = Archive::with_store(store.clone());
        let other = Archive::with_store(Arc::from(open(kind, directory.path())));
        let id = leftover(&eraser, store.as_ref());
        let count = AtomicUsize::new(0);
        let writer = other.clone();
        store.while_writing(move || {
            // It looked, and is about to erase.
            if count.fetch_add(1, Ordering::Relaxed) == 0 {
                writer.resume(id).unwrap().append(image()).unwrap();
            }
        });

        let erased = eraser.attachments().erase_unused(id).unwrap();

        assert_eq!((erased, other.maintenance().verify(id).unwrap().faults), (vec![], vec![]));
        assert_eq!(other.path(id, None).unwrap()[1].message.blocks, image().blocks);
    }
}

#[test]
fn what_is_erased_between_a_look_and_the_turn_is_stored_again() {
    let store = Arc::new(Moody::new());
    let archive = Archive::with_store(store.clone());
    let id = leftover(&archive, store.as_ref());
    let (count, eraser) = (AtomicUsize::new(0), store.clone());
    store.while_writing(move || {
        // The card was the first write, and the turn is the second.
        if count.fetch_add(1, Ordering::Relaxed) == 1 {
            let mut names = Vec::new();
            let visit = &mut |name: &[u8], _: &[u8]| {
                names.push(name.to_vec());
                Ok(())
            };
            eraser.get(Space::Attachment, Some(id), BlobNames::ALL, visit).unwrap();
            let gone = |name| Put { space: Space::Attachment, owner: Some(id), name, bytes: None };
            let gone: Vec<_> = names.iter().map(|name| gone(name)).collect();
            eraser.put(&gone, Safety::Synced).unwrap();
        }
    });

    archive.resume(id).unwrap().append(image()).unwrap();

    assert_eq!(archive.maintenance().verify(id).unwrap().faults, [""; 0]);
    assert_eq!(archive.path(id, None).unwrap()[1].message.blocks, image().blocks);
}

#[test]
fn attachments_are_counted_where_bytes_are() {
    let archive = archive_in(&Lab::new());
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("Look.")).unwrap();
    let said = talk.append(image()).unwrap().head;
    let all = archive.conversation(talk.id()).unwrap().bytes + 1_000_001;

    let stats = archive.reader().stats(None, &mut |_| ()).unwrap().all.bytes;
    let deleted =
        archive.removal().delete_messages(talk.id(), &[said], Children::Refuse, "test").unwrap().bytes;
    let left = archive.conversation(talk.id()).unwrap().bytes;
    archive.resume(talk.id()).unwrap().append(image()).unwrap();
    let purged = archive.removal().purge(&[talk.id()], PurgeReason::UserRequested, &mut |_| ()).bytes;

    assert_eq!((stats, deleted + left, purged), (all, all, all));
}
