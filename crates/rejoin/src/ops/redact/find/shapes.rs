//! Secrets that are known by their shape: private keys, signed tokens, passwords in addresses, headers.

use crate::ops::redact::find::value::is_placeholder;
use crate::ops::redact::find::vendors::Letters;
use crate::ops::redact::find::{Found, Rule, Weight, begins_word};

/// The longest block that is taken for one key.
const KEY_BYTES: usize = 64 << 10;

/// The least letters of a key that is worth hiding; an example has three dots.
const KEY_LETTERS: usize = 64;

/// How far an address is looked at for a password.
const ADDRESS_BYTES: usize = 1_000;

fn found(range: std::ops::Range<usize>, rule: &'static str, weight: Weight) -> Found {
    Found { range, rule: Rule::Named(rule), weight }
}

/// A block of a private key, from its first line to its last.
pub(super) fn private_key(text: &str, at: usize) -> Option<Found> {
    let block = within(text, at, KEY_BYTES);
    let label = block["-----BEGIN ".len()..].split("-----").next()?;
    if label.len() > 60 || !label.to_ascii_uppercase().contains("PRIVATE KEY") {
        return None;
    }
    let body = "-----BEGIN ".len() + label.len() + "-----".len();
    let rest = block.get(body..)?;
    let end = match rest.find("-----END") {
        Some(last) => {
            let label = rest[last + "-----END".len()..].find("-----");
            label.map_or(last, |label| last + "-----END".len() + label + "-----".len())
        }
        None => rest.bytes().position(|byte| !is_of_key(byte)).unwrap_or(rest.len()),
    };
    let inside = &rest[..end];
    let letters = inside.bytes().filter(|byte| Letters::Base64.include(*byte)).count();
    let is_key = letters >= KEY_LETTERS && letters * 10 >= inside.len() * 6 && !inside.contains("-----BEGIN");
    is_key.then(|| found(at..at + body + end, "private-key", Weight::Shape))
}

/// What stands between the lines of a key, in whatever way it is written.
fn is_of_key(byte: u8) -> bool {
    Letters::Base64.include(byte)
        || byte.is_ascii_whitespace()
        || matches!(byte, b':' | b',' | b'\\' | b'"' | b'\'' | b'.' | b'(' | b')' | b'>' | b'|')
}

