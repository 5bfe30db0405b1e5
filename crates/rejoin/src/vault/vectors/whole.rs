//! A whole vault of another program's bytes: it opens, tells what is in it, and
//! what Rejoin writes of it is the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{bytes, conversation, data_key, digest, hex, vector, workspace};
use crate::error::Result;
use crate::model::{ConversationId, Head, Hold, MessageId, Status, Time, WordQuery};
use crate::store::backend::{
    Append, Backend, Batch, CommitHint, Edit, LogEntry, NewConversation, NewMessage,
};
use crate::store::index::{DraftSegment, Ids};
use crate::store::sealed::keys::data_key::KeyUse;
use crate::store::sealed::keys::encoding::from_text;
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::records::named::{NAME, seal_name};
use crate::store::sealed::records::numbers::ConversationNumbers;
use crate::store::sealed::records::row::{FIRST, HEADER, LAST, SealedHeader, SealedTrailer, seal_first};
use crate::store::sealed::{KEYS, QUARANTINE, SEGMENTS, VaultStore};
use crate::store::{
    BlobNames, Changed, Facets, Keeper, ListQuery, MemoryStore, Order, Put, Read, Row, Safety, Selection,
    SqliteStore, Store, Target, What,
};
use crate::vault::AnchorFile;
use crate::vault::slots::{Keyholder, Secret, SecretStores, UnlockResponse};

const NOW: Time = Time::from_micros(1_794_770_847_123_457);

fn inner() -> ConversationId {
    workspace().names().conversation(conversation())
}

fn message(id: &str) -> MessageId {
    id.parse().unwrap()
}

fn facets() -> Facets {
    Facets {
        project: "/home/ada/engine".to_owned(),
        kind: "chat".to_owned(),
        slug: "lisbon".to_owned(),
        status: Status::Paused,
        hold: Hold::User,
        expires: Some(Time::from_micros(1_794_770_847_999_999)),
    }
}

/// A store that holds what the other program sealed: a conversation of one message with a note that is not
/// its own, and one conversation that was removed. `stored` makes what stands in rows of envelopes in base64.
fn fill<B: Backend>(store: &Keeper<B>, stored: fn(&str) -> Vec<u8>) {
    let (workspace, facets) = (workspace(), Facets::default());
    let names = workspace.names();
    let own = |name, bytes| Put { space: KEYS, owner: None, name, bytes: Some(bytes) };
    let record = vector("record");
    let shared = bytes("shared data key");
    store.put(&[own(b"vault", record.as_bytes()), own(b"data", &shared)], Safety::Synced).unwrap();

    let (wrapped, ids, words) = (bytes("wrapped"), bytes("sealed ids"), bytes("sealed words"));
    let of = |space, name, bytes| Put { space, owner: Some(inner()), name, bytes: Some(bytes) };
    let [header, first, last, root] =
        ["sealed header", "sealed first", "sealed last", "sealed root"].map(|name| stored(&vector(name)));
    let kept: Value = serde_json::from_str(&vector("quarantine")).unwrap();
    let label = stored(kept["record"].as_str().unwrap());
    let blobs = [
        of(KEYS, b"data", &wrapped),
        of(SEGMENTS, b"ids\0\0\0\x01", &ids),
        of(SEGMENTS, b"words\0\0\0\x01", &words),
    ];
    let message = NewMessage {
        id: names.message(inner(), message("Ada1")),
        seq: 1,
        parent: None,
        depth: 0,
        turn: 1,
        forked: false,
        link: names.link(digest("parent")),
        label: Some(&label),
        is_pinned: false,
        body: &root,
    };
    let gone = names.conversation(gone());
    for (conversation, messages, blobs) in [(inner(), vec![message], &blobs[..]), (gone, Vec::new(), &[])] {
        let what = What::Stored { messages: messages.len() as u64 };
        let append = Append {
            conversation,
            opening: Some(NewConversation {
                facets: &facets,
                header: &header,
                created: Time::from_micros(0),
            }),
            messages,
            said: Time::from_micros(0),
            active: Time::from_micros(0),
            first: Some(&first),
            last: Some(&last),
            branch: None,
        };
        let logged = LogEntry { conversation, at: names.time(NOW), what };
        let mut batch = Some(Batch { blobs: blobs.into(), ..Batch::of(Edit::Append(append), Some(logged)) });
        let ask = CommitHint { conversation: Some(conversation), is_made: true, ..CommitHint::default() };
        store.commit(&ask, Safety::Synced, &mut |_| Ok(batch.take().unwrap())).unwrap();
    }
    store.remove(&[Target::Conversation(gone)], &vector("sealed reason"), names.time(NOW)).unwrap();
}

