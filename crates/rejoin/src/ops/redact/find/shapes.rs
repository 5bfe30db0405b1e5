//! Secrets that are known by their shape or by the header they stand in: signed tokens, bearers, cookies.

use crate::ops::redact::find::placeholder::{is_named_placeholder, is_placeholder};
use crate::ops::redact::find::value::{is_code, is_password, is_random};
use crate::ops::redact::find::vendors::Letters;
use crate::ops::redact::find::{Found, Rule, Weight, begins_word, line_before, named, run_of, within};

/// A line is looked at so far.
const LINE_BYTES: usize = 300;

/// So far before its flag the name of a command is looked for.
const REQUEST_BYTES: usize = 1_000;

/// So much of a header of cookies is looked at.
const COOKIE_BYTES: usize = 4_000;

/// Three or five parts in base64, of which the first is JSON.
pub(super) fn jwt(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    if &bytes[at..at + 3] != b"eyJ" || !begins_word(bytes, at) {
        return None;
    }
    let (mut end, mut parts) = (at, 0);
    loop {
        let run = run_of(text, end, |byte| Letters::Word.include(byte)).len();
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
    if parts > 0 && bytes[end - 1] == b'.' {
        end -= 1;
    }
    (parts >= 3).then(|| named(at..end, "jwt", Weight::Shape))
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
    is_token.then(|| named(begin..begin + token.len(), "bearer-token", Weight::Header))
}

/// What a header says first that lets somebody in, in lower case.
const SCHEMES: [&str; 12] = [
    "bearer",
    "basic",
    "token",
    "digest",
    "apikey",
    "api-key",
    "key",
    "bot",
    "oauth",
    "negotiate",
    "ntlm",
    "jwt",
];

/// What follows `Authorization:`, after the name of a scheme.
pub(super) fn authorization(text: &str, end: usize) -> Option<Found> {
    let rest = text.get(end..)?;
    let is_between = |letter: char| {
        letter.is_whitespace() && letter != '\n'
            || matches!(letter, ':' | '=' | '"' | '\'' | '`' | '\\' | ',' | ']')
    };
    let separator = rest.len() - rest.trim_start_matches(is_between).len();
    let between = &rest[..separator];
    // A list of texts has quotes, and one of words in a sentence has none.
    let is_listed = between.contains(',') && between.contains(['"', '\'', '`']);
    if !is_listed && !between.contains([':', '=']) {
        return None;
    }
    let mut begin = end + separator;
    let scheme = run_of(text, begin, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let after = &text[begin + scheme.len()..];
    let has_scheme = !scheme.is_empty() && after.starts_with(' ');
    let is_known = has_scheme && SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    if has_scheme {
        begin += scheme.len() + (after.len() - after.trim_start_matches(' ').len());
    }
    let token = run_of(text, begin, is_of_token);
    // What is no scheme may be a word, and what follows none a piece of a program.
    let is_made = token.bytes().any(|byte| byte.is_ascii_digit() || byte == b'=');
    let is_token = match (is_known, has_scheme) {
        (true, _) => token.len() >= 8 && (is_made || token.bytes().any(|byte| byte.is_ascii_uppercase())),
        (false, true) => token.len() >= 16 && is_made,
        (false, false) => {
            let is_call = text[begin + token.len()..].starts_with('(');
            token.len() >= 8 && is_made && !is_call && !(token.contains('.') && is_code(token))
        }
    };
    let is_token = is_token && !is_named_placeholder(token);
    is_token.then(|| named(begin..begin + token.len(), "authorization-header", Weight::Header))
}

/// The password in `curl -u user:password`.
pub(super) fn user_flag(text: &str, at: usize, end: usize) -> Option<Found> {
    let before = line_before(text, at, REQUEST_BYTES);
    let is_request = ["curl", "http", "wget"].iter().any(|name| before.contains(name));
    let begin = end + usize::from(text[end..].starts_with(['"', '\'']));
    let words =
        run_of(text, begin, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\'));
    let (user, password) = words.split_once(':')?;
    let first = begin + user.len() + 1;
    (is_request && password.len() >= 4 && !is_placeholder(password))
        .then(|| named(first..first + password.len(), "basic-credentials", Weight::Header))
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
    is_secret.then(|| named(begin..begin + 40, "aws-secret-key", Weight::Shape))
}

fn is_of_token(byte: u8) -> bool {
    Letters::Base64.include(byte) || matches!(byte, b'.' | b'~')
}

/// The places of the first dot in what may be a token of three parts that a bot has, in order.
pub(super) fn dots(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_plain = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_alphanumeric);
    memchr::memchr_iter(b'.', bytes)
        .filter(|at| bytes.get(at + 7) == Some(&b'.') && *at >= 23)
        .filter(move |at| is_plain(&bytes[at - 8..*at]) && is_plain(&bytes[at - 23..at - 8]))
}

/// The token of a bot, whose first part is a number in base64 and ends at `at`.
pub(super) fn bot_token(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let id = bytes[..at].iter().rev().take(32).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let first = bytes[at - id];
    let middle = bytes[at + 1..at + 7].iter().all(|byte| Letters::Word.include(*byte));
    let secret = run_of(text, at + 8, |byte| Letters::Word.include(byte));
    let is_token =
        (23..=28).contains(&id) && matches!(first, b'M' | b'N' | b'O') && middle && secret.len() >= 25;
    is_token.then(|| named(at - id..at + 8 + secret.len(), "discord-token", Weight::Shape))
}

/// What the names of cookies have that let somebody in.
const COOKIES: [&str; 9] = ["sess", "sid", "auth", "token", "jwt", "login", "remember", "user", "id"];

/// The values of cookies that let somebody in.
pub(super) fn cookies(text: &str, end: usize, found: &mut Vec<Found>) {
    let line = within(text, end, COOKIE_BYTES);
    let line = &line[..line.find(['\n', '\r', '"', '\'']).unwrap_or(line.len())];
    let mut at = end;
    for pair in line.split(';') {
        if let Some((name, value)) = pair.split_once('=') {
            let name = name.to_ascii_lowercase();
            let value = value.trim_end();
            if COOKIES.iter().any(|word| name.contains(word)) && is_random(value) && !is_placeholder(value) {
                let begin = at + name.len() + 1;
                found.push(named(begin..begin + value.len(), "cookie", Weight::Header));
            }
        }
        at += pair.len() + 1;
    }
}

/// The password after `IDENTIFIED BY`, in quotes or as a word.
pub(super) fn identified(text: &str, end: usize) -> Option<Found> {
    let rest = within(text, end, LINE_BYTES);
    let begin = rest.len() - rest.trim_start_matches([' ', '\\']).len();
    let quote = rest[begin..].chars().next().filter(|sign| matches!(sign, '"' | '\'' | '`'));
    let (begin, word) = match quote {
        Some(quote) => (begin + 1, rest[begin + 1..].split(quote).next()?),
        None => (begin, rest[begin..].split([' ', ';', '\n']).next()?),
    };
    let word = word.trim_end_matches('\\');
    let is_secret = word.len() >= 4
        && !word.contains('\n')
        && !is_named_placeholder(word)
        && (quote.is_some() || is_password(word));
    is_secret.then(|| named(end + begin..end + begin + word.len(), "password-assignment", Weight::Header))
}

/// The password in `creds: user / password` and `login user:password`.
pub(super) fn login(text: &str, end: usize) -> Option<Found> {
    let rest = within(text, end, LINE_BYTES / 4);
    let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
    for (place, sign) in rest.match_indices([':', '/']) {
        let user = rest[..place].trim_end().rsplit([' ', '"', '\'', '`', '(']).next().unwrap_or_default();
        let after = &rest[place + sign.len()..];
        let gap = after.len() - after.trim_start_matches(' ').len();
        let word = after[gap..]
            .split([' ', '"', '\'', '`', ',', ')'])
            .next()
            .unwrap_or_default()
            .trim_end_matches(['.', ';']);
        let is_user = user.len() >= 2
            && user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@'));
        if is_user
            && !is_login_word(user)
            && word.len() >= 8
            && !word.contains('/')
            && is_password(word)
            && !is_placeholder(word)
        {
            let first = end + place + sign.len() + gap;
            return Some(named(first..first + word.len(), "basic-credentials", Weight::Header));
        }
    }
    None
}

fn is_login_word(word: &str) -> bool {
    ["http", "https", "at", "on", "url", "host", "is", "are"].contains(&word.to_ascii_lowercase().as_str())
}

/// The key in `jwt.sign(payload, "key")` or `Fernet(b"key")`: the first of the texts that are given.
pub(super) fn signing(text: &str, end: usize) -> Option<Found> {
    let rest = within(text, end, LINE_BYTES);
    let inside = &rest[..rest.find(['\n', ';']).unwrap_or(rest.len())];
    for (place, sign) in inside.match_indices(['"', '\'']) {
        let before = inside[..place].trim_end_matches('b');
        let word = inside[place + 1..].split(sign).next().unwrap_or_default();
        let is_argument = before.is_empty() || before.trim_end().ends_with(',');
        let is_name = word.len() < 8 || is_named_placeholder(word) || word.starts_with("sha");
        if is_argument && !is_name && !word.contains(' ') {
            let first = end + place + 1;
            return Some(named(first..first + word.len(), "call-password", Weight::Header));
        }
        if is_argument && !word.starts_with("sha") {
            return None;
        }
    }
    None
}

/// The last of the texts in `login("user", "password")`.
pub(super) fn call(text: &str, end: usize) -> Option<Found> {
    let rest = within(text, end, LINE_BYTES);
    let inside = &rest[..rest.find([')', '\n', ';']).unwrap_or(rest.len())];
    let (before, last) = inside.trim_end().rsplit_once(',')?;
    let quoted = last.trim_start();
    let quote = quoted.chars().next().filter(|sign| matches!(sign, '"' | '\'' | '`'))?;
    let word = quoted[1..].strip_suffix(quote)?;
    let first = end + before.len() + 1 + (last.len() - quoted.len()) + 1;
    let has = |is_one: fn(&u8) -> bool| word.bytes().any(|byte| is_one(&byte));
    let is_strong = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
        || word.contains(['!', '@', '#', '$', '%', '&', '*']);
    (word.len() >= 8 && is_strong && is_password(word) && !is_placeholder(word))
        .then(|| named(first..first + word.len(), "call-password", Weight::Header))
}
