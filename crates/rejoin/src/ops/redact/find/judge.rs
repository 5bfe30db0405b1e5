//! Whether a value is secret, by what its name says and how it is written.

use crate::ops::redact::find::SecretRule;
use crate::ops::redact::find::names::{Secrecy, is_stored_key, plain};
use crate::ops::redact::find::placeholder::{is_named_placeholder, is_shown};
use crate::ops::redact::find::table::words::TYPES;
use crate::ops::redact::find::value::{
    has_digit, has_letter, is_call, is_code, is_dense, is_jumbled, is_numbered, is_password, is_random,
    is_title, is_uncommon, is_uuid, is_words, is_wordy, variety,
};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// `NAME=value`, as a shell takes it.
    Variable,
    Quoted,
    /// Nothing else stands in the line, as in a file of settings.
    Line,
    Bare,
    /// In a table, or in a sentence.
    Said,
    /// `name("value")`
    Call,
    /// Lines of their own below the name.
    Block,
}

/// The fewest words of a pass phrase.
const PHRASE: usize = 3;

/// The rule for a value, if it can be a secret.
pub(super) fn judge(name: &str, secrecy: Secrecy, value: &str, form: ValueForm) -> Option<SecretRule> {
    if form == ValueForm::Block {
        let (lines, letters) = (value.lines().count(), value.split_whitespace().collect::<String>());
        return match value.contains([' ', '\n']) {
            false => judge(name, secrecy, value, ValueForm::Line)
                .or_else(|| judge(name, secrecy, value, ValueForm::Bare)),
            true if lines == value.split_whitespace().count() => {
                judge(name, secrecy, &letters, ValueForm::Quoted)
            }
            true => judge(name, secrecy, value, ValueForm::Quoted),
        };
    }
    if value.contains("://") || value.contains('\n') {
        return None;
    }
    let is_secret = match secrecy {
        Secrecy::Password => is_password_value(value, form),
        Secrecy::Key => is_key_value(value, form),
        Secrecy::Maybe => is_maybe_value(name, value, form),
    };
    // `POSTGRES_PASSWORD=postgres`, `user_password=user`
    let is_own_name = is_words(value) && plain(name).starts_with(&plain(value));
    (is_secret && !is_own_name && !is_named_placeholder(value))
        .then(|| SecretRule::Named(rule_of(name, secrecy, value, form)))
}

fn is_password_value(value: &str, form: ValueForm) -> bool {
    let is_spoken = value.contains(' ');
    let is_phrase = value.split_whitespace().count() >= PHRASE || has_digit(value) || is_dense(value);
    match form {
        ValueForm::Variable => {
            value.len() >= 4 && !value.starts_with('/') && !is_call(value) && !is_shown(value)
        }
        ValueForm::Quoted if is_spoken => {
            value.len() >= 10 && is_phrase && !is_shown(value) && !is_code(value)
        }
        ValueForm::Quoted => value.len() >= if is_words(value) { 6 } else { 4 } && !is_shown(value),
        ValueForm::Line => {
            value.len() >= 6
                && !is_shown(value)
                && (is_uncommon(value) && !is_code(value) || is_words(value) && !is_type(value))
        }
        ValueForm::Bare => value.len() >= 6 && !is_code(value) && is_uncommon(value) && !is_shown(value),
        ValueForm::Said | ValueForm::Block => is_password(value),
        ValueForm::Call => value.len() >= 6 && !is_spoken && is_uncommon(value) && !is_shown(value),
    }
}

/// True for a name in a program: words with dots or lines between them, or the name of a type.
fn is_type(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_capital = value.starts_with(|letter: char| letter.is_ascii_uppercase());
    value.contains(['.', '_']) || is_capital && TYPES.iter().any(|word| lower.contains(word))
}

