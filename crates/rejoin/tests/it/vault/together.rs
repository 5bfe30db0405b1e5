//! Several who have the same vault open, and keys that change meanwhile.

use std::sync::Arc;

use rejoin::Archive;
use rejoin::store::{BlobNames, MemoryStore, Put, Read, Safety, SqliteStore, Store, Target};
use rejoin::vault::{Unlock, VaultStore, Workspace};

use crate::vault::sealed;
use crate::vault::write::{NOW, conversation, messages, open, say};
use crate::vault_spaces::KEYS;

#[test]
fn several_vaults_over_one_file_append_at_once() {
    const WRITERS: u8 = 4;
    const TURNS: usize = 25;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let vault = || sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    open(&vault(), conversation(0));

    std::thread::scope(|scope| {
        for writer in 1..=WRITERS {
            scope.spawn(move || {
                let (own, store) = (conversation(writer), vault());
                open(&store, own);
                let mut last = None;
                for turn in 0..TURNS {
                    say(&store, conversation(0), &format!("w{writer}t{turn}"), None, "together").unwrap();
                    last = Some(say(&store, own, &format!("t{turn}"), last, "alone").unwrap());
                }
            });
        }
    });

    let fresh = vault();
    let counts: Vec<usize> =
        (0..=WRITERS).map(|number| messages(&fresh, conversation(number)).unwrap().len()).collect();
    assert_eq!(counts, [100, 25, 25, 25, 25]);
    let archive = Archive::with_vault(Arc::new(fresh));
    let unsound: Vec<String> = (0..=WRITERS)
        .flat_map(|number| archive.maintenance().verify(conversation(number)).unwrap().faults)
        .collect();
    assert!(unsound.is_empty(), "{unsound:?}");
    assert_eq!(archive.maintenance().survey().unwrap().conversations.len(), 5);
}

/// Opens with the key of the epoch that the record says, and with the one before.
struct Turning;

const fn key_id(epoch: u8) -> [u8; 16] {
    [epoch; 16]
}

const fn key(epoch: u8) -> [u8; 32] {
    [epoch; 32]
}

fn workspace(epoch: u8) -> Workspace {
    let own = Workspace::new(key_id(0), u64::from(epoch), key_id(epoch), &key(epoch), &[99; 32]);
    if epoch > 1 { own.with_retired(key_id(epoch - 1), &key(epoch - 1)) } else { own }
}

impl Unlock for Turning {
    fn unlock(&self, inner: &dyn Store) -> rejoin::Result<Workspace> {
        let mut epoch = 1;
        inner.get(KEYS, None, BlobNames::One(b"vault"), &mut |_, bytes| {
            epoch = bytes[0];
            Ok(())
        })?;
        Ok(workspace(epoch))
    }
}

fn rotate(inner: &dyn Store, epoch: u8) {
    let record = Put { space: KEYS, owner: None, name: b"vault", bytes: Some(&[epoch]) };
    inner.put(&[record], Safety::Synced).unwrap();
}

fn turning(inner: &Arc<MemoryStore>) -> VaultStore {
    VaultStore::open(Arc::clone(inner) as _, Arc::new(Turning)).unwrap()
}

/// The id of the workspace key that a conversation's data key is wrapped with.
fn wrapped_with(inner: &MemoryStore, number: usize) -> [u8; 16] {
    let names = crate::vault::write::inner_names(inner);
    let mut id = [0; 16];
    let get = inner.get(KEYS, Some(names[number]), BlobNames::One(b"data"), &mut |_, bytes| {
        id.copy_from_slice(&bytes[16 + 4..16 + 20]);
        Ok(())
    });
    get.unwrap();
    id
}

#[test]
fn a_conversation_that_is_opened_during_a_rotation_is_wrapped_with_the_new_key() {
    let inner = Arc::new(MemoryStore::new());
    VaultStore::found(inner.as_ref(), &workspace(1)).unwrap();
    let behind = turning(&inner);
    open(&behind, conversation(1));
    rotate(inner.as_ref(), 2);

    open(&behind, conversation(2));

    assert_eq!([wrapped_with(&inner, 0), wrapped_with(&inner, 1)], [key_id(1), key_id(2)]);
}

#[test]
fn a_key_that_is_not_known_is_looked_for_in_the_newest_record() {
    let inner = Arc::new(MemoryStore::new());
    VaultStore::found(inner.as_ref(), &workspace(1)).unwrap();
    let behind = turning(&inner);
    rotate(inner.as_ref(), 2);
    let ahead = turning(&inner);
    open(&ahead, conversation(1));
    say(&ahead, conversation(1), "a", None, "hello").unwrap();

    let read = messages(&behind, conversation(1)).unwrap();

    assert_eq!(read.len(), 1);
}

#[test]
fn a_conversation_that_was_removed_and_made_again_meanwhile_can_be_read_by_all() {
    let inner = MemoryStore::new();
    let (one, two) = (sealed(Arc::new(inner.clone())), sealed(Arc::new(inner.clone())));
    open(&one, conversation(1));
    two.remove(&[Target::Conversation(conversation(1))], "again", NOW).unwrap();
    open(&two, conversation(1));

    say(&one, conversation(1), "a", None, "with the key from before").unwrap();
    say(&two, conversation(1), "b", None, "with the new one").unwrap();

    let read =
        [&one, &two, &sealed(Arc::new(inner))].map(|vault| messages(vault, conversation(1)).unwrap().len());
    assert_eq!(read, [2, 2, 2]);
}
