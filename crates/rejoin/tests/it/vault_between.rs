//! Keys are replaced, and somebody else does something at the very moment that matters.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use rejoin::store::backend::Backend;
use rejoin::store::{BlobNames, Keeper, ListQuery, Order, Read, Space};
use rejoin::vault::{Keys, VaultStore};
use rejoin::{Archive, ConversationId, Message, PurgeKeys, PurgeReason, Result, StoreUrl};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::Inner;
use crate::vault_keys::{Machine, say, verified};
use crate::vault_reseal::{inner, keys_in_use};
use crate::vault_spaces::KEYS;

/// How long whoever replaces keys waits for others. Nobody may need it.
const PATIENCE: Duration = Duration::from_secs(20);

/// When somebody else does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// A blob that belongs to no conversation was read.
    Read,
    /// A run over the whole vault began.
    Begun,
    /// There is a new key of a conversation before the old one.
    Sealing(ConversationId),
}

/// How long a wrapped key is.
const WRAPPED: usize = 100;

type Act = Box<dyn FnOnce() + Send>;

/// A store as whoever replaces keys sees it.
struct Interrupted {
    store: Arc<dyn Inner>,
    /// What somebody else does, and when; the next comes last.
    acts: Mutex<Vec<(Moment, Act)>>,
}

impl Interrupted {
    fn act_if(&self, is_now: impl FnOnce(Moment) -> bool) {
        let mut acts = self.acts.lock().unwrap();
        if let Some((_, act)) = acts.pop_if(|(moment, _)| is_now(*moment)) {
            act();
        }
    }

    fn is_sealing(&self, owner: ConversationId) -> bool {
        let data = self.store.blob(KEYS, Some(owner), b"data").unwrap();
        data.is_some_and(|data| data.len() == 2 * WRAPPED)
    }

    fn has_begun(&self) -> bool {
        self.store.blob(KEYS, None, b"run").unwrap().is_some()
    }
}

impl Interpose for Interrupted {
    fn backend(&self) -> &dyn Backend {
        &self.store
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()?;
        self.act_if(|moment| match moment {
            Moment::Read => false,
            Moment::Begun => self.has_begun(),
            Moment::Sealing(owner) => self.is_sealing(owner),
        });
        Ok(())
    }

    fn looked(&self, space: Space, named: BlobNames<'_>, _: usize) {
        self.act_if(|moment| {
            matches!((moment, space, named), (Moment::Read, Space::State, BlobNames::One(_)))
        });
    }
}

/// Seals a vault anew, while somebody else does something.
fn reencrypt(machine: &Machine, url: &StoreUrl, acts: Vec<(Moment, Act)>) {
    let store = Interrupted { store: inner(url), acts: Mutex::new(acts) };
    let lock = machine.path("vault.keys.lock");
    let keys = Keys::of(Arc::new(Interposed(Arc::new(store))), machine.access().keys.unwrap())
        .locked_by(lock, PATIENCE);

    assert_eq!(keys.reencrypt(&mut |_, _| ()).unwrap().damaged, 0);
}

/// The only conversation, by the name that the inner store knows.
fn inner_name(url: &StoreUrl) -> ConversationId {
    let rows = inner(url).list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items;
    rows[0].id
}

fn what_is_stored_while_a_blob_is_sealed_stays(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    machine.open(&url).state().remember("colour", Some("red")).unwrap();
    let other = machine.open(&url);
    let (tell, told) = mpsc::channel();
    let (writers, threads) = mpsc::channel();

    let act = move || {
        let writer = std::thread::spawn(move || {
            other.state().remember("colour", Some("blue")).unwrap();
            let _ = tell.send(());
        });
        // Nobody has to let it write now.
        let _ = told.recv_timeout(Duration::from_millis(200));
        writers.send(writer).unwrap();
    };
    reencrypt(&machine, &url, vec![(Moment::Read, Box::new(act))]);
    threads.recv().unwrap().join().unwrap();

    assert_eq!(machine.open(&url).state().recall("colour").unwrap().as_deref(), Some("blue"));
}

