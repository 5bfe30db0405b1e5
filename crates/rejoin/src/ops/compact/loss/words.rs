//! What kind of fact a single word is, if it is one.

use crate::ops::view::FactKind;

/// Longer words are data, not names.
const LONGEST: usize = 300;

/// True for what parts words in prose and programs. A comma may also group a number.
pub(super) const fn parts(letter: char) -> bool {
    matches!(
        letter,
        '"' | '`'
            | '<'
            | '>'
            | '|'
            | '{'
            | '}'
            | '('
            | ')'
            | '['
            | ']'
            | ','
            | ';'
            | '='
            | '“'
            | '”'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '„'
            | '「'
            | '」'
            | '、'
            | '。'
            | '，'
            | '；'
            | '：'
            | '（'
            | '）'
    )
}

/// True for letters of scripts that are written without blanks, each of which can begin or end a word.
pub(super) const fn is_ideograph(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A word without the punctuation around it, and how many bytes stood before it.
pub(super) fn bare(piece: &str) -> (usize, &str) {
    let begun = piece.trim_start_matches(|letter: char| "'*!?:…&".contains(letter));
    let skipped = piece.len() - begun.len();
    let word = begun.trim_end_matches(|letter: char| "'*!?:….,&".contains(letter));
    // A possessive belongs to the sentence.
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    (skipped, word)
}

/// What kind of fact a word is.
pub(super) fn kind_of(word: &str) -> Option<FactKind> {
    if word.len() < 2 || word.len() > LONGEST {
        return None;
    }
    // Most words are plain, and are none.
    if word.bytes().skip(1).all(|letter| letter.is_ascii_lowercase())
        && word.as_bytes()[0].is_ascii_alphabetic()
    {
        return NAMES.contains(&word).then_some(FactKind::Path);
    }
    if !word.contains(char::is_alphanumeric) {
        return None;
    }
    if is_mailbox(word) {
        return Some(FactKind::Url);
    }
    if is_number(word) {
        return Some(FactKind::Number);
    }
    if is_path(word) {
        return Some(FactKind::Path);
    }
    is_identifier(word).then_some(FactKind::Identifier)
}

fn is_mailbox(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| {
        let is_plain = |text: &str| {
            !text.is_empty()
                && text.chars().all(|letter| letter.is_alphanumeric() || "._%+-".contains(letter))
        };
        is_plain(name) && is_plain(host) && host.trim_matches('.').contains('.')
    })
}

/// Signs that may stand before a number.
const SIGNS: [char; 10] = ['-', '+', '$', '€', '£', '¥', '#', '~', '≈', '±'];

/// What may stand in a number, a date, a time or a version, beside digits and letters.
const MARKS: &str = ".,:_-/%°$€£¥+'";

fn is_number(word: &str) -> bool {
    let bare = word.trim_start_matches(SIGNS);
    let bare = bare.strip_prefix(['v', 'V']).unwrap_or(bare);
    if !bare.starts_with(|letter: char| letter.is_ascii_digit()) {
        return false;
    }
    let digits = bare.chars().filter(char::is_ascii_digit).count();
    let letters = bare.chars().filter(|letter| letter.is_alphabetic()).count();
    let is_plain = bare
        .chars()
        .all(|letter| letter.is_ascii_digit() || letter.is_alphabetic() || MARKS.contains(letter));
    let is_sized = digits >= 2 || letters > 0 || word.contains(['%', '°', '$', '€', '£', '¥', '#']);
    let is_ordinal = ["st", "nd", "rd", "th"].iter().any(|end| bare.ends_with(end)) && letters == 2;
    let is_short = letters <= 4 && !mixes(bare);
    is_plain && is_sized && !is_ordinal && (is_short || is_version(bare))
}

/// True when digits follow letters, as in a commit: `3fa9c1e`. The `T` of a time does not count.
fn mixes(word: &str) -> bool {
    let after = |(left, right): (char, char)| {
        left.is_alphabetic() && left != 'T' && left != 'e' && left != 'E' && right.is_ascii_digit()
    };
    let hexadecimal = word.len() >= 7 && word.chars().all(|letter| letter.is_ascii_hexdigit());
    let pairs = || word.chars().zip(word.chars().skip(1));
    (hexadecimal && word.chars().any(|letter| letter.is_ascii_alphabetic())) || pairs().any(after)
}

/// Two numbers with a dot between, and then whatever a version adds: `1.2.3-beta.1`.
fn is_version(word: &str) -> bool {
    let numbers = word.split(['-', '+']).next().unwrap_or(word);
    let mut parts = numbers.split('.');
    let all_digits = |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_digit());
    parts.clone().count() >= 2 && parts.all(all_digits)
}

/// A number with nothing around it.
pub(super) fn is_bare_number(word: &str) -> bool {
    word.ends_with(|letter: char| letter.is_ascii_digit())
        && word.starts_with(|letter: char| letter.is_ascii_digit() || SIGNS.contains(&letter))
        && word
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".,_".contains(letter) || SIGNS.contains(&letter))
}

