//! Whoever can write to the disk and has no key: everything that was changed, cut, swapped or moved shows.

use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{
    BlobNames, Change, Children, Facets, ListQuery, Note, Order, PreviewUpdate, Put, Read, Rewritten, Row,
    Safety, Selection, Space, SqliteStore, Store, Target, Task,
};
use rejoin::vault::VaultStore;
use rejoin::{Archive, Branch, ConversationId, Digest, ErrorKind, Message, MessageId};

use crate::vault::altered::{Altered, Kept, altered, kept};
use crate::vault::sealed;
use crate::vault::write::{NOW, Said, append, conversation, inner_names, messages, open, say};
use crate::vault_spaces::{KEYS, QUARANTINE};

/// How many messages are damaged in every way.
const RECORDS: usize = 200;

/// A vault whose messages can be altered, with one conversation: some messages follow another, some are
/// roots, as if each had been written by somebody who knew nothing of the others.
struct Damaged {
    inner: Arc<Altered>,
    vault: VaultStore,
    name: ConversationId,
    records: Vec<Kept>,
}

impl Damaged {
    fn new() -> Self {
        let inner = altered();
        let vault = sealed(inner.clone());
        open(&vault, conversation(1));
        let mut before: Option<Said> = None;
        for number in 0..RECORDS {
            let parent = before.filter(|_| number % 3 > 0);
            let text = "x".repeat(number % 50);
            before = Some(say(&vault, conversation(1), &format!("m{number}"), parent, &text).unwrap());
        }
        let name = inner_names(inner.as_ref())[0];
        let records = kept(inner.as_ref(), name);
        assert_eq!(records.len(), RECORDS);
        Self { inner, vault, name, records }
    }

