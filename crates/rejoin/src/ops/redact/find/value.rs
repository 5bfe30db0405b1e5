//! Whether a value can be a secret: not an example, not code, and for some names random enough.

/// What examples say in the place of a secret, in lower case.
const EXAMPLES: [&str; 21] = [
    "your",
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "insert",
    "dummy",
    "xxxx",
    "****",
    "....",
    "\u{2026}",
    "redacted",
    "todo",
    "00000000",
    "sample",
    "deadbeef",
    "abcdefgh",
    "12345678901234567890",
    "my-",
];

/// Whole values that say nothing.
const WORDS: [&str; 33] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "key",
    "apikey",
    "api_key",
    "string",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "hidden",
    "test",
    "value",
    "empty",
    "unset",
    "default",
    "bearer",
    "text",
    "number",
    "boolean",
    "object",
    "pass",
    "user",
    "username",
    "admin",
    "unknown",
];

/// True when a value stands for a secret without being one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let first = lower.bytes().next().unwrap_or(b'$');
    // What is long and full of different signs is no reference to something else.
    let is_short = value.len() < 20 || variety(value) < 14;
    is_short && matches!(first, b'$' | b'%' | b'{' | b'<' | b'*' | b'&')
        || lower.starts_with('[') && lower.ends_with(']')
        || EXAMPLES.iter().any(|example| lower.contains(example))
        || WORDS.contains(&lower.as_str())
        || ["${", "{{", "$(", "<%"].iter().any(|sign| lower.contains(sign) && lower.contains(['}', ')', '>']))
        || variety(value) <= 1
}

/// True when a value is what a function returns.
pub(super) fn is_call(value: &str) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    let name = value.bytes().take_while(is_of_name).count();
    let is_named =
        name >= 2 && value.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let is_short = value.len() < 20 || variety(value) < 14;
    is_named && value[name..].starts_with('(') && (is_short || value.ends_with(')'))
}

/// How many different bytes a text has.
pub(super) fn variety(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// True when a text without quotes is more likely a piece of a program than a secret.
pub(super) fn is_code(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && part.len() < 25
    };
    // Of what is long and full of signs, brackets say nothing.
    let is_wild = value.len() >= 24
        && variety(value) >= 15
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.contains(['@', '#', '^', '*', '+', '=', '!', '%'])
        && !is_call(value);
    if is_wild {
        return false;
    }
    value.contains(['(', ')', '[', ']', '{', '}'])
        || value.contains("::")
        || value.contains("->")
        || value.starts_with(['/', '.', '~', '!', '?', '&', '*'])
        || value.contains('.') && value.split('.').all(is_name)
        || value.chars().all(|letter| letter.is_ascii_alphabetic() || matches!(letter, '_' | '.' | '-'))
}

/// True when a value has a digit or a sign beside letters, or capitals in its middle.
pub(super) fn is_uncommon(value: &str) -> bool {
    let has_other =
        value.chars().any(|letter| !letter.is_alphabetic() && !matches!(letter, ' ' | '_' | '-' | '.'));
    let inner: Vec<char> = value.chars().skip(1).collect();
    has_other
        || inner.iter().any(char::is_ascii_uppercase)
            && inner.iter().any(char::is_ascii_lowercase)
            && !value.contains(' ')
}

/// True when a value looks drawn at random: what a program makes and nobody types.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_written = value.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'.' | b'~' | b':' | b'-' | b'%')
    });
    value.len() >= 16
        && is_written
        && digits >= 2
        && letters >= 2
        && entropy(value) >= 3.0
        && !is_uuid(value)
        && !value.contains("://")
        && !value.starts_with('/')
        && !value.starts_with("sha256:")
        && !value.starts_with("sha512-")
}

pub(super) fn is_uuid(value: &str) -> bool {
    let lengths: Vec<usize> = value.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && value.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Shannon's entropy in bits a letter.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    #[expect(clippy::cast_precision_loss, reason = "a value is far shorter than 2^52")]
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let part = f64::from(*count) / length;
            -part * part.log2()
        })
        .sum()
}
