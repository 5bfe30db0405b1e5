//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `<password>…`.

use std::ops::Range;

use crate::ops::redact::find::value::{is_call, is_code, is_placeholder, is_random, is_uncommon, variety};
use crate::ops::redact::find::{Found, Rule, Weight};

/// A name is looked at so far to each side.
const NAME_BYTES: usize = 64;

/// The longest value that is one.
const VALUE_BYTES: usize = 8 << 10;

/// How secret a name says that its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrecy {
    /// Something a person may have made up.
    Password,
    /// Something a program has made.
    Key,
    /// The name is used for other things, too, so the value has to look random.
    Maybe,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `NAME=value`, as a shell takes it.
    Variable,
    Quoted,
    Bare,
}

/// Ends of names of passwords, without the signs between words.
const PASSWORDS: [&str; 6] = ["password", "passwd", "passphrase", "passcode", "pwd", "passwort"];

/// Ends of names of keys and tokens.
const KEYS: [&str; 33] = [
    "secret",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "accountkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "licensekey",
    "servicekey",
    "clientkey",
    "appkey",
    "applicationkey",
    "consumerkey",
    "subscriptionkey",
    "deploykey",
    "webhookkey",
    "secretkeybase",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "apitoken",
    "bottoken",
    "sessiontoken",
    "idtoken",
    "securitytoken",
    "deploytoken",
    "jwttoken",
    "usertoken",
    "secrettoken",
];

/// Ends of names that other things have, too.
const MAYBE: [&str; 3] = ["key", "token", "auth"];

/// Ends of names that are no secrets.
const HARMLESS: [&str; 21] = [
    "publickey",
    "publishablekey",
    "primarykey",
    "foreignkey",
    "sortkey",
    "partitionkey",
    "cachekey",
    "idempotencykey",
    "hashkey",
    "rowkey",
    "routingkey",
    "objectkey",
    "sitekey",
    "hotkey",
    "monkey",
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "maxtoken",
    "csrftoken",
];

/// Finds assignments, each once however many words of its name are anchors.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    /// The end of the name that was looked at last.
    seen: usize,
}

impl Assignment {
    /// The secret value of the name that `at` is in.
    pub(super) fn at(&mut self, text: &str, at: usize) -> Option<Found> {
        if at < self.seen {
            return None;
        }
        let name = Name::around(text, at);
        self.seen = name.range.end;
        let secrecy = secrecy(name.text(text))?;
        let value = name.value(text)?;
        let words = &text[value.range.clone()];
        let rule = judge(name.text(text), secrecy, words, value.style)?;
        Some(Found { range: value.range, rule, weight: Weight::Assignment })
    }
}

/// The rule for a value in JSON that has this name.
pub(super) fn named(name: &str, value: &str) -> Option<Rule> {
    let name = name.get(name.len().saturating_sub(NAME_BYTES)..)?;
    judge(name, secrecy(name)?, value, Style::Quoted)
}

/// Where the line begins to be secret whose value has not come to its end.
pub(super) fn unfinished(text: &str, at: usize) -> Option<usize> {
    let name = Name::around(text, at);
    secrecy(name.text(text))?;
    let rest = &text[name.range.end..];
    let next = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ' ', '\t']);
    let is_assigned = name.is_flag || next.is_empty() || next.starts_with(['=', ':', '>', ',']);
    (is_assigned && !rest.contains('\n')).then_some(name.range.start)
}

/// True when something may be assigned to the name whose letters stand here.
pub(super) fn is_suspicious(bytes: &[u8], at: usize, end: usize) -> bool {
    let right = bytes[end..].iter().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
    let near = &bytes[end + right..bytes.len().min(end + right + 12)];
    let left = bytes[..at].iter().rev().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
    let is_flag = bytes[at - left..].starts_with(b"-");
    let is_login =
        bytes[..at].ends_with(b" ") || bytes[..at].ends_with(b"\\n") || bytes[..at].ends_with(b"\n");
    is_flag
        || is_login && &bytes[at..bytes.len().min(at + 9)] == b"password "
        || near.iter().any(|byte| matches!(byte, b'=' | b':' | b'>' | b',' | b'\\'))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// How secret a name says that its value is; none when it does not.
fn secrecy(name: &str) -> Option<Secrecy> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let plain = plain.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let ends = |words: &[&str]| words.iter().any(|word| plain.ends_with(word));
    // `pass` also ends other words.
    let is_pass = plain == "pass"
        || ["_pass", "-pass", ".pass", "Pass", "_PASS"]
            .iter()
            .any(|end| name.trim_end_matches(char::is_numeric).ends_with(end));
    match () {
        () if ends(&HARMLESS) => None,
        () if ends(&PASSWORDS) || is_pass => Some(Secrecy::Password),
        () if ends(&KEYS) => Some(Secrecy::Key),
        () if ends(&MAYBE) => Some(Secrecy::Maybe),
        () => None,
    }
}

