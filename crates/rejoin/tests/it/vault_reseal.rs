//! A vault is sealed anew: with new data keys, while it is used, by a process that may die at any write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rejoin::store::backend::{Backend, ConversationRow, Rows, Which};
use rejoin::store::{BlobNames, Children, JsonlStore, Order, Space, SqliteStore, Task};
use rejoin::vault::{Keys, Reencrypted};
use rejoin::{
    Archive, Conversation, ConversationId, Error, ErrorKind, Existing, Message, Result, Search, StoreUrl,
    Time,
};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::Inner;
use crate::vault_keys::{Machine, titles, verified};

/// Everything that a vault can hold.
fn fill(archive: &Archive) {
    for title in ["Lisbon", "Porto"] {
        let mut talk = archive.start(Conversation::titled(title)).unwrap();
        let asked = talk.append(Message::user("Where to eat?")).unwrap();
        talk.append(Message::assistant("In Alfama.")).unwrap();
        archive.marks().label(talk.id(), asked.head, Some("idea")).unwrap();
        archive.marks().pin(talk.id(), asked.head).unwrap();
        let mut cheap = talk.fork(asked.head, "on a budget").unwrap();
        cheap.append(Message::assistant("A tasca.")).unwrap();
        archive.state().remember_for(talk.id(), "seen", Some("yes")).unwrap();
    }
    let mut trimmed = archive.start(Conversation::titled("Braga")).unwrap();
    trimmed.append(Message::user("First.")).unwrap();
    let last = trimmed.append(Message::assistant("Last.")).unwrap();
    archive
        .removal()
        .delete_messages(trimmed.id(), &[last.head], Children::Refuse, "user-requested")
        .unwrap();
    archive.start(Conversation::titled("empty")).unwrap();
    let gone = archive.start(Conversation::titled("gone")).unwrap();
    archive.removal().delete(&[gone.id()], "user-requested");
    archive.state().remember("line", Some("of the prompt")).unwrap();
    while archive.maintenance().run(Task::Index, Duration::MAX).unwrap() > 0 {}
}

/// A vault as it is told.
fn told(archive: &Archive) -> Vec<String> {
    let mut told = Vec::new();
    for id in archive.maintenance().survey().unwrap().conversations {
        let mut stored = archive.conversation(id).unwrap();
        // Counts changes.
        stored.version = 0;
        let all = archive.reader().all_messages(id, Order::OldestFirst, 0, 100).unwrap();
        let seen = archive.state().recall_for(id, "seen").unwrap();
        told.push(format!("{stored:?} {all:?} {seen:?}"));
    }
    told.sort();
    let found = archive.search(&Search { text: "eat".into(), ..Search::default() }).unwrap();
    told.push(format!("{:?} {:?}", found.items.len(), archive.state().recall("line").unwrap()));
    told.push(format!("{:?}", archive.audit().query(&Default::default()).unwrap()));
    let events = archive.events_after(0).next(Duration::ZERO).unwrap();
    told.push(format!("{:?}", events.iter().find(|event| event.kind.name() == "conversationDeleted")));
    told
}

/// The ids of the keys that anything in a store is sealed with.
pub(crate) fn keys_in_use(store: &dyn Inner) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let mut rows: Vec<ConversationRow> = Vec::new();
    let mut add = |stored: &[u8]| {
        let is_bytes = stored.starts_with(b"RJ\x02");
        let envelope = if is_bytes { stored.to_vec() } else { STANDARD_NO_PAD.decode(stored).unwrap() };
        keys.extend((!stored.is_empty()).then(|| envelope[4..20].to_vec()));
    };
    let work = &mut |seen: &dyn Rows| {
        seen.conversations(&mut |row| {
            rows.push(row);
            Ok(())
        })?;
        for row in &rows {
            [&row.header, &row.first, &row.last].into_iter().for_each(|stored| add(stored));
            row.branches.iter().for_each(|branch| add(branch.title.as_bytes()));
            seen.messages(row.id, Which::Range(Order::OldestFirst, 0, 1_000), &mut |message| {
                add(message.body);
                add(message.label.unwrap_or_default());
                Ok(())
            })?;
        }
        Ok(())
    };
    store.snapshot(work).unwrap();
    let owners = rows.iter().map(|row| Some(row.id)).chain([None]);
    for (owner, space) in owners.flat_map(|owner| Space::ALL.map(|space| (owner, space))) {
        store
            .get(space, owner, BlobNames::ALL, &mut |name, bytes| {
                let is_sealed = name.len() == 32 || [&b"name"[..], b"tip"].contains(&name);
                keys.extend(is_sealed.then(|| bytes[4..20].to_vec()));
                Ok(())
            })
            .unwrap();
    }
    keys
}

