//! What is lost goes when its days are over, and nothing that opens goes with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use rejoin::store::backend::Backend;
use rejoin::store::{BlobNames, Change, Keeper, Order, Put, Read, Safety, Store, Task};
use rejoin::{Archive, Conversation, EventKind, List, Message, MessageId, Search, StoredMessage, Time};

use crate::doubles::{Interpose, Interposed, Write};
use crate::vault::altered::kept;
use crate::vault::quarantine::{Stage, flipped, texts, told};
use crate::vault::sealed;
use crate::vault::write::{NOW, Said, conversation, say};
use crate::vault_spaces::{KEYS, QUARANTINE};

const STONE: &str = "[A message stood here. It was damaged, did not open any more, and was purged.]";

const DAYS: u32 = 7;

/// Everybody who comes is told of what is damaged; eight days later a sweep comes.
fn sweep(stage: &Stage) -> usize {
    let archive = stage.archive();
    let _ = archive.path(conversation(1), None);
    let _ = archive.maintenance().survey();
    stage.archive_ahead(8).vault().purge_quarantined(DAYS).unwrap().len()
}

fn all(archive: &Archive) -> Vec<StoredMessage> {
    archive.reader().all_messages(conversation(1), Order::OldestFirst, 0, 99).unwrap()
}

fn shape(messages: &[StoredMessage]) -> Vec<(String, Option<MessageId>, String)> {
    let one = |stored: &StoredMessage| (stored.id.to_string(), stored.parent, stored.message.text());
    messages.iter().map(one).collect()
}

#[test]
fn a_lost_message_that_others_follow_leaves_a_stone() {
    let stage = Stage::new();
    stage.damage(1);

    let gone = sweep(&stage);

    let archive = stage.archive();
    assert_eq!(gone, 1);
    let [a, b] = ["a", "b"].map(|id| Some(id.parse().unwrap()));
    let expected = [("a", None, "one"), ("b", a, STONE), ("c", b, "three")];
    let expected = expected.map(|(id, parent, text)| (id.to_owned(), parent, text.to_owned()));
    assert_eq!(shape(&archive.path(conversation(1), None).unwrap()), expected);
    let stone = &all(&archive)[1].message;
    assert_eq!(stone.extra.field("lost").unwrap().as_str(), "\"corruption-detected\"");
    assert!(archive.maintenance().verify(conversation(1)).unwrap().is_sound());
    assert_eq!(archive.vault().quarantined().unwrap(), []);
}

#[test]
fn a_lost_beginning_leaves_a_stone_and_a_talk_goes_on() {
    let stage = Stage::new();
    stage.damage(0);
    sweep(&stage);

    let archive = stage.archive();
    archive.resume(conversation(1)).unwrap().append(Message::user("four")).unwrap();

    assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), [STONE, "two", "three", "four"]);
    assert!(archive.maintenance().verify(conversation(1)).unwrap().is_sound());
}

#[test]
fn who_has_the_conversation_open_goes_on_after_a_stone_was_laid() {
    let stage = Stage::new();
    let talker = stage.archive().passing_over_damage();
    let mut recorder = talker.record(talker.resume(conversation(1)).unwrap(), "1@1");
    stage.damage(1);
    sweep(&stage);

    recorder.append(vec![Message::user("four")]).unwrap();

    let archive = stage.archive();
    assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), ["one", STONE, "three", "four"]);
}

#[test]
fn several_in_a_row_leave_stones_where_the_index_knows_their_names() {
    let stage = Stage::new();
    stage.archive().maintenance().run(Task::Index, Duration::MAX).unwrap();
    stage.damage(0);
    stage.damage(1);

    let gone = sweep(&stage);

    assert_eq!(gone, 2);
    assert_eq!(texts(&all(&stage.archive())), [STONE, STONE, "three"]);
    assert!(stage.archive().maintenance().verify(conversation(1)).unwrap().is_sound());
}

#[test]
fn a_lost_message_whose_name_nobody_knows_stays_with_its_copy() {
    let stage = Stage::new();
    stage.damage(0);
    stage.damage(1);

    let gone = sweep(&stage);

    let copies = stage.archive().vault().quarantined().unwrap().len();
    assert_eq!((gone, copies, kept(stage.inner.as_ref(), stage.name).len()), (0, 2, 3));
    let archive = stage.archive().passing_over_damage();
    assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), ["three"]);
}

#[test]
fn several_at_the_end_go() {
    let stage = Stage::new();
    stage.damage(1);
    stage.damage(2);

    let gone = sweep(&stage);

    assert_eq!((gone, texts(&all(&stage.archive()))), (2, vec!["one".to_owned()]));
}

#[test]
fn a_message_that_was_damaged_twice_goes_whichever_copy_comes_first() {
    for (first, second) in [(10, 20), (20, 10)] {
        let stage = Stage::new();
        for at in [first, second] {
            stage.alter(2, |body| flipped(body, body.len() - at));
            let _ = stage.archive().path(conversation(1), None);
        }
        assert_eq!(stage.archive().vault().quarantined().unwrap().len(), 2);

        sweep(&stage);

        assert_eq!(texts(&all(&stage.archive())), ["one", "two"]);
        assert_eq!(stage.archive().vault().quarantined().unwrap(), []);
    }
}

