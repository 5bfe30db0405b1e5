//! Looking for a few hundred short words at once, at about the speed of reading.
//!
//! Three letters of a text give a number, and a table says whether a word has such letters where they are least usual. Nothing that is
//! looked at depends on what was looked at before, so a processor does several places at a time; an automaton would wait for
//! each letter before the next. What the table lets through is compared with the words.

/// How many letters give a number.
const LETTERS: usize = 3;

/// The table has so many bits of places: 64 KiB stay near the processor, and of unlike letters one in fifty is let through by
/// chance.
const BITS: u32 = 15;

/// Letters of both cases are the same without this bit. Other signs lose it too, and are told apart when they are
/// compared.
const MASK: u32 = 0x00df_dfdf;

/// Words to look for. Case does not matter.
#[derive(Debug)]
pub(super) struct Anchors {
    words: Vec<&'static [u8]>,
    /// For each number, which of the lists below to compare with, from one; none is zero.
    table: Box<[u16; 1 << BITS]>,
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
        let mut anchors = Self { words: Vec::new(), table: Box::new([0; 1 << BITS]), lists: Vec::new() };
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

    fn add(&mut self, letters: [u8; LETTERS], place: usize, offset: usize) {
        let number = number(u32::from_le_bytes([letters[0], letters[1], letters[2], 0]));
        if self.table[number] == 0 {
            self.lists.push(Vec::new());
            self.table[number] = u16::try_from(self.lists.len()).expect("there are fewer places than that");
        }
        let word = self.words[place];
        let fourth = word.get(offset + LETTERS).copied();
        let mask = if fourth.is_some() { 0xdfdf_dfdf } else { MASK };
        let [one, two, three] = letters;
        let letters = u32::from_le_bytes([one, two, three, fourth.unwrap_or(0)]) & mask;
        self.lists[usize::from(self.table[number]) - 1].push(Entry { place, offset, letters, mask });
    }

    /// Visits every place where one of the words stands, with which it is. Words that overlap come in no order.
    pub(super) fn each(&self, text: &[u8], mut visit: impl FnMut(usize, usize)) {
        for (at, letters) in text.windows(4).enumerate() {
            let letters = letters.first_chunk().expect("a window has four letters");
            let list = self.table[number(u32::from_le_bytes(*letters))];
            if list != 0 {
                self.compare(list, u32::from_le_bytes(*letters), text, at, &mut visit);
            }
        }
        // The last three have no window of their own.
        for at in text.len().saturating_sub(3)..text.len() {
            let mut letters = [0; 4];
            letters[..text.len() - at].copy_from_slice(&text[at..]);
            let list = self.table[number(u32::from_le_bytes(letters))];
            if list != 0 {
                self.compare(list, u32::from_le_bytes(letters), text, at, &mut visit);
            }
        }
    }

    fn compare(&self, list: u16, letters: u32, text: &[u8], at: usize, visit: &mut impl FnMut(usize, usize)) {
        for entry in &self.lists[usize::from(list) - 1] {
            if letters & entry.mask != entry.letters {
                continue;
            }
            let word = self.words[entry.place];
            let Some(at) = at.checked_sub(entry.offset) else { continue };
            let there = text[at..].get(..word.len());
            if there.is_some_and(|there| there.eq_ignore_ascii_case(word)) {
                visit(entry.place, at);
            }
        }
    }
}

/// Where the letters of a word stand that texts have least often; none when it has fewer than three.
fn rarest(word: &[u8]) -> Option<usize> {
    let rarity = |byte: u8| match byte.to_ascii_lowercase() {
        b'j' | b'q' | b'x' | b'z' => 5,
        b'k' | b'v' | b'b' | b'w' | b'y' => 3,
        b'p' | b'g' | b'f' | b'm' | b'd' | b'h' | b'u' | b'c' => 1,
        b' ' | b'a'..=b'z' => 0,
        b'0'..=b'9' => 6,
        _ => 8,
    };
    let windows = word.windows(LETTERS).enumerate();
    // Of equal ones the first.
    windows
        .map(|(offset, letters)| (letters.iter().map(|byte| rarity(*byte)).sum::<u32>(), offset))
        .max_by_key(|(rarity, offset)| (*rarity, std::cmp::Reverse(*offset)))
        .map(|(_, offset)| offset)
}

/// The number of three letters; a fourth does not count.
const fn number(letters: u32) -> usize {
    // Any odd factor spreads them that has no pattern of its own; this one is from the golden ratio.
    ((letters & MASK).wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS)) as usize
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
            Anchors::new(WORDS, "0a").each(text.as_bytes(), |word, at| found.push((at, word)));

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
