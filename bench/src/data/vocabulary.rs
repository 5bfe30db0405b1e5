//! Text that looks enough like writing: few words are frequent, most are rare,
//! and some need escaping in JSON.

use super::random::Random;

/// Different words; a full-text index grows with their number.
const WORDS: usize = 5_000;

/// Long enough that slices taken at random rarely repeat each other, short enough to build in milliseconds.
const LENGTH: usize = 4 << 20;

const SYLLABLES: [&str; 20] = [
    "ra", "no", "tel", "mi", "sur", "ka", "ven", "dor", "pi", "las", "em", "gru", "tha", "ol", "ben", "ci",
    "quo", "fen", "ja", "str",
];

/// A long text, from which the text of each message is cut.
pub(crate) struct Vocabulary {
    text: String,
}

impl Vocabulary {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let words: Vec<String> = (0..WORDS).map(|_| word(&mut random)).collect();
        let mut text = String::with_capacity(LENGTH + 64);
        let mut written = 0_usize;
        while text.len() < LENGTH {
            // Zipf's law: the tenth word is a tenth as frequent as the first.
            let rank = (WORDS as f64).powf(random.fraction());
            text.push_str(&words[rank as usize - 1]);
            written += 1;
            text.push_str(separator(written));
        }
        Self { text }
    }

    /// Returns a piece of text of about `length` bytes.
    pub(crate) fn cut(&self, random: &mut Random, length: usize) -> &str {
        let start = self.text.floor_char_boundary(random.below(self.text.len() - length));
        let end = self.text.floor_char_boundary(start + length);
        &self.text[start..end]
    }
}

fn word(random: &mut Random) -> String {
    let syllables = 1 + random.below(4);
    (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect()
}

/// Newlines, quotes and letters beyond ASCII appear as often as in source code and prose.
fn separator(written: usize) -> &'static str {
    if written.is_multiple_of(61) {
        " na\u{ef}ve "
    } else if written.is_multiple_of(37) {
        " \"quoted\" "
    } else if written.is_multiple_of(11) {
        ".\n"
    } else {
        " "
    }
}
