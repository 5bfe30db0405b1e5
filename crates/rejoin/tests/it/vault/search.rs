//! Searching a vault: the same answers as plain stores give, from sealed segments that come and go.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::Config;
use rejoin::store::{
    BlobNames, Children, Entry, Facets, JsonlStore, ListQuery, MemoryStore, Note, Opening, PreviewUpdate,
    Put, Read, Safety, SearchOrder, SearchQuery, SqliteStore, Stale, Store, Target, Task, Turn, WordQuery,
};
use rejoin::{ConversationId, Digest, ErrorKind, Message, MessageId, Time};

use super::sealed;
use crate::residue::holding;
use crate::vault::Inner;
use crate::vault_spaces::SEGMENTS;

fn conversation(number: u8) -> ConversationId {
    ConversationId::new(Time::from_micros(i64::from(number) << 44), [number; 10])
}

fn message(number: u32) -> MessageId {
    format!("m{number}").parse().unwrap()
}

/// Appends texts, each with its id and time in seconds, in one turn; the first opens the conversation.
fn say(store: &dyn Store, to: u8, project: &str, said: &[(u32, i64, String)]) {
    let bodies: Vec<String> = said
        .iter()
        .map(|(_, at, text)| Message::user(text.clone()).at(Time::from_micros(*at * 1_000_000)).to_body())
        .collect();
    let entries: Vec<Entry<'_>> = said
        .iter()
        .zip(&bodies)
        .map(|((id, _, _), body)| Entry {
            id: message(*id),
            parent: None,
            link: Digest::chain(None, body.as_bytes()),
            note: Note::default(),
            body,
        })
        .collect();
    let facets = Facets { project: project.to_owned(), ..Facets::default() };
    let opening = Opening { facets: &facets, header: "{}", created: Time::default() };
    let turn = |opening| Turn {
        conversation: conversation(to),
        opening,
        stale: Stale::Branch,
        entries: &entries,
        previews: PreviewUpdate::default(),
        branch: None,
        active: Time::default(),
        now: Time::default(),
        blobs: &[],
    };
    match store.append(&turn(Some(opening))) {
        Err(error) if error.kind() == ErrorKind::Conflict => drop(store.append(&turn(None)).unwrap()),
        appended => drop(appended.unwrap()),
    }
}

fn index(store: &dyn Store) -> u64 {
    let mut done = 0;
    loop {
        let progress = store.maintain(Task::Index, Duration::ZERO).unwrap();
        done += progress.done;
        if progress.left == 0 {
            return done;
        }
    }
}

fn query(words: &WordQuery) -> SearchQuery<'_> {
    SearchQuery {
        words,
        conversation: None,
        project: None,
        role: None,
        since: None,
        order: SearchOrder::Newest,
        after: None,
        limit: 100,
    }
}

/// The ids that a text finds.
fn found(store: &dyn Read, text: &str) -> String {
    let words = WordQuery::parse(text);
    store.search(&query(&words)).unwrap().items.iter().map(|hit| format!("{} ", hit.message)).collect()
}

/// Every page of an answer, as text.
fn pages(store: &dyn Read, mut query: SearchQuery<'_>) -> String {
    let mut all = String::new();
    for _ in 0..60 {
        let page = store.search(&query).unwrap();
        all += &format!("{:?} {:?}\n", page.items, page.next);
        query.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    all
}

/// The names and bytes of all segments that a store keeps.
fn segments(inner: &dyn Store) -> Vec<(ConversationId, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for row in inner.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() }).unwrap().items {
        let got = inner.get(SEGMENTS, Some(row.id), BlobNames::ALL, &mut |name, bytes| {
            all.push((row.id, name.to_vec(), bytes.to_vec()));
            Ok(())
        });
        got.unwrap();
    }
    all
}

fn text(number: u32) -> String {
    format!("the green bicycle nummer{number} of everyone{}", number % 3)
}

/// A store in memory with a vault of two conversations in it, which is indexed.
fn indexed() -> (Arc<dyn Inner>, Arc<dyn Store>) {
    let inner: Arc<dyn Inner> = Arc::new(MemoryStore::new());
    let vault: Arc<dyn Store> = Arc::new(sealed(Arc::clone(&inner)));
    for to in [1, 2] {
        for turn in 0..6 {
            let said: Vec<_> = (0..5).map(|n| turn * 5 + n).map(|n| (n, i64::from(n), text(n))).collect();
            say(vault.as_ref(), to, "red", &said);
            index(vault.as_ref());
        }
    }
    (inner, vault)
}

#[test]
fn catching_up_costs_what_is_new() {
    let (inner, vault) = indexed();
    let many = segments(inner.as_ref()).len();
    say(vault.as_ref(), 1, "red", &[(100, 100, text(100)), (101, 101, text(101))]);

    let again = sealed(Arc::clone(&inner));

    assert_eq!((index(&again), index(&again), index(vault.as_ref())), (2, 0, 0));
    // Each is two blobs, and those of a conversation are merged as they become many.
    assert!(many <= 2 * 2 * 4, "{many} blobs for 60 messages");
    assert_eq!(found(&again, "nummer100"), "m100 ");
}

