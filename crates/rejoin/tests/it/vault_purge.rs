//! What is purged in a vault stays gone: a copy of the store from before does
//! not open with the keys of after.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{BlobNames, JsonlStore, ListQuery, SqliteStore, Store};
use rejoin::vault::{
    Keyholder, NewSlot, Secret, SecretFiles, SecretStore, SecretStores, SlotId, UnlockResponse, VaultId,
};
use rejoin::vault::{Quarantined, VaultAdmin};
use rejoin::{
    Access, Archive, AuditAction, Conversation, ConversationId, ErrorKind, Existing, Message, PurgeKeys,
    PurgeReason, Retention, ScrubMode, StoreUrl, Sweep, Swept, Time,
};

use crate::doubles::{Around, Write, a_store};
use crate::vault_keys::{CHEAP, Machine, copy_directory, say, titles, verified};
use crate::vault_spaces::KEYS;

/// A copy of the disk that holds the store.
fn image(machine: &Machine, url: &StoreUrl) -> StoreUrl {
    let (from, to) = (machine.path("vault"), machine.path("image"));
    if from.is_dir() {
        copy_directory(&from, &to);
        return StoreUrl::Jsonl(to).sealed();
    }
    for suffix in ["", "-wal", "-shm"] {
        let [from, to] = [&from, &to].map(|path| format!("{}{suffix}", path.display()));
        if Path::new(&from).exists() {
            std::fs::copy(from, to).unwrap();
        }
    }
    assert_eq!(url.path(), Some(machine.path("vault").as_path()));
    StoreUrl::Sqlite(to).sealed()
}

/// Opens a copy with what the machine has now; its anchor says nothing about it.
fn open_image(machine: &Machine, image: &StoreUrl) -> rejoin::Result<Archive> {
    Archive::open_with(&image.to_string(), &Access { anchors: None, ..machine.access() })
}

fn purge(archive: &Archive, id: ConversationId) -> rejoin::PurgeOutcome {
    archive.removal().purge(&[id], PurgeReason::UserRequested, &mut |_| ())
}

fn a_purge_closes_older_copies(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let archive = machine.open(&url);
    let gone = say(&archive, "gone");
    say(&archive, "stays");
    let image = image(&machine, &url);

    let report = purge(&archive, gone);

    assert_eq!((report.keys, report.is_erased, report.purged.len()), (PurgeKeys::Rotated, true, 1));
    // Whoever had it open goes on, and whoever opens it now finds the rest.
    say(&archive, "after");
    drop(archive);
    assert_eq!(titles(&machine.open(&url)), ["after", "stays"]);
    assert_eq!(verified(&machine.open(&url)), [""; 0]);
    assert_eq!(open_image(&machine, &image).unwrap_err().kind(), ErrorKind::Denied);
    let entries = machine.open(&url).audit().query(&Default::default()).unwrap();
    let actions: Vec<AuditAction> = entries.into_iter().map(|entry| entry.action).collect();
    assert_eq!(actions, [AuditAction::PurgeCompleted, AuditAction::Rotated, AuditAction::Purged]);
}

#[test]
fn a_purge_in_sqlite_closes_older_copies_to_the_keys_of_after() {
    a_purge_closes_older_copies("vault+sqlite");
}

#[test]
fn a_purge_in_files_closes_older_copies_to_the_keys_of_after() {
    a_purge_closes_older_copies("vault+jsonl");
}

/// The ids of the data keys of all conversations, which stand before them.
fn data_keys(machine: &Machine) -> BTreeMap<ConversationId, Vec<u8>> {
    let path = machine.path("vault");
    let store: Box<dyn Store> = if path.is_dir() {
        Box::new(JsonlStore::open(path).unwrap())
    } else {
        Box::new(SqliteStore::open(path).unwrap())
    };
    let rows = store.list(&ListQuery { limit: 100, ..ListQuery::default() }).unwrap().items;
    let key = |id: ConversationId| {
        let mut key = Vec::new();
        store
            .get(KEYS, Some(id), BlobNames::One(b"data"), &mut |_, bytes| {
                key = bytes[..16].to_vec();
                Ok(())
            })
            .unwrap();
        (id, key)
    };
    rows.into_iter().map(|row| key(row.id)).collect()
}

