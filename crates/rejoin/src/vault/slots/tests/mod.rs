//! Vaults made, opened, given slots and robbed of them, on real stores and real files.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::sealed::keys::data_key::DataKey;
use crate::store::sealed::keys::key_cache::{DATA, RECORD};
use crate::store::sealed::{KEYS, Unlock, Workspace};
use crate::store::{
    BlobNames, Facets, MemoryStore, Opening, PreviewUpdate, Put, Read as _, Safety, Space, SqliteStore,
    Stale, Store, Turn,
};
use crate::vault::slots::{
    Added, Cost, Keyholder, Keys, NewSlot, Secret, SecretFiles, SecretStore, SecretStores, SlotId, SlotKind,
    UnlockResponse, VaultId, VaultStatus, record, wraps,
};

mod anchor;
mod crash;
mod vectors;

const NOW: Time = Time::from_micros(1_794_770_847_000_000);

/// As cheap as it gets, so that a test takes no time.
const CHEAP: Cost = Cost { memory_kib: 8, passes: 1 };

/// A directory with a store and a place for secrets.
struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn store(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(self.path("inner.db")).unwrap())
    }

    fn files(&self) -> Arc<dyn SecretStore> {
        Arc::new(SecretFiles::new(self.path("files")))
    }

    /// A keyring and files.
    fn stores(&self) -> SecretStores {
        let keyring: Arc<dyn SecretStore> = Arc::new(SecretFiles::new(self.path("keyring")));
        SecretStores { keyring: Some(keyring), files: Some(self.files()) }
    }

    fn keys(&self) -> Keys {
        Keys::of(self.store(), Keyholder::new(self.stores()))
    }

    fn keys_asking(&self, stores: SecretStores, answer: UnlockResponse) -> Keys {
        Keys::of(self.store(), asking(stores, answer))
    }
}

fn asking(stores: SecretStores, answer: UnlockResponse) -> Keyholder {
    Keyholder::new(stores).asking(move |wanted| Ok((wanted.attempt == 1).then(|| answer.clone())))
}

fn passphrase(text: &str) -> NewSlot {
    NewSlot::Passphrase(Secret::from(text.to_owned()), CHEAP)
}

fn spoken(text: &str) -> UnlockResponse {
    UnlockResponse::Passphrase(Secret::from(text.to_owned()))
}

fn printed(added: &Added) -> UnlockResponse {
    UnlockResponse::Recovery(added.recovery_key.clone().unwrap())
}

/// Opens a conversation in the inner store, with a data key of its own.
fn begin(inner: &dyn Store, workspace: &Workspace, number: u128) -> Result<()> {
    let id = conversation(number);
    let wrapped = workspace.wrap(&DataKey::random(), Some(id));
    let put = Put { space: KEYS, owner: Some(id), name: DATA, bytes: Some(&wrapped) };
    begin_with(inner, id, &[put])
}

fn begin_plain(inner: &dyn Store) {
    begin_with(inner, conversation(1), &[]).unwrap();
}

