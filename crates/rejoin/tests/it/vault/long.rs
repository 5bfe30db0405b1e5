//! Long conversations, which are opened on two cores: what is shown, what is told and when
//! it ends is the same as of short ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rejoin::store::{MemoryStore, Order, Read, Seen, Selection, Store};
use rejoin::vault::VaultStore;
use rejoin::{Error, ErrorKind, Result};

use crate::look::ReadMessage;
use crate::vault::altered::{Altered, Kept, altered, kept};
use crate::vault::sealed;
use crate::vault::write::{Said, append, conversation, inner_names, messages, open};
use crate::vault_spaces::QUARANTINE;

/// How many messages a long conversation has: a megabyte of them.
const MESSAGES: usize = 2_000;

const ALL: Selection<'static> = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };

/// Appends a long conversation to a store: turns of forty, each with a label, some messages under one far
/// above, and a few that are longer than all that waits to be opened.
fn talk(store: &dyn Store) {
    open(store, conversation(1));
    let mut said: Vec<Said> = Vec::new();
    for turn in 0..MESSAGES / 40 {
        let texts = (0..40).map(|place| {
            let number = turn * 40 + place;
            let length = if number % 700 == 699 { 1_500_000 } else { number % 900 };
            (
                format!("m{number}").parse().unwrap(),
                (number % 7 != 0).then(|| said.last().copied()).flatten(),
                "é".repeat(length),
            )
        });
        let mut texts: Vec<_> = texts.collect();
        // A branch: all of this turn hang on a message of the beginning.
        if turn % 5 == 4 {
            texts.iter_mut().for_each(|(_, parent, _)| *parent = Some(said[turn]));
        }
        said.extend(append(store, conversation(1), None, &texts, Some("label")).unwrap());
    }
}

/// A vault whose messages can be altered, with a long conversation.
struct Long {
    inner: Arc<Altered>,
    vault: VaultStore,
    records: Vec<Kept>,
    whole: Vec<ReadMessage>,
}

impl Long {
    fn new() -> Self {
        let inner = altered();
        let vault = sealed(inner.clone());
        talk(&vault);
        let records = kept(inner.as_ref(), inner_names(inner.as_ref())[0]);
        inner.backend().0.show(records.clone());
        let whole = messages(&vault, conversation(1)).unwrap();
        Self { inner, vault, records, whole }
    }

    /// What a read shows where messages at some places are others, and how it ends.
    fn read(&self, others: &[(usize, Kept)]) -> (Vec<ReadMessage>, Result<()>) {
        let mut shown = self.records.clone();
        others.iter().for_each(|(place, other)| shown[*place] = other.clone());
        self.inner.backend().0.show(shown);
        let mut seen = Vec::new();
        let read = self.vault.read(conversation(1), ALL, &mut |message| {
            seen.push(message.into());
            Ok(())
        });
        (seen, read)
    }

    /// Everything but the messages at these places.
    fn without(&self, places: &[usize]) -> Vec<ReadMessage> {
        let left = self.whole.iter().enumerate().filter(|(place, _)| !places.contains(place));
        left.map(|(_, shown)| shown.clone()).collect()
    }
}

fn flipped(record: &Kept) -> Kept {
    let mut body = record.body.clone().into_bytes();
    let middle = body.len() / 2;
    body[middle] = if body[middle] == b'A' { b'B' } else { b'A' };
    Kept { body: String::from_utf8(body).unwrap(), ..record.clone() }
}

#[test]
fn a_long_conversation_is_shown_as_it_was_appended() {
    let [plain, inner] = [0; 2].map(|_| Arc::new(MemoryStore::new()));
    let vault = sealed(inner);
    talk(plain.as_ref());
    talk(&vault);
    let last = format!("m{}", MESSAGES - 1).parse().unwrap();
    let read = |store: &dyn Read, what: Selection<'_>| {
        let mut shown: Vec<ReadMessage> = Vec::new();
        let show = &mut |seen: Seen<'_>| {
            shown.push(seen.into());
            Ok(())
        };
        store.read(conversation(1), what, show).unwrap();
        shown
    };
    let newest = Selection::All { order: Order::NewestFirst, offset: 3, limit: 1_500 };

    for what in [ALL, newest, Selection::Path(None), Selection::Path(Some(last))] {
        assert!(read(&vault, what) == read(plain.as_ref(), what), "{what:?}");
    }
}

