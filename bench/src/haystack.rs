//! Conversations to search: few words are frequent, most are rare, and one is in three messages only.

use rejoin::store::{Anchor, Entry, Facets, Note, Opening, PreviewUpdate, Stale, Store, Turn};
use rejoin::{ConversationId, Digest, Message, MessageId, Time};

use crate::Answer;

/// In three messages.
pub const RARE: &str = "zanzibarine";

/// In one message of ten.
pub const COMMON: &str = "deployment";

/// Messages of one turn.
const TURN: usize = 500;

/// Different words, beside those that occur once only.
const WORDS: u64 = 50_000;

/// Fills a store and returns how many bytes of text it holds.
pub fn fill(store: &dyn Store, conversations: u64, messages: u64) -> Answer<u64> {
    let mut random = Random(7);
    let mut bytes = 0;
    for conversation in 0..conversations {
        let mut from = 0;
        while from < messages {
            let count = (messages - from).min(TURN as u64);
            bytes += append(store, &mut random, conversation, from, count)?;
            from += count;
        }
    }
    Ok(bytes)
}

fn name(conversation: u64) -> ConversationId {
    ConversationId::new(Time::from_micros(1_794_000_000_000_000), Random(conversation).bytes())
}

fn message(number: u64) -> rejoin::Result<MessageId> {
    format!("m{number}x1y").parse()
}

/// Appends one turn and returns how many bytes of text it has.
pub fn append(
    store: &dyn Store,
    random: &mut Random,
    conversation: u64,
    from: u64,
    count: u64,
) -> Answer<u64> {
    let mut bodies = Vec::new();
    let mut bytes = 0;
    for number in from..from + count {
        let mut text = random.text();
        if number == 7 && conversation.is_multiple_of(7) && conversation < 20 {
            text += RARE;
        }
        if number.is_multiple_of(10) {
            text += COMMON;
        }
        bytes += text.len() as u64;
        let at =
            Time::from_micros(1_794_000_000_000_000 + (number * 20_000 + conversation).cast_signed() * 1_000);
        bodies.push(Message::user(text).at(at).to_body());
    }
    let link = |number: u64| Digest::chain(None, &number.to_be_bytes());
    let mut entries = Vec::new();
    for (number, body) in (from..).zip(&bodies) {
        let before = number.checked_sub(1);
        let parent =
            before.map(|before| Ok::<_, rejoin::Error>(Anchor { id: message(before)?, link: link(before) }));
        let parent = parent.transpose()?;
        entries.push(Entry { id: message(number)?, parent, link: link(number), note: Note::default(), body });
    }
    let facets = Facets::default();
    let opening = Opening { facets: &facets, header: "{}", created: Time::default() };
    store.append(&Turn {
        conversation: name(conversation),
        opening: (from == 0).then_some(opening),
        stale: Stale::Branch,
        entries: &entries,
        previews: PreviewUpdate { first: "first", last: "last" },
        branch: None,
        active: Time::from_micros(1_794_000_000_000_000 + conversation.cast_signed()),
        now: Time::now(),
        blobs: &[],
    })?;
    Ok(bytes)
}

/// SplitMix64: the same text in every run.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.number().to_be_bytes());
        bytes
    }

    /// About 2,200 bytes.
    fn text(&mut self) -> String {
        self.words(1_100)
    }

    /// Text of once to three times so many bytes: few words are frequent, most are rare,
    /// and one in fifty occurs nowhere else.
    pub fn words(&mut self, least: usize) -> String {
        let length = least + (self.number() % (2 * least as u64)) as usize;
        let mut text = String::with_capacity(length + 32);
        while text.len() < length {
            let fraction = (self.number() >> 11) as f64 / (1_u64 << 53) as f64;
            let rank = (WORDS as f64).powf(fraction) as u64;
            if self.number().is_multiple_of(50) {
                text += &format!("{:x}", self.number() >> 24);
            } else {
                text += &word(rank);
            }
            text.push(' ');
        }
        text
    }
}

/// The word of a rank: frequent ones are short.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ra", "no", "tel", "mi", "sur", "ka", "ven", "dor", "pi", "las", "em", "gru", "tha", "ol", "ben",
        "ci",
    ];
    let (mut rest, mut word) = (rank, String::new());
    loop {
        word += SYLLABLES[(rest % 16) as usize];
        rest /= 16;
        if rest == 0 {
            return word;
        }
    }
}