/// A store in which somebody goes on from the first message right before something is changed.
struct Meanwhile {
    inner: Arc<rejoin::store::MemoryStore>,
    has_said: AtomicBool,
}

impl Interpose for Meanwhile {
    fn backend(&self) -> &dyn Backend {
        self.inner.as_ref()
    }

    fn writing(&self, write: Write, work: &mut dyn FnMut() -> rejoin::Result<()>) -> rejoin::Result<()> {
        if write == Write::Amend && !self.has_said.swap(true, Ordering::Relaxed) {
            let other = Archive::with_vault(Arc::new(sealed(self.inner.clone()))).passing_over_damage();
            let mut talk = other.resume_at(conversation(1), "a".parse().unwrap())?;
            talk.append(Message::assistant("the newest"))?;
        }
        work()
    }
}

#[test]
fn what_is_said_elsewhere_while_a_stone_is_laid_is_what_a_list_shows() {
    let stage = Stage::new();
    stage.damage(1);
    let _ = stage.archive().path(conversation(1), None);
    let before = Time::now();
    let busy = Arc::new(Meanwhile { inner: stage.inner.clone(), has_said: AtomicBool::new(false) });

    let gone = stage
        .ahead_on(Arc::new(Keeper::over(Interposed(busy))), 8)
        .vault()
        .purge_quarantined(DAYS)
        .unwrap()
        .len();

    let stored = stage.archive().conversation(conversation(1)).unwrap();
    assert_eq!((gone, stored.messages, stored.last.as_str()), (1, 4, "the newest"));
    assert!(stored.last_active_at >= before);
}

#[test]
fn a_stone_is_found_by_nobody_who_looks_for_what_was_lost() {
    let stage = Stage::new();
    stage.archive().maintenance().run(Task::Index, Duration::MAX).unwrap();
    stage.damage(1);
    sweep(&stage);

    let archive = stage.archive();
    archive.maintenance().run(Task::Index, Duration::MAX).unwrap();
    let found = archive.search(&Search { text: "two".to_owned(), ..Search::default() }).unwrap();

    assert_eq!((found.items.len(), found.left_out), (0, vec![]));
}

#[test]
fn whoever_follows_is_told_that_what_was_damaged_is_purged() {
    let stage = Stage::new();
    stage.damage(2);
    let _ = stage.archive().path(conversation(1), None);
    let bytes = stage.archive().vault().quarantined().unwrap()[0].bytes;
    let mut events = stage.archive().subscribe().unwrap();

    stage.archive_ahead(8).vault().purge_quarantined(DAYS).unwrap();

    let reason = || "corruption-detected".to_owned();
    let completed = EventKind::PurgeCompleted {
        reason: reason(),
        conversations: 0,
        messages: 1,
        bytes,
        failures: 0,
        is_erased: true,
    };
    let expected = [EventKind::MessagesDeleted { reason: reason() }, completed];
    let expected: Vec<_> = expected.into_iter().map(|kind| (Some(conversation(1)), kind)).collect();
    assert_eq!(told(events.next(Duration::from_secs(10)).unwrap()), expected);
    let later = told(stage.archive().events_after(0).next(Duration::ZERO).unwrap());
    assert_eq!(later[later.len() - 2..], expected);
}

#[test]
fn a_lost_header_is_written_again_and_every_message_is_there() {
    let stage = Stage::new();
    stage.damage_header();

    let gone = sweep(&stage);

    let archive = stage.archive();
    let stored = archive.conversation(conversation(1)).unwrap();
    let mut expected = Conversation::default();
    expected.privacy.exportable = false;
    assert_eq!((gone, stored.conversation, stored.created_at), (1, expected, NOW));
    assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), ["one", "two", "three"]);
    assert!(archive.maintenance().verify(conversation(1)).unwrap().is_sound());
    let listed = archive.list(&List::default()).unwrap().items;
    assert_eq!(listed.iter().map(|stored| stored.id).collect::<Vec<_>>(), [conversation(1)]);
    assert_eq!(archive.vault().quarantined().unwrap(), []);
}

#[test]
fn a_lost_header_of_a_conversation_that_nobody_can_name_stays_with_its_copy() {
    let stage = Stage::new();
    stage.damage_header();
    let put = Put { space: KEYS, owner: Some(stage.name), name: b"name", bytes: None };
    stage.inner.put(&[put], Safety::Synced).unwrap();
    // Nobody asks for it by its id, which would tell.
    let _ = stage.archive().maintenance().survey();

    let gone = stage.archive_ahead(8).vault().purge_quarantined(DAYS).unwrap().len();

    assert_eq!((gone, stage.archive().vault().quarantined().unwrap().len()), (0, 1));
    assert_eq!(kept(stage.inner.as_ref(), stage.name).len(), 3);
}