/// A bit of a blob is flipped, or the blob is lost.
fn damage(inner: &dyn Store, (owner, name, bytes): &(ConversationId, Vec<u8>, Vec<u8>), is_lost: bool) {
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    let bytes = (!is_lost).then_some(damaged.as_slice());
    let put = Put { space: SEGMENTS, owner: Some(*owner), name, bytes };
    inner.put(&[put], Safety::Unsynced).unwrap();
}

#[test]
fn a_segment_that_was_changed_or_lost_changes_no_answer() {
    let (inner, vault) = indexed();
    let before = found(vault.as_ref(), "everyone1");

    for (segment, is_lost) in segments(inner.as_ref()).iter().zip([true, false].into_iter().cycle()) {
        damage(inner.as_ref(), segment, is_lost);

        assert_eq!(found(&sealed(Arc::clone(&inner)), "everyone1"), before);
    }
}

#[test]
fn segments_that_a_search_found_damaged_are_made_again() {
    let (inner, vault) = indexed();
    let before = found(vault.as_ref(), "everyone1");
    for is_lost in [true, false] {
        let all = segments(inner.as_ref());
        all.iter().filter(|(_, name, _)| name.starts_with(b"words")).for_each(|segment| {
            damage(inner.as_ref(), segment, is_lost);
        });
        let other = sealed(Arc::clone(&inner));

        let damaged = found(&other, "everyone1");

        assert_eq!((damaged, index(&other)), (before.clone(), 60));
        let healed = sealed(Arc::clone(&inner));
        assert_eq!((found(&healed, "everyone1"), index(&healed)), (before.clone(), 0));
    }
}

#[test]
fn segments_of_another_conversation_or_place_are_not_believed() {
    let (inner, vault) = indexed();
    say(vault.as_ref(), 3, "red", &[(7, 7, "something else".to_owned())]);
    index(vault.as_ref());
    let before = found(vault.as_ref(), "everyone1");
    let all = segments(inner.as_ref());

    for (owner, name, bytes) in &all {
        let others = all.iter().filter(|(other, ..)| other != owner).map(|(other, ..)| *other);
        let puts: Vec<_> = others
            .map(|other| Put { space: SEGMENTS, owner: Some(other), name, bytes: Some(bytes) })
            .collect();
        inner.put(&puts, Safety::Unsynced).unwrap();
    }

    assert_eq!(found(&sealed(inner), "everyone1"), before);
}

#[test]
fn removing_messages_erases_the_segments_of_their_conversation() {
    let (inner, vault) = indexed();
    let ids = [message(4)];
    let target = Target::Messages { conversation: conversation(1), ids: &ids, children: Children::Remove };
    let before = segments(inner.as_ref());

    vault.remove(&[target], "tidying", Time::default()).unwrap();

    let left = segments(inner.as_ref());
    let owners: Vec<_> = left.iter().map(|(owner, ..)| *owner).collect();
    assert!(!left.is_empty() && left.len() < before.len() && owners.iter().all(|owner| *owner == owners[0]));
    assert_eq!(found(vault.as_ref(), "nummer4 "), "m4 ");
    assert_eq!(index(vault.as_ref()), 29);
    assert_eq!(found(vault.as_ref(), "nummer4 "), "m4 ");
    vault.remove(&[Target::Conversation(conversation(2))], "tidying", Time::default()).unwrap();
    assert_eq!(found(vault.as_ref(), "nummer4 "), "");
}

#[test]
fn a_conversation_that_is_long_is_found_in_by_all_of_its_segments() {
    let inner: Arc<dyn Inner> = Arc::new(MemoryStore::new());
    let vault = sealed(Arc::clone(&inner));
    // Two megabytes of which every word is another: more than a segment takes.
    for turn in 0..10_u32 {
        let said = (0..4_u32).map(|n| {
            let number = turn * 4 + n;
            let words: Vec<String> = (0..5_000).map(|word| format!("w{number}x{word}")).collect();
            (number, i64::from(number), words.join(" "))
        });
        say(&vault, 1, "red", &said.collect::<Vec<_>>());
    }

    assert_eq!(index(&vault), 40);

    assert!(segments(inner.as_ref()).len() >= 4);
    let asked = ["w0x0 ", "w17x4999 ", "w39x17 ", "w39x1234", "w40x1"];
    assert_eq!(asked.map(|text| found(&vault, text)), ["m0 ", "m17 ", "m39 ", "m39 ", ""]);
    assert_eq!(vault.find("m3", 100).unwrap().len(), 11);
}

