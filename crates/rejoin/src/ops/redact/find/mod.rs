//! Where the secrets of a text are.
//!
//! A few letters that a secret cannot do without are looked for in one pass; only where they stand is looked closer. So
//! a text without them costs that pass and no more.

mod address;
mod anchors;
mod assignment;
mod columns;
mod commands;
mod judge;
mod keys;
mod names;
mod personal;
mod placeholder;
mod printed;
mod said;
mod shapes;
mod value;
mod vendors;

use std::fmt;
use std::ops::Range;

pub use personal::Personal;

use crate::ops::redact::find::anchors::Anchors;
use crate::ops::redact::find::assignment::Assignment;
use crate::ops::redact::find::commands::{COMMANDS, READERS};
use crate::ops::redact::find::vendors::VENDORS;
use crate::ops::redact::fits::touches_marker;

/// What every marker begins with; nothing in a marker is a secret.
pub(super) const MARKER: &str = "[redacted:";

/// Which rule found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rule {
    Named(&'static str),
    /// One of the caller's own, counted from one.
    Own(usize),
}

impl Rule {
    /// Personal data that a caller named in the notes of a message.
    pub(super) const TOKEN: Self = Self::Named("pii-token");

    /// True for what tells who somebody is and opens nothing.
    pub(super) fn is_personal(self) -> bool {
        self == Self::TOKEN
            || matches!(self, Self::Named(name) if Personal::ALL.iter().any(|kind| kind.as_str() == name))
    }
}

impl fmt::Display for Rule {
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
    Vendor(usize),
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) rule: Rule,
    pub(super) weight: Weight,
}

/// What to look at where an anchor stands.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// A vendor's first letters, by place in the table.
    Vendor(usize),
    /// A command, by place in the table.
    Command(usize),
    /// A word in the name of something secret.
    Word,
    /// A word that ends the name of something secret, and begins others.
    Ending,
    /// A word for a password that is part of no name.
    Foreign,
    PrivateKey,
    /// The last line of a private key.
    LastLine,
    PuttyKey,
    PackedKey,
    JsonKey,
    Jwt,
    Address,
    /// `user:password@tcp(`
    Network,
    Thin,
    PasswordFile,
    Bearer,
    Authorization,
    Cookie,
    UserFlag,
    Signature,
    Code,
    Identified,
    Login,
    Call,
    Signing,
    /// A command that reads a password which another one writes.
    Reader,
    /// A letter that is written by its number.
    Escape,
}

