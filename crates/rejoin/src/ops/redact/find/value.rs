//! Whether a value can be a secret: not code, not a name, and for some names random enough.

pub(super) use crate::ops::redact::find::placeholder::is_placeholder;
use crate::ops::redact::find::table::words::{PATTERN, PRODUCTS, TECHNICAL, TYPES};

/// True when a value is what a function returns.
pub(super) fn is_call(value: &str) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    let name = value.bytes().take_while(is_of_name).count();
    let is_named =
        name >= 2 && value.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let is_short = value.len() < 20 || variety(value) < 14;
    let is_word = name >= 4 && !value[..name].bytes().any(|byte| byte.is_ascii_digit());
    // Nobody calls a function with so many different signs and no quotes.
    let is_wild = value.len() >= 32
        && variety(value) >= 18
        && has_digit(value)
        && value.contains(['^', '*', '+', '=', '!', '%', '@', '#'])
        && !value.contains(['"', '\'', ' ', ',', '$'])
        && !value.ends_with(')');
    is_named && !is_wild && value[name..].starts_with('(') && (is_short || is_word || value.ends_with(')'))
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
        && has_digit(value)
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
        || is_reference(value)
        || ["String", "Bytes"].iter().any(|kind| value.ends_with(kind)) && is_name(value)
        || value.chars().all(|letter| letter.is_ascii_alphabetic() || matches!(letter, '_' | '.' | '-'))
}

/// True for a name that a program has in the place of a value: `:password`,
/// `@password`, `user?.password`, `String!`.
fn is_reference(value: &str) -> bool {
    let inner = value.trim_start_matches([':', '@']);
    let is_marked = inner.len() < value.len() || value.contains("?.") || value.contains("!.");
    let lower = inner.to_ascii_lowercase();
    let is_typed = inner.ends_with(['!', '?']) && TYPES.iter().any(|word| lower.contains(word));
    let is_name = |part: &str| {
        let name = part.trim_end_matches(['!', '?']);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    (is_marked || is_typed) && inner.split('.').all(is_name)
}

/// True for small words with a sign between them and perhaps the number of a version: what things are called.
pub(super) fn is_title(value: &str) -> bool {
    let is_word = |word: &str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = |word: &str| {
        let digits = word.trim_start_matches('v');
        (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    value.split(['-', '_']).next().is_some_and(is_word)
        && value.split(['-', '_']).all(|word| is_word(word) || is_number(word))
}

/// True when small words are a third of a value or more.
pub(super) fn is_wordy(value: &str) -> bool {
    let words = value.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.filter(|word| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase()));
    words.map(str::len).sum::<usize>() * 3 >= value.len()
}

/// True for letters and then digits: a word with a date or a number.
pub(super) fn is_numbered(value: &str) -> bool {
    let word = value.trim_end_matches(|letter: char| letter.is_ascii_digit());
    word.len() < value.len() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_pattern(value: &str) -> bool {
    PATTERN.iter().filter(|sign| value.contains(**sign)).count() >= 2
}

pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

pub(super) fn has_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// True for letters and the signs that join words.
pub(super) fn is_words(value: &str) -> bool {
    value.chars().all(|letter| letter.is_alphabetic() || matches!(letter, '_' | '-' | '.' | ' '))
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

/// True for letters in an order that no word has: capitals everywhere, or hardly a vowel.
pub(super) fn is_jumbled(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let changes =
        bytes.windows(2).filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase());
    let is_mixed = value.bytes().any(|byte| byte.is_ascii_lowercase()) && changes.count() * 3 >= value.len();
    let hard = value.split(|letter: char| u8::try_from(letter).is_ok_and(|byte| is_vowel(&byte)));
    let is_hard = hard.map(str::len).max().unwrap_or_default() >= 5;
    value.bytes().all(|byte| byte.is_ascii_alphabetic()) && (is_mixed || is_hard)
}

/// True for what a person would choose, as far as it can be told from a word of the text around it:
/// letters with digits or signs among them.
pub(super) fn is_password(value: &str) -> bool {
    let has_sign = value
        .trim_end_matches(['!', '?', '*'])
        .contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '~', '?']);
    let is_measure = value.bytes().take_while(u8::is_ascii_digit).count();
    let is_measured = is_measure > 0
        && value[is_measure..].trim_start_matches('-').bytes().all(|byte| byte.is_ascii_lowercase());
    let lower = value.to_ascii_lowercase();
    let is_technical = TECHNICAL.iter().any(|word| lower.starts_with(word));
    (6..=100).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && has_letter(value)
        && (has_digit(value) || has_sign)
        && !is_measured
        && !is_technical
        && !is_version(&lower)
        && !value.contains("://")
        && !value.starts_with(['/', '.', '~', '-', '<', '(', '[', '{', '@', '#', '"', '\'', '`'])
        && !is_call(value)
        && !is_file(value)
        && !value.contains("()")
        && !is_mail(value)
}

/// True for the number of a version, perhaps with a word before it, in lower case.
fn is_version(value: &str) -> bool {
    let number = value.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let is_number = !number.is_empty()
        && number.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number && (number.contains('.') || PRODUCTS.contains(&&value[..value.len() - number.len()]))
}

/// True for the name of a file: a word, a dot, and a few letters.
fn is_file(value: &str) -> bool {
    value.rsplit_once('.').is_some_and(|(name, end)| {
        (1..=5).contains(&end.len())
            && end.bytes().all(|byte| byte.is_ascii_lowercase())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
    })
}

fn is_mail(value: &str) -> bool {
    value.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty()
            && host.contains('.')
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
    })
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

/// True for a long value with many signs of every kind, spaces among them.
pub(super) fn is_dense(value: &str) -> bool {
    let signs = value.bytes().filter(u8::is_ascii_punctuation).count();
    value.len() >= 40
        && signs * 6 >= value.len()
        && variety(value) >= 25
        && has_digit(value)
        && !is_pattern(value)
}

pub(super) fn is_uuid(value: &str) -> bool {
    let lengths: Vec<usize> = value.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && value.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Shannon's entropy in bits a letter.
pub(super) fn entropy(value: &str) -> f64 {
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
