//! Looking for a few hundred short words at once, at about the speed of reading.
//!
//! Three letters of a text give a number, and a table says whether a word has such letters where they
//! are least usual. Nothing that is looked at depends on what was looked at before, so a processor does
//! several places at a time; an automaton would wait for each letter before the next. What the table
//! lets through is compared with the words.

/// How many letters give a number.
const LETTERS: usize = 3;

/// The table has so many bits of places: 32 KiB stay near the processor, and of unlike letters
/// one in fifty is let through by chance.
const BITS: u32 = 15;

/// So many places are looked at together, because most of them hold nothing.
const PLACES: usize = 8;

/// Letters of both cases are the same without this bit. Other signs lose it too, and
/// are told apart when they are compared.
const CASELESS: u64 = 0xdfdf_dfdf_dfdf_dfdf;

/// Words to look for. Case does not matter.
///
/// They are put together when this crate is compiled, so that a process which appends one message need not do
/// it. There are no addresses in it, which would have to be filled in whenever a process starts.
#[derive(Debug)]
pub(super) struct Anchors<const ENTRIES: usize, const BYTES: usize> {
    /// For each number, one when there is something to compare with, else zero.
    table: [u8; 1 << BITS],
    /// For each number, which of the entries to compare with first, from one; none is zero.
    numbers: [u16; 1 << BITS],
    entries: [AnchorWord; ENTRIES],
    /// The words, one after the other.
    words: [u8; BYTES],
}

/// A word that has a number, and what is compared of it first.
#[derive(Clone, Copy, Debug)]
struct AnchorWord {
    place: u16,
    /// Which entry with the same number is next, from one; none is zero.
    next: u16,
    /// Where the word stands among all words, and its length.
    start: u16,
    length: u8,
    /// Where the letters stand in the word.
    offset: u8,
    /// Four letters of the word, or three, without the bit of their case.
    letters: u32,
    mask: u32,
}

/// How many entries the words have, and how many bytes.
pub(super) const fn size(words: &[&str], after: &str) -> (usize, usize) {
    let (mut place, mut entries, mut bytes) = (0, 0, 0);
    while place < words.len() {
        entries += if words[place].len() < LETTERS { after.len() + 1 } else { 1 };
        bytes += words[place].len();
        place += 1;
    }
    (entries, bytes)
}

impl<const ENTRIES: usize, const BYTES: usize> Anchors<ENTRIES, BYTES> {
    /// Looks for these words, and for those of two letters where one of the signs `after`, or nothing,
    /// follows. Their [`size`] is that of the type.
    pub(super) const fn new(words: &[&str], after: &str) -> Self {
        let none = AnchorWord { place: 0, next: 0, start: 0, length: 0, offset: 0, letters: 0, mask: 0 };
        let mut anchors = Self {
            table: [0; 1 << BITS],
            numbers: [0; 1 << BITS],
            entries: [none; ENTRIES],
            words: [0; BYTES],
        };
        let (mut place, mut start, mut count) = (0, 0, 0);
        while place < words.len() {
            let word = words[place].as_bytes();
            anchors.words.split_at_mut(start).1.split_at_mut(word.len()).0.copy_from_slice(word);
            let entry =
                AnchorWord { place: short(place), start: short(start), length: tiny(word.len()), ..none };
            if let Some(offset) = rarest(word) {
                let letters = [word[offset], word[offset + 1], word[offset + 2]];
                anchors.add(AnchorWord { offset: tiny(offset), ..entry }, letters, count);
                count += 1;
            } else {
                let mut sign = 0;
                while sign <= after.len() {
                    // The end of the text looks like a space.
                    let three = if sign < after.len() { after.as_bytes()[sign] } else { b' ' };
                    anchors.add(entry, [word[0], word[1], three], count);
                    count += 1;
                    sign += 1;
                }
            }
            start += word.len();
            place += 1;
        }
        assert!(count == ENTRIES && start == BYTES, "the size is that of the words");
        anchors
    }

