//! What a vault says about what leaves it: exports, hashed tokens, paths.

use std::sync::Arc;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{BlobNames, MemoryStore, Read, Space, Store};
use rejoin::vault::VaultStore;
use rejoin::{
    Archive, Conversation, ErrorKind, Extent, Import, ImportMode, List, Message, Origin, Project, Redaction,
    Search, Time,
};

use crate::vault::sealed;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn vault() -> Arc<VaultStore> {
    Arc::new(sealed(Arc::new(MemoryStore::new())))
}

fn redacting(archive: Archive) -> Archive {
    archive.with_redaction(Redaction::new())
}

#[test]
fn what_begins_in_a_vault_is_not_exported_until_somebody_allows_it() {
    let archives = [Archive::with_vault(vault()), Archive::with_store(Arc::new(MemoryStore::new()))];

    let exported = archives.map(|archive| {
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        talk.append(Message::user("Where to eat?")).unwrap();
        let before = archive.exports().tree(talk.id(), Extent::Tree).map(|tree| tree.conversations.len());
        archive.update(talk.id(), |header| header.privacy.exportable = true).unwrap();
        let after = archive.exports().tree(talk.id(), Extent::Tree).unwrap().conversations.len();
        (before.map_err(|error| error.kind()), after)
    });

    assert_eq!(exported, [(Err(ErrorKind::Invalid), 1), (Ok(1), 1)]);
}

#[test]
fn what_is_imported_into_a_vault_is_not_exported_either() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("talk.json");
    let plain = Archive::with_store(Arc::new(MemoryStore::new()));
    let mut talk = plain.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("Where to eat?")).unwrap();
    let format = Format::named("json").unwrap();
    let tree = plain.exports().tree_for(format, talk.id(), Extent::Tree).unwrap();
    std::fs::write(&file, &format.write(&tree).unwrap()[0].bytes).unwrap();
    let archive = Archive::with_vault(vault());

    let mut how = Import {
        limits: ReadLimits::default(),
        mode: ImportMode::Store,
        project: &|path| path.to_owned(),
        progress: &mut |_| {},
    };
    archive.imports().add(&Source::open(&file).unwrap(), format, &mut how).unwrap();

    let listed = archive.list(&List::default()).unwrap().items;
    assert_eq!(
        listed.iter().map(|stored| stored.conversation.privacy.exportable).collect::<Vec<_>>(),
        [false]
    );
}

/// What stands for the token in a message.
fn marker(archive: &Archive) -> String {
    let mut talk = archive.start(Conversation::default()).unwrap();
    talk.append(Message::user(TOKEN)).unwrap();
    archive.path(talk.id(), None).unwrap()[0].message.text()
}

#[test]
fn hashed_tokens_of_a_vault_are_keyed_by_its_own_keys_and_no_key_is_stored() {
    let (one, other) = (vault(), vault());

    let [first, second, plain] = [
        Archive::with_vault(one.clone()),
        Archive::with_vault(other),
        Archive::with_store(Arc::new(MemoryStore::new())),
    ]
    .map(|archive| marker(&redacting(archive)));

    // Both vaults of the test have the same keys.
    assert_eq!(first, second);
    assert_ne!(first, plain);
    let mut stored = Vec::new();
    let get = one.get(Space::State, None, BlobNames::ALL, &mut |name, _| {
        stored.push(name.to_vec());
        Ok(())
    });
    get.unwrap();
    assert_eq!(stored, Vec::<Vec<u8>>::new());
}

#[test]
fn a_secret_in_a_path_is_not_stored_and_its_project_is_found_all_the_same() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let archive = redacting(Archive::with_store(store.clone()));
    let path = format!("/home/ada/{TOKEN}/trip");
    let origin = Origin {
        format: "codex".to_owned(),
        read_as: None,
        source_id: "1".to_owned(),
        source_path: Some(format!("{path}/rollout.jsonl")),
        imported_at: Time::default(),
    };
    let header = Conversation { origin: Some(origin), ..Conversation::titled("Lisbon") }.in_project(&path);
    archive
        .projects()
        .remember(&Project { key: path.clone(), path: path.clone(), first_commit: None })
        .unwrap();

    let mut talk = archive.start(header).unwrap();
    talk.append(Message::user("hello")).unwrap();
    archive.state().remember(&format!("active:{path}"), Some(&talk.id().to_string())).unwrap();

    let listed = archive.list(&List { project: Some(path.clone()), ..List::default() }).unwrap().items;
    let search = Search { text: "hello".to_owned(), project: Some(path.clone()), ..Search::default() };
    assert_eq!(listed.iter().map(|stored| stored.id).collect::<Vec<_>>(), [talk.id()]);
    assert_eq!(archive.search(&search).unwrap().items.len(), 1);
    assert_eq!(archive.state().recall(&format!("active:{path}")).unwrap(), Some(talk.id().to_string()));
    assert!(archive.projects().get(&path).unwrap().is_some());
    let seen = crate::look::visible(store.as_ref()).unwrap();
    let blobs = seen.blobs.iter().flat_map(|blob| [&blob.name, &blob.bytes]);
    let blobs: String = blobs.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let whole = format!("{:?}{blobs}", seen.conversations);
    assert!(!whole.contains(TOKEN) && whole.contains("[redacted:github-token:"), "{whole}");
}
