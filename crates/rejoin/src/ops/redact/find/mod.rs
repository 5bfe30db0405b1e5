//! Where the secrets of a text are.
//!
//! A few letters that a secret cannot do without are looked for in one pass; only where they stand is looked
//! closer. So a text without them costs that pass and no more.

mod anchors;
mod assignment;
mod columns;
mod context;
mod examples;
mod judge;
mod keys;
mod letters;
mod names;
mod pattern;
mod personal;
mod placeholder;
mod printed;
mod reads;
mod said;
mod table;
mod token;
mod value;

use std::fmt;
use std::ops::Range;

use memchr::memmem;
pub use personal::Personal;

use crate::ops::marker::touches_marker;
use crate::ops::redact::find::assignment::{Leads, SeenNames};
use crate::ops::redact::find::context::{ContextPattern, HoldFrom};
use crate::ops::redact::find::letters::WORD;
use crate::ops::redact::find::pattern::Pattern;
use crate::ops::redact::find::table::anchors::{ANCHORS, AnchorTarget, KINDS, context as context_at};
use crate::ops::redact::find::table::commands::COMMANDS;
use crate::ops::redact::find::table::contexts::CONTEXTS;
use crate::ops::redact::find::table::tokens::TOKENS;
use crate::ops::redact::find::token::{MayWrap, Token, TokenShape};
use crate::ops::redact::reading::has_disguise;
use crate::ops::redact::seam::MEMBERS;

/// Which rule found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SecretRule {
    Named(&'static str),
    /// One of the caller's own, counted from one.
    Own(usize),
}

impl SecretRule {
    /// Personal data that a caller named in the notes of a message.
    pub(super) const TOKEN: Self = Self::Named("pii-token");

    /// True for what tells who somebody is and opens nothing.
    pub(super) fn is_personal(self) -> bool {
        self == Self::TOKEN
            || matches!(self, Self::Named(name) if Personal::ALL.iter().any(|kind| kind.as_str() == name))
    }
}

impl fmt::Display for SecretRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Own(number) => write!(f, "pattern-{number}"),
        }
    }
}

/// Which of two rules for the same letters gives the name: the greater one knows more about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Personal,
    Own,
    Assignment,
    Header,
    Shape,
    /// By how many letters it was recognised.
    Token(usize),
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundSecret {
    pub(super) range: Range<usize>,
    pub(super) rule: SecretRule,
    pub(super) weight: Weight,
}

/// So far behind a word for it a password may stand.
const FOREIGN_BYTES: usize = 80;

/// No run of letters that is a secret is longer.
const RUN_BYTES: usize = 8 << 10;

/// A longer token is data such as a key.
const DATA_BYTES: usize = 1_000;

/// So many letters of a token that was cut off are worth hiding.
const CUT_LETTERS: usize = 4;

/// Finds the secrets of texts.
#[derive(Debug)]
pub(super) struct SecretFinder {
    /// The patterns of the tables, in their order.
    tokens: Vec<Pattern>,
    contexts: Vec<Pattern>,
    leads: Leads,
    /// The names of members that are read as one with the next.
    members: [memmem::Finder<'static>; 2],
}

impl SecretFinder {
    pub(super) fn new() -> Self {
        let shape = |token: &Token| match token.shape {
            TokenShape::Like(pattern, _) => pattern,
            TokenShape::Any
            | TokenShape::Exactly(_)
            | TokenShape::Strong
            | TokenShape::Uuid
            | TokenShape::Filled => "",
        };
        let tokens = TOKENS.iter().map(|token| Pattern::new(shape(token))).collect();
        let contexts = CONTEXTS.iter().chain(COMMANDS).map(|context| Pattern::new(context.pattern)).collect();
        Self { tokens, contexts, leads: Leads::new(), members: MEMBERS.map(memmem::Finder::new) }
    }

    /// True when written JSON has two members of one such name. Most messages
    /// have not, and every message is asked.
    pub(super) fn names_texts_twice(&self, json: &[u8]) -> bool {
        self.members.iter().any(|member| member.find_iter(json).nth(1).is_some())
    }

    /// A kind of token, and the pattern of its shape.
    fn token(&self, place: u16) -> (&'static Token, &Pattern) {
        let place = usize::from(place);
        (&TOKENS[place], &self.tokens[place])
    }