#[test]
fn damage_anywhere_in_a_long_conversation_is_told_and_the_rest_is_shown() {
    let long = Long::new();
    // Where the caller is alone, among the bundles, one of the long ones, the last.
    let places = [3, 901, 902, 1_399, 1_700, MESSAGES - 1];
    let others: Vec<(usize, Kept)> =
        places.iter().map(|place| (*place, flipped(&long.records[*place]))).collect();

    let (shown, read) = long.read(&others);

    let told = read.unwrap_err();
    assert!(shown == long.without(&places));
    assert_eq!(told.kind(), ErrorKind::Corrupt);
    assert!(told.to_string().contains(&format!("`{}`", long.records[3].id)), "{told}");
    let mut copied = 0;
    let mut count = |_: &[u8], _: &[u8]| {
        copied += 1;
        Ok(())
    };
    long.inner.get(QUARANTINE, None, rejoin::store::BlobNames::ALL, &mut count).unwrap();
    assert_eq!(copied, places.len());
}

#[test]
fn messages_at_the_end_of_a_long_conversation_whose_bodies_were_cut_away_are_told() {
    let long = Long::new();
    // What comes before them is opened alone, so nothing else is in their bundle.
    let cut: Vec<usize> = (1_400..MESSAGES).collect();
    let others: Vec<(usize, Kept)> = cut
        .iter()
        .map(|place| (*place, Kept { body: String::new(), ..long.records[*place].clone() }))
        .collect();

    let (shown, read) = long.read(&others);

    assert!(shown == long.without(&cut));
    assert_eq!(read.map_err(|error| error.kind()), Err(ErrorKind::Corrupt));
}

#[test]
fn what_stands_around_a_message_far_into_a_read_cannot_be_changed() {
    let long = Long::new();
    let (one, two) = (&long.records[1_500], &long.records[1_501]);
    let damage = [
        vec![(1_500, Kept { body: two.body.clone(), ..one.clone() })],
        vec![(1_500, Kept { id: two.id, ..one.clone() })],
        vec![(1_500, Kept { parent: long.records[7].parent, ..one.clone() })],
        vec![(1_500, Kept { link: two.link, ..one.clone() })],
        vec![(1_500, Kept { seq: 1, ..one.clone() })],
        vec![(1_500, Kept { seq: two.seq, ..one.clone() }), (1_501, Kept { seq: one.seq, ..two.clone() })],
    ];

    let told = damage.map(|others| long.read(&others).1.map_err(|error| error.kind()));

    assert_eq!(told, [Err(ErrorKind::Corrupt); 6]);
    assert!(long.read(&[]).0 == long.whole, "what was not changed opens");
}

#[test]
fn a_visitor_that_has_seen_enough_of_a_long_conversation_sees_no_more() {
    let long = Long::new();
    let seen_until = |enough: usize| {
        let mut seen = 0;
        let read = long.vault.read(conversation(1), ALL, &mut |_| {
            seen += 1;
            if seen == enough { Err(Error::new(ErrorKind::Invalid, "enough")) } else { Ok(()) }
        });
        (seen, read.unwrap_err().kind())
    };

    let enough = [1, 500, 1_000, 1_400, MESSAGES];

    assert_eq!(enough.map(seen_until), enough.map(|count| (count, ErrorKind::Invalid)));
}

#[test]
fn a_visitor_that_panics_ends_a_long_read() {
    let long = Long::new();
    let mut seen = 0;

    let ended = catch_unwind(AssertUnwindSafe(|| {
        long.vault.read(conversation(1), ALL, &mut |_| {
            seen += 1;
            assert!(seen < 1_000, "that is too many");
            Ok(())
        })
    }));

    assert!(ended.is_err());
    assert!(messages(&sealed(Arc::new(MemoryStore::new())), conversation(1)).is_err(), "others go on");
}