/// The rule for a value, if it can be a secret.
fn judge(name: &str, secrecy: Secrecy, value: &str, style: Style) -> Option<Rule> {
    if is_placeholder(value) || value.contains("://") || value.contains('\n') {
        return None;
    }
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_space = value.contains(' ');
    let is_made = !has_space && (has_digit && has_letter || value.len() >= 20 && variety(value) >= 9);
    let is_plain = style == Style::Bare && is_code(value);
    let is_secret = match (secrecy, style) {
        (Secrecy::Password, Style::Variable) => {
            value.len() >= 4 && !value.starts_with('/') && !is_call(value)
        }
        (Secrecy::Password, _) => {
            value.len() >= 6 && !is_plain && is_uncommon(value) && value.matches(' ').count() < 3
        }
        (Secrecy::Key, Style::Variable) => {
            value.len() >= 8 && is_made && !value.starts_with('/') && !is_call(value)
        }
        (Secrecy::Key, _) => value.len() >= 12 && is_made && !is_plain && !value.starts_with(['/', '.']),
        (Secrecy::Maybe, Style::Variable) => is_random(value),
        (Secrecy::Maybe, _) => is_random(value) && !is_plain && !name.to_ascii_lowercase().ends_with("key"),
    };
    is_secret.then(|| Rule::Named(rule_of(name, secrecy, value, style)))
}

fn rule_of(name: &str, secrecy: Secrecy, value: &str, style: Style) -> &'static str {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_aws = plain.ends_with("secretaccesskey") || plain.contains("aws") && plain.ends_with("secretkey");
    match (secrecy, style) {
        _ if is_aws && value.len() == 40 => "aws-secret-key",
        _ if plain.ends_with("accountkey") || plain.ends_with("sharedaccesskey") => "azure-key",
        (_, Style::Variable) => "env-line",
        (Secrecy::Password, _) => "password-assignment",
        (Secrecy::Key | Secrecy::Maybe, _) => "secret-assignment",
    }
}

/// A name in a text.
#[derive(Clone, Debug)]
struct Name {
    range: Range<usize>,
    /// `--name value`
    is_flag: bool,
}

/// A value in a text.
struct Value {
    range: Range<usize>,
    style: Style,
}

impl Name {
    fn around(text: &str, at: usize) -> Self {
        let bytes = text.as_bytes();
        let left = bytes[..at].iter().rev().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
        let right = bytes[at..].iter().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
        let (mut start, mut end) = (at - left, at + right);
        let is_flag = bytes[start..].starts_with(b"-");
        // The letter of an escape such as `\n` is no part of the name.
        if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
            start += 1;
        }
        while end > start && matches!(bytes[end - 1], b'.' | b'-') {
            end -= 1;
        }
        Self { range: start.min(end)..end, is_flag }
    }

    fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.range.clone()]
    }

    /// The value that is assigned to it, if one is.
    fn value(&self, text: &str) -> Option<Value> {
        let bytes = text.as_bytes();
        let end = self.range.end;
        let gap = bytes[end..]
            .iter()
            .take(8)
            .take_while(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']' | b' ' | b'\t'))
            .count();
        let mut at = end + gap;
        let is_element = self.range.start > 0 && bytes[self.range.start - 1] == b'<';
        match bytes.get(at) {
            Some(b'=') => {
                at += 1;
                let is_variable = gap == 0 && self.is_variable(text);
                at += bytes[at..].iter().take_while(|byte| matches!(byte, b'=' | b'>' | b'~')).count();
                if is_variable && bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    return variable(text, at);
                }
            }
            Some(b':') if bytes.get(at + 1) == Some(&b':') => return None,
            Some(b':') => {
                at += 1 + usize::from(bytes.get(at + 1) == Some(&b'='));
                at += annotation(&text[at..]);
            }
            Some(b'>') if is_element && gap == 0 => {
                let rest = line_of(text, at + 1);
                let length = rest.find('<')?;
                return Some(Value { range: at + 1..at + 1 + length, style: Style::Quoted });
            }
            Some(b',') if gap > 0 => {
                let lead = pair(&text[at + 1..]);
                at += 1 + lead;
                let next = text[at..].trim_start_matches([' ', '\\']);
                // A list of texts assigns nothing, and one of names has no values.
                if lead == 0 && !next.starts_with(['"', '\'']) {
                    return None;
                }
            }
            Some(b'\n') if gap == 0 => at += pair(&text[at..]).checked_sub(1)? + 1,
            _ if (self.is_flag || self.is_login(text)) && gap > 0 && bytes[end] == b' ' => {}
            _ => return None,
        }
        at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        value_at(text, at)
    }

    /// True for the word in `login ada password …`, as a file of logins has it.
    fn is_login(&self, text: &str) -> bool {
        let mut words = text[..self.range.start].split_whitespace().rev();
        self.text(text) == "password" && words.nth(1) == Some("login")
    }

    /// True for the name of a variable of a shell.
    fn is_variable(&self, text: &str) -> bool {
        let name = self.text(text);
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

/// How much of a text says the type of a value: ` str = `.
fn annotation(text: &str) -> usize {
    let is_of_type = |letter: char| {
        letter.is_ascii_alphabetic()
            || matches!(letter, ' ' | '&' | '<' | '>' | '[' | ']' | '.' | '\'' | '?' | '|')
    };
    let length = text.bytes().take(40).take_while(|byte| is_of_type(char::from(*byte))).count();
    let is_type = text[length..].starts_with('=') && text[..length].trim().len() >= 3;
    if is_type { length + 1 } else { 0 }
}

/// How much of a text leads from the name in a list of names and values to the value: `"value": `.
fn pair(text: &str) -> usize {
    let is_between = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '\\');
    let start = text.len() - text.trim_start_matches(is_between).len();
    let rest = &text[start..];
    if start > 40 || !rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("value")) {
        return 0;
    }
    let after = rest[5..].trim_start_matches(['"', '\'', '\\', ' ']);
    let gap = rest.len() - 5 - after.len();
    if after.starts_with([':', '=']) { start + 5 + gap + 1 } else { 0 }
}

