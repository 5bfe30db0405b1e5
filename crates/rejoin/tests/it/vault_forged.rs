//! Whoever can write to the disk and has no key makes a vault believe that it is sealed anew.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use rejoin::store::backend::Backend;
use rejoin::store::{ListQuery, Put, Safety};
use rejoin::vault::{Keys, Reencrypted};
use rejoin::{Archive, ConversationId, Existing, PurgeReason, Result, StoreUrl};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::Inner;
use crate::vault_keys::{Machine, say};
use crate::vault_reseal::{Mortal, inner, keys_in_use};
use crate::vault_spaces::{KEYS, SEGMENTS};

/// Conversations by the names that the inner store knows, and what belongs to none.
fn owners(url: &StoreUrl) -> Vec<Option<ConversationId>> {
    let rows = inner(url).list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items;
    rows.iter().map(|row| Some(row.id)).chain([None]).collect()
}

fn blob(store: &dyn Inner, owner: Option<ConversationId>, name: &[u8]) -> Option<Vec<u8>> {
    store.blob(KEYS, owner, name).unwrap()
}

fn put(url: &StoreUrl, owner: Option<ConversationId>, name: &[u8], bytes: Option<&[u8]>) {
    inner(url).put(&[Put { space: KEYS, owner, name, bytes }], Safety::Synced).unwrap();
}

fn reencrypt(machine: &Machine, url: &StoreUrl) -> Result<Reencrypted> {
    url.keys(&machine.access(), Existing::Needed).unwrap().reencrypt(&mut |_, _| ())
}

/// How many keys of before are still in use.
fn still_in_use(url: &StoreUrl, before: &BTreeSet<Vec<u8>>) -> usize {
    before.intersection(&keys_in_use(inner(url).as_ref())).count()
}

/// All that a check finds wrong.
fn faults(archive: &Archive) -> Vec<String> {
    archive.maintenance().check().unwrap().faults.into_iter().map(|fault| fault.what).collect()
}

fn filled(scheme: &str) -> (Machine, StoreUrl) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let archive = machine.open(&url);
    say(&archive, "Lisbon");
    say(&archive, "Porto");
    archive.state().remember("line", Some("of the prompt")).unwrap();
    (machine, url)
}

fn a_forged_mark_keeps_no_key(scheme: &str) {
    let (machine, url) = filled(scheme);
    let before = keys_in_use(inner(&url).as_ref());
    put(&url, None, b"run", Some(&[7; 16]));
    let done = [&[7; 16][..], &[2]].concat();
    owners(&url).into_iter().for_each(|owner| put(&url, owner, b"anew", Some(&done)));

    let told = faults(&machine.open(&url));
    let sealed = reencrypt(&machine, &url).unwrap();

    assert_eq!(sealed, Reencrypted { conversations: 2, damaged: 0 });
    assert_eq!((before.len(), still_in_use(&url, &before)), (3, 0));
    let broken = "does not open: it is not an envelope of this version";
    let [mark, unowned, run] = [
        "how far it is sealed anew",
        "how far what belongs to no conversation is sealed anew",
        "the name of the run that seals everything anew",
    ]
    .map(|what| format!("{what} {broken}"));
    assert_eq!(told, [unowned, run, mark.clone(), mark]);
    assert_eq!(faults(&machine.open(&url)), [""; 0]);
}

#[test]
fn a_forged_mark_keeps_no_key_of_a_vault_in_sqlite() {
    a_forged_mark_keeps_no_key("vault+sqlite");
}

#[test]
fn a_forged_mark_keeps_no_key_of_a_vault_in_files() {
    a_forged_mark_keeps_no_key("vault+jsonl");
}

/// A mark that says that an owner is done, copied to another one.
#[test]
fn a_mark_of_another_conversation_keeps_no_key() {
    let (machine, url) = filled("vault+sqlite");
    let before = keys_in_use(inner(&url).as_ref());
    // So many writes that the first conversation is done and the second is not.
    let writes = (3..).find(|writes| {
        let mortal = Mortal { store: inner(&url), left: AtomicU64::new(*writes), is_last_done: true };
        let keys = Keys::of(Arc::new(Interposed(Arc::new(mortal))), machine.access().keys.unwrap());
        keys.reencrypt(&mut |_, _| ()).unwrap_err();
        still_in_use(&url, &before) < 3
    });
    let owners = owners(&url);
    let marks: Vec<_> = owners.iter().map(|owner| blob(inner(&url).as_ref(), *owner, b"anew")).collect();
    let done = marks.iter().flatten().next().expect("one is done").clone();

    owners.iter().for_each(|owner| put(&url, *owner, b"anew", Some(&done)));
    let sealed = reencrypt(&machine, &url).unwrap();

    assert!(writes.is_some());
    assert_eq!((sealed.damaged, still_in_use(&url, &before)), (0, 0));
}

