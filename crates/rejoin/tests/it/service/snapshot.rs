//! Snapshots: replaced, gone with the final record, and made again when they are torn.

use std::sync::Arc;

use rejoin::service::{ConversationRecordInput, RecoverySnapshot};
use rejoin::store::{BlobNames, MemoryStore, Put, Safety, Space, Store};
use rejoin::testing::Place;
use rejoin::{ErrorKind, Fields, Json};

use super::{BEGAN, everywhere, frame, id_of, input, open, said};
use crate::stores::Memory;
use crate::vault::{InnerPlace, sealed};

const NAME: &[u8] = b"service.snapshot";

fn snapshot(word: &str) -> RecoverySnapshot {
    let mut extra = Fields::new();
    extra.set("sessionState", Json::parse(r#"{"phase":"Listening"}"#).unwrap());
    RecoverySnapshot { conversation_id: id_of(1), saved_at: BEGAN, messages: vec![frame(2, word)], extra }
}

#[test]
fn a_snapshot_replaces_the_one_before_and_survives_a_restart() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "one")).unwrap();
        service.commit_snapshot(&snapshot("The lint")).unwrap();
        service.commit_snapshot(&snapshot("The lint step")).unwrap();
        drop(service);

        let restored = open(place).get_snapshot(&id_of(1)).unwrap();

        assert_eq!(restored, Some(snapshot("The lint step")));
        assert_eq!(said(&open(place), 1), ["Why is the build failing?"]);
    });
}

#[test]
fn the_final_record_takes_the_snapshot_away_and_has_what_it_had() {
    everywhere(|place| {
        open(place).create_record(&input(1, "one")).unwrap();
        open(place).commit_snapshot(&snapshot("The lint step is failing.")).unwrap();
        let service = open(place);
        let restored = service.get_snapshot(&id_of(1)).unwrap().unwrap();
        let before = service.get_record(&id_of(1)).unwrap().unwrap();
        let mut last = ConversationRecordInput::from(before);
        last.messages.extend(restored.messages);

        let committed = [(); 2].map(|()| service.commit_conversation(&last).unwrap().messages.len());

        assert_eq!((committed, service.get_snapshot(&id_of(1)).unwrap()), ([2, 2], None));
        assert_eq!(said(&service, 1), ["Why is the build failing?", "The lint step is failing."]);
    });
}

#[test]
fn a_snapshot_without_a_record_is_refused() {
    everywhere(|place| {
        let refused = open(place).commit_snapshot(&snapshot("word")).unwrap_err();

        assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused:?}");
        assert_eq!(open(place).get_snapshot(&id_of(1)).unwrap(), None);
    });
}

#[test]
fn a_snapshot_goes_with_its_record() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "one")).unwrap();
        service.commit_snapshot(&snapshot("word")).unwrap();

        service.delete_record(&id_of(1), rejoin::PurgeReason::UserRequested).unwrap();

        assert_eq!(service.get_snapshot(&id_of(1)).unwrap(), None);
    });
}

/// Changes the stored snapshot behind the service.
fn alter(store: &dyn Store, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let owner = Some(id_of(1).parse().unwrap());
    let mut bytes = Vec::new();
    let get = store.get(Space::State, owner, BlobNames::One(NAME), &mut |_, found| {
        bytes = found.to_vec();
        Ok(())
    });
    get.unwrap();
    let put = Put { space: Space::State, owner, name: NAME, bytes: Some(&change(bytes)) };
    store.put(&[put], Safety::Synced).unwrap();
}

/// Cuts the stored snapshot in half.
fn tear(store: &dyn Store) {
    alter(store, |bytes| bytes[..bytes.len() / 2].to_vec());
}

#[test]
fn a_snapshot_of_a_newer_version_is_refused_and_stays() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "one")).unwrap();
        service.commit_snapshot(&snapshot("The lint")).unwrap();
        let newer = br#"{"version":2,"snapshot":"in another form"}"#;
        alter(place.open().as_ref(), |_| newer.to_vec());

        let refused = service.get_snapshot(&id_of(1)).unwrap_err();

        let told = "the snapshot has version `2`, this program reads up to `1`";
        assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::Unsupported, told));
        alter(place.open().as_ref(), |bytes| {
            assert_eq!(bytes, newer);
            bytes
        });
    });
}

#[test]
fn a_torn_snapshot_is_made_again_from_the_record() {
    everywhere(|place| {
        let service = open(place);
        let record = service.create_record(&input(1, "one")).unwrap();
        service.commit_snapshot(&snapshot("The lint")).unwrap();
        tear(place.open().as_ref());

        let recreated = service.get_snapshot(&id_of(1)).unwrap();
        service.commit_snapshot(&snapshot("The lint step")).unwrap();

        let expected = RecoverySnapshot {
            conversation_id: id_of(1),
            saved_at: record.last_interaction_at,
            ..RecoverySnapshot::default()
        };
        assert_eq!(recreated, Some(expected));
        assert_eq!(service.get_snapshot(&id_of(1)).unwrap(), Some(snapshot("The lint step")));
    });
}

#[test]
fn a_snapshot_that_was_damaged_in_its_vault_is_made_again_and_can_be_replaced() {
    let inner = Memory(MemoryStore::new());
    let vault = || Arc::new(sealed(inner.inner()));
    let service = rejoin::service::ConversationStorageService::new(rejoin::Archive::with_vault(vault()));
    service.create_record(&input(1, "one")).unwrap();
    service.commit_snapshot(&snapshot("The lint")).unwrap();
    let row = inner
        .open()
        .list(&rejoin::store::ListQuery { limit: 1, ..Default::default() })
        .unwrap()
        .items
        .remove(0);
    let mut found = Vec::new();
    let get = inner.open().get(Space::State, Some(row.id), BlobNames::ALL, &mut |name, bytes| {
        found.push((name.to_vec(), bytes.to_vec()));
        Ok(())
    });
    get.unwrap();
    let (name, mut bytes) = found.remove(0);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let put = Put { space: Space::State, owner: Some(row.id), name: &name, bytes: Some(&bytes) };
    inner.open().put(&[put], Safety::Synced).unwrap();

    let recreated = service.get_snapshot(&id_of(1)).unwrap().unwrap();
    service.commit_snapshot(&snapshot("The lint step")).unwrap();

    assert_eq!((recreated.conversation_id, recreated.messages.len()), (id_of(1), 0));
    assert_eq!(service.get_snapshot(&id_of(1)).unwrap(), Some(snapshot("The lint step")));
}