/// A value in quotes, or up to where the program would end it.
fn value_at(text: &str, at: usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'`'));
    // A string may have a letter before it, as in `b"…"`.
    let letter = usize::from(
        matches!(bytes.get(at), Some(b'r' | b'b' | b'f' | b'u' | b'L' | b'@')) && is_quote(bytes.get(at + 1)),
    );
    let begin = at + letter;
    let slashes = bytes[begin..].iter().take_while(|byte| **byte == b'\\').count();
    if is_quote(bytes.get(begin + slashes)) {
        let quote = &text[begin..=begin + slashes];
        let first = begin + quote.len();
        let line = line_of(text, first);
        if let Some(length) = closing(line, quote) {
            return Some(Value { range: first..first + length, style: Style::Quoted });
        }
        return bare(text, first, Style::Bare);
    }
    bare(text, begin, Style::Bare)
}

/// Where the quote stands again that a value began with.
fn closing(line: &str, quote: &str) -> Option<usize> {
    if quote.len() > 1 {
        return line.find(quote);
    }
    let mut is_escaped = false;
    line.bytes().position(|byte| {
        let is_end = !is_escaped && byte == quote.as_bytes()[0];
        is_escaped = !is_escaped && byte == b'\\';
        is_end
    })
}

fn bare(text: &str, begin: usize, style: Style) -> Option<Value> {
    let line = line_of(text, begin);
    let is_end = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '"' | '\'' | '`' | ',' | ';' | '}' | ']' | '<' | '>' | '|' | '&' | '\\')
    };
    let value = &line[..line.find(is_end).unwrap_or(line.len())];
    let value = value.trim_end_matches(['.', ')']);
    (!value.is_empty()).then(|| Value { range: begin..begin + value.len(), style })
}

/// The value of a variable of a shell, or of a line in a file of them.
fn variable(text: &str, at: usize) -> Option<Value> {
    let value = value_at(text, at)?;
    if value.style == Style::Quoted {
        return Some(Value { style: Style::Variable, ..value });
    }
    let line = line_of(text, at);
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '\\');
    let length = line.find(is_end).unwrap_or(line.len());
    // A query or a list goes on after its sign.
    let stop = line[..length].find(['&', ';']).filter(|_| value.range.len() >= 8).unwrap_or(length);
    (stop > 0).then(|| Value { range: at..at + stop, style: Style::Variable })
}

/// The rest of a line, within bounds.
fn line_of(text: &str, at: usize) -> &str {
    let end =
        (at..=text.len().min(at + VALUE_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(at);
    text[at..end].split(['\n', '\r']).next().unwrap_or_default()
}
