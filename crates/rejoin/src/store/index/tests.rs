use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::model::{MessageId, Time, WordQuery, words};

/// Words that are beginnings of each other, of several scripts, and one that is as long as words get.
const TEXTS: [&str; 10] = ["a", "ab", "abc", "abd", "green", "greenish", "Café", "東京", "𝟘x", "42"];

/// A message as tests make it: how far its sequence is from the one before, its time, its text.
type Said = (u32, i64, String);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let word = prop_oneof![
        6 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        1 => "[a-c]{1,3}",
        1 => "\\PC{0,80}",
    ];
    let text = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    let time = prop_oneof![Just(i64::MIN), Just(i64::MAX), 0..9_i64, any::<i64>()];
    prop::collection::vec((1..4_u32, time, text), 1..40)
}

fn id(seq: u32) -> MessageId {
    format!("m{seq}").parse().unwrap()
}

/// The segment that covers what was said after a sequence.
fn segment(covered: u32, said: &[Said]) -> (Ids, Vec<u8>) {
    let mut draft = DraftSegment::after(covered);
    let mut seq = covered;
    for (step, time, text) in said {
        seq += step;
        draft.add(seq, id(seq), Time::from_micros(*time), text, text.len() as u64);
    }
    draft.finish().unwrap()
}

/// Every word with the sequences that have it, by a plain map.
fn plain(covered: u32, said: &[Said]) -> BTreeMap<String, BTreeSet<u32>> {
    let mut all: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut seq = covered;
    for (step, _, text) in said {
        seq += step;
        for word in words(text) {
            all.entry(word).or_default().insert(seq);
        }
    }
    all
}

/// The sequences whose text a query matches, by looking at every text.
fn looked_through(covered: u32, said: &[Said], query: &WordQuery) -> Vec<u32> {
    let mut seq = covered;
    let seqs = said.iter().map(|(step, _, text)| {
        seq += step;
        (seq, query.matches(text))
    });
    seqs.filter(|(_, matches)| *matches).map(|(seq, _)| seq).collect()
}

/// Every word of a segment with its sequences.
fn decoded(bytes: &[u8]) -> Result<BTreeMap<String, BTreeSet<u32>>> {
    let mut all = BTreeMap::new();
    let mut cursor = Words::read(bytes)?.cursor();
    while cursor.advance()? {
        let word = String::from_utf8_lossy(cursor.word()).into_owned();
        all.insert(word, cursor.sequences().iter().copied().collect());
    }
    Ok(all)
}

#[test]
fn a_segment_has_the_bytes_that_the_specification_says() {
    let said = [(1, 5, "ab abc".to_owned()), (2, 3, "abc".to_owned())];
    let (ids, words) = segment(6, &said);

    let head = [
        &[1][..],                  // the form
        &[0, 0, 0, 1],             // the version of the words
        &[0, 0, 0, 7],             // the first sequence
        &[0, 0, 0, 9],             // the last
        &[0, 0, 0, 2],             // the messages
        &[0, 0, 0, 0, 0, 0, 0, 9], // the bytes
    ]
    .concat();
    let messages = [&[1, 10, 2][..], b"m7", &[2, 3, 2], b"m9"].concat();
    let table = [0, 0, 0, 2, 0, 0, 0, 0];
    let block = [&[0, 2][..], b"ab", &[1, 1], &[2, 1], b"c", &[2, 1, 2]].concat();
    assert_eq!(ids.write(), [&head[..], &messages].concat());
    assert_eq!(words, [&head[..], &table, &block].concat());
}

#[test]
fn numbers_have_one_form() {
    let cases: [(&[u8], Option<u64>); 9] = [
        (&[0], Some(0)),
        (&[0x7f], Some(127)),
        (&[0x80, 1], Some(128)),
        (&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1], Some(u64::MAX)),
        (&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2], None),
        (&[255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0], None),
        (&[0x80, 0], None),
        (&[0x80], None),
        (&[], None),
    ];

    let read = cases.map(|(bytes, _)| Taker(bytes).number().ok());

    assert_eq!(read, cases.map(|(_, expected)| expected));
}

#[test]
fn segments_that_do_not_follow_are_not_joined() {
    let said = [(1, 0, "word".to_owned())];
    let (one, one_words) = segment(0, &said);
    let (gap, gap_words) = segment(4, &said);

    assert!(one.clone().join(&gap).is_err());
    assert!(merge(&one_words, &gap_words).is_err());
    assert!(merge(&one_words, &one_words).is_err());
}

proptest! {
    #[test]
    fn a_segment_reads_back(said in said(), covered in 0..1_000_000_u32) {
        let (ids, words) = segment(covered, &said);

        prop_assert_eq!(Ids::read(&ids.write()).unwrap(), ids.clone());
        prop_assert_eq!(decoded(&words).unwrap(), plain(covered, &said));
        prop_assert_eq!(Words::read(&words).unwrap().span, ids.span);
        for held in &ids.held {
            prop_assert_eq!(ids.of(held.seq), Some(held));
        }
        prop_assert_eq!(ids.span.bytes, said.iter().map(|(_, _, text)| text.len() as u64).sum::<u64>());
    }

    #[test]
    fn a_lookup_finds_what_looking_through_every_text_finds(
        said in said(),
        query in prop_oneof![
            3 => prop::collection::vec(prop::sample::select(&TEXTS[..]), 0..4).prop_map(|words| words.join(" ")),
            1 => "[a-d]{0,3} ?",
            1 => "\\PC{0,4}",
        ],
        ending in prop_oneof![Just(""), Just(" ")],
    ) {
        let (_, words) = segment(3, &said);
        let query = WordQuery::parse(&(query + ending));

        let found = Words::read(&words).unwrap().matches(&query).unwrap();

        prop_assert_eq!(found, looked_through(3, &said, &query));
    }

    #[test]
    fn merged_segments_are_the_segment_of_all_their_messages(said in said(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(said.len());
        prop_assume!(cut > 0);
        let (whole_ids, whole_words) = segment(0, &said);

        let (older_ids, older_words) = segment(0, &said[..cut]);
        let (newer_ids, newer_words) = segment(older_ids.span.last, &said[cut..]);

        prop_assert_eq!(merge(&older_words, &newer_words).unwrap(), whole_words);
        prop_assert_eq!(older_ids.join(&newer_ids).unwrap(), whole_ids);
    }

    #[test]
    fn damaged_bytes_never_panic(
        said in said(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (ids, words) = segment(0, &said);
        let damage = |mut bytes: Vec<u8>| {
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        };
        let (ids, words) = (damage(ids.write()), damage(words));

        if let Ok(read) = Ids::read(&ids) {
            prop_assert_eq!(Ids::read(&read.write()).unwrap(), read);
        }
        let _ = decoded(&words);
        let _ = merge(&words, &segment(u32::MAX - 200, &said).1);
        for text in TEXTS {
            let _ = Words::read(&words).and_then(|words| words.matches(&WordQuery::parse(text)));
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), has_head in any::<bool>()) {
        let mut hostile = if has_head { segment(0, &[(1, 0, String::new())]).0.write()[..25].to_vec() } else { Vec::new() };
        hostile.extend(bytes);

        let _ = Ids::read(&hostile);
        let _ = decoded(&hostile);
        let _ = Words::read(&hostile).and_then(|words| words.matches(&WordQuery::parse("a b")));
    }
}