/// The same in a backend that stores text.
fn sealed() -> Arc<MemoryStore> {
    let store = MemoryStore::new();
    fill(&store, |text| text.as_bytes().to_vec());
    Arc::new(store)
}

/// The same in one that stores bytes.
fn sealed_in_bytes(directory: &Path) -> Arc<SqliteStore> {
    let store = SqliteStore::open(directory.join("store.db")).unwrap();
    fill(&store, |text| from_text(text).unwrap());
    Arc::new(store)
}

fn gone() -> ConversationId {
    "019f5e6a-0000-7000-8000-000000000002".parse().unwrap()
}

fn asking(answer: UnlockResponse) -> Keyholder {
    Keyholder::new(SecretStores::default()).asking(move |_| Ok(Some(answer.clone())))
}

fn passphrase() -> Keyholder {
    asking(UnlockResponse::Passphrase(Secret::from("correct horse".to_owned())))
}

fn vault() -> VaultStore {
    VaultStore::open(sealed(), Arc::new(passphrase())).unwrap()
}

/// What is inside an envelope.
fn inside(tag: &str, mut envelope: Vec<u8>) -> String {
    let inside =
        data_key().open_in_place(KeyUse::About, tag, &[inner().as_bytes()], &mut envelope).unwrap().to_vec();
    String::from_utf8(inside).unwrap()
}

#[test]
fn the_passphrase_and_the_recovery_key_open_it() {
    let recovery = asking(UnlockResponse::Recovery(Secret::from(vector("recovery"))));

    let opened = [passphrase(), recovery].map(|holder| {
        use crate::store::sealed::Unlock as _;
        let workspace = holder.unlock(sealed().as_ref()).unwrap();
        (workspace.vault(), workspace.epoch(), *workspace.key().expose(), *workspace.name_key().expose())
    });

    let known = workspace();
    let expected = (known.vault(), known.epoch(), *known.key().expose(), *known.name_key().expose());
    assert_eq!(opened, [expected; 2]);
}

#[test]
fn a_list_shows_what_its_header_and_previews_say() {
    let rows = vault().list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items;

    let expected = Row {
        id: conversation(),
        version: 1,
        facets: facets(),
        header: r#"{"title":"Lisbon"}"#.to_owned(),
        head: Some(Head { id: message("Ada1"), digest: digest("parent") }),
        branches: Vec::new(),
        created: Time::from_micros(1_794_770_847_123_456),
        active: NOW,
        messages: 1,
        bytes: rows[0].bytes,
        first: "Where to eat?".to_owned(),
        last: "Where to eat?".to_owned(),
    };
    assert_eq!(rows, [expected]);
}

#[test]
fn a_backend_of_bytes_has_the_same_without_base64() {
    let directory = tempfile::tempdir().unwrap();
    let store = sealed_in_bytes(directory.path());
    let vaults = [vault(), VaultStore::open(store, Arc::new(passphrase())).unwrap()];

    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: 9 };
    let shown = vaults.map(|vault| {
        let mut row = vault.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items.remove(0);
        row.bytes = 0;
        let mut bodies = Vec::new();
        let read = vault.read(conversation(), all, &mut |seen| {
            bodies.push((seen.id, seen.body.to_owned()));
            Ok(())
        });
        (row, bodies, read.unwrap_err().to_string())
    });

    assert_eq!(shown[0], shown[1]);
}

#[test]
fn what_it_is_called_is_written_as_the_other_program_writes_it() {
    let created = Time::from_micros(1_794_770_847_123_456);

    let written = seal_name(conversation(), created, &data_key(), inner());

    assert_eq!(
        [written, from_text(&vector("sealed name")).unwrap()].map(|envelope| inside(NAME, envelope)),
        [(); 2].map(|()| vector("name"))
    );
}