fn begin_with(inner: &dyn Store, id: ConversationId, blobs: &[Put<'_>]) -> Result<()> {
    let facets = Facets::default();
    inner.append(&Turn {
        conversation: id,
        opening: Some(Opening { facets: &facets, header: "sealed", created: NOW }),
        stale: Stale::Branch,
        entries: &[],
        previews: PreviewUpdate::default(),
        branch: None,
        active: NOW,
        now: NOW,
        blobs,
    })?;
    Ok(())
}

fn conversation(number: u128) -> ConversationId {
    ConversationId::from_bytes(number.to_be_bytes())
}

/// The data keys of a store, as far as a workspace opens them.
fn data_keys(inner: &dyn Store, workspace: &Workspace) -> Vec<(u128, [u8; 32])> {
    let mut found = Vec::new();
    for owner in wraps::owners(inner).unwrap() {
        let mut wrapped = Vec::new();
        inner
            .get(KEYS, owner, BlobNames::One(DATA), &mut |_, bytes| {
                wrapped = bytes.to_vec();
                Ok(())
            })
            .unwrap();
        let number = owner.map_or(0, |owner| u128::from_be_bytes(*owner.as_bytes()));
        if let Ok(keys) = workspace.unwrap(&wrapped, owner) {
            found.push((number, *keys[0].key().expose()));
        }
    }
    found.sort();
    found
}

fn kind_of<T>(outcome: Result<T>) -> ErrorKind {
    outcome.map(drop).unwrap_err().kind()
}

fn told(error: &Error) -> String {
    format!("{error:?}")
}

#[test]
fn any_slot_opens_the_vault_and_all_open_the_same() {
    let machine = Machine::new();
    let slots = [NewSlot::Keyring, passphrase("correct horse"), NewSlot::Recovery, NewSlot::File];
    let added = machine.keys().create(&slots, NOW).unwrap();
    let none = SecretStores::default();
    let only_keyring = SecretStores { files: None, ..machine.stores() };
    let only_files = SecretStores { keyring: None, ..machine.stores() };

    let holders = [
        Keyholder::new(only_keyring),
        Keyholder::new(only_files),
        asking(none.clone(), spoken("correct horse")),
        asking(none, printed(&added[2])),
    ];
    let opened = holders.map(|holder| {
        let workspace = holder.unlock(machine.store().as_ref()).unwrap();
        (workspace.vault(), workspace.epoch(), *workspace.key().expose(), *workspace.name_key().expose())
    });

    assert!(opened.iter().all(|other| *other == opened[0]));
    assert_eq!(added.iter().map(|added| added.kind).collect::<Vec<_>>(), SlotKind::ALL);
}

#[test]
fn when_a_slot_was_made_is_told_to_whoever_opens_the_vault_alone() {
    let machine = Machine::new();
    let later = Time::from_micros(NOW.as_micros() + 60_000_000);
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    machine.keys().add_slot(&passphrase("correct horse"), later).unwrap();
    let times = |status: VaultStatus| -> Vec<_> {
        status.slots.into_iter().map(|slot| (slot.kind, slot.created_at)).collect()
    };
    let locked = || times(VaultStatus::of(machine.store().as_ref()).unwrap().unwrap());
    let opened = || times(machine.keys().check().unwrap());

    let before = [locked(), opened()];
    // The slot of the file is made anew, that of the passphrase stays.
    machine.keys().rotate(Time::from_micros(later.as_micros() + 1)).unwrap();

    let told = |file, passphrase| vec![(SlotKind::File, file), (SlotKind::Passphrase, passphrase)];
    assert_eq!(before, [told(None, None), told(Some(NOW), Some(later))]);
    let renewed = Time::from_micros(later.as_micros() + 1);
    assert_eq!([locked(), opened()], [told(None, None), told(Some(renewed), Some(later))]);
}

#[test]
fn no_time_of_a_slot_stands_in_the_record() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File, NewSlot::Recovery], NOW).unwrap();

    let mut record = Vec::new();
    machine
        .store()
        .get(KEYS, None, BlobNames::One(RECORD), &mut |_, bytes| {
            record = bytes.to_vec();
            Ok(())
        })
        .unwrap();

    let text = String::from_utf8(record).unwrap();
    let day = NOW.to_string()[..10].to_owned();
    assert!(!text.contains(&day) && !text.contains(&NOW.as_micros().to_string()), "{text}");
}