    /// Puts an entry with these letters in the place `at`. Those with the same
    /// number are in the order of their words.
    const fn add(&mut self, entry: AnchorWord, [one, two, three]: [u8; LETTERS], at: usize) {
        let number = number(caseless([one, two, three, 0]));
        let fourth = entry.offset as usize + LETTERS;
        let has_fourth = fourth < entry.length as usize;
        let letters = caseless([one, two, three, if has_fourth { self.word(&entry)[fourth] } else { 0 }]);
        let mask = if has_fourth { u32::MAX } else { u32::MAX >> 8 };
        let (mut before, mut next) = (0, self.numbers[number]);
        while next != 0 && !is_less(self.word(&entry), self.word(&self.entries[next as usize - 1])) {
            before = next;
            next = self.entries[next as usize - 1].next;
        }
        self.entries[at] = AnchorWord { next, letters, mask, ..entry };
        if before == 0 {
            self.numbers[number] = short(at + 1);
        } else {
            self.entries[before as usize - 1].next = short(at + 1);
        }
        self.table[number] = 1;
    }

    const fn word(&self, entry: &AnchorWord) -> &[u8] {
        self.words.split_at(entry.start as usize).1.split_at(entry.length as usize).0
    }

    /// Visits every place where one of the words stands, with which it is, until a visit is true.
    /// Words that overlap come in no order.
    pub(super) fn any(&self, text: &[u8], mut visit: impl FnMut(usize, usize) -> bool) -> bool {
        let mut at = 0;
        while let Some(near) = text[at..].first_chunk::<{ PLACES + 4 }>() {
            // Eight letters give four places.
            let words =
                [0, 4].map(|begin| near[begin..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
            let letters = |place: usize| low((words[place / 4] & CASELESS) >> (place % 4 * 8));
            let is_word = (0..PLACES).fold(0, |is_word, place| is_word | self.table[number(letters(place))]);
            let mut compare = |place: usize| {
                let letters = letters(place);
                self.table[number(letters)] != 0 && self.compare(letters, text, at + place, &mut visit)
            };
            if is_word != 0 && (0..PLACES).any(&mut compare) {
                return true;
            }
            at += PLACES;
        }
        (at..text.len()).any(|at| {
            let mut letters = [0; 4];
            let rest = &text[at..text.len().min(at + 4)];
            letters[..rest.len()].copy_from_slice(rest);
            self.compare(caseless(letters), text, at, &mut visit)
        })
    }

    fn compare(
        &self,
        letters: u32,
        text: &[u8],
        at: usize,
        visit: &mut impl FnMut(usize, usize) -> bool,
    ) -> bool {
        let mut next = self.numbers[number(letters)];
        while let Some(entry) = usize::from(next).checked_sub(1).map(|place| &self.entries[place]) {
            next = entry.next;
            if letters & entry.mask != entry.letters {
                continue;
            }
            let Some(at) = at.checked_sub(usize::from(entry.offset)) else { continue };
            let there = text[at..].get(..usize::from(entry.length));
            let is_there = there.is_some_and(|there| there.eq_ignore_ascii_case(self.word(entry)));
            if is_there && visit(usize::from(entry.place), at) {
                return true;
            }
        }
        false
    }
}

/// Where the letters of a word stand that texts have least often, of equal ones the
/// first; none when it has fewer than three.
const fn rarest(word: &[u8]) -> Option<usize> {
    let (mut rarest, mut most) = (None, i32::MIN);
    let mut offset = 0;
    while offset + LETTERS <= word.len() {
        let letters = [word[offset], word[offset + 1], word[offset + 2]];
        let rarity = rarity(letters[0]) + rarity(letters[1]) + rarity(letters[2])
            - if is_common(letters) { 8 } else { 0 };
        if rarity > most {
            (rarest, most) = (Some(offset), rarity);
        }
        offset += 1;
    }
    rarest
}

const fn rarity(byte: u8) -> i32 {
    match byte.to_ascii_lowercase() {
        b'j' | b'q' | b'x' | b'z' => 6,
        b'k' | b'v' => 4,
        b'b' | b'w' | b'y' => 3,
        b'p' | b'g' | b'f' => 2,
        b'm' | b'd' | b'u' | b'c' | b'l' => 1,
        b' ' => -1,
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 6,
        _ => 8,
    }
}

/// True for letters that words of every language have often, one after the other.
#[rustfmt::skip]
const fn is_common([one, two, three]: [u8; LETTERS]) -> bool {
    let letters = [one.to_ascii_lowercase(), two.to_ascii_lowercase(), three.to_ascii_lowercase()];
    matches!(
        &letters,
        b"the" | b"ing" | b"ion" | b"and" | b"ent" | b"her" | b"for" | b"int" | b"ere" | b"tio" | b"ter" | b"est" | b"ers"
            | b"ati" | b"all" | b"ver" | b"con" | b"com" | b"pro" | b"per" | b"how" | b"ide" | b"wit" | b"use" | b"ope"
    )
}

/// True when the first of two words comes before the other.
const fn is_less(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
}

/// Letters without the bit of their case, as a number.
const fn caseless(letters: [u8; 4]) -> u32 {
    u32::from_le_bytes(letters) & low(CASELESS)
}

/// The place of three letters in the table.
const fn number(letters: u32) -> usize {
    // Any odd factor spreads them that has no pattern of its own; this one is from the golden ratio. It
    // stands so far left that a fourth letter does not count.
    (letters.wrapping_mul(0x0037_79b1 << 8) >> (u32::BITS - BITS)) as usize
}

/// A place in a table, of which none is longer.
#[expect(clippy::cast_possible_truncation, reason = "a table that is too long is not compiled")]
pub(super) const fn short(place: usize) -> u16 {
    assert!(place <= u16::MAX as usize, "the tables are too long");
    place as u16
}

/// A place in a word, of which none is longer.
#[expect(clippy::cast_possible_truncation, reason = "a word that is too long is not compiled")]
pub(super) const fn tiny(place: usize) -> u8 {
    assert!(place <= u8::MAX as usize, "a word is too long");
    place as u8
}

/// The low half of a number.
#[expect(clippy::cast_possible_truncation, reason = "the other half is not wanted")]
const fn low(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 6] = ["key", "sk-", "sk-ant-", "SK", "://", "authorization"];
    const SIZE: (usize, usize) = size(&WORDS, "0a");

    static ANCHORS: Anchors<{ SIZE.0 }, { SIZE.1 }> = Anchors::new(&WORDS, "0a");

    proptest! {
        #[test]
        fn every_word_is_found_wherever_it_stands(
            pieces in proptest::collection::vec(
                "key|KEY|sk-|Sk-Ant-|SK|sk0|SKa|Skz|://|authorization|[a-zA-Z :/-]{0,5}|\\PC",
                0..12,
            ),
        ) {
            let text = pieces.concat();
            let mut found = Vec::new();
            ANCHORS.any(text.as_bytes(), |word, at| {
                found.push((at, word));
                false
            });

            let stands = |at: usize, word: &str| {
                text.as_bytes()[at..].get(..word.len()).is_some_and(|own| own.eq_ignore_ascii_case(word.as_bytes()))
            };
            let mut expected = Vec::new();
            for at in 0..text.len() {
                for (place, word) in WORDS.iter().enumerate().filter(|(_, word)| stands(at, word)) {
                    let next = text.as_bytes().get(at + word.len());
                    let is_sought =
                        word.len() > 2 || next.is_none_or(|next| b"0a".contains(&next.to_ascii_lowercase()));
                    // By chance a short word may be told before another sign, too.
                    if is_sought || found.contains(&(at, place)) {
                        expected.push((at, place));
                    }
                }
            }
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