pub(crate) fn inner(url: &StoreUrl) -> Arc<dyn Inner> {
    let path = url.path().unwrap();
    if path.is_dir() {
        Arc::new(JsonlStore::open(path).unwrap())
    } else {
        Arc::new(SqliteStore::open(path).unwrap())
    }
}

fn everything_gets_a_new_key(scheme: &str) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let open = machine.open(&url);
    fill(&open);
    let (known, before) = (told(&open), keys_in_use(inner(&url).as_ref()));
    let keys = url.keys(&machine.access(), Existing::Needed).unwrap();
    let mut steps = Vec::new();

    let sealed = keys.reencrypt(&mut |done, all| steps.push((done, all))).unwrap();

    let after = keys_in_use(inner(&url).as_ref());
    assert_eq!(sealed, Reencrypted { conversations: 4, damaged: 0 });
    assert_eq!(steps, [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]);
    // One for each conversation, and one for what belongs to none.
    assert_eq!((before.len(), after.len(), before.intersection(&after).count()), (5, 5, 0));
    assert_eq!([told(&open), told(&machine.open(&url))], [known.clone(), known]);
    assert_eq!(verified(&machine.open(&url)), [""; 0]);
    assert!(!keys.check().unwrap().is_being_sealed);
}

#[test]
fn everything_in_sqlite_gets_a_new_key() {
    everything_gets_a_new_key("vault+sqlite");
}

#[test]
fn everything_in_files_gets_a_new_key() {
    everything_gets_a_new_key("vault+jsonl");
}

/// A store as a process sees it that dies at its last write, before or after it.
pub(crate) struct Mortal {
    pub(crate) store: Arc<dyn Inner>,
    pub(crate) left: AtomicU64,
    pub(crate) is_last_done: bool,
}

impl Interpose for Mortal {
    fn backend(&self) -> &dyn Backend {
        &self.store
    }

    fn writing(&self, _: Write, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let dead = || Err(Error::new(ErrorKind::Unavailable, "the process is dead"));
        match self.left.load(Ordering::Relaxed) {
            0 => dead(),
            left => {
                self.left.store(left - 1, Ordering::Relaxed);
                if left > 1 {
                    return work();
                }
                if self.is_last_done {
                    work()?;
                }
                dead()
            }
        }
    }
}

/// Lets processes die at every write in turn, each where the one before has
/// ended, and counts how many it took.
fn die_again_and_again(is_last_done: bool) -> u64 {
    let machine = Machine::new();
    let url = machine.vault("vault+sqlite");
    fill(&machine.open(&url));
    let known = told(&machine.open(&url));
    let before = keys_in_use(inner(&url).as_ref());
    for processes in 1.. {
        // At least as many writes as lead from one owner to the next, or nobody would come further.
        let mortal = Mortal { store: inner(&url), left: AtomicU64::new(processes), is_last_done };
        let outcome = Keys::of(Arc::new(Interposed(Arc::new(mortal))), machine.access().keys.unwrap())
            .reencrypt(&mut |_, _| ());

        assert_eq!(told(&machine.open(&url)), known, "{processes} {is_last_done}");
        // Keys may be replaced in between.
        if processes % 3 == 0 {
            url.keys(&machine.access(), Existing::Needed).unwrap().rotate(Time::now()).unwrap();
            assert_eq!(told(&machine.open(&url)), known, "{processes} {is_last_done}");
        }
        if outcome.is_ok() {
            let after = keys_in_use(inner(&url).as_ref());
            assert_eq!((after.len(), before.intersection(&after).count()), (5, 0));
            assert_eq!(verified(&machine.open(&url)), [""; 0]);
            return processes;
        }
    }
    unreachable!("some process lives long enough")
}