/// Words in names of what is secret. Case does not matter.
const WORDS: [&str; 9] = ["key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "mnemonic"];

/// Ends of such names.
#[rustfmt::skip]
const ENDINGS: [&str; 20] = [
    "pat", "pin", "psk", "jwt", "sid", "salt", "session", "rootpw", "bindpw", "pw:", "pw=", "pw ", "seedphrase", "phrase", "sessionid", "sessid", "motdepasse", "dsn", "otp", "kennwort",
];

#[rustfmt::skip]
const OTHERS: [(&str, Anchor); 49] = [
    ("-----begin ", Anchor::PrivateKey),
    ("---- begin ", Anchor::PrivateKey),
    ("-----end ", Anchor::LastLine),
    ("private-lines:", Anchor::PuttyKey),
    ("LS0tLS1CRUdJTi", Anchor::PackedKey),
    ("\"kty\"", Anchor::JsonKey),
    ("\\\"kty\\\"", Anchor::JsonKey),
    ("eyj", Anchor::Jwt),
    ("://", Anchor::Address),
    ("@tcp(", Anchor::Network),
    ("@unix(", Anchor::Network),
    (":thin:", Anchor::Thin),
    (":5432:", Anchor::PasswordFile),
    (":*:", Anchor::PasswordFile),
    ("bearer", Anchor::Bearer),
    ("authorization", Anchor::Authorization),
    ("cookie:", Anchor::Cookie),
    (" -u ", Anchor::UserFlag),
    (" --user ", Anchor::UserFlag),
    ("sig=", Anchor::Signature),
    ("signature=", Anchor::Signature),
    ("?code=", Anchor::Code),
    ("&code=", Anchor::Code),
    ("identified by ", Anchor::Identified),
    ("creds ", Anchor::Login),
    ("creds:", Anchor::Login),
    ("credentials ", Anchor::Login),
    ("credentials:", Anchor::Login),
    ("login ", Anchor::Login),
    ("login:", Anchor::Login),
    ("login(", Anchor::Call),
    ("connect(", Anchor::Call),
    ("connection(", Anchor::Call),
    ("auth=(", Anchor::Call),
    ("auth(", Anchor::Call),
    ("authenticate(", Anchor::Call),
    ("credentials(", Anchor::Call),
    ("signin(", Anchor::Call),
    ("client(", Anchor::Call),
    ("authenticator(", Anchor::Call),
    ("jwt.sign(", Anchor::Signing),
    ("jwt.encode(", Anchor::Signing),
    ("jwt.verify(", Anchor::Signing),
    ("jwt.decode(", Anchor::Signing),
    ("fernet(", Anchor::Signing),
    ("hmac.new(", Anchor::Signing),
    ("createhmac(", Anchor::Signing),
    ("\\u00", Anchor::Escape),
    ("\\x", Anchor::Escape),
];

/// What can follow an anchor of two letters: a number, of which both kinds of such anchors are made.
const DIGITS: &str = "0123456789abcdef";

/// So far behind a word for it a password may stand.
const FOREIGN_BYTES: usize = 80;

/// No run of letters that is a secret is longer.
const RUN_BYTES: usize = 8 << 10;

/// So many letters of a token that was cut off are worth hiding.
const CUT_LETTERS: usize = 4;

/// Finds the secrets of texts.
#[derive(Debug)]
pub(super) struct Finder {
    anchors: Anchors,
    /// What each anchor is, and how long.
    kinds: Vec<(Anchor, usize)>,
}

impl Finder {
    pub(super) fn new() -> Self {
        let vendors = VENDORS.iter().enumerate().map(|(place, vendor)| (vendor.first, Anchor::Vendor(place)));
        let commands =
            COMMANDS.iter().enumerate().map(|(place, command)| (command.name, Anchor::Command(place)));
        let words = WORDS.iter().map(|word| (*word, Anchor::Word));
        let endings = ENDINGS.iter().map(|word| (*word, Anchor::Ending));
        let foreign = said::FOREIGN.iter().map(|word| (*word, Anchor::Foreign));
        let readers = READERS.iter().map(|word| (*word, Anchor::Reader));
        let named = vendors.chain(commands).chain(words).chain(endings).chain(foreign).chain(readers);
        let all: Vec<(&'static str, Anchor)> = named.chain(OTHERS).collect();
        let anchors = Anchors::new(all.iter().map(|(letters, _)| *letters), DIGITS);
        Self { anchors, kinds: all.into_iter().map(|(letters, kind)| (kind, letters.len())).collect() }
    }

    /// The places in written JSON that have to be looked at more closely, in order.
    ///
    /// None is left out that holds a secret in any reading of its escapes.
    pub(super) fn suspicions(&self, json: &str) -> Vec<usize> {
        let mut places = Vec::new();
        self.each_anchor(json, |kind, at, end| {
            if is_suspicious(kind, json.as_bytes(), at, end) {
                places.push(at);
            }
        });
        places.extend(shapes::dots(json.as_bytes()));
        places.sort_unstable();
        places
    }

    /// The secrets of a text, in no order; they may overlap.
    pub(super) fn secrets(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let mut assignment = Assignment::default();
        self.each_anchor(text, |kind, at, end| {
            let one = match kind {
                Anchor::Vendor(place) => VENDORS[place].at(text, at),
                Anchor::Command(place) => COMMANDS[place].at(text, at),
                Anchor::Ending if !ends_word(text.as_bytes(), end) => None,
                Anchor::Word | Anchor::Ending => {
                    assignment.at(text, at, &mut found);
                    None
                }
                Anchor::Foreign => said::foreign(text, end),
                Anchor::PrivateKey => keys::private_key(text, at),
                Anchor::LastLine => keys::headless_key(text, at),
                Anchor::PuttyKey => keys::putty_key(text, at),
                Anchor::PackedKey => keys::packed_key(text, at),
                Anchor::JsonKey => {
                    keys::json_key(text, at, &mut found);
                    None
                }
                Anchor::Jwt => shapes::jwt(text, at),
                Anchor::Address => address::address(text, at),
                Anchor::Network => address::network(text, at),
                Anchor::Thin => address::thin(text, end),
                Anchor::PasswordFile => address::password_file(text, at),
                Anchor::Bearer => shapes::bearer(text, end),
                Anchor::Authorization => shapes::authorization(text, end),
                Anchor::Cookie => {
                    shapes::cookies(text, end, &mut found);
                    None
                }
                Anchor::UserFlag => shapes::user_flag(text, at, end),
                Anchor::Signature => address::signature(text, at, end),
                Anchor::Code => address::code(text, end),
                Anchor::Identified => shapes::identified(text, end),
                Anchor::Login => shapes::login(text, end),
                Anchor::Call => shapes::call(text, end),
                Anchor::Signing => shapes::signing(text, end),
                Anchor::Reader => commands::piped(text, at),
                Anchor::Escape => None,
            };
            if let Some(one) = one {
                found.extend(shapes::partner(text, &one));
                found.push(one);
            }
        });
        found.extend(shapes::dots(text.as_bytes()).filter_map(|at| shapes::bot_token(text, at)));
        found.retain(|one| !touches_marker(text, &one.range));
        found
    }

    /// True when a name says that its value is secret, and the value can be that.
    pub(super) fn named(name: &str, value: &str) -> Option<Rule> {
        let is_key = keys::is_secret_member(name, value);
        assignment::named(name, value).or_else(|| is_key.then_some(Rule::Named("private-key")))
    }

    /// Where at the end of a text a secret may have begun that is not complete.
    pub(super) fn unfinished(&self, text: &str) -> Option<usize> {
        let mut first: Option<usize> = None;
        let line = text.rfind('\n').map_or(0, |line| line + 1);
        let word = last_word(text);
        self.each_anchor(text, |kind, at, end| {
            let begin = match kind {
                Anchor::Vendor(place) => {
                    let vendor = &VENDORS[place];
                    let is_open = begins_word(text.as_bytes(), at) && vendor.reaches_end(text, at);
                    is_open.then_some(at)
                }
                Anchor::Word | Anchor::Ending if at < line => None,
                Anchor::Ending if !ends_word(text.as_bytes(), end) => None,
                Anchor::Word | Anchor::Ending => assignment::unfinished(text, at),
                Anchor::PrivateKey => keys::is_open_key(text, at).then_some(at),
                Anchor::PuttyKey
                | Anchor::PackedKey
                | Anchor::Jwt
                | Anchor::Address
                | Anchor::Network
                | Anchor::Thin
                | Anchor::PasswordFile
                | Anchor::Signature
                | Anchor::Code => (at >= word).then_some(word),
                Anchor::Authorization | Anchor::Cookie | Anchor::Identified => (end >= line).then_some(at),
                Anchor::Bearer | Anchor::UserFlag => {
                    let rest = text[end..].trim_start_matches([' ', ':', '"', '\'', '=']);
                    (text.len() - rest.len() >= word).then_some(at)
                }
                Anchor::Foreign => {
                    let is_near = text.len() - end <= FOREIGN_BYTES && end >= line;
                    is_near.then(|| word.max(end))
                }
                // What they find is a word, and the last word is held back unless it is an ordinary one.
                Anchor::Command(_)
                | Anchor::LastLine
                | Anchor::JsonKey
                | Anchor::Login
                | Anchor::Call
                | Anchor::Signing
                | Anchor::Reader
                | Anchor::Escape => None,
            };
            first = [first, begin].into_iter().flatten().min();
        });
        first
    }

    /// The beginning of a secret whose rest was cut off at the end of a text, before an ellipsis or nothing.
    pub(super) fn cut_off(&self, text: &str) -> Option<Range<usize>> {
        let whole = text.trim_end_matches(['\u{2026}', '.', ' ']);
        let mut first: Option<usize> = None;
        self.each_anchor(whole, |kind, at, end| {
            let is_cut = match kind {
                Anchor::Vendor(place) => {
                    let vendor = &VENDORS[place];
                    let rest = &whole[end..];
                    vendor.is_told_by_beginning()
                        && begins_word(whole.as_bytes(), at)
                        && vendor.reaches_end(whole, at)
                        && rest.len() >= CUT_LETTERS
                        && rest.bytes().any(|byte| byte.is_ascii_digit())
                        && !placeholder::is_placeholder(rest)
                }
                Anchor::PrivateKey => keys::is_open_key(whole, at) && whole.len() - at >= 40,
                _ => false,
            };
            if is_cut {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        });
        first.map(|first| first..whole.len())
    }

    fn each_anchor(&self, text: &str, mut visit: impl FnMut(Anchor, usize, usize)) {
        self.anchors.each(text.as_bytes(), |anchor, at| {
            let (kind, length) = self.kinds[anchor];
            visit(kind, at, at + length);
        });
    }
}

/// A cheap look at the letters around an anchor.
fn is_suspicious(kind: Anchor, bytes: &[u8], at: usize, end: usize) -> bool {
    match kind {
        Anchor::Vendor(place) => {
            let vendor = &VENDORS[place];
            vendor.may_begin(bytes, at) || near_escape(bytes, at, end)
        }
        Anchor::Ending if !ends_word(bytes, end) => near_escape(bytes, at, end),
        Anchor::Word | Anchor::Ending => assignment::is_suspicious(bytes, end),
        Anchor::Command(_) => bytes.get(end) == Some(&b' '),
        Anchor::Login => bytes[end..].iter().take(80).any(u8::is_ascii_digit),
        Anchor::Jwt => begins_word(bytes, at),
        Anchor::Address => {
            let authority = &bytes[end..bytes.len().min(end + 300)];
            let end = authority.iter().position(|byte| matches!(byte, b' ' | b'"' | b'<' | b'>' | b'\\'));
            authority[..end.unwrap_or(authority.len())].contains(&b'@')
        }
        Anchor::Escape => {
            let value = bytes
                .get(end..end + 2)
                .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
            value.is_some_and(|value| {
                value.is_ascii_alphanumeric() || matches!(value, b'_' | b'-' | b':' | b'=' | b'.')
            })
        }
        Anchor::Foreign
        | Anchor::PrivateKey
        | Anchor::LastLine
        | Anchor::PuttyKey
        | Anchor::PackedKey
        | Anchor::JsonKey
        | Anchor::Network
        | Anchor::Thin
        | Anchor::PasswordFile
        | Anchor::Bearer
        | Anchor::Authorization
        | Anchor::Cookie
        | Anchor::UserFlag
        | Anchor::Signature
        | Anchor::Code
        | Anchor::Identified
        | Anchor::Call
        | Anchor::Signing
        | Anchor::Reader => true,
    }
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

fn named(range: Range<usize>, rule: &'static str, weight: Weight) -> Found {
    Found { range, rule: Rule::Named(rule), weight }
}

/// The letters from a place on that are of a kind, within bounds.
fn run_of(text: &str, begin: usize, includes: impl Fn(u8) -> bool) -> &str {
    let letters = text.as_bytes()[begin..].iter().take(RUN_BYTES);
    let length = letters.take_while(|byte| byte.is_ascii() && includes(**byte)).count();
    &text[begin..begin + length]
}

/// What stands before a place in its line, of which so many bytes are looked at: all of it when it is shorter.
fn line_before(text: &str, at: usize, bytes: usize) -> &str {
    let near = &text[text.floor_char_boundary(at.saturating_sub(bytes))..at];
    &near[near.rfind('\n').map_or(0, |line| line + 1)..]
}

/// At most so many bytes of a text from a place on.
fn within(text: &str, at: usize, bytes: usize) -> &str {
    &text[at..text.floor_char_boundary(text.len().min(at + bytes)).max(at)]
}
