//! Secrets in addresses: passwords and tokens before a host, signatures and codes in a query.

use crate::ops::redact::find::placeholder::is_placeholder;
use crate::ops::redact::find::value::{has_digit, has_letter, is_random, variety};
use crate::ops::redact::find::vendors::Letters;
use crate::ops::redact::find::{Found, Weight, last_word, line_before, named, run_of, within};

/// How far an address is looked at for a password.
const ADDRESS_BYTES: usize = 1_000;

/// The least letters of a token that stands in the place of a user.
const TOKEN: usize = 20;

/// The password in `scheme://user:password@host`, or the token in `scheme://token@host`.
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
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let is_secret =
        has_scheme && password.len() >= 3 && !is_placeholder(password) && !password.contains("//");
    let first = begin + user.len() + 1;
    if is_secret && (has_digit(password) || !is_token(user)) {
        return Some(named(first..first + password.len(), "connection-string", Weight::Shape));
    }
    // What a program reports its errors with is known to everybody who runs it.
    let is_public = authority.contains(".ingest.") || authority.contains("sentry");
    (has_scheme && is_token(user) && !is_public)
        .then(|| named(begin..begin + user.len(), "connection-string", Weight::Shape))
}

/// True for the name of a user that is none.
fn is_token(user: &str) -> bool {
    user.len() >= TOKEN
        && has_digit(user)
        && has_letter(user)
        && variety(user) >= 9
        && user.bytes().all(|byte| Letters::Word.include(byte))
        && !is_placeholder(user)
}

fn has_host(text: &str) -> bool {
    let host =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    host >= 3
        && (text[..host].contains('.')
            || text.starts_with("localhost")
            || text[host..].starts_with(':')
            || text[host..].starts_with('/'))
}

/// The password in `user:password@tcp(host)`, whose `@` stands at `at`.
pub(super) fn network(text: &str, at: usize) -> Option<Found> {
    let is_apart = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '=');
    let (_, password) =
        line_before(text, at, ADDRESS_BYTES).rsplit(is_apart).next().and_then(|word| word.split_once(':'))?;
    let first = at - password.len();
    (password.len() >= 3 && !password.starts_with("//") && !is_placeholder(password))
        .then(|| named(first..at, "connection-string", Weight::Shape))
}

/// The password in `jdbc:oracle:thin:user/password@host`.
pub(super) fn thin(text: &str, end: usize) -> Option<Found> {
    let is_part = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<');
    let line = run_of(within(text, end, ADDRESS_BYTES), 0, is_part);
    let (user, rest) = line.split_once('/')?;
    let (password, _) = rest.rsplit_once('@')?;
    let first = end + user.len() + 1;
    (password.len() >= 3 && !user.contains('@') && !is_placeholder(password))
        .then(|| named(first..first + password.len(), "connection-string", Weight::Shape))
}

/// The password in a line of `.pgpass`, whose port stands at `at`.
pub(super) fn password_file(text: &str, at: usize) -> Option<Found> {
    let before = line_before(text, at, ADDRESS_BYTES);
    let start = at - before.len() + last_word(before);
    let line = run_of(within(text, start, ADDRESS_BYTES), 0, |byte| byte.is_ascii_graphic());
    let mut parts = line.splitn(5, ':');
    let names: Vec<&str> = parts.by_ref().take(4).collect();
    let password = parts.next()?;
    let is_name = |name: &&str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*'))
    };
    let first = start + line.len() - password.len();
    let has_port =
        names.get(1).is_some_and(|port| *port == "*" || port.bytes().all(|byte| byte.is_ascii_digit()));
    (has_port && names.iter().all(is_name) && password.len() >= 3 && !is_placeholder(password))
        .then(|| named(first..first + password.len(), "connection-string", Weight::Shape))
}

/// A signature that opens an address.
pub(super) fn signature(text: &str, at: usize, end: usize) -> Option<Found> {
    let is_part = text[..at].ends_with(['?', '&', ';', '"', '\'', ' ', '-']);
    let value = run_of(text, end, |byte| Letters::Query.include(byte) || byte == b'~');
    let is_signature = is_part && value.len() >= 40 && value.bytes().any(|byte| byte.is_ascii_digit());
    is_signature.then(|| named(end..end + value.len(), "azure-signature", Weight::Shape))
}

/// A code that opens an address, as functions of Azure have.
pub(super) fn code(text: &str, end: usize) -> Option<Found> {
    let value = run_of(text, end, |byte| Letters::Query.include(byte));
    (value.len() >= 32 && is_random(value))
        .then(|| named(end..end + value.len(), "address-code", Weight::Shape))
}