#[test]
fn a_conversation_of_which_nothing_opens_goes() {
    let stage = Stage::new();
    (0..3).for_each(|place| stage.damage(place));
    stage.damage_header();

    let gone = sweep(&stage);

    assert_eq!(gone, 4);
    assert_eq!(stage.archive().list(&List::default()).unwrap().items, []);
    assert_eq!(stage.archive().vault().quarantined().unwrap(), []);
}

#[test]
fn a_head_whose_name_nobody_knows_is_replaced_by_what_opens_before_it() {
    let stage = Stage::new();
    stage.archive().rewind(conversation(1), "b".parse().unwrap()).unwrap();
    stage.damage(1);

    let archive = stage.archive().passing_over_damage();
    let mut handle = archive.resume(conversation(1)).unwrap();
    let receipt = handle.append(Message::user("four")).unwrap();

    assert!(receipt.forked);
    assert_eq!(texts(&archive.path(conversation(1), None).unwrap()), ["one", "four"]);
}

#[test]
fn a_damaged_branch_goes_on_from_what_opens_before_it() {
    let stage = Stage::new();
    stage.archive().fork(conversation(1), "c".parse().unwrap(), "cheap").unwrap();
    stage.damage(2);

    let archive = stage.archive().passing_over_damage();
    let mut handle = archive.resume_at(conversation(1), "c".parse().unwrap()).unwrap();
    handle.append(Message::user("four")).unwrap();

    assert_eq!(texts(&handle.path().unwrap()), ["one", "two", "four"]);
    assert_eq!(
        stage.archive().resume_at(conversation(1), "c".parse().unwrap()).err().unwrap().kind(),
        rejoin::ErrorKind::Corrupt
    );
}

/// A tree in a vault: each message follows an earlier one.
fn grow(parents: &[prop::sample::Index]) -> Stage {
    let stage = Stage::new();
    let vault = sealed(stage.inner.clone());
    let archive = Archive::with_vault(Arc::new(sealed(stage.inner.clone())));
    let mut said: Vec<Said> =
        all(&archive).iter().map(|stored| Said { id: stored.id, digest: stored.digest }).collect();
    for (place, parent) in parents.iter().enumerate() {
        let (name, parent) = (format!("m{place}"), *parent.get(&said));
        said.push(say(&vault, conversation(1), &name, Some(parent), &format!("said {place}")).unwrap());
    }
    stage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is damaged: after its days everything that opened before opens, in the same place, and the
    /// chain is sound unless something had to stay.
    #[test]
    fn nothing_that_opens_is_lost(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        damaged in prop::collection::btree_set(0..11_usize, 0..6),
        is_indexed: bool,
    ) {
        let stage = grow(&parents);
        if is_indexed {
            stage.archive().maintenance().run(Task::Index, Duration::MAX).unwrap();
        }
        let count = parents.len() + 3;
        let before = shape(&all(&stage.archive()));
        for place in damaged.iter().filter(|place| **place < count) {
            stage.damage(*place);
        }
        let reader = stage.archive().passing_over_damage();
        let open: Vec<_> = shape(&all(&reader));
        prop_assert_eq!(open.len(), count - damaged.iter().filter(|place| **place < count).count());

        let _ = stage.archive().reader().all_messages(conversation(1), Order::OldestFirst, 0, 99);
        stage.archive_ahead(8).vault().purge_quarantined(DAYS).unwrap();

        let reader = stage.archive().passing_over_damage();
        let after = all(&reader);
        let staying = reader.vault().quarantined().unwrap().len();
        let readable: Vec<_> = shape(&after).into_iter().filter(|(_, _, text)| text != STONE).collect();
        prop_assert_eq!(readable, open);
        // What became a stone stands where the message stood.
        for (id, parent, _) in shape(&after) {
            prop_assert!(before.iter().any(|(known, above, _)| *known == id && *above == parent));
        }
        if staying == 0 {
            prop_assert!(stage.archive().maintenance().verify(conversation(1)).unwrap().is_sound());
        }
        if is_indexed {
            prop_assert_eq!(staying, 0);
        }
    }
}

#[test]
fn a_plain_store_never_lets_go_of_what_is_damaged() {
    let store = Arc::new(rejoin::store::MemoryStore::new());
    let archive = Archive::with_store(store.clone());
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    handle.append(Message::user("one")).unwrap();
    let change = Change::Header { facets: &rejoin::store::Facets::default(), header: "{" };
    store.amend(handle.id(), None, &change, NOW).unwrap();
    let _ = archive.conversation(handle.id());

    let gone = archive.vault().purge_quarantined(0).unwrap();

    let row =
        store.list(&rejoin::store::ListQuery { limit: 1, ..Default::default() }).unwrap().items.remove(0);
    assert_eq!((gone.len(), row.messages, row.header.as_str()), (0, 1, "{"));
    let mut copies = 0;
    store
        .get(QUARANTINE, None, BlobNames::ALL, &mut |_, _| {
            copies += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(copies, 0);
}