    /// What stands around a secret, and its pattern.
    fn context(&self, place: u16) -> (&'static ContextPattern, &Pattern) {
        let place = usize::from(place);
        (context_at(place), &self.contexts[place])
    }

    /// The places in written JSON that have to be looked at more closely, in order.
    ///
    /// None is left out that holds a secret in any reading of its escapes.
    pub(super) fn suspicions(&self, json: &str) -> Vec<usize> {
        let mut places = Vec::new();
        each_anchor(json, |kind, at, end| {
            if self.is_suspicious(kind, json.as_bytes(), at, end) {
                places.push(at);
            }
        });
        places.extend(dots(json.as_bytes()));
        if has_disguise(json) {
            // What is disguised may stand in any string.
            places.extend(memchr::memchr_iter(b'"', json.as_bytes()));
        }
        places.sort_unstable();
        places
    }

    /// True when written JSON has any such place.
    pub(super) fn is_suspect(&self, json: &str) -> bool {
        any_anchor(json, |kind, at, end| self.is_suspicious(kind, json.as_bytes(), at, end))
            || dots(json.as_bytes()).next().is_some()
            || has_disguise(json)
    }

    /// The secrets of a text, in no order; they may overlap.
    pub(super) fn secrets(&self, text: &str) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        let (mut seen, mut data) = (SeenNames::default(), 0..0);
        let (mut runs, mut seen_around) = (Vec::new(), Vec::new());
        each_anchor(text, |kind, at, end| match kind {
            AnchorTarget::Token(_) if at > data.start && at < data.end => {}
            AnchorTarget::Token(place) => {
                let (token, pattern) = self.token(place);
                runs.resize(self.tokens.len(), 0);
                let one = token.at(pattern, text, at, &mut runs[usize::from(place)]);
                // What is long is looked at once, whatever else begins in it.
                data = one
                    .iter()
                    .filter(|one| one.range.len() > DATA_BYTES)
                    .fold(data.clone(), |_, one| at..one.range.end);
                found.extend(one);
            }
            AnchorTarget::Context(place) => {
                let (context, pattern) = self.context(place);
                seen_around.resize(self.contexts.len(), 0..0);
                context.at(pattern, text, at, &mut seen_around[usize::from(place)], &mut found);
            }
            AnchorTarget::Ending if !ends_word(text.as_bytes(), end) => {}
            AnchorTarget::Word | AnchorTarget::Ending => self.leads.at(text, at, &mut seen, &mut found),
            AnchorTarget::Foreign => found.extend(said::foreign(text, end)),
            AnchorTarget::PrivateKey => found.extend(keys::private_key(text, at)),
            AnchorTarget::LastLine => found.extend(keys::headless_key(text, at)),
            AnchorTarget::Escape | AnchorTarget::Disguise => {}
        });
        found.extend(dots(text.as_bytes()).filter_map(|at| bot_token(text, at)));
        found.retain(|one| !touches_marker(text, &one.range));
        found
    }

    /// True when a name says that its value is secret, and the value can be that.
    pub(super) fn named(name: &str, value: &str) -> Option<SecretRule> {
        let is_key = keys::is_secret_member(name, value);
        assignment::named(name, value).or_else(|| is_key.then_some(SecretRule::Named("private-key")))
    }

    /// The rule for a value that something says to be secret, unless it is an example.
    pub(super) fn sensitive(value: &str) -> Option<SecretRule> {
        (context::is_packed(value) || context::is_argument(value))
            .then_some(SecretRule::Named("sensitive-value"))
    }