#[test]
fn headers_and_previews_are_written_as_the_other_program_writes_them() {
    let header = SealedHeader::new(
        conversation(),
        Time::from_micros(1_794_770_847_123_456),
        &facets(),
        r#"{"title":"Lisbon"}"#,
    );
    let last = SealedTrailer {
        active: NOW.as_micros(),
        head: Some(message("Ada1")),
        digest: Some(digest("parent")),
        numbers: ConversationNumbers {
            version: 1,
            next: 2,
            messages: 1,
            head: Some(1),
            branches: Vec::new(),
        },
        preview: "Where to eat?".to_owned(),
    };
    let (workspace, branch) = (workspace(), message("Ada2"));
    let branches =
        vec![(workspace.names().branch(inner(), branch), workspace.names().message(inner(), branch))];
    let numbers = ConversationNumbers { version: 3, next: 4, messages: 3, head: Some(1), branches };
    let forked = SealedTrailer { numbers, preview: last.preview.clone(), ..last };

    let written = [
        inside(HEADER, header.seal(&data_key(), inner())),
        inside(LAST, last.seal(&data_key(), inner())),
        inside(LAST, forked.seal(&data_key(), inner())),
        inside(FIRST, seal_first(b"Where to eat?", &data_key(), inner())),
    ];

    assert_eq!(
        written,
        [vector("header"), vector("last"), vector("forked last"), "Where to eat?".to_owned()]
    );
}

#[test]
fn its_message_is_read_and_the_note_of_another_goes_to_quarantine() {
    let vault = vault();
    let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: 9 };
    let mut bodies = Vec::new();

    let read = vault.read(conversation(), all, &mut |seen| {
        bodies.push((seen.id, seen.body.to_owned()));
        Ok(())
    });

    let mut kept = Vec::new();
    vault
        .get(QUARANTINE, None, BlobNames::ALL, &mut |name, bytes| {
            let mut value: Value = serde_json::from_slice(bytes).unwrap();
            value.as_object_mut().unwrap().shift_remove("at");
            kept.push((hex(name), value.to_string()));
            Ok(())
        })
        .unwrap();
    let told = read.unwrap_err();
    assert!(told.to_string().ends_with(&Broken::Seal.to_string()), "{told}");
    assert_eq!(bodies, [(message("Ada1"), r#"{"role":"user"}"#.to_owned())]);
    assert_eq!(kept, [(vector("quarantine name"), vector("quarantine"))]);
}

#[test]
fn a_removal_tells_its_reason_and_what_it_was_about() {
    let changes = Read::changes(&vault(), 0, Duration::ZERO).unwrap();

    let expected = Changed {
        stamp: 3,
        at: NOW,
        conversation: gone(),
        what: What::Deleted { reason: "user-requested".to_owned() },
    };
    assert_eq!(changes.last(), Some(&expected));
}

#[test]
fn words_are_found_in_its_segment() {
    let vault = vault();
    let sealed = vault.backend();
    let find = |text: &str| -> Result<Vec<u32>> {
        let looked = sealed.look_up_words(
            inner(),
            &mut sealed.key_cache.owner_keys(Some(inner())),
            &WordQuery::parse(text),
        )?;
        assert!(!looked.chain.is_broken);
        Ok(looked.candidates.iter().map(|held| held.seq).collect())
    };

    let found = ["eat ", "lisbon ", "lis", "z", "nowhere "].map(|text| find(text).unwrap());

    assert_eq!(found, [vec![1, 2], vec![1], vec![1, 4], vec![4], vec![]]);
}

#[test]
fn a_segment_is_written_as_the_other_program_writes_it() {
    let mut draft = DraftSegment::after(0);
    let mut add = |seq, micros, text, size| {
        draft.add(seq, message(&format!("Ada{seq}")), Time::from_micros(micros), text, size);
    };
    add(1, 1_794_770_847_123_456, "Where to eat in Lisbon?", 4_000);
    add(2, 1_794_770_847_000_000, "Eat in Alfama, at six or seven or eight.", 300);
    add(4, 1_794_770_848_000_000, "Lisbonne lisp a ab abc z zebra 42", 21);

    let (ids, words) = draft.finish().unwrap();

    assert_eq!([hex(&ids.write()), hex(&words)], [vector("ids"), vector("words")]);
    assert_eq!(Ids::read(&bytes("ids")).unwrap(), ids);
}

#[test]
fn its_anchor_is_what_rejoin_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(format!("{}.anchor", hex(workspace().vault().as_bytes())));
    let anchor = AnchorFile::new(directory.path(), &workspace());

    let store = sealed_in_bytes(directory.path());
    anchor.write(store.as_ref()).unwrap();

    let table = std::fs::read(directory.path().join(vector("anchor table name"))).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), vector("anchor file"));
    assert_eq!(hex(&table), vector("anchor table"));
    anchor.check(store.as_ref()).unwrap();
}