#[test]
fn what_does_not_open_the_vault_is_told_apart() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::Keyring, passphrase("correct horse")], NOW).unwrap();
    std::fs::remove_dir_all(machine.path("keyring")).unwrap();

    let wrong = machine.keys_asking(machine.stores(), spoken("wrong horse")).check().unwrap_err();
    let nobody = machine.keys().check().unwrap_err();
    let none = Keys::of(machine.store(), Keyholder::new(SecretStores::default())).check().unwrap_err();

    let vault = VaultStatus::of(machine.store().as_ref()).unwrap().unwrap();
    let (id, slot) = (vault.vault, vault.slots[0].id);
    assert_eq!(
        [told(&wrong), told(&nobody), told(&none)],
        [
            "[denied] this passphrase does not unlock the vault: it is wrong, or its slot was removed"
                .to_owned(),
            format!(
                "[denied] nothing available here unlocks vault `{id}`: the secret of the keyring slot `{slot}` of vault `{id}` \
                 is not here; nobody gave what its passphrase slot asks for"
            ),
            format!(
                "[denied] nothing available here unlocks vault `{id}`: there is no place for the secret of a `keyring` slot; \
                 nobody gave what its passphrase slot asks for"
            ),
        ]
    );
}

#[test]
fn a_person_may_try_three_times() {
    let machine = Machine::new();
    machine.keys().create(&[passphrase("correct horse")], NOW).unwrap();
    let trying = |right: u32| {
        Keyholder::new(SecretStores::default()).asking(move |wanted| {
            Ok(Some(spoken(if wanted.attempt == right { "correct horse" } else { "wrong horse" })))
        })
    };

    let third = trying(3).unlock(machine.store().as_ref());
    let fourth = trying(4).unlock(machine.store().as_ref());

    assert_eq!((third.is_ok(), kind_of(fourth)), (true, ErrorKind::Denied));
}

#[test]
fn nobody_is_asked_twice_by_one_keyholder() {
    let machine = Machine::new();
    machine.keys().create(&[passphrase("correct horse")], NOW).unwrap();
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let holder = Keyholder::new(SecretStores::default()).asking(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Some(spoken("correct horse")))
    });
    let keys = Keys::of(machine.store(), holder.clone());

    keys.check().unwrap();
    keys.rotate(NOW).unwrap();
    let workspace = holder.unlock(machine.store().as_ref()).unwrap();

    assert_eq!((workspace.epoch(), asked.load(std::sync::atomic::Ordering::Relaxed)), (2, 1));
}

#[test]
fn a_vault_is_never_made_over_anything() {
    let [plain, noted, sealed, vault] = [(); 4].map(|()| Machine::new());
    begin_plain(plain.store().as_ref());
    let put = Put { space: Space::State, owner: None, name: b"a", bytes: Some(b"b") };
    noted.store().put(&[put], Safety::Synced).unwrap();
    begin(sealed.store().as_ref(), &Workspace::random(), 1).unwrap();
    vault.keys().create(&[NewSlot::File], NOW).unwrap();

    let kinds = [&plain, &noted, &sealed, &vault]
        .map(|machine| kind_of(machine.keys().create(&[NewSlot::File], NOW)));
    let opened = [&plain, &sealed, &Machine::new()].map(|machine| kind_of(machine.keys().check()));

    use ErrorKind::{Conflict, Corrupt, Invalid, NotFound};
    assert_eq!(kinds, [Conflict, Conflict, Corrupt, Conflict]);
    assert_eq!(opened, [Invalid, Corrupt, NotFound]);
}

#[test]
fn a_slot_is_added_by_who_can_open_another() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();

    machine.keys().add_slot(&passphrase("correct horse"), NOW).unwrap();
    let stranger = Keys::of(machine.store(), Keyholder::new(SecretStores::default()));
    let refused = stranger.add_slot(&NewSlot::Recovery, NOW).map(drop);

    let kinds: Vec<SlotKind> =
        machine.keys().check().unwrap().slots.into_iter().map(|slot| slot.kind).collect();
    assert_eq!(kinds, [SlotKind::File, SlotKind::Passphrase]);
    assert_eq!(kind_of(refused), ErrorKind::Denied);
    machine.keys_asking(SecretStores::default(), spoken("correct horse")).check().unwrap();
}

