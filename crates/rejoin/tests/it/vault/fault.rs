//! A vault whose inner store fails at any one call: a failure is no damage, no secret
//! is left behind, and the next finishes.

use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{Children, Task};
use rejoin::vault::{
    Cost, Keyholder, Keys, NewSlot, Secret, SecretFiles, SecretStores, SlotKind, UnlockResponse, VaultStatus,
};
use rejoin::{Archive, Conversation, ConversationId, ErrorKind, List, Message, MessageId, Search, Time};

use crate::failing::{Failing, at_every_call};
use crate::vault::sealed;

const NOW: Time = Time::from_micros(1_794_770_847_000_000);
const CHEAP: Cost = Cost { memory_kib: 8, passes: 1 };

/// A failing store, and a place for the key files of the vault in it.
struct Machine {
    store: Arc<Failing>,
    directory: tempfile::TempDir,
}

impl Machine {
    fn new() -> (Arc<Failing>, Self) {
        let store = Arc::new(Failing::with(ErrorKind::Unavailable));
        (store.clone(), Self { store, directory: tempfile::tempdir().unwrap() })
    }

    /// The same with a vault in it, and a conversation in that.
    fn founded() -> (Arc<Failing>, Self) {
        let (store, machine) = Self::new();
        machine.keys().create(&slots(), NOW).unwrap();
        (store, machine)
    }

    fn keys(&self) -> Keys {
        let files = Arc::new(SecretFiles::new(self.directory.path()));
        let holder = Keyholder::new(SecretStores { files: Some(files), ..SecretStores::default() });
        Keys::of(self.store.inside(), holder)
    }

    /// The slots of a kind, and how many key files there are.
    fn file_slots(&self) -> (usize, usize) {
        let slots =
            VaultStatus::of(self.store.as_ref()).unwrap().map_or_else(Vec::new, |status| status.slots);
        let slots = slots.iter().filter(|slot| slot.kind == SlotKind::File).count();
        (slots, std::fs::read_dir(self.directory.path()).unwrap().count())
    }
}

fn slots() -> [NewSlot; 2] {
    [NewSlot::File, NewSlot::Passphrase(Secret::from("correct horse".to_owned()), CHEAP)]
}

#[test]
fn a_vault_that_cannot_be_made_leaves_no_secret_and_can_be_made_after() {
    let calls = at_every_call(
        Machine::new,
        |machine| drop(machine.keys().create(&slots(), NOW)),
        |call, machine| {
            let (slots_before, files) = machine.file_slots();
            assert_eq!(slots_before, files, "call {call}");
            if slots_before == 0 {
                machine.keys().create(&slots(), NOW).unwrap();
            }
            machine.keys().check().unwrap();
        },
    );
    assert!(calls >= 3, "{calls} calls failed");
}

#[test]
fn a_slot_that_cannot_be_added_leaves_no_secret() {
    let calls = at_every_call(
        Machine::founded,
        |machine| drop(machine.keys().add_slot(&NewSlot::File, NOW)),
        |call, machine| {
            let (slots, files) = machine.file_slots();
            assert_eq!(slots, files, "call {call}");
            machine.keys().check().unwrap();
        },
    );
    assert!(calls >= 2, "{calls} calls failed");
}

#[test]
fn a_rotation_that_fails_anywhere_is_finished_by_the_next() {
    let calls = at_every_call(
        Machine::founded,
        |machine| drop(machine.keys().rotate(NOW)),
        |call, machine| {
            machine.keys().check().unwrap();
            machine.keys().rotate(NOW).unwrap();
            let after = machine.keys().check().unwrap();
            assert!(!after.is_rotating, "call {call}");
            assert_eq!(machine.file_slots(), (1, 1), "call {call}");
        },
    );
    assert!(calls >= 3, "{calls} calls failed");
}

#[test]
fn a_vault_needs_a_slot_and_has_room_for_64() {
    let (_, machine) = Machine::new();

    let none = machine.keys().create(&[], NOW).unwrap_err();
    machine.keys().create(&[NewSlot::File], NOW).unwrap();
    (1..64).for_each(|_| drop(machine.keys().add_slot(&NewSlot::Recovery, NOW).unwrap()));
    let full = machine.keys().add_slot(&NewSlot::Recovery, NOW).unwrap_err();

    let told = [none, full].map(|error| error.to_string());
    assert_eq!(told, ["a vault needs a slot that opens it", "a vault has at most 64 slots"]);
}