    /// Where at the end of a text a secret may have begun that is not complete.
    pub(super) fn unfinished(&self, text: &str) -> Option<usize> {
        let mut first: Option<usize> = None;
        let word = last_word(text);
        let line = open_line(text);
        let block = assignment::open_block(text);
        each_anchor(text, |kind, at, end| {
            let begin = match kind {
                AnchorTarget::Token(place) => {
                    let (token, _) = self.token(place);
                    let is_open =
                        begins_word(text.as_bytes(), at) && token.reaches_end(text, at, MayWrap::Yes);
                    is_open.then_some(at)
                }
                AnchorTarget::Ending if !ends_word(text.as_bytes(), end) => None,
                AnchorTarget::Word | AnchorTarget::Ending
                    if block.is_some_and(|block| at >= block && at < line) =>
                {
                    assignment::unfinished(text, at)
                }
                AnchorTarget::Word | AnchorTarget::Ending if at < line => None,
                AnchorTarget::Word | AnchorTarget::Ending => assignment::unfinished(text, at),
                AnchorTarget::PrivateKey => keys::is_open_key(text, at).then_some(at),
                AnchorTarget::Context(place) => match self.context(place).0.hold {
                    HoldFrom::Nothing => None,
                    HoldFrom::Word => (at >= word).then_some(word),
                    HoldFrom::Line => (end >= line).then_some(at),
                    HoldFrom::Next => {
                        let rest = text[end..].trim_start_matches([' ', ':', '"', '\'', '=']);
                        (text.len() - rest.len() >= word).then_some(at)
                    }
                },
                AnchorTarget::Foreign => {
                    let is_near = text.len() - end <= FOREIGN_BYTES && end >= line;
                    is_near.then(|| word.max(end))
                }
                AnchorTarget::LastLine | AnchorTarget::Escape | AnchorTarget::Disguise => None,
            };
            first = [first, begin].into_iter().flatten().min();
        });
        first
    }

    /// The beginning of a secret whose rest was cut off at the end of a text, before an ellipsis or nothing.
    pub(super) fn cut_off(&self, text: &str) -> Option<Range<usize>> {
        let whole = text.trim_end_matches(['\u{2026}', '.', ' ']);
        let mut first: Option<usize> = None;
        each_anchor(whole, |kind, at, end| {
            let is_cut = match kind {
                AnchorTarget::Token(place) => {
                    let (token, _) = self.token(place);
                    let rest = &whole[end..];
                    token.is_told_by_beginning()
                        && begins_word(whole.as_bytes(), at)
                        && token.reaches_end(whole, at, MayWrap::No)
                        && rest.len() >= CUT_LETTERS
                        && rest.bytes().any(|byte| byte.is_ascii_digit())
                        && !placeholder::is_placeholder(rest)
                }
                AnchorTarget::PrivateKey => keys::is_open_key(whole, at) && whole.len() - at >= 40,
                _ => false,
            };
            if is_cut {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        });
        first.map(|first| first..whole.len())
    }

    /// A cheap look at the letters around an anchor.
    fn is_suspicious(&self, kind: AnchorTarget, bytes: &[u8], at: usize, end: usize) -> bool {
        match kind {
            AnchorTarget::Token(place) => {
                self.token(place).0.may_begin(bytes, at) || near_escape(bytes, at, end)
            }
            AnchorTarget::Ending if !ends_word(bytes, end) => near_escape(bytes, at, end),
            // The sign that some anchors end with is no part of the name.
            AnchorTarget::Word | AnchorTarget::Ending => {
                assignment::is_suspicious(bytes, end - usize::from(!bytes[end - 1].is_ascii_alphabetic()))
            }
            AnchorTarget::Context(place) => self.context(place).0.may_begin(bytes, at, end),
            AnchorTarget::Escape => {
                let value = bytes
                    .get(end..end + 2)
                    .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
                value.is_some_and(|value| {
                    value.is_ascii_alphanumeric() || matches!(value, b'_' | b'-' | b':' | b'=' | b'.')
                })
            }
            AnchorTarget::Foreign
            | AnchorTarget::PrivateKey
            | AnchorTarget::LastLine
            | AnchorTarget::Disguise => true,
        }
    }
}

fn each_anchor(text: &str, mut visit: impl FnMut(AnchorTarget, usize, usize)) {
    any_anchor(text, |kind, at, end| {
        visit(kind, at, end);
        false
    });
}

fn any_anchor(text: &str, mut visit: impl FnMut(AnchorTarget, usize, usize) -> bool) -> bool {
    ANCHORS.any(text.as_bytes(), |anchor, at| {
        let (kind, length) = KINDS[anchor];
        visit(kind, at, at + usize::from(length))
    })
}

/// Where the last line begins, or the one before it when nothing but a word has come of
/// the last: what stands there may go on.
fn open_line(text: &str) -> usize {
    let line = text.rfind('\n').map_or(0, |line| line + 1);
    let is_begun = !text[line..].trim_start().contains(char::is_whitespace);
    if is_begun && line > 0 { text[..line - 1].rfind('\n').map_or(0, |line| line + 1) } else { line }
}

/// The places of the first dot in what may be a token of three parts that a bot has, in order.
fn dots(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_plain = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_alphanumeric);
    memchr::memchr_iter(b'.', bytes)
        .filter(|at| bytes.get(at + 7) == Some(&b'.') && *at >= 23)
        .filter(move |at| is_plain(&bytes[at - 8..*at]) && is_plain(&bytes[at - 23..at - 8]))
}