fn is_key_value(value: &str, form: ValueForm) -> bool {
    let has_both = has_digit(value) && has_letter(value);
    let is_made =
        !value.contains(' ') && (has_both || value.len() >= 20 && variety(value) >= 9) || is_dense(value);
    let inner = if value.len() >= 32 { value.trim_start_matches('/') } else { value };
    let is_path = value.starts_with(['/', '.']) && !(inner.len() < value.len() && is_random(inner));
    match form {
        ValueForm::Variable => {
            value.len() >= 8
                && (is_made || is_jumbled(value) || is_joined(value))
                && !is_path
                && !is_call(value)
        }
        ValueForm::Quoted => {
            value.len() >= 8
                && (is_made || is_jumbled(value) || is_joined(value))
                && !is_path
                && !is_shown(value)
        }
        ValueForm::Line | ValueForm::Bare => {
            value.len() >= 10
                && (is_made || is_jumbled(value) && form == ValueForm::Line)
                && !is_path
                && !is_title(value)
                && (!is_code(inner) || is_jumbled(value) && form == ValueForm::Line)
        }
        ValueForm::Said | ValueForm::Block => value.len() >= 16 && (is_random(value) || is_uuid(value)),
        ValueForm::Call => value.len() >= 16 && is_random(value),
    }
}

/// True for three words or more with a sign between them: what a person makes up for a key.
fn is_joined(value: &str) -> bool {
    is_words(value)
        && !value.contains(['.', ' '])
        && value.len() >= 16
        && value.split(['-', '_']).count() > PHRASE
}

fn is_maybe_value(name: &str, value: &str, form: ValueForm) -> bool {
    let name = plain(name);
    let is_token = name.ends_with("token");
    match form {
        // Each cookie has a name of its own.
        _ if name.ends_with("cookie") && value.contains('=') || is_numbered(value) => false,
        _ if is_stored_key(&name) => is_random(value) && !is_wordy(value),
        ValueForm::Variable => is_random(value) || is_dense(value) || is_token && is_uuid(value),
        ValueForm::Quoted if is_token && (is_uuid(value) || is_strong(value)) => true,
        ValueForm::Quoted | ValueForm::Line if name.ends_with("auth") && is_login(value) => true,
        ValueForm::Quoted if name == "auth" => is_credentials(value) || is_random(value),
        ValueForm::Said if name == "key" => {
            is_random(value) && !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        ValueForm::Quoted
        | ValueForm::Line
        | ValueForm::Bare
        | ValueForm::Said
        | ValueForm::Call
        | ValueForm::Block => {
            let is_plain =
                form != ValueForm::Quoted && is_code(value) || form == ValueForm::Bare && is_wordy(value);
            (is_random(value) || is_dense(value)) && !is_plain && !name.ends_with("key")
        }
    }
}

/// True for a password with everything in it that people are told to put there.
pub(super) fn is_strong(value: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| value.bytes().any(|byte| is_one(&byte));
    let has_sign = value.contains(['!', '@', '#', '$', '%', '^', '&', '*', '?', '~', '+']);
    value.len() >= 10
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has_sign
        && is_password(value)
}

/// True for a user and a password with a colon between them.
fn is_login(value: &str) -> bool {
    value.split_once(':').is_some_and(|(user, password)| {
        !user.is_empty() && is_words(user) && password.len() >= 8 && is_password(password)
    })
}

/// True for a user and a password in base64, as programs keep them for a registry.
pub(super) fn is_credentials(value: &str) -> bool {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let unpacked = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    unpacked.is_some_and(|text| {
        text.split_once(':').is_some_and(|(user, password)| {
            !user.is_empty() && password.len() >= 4 && !is_named_placeholder(password)
        }) && text.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

fn rule_of(name: &str, secrecy: Secrecy, value: &str, form: ValueForm) -> &'static str {
    let plain = plain(name);
    let is_aws = plain.ends_with("secretaccesskey") || plain.contains("aws") && plain.ends_with("secretkey");
    match (secrecy, form) {
        _ if is_aws && value.len() == 40 => "aws-secret-key",
        _ if plain.ends_with("accountkey") || plain.ends_with("sharedaccesskey") => "azure-key",
        (_, ValueForm::Variable) => "env-line",
        (Secrecy::Password, _) => "password-assignment",
        (Secrecy::Key | Secrecy::Maybe, _) => "secret-assignment",
    }
}