#[test]
fn a_vault_that_is_sealed_anew_by_processes_that_die_stays_readable() {
    let processes = [false, true].map(die_again_and_again);

    // Each goes on where the one before ended: from the beginning, it would take as many writes as there are.
    assert!(processes.iter().all(|processes| (4..20).contains(processes)), "{processes:?}");
}

#[test]
fn a_vault_that_is_sealed_anew_by_a_process_that_dies_at_any_write_stays_readable() {
    for (writes, is_last_done) in (1..).flat_map(|writes| [(writes, false), (writes, true)]) {
        let machine = Machine::new();
        let url = machine.vault("vault+sqlite");
        let archive = machine.open(&url);
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        talk.append(Message::user("Where to eat?")).unwrap();
        drop((talk, archive));
        let known = told(&machine.open(&url));
        let mortal = Mortal { store: inner(&url), left: AtomicU64::new(writes), is_last_done };

        let outcome = Keys::of(Arc::new(Interposed(Arc::new(mortal))), machine.access().keys.unwrap())
            .reencrypt(&mut |_, _| ());

        assert_eq!(told(&machine.open(&url)), known, "{writes} {is_last_done}");
        url.keys(&machine.access(), Existing::Needed).unwrap().reencrypt(&mut |_, _| ()).unwrap();
        assert_eq!(told(&machine.open(&url)), known, "{writes} {is_last_done}");
        if outcome.is_ok() {
            return;
        }
    }
}

fn nothing_is_lost_while_others_write(scheme: &str, rounds: usize) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    let is_over = AtomicBool::new(false);
    let archive = machine.open(&url);
    let shared = archive.start(Conversation::titled("shared")).unwrap().id();

    let said: Vec<(usize, ConversationId)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (archive, is_over) = (machine.open(&url), &is_over);
                scope.spawn(move || {
                    let (mut said, mut own) = (0, archive.start(Conversation::titled("own")).unwrap());
                    while (!is_over.load(Ordering::Relaxed) || said < 5) && said < 100 {
                        said += 1;
                        let text = format!("{writer}-{said}");
                        archive.resume(shared).unwrap().append(Message::user(text.as_str())).unwrap();
                        own.append(Message::assistant(text.as_str())).unwrap();
                        archive.state().remember(&format!("said.{writer}"), Some(&text)).unwrap();
                        archive.start(Conversation::titled(text)).unwrap();
                    }
                    (said, own.id())
                })
            })
            .collect();
        let keys = url.keys(&machine.access(), Existing::Needed).unwrap();
        (0..rounds).for_each(|_| assert_eq!(keys.reencrypt(&mut |_, _| ()).unwrap().damaged, 0));
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });

    let archive = machine.open(&url);
    let all: usize = said.iter().map(|(said, _)| said).sum();
    let messages = archive.reader().all_messages(shared, Order::OldestFirst, 0, u64::MAX).unwrap();
    assert_eq!((messages.len(), titles(&archive).len()), (all, 3 + all));
    for (writer, (said, own)) in said.iter().enumerate() {
        let own = archive.conversation(*own).unwrap();
        assert_eq!((own.messages, own.last), (*said as u64, format!("{writer}-{said}")));
    }
    let last = |writer: usize| archive.state().recall(&format!("said.{writer}")).unwrap();
    let said = |writer: usize| Some(format!("{writer}-{}", said[writer].0));
    assert_eq!([last(0), last(1)], [said(0), said(1)]);
    assert_eq!(verified(&archive), [""; 0]);
}

#[test]
fn nothing_is_lost_while_others_write_to_a_vault_in_sqlite() {
    nothing_is_lost_while_others_write("vault+sqlite", 4);
}

#[test]
fn nothing_is_lost_while_others_write_to_a_vault_in_files() {
    nothing_is_lost_while_others_write("vault+jsonl", 2);
}
