//! Every anchor of the tables, put together when this crate is compiled.

use crate::ops::redact::find::anchors::{Anchors, short, size, tiny};
use crate::ops::redact::find::context::ContextPattern;
use crate::ops::redact::find::table::commands::COMMANDS;
use crate::ops::redact::find::table::contexts::CONTEXTS;
use crate::ops::redact::find::table::names::{ENDINGS, WORDS};
use crate::ops::redact::find::table::tokens::TOKENS;
use crate::ops::redact::find::table::words::FOREIGN;

/// What to look at where an anchor stands.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops::redact::find) enum AnchorTarget {
    /// The first letters of a token, by place in the table.
    Token(u16),
    /// What stands around a secret, by place in the tables.
    Context(u16),
    /// A word in the name of something secret.
    Word,
    /// A word that ends the name of something secret, and begins others.
    Ending,
    /// A word for a password that is part of no name.
    Foreign,
    PrivateKey,
    /// The last line of a private key.
    LastLine,
    /// A letter that is written by its number.
    Escape,
    /// One that nobody sees, or that looks like another.
    Disguise,
}

const OTHERS: [(&str, AnchorTarget); 15] = [
    ("-----begin ", AnchorTarget::PrivateKey),
    ("---- begin ", AnchorTarget::PrivateKey),
    ("-----end ", AnchorTarget::LastLine),
    ("\\u00", AnchorTarget::Escape),
    ("\\x", AnchorTarget::Escape),
    ("\\u200", AnchorTarget::Disguise),
    ("\\u206", AnchorTarget::Disguise),
    ("\\ufeff", AnchorTarget::Disguise),
    ("\\uff", AnchorTarget::Disguise),
    ("\\u04", AnchorTarget::Disguise),
    ("\\u03", AnchorTarget::Disguise),
    ("\\u00ad", AnchorTarget::Disguise),
    ("%5f", AnchorTarget::Disguise),
    ("%2d", AnchorTarget::Disguise),
    ("%3d", AnchorTarget::Disguise),
];

/// What can follow an anchor of two letters: a number, of which both kinds of such anchors are made.
const DIGITS: &str = "0123456789abcdef";

/// How many anchors there are.
const COUNT: usize = {
    let mut count = TOKENS.len() + WORDS.len() + ENDINGS.len() + FOREIGN.len() + OTHERS.len();
    let mut place = 0;
    while place < CONTEXTS.len() + COMMANDS.len() {
        count += context(place).anchors.len();
        place += 1;
    }
    count
};

/// The letters of every anchor.
const LETTERS: [&str; COUNT] = ALL.letters;

const SIZE: (usize, usize) = size(&LETTERS, DIGITS);

/// Finds the anchors; each has the place of its kind in [`KINDS`].
pub(in crate::ops::redact::find) static ANCHORS: Anchors<{ SIZE.0 }, { SIZE.1 }> =
    Anchors::new(&LETTERS, DIGITS);

/// What each anchor leads to, and how long it is.
pub(in crate::ops::redact::find) static KINDS: [(AnchorTarget, u8); COUNT] = ALL.kinds;

/// The anchors as they are put together.
struct All {
    letters: [&'static str; COUNT],
    kinds: [(AnchorTarget, u8); COUNT],
    count: usize,
}

const ALL: All = {
    let mut all = All { letters: [""; COUNT], kinds: [(AnchorTarget::Word, 0); COUNT], count: 0 };
    let mut place = 0;
    while place < TOKENS.len() {
        all.add(TOKENS[place].first, AnchorTarget::Token(short(place)));
        place += 1;
    }
    place = 0;
    while place < CONTEXTS.len() + COMMANDS.len() {
        all.add_each(context(place).anchors, AnchorTarget::Context(short(place)));
        place += 1;
    }
    all.add_each(&WORDS, AnchorTarget::Word);
    all.add_each(&ENDINGS, AnchorTarget::Ending);
    all.add_each(&FOREIGN, AnchorTarget::Foreign);
    place = 0;
    while place < OTHERS.len() {
        all.add(OTHERS[place].0, OTHERS[place].1);
        place += 1;
    }
    all
};

impl All {
    const fn add_each(&mut self, letters: &[&'static str], kind: AnchorTarget) {
        let mut place = 0;
        while place < letters.len() {
            self.add(letters[place], kind);
            place += 1;
        }
    }

    const fn add(&mut self, letters: &'static str, kind: AnchorTarget) {
        self.letters[self.count] = letters;
        self.kinds[self.count] = (kind, tiny(letters.len()));
        self.count += 1;
    }
}

/// A line of the tables of what stands around secrets.
pub(in crate::ops::redact::find) const fn context(place: usize) -> &'static ContextPattern {
    if place < CONTEXTS.len() { &CONTEXTS[place] } else { &COMMANDS[place - CONTEXTS.len()] }
}