/// True when a private key begins here whose last line has not come.
pub(super) fn is_open_key(text: &str, at: usize) -> bool {
    let rest = &text[at + "-----BEGIN ".len()..];
    match rest.split_once("-----") {
        None => rest.len() <= 60 && !rest.contains('\n'),
        Some((label, body)) => {
            label.to_ascii_uppercase().contains("PRIVATE KEY")
                && !body.split_once("-----END").is_some_and(|(_, last)| last.contains("-----"))
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
    (lines >= KEY_LETTERS).then(|| found(at + body + count..at + body + end, "private-key", Weight::Shape))
}

/// Three or five parts in base64, of which the first is JSON.
pub(super) fn jwt(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    if &bytes[at..at + 3] != b"eyJ" || !begins_word(bytes, at) {
        return None;
    }
    let (mut end, mut parts) = (at, 0);
    loop {
        let run = bytes[end..].iter().take_while(|byte| Letters::Word.include(**byte)).count();
        let is_part = match parts {
            0 | 1 => run >= 10,
            2 => run >= 16,
            _ => run >= 1,
        };
        if !is_part {
            break;
        }
        parts += 1;
        end += run;
        if parts == 5 || bytes.get(end) != Some(&b'.') {
            break;
        }
        end += 1;
    }
    if bytes[end - 1] == b'.' {
        end -= 1;
    }
    (parts >= 3).then(|| found(at..end, "jwt", Weight::Shape))
}

/// The password in `scheme://user:password@host`.
pub(super) fn address(text: &str, at: usize) -> Option<Found> {
    let begin = at + "://".len();
    let has_scheme = text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
    let rest = within(text, begin, ADDRESS_BYTES);
    let end = rest.find(|letter: char| {
        letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>' | '/' | '?' | '#' | '\\')
    });
    let mut authority = &rest[..end.unwrap_or(rest.len())];
    if !authority.contains('@') {
        // A password may hold a slash or a sign of a query.
        let line = rest
            .split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>'))
            .next()?;
        let last = line.find('@').filter(|last| has_host(&line[last + 1..]) && authority.contains(':'))?;
        let port = authority.split_once(':').map_or("", |(_, port)| port);
        if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        authority = &line[..=last];
    }
    let (credentials, _) = authority.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let is_secret =
        has_scheme && password.len() >= 3 && !is_placeholder(password) && !password.contains("//");
    let first = begin + user.len() + 1;
    is_secret.then(|| found(first..first + password.len(), "connection-string", Weight::Shape))
}

fn has_host(text: &str) -> bool {
    let host =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    host >= 3
        && (text[..host].contains('.') || text.starts_with("localhost") || text[host..].starts_with(':'))
}

/// The token after `Bearer`.
pub(super) fn bearer(text: &str, end: usize) -> Option<Found> {
    let rest = text.get(end..)?;
    let gap = rest.len() - rest.trim_start_matches([' ', '\t', '+', ':', '=', '"', '\'', '`', '\\']).len();
    let begin = end + gap;
    let token = run_of(text, begin, is_of_token);
    let is_token = (1..=4).contains(&gap)
        && token.len() >= 16
        && token.bytes().any(|byte| byte.is_ascii_digit())
        && !is_placeholder(token);
    is_token.then(|| found(begin..begin + token.len(), "bearer-token", Weight::Header))
}

/// What follows `Authorization:`, after the name of a scheme.
pub(super) fn authorization(text: &str, end: usize) -> Option<Found> {
    let rest = text.get(end..)?;
    let is_between = |letter: char| {
        letter.is_whitespace() && letter != '\n'
            || matches!(letter, ':' | '=' | '"' | '\'' | '`' | '\\' | ',' | ']')
    };
    let separator = rest.len() - rest.trim_start_matches(is_between).len();
    if !rest[..separator].contains([':', '=', ',']) {
        return None;
    }
    let mut begin = end + separator;
    let scheme = run_of(text, begin, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let after = &text[begin + scheme.len()..];
    if !scheme.is_empty() && after.starts_with(' ') {
        begin += scheme.len() + (after.len() - after.trim_start_matches(' ').len());
    }
    let token = run_of(text, begin, is_of_token);
    let is_token = token.len() >= 8
        && !is_placeholder(token)
        && token.bytes().any(|byte| byte.is_ascii_digit() || byte == b'=' || byte.is_ascii_uppercase());
    is_token.then(|| found(begin..begin + token.len(), "authorization-header", Weight::Header))
}

/// The password in `curl -u user:password`.
pub(super) fn user_flag(text: &str, at: usize, end: usize) -> Option<Found> {
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let is_request = ["curl", "http", "wget"].iter().any(|name| text[line..at].contains(name));
    let begin = end + usize::from(text[end..].starts_with(['"', '\'']));
    let words =
        run_of(text, begin, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\'));
    let (user, password) = words.split_once(':')?;
    let first = begin + user.len() + 1;
    (is_request && password.len() >= 4 && !is_placeholder(password))
        .then(|| found(first..first + password.len(), "basic-credentials", Weight::Header))
}

/// A signature that opens an address at Azure.
pub(super) fn signature(text: &str, at: usize, end: usize) -> Option<Found> {
    let is_part = text[..at].ends_with(['?', '&', ';', '"', '\'', ' ']);
    let value = run_of(text, end, |byte| Letters::Base64.include(byte) || byte == b'%');
    let is_signature = is_part && value.len() >= 40 && value.bytes().any(|byte| byte.is_ascii_digit());
    is_signature.then(|| found(end..end + value.len(), "azure-signature", Weight::Shape))
}

/// The secret that stands right behind an access key, as in a list of both.
pub(super) fn partner(text: &str, one: &Found) -> Option<Found> {
    if one.rule != Rule::Named("aws-access-key") {
        return None;
    }
    let rest = &text[one.range.end..];
    let gap =
        rest.len() - rest.trim_start_matches([' ', ',', ':', '|', '\t', '\n', '"', '\'', '/', '\\']).len();
    let begin = one.range.end + gap;
    let secret = run_of(text, begin, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    let is_secret = (1..=6).contains(&gap)
        && secret.len() == 40
        && secret.bytes().any(|byte| byte.is_ascii_digit())
        && secret.bytes().any(|byte| byte.is_ascii_lowercase());
    is_secret.then(|| found(begin..begin + 40, "aws-secret-key", Weight::Shape))
}

fn is_of_token(byte: u8) -> bool {
    Letters::Base64.include(byte) || matches!(byte, b'.' | b'~')
}

fn run_of(text: &str, begin: usize, includes: impl Fn(u8) -> bool) -> &str {
    let length =
        text.as_bytes()[begin..].iter().take_while(|byte| byte.is_ascii() && includes(**byte)).count();
    &text[begin..begin + length]
}

/// At most so many bytes of a text from a place on.
fn within(text: &str, at: usize, bytes: usize) -> &str {
    let end = (at..=text.len().min(at + bytes)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(at);
    &text[at..end]
}