/// A copy of the store is put beside the slots and keys of after the scrub: what a
/// disk keeps, with the secrets of today.
fn a_scrub_closes_older_copies(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let archive = machine.open(&url);
    let told = say(&archive, "the key is ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    let clean = say(&archive, "nothing here");
    let image = image(&machine, &url);
    let look = archive.removal().scrub(told, ScrubMode::Look).unwrap();
    let (opens_before, keys) = (open_image(&machine, &image).is_ok(), data_keys(&machine));

    let scrubbed = archive.removal().scrub(told, ScrubMode::Replace).unwrap();
    let nothing = archive.removal().scrub(clean, ScrubMode::Replace).unwrap();

    assert!(!look.is_clean() && !scrubbed.is_clean() && nothing.is_clean() && opens_before);
    assert_eq!(open_image(&machine, &image).unwrap_err().kind(), ErrorKind::Denied);
    // The one that changed has another key, and the other has the one it had.
    let after = data_keys(&machine);
    assert_eq!(keys.iter().filter(|(id, key)| after.get(*id) != Some(*key)).count(), 1);
    let rotations = |entries: Vec<rejoin::AuditEntry>| {
        entries.iter().filter(|entry| entry.action == AuditAction::Rotated).count()
    };
    assert_eq!(rotations(archive.audit().query(&Default::default()).unwrap()), 1);
    drop(archive);
    let archive = machine.open(&url);
    assert_eq!((verified(&archive), archive.conversation(told).unwrap().messages), (vec![], 1));
}

#[test]
fn a_scrub_in_sqlite_closes_older_copies_to_the_keys_of_after() {
    a_scrub_closes_older_copies("vault+sqlite");
}

#[test]
fn a_scrub_in_files_closes_older_copies_to_the_keys_of_after() {
    a_scrub_closes_older_copies("vault+jsonl");
}

/// A vault whose process ends before anything is sealed anew or erased.
struct CutOff {
    archive: Archive,
    store: Arc<dyn Store>,
}

a_store!(CutOff);

impl Around for CutOff {
    fn inner(&self) -> &dyn Store {
        self.store.as_ref()
    }

    fn writing<T>(
        &self,
        write: Write,
        work: impl FnOnce(&dyn Store) -> rejoin::Result<T>,
    ) -> rejoin::Result<T> {
        match write {
            Write::Maintain => Err(rejoin::Error::new(ErrorKind::Unavailable, "the process ended")),
            _ => work(self.inner()),
        }
    }
}

impl VaultAdmin for CutOff {
    fn token_key(&self) -> [u8; 32] {
        [7; 32]
    }

    fn replaces_keys(&self) -> bool {
        true
    }

    fn replace_keys(&self, _: Duration) -> rejoin::Result<Vec<String>> {
        Err(rejoin::Error::new(ErrorKind::Unavailable, "the process ended"))
    }

    fn replace_key_of(&self, _: ConversationId, patience: Duration) -> rejoin::Result<()> {
        self.replace_keys(patience).map(drop)
    }

    fn quarantined(&self) -> rejoin::Result<Vec<Quarantined>> {
        self.archive.vault().quarantined()
    }

    fn discard(&self, _: &[Quarantined]) -> rejoin::Result<()> {
        self.replace_keys(Duration::ZERO).map(drop)
    }
}

#[test]
fn a_scrub_that_was_cut_off_is_made_up_for_by_the_next_though_it_finds_nothing() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    let told = say(&archive, "the key is ghp_16C7e42F292c6912E7710c838347Ae178B4a");
    say(&archive, "nothing here");
    let (image, keys) = (image(&machine, &url), data_keys(&machine));

    let store = url.open_with(&machine.access()).unwrap();
    let vault = Arc::new(CutOff { archive: archive.clone(), store });
    let cut_off = Archive::with_vault(vault).removal().scrub(told, ScrubMode::Replace);
    let between = data_keys(&machine);
    let scrubbed = archive.removal().scrub(told, ScrubMode::Replace).unwrap();
    let after = data_keys(&machine);
    let again = archive.removal().scrub(told, ScrubMode::Replace).unwrap();

    assert_eq!(cut_off.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(scrubbed.is_clean() && again.is_clean());
    assert_eq!((&between, &data_keys(&machine)), (&keys, &after));
    assert_eq!(keys.iter().filter(|(id, key)| after.get(*id) != Some(*key)).count(), 1);
    assert_eq!(open_image(&machine, &image).unwrap_err().kind(), ErrorKind::Denied);
}

#[test]
fn sweeps_of_several_projects_replace_the_keys_once_and_tell_what_goes_before() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    let due = ["/home/ada/one", "/home/ada/two"].map(|project| {
        let id = say(&archive, project);
        let own = Some(Time::from_micros(1));
        archive
            .update(id, |header| (header.project, header.expires_at) = (Some(project.to_owned()), own))
            .unwrap();
        id
    });
    let sweep = |project| Sweep {
        project: Some(project),
        retention: Retention::FOREVER,
        active: &[],
        is_alive: &|_| false,
    };
    let mut told = Vec::new();

    let swept = archive.retention().sweep_all(&[sweep("/home/ada/one"), sweep("/home/ada/two")], &mut |id| {
        told.push((id, titles(&archive).len()));
        Ok(())
    });

    let Swept::Done(report) = swept.unwrap() else { panic!("the clock is believed") };
    assert_eq!((report.keys, &report.purged[..]), (PurgeKeys::Rotated, &due[..]));
    assert_eq!((told, titles(&archive)), (vec![(due[0], 2), (due[1], 1)], vec![]));
    let entries = archive.audit().query(&Default::default()).unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.action == AuditAction::Rotated).count(), 1);
}