#[test]
fn a_removed_slot_opens_nothing_and_the_last_one_stays() {
    let machine = Machine::new();
    let added = machine.keys().create(&[NewSlot::File, passphrase("correct horse")], NOW).unwrap();
    let by_passphrase = || machine.keys_asking(SecretStores::default(), spoken("correct horse"));

    let before = by_passphrase().holder.unlock(machine.store().as_ref()).unwrap();
    let rotated = machine.keys().remove_slot(added[1].id, NOW).unwrap();
    let left = machine.keys().check().unwrap().slots[0].id;

    assert_eq!((rotated.epoch, rotated.kept), (2, vec![]));
    assert_eq!(kind_of(by_passphrase().check()), ErrorKind::Denied);
    assert_eq!(kind_of(machine.keys().remove_slot(left, NOW)), ErrorKind::Invalid);
    assert_eq!(kind_of(machine.keys().remove_slot(added[1].id, NOW)), ErrorKind::NotFound);
    // Nor does the workspace key that the slot gave away before.
    begin(machine.store().as_ref(), &machine.keys().holder.unlock(machine.store().as_ref()).unwrap(), 1)
        .unwrap();
    assert_eq!(data_keys(machine.store().as_ref(), &before), []);
}

#[test]
fn an_older_copy_does_not_open_with_the_secrets_of_today() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::Keyring, NewSlot::File], NOW).unwrap();
    copy(&machine.path("inner.db"), &machine.path("old.db"));
    let old = || Arc::new(SqliteStore::open(machine.path("old.db")).unwrap());
    let of_old = || Keys::of(old(), Keyholder::new(machine.stores()));
    of_old().check().unwrap();

    machine.keys().rotate(NOW).unwrap();

    assert_eq!(kind_of(of_old().check()), ErrorKind::Denied);
    machine.keys().check().unwrap();
}

#[test]
fn the_secret_of_another_machine_is_left_alone() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::Keyring, NewSlot::File], NOW).unwrap();
    let slot = machine.keys().check().unwrap().slots[0].id;
    // Another machine with the same files, and a keyring of its own.
    let keyring: Arc<dyn SecretStore> = Arc::new(SecretFiles::new(machine.path("other keyring")));
    let other = Keys::of(
        machine.store(),
        Keyholder::new(SecretStores { keyring: Some(keyring), files: Some(machine.files()) }),
    );

    let rotated = other.rotate(NOW).unwrap();

    assert_eq!(rotated.kept, [slot]);
    Keys::of(machine.store(), Keyholder::new(SecretStores { files: None, ..machine.stores() }))
        .check()
        .unwrap();
}

/// A machine that has no keyring at all.
#[derive(Debug)]
struct Absent;

impl SecretStore for Absent {
    fn get(&self, _: VaultId, _: SlotId) -> Result<Option<Secret>> {
        Err(Error::new(ErrorKind::Unsupported, "no keyring service answers"))
    }

    fn set(&self, _: VaultId, _: SlotId, _: &Secret) -> Result<()> {
        Err(Error::new(ErrorKind::Unavailable, "no keyring service answers"))
    }

    fn remove(&self, _: VaultId, _: SlotId) -> Result<()> {
        Err(Error::new(ErrorKind::Unavailable, "no keyring service answers"))
    }
}

#[test]
fn a_machine_without_a_keyring_does_not_wait_for_that_of_another() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::Keyring, NewSlot::File], NOW).unwrap();
    let slot = machine.keys().check().unwrap().slots[0].id;
    let keyrings: [Option<Arc<dyn SecretStore>>; 2] = [None, Some(Arc::new(Absent))];

    let rotated = keyrings.map(|keyring| {
        let stores = SecretStores { keyring, files: Some(machine.files()) };
        Keys::of(machine.store(), Keyholder::new(stores)).rotate(NOW).unwrap()
    });

    assert_eq!(rotated.each_ref().map(|rotated| &rotated.kept[..]), [[slot], [slot]]);
    assert_eq!(rotated.map(|rotated| rotated.unreached), [vec![], vec![]]);
}

