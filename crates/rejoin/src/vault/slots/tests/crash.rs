//! Keys are changed by a process that dies at its n-th write, for every n: before the write or after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::doubles::{Interpose, Interposed, Write};
use crate::store::backend::Backend;
use crate::store::sealed::keys::key_cache::{DATA, RECORD, blob};
use crate::vault::slots::{SlotId, VaultId};

/// What becomes of the write at which a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Lost,
    Done,
}

/// Counts the writes of a process, which is dead after the last one.
#[derive(Debug)]
struct Life {
    left: AtomicU64,
    last: Last,
}

impl Life {
    fn of(writes: u64, last: Last) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(writes), last })
    }

    fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    fn write<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let dead = || Err(Error::new(ErrorKind::Unavailable, "the process is dead"));
        if self.is_over() {
            return dead();
        }
        if self.left.fetch_sub(1, Ordering::Relaxed) > 1 {
            return work();
        }
        if self.last == Last::Done {
            work()?;
        }
        dead()
    }

    fn read<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.is_over() { Err(Error::new(ErrorKind::Unavailable, "the process is dead")) } else { work() }
    }
}

/// A store as a mortal process sees it.
struct Mortal<T>(Arc<Life>, T);

impl std::fmt::Debug for Mortal<Arc<dyn SecretStore>> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mortal")
    }
}

impl SecretStore for Mortal<Arc<dyn SecretStore>> {
    fn get(&self, vault: VaultId, slot: SlotId) -> Result<Option<Secret>> {
        self.0.read(|| self.1.get(vault, slot))
    }

    fn set(&self, vault: VaultId, slot: SlotId, secret: &Secret) -> Result<()> {
        self.0.write(|| self.1.set(vault, slot, secret))
    }

    fn remove(&self, vault: VaultId, slot: SlotId) -> Result<()> {
        self.0.write(|| self.1.remove(vault, slot))
    }
}

impl Interpose for Mortal<SqliteStore> {
    fn backend(&self) -> &dyn Backend {
        &self.1
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.0.write(work)
    }

    fn reading(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.0.read(work)
    }
}

impl Machine {
    /// The keys as a process sees them that dies with its n-th write.
    fn mortal_keys(&self, life: &Arc<Life>) -> Keys {
        let mortal = |place: Arc<dyn SecretStore>| -> Arc<dyn SecretStore> {
            Arc::new(Mortal(Arc::clone(life), place))
        };
        let stores = self.stores();
        let stores = SecretStores { keyring: stores.keyring.map(mortal), files: stores.files.map(mortal) };
        let store = SqliteStore::open(self.path("inner.db")).unwrap();
        let mortal = Interposed(Arc::new(Mortal(Arc::clone(life), store)));
        Keys::of(Arc::new(mortal), asking(stores, spoken("correct horse")))
    }

    /// Every way in, each of them alone.
    fn ways_in(&self, recovery: &UnlockResponse) -> [Keyholder; 4] {
        let stores = self.stores();
        [
            Keyholder::new(SecretStores { files: None, ..stores.clone() }),
            Keyholder::new(SecretStores { keyring: None, ..stores }),
            asking(SecretStores::default(), spoken("correct horse")),
            asking(SecretStores::default(), recovery.clone()),
        ]
    }
}

/// Lets processes die at every write of `work` in turn, and checks after each
/// that every way in opens everything.
fn die_at_every_write(work: impl Fn(&Keys, &[Added]) -> Result<()>, ways_out: usize) -> u64 {
    for last in [Last::Lost, Last::Done] {
        for writes in 1.. {
            let machine = Machine::new();
            let slots = [NewSlot::Keyring, NewSlot::File, passphrase("correct horse"), NewSlot::Recovery];
            let added = machine.keys().create(&slots, NOW).unwrap();
            let workspace = machine.keys().holder.unlock(machine.store().as_ref()).unwrap();
            (1..=3).for_each(|number| begin(machine.store().as_ref(), &workspace, number).unwrap());
            let known = data_keys(machine.store().as_ref(), &workspace);
            let life = Life::of(writes, last);

            let outcome = work(&machine.mortal_keys(&life), &added);

            let opens = |machine: &Machine| {
                let ways = machine.ways_in(&printed(&added[3]));
                let opened = ways.iter().filter_map(|way| way.unlock(machine.store().as_ref()).ok());
                opened.filter(|opened| data_keys(machine.store().as_ref(), opened) == known).count()
            };
            let expected = if life.is_over() { 3.min(4 - ways_out)..=4 } else { 4 - ways_out..=4 - ways_out };
            assert!(expected.contains(&opens(&machine)), "{last:?} {writes}: {} ways in", opens(&machine));
            // Whoever comes next finishes it, and no old secret is left in its place.
            let is_whole = machine.keys().check().is_ok();
            assert!(is_whole);
            machine.keys().finish_rotation().unwrap();
            let status = machine.keys().check().unwrap();
            assert!(!status.is_rotating);
            assert_eq!(
                data_keys(
                    machine.store().as_ref(),
                    &machine.keys().holder.unlock(machine.store().as_ref()).unwrap()
                ),
                known
            );
            if !life.is_over() {
                outcome.unwrap();
                if last == Last::Done {
                    return writes - 1;
                }
                break;
            }
        }
    }
    unreachable!("some process lives long enough")
}

#[test]
fn a_rotation_that_dies_at_any_write_leaves_every_way_in() {
    let writes = die_at_every_write(|keys, _| keys.rotate(NOW).map(drop), 0);

    // Two secrets kept, one write, two secrets removed, one write.
    assert_eq!(writes, 6);
}

#[test]
fn a_removal_that_dies_at_any_write_leaves_the_other_ways_in() {
    let writes = die_at_every_write(|keys, added| keys.remove_slot(added[2].id, NOW).map(drop), 1);

    assert_eq!(writes, 6);
}

#[test]
fn an_added_slot_that_dies_at_any_write_leaves_every_way_in() {
    let writes = die_at_every_write(|keys, _| keys.add_slot(&NewSlot::File, NOW).map(drop), 0);

    assert_eq!(writes, 2);
}

#[test]
fn a_disk_of_the_middle_of_a_rotation_gives_the_old_key_to_nobody_after_it() {
    let machine = Machine::new();
    machine.keys().create(&[NewSlot::Keyring, NewSlot::File], NOW).unwrap();
    let open = |store: &dyn Store| machine.keys().holder.unlock(store).unwrap();
    begin(machine.store().as_ref(), &open(machine.store().as_ref()), 1).unwrap();
    let owner = Some(conversation(1));
    let wrapped = blob(machine.store().as_ref(), owner, DATA).unwrap().unwrap();

    // Two secrets are kept, and the one write is done.
    machine.mortal_keys(&Life::of(3, Last::Done)).rotate(NOW).unwrap_err();
    let disk = MemoryStore::new();
    let record = blob(machine.store().as_ref(), None, RECORD).unwrap().unwrap();
    disk.put(&[record::put(&record)], Safety::Synced).unwrap();
    let opens = || open(&disk).unwrap(&wrapped, owner).is_ok();
    let in_the_middle = opens();
    machine.keys().finish_rotation().unwrap();

    assert_eq!((in_the_middle, opens()), (true, false));
}