#[test]
fn without_new_keys_an_older_copy_opens_and_shows_what_is_gone() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    let gone = say(&archive, "gone");
    let image = image(&machine, &url);

    archive.removal().delete(&[gone], "user-requested");

    assert_eq!(titles(&archive), [""; 0]);
    assert_eq!(titles(&open_image(&machine, &image).unwrap()), ["gone"]);
}

#[test]
fn a_passphrase_opens_older_copies_for_it_does_not_change() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    let gone = say(&archive, "gone");
    let image = image(&machine, &url);
    purge(&archive, gone);
    let spoken = Keyholder::new(SecretStores::default())
        .asking(|_| Ok(Some(UnlockResponse::Passphrase(Secret::from("correct horse".to_owned())))));

    let opened = Archive::open_with(
        &image.to_string(),
        &Access { keys: Some(spoken), anchors: None, ..machine.access() },
    );

    assert_eq!(titles(&opened.unwrap()), ["gone"]);
}

/// A keyring that is locked.
#[derive(Debug)]
struct Locked;

impl SecretStore for Locked {
    fn get(&self, _: VaultId, _: SlotId) -> rejoin::Result<Option<Secret>> {
        Err(rejoin::Error::new(ErrorKind::Unavailable, "the keyring is locked"))
    }

    fn set(&self, _: VaultId, _: SlotId, _: &Secret) -> rejoin::Result<()> {
        Err(rejoin::Error::new(ErrorKind::Unavailable, "the keyring is locked"))
    }

    fn remove(&self, _: VaultId, _: SlotId) -> rejoin::Result<()> {
        Err(rejoin::Error::new(ErrorKind::Unavailable, "the keyring is locked"))
    }
}

/// A vault that a keyring and a passphrase open, on a machine whose keyring is this one.
fn with_keyring(machine: &Machine, keyring: Option<Arc<dyn SecretStore>>) -> Access {
    let keys = Keyholder::new(SecretStores { keyring, files: None })
        .asking(|_| Ok(Some(UnlockResponse::Passphrase(Secret::from("correct horse".to_owned())))));
    Access { keys: Some(keys), ..machine.access() }
}

#[test]
fn keys_that_cannot_be_replaced_are_told_and_replaced_by_the_next() {
    let machine = Machine::new();
    let url = machine.url("vault+sqlite", "vault");
    let unlocked = || Some(Arc::new(SecretFiles::new(machine.path("keyring"))) as Arc<dyn SecretStore>);
    let passphrase = NewSlot::Passphrase(Secret::from("correct horse".to_owned()), CHEAP);
    let keys = url.keys(&with_keyring(&machine, unlocked()), Existing::Optional).unwrap();
    keys.create(&[NewSlot::Keyring, passphrase], Time::now()).unwrap();
    let open = |keyring| Archive::open_with(&url.to_string(), &with_keyring(&machine, keyring)).unwrap();
    let archive = open(unlocked());
    let gone = say(&archive, "gone");
    drop(archive);
    let image = image(&machine, &url);
    let open_image = || {
        let keys = Keyholder::new(SecretStores { keyring: unlocked(), files: None });
        Archive::open_with(&image.to_string(), &Access { keys: Some(keys), ..Access::default() })
    };

    let locked = open(Some(Arc::new(Locked)));
    let report = purge(&locked, gone);
    let is_open = open_image().is_ok();
    let retried =
        [locked.removal().finish_erasing().unwrap(), open(unlocked()).removal().finish_erasing().unwrap()];

    assert_eq!((report.keys, report.purged.len(), is_open), (PurgeKeys::Failed, 1, true));
    assert_eq!(retried, [false, true]);
    assert_eq!(open_image().unwrap_err().kind(), ErrorKind::Denied);
}

/// A vault that a keyring and a passphrase open, with one conversation.
fn vault_with_keyring(machine: &Machine) -> (StoreUrl, ConversationId) {
    let url = machine.url("vault+sqlite", "vault");
    let passphrase = NewSlot::Passphrase(Secret::from("correct horse".to_owned()), CHEAP);
    let keys = url.keys(&with_keyring(machine, unlocked(machine)), Existing::Optional).unwrap();
    keys.create(&[NewSlot::Keyring, passphrase], Time::now()).unwrap();
    let gone = say(&open_with(machine, &url, unlocked(machine)), "gone");
    (url, gone)
}