/// Units that stand after a number and a blank.
const UNITS: [&str; 40] = [
    "%", "ms", "s", "µs", "ns", "min", "h", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "bytes",
    "bits", "px", "pt", "mm", "cm", "m", "km", "kg", "g", "hz", "khz", "mhz", "ghz", "seconds", "minutes",
    "hours", "days", "weeks", "months", "years", "tokens", "usd", "eur", "€",
];

/// The unit that a word begins with, when it is one apart from punctuation.
pub(super) fn unit(word: &str) -> Option<&str> {
    let bare = word.trim_end_matches(|letter: char| ".,;:!?)]}\"'”*".contains(letter));
    UNITS.iter().any(|unit| bare.eq_ignore_ascii_case(unit)).then_some(bare)
}

/// Endings of files. A word with another one is more likely a call, such as `config.load`.
const ENDINGS: &str = " adoc asm bak bash bat bin bmp bz2 c cc cfg cmake conf cpp cs css csv cxx dart db deb diff dll \
    doc docx dockerfile el elm env erl ex exe exs fish fs gif go gradle graphql gz h hpp hs htm html ico ini ipynb jar \
    java jpeg jpg js json jsonl jsx kt less lisp lock log lua m4 md mdx mjs mk ml mm mp3 mp4 nix odt out patch pdf php \
    pl plist png po proto ps1 py pyi r rar rb rs rst sass scala scss service sh so sock sql sqlite srt sse svg swift \
    tar tex tf tgz tmp toml ts tsv tsx ttf txt vim vue wasm wav webm webp whl woff xls xlsx xml xz yaml yml zig zip \
    zsh ";

/// Files without an ending.
const NAMES: [&str; 8] =
    ["Makefile", "Dockerfile", "Justfile", "justfile", "LICENSE", "README", "CHANGELOG", "Procfile"];

/// Pairs of words that are no directories.
const PAIRS: [&str; 16] = [
    "and/or",
    "either/or",
    "he/she",
    "his/her",
    "yes/no",
    "true/false",
    "on/off",
    "input/output",
    "read/write",
    "client/server",
    "n/a",
    "w/o",
    "km/h",
    "i/o",
    "tcp/ip",
    "pass/fail",
];

fn is_path(word: &str) -> bool {
    let path = without_line(word);
    if NAMES.contains(&path) {
        return true;
    }
    let is_plain =
        path.chars().all(|letter| letter.is_alphanumeric() || "._-/\\~:@+%#$*&!^".contains(letter));
    if path.contains(['/', '\\']) {
        let is_pair = PAIRS.iter().any(|pair| path.eq_ignore_ascii_case(pair));
        let is_escape = path.starts_with('\\') && !path.starts_with("\\\\");
        return is_plain
            && !is_pair
            && !is_escape
            && !path.starts_with("//")
            && path.chars().any(char::is_alphabetic);
    }
    let Some((stem, ending)) = path.rsplit_once('.') else { return false };
    let is_hidden =
        stem.is_empty() && ending.len() > 2 && ending.starts_with(|letter: char| letter.is_ascii_lowercase());
    let ending = ending.to_ascii_lowercase();
    let is_known = !stem.is_empty() && ENDINGS.contains(&format!(" {ending} "));
    is_plain && !path.contains(':') && (is_hidden || is_known)
}

/// A path without the line and column that were named with it.
fn without_line(word: &str) -> &str {
    let mut path = word;
    while let Some((rest, line)) = path.rsplit_once(':') {
        if line.is_empty() || !line.chars().all(|letter| letter.is_ascii_digit()) {
            break;
        }
        path = rest;
    }
    path
}

fn is_identifier(word: &str) -> bool {
    let name = word.trim_start_matches(['@', '#', '$', '&', '-']).trim_end_matches(['!', '-']);
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "_:-.@#$->".contains(letter));
    if !is_plain || !name.contains(char::is_alphabetic) || name.len() < 2 {
        return false;
    }
    let is_flag = word.starts_with("--") && name.len() >= 2;
    let is_handle = word.starts_with('@') && name.len() >= 3;
    let has_inner_mark = name.trim_matches('_').contains('_') || name.contains("::") || name.contains("->");
    let has_hump = name
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|part| pairs(part).any(|(left, right)| left.is_lowercase() && right.is_uppercase()));
    let mixes_digits = name.contains(|letter: char| letter.is_ascii_digit()) && name.chars().count() >= 3;
    let is_call = name.split('.').count() >= 2
        && name
            .split('.')
            .all(|part| part.len() >= 2 && part.chars().all(|letter| letter.is_ascii_alphanumeric()));
    is_flag || is_handle || has_inner_mark || has_hump || mixes_digits || is_call
}

fn pairs(text: &str) -> impl Iterator<Item = (char, char)> {
    text.chars().zip(text.chars().skip(1))
}
