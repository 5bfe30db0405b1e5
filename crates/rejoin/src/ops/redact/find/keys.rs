//! Blocks of private keys: from the first line to the last, or as much of that as there is.

use crate::ops::redact::find::letters::{BASE64, WORD};
use crate::ops::redact::find::{FoundSecret, Weight, named, within};

/// The longest block that is taken for one key.
const KEY_BYTES: usize = 64 << 10;

/// The least letters of a key that is worth hiding; an example has three dots.
const KEY_LETTERS: usize = 64;

/// The members of a key in JSON that are secret.
const SECRET_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// What the first and the last line of a key begin with: five signs, or four and a space.
#[derive(Clone, Copy, Debug)]
struct Frame {
    begin: &'static str,
    end: &'static str,
    rule: &'static str,
}

const PEM: Frame = Frame { begin: "-----BEGIN ", end: "-----END", rule: "-----" };
const SSH2: Frame = Frame { begin: "---- BEGIN ", end: "---- END", rule: " ----" };

fn frame(text: &str, at: usize) -> Frame {
    if text[at..].starts_with("-----") { PEM } else { SSH2 }
}

/// True for what stands between the signs around the first and the last line of a key that is private.
fn is_private(label: &str) -> bool {
    if label.len() > 60 {
        return false;
    }
    let label = label.to_ascii_uppercase();
    label.contains("PRIVATE KEY") || label.contains("STATIC KEY")
}

/// A block of a private key, from its first line to its last.
pub(super) fn private_key(text: &str, at: usize) -> Option<FoundSecret> {
    let frame = frame(text, at);
    let block = within(text, at, KEY_BYTES);
    let label = block[frame.begin.len()..].split(frame.rule).next()?;
    if !is_private(label) {
        return None;
    }
    let body = frame.begin.len() + label.len() + frame.rule.len();
    // Another key is no part of this one.
    let next = block.get(body..)?.find(frame.begin);
    let rest = &block[body..next.map_or(block.len(), |next| body + next)];
    let end = match rest.find(frame.end) {
        Some(last) => {
            let label = rest[last + frame.end.len()..].find(frame.rule);
            label.map_or(last, |label| last + frame.end.len() + label + frame.rule.len())
        }
        None => match rest.bytes().position(|byte| !is_of_key(byte)) {
            None if next.is_some() => return None,
            end => end.unwrap_or(rest.len()),
        },
    };
    let inside = &rest[..end];
    let letters = inside.bytes().filter(|byte| BASE64.include(*byte)).count();
    let is_key = letters >= KEY_LETTERS && letters * 10 >= inside.len() * 6;
    is_key.then(|| named(at..at + body + end, "private-key", Weight::Shape))
}

/// The lines before the last line of a private key whose first line is missing.
pub(super) fn headless_key(text: &str, at: usize) -> Option<FoundSecret> {
    let label = within(text, at, 100)["-----END ".len()..].split("-----").next()?;
    if !is_private(label) {
        return None;
    }
    let mut begin = at;
    let before = &text[text.floor_char_boundary(at.saturating_sub(KEY_BYTES))..at];
    for line in before.rsplit('\n').skip(usize::from(before.ends_with('\n'))) {
        let letters = line.trim().trim_end_matches("\\n");
        let is_line = (4..=100).contains(&letters.len()) && letters.bytes().all(|byte| BASE64.include(byte));
        if !is_line {
            break;
        }
        begin -= (line.len() + 1).min(begin);
    }
    let end = at + "-----END ".len() + label.len() + "-----".len();
    (at - begin >= KEY_LETTERS && end <= text.len()).then(|| named(begin..end, "private-key", Weight::Shape))
}

/// What stands between the lines of a key, in whatever way it is written.
fn is_of_key(byte: u8) -> bool {
    BASE64.include(byte)
        || byte.is_ascii_whitespace()
        || matches!(byte, b':' | b',' | b'\\' | b'"' | b'\'' | b'.' | b'(' | b')' | b'>' | b'|')
}

/// True when a private key begins here whose last line has not come.
pub(super) fn is_open_key(text: &str, at: usize) -> bool {
    let frame = frame(text, at);
    let rest = &text[at + frame.begin.len()..];
    if rest.len() > KEY_BYTES {
        return false;
    }
    match rest.split_once(frame.rule) {
        None => rest.len() <= 60 && !rest.contains('\n'),
        Some((label, body)) => {
            is_private(label)
                && !body.split_once(frame.end).is_some_and(|(_, last)| last.contains(frame.rule))
                && body.bytes().filter(|byte| !is_of_key(*byte)).count() * 10 <= body.len()
        }
    }
}

/// True for a member of a key in JSON whose value is secret.
pub(super) fn is_secret_member(name: &str, value: &str) -> bool {
    SECRET_MEMBERS.contains(&name)
        && value.len() >= 40
        && value.bytes().all(|byte| WORD.include(byte))
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
}