/// The keyring of the machine.
fn unlocked(machine: &Machine) -> Option<Arc<dyn SecretStore>> {
    Some(Arc::new(SecretFiles::new(machine.path("keyring"))))
}

fn open_with(machine: &Machine, url: &StoreUrl, keyring: Option<Arc<dyn SecretStore>>) -> Archive {
    Archive::open_with(&url.to_string(), &with_keyring(machine, keyring)).unwrap()
}

fn everything(archive: &Archive) -> rejoin::PurgeOutcome {
    archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap()
}

#[test]
fn keys_that_are_due_are_replaced_by_a_purge_of_everything_though_nothing_is_left() {
    let machine = Machine::new();
    let (url, gone) = vault_with_keyring(&machine);
    let locked = open_with(&machine, &url, Some(Arc::new(Locked)));

    let first = purge(&locked, gone).keys;
    let again = everything(&locked).keys;
    let is_left = locked.state().recall("purge.keys").unwrap().is_some();
    let archive = open_with(&machine, &url, unlocked(&machine));
    let last = everything(&archive).keys;

    assert_eq!((first, again, is_left), (PurgeKeys::Failed, PurgeKeys::Failed, true));
    assert_eq!((last, archive.state().recall("purge.keys").unwrap()), (PurgeKeys::Rotated, None));
}

#[test]
fn a_sweep_replaces_keys_once_though_an_earlier_purge_could_not() {
    let machine = Machine::new();
    let (url, gone) = vault_with_keyring(&machine);
    purge(&open_with(&machine, &url, Some(Arc::new(Locked))), gone);
    let archive = open_with(&machine, &url, unlocked(&machine));
    let due = say(&archive, "due");
    archive.update(due, |header| header.expires_at = Some(Time::from_micros(1))).unwrap();

    let retention = Retention::FOREVER;
    let swept =
        archive.retention().sweep(&Sweep { project: None, retention, active: &[], is_alive: &|_| false });

    assert!(matches!(swept, Ok(Swept::Done(report)) if report.keys == PurgeKeys::Rotated));
    let entries = archive.audit().query(&Default::default()).unwrap();
    let rotated = entries.iter().filter(|entry| entry.action == AuditAction::Rotated).count();
    assert_eq!((rotated, archive.state().recall("purge.keys").unwrap()), (1, None));
}

/// A keyring that ends whoever wants to keep something in it.
#[derive(Debug)]
struct Deadly(SecretFiles);

impl SecretStore for Deadly {
    fn get(&self, vault: VaultId, slot: SlotId) -> rejoin::Result<Option<Secret>> {
        self.0.get(vault, slot)
    }

    fn set(&self, _: VaultId, _: SlotId, _: &Secret) -> rejoin::Result<()> {
        panic!("the process is killed")
    }

    fn remove(&self, _: VaultId, _: SlotId) -> rejoin::Result<()> {
        panic!("the process is killed")
    }
}

#[test]
fn a_purge_of_everything_that_is_killed_before_its_new_keys_is_made_up_for() {
    let machine = Machine::new();
    let (url, _) = vault_with_keyring(&machine);
    let dying = open_with(&machine, &url, Some(Arc::new(Deadly(SecretFiles::new(machine.path("keyring"))))));

    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| everything(&dying)));
    drop(dying);
    let archive = open_with(&machine, &url, unlocked(&machine));
    let before = archive.state().recall("purge.keys").unwrap().is_some();
    let is_finished = archive.removal().finish_erasing().unwrap();

    assert_eq!((died.is_err(), titles(&archive), before, is_finished), (true, vec![], true, true));
}

#[test]
fn a_purge_in_a_vault_takes_less_than_half_a_second_a_record() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let archive = machine.open(&url);
    (0..200).for_each(|number| drop(archive.start(Conversation::titled(number.to_string())).unwrap()));
    let mut talk = archive.start(Conversation::titled("long")).unwrap();
    let text = "words ".repeat(50);
    (0..1_000).for_each(|_| drop(talk.append(Message::user(text.as_str())).unwrap()));
    let began = Instant::now();

    let report = purge(&archive, talk.id());

    let took = began.elapsed();
    crate::skip::tell(&format!("purged 1,000 messages of a vault with 201 conversations in {took:?}"));
    assert_eq!((report.keys, report.messages), (PurgeKeys::Rotated, 1_000));
    assert!(took < Duration::from_millis(500), "{took:?}");
}