/// Fills a vault with words, in part behind the index, and returns the files that hold one of them.
fn telling(directory: &Path, vault: &dyn Store) -> Vec<PathBuf> {
    let said = |from: u32| -> Vec<_> { (from..from + 20).map(|n| (n, i64::from(n), text(n))).collect() };
    say(vault, 1, "projectless", &said(0));
    index(vault);
    say(vault, 1, "projectless", &said(20));
    index(vault);
    say(vault, 2, "projectless", &said(0));
    assert_eq!(found(vault, "nummer17"), "m17 m17 ");
    let ids = [message(3)];
    let target = Target::Messages { conversation: conversation(1), ids: &ids, children: Children::Remove };
    vault.remove(&[target], "tidying", Time::default()).unwrap();
    vault.maintain(Task::Checkpoint, Duration::MAX).unwrap();
    holding(directory, &["bicycle", "nummer", "everyone", "projectless"])
}

#[test]
fn no_file_of_a_vault_holds_a_word_of_what_was_said() {
    let [database, files] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sqlite = sealed(Arc::new(SqliteStore::open(database.path().join("store.db")).unwrap()));
    let jsonl = sealed(Arc::new(JsonlStore::open(files.path()).unwrap()));

    assert_eq!(telling(database.path(), &sqlite), Vec::<PathBuf>::new());
    assert_eq!(telling(files.path(), &jsonl), Vec::<PathBuf>::new());
}

/// One thing that happens to every store.
#[derive(Clone, Debug)]
enum Step {
    Say(u8, Vec<(i64, String)>),
    Remove(u8, Vec<u32>),
    Delete(u8),
    Index(bool),
    Reopen,
    Search { text: String, only: Option<u8>, project: Option<&'static str>, since: Option<i64>, limit: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let word = prop::sample::select(
        &["green", "greenish", "gre", "Café", "cafeteria", "東京", "bicycle", "b", "42", "naïve"][..],
    );
    let words = |most| prop::collection::vec(word.clone(), 0..most).prop_map(|words| words.join(" "));
    let said = prop::collection::vec((0..6_i64, words(6)), 1..8);
    let ending = prop::sample::select(&["", " "][..]);
    prop_oneof![
        6 => (0..4_u8, said).prop_map(|(to, said)| Step::Say(to, said)),
        1 => (0..4_u8, prop::collection::vec(0..40_u32, 1..4)).prop_map(|(from, ids)| Step::Remove(from, ids)),
        1 => (0..4_u8).prop_map(Step::Delete),
        4 => any::<bool>().prop_map(Step::Index),
        1 => Just(Step::Reopen),
        6 => (
            (words(4), ending).prop_map(|(text, ending)| text + ending),
            prop::option::weighted(0.2, 0..4_u8),
            prop::option::weighted(0.3, prop::sample::select(&["red", "blue", ""][..])),
            prop::option::weighted(0.3, -1..7_i64),
            1..6_usize,
        )
            .prop_map(|(text, only, project, since, limit)| Step::Search { text, only, project, since, limit }),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_vault_finds_what_plain_stores_find(steps in prop::collection::vec(step(), 1..50)) {
        let directory = tempfile::tempdir().unwrap();
        let inner: Arc<dyn Inner> = Arc::new(SqliteStore::open(directory.path().join("inner.db")).unwrap());
        let mut vault = sealed(Arc::clone(&inner));
        let (plain, memory) = (SqliteStore::open(directory.path().join("plain.db")).unwrap(), MemoryStore::new());
        let mut next = 0;
        for step in steps {
            let all: [&dyn Store; 3] = [&vault, &plain, &memory];
            match step {
                Step::Say(to, said) => {
                    let said: Vec<_> = said.into_iter().map(|(at, text)| { next += 1; (next, at, text) }).collect();
                    let project = if to % 2 == 0 { "red" } else { "blue" };
                    all.iter().for_each(|store| say(*store, to, project, &said));
                }
                Step::Remove(from, ids) => {
                    let ids: Vec<MessageId> = ids.into_iter().map(message).collect();
                    let target = Target::Messages { conversation: conversation(from), ids: &ids, children: Children::Remove };
                    all.iter().for_each(|store| drop(store.remove(&[target], "tidying", Time::default()).unwrap()));
                }
                Step::Delete(id) => {
                    let target = Target::Conversation(conversation(id));
                    all.iter().for_each(|store| drop(store.remove(&[target], "tidying", Time::default()).unwrap()));
                }
                Step::Index(is_whole) => {
                    if is_whole {
                        index(&vault);
                    } else {
                        vault.maintain(Task::Index, Duration::ZERO).unwrap();
                    }
                    plain.maintain(Task::Index, Duration::ZERO).unwrap();
                }
                Step::Reopen => vault = sealed(Arc::clone(&inner)),
                Step::Search { text, only, project, since, limit } => {
                    let words = WordQuery::parse(&text);
                    let asked = SearchQuery {
                        conversation: only.map(conversation),
                        project,
                        since: since.map(|seconds| Time::from_micros(seconds * 1_000_000)),
                        limit,
                        ..query(&words)
                    };
                    let [vault, plain, memory] = all.map(|store| pages(store, asked));
                    prop_assert_eq!(&vault, &plain);
                    prop_assert_eq!(vault, memory);
                }
            }
        }
    }
}