#[test]
fn who_holds_keys_shows_none_of_them() {
    let (_, machine) = Machine::founded();
    let secret = Secret::from("planted".to_owned());
    let holder = Keyholder::new(SecretStores::default())
        .asking(move |_| Ok(Some(UnlockResponse::Passphrase(secret.clone()))));

    let shown = [format!("{:?}", machine.keys()), format!("{holder:?}")].concat();

    assert!(!shown.contains("planted") && shown.contains("Keyholder"), "{shown}");
}

/// A vault in a failing store with everything that can be in one, and a handle that knows nothing of it yet.
fn filled() -> (Arc<Failing>, (Arc<Failing>, Archive)) {
    let store = Arc::new(Failing::with(ErrorKind::Unavailable));
    let archive = Archive::with_vault(Arc::new(sealed(store.inside())));
    for title in ["Lisbon", "Porto"] {
        let mut talk = archive.start(Conversation::titled(title)).unwrap();
        let receipts: Vec<MessageId> = ["where to eat", "in alfama", "and then"]
            .iter()
            .map(|text| *talk.append(Message::user(*text)).unwrap().messages.first().unwrap())
            .collect();
        archive.marks().label(talk.id(), receipts[0], Some("the question")).unwrap();
        archive.fork(talk.id(), receipts[1], "another way").unwrap();
        archive.maintenance().run(Task::Index, Duration::MAX).unwrap();
        let last = talk.append(Message::user("after the index")).unwrap().head;
        archive.removal().delete_messages(talk.id(), &[last], Children::Refuse, "user-requested").unwrap();
    }
    archive.state().remember("noted", Some("something")).unwrap();
    let fresh = Archive::with_vault(Arc::new(sealed(store.inside())));
    (store.clone(), (store, fresh))
}

/// Everything that a vault says.
fn all_of(archive: &Archive) -> (String, Vec<String>, usize, Option<String>) {
    let listed = archive.list(&List::default()).unwrap().items;
    let said = |id: ConversationId| -> Vec<String> {
        archive.path(id, None).unwrap().iter().map(|stored| stored.message.text()).collect()
    };
    let search = Search { text: "eat".to_owned(), ..Search::default() };
    (
        format!("{listed:?}"),
        listed.iter().flat_map(|stored| said(stored.id)).collect(),
        archive.search(&search).unwrap().items.len(),
        archive.state().recall("noted").unwrap(),
    )
}

#[test]
fn a_store_that_fails_is_not_taken_for_a_damaged_one() {
    let (_, (_, reference)) = filled();
    let expected = (all_of(&reference).1, all_of(&reference).2, all_of(&reference).3);
    type Work = fn(&Archive);
    let works: [Work; 8] = [
        |archive| drop(archive.list(&List::default())),
        |archive| {
            drop(archive.list(&List::default()).map(|page| archive.path(page.items[0].id, None).map(drop)));
        },
        |archive| drop(archive.search(&Search { text: "eat".to_owned(), ..Search::default() })),
        |archive| drop(archive.names().resolve("lisbon")),
        |archive| drop(archive.events_after(0).next(Duration::ZERO)),
        |archive| drop(archive.maintenance().run(Task::Index, Duration::MAX)),
        |archive| drop(archive.maintenance().run(Task::Check, Duration::MAX)),
        |archive| drop(archive.state().recall("noted")),
    ];
    let mut calls = 0;

    for work in works {
        calls += at_every_call(
            filled,
            |(_, archive)| work(archive),
            |call, (store, archive)| {
                let fresh = Archive::with_vault(Arc::new(sealed(store.inside())));
                for archive in [archive, &fresh] {
                    let (_, said, found, noted) = all_of(archive);
                    assert_eq!((said, found, noted), expected, "call {call}");
                }
                assert_eq!(fresh.vault().quarantined().unwrap(), [], "call {call}");
            },
        );
    }

    assert!(calls > 20, "{calls} calls failed");
}