    /// Shows these messages in the place of those that are there, and says whether that was noticed.
    fn notices(&self, shown: Vec<Kept>) -> bool {
        self.inner.backend().0.show(shown);
        match messages(&self.vault, conversation(1)) {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                true
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_200_messages_shows() {
    let damaged = Damaged::new();
    let mut passed = Vec::new();
    for record in &damaged.records {
        for place in 0..record.body.len() {
            // The eighth bit makes it no text, which the inner store does not show as one: see `on_disk.rs`.
            for bit in 0..7 {
                let mut body = record.body.clone().into_bytes();
                body[place] ^= 1 << bit;
                let body = String::from_utf8(body).unwrap();
                if !damaged.notices(vec![Kept { body, ..record.clone() }]) {
                    passed.push((record.seq, place, bit));
                }
            }
        }
    }

    assert_eq!(passed, []);
}

#[test]
fn every_truncation_of_200_messages_shows() {
    let damaged = Damaged::new();
    let mut passed = Vec::new();
    for record in &damaged.records {
        for length in 0..record.body.len() {
            let body = record.body[..length].to_owned();
            if !damaged.notices(vec![Kept { body, ..record.clone() }]) {
                passed.push((record.seq, length));
            }
        }
    }

    assert_eq!(passed, []);
}

#[test]
fn every_pair_of_swapped_messages_shows() {
    let damaged = Damaged::new();
    let (mut bodies, mut rows) = (Vec::new(), Vec::new());
    for (one, first) in damaged.records.iter().enumerate() {
        for second in damaged.records.iter().skip(one + 1) {
            let with = |own: &Kept, other: &Kept| Kept { body: other.body.clone(), ..own.clone() };
            if !damaged.notices(vec![with(first, second)]) || !damaged.notices(vec![with(second, first)]) {
                bodies.push((first.seq, second.seq));
            }
            // Everything but the place in the order.
            let at = |own: &Kept, seq: u32| Kept { seq, ..own.clone() };
            if !damaged.notices(vec![at(second, first.seq), at(first, second.seq)]) {
                rows.push((first.seq, second.seq));
            }
        }
    }

    assert_eq!((bodies, rows), (vec![], vec![]));
}

#[test]
fn what_stands_around_a_message_cannot_be_changed_either() {
    let damaged = Damaged::new();
    let (own, other) = (&damaged.records[1], &damaged.records[4]);
    let changed = [
        Kept { id: other.id, ..own.clone() },
        Kept { parent: other.parent, ..own.clone() },
        Kept { parent: None, ..own.clone() },
        Kept { link: other.link, ..own.clone() },
        Kept { label: Some(own.body.clone()), ..own.clone() },
        Kept { is_pinned: true, ..own.clone() },
        Kept { seq: 0, ..own.clone() },
        Kept { seq: own.seq + 1, ..own.clone() },
        Kept { turn: own.turn - 1, ..own.clone() },
        Kept { forked: true, ..own.clone() },
    ];

    let noticed = changed.map(|record| damaged.notices(vec![record]));

    assert_eq!(noticed, [true; 10]);
    assert!(!damaged.notices(damaged.records.clone()), "what was not changed opens");
}

#[test]
fn a_message_that_was_moved_to_another_conversation_shows() {
    let damaged = Damaged::new();
    open(&damaged.vault, conversation(2));
    for number in 0..RECORDS {
        say(&damaged.vault, conversation(2), &format!("m{number}"), None, "elsewhere").unwrap();
    }
    let other = inner_names(damaged.inner.as_ref())[1];
    let strangers = kept(damaged.inner.as_ref(), other);

    let as_they_are = strangers.iter().filter(|own| !damaged.notices(vec![(*own).clone()])).count();
    let renamed = strangers.iter().zip(&damaged.records).filter(|(stranger, own)| {
        let shown = Kept { body: stranger.body.clone(), link: stranger.link, ..(*own).clone() };
        !damaged.notices(vec![shown])
    });

    assert_eq!((as_they_are, renamed.count()), (0, 0));
}

#[test]
fn an_older_form_of_a_message_shows_beside_its_children() {
    let damaged = Damaged::new();
    let body = Message::assistant("y").at(NOW).to_body();
    let mut link = None;
    let rewritten = ["m0", "m1", "m2"].map(|name| {
        let own = Digest::chain(link, body.as_bytes());
        link = Some(own);
        Rewritten { id: name.parse().unwrap(), link: own, body: &body }
    });
    let rewrite = Change::Rewrite { messages: &rewritten, previews: PreviewUpdate::default() };
    damaged.vault.amend(conversation(1), None, &rewrite, NOW).unwrap();
    let mut records = kept(damaged.inner.as_ref(), damaged.name);
    assert!(!damaged.notices(records.clone()));

    records[0] = damaged.records[0].clone();

    assert!(damaged.notices(records));
}

/// Everything that a vault keeps besides messages, damaged in one place.
fn checked(damage: impl FnOnce(&dyn Store, &Row)) -> Vec<String> {
    let inner = altered();
    let vault = sealed(inner.clone());
    open(&vault, conversation(1));
    let first = say(&vault, conversation(1), "a", None, "hello").unwrap();
    let branch = Branch { id: "q".parse().unwrap(), title: "here".to_owned(), head: first.id };
    vault.amend(conversation(1), None, &Change::Branch(&branch), NOW).unwrap();
    let put = |owner, name: &'static [u8]| Put { space: Space::Source, owner, name, bytes: Some(b"bytes") };
    vault.put(&[put(Some(conversation(1)), b"own"), put(None, b"nobody's")], Safety::Synced).unwrap();
    assert_eq!(vault.maintain(Task::Check, Duration::MAX).unwrap().faults, []);
    let row = inner.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);

    damage(inner.as_ref(), &row);

    let fresh = sealed(inner);
    fresh.maintain(Task::Check, Duration::MAX).unwrap().faults.into_iter().map(|fault| fault.what).collect()
}

/// The text with one bit of one letter flipped, for every letter.
fn flips(text: &str) -> Vec<String> {
    (0..text.len())
        .map(|place| {
            let mut flipped = text.to_owned().into_bytes();
            flipped[place] ^= 1 << (place % 7);
            String::from_utf8(flipped).unwrap()
        })
        .collect()
}

#[test]
fn a_damaged_header_branch_or_blob_is_a_fault() {
    let header = |inner: &dyn Store, row: &Row| {
        let all = flips(&row.header);
        let header = &all[all.len() / 2];
        inner.amend(row.id, None, &Change::Header { facets: &Facets::default(), header }, NOW).unwrap();
    };
    let branch = |inner: &dyn Store, row: &Row| {
        let title = flips(&row.branches[0].title).swap_remove(80);
        let branch = Branch { title, ..row.branches[0].clone() };
        inner.amend(row.id, None, &Change::Branch(&branch), NOW).unwrap();
    };
    let blob = |owner: fn(&Row) -> Option<ConversationId>| {
        move |inner: &dyn Store, row: &Row| {
            let mut found = Vec::new();
            let get = inner.get(Space::Source, owner(row), BlobNames::ALL, &mut |name, bytes| {
                found.push((name.to_vec(), bytes.to_vec()));
                Ok(())
            });
            get.unwrap();
            let (name, mut bytes) = found.remove(0);
            bytes[60] ^= 1;
            let put = Put { space: Space::Source, owner: owner(row), name: &name, bytes: Some(&bytes) };
            inner.put(&[put], Safety::Synced).unwrap();
        }
    };

    // What was written without the key has another version than the tip says.
    let told = |faults: Vec<String>| -> Vec<String> {
        faults.iter().map(|fault| fault.split(": ").next().unwrap().to_owned()).collect()
    };
    let expected = |what: &str| {
        vec![format!("its {what} does not open"), "its version is 3, and should be 2".to_owned()]
    };
    assert_eq!([checked(header), checked(branch)].map(told), ["header", "branch"].map(expected));
    assert_eq!(checked(blob(|row| Some(row.id))).len(), 1);
    assert_eq!(checked(blob(|_| None)).len(), 1);
    assert_eq!(checked(|_, _| ()), [""; 0]);
}

#[test]
fn a_conversation_whose_header_does_not_open_is_listed_under_its_inner_name() {
    let inner = altered();
    let vault = sealed(inner.clone());
    for number in [1, 2] {
        open(&vault, conversation(number));
        say(&vault, conversation(number), "a", None, "hello").unwrap();
    }
    let name = inner_names(inner.as_ref())[0];
    let broken = Change::Header { facets: &Facets::default(), header: "broken" };
    inner.amend(name, None, &broken, NOW).unwrap();

    let fresh = sealed(inner);
    let listed = fresh.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items;

    let mut ids: Vec<ConversationId> = listed.iter().map(|row| row.id).collect();
    ids.sort();
    let mut expected = vec![name, conversation(2)];
    expected.sort();
    assert_eq!(ids, expected);
    assert_eq!(messages(&fresh, name).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(messages(&fresh, conversation(2)).unwrap().len(), 1);
    assert!(!Archive::with_vault(Arc::new(fresh)).maintenance().verify(name).unwrap().is_sound());
}

#[test]
fn a_message_that_does_not_open_is_named_and_copied_and_the_rest_stays_readable() {
    let damaged = Damaged::new();
    let mut records = damaged.records.clone();
    let other = if &records[7].body[100..101] == "A" { "B" } else { "A" };
    records[7].body.replace_range(100..101, other);
    damaged.inner.backend().0.show(records.clone());

    let mut rest = Vec::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = damaged.vault.read(conversation(1), everything, &mut |seen| {
        rest.push(seen.seq);
        Ok(())
    });
    let error = read.unwrap_err();
    messages(&damaged.vault, conversation(1)).unwrap_err();

    let id = conversation(1);
    let message = records[7].id;
    let others: Vec<u32> = records.iter().map(|record| record.seq).filter(|seq| *seq != 8).collect();
    assert_eq!(rest, others);
    assert_eq!(
        format!("{error:?}"),
        format!(
            "[corrupt] the message `{message}` of conversation `{id}`, number 8, does not open: \
             it was changed or moved since it was sealed"
        )
    );
    let mut copies = Vec::new();
    let copied = damaged.vault.get(QUARANTINE, None, BlobNames::ALL, &mut |_, bytes| {
        copies.push(serde_json::from_slice::<serde_json::Value>(bytes).unwrap());
        Ok(())
    });
    copied.unwrap();
    let copy = copies[0].as_object_mut().unwrap();
    assert!(copy.remove("at").is_some());
    let expected = serde_json::json!({
        "what": "message",
        "why": "it was changed or moved since it was sealed",
        "is_lost": true,
        "conversation": id,
        "inner_conversation": damaged.name,
        "inner_name": message,
        "record": records[7].body,
    });
    assert_eq!(copies, [expected]);
}

#[test]
fn swapped_keys_of_conversations_show() {
    let inner = altered();
    let vault = sealed(inner.clone());
    for number in [1, 2] {
        open(&vault, conversation(number));
        say(&vault, conversation(number), "a", None, "hello").unwrap();
    }
    let names = inner_names(inner.as_ref());
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for name in &names {
        let get = inner.get(KEYS, Some(*name), BlobNames::One(b"data"), &mut |_, bytes| {
            keys.push(bytes.to_vec());
            Ok(())
        });
        get.unwrap();
    }
    keys.reverse();
    for (name, key) in names.iter().zip(&keys) {
        let put = Put { space: KEYS, owner: Some(*name), name: b"data", bytes: Some(key) };
        inner.put(&[put], Safety::Synced).unwrap();
    }

    let fresh = sealed(inner);

    let read = [1, 2].map(|number| messages(&fresh, conversation(number)).unwrap_err().kind());
    assert_eq!(read, [ErrorKind::Corrupt; 2]);
    assert!(!fresh.maintain(Task::Check, Duration::MAX).unwrap().faults.is_empty());
}

#[test]
fn rows_of_a_database_that_were_swapped_show() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let vault = || sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    let writing = vault();
    open(&writing, conversation(1));
    for number in 0..8 {
        say(&writing, conversation(1), &format!("m{number}"), None, "hello").unwrap();
    }
    drop(writing);
    let raw = rusqlite::Connection::open(&path).unwrap();
    let swap = |one: i64, two: i64| {
        let key = "(SELECT min(key) - 1 FROM message) + ";
        let sql = format!(
            "CREATE TEMP TABLE two AS SELECT {key} {one} AS one, {key} {two} AS two;
             UPDATE message SET key = -1 WHERE key = (SELECT one FROM two);
             UPDATE message SET key = (SELECT one FROM two) WHERE key = (SELECT two FROM two);
             UPDATE message SET key = (SELECT two FROM two) WHERE key = -1;
             DROP TABLE two;"
        );
        raw.execute_batch(&sql).unwrap();
    };

    let mut passed = Vec::new();
    for one in 1..=8 {
        for two in one + 1..=8 {
            swap(one, two);
            if messages(&vault(), conversation(1)).is_ok() {
                passed.push((one, two));
            }
            swap(one, two);
        }
    }

    assert_eq!(passed, []);
    assert_eq!(messages(&vault(), conversation(1)).unwrap().len(), 8);
}

#[test]
fn a_hundred_thousand_sound_messages_raise_no_alarm() {
    const CONVERSATIONS: u8 = 100;
    const TURNS: usize = 4;
    const ENTRIES: usize = 250;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let vault = sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    for number in 0..CONVERSATIONS {
        let id = conversation(number);
        open(&vault, id);
        for turn in 0..TURNS {
            let entry = |place: usize| (name(turn * ENTRIES + place), None, format!("{place}"));
            let entries: Vec<(MessageId, Option<Said>, String)> = (0..ENTRIES).map(entry).collect();
            append(&vault, id, None, &entries, Some("kept")).unwrap();
        }
    }

    let fresh = sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    let read: usize =
        (0..CONVERSATIONS).map(|number| messages(&fresh, conversation(number)).unwrap().len()).sum();

    assert_eq!(read, 100_000);
    let mut progress = fresh.maintain(Task::Check, Duration::ZERO).unwrap();
    while progress.left > 0 {
        assert_eq!(progress.faults, []);
        progress = fresh.maintain(Task::Check, Duration::ZERO).unwrap();
    }
    assert_eq!(progress.faults, []);
}

fn name(number: usize) -> MessageId {
    format!("m{number}").parse().unwrap()
}

#[test]
fn a_message_that_is_gone_is_gone_from_previews_and_the_time_stays() {
    let inner = altered();
    let vault = sealed(inner.clone());
    open(&vault, conversation(1));
    let first = say(&vault, conversation(1), "a", None, "my words").unwrap();
    say(&vault, conversation(1), "b", Some(first), "my secret").unwrap();
    let ids = ["b".parse().unwrap()];
    let target = Target::Messages { conversation: conversation(1), ids: &ids, children: Children::Refuse };
    vault.remove(&[target], "tidying", NOW).unwrap();
    vault.amend(conversation(1), None, &Change::Note(first.id, Note::default()), NOW).unwrap();

    // Nobody but the assistant said anything, so there is no first preview.
    let row = sealed(inner).list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);

    assert_eq!((row.first.as_str(), row.last.as_str(), row.active), ("", "my words", NOW));
}

#[test]
fn every_flipped_letter_of_a_preview_is_a_fault_and_nothing_else_is_listed() {
    let stage = || {
        let inner = altered();
        let vault = sealed(inner.clone());
        open(&vault, conversation(1));
        say(&vault, conversation(1), "a", None, "hello").unwrap();
        let row = inner.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);
        (inner, row)
    };
    let (inner, row) = stage();
    let first = flips(&row.first).into_iter().map(|first| (first, row.last.clone()));
    let last = flips(&row.last).into_iter().map(|last| (row.first.clone(), last));
    let mut passed = Vec::new();
    for (first, last) in first.chain(last) {
        let change =
            Change::Rewrite { messages: &[], previews: PreviewUpdate { first: &first, last: &last } };
        inner.amend(row.id, None, &change, NOW).unwrap();
        let fresh = sealed(inner.clone());
        let listed = fresh.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);
        let faults = fresh.maintain(Task::Check, Duration::MAX).unwrap().faults;
        let is_shown = !["", "beginning"].contains(&listed.first.as_str())
            || !["", "end", "hello"].contains(&listed.last.as_str());
        if faults.is_empty() || is_shown {
            passed.push((listed.first, listed.last, faults.len()));
        }
    }

    assert_eq!(passed, []);
}
