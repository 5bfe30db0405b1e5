//! Looking for a few hundred short words at once, at about the speed of reading.
//!
//! Three letters of a text give a number, and a table says whether a word has such letters where they are least usual. Nothing that is
//! looked at depends on what was looked at before, so a processor does several places at a time; an automaton would wait for
//! each letter before the next. What the table lets through is compared with the words.

/// How many letters give a number.
const LETTERS: usize = 3;

/// The table has so many bits of places: 32 KiB stay near the processor, and of unlike letters one in fifty is let through by
/// chance.
const BITS: u32 = 15;

/// So many places are looked at together, because most of them hold nothing.
const PLACES: usize = 8;

/// Letters of both cases are the same without this bit. Other signs lose it too, and are told apart when they are
/// compared.
const CASELESS: u64 = 0xdfdf_dfdf_dfdf_dfdf;

/// Letters that words of every language have often, one after the other.
const COMMON: [&[u8; LETTERS]; 25] = [
    b"the", b"ing", b"ion", b"and", b"ent", b"her", b"for", b"int", b"ere", b"tio", b"ter", b"est", b"ers",
    b"ati", b"all", b"ver", b"con", b"com", b"pro", b"per", b"how", b"ide", b"wit", b"use", b"ope",
];

/// Words to look for. Case does not matter.
#[derive(Debug)]
pub(super) struct Anchors {
    words: Vec<&'static [u8]>,
    /// For each number, one when there is something to compare with, else zero.
    table: Box<[u8; 1 << BITS]>,
    /// For each number, which of the lists below to compare with, from one; none is zero.
    numbers: Box<[u16; 1 << BITS]>,
    lists: Vec<Vec<Entry>>,
}

/// A word in a list, and what is compared of it first.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: usize,
    /// Where the letters stand in the word.
    offset: usize,
    /// Four letters of the word, or three, without the bit of their case.
    letters: u32,
    mask: u32,
}

impl Anchors {
    /// Looks for these words, and for those of two letters where one of the signs `after`, or nothing, follows.
    pub(super) fn new(words: impl IntoIterator<Item = &'static str>, after: &str) -> Self {
        let (table, numbers) = (Box::new([0; 1 << BITS]), Box::new([0; 1 << BITS]));
        let mut anchors = Self { words: Vec::new(), table, numbers, lists: Vec::new() };
        for word in words {
            let place = anchors.words.len();
            let word = word.as_bytes();
            anchors.words.push(word);
            if let Some(offset) = rarest(word) {
                anchors.add([word[offset], word[offset + 1], word[offset + 2]], place, offset);
            } else {
                let [one, two] = [word[0], word[1]];
                // The end of the text looks like a space.
                after.bytes().chain([b' ']).for_each(|three| anchors.add([one, two, three], place, 0));
            }
        }
        anchors
    }

    fn add(&mut self, [one, two, three]: [u8; LETTERS], place: usize, offset: usize) {
        let number = number(caseless([one, two, three, 0]));
        if self.table[number] == 0 {
            self.lists.push(Vec::new());
            self.table[number] = 1;
            self.numbers[number] = u16::try_from(self.lists.len()).expect("there are fewer places than that");
        }
        let fourth = self.words[place].get(offset + LETTERS).copied();
        let mask = if fourth.is_some() { u32::MAX } else { u32::MAX >> 8 };
        let letters = caseless([one, two, three, fourth.unwrap_or(0)]);
        self.lists[usize::from(self.numbers[number]) - 1].push(Entry { place, offset, letters, mask });
    }

    /// Visits every place where one of the words stands, with which it is, until a visit is true. Words that overlap come in no
    /// order.
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
        let Some(list) = usize::from(self.numbers[number(letters)]).checked_sub(1) else { return false };
        self.lists[list].iter().any(|entry| {
            if letters & entry.mask != entry.letters {
                return false;
            }
            let word = self.words[entry.place];
            let Some(at) = at.checked_sub(entry.offset) else { return false };
            let there = text[at..].get(..word.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(word)) && visit(entry.place, at)
        })
    }
}

/// Where the letters of a word stand that texts have least often; none when it has fewer than three.
fn rarest(word: &[u8]) -> Option<usize> {
    let rarity = |byte: &u8| match byte.to_ascii_lowercase() {
        b'j' | b'q' | b'x' | b'z' => 6,
        b'k' | b'v' => 4,
        b'b' | b'w' | b'y' => 3,
        b'p' | b'g' | b'f' => 2,
        b'm' | b'd' | b'u' | b'c' | b'l' => 1,
        b' ' => -1,
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 6,
        _ => 8,
    };
    let rarity = |letters: &[u8]| {
        let is_common = COMMON.iter().any(|common| letters.eq_ignore_ascii_case(*common));
        letters.iter().map(rarity).sum::<i32>() - if is_common { 8 } else { 0 }
    };
    // Of equal ones the first.
    let windows = word.windows(LETTERS).enumerate();
    windows
        .max_by_key(|(offset, letters)| (rarity(letters), std::cmp::Reverse(*offset)))
        .map(|(offset, _)| offset)
}

/// Letters without the bit of their case, as a number.
const fn caseless(letters: [u8; 4]) -> u32 {
    u32::from_le_bytes(letters) & low(CASELESS)
}

/// The place of three letters in the table.
const fn number(letters: u32) -> usize {
    // Any odd factor spreads them that has no pattern of its own; this one is from the golden ratio. It stands so far left that
    // a fourth letter does not count.
    (letters.wrapping_mul(0x0037_79b1 << 8) >> (u32::BITS - BITS)) as usize
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
            Anchors::new(WORDS, "0a").any(text.as_bytes(), |word, at| {
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