#[test]
fn what_is_stored_while_a_blob_in_sqlite_is_sealed_stays() {
    what_is_stored_while_a_blob_is_sealed_stays("vault+sqlite");
}

#[test]
fn what_is_stored_while_a_blob_in_files_is_sealed_stays() {
    what_is_stored_while_a_blob_is_sealed_stays("vault+jsonl");
}

fn texts(archive: &Archive, id: ConversationId) -> Vec<String> {
    let all = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
    all.iter().map(|stored| stored.message.text()).collect()
}

#[test]
fn whoever_knows_the_old_key_goes_on_while_everything_is_sealed_and_does_not_bring_it_back() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let other = Arc::new(machine.open(&url));
    let id = say(&other, "before");
    let before = keys_in_use(inner(&url).as_ref());

    let talks = |text: &'static str| -> Act {
        let other = Arc::clone(&other);
        Box::new(move || drop(other.resume(id).unwrap().append(Message::user(text)).unwrap()))
    };
    // Whoever seals next looks the key up, and then it is one of two.
    let looked_up = (Moment::Begun, talks("just before"));
    let begun = (Moment::Sealing(inner_name(&url)), talks("meanwhile"));
    reencrypt(&machine, &url, vec![begun, looked_up]);

    let (archive, after) = (machine.open(&url), keys_in_use(inner(&url).as_ref()));
    assert_eq!(texts(&archive, id), ["before", "just before", "meanwhile"]);
    assert_eq!((after.len(), before.intersection(&after).count()), (before.len(), 0));
    assert_eq!(verified(&archive), [""; 0]);
}

/// A store that notes how the keys of what belongs to no conversation stand after each write.
struct Observed {
    store: Arc<dyn Inner>,
    seen: Arc<Mutex<Vec<[Vec<u8>; 3]>>>,
}

/// The record of who can open a vault, and the keys of what belongs to no conversation: those that
/// seal, and those that do not any more.
fn stand(store: &dyn Read) -> [Vec<u8>; 3] {
    [&b"vault"[..], b"data", b"anew"].map(|name| {
        let mut found = Vec::new();
        let take = &mut |_: &[u8], bytes: &[u8]| {
            found = bytes.to_vec();
            Ok(())
        };
        store.get(KEYS, None, BlobNames::One(name), take).unwrap();
        found
    })
}

impl Interpose for Observed {
    fn backend(&self) -> &dyn Backend {
        &self.store
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let written = work();
        self.seen.lock().unwrap().push(stand(self.store.as_ref()));
        written
    }
}

#[test]
fn a_key_that_goes_with_a_purge_is_never_wrapped_with_one_that_stays() {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    let gone = say(&machine.open(&url), "gone");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Observed { store: inner(&url), seen: Arc::clone(&seen) };
    let observed = Arc::new(Keeper::over(Interposed(Arc::new(observed))));
    let holder = machine.access().keys.unwrap();
    let keys = Keys::of(observed.clone(), holder.clone());
    let vault = VaultStore::open(observed.clone(), Arc::new(holder)).unwrap().with_keys(keys);
    let [before, data, _] = stand(observed.as_ref());
    let key = &data[..16];

    let report = Archive::with_vault(Arc::new(vault)).removal().purge(
        &[gone],
        PurgeReason::UserRequested,
        &mut |_| (),
    );

    let holds = |blob: &[u8]| blob.windows(key.len()).any(|part| part == key);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let wrapped_anew = seen.iter().filter(|[record, ..]| *record != before);
    let [_, after, aside] = seen.last().unwrap();
    assert_eq!(report.keys, PurgeKeys::Rotated);
    assert_eq!(wrapped_anew.filter(|[_, data, aside]| holds(data) || holds(aside)).count(), 0);
    assert!(!holds(after) && !holds(aside) && seen.iter().any(|[record, ..]| *record != before));
}