/// A store that keeps every name of a run that was ever written.
struct RunRecorder {
    store: Arc<dyn Inner>,
    runs: Mutex<Vec<Vec<u8>>>,
}

impl Interpose for RunRecorder {
    fn backend(&self) -> &dyn Backend {
        &self.store
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()?;
        self.runs.lock().unwrap().extend(blob(self.store.as_ref(), None, b"run"));
        Ok(())
    }
}

fn a_run_that_is_over_is_not_begun_again(scheme: &str) {
    let (machine, url) = filled(scheme);
    let recorded = Arc::new(RunRecorder { store: inner(&url), runs: Mutex::default() });
    let keys = Keys::of(Arc::new(Interposed(Arc::clone(&recorded))), machine.access().keys.unwrap());
    keys.reencrypt(&mut |_, _| ()).unwrap();
    let mut runs = std::mem::take(&mut *recorded.runs.lock().unwrap());
    runs.dedup();
    assert!(!runs.is_empty());

    let kept: Vec<(usize, Vec<String>)> = runs
        .iter()
        .map(|run| {
            let before = keys_in_use(inner(&url).as_ref());
            put(&url, None, b"run", Some(run));
            let told = faults(&machine.open(&url));
            reencrypt(&machine, &url).unwrap();
            (still_in_use(&url, &before), told)
        })
        .collect();

    let stale = "the name of the run that seals everything anew does not open";
    assert!(
        kept.iter().all(|(keys, told)| *keys == 0 && told.len() == 1 && told[0].starts_with(stale)),
        "{kept:?}"
    );
    assert_eq!(faults(&machine.open(&url)), [""; 0]);
}

#[test]
fn a_run_that_is_over_is_not_begun_again_in_sqlite() {
    a_run_that_is_over_is_not_begun_again("vault+sqlite");
}

#[test]
fn a_run_that_is_over_is_not_begun_again_in_files() {
    a_run_that_is_over_is_not_begun_again("vault+jsonl");
}

/// A purge replaces the key that names a run while the run is under way.
#[test]
fn a_run_goes_on_after_a_purge_has_replaced_the_key_of_its_name() {
    let (machine, url) = filled("vault+sqlite");
    let before = keys_in_use(inner(&url).as_ref());
    let is_gone = (3..40).any(|writes| {
        let mortal = Mortal { store: inner(&url), left: AtomicU64::new(writes), is_last_done: true };
        let keys = Keys::of(Arc::new(Interposed(Arc::new(mortal))), machine.access().keys.unwrap());
        keys.reencrypt(&mut |_, _| ()).unwrap_err();
        still_in_use(&url, &before) == 2
    });
    let midway = keys_in_use(inner(&url).as_ref());
    let archive = machine.open(&url);
    let purged = say(&archive, "Braga");
    archive.removal().purge(&[purged], PurgeReason::UserRequested, &mut |_| ());

    reencrypt(&machine, &url).unwrap();

    let after = keys_in_use(inner(&url).as_ref());
    // The conversation that was done before kept the key that the run made for it.
    assert!(is_gone);
    assert_eq!((before.intersection(&after).count(), midway.intersection(&after).count()), (0, 1));
    assert_eq!(faults(&archive), [""; 0]);
}

/// A stamp that says that everything is in the search index.
fn a_forged_stamp_is_named(scheme: &str) {
    let (machine, url) = filled(scheme);
    let reached = [&[1][..], &1_u32.to_be_bytes(), &u64::MAX.to_be_bytes()].concat();
    let forged = Put { space: SEGMENTS, owner: None, name: b"words", bytes: Some(&reached) };
    inner(&url).put(&[forged], Safety::Synced).unwrap();

    let told = faults(&machine.open(&url));

    assert_eq!(
        told,
        ["how far the search index reaches does not open: it is not an envelope of this version"]
    );
}

#[test]
fn a_forged_stamp_of_the_search_index_is_named_in_sqlite() {
    a_forged_stamp_is_named("vault+sqlite");
}

#[test]
fn a_forged_stamp_of_the_search_index_is_named_in_files() {
    a_forged_stamp_is_named("vault+jsonl");
}
