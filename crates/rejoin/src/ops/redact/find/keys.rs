//! Private keys, in whatever way they are written down: PEM, PuTTY's, in base64, as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::ops::redact::find::vendors::Letters;
use crate::ops::redact::find::{Found, Weight, named, run_of, within};

/// The longest block that is taken for one key.
const KEY_BYTES: usize = 64 << 10;

/// The least letters of a key that is worth hiding; an example has three dots.
const KEY_LETTERS: usize = 64;

/// How far around its kind a key in JSON is looked for.
const JSON_BYTES: usize = 4_000;

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
pub(super) fn private_key(text: &str, at: usize) -> Option<Found> {
    let frame = frame(text, at);
    let block = within(text, at, KEY_BYTES);
    let label = block[frame.begin.len()..].split(frame.rule).next()?;
    if !is_private(label) {
        return None;
    }
    let body = frame.begin.len() + label.len() + frame.rule.len();
    let rest = block.get(body..)?;
    let end = match rest.find(frame.end) {
        Some(last) => {
            let label = rest[last + frame.end.len()..].find(frame.rule);
            label.map_or(last, |label| last + frame.end.len() + label + frame.rule.len())
        }
        None => rest.bytes().position(|byte| !is_of_key(byte)).unwrap_or(rest.len()),
    };
    let inside = &rest[..end];
    let letters = inside.bytes().filter(|byte| Letters::Base64.include(*byte)).count();
    let is_key = letters >= KEY_LETTERS && letters * 10 >= inside.len() * 6 && !inside.contains(frame.begin);
    is_key.then(|| named(at..at + body + end, "private-key", Weight::Shape))
}

/// The lines before the last line of a private key whose first line is missing.
pub(super) fn headless_key(text: &str, at: usize) -> Option<Found> {
    let label = within(text, at, 100)["-----END ".len()..].split("-----").next()?;
    if !is_private(label) {
        return None;
    }
    let mut begin = at;
    let before = &text[text.floor_char_boundary(at.saturating_sub(KEY_BYTES))..at];
    for line in before.rsplit('\n').skip(usize::from(before.ends_with('\n'))) {
        let letters = line.trim().trim_end_matches("\\n");
        let is_line =
            (4..=100).contains(&letters.len()) && letters.bytes().all(|byte| Letters::Base64.include(byte));
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
    Letters::Base64.include(byte)
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

/// The lines after `Private-Lines: 8` in a key of PuTTY.
pub(super) fn putty_key(text: &str, at: usize) -> Option<Found> {
    let block = within(text, at, KEY_BYTES);
    let body = "private-lines:".len();
    let rest = &block[body..];
    let count = rest.bytes().take_while(|byte| byte.is_ascii_whitespace() || byte.is_ascii_digit()).count();
    let lines: usize = rest[count..]
        .bytes()
        .take_while(|byte| Letters::Base64.include(*byte) || byte.is_ascii_whitespace())
        .count();
    let end = rest[..count + lines].rfind("Private-MAC").unwrap_or(count + lines);
    (lines >= KEY_LETTERS).then(|| named(at + body + count..at + body + end, "private-key", Weight::Shape))
}

/// A private key whose lines are packed in base64 once more.
pub(super) fn packed_key(text: &str, at: usize) -> Option<Found> {
    let block = within(text, at, KEY_BYTES);
    let run = &block[..block.bytes().take_while(|byte| Letters::Base64.include(*byte)).count()];
    let first = run.get(..60)?;
    let unpacked = STANDARD_NO_PAD.decode(first).ok()?;
    let label = String::from_utf8_lossy(&unpacked);
    let is_key = label.to_ascii_uppercase().contains("PRIVATE KEY");
    is_key.then(|| named(at..at + run.len(), "private-key", Weight::Shape))
}

/// The secret members of a key in JSON, of which `"kty"` stands at `at`.
pub(super) fn json_key(text: &str, at: usize, found: &mut Vec<Found>) {
    let floor = text.floor_char_boundary(at.saturating_sub(JSON_BYTES));
    let start = text[floor..at].rfind('{').map_or(at, |brace| floor + brace);
    let object = within(text, start, JSON_BYTES);
    let object = &object[..object.find('}').unwrap_or(object.len())];
    for member in SECRET_MEMBERS {
        let Some(place) = object.find(&format!("\"{member}\"")) else { continue };
        let begin = place + member.len() + 2;
        let gap = object[begin..].len() - object[begin..].trim_start_matches([' ', ':', '"', '\n']).len();
        let value = run_of(object, begin + gap, |byte| Letters::Base64.include(byte));
        if value.len() >= 20 {
            let first = start + begin + gap;
            found.push(named(first..first + value.len(), "private-key", Weight::Shape));
        }
    }
}

/// True for a member of a key in JSON whose value is secret.
pub(super) fn is_secret_member(name: &str, value: &str) -> bool {
    SECRET_MEMBERS.contains(&name)
        && value.len() >= 40
        && value.bytes().all(|byte| Letters::Word.include(byte))
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
}