#[test]
fn a_record_that_was_changed_is_noticed() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File, passphrase("correct horse")], NOW).unwrap();
    let store = machine.store();
    let text = read_record(store.as_ref());
    let other = Machine::new();
    other.keys().create(&[passphrase("evil horse")], NOW).unwrap();
    let foreign = read_record(other.store().as_ref());
    let slot_of = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["slots"].as_array().unwrap().last().unwrap().to_string()
    };

    let changes = [
        text.replace("\"epoch\":1", "\"epoch\":2"),
        text.replace("\"created\":\"Uko", "\"created\":\"Ukp"),
        text.replace("\"replaced\":[],", ""),
        text.replace(&format!(",{}", slot_of(&text)), ""),
        text.replace("\"slots\":[", &format!("\"slots\":[{},", slot_of(&foreign))),
        text.replace("\"memory_kib\":8", "\"memory_kib\":1073741824"),
        text.replace(",\"mac\":", ",\"mad\":"),
        text.replace("\"version\":3", "\"version\":4"),
        format!("{text}x"),
        String::new(),
    ];
    let kinds = changes.map(|changed| {
        assert_ne!(changed, text);
        store.put(&[record::put(changed.as_bytes())], Safety::Synced).unwrap();
        kind_of(machine.keys().check())
    });

    let mut expected = [ErrorKind::Corrupt; 10];
    expected[7] = ErrorKind::Unsupported;
    assert_eq!(kinds, expected);
}

fn read_record(inner: &dyn Store) -> String {
    let mut text = String::new();
    inner
        .get(KEYS, None, BlobNames::One(RECORD), &mut |_, bytes| {
            text = String::from_utf8(bytes.to_vec()).unwrap();
            Ok(())
        })
        .unwrap();
    text
}

#[test]
fn two_who_change_keys_wait_for_each_other() {
    let machine = Machine::new();
    let patience = std::time::Duration::from_millis(20);
    let keys = machine.keys().locked_by(machine.path("lock"), patience);
    keys.create(&[NewSlot::File], NOW).unwrap();

    let turn = keys.take_turn().unwrap();
    let refused = kind_of(keys.rotate(NOW));
    drop(turn);

    assert_eq!(refused, ErrorKind::Locked);
    assert_eq!(keys.rotate(NOW).unwrap().epoch, 2);
}

#[test]
fn rotation_wraps_every_key_anew_and_changes_none() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    let (store, keys) = (machine.store(), machine.keys());
    let before = keys.holder.unlock(store.as_ref()).unwrap();
    for number in 1..=25 {
        begin(store.as_ref(), &before, number).unwrap();
    }
    let known = data_keys(store.as_ref(), &before);

    let rotated = keys.rotate(NOW).unwrap();

    let after = keys.holder.unlock(store.as_ref()).unwrap();
    // And the one of what belongs to no conversation.
    assert_eq!((rotated.keys, rotated.unreadable, known.len()), (26, 0, 26));
    assert_eq!(data_keys(store.as_ref(), &after), known);
    assert_eq!(data_keys(store.as_ref(), &before), []);
}

/// Copies a database that nobody has open, with its log.
fn copy(from: &Path, to: &Path) {
    let beside = crate::store::durable::beside;
    let _ = ["-wal", "-shm"].map(|suffix| std::fs::remove_file(beside(to, suffix)));
    std::fs::copy(from, to).unwrap();
    if beside(from, "-wal").exists() {
        std::fs::copy(beside(from, "-wal"), beside(to, "-wal")).unwrap();
    }
}

#[test]
fn a_store_in_memory_can_be_a_vault_too() {
    let machine = Machine::new();
    let keys = Keys::of(Arc::new(MemoryStore::new()), Keyholder::new(machine.stores()));

    keys.create(&[NewSlot::Keyring], NOW).unwrap();

    assert_eq!(keys.rotate(NOW).unwrap().epoch, 2);
}
