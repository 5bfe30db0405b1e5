//! What stands where a secret was, and whether a text is what a redacted one was made of, whatever the
//! rules and the key were then. A store may have been redacted that this build could not redact, so
//! this is there without redaction, too.

#[cfg(feature = "redact")]
use std::ops::Range;

use crate::model::Media;

/// How a marker begins.
pub(super) const MARKER: &str = "[redacted:";

/// The field of a block of thinking whose words are no longer those that were signed.
pub(crate) const CHANGED: &str = "redacted";

/// No marker is longer.
#[cfg(feature = "redact")]
const MARKER_BYTES: usize = 100;

/// The letters of a hash in a marker.
const HASH: usize = 8;

/// True for a file whose bytes are text.
pub(crate) fn is_text(media: &Media) -> bool {
    let kind = media.mime_type.as_str();
    kind.starts_with("text/")
        || ["json", "xml", "yaml", "toml", "javascript", "x-sh"].iter().any(|word| kind.contains(word))
}

/// True when a text was this one before it was redacted.
pub(crate) fn is_same(redacted: &str, text: &str) -> bool {
    let mut parts = parts(redacted);
    let last = parts.pop().unwrap_or_default();
    match after(&parts, text) {
        Some(rest) if parts.is_empty() => rest == last,
        Some(rest) => rest.ends_with(last),
        None => false,
    }
}

/// True when a text was this one before it was redacted, and went on in another line.
pub(crate) fn continues(redacted: &str, text: &str) -> bool {
    let mut parts = parts(redacted);
    let last = parts.pop().unwrap_or_default();
    let Some(rest) = after(&parts, text) else { return false };
    if parts.is_empty() {
        return rest.strip_prefix(last).is_some_and(|more| more.starts_with('\n'));
    }
    rest.match_indices(last).any(|(at, _)| rest[at + last.len()..].starts_with('\n'))
}

/// What is left of a text after its parts, each as early as it can stand.
fn after<'t>(parts: &[&str], text: &'t str) -> Option<&'t str> {
    let mut rest = text;
    for (place, part) in parts.iter().enumerate() {
        rest = match place {
            0 => rest.strip_prefix(part)?,
            _ => rest
                .split_once(part)
                .filter(|_| !part.is_empty())
                .map_or(Some(rest).filter(|_| part.is_empty()), |(_, rest)| Some(rest))?,
        };
    }
    Some(rest)
}

/// What stands between the markers of a text.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut from) = (0, 0);
    while let Some(at) = text[from..].find(MARKER).map(|at| from + at) {
        match marker_length(&text[at..]) {
            Some(length) => {
                parts.push(&text[begin..at]);
                begin = at + length;
                from = begin;
            }
            None => from = at + MARKER.len(),
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// True when a part of a text has a marker or some of it.
#[cfg(feature = "redact")]
pub(super) fn touches_marker(text: &str, part: &Range<usize>) -> bool {
    let floor = text.floor_char_boundary(part.start.saturating_sub(MARKER_BYTES));
    let near = &text[floor..text.floor_char_boundary(part.start + MARKER.len())];
    let is_inside = |start: usize| {
        marker_length(&text[floor + start..]).is_some_and(|length| floor + start + length > part.start)
    };
    text[part.clone()].contains(MARKER) || near.rfind(MARKER).is_some_and(is_inside)
}

/// How long the marker is that a text begins with.
fn marker_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(MARKER)?;
    let rule = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
        .count();
    let hash = rest[rule..].strip_prefix(':')?;
    let is_hash = hash.len() > HASH && hash.bytes().take(HASH).all(|byte| byte.is_ascii_hexdigit());
    (rule > 0 && is_hash && hash.as_bytes()[HASH] == b']').then_some(MARKER.len() + rule + 1 + HASH + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_recognised_by_what_was_left_of_it() {
        let stored = "a [redacted:github-token:0123abcd] b [redacted:env-line:ffffffff]";
        let cases = ["a x b y", "a  b y", "a x c y", "b x b y", "a x b ", stored];

        assert_eq!(cases.map(|text| is_same(stored, text)), [true, true, false, false, true, true]);
        assert_eq!(["same", "same!"].map(|text| is_same("same", text)), [true, false]);
    }

    #[test]
    fn a_text_that_went_on_is_recognised_too() {
        let stored = "a [redacted:github-token:0123abcd] b";
        let cases = ["a x b\nmore", "a x b", "a x b more", "a x b b\n"];

        assert_eq!(cases.map(|text| continues(stored, text)), [true, false, false, true]);
        assert_eq!(["one\ntwo", "one", "onetwo"].map(|text| continues("one", text)), [true, false, false]);
    }
}