/// The token of a bot, whose first part is a number in base64 and ends at `at`.
fn bot_token(text: &str, at: usize) -> Option<FoundSecret> {
    let bytes = text.as_bytes();
    let id = bytes[..at].iter().rev().take(32).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let middle = bytes[at + 1..at + 7].iter().all(|byte| WORD.include(*byte));
    let secret = run_of(text, at + 8, |byte| WORD.include(byte));
    let is_token = (23..=28).contains(&id)
        && matches!(bytes[at - id], b'M' | b'N' | b'O')
        && middle
        && secret.len() >= 25;
    is_token.then(|| named(at - id..at + 8 + secret.len(), "discord-token", Weight::Shape))
}

fn near_escape(bytes: &[u8], at: usize, end: usize) -> bool {
    bytes[at.saturating_sub(8)..bytes.len().min(end + 8)].windows(2).any(|pair| pair == b"\\u")
}

/// True when a token may begin here. A letter that ends an escape, as in `\n`, belongs to what is before.
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|place| bytes[place]) else { return true };
    if !before.is_ascii_alphanumeric() && before != b'_' {
        return true;
    }
    let is_short = at >= 2 && bytes[at - 2] == b'\\' && matches!(before, b'n' | b'r' | b't' | b'b' | b'f');
    let is_long = at >= 6
        && bytes[at - 6] == b'\\'
        && matches!(bytes[at - 5], b'u' | b'U')
        && bytes[at - 4..at].iter().all(u8::is_ascii_hexdigit);
    let is_coloured = at >= 3 && before == b'm' && ends_colour(&bytes[..at - 1]);
    is_short || is_long || is_coloured
}

/// True after `ESC [ 3 1`: what colours a terminal ends in a letter, too.
fn ends_colour(bytes: &[u8]) -> bool {
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let rest = &bytes[..bytes.len() - digits];
    digits <= 8 && (rest.ends_with(b"\x1b[") || rest.ends_with(b"1b[") || rest.ends_with(b"033["))
}

/// True when no letter follows.
fn ends_word(bytes: &[u8], end: usize) -> bool {
    let is_apart = |at: usize| bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphabetic() && *byte != b'_');
    is_apart(end) || is_apart(end - 1)
}

/// Where the last word of a text begins.
pub(super) fn last_word(text: &str) -> usize {
    text.len() - text.rsplit(char::is_whitespace).next().unwrap_or_default().len()
}

fn named(range: Range<usize>, rule: &'static str, weight: Weight) -> FoundSecret {
    FoundSecret { range, rule: SecretRule::Named(rule), weight }
}

/// The letters from a place on that are of a kind, within bounds.
fn run_of(text: &str, begin: usize, includes: impl Fn(u8) -> bool) -> &str {
    let letters = text.as_bytes()[begin..].iter().take(RUN_BYTES);
    let length = letters.take_while(|byte| byte.is_ascii() && includes(**byte)).count();
    &text[begin..begin + length]
}

/// What stands before a place in its line, of which so many bytes are looked
/// at: all of it when it is shorter.
fn line_before(text: &str, at: usize, bytes: usize) -> &str {
    let near = &text[text.floor_char_boundary(at.saturating_sub(bytes))..at];
    &near[near.rfind('\n').map_or(0, |line| line + 1)..]
}

/// At most so many bytes of a text from a place on.
pub(super) fn within(text: &str, at: usize, bytes: usize) -> &str {
    &text[at..text.floor_char_boundary(text.len().min(at + bytes)).max(at)]
}
