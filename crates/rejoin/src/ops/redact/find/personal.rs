//! What tells who somebody is: addresses of mail, telephone numbers, numbers of
//! cards. Looked for only when asked.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::ops::redact::find::{FoundSecret, SecretRule, Weight};

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Personal {
    /// Addresses of mail.
    Email,
    /// Telephone numbers.
    Phone,
    /// Numbers of payment cards.
    Card,
}

impl Personal {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Email, Self::Phone, Self::Card];

    /// The kind's name, which is its rule's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
        }
    }

    /// Everything of this kind in a text.
    pub(in crate::ops::redact) fn find(self, text: &str) -> Vec<FoundSecret> {
        let ranges = match self {
            Self::Email => {
                memchr::memchr_iter(b'@', text.as_bytes()).filter_map(|at| email(text, at)).collect()
            }
            Self::Phone => numbers(text).into_iter().filter(|range| is_phone(&text[range.clone()])).collect(),
            Self::Card => {
                numbers(text).into_iter().filter(|range| is_card(&text[range.clone()])).collect::<Vec<_>>()
            }
        };
        let found =
            |range| FoundSecret { range, rule: SecretRule::Named(self.as_str()), weight: Weight::Personal };
        ranges.into_iter().map(found).collect()
    }
}

impl FromStr for Personal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::invalid(format!("`{shown}` is not a kind of personal data; expected email, phone or card"))
        })
    }
}

fn email(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let is_local =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-');
    let local = bytes[..at].iter().rev().take(64).take_while(is_local).count();
    let is_domain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let domain = bytes[at + 1..].iter().take(253).take_while(is_domain).count();
    let name = text[at + 1..at + 1 + domain].trim_end_matches(['.', '-']);
    let (_, top) = name.rsplit_once('.')?;
    let user = &text[at - local..at];
    let is_address =
        local > 0 && top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic()) && user != "git";
    is_address.then(|| at - local..at + 1 + name.len())
}

/// Runs of digits with the signs that people put between them.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let is_first = bytes[at].is_ascii_digit() || matches!(bytes[at], b'+' | b'(');
        let is_start = at == 0
            || !bytes[at - 1].is_ascii_alphanumeric()
                && !matches!(bytes[at - 1], b'.' | b'-' | b'_' | b'/' | b'#');
        if !is_first || !is_start {
            at += 1;
            continue;
        }
        let mut end = at;
        let mut last = at;
        while end < bytes.len()
            && (bytes[end].is_ascii_digit()
                || matches!(bytes[end], b' ' | b'-' | b'.' | b'(' | b')' | b'+' | b'/'))
        {
            if bytes[end] == b' ' && bytes.get(end + 1) == Some(&b' ') {
                break;
            }
            end += 1;
            if bytes[end - 1].is_ascii_digit() {
                last = end;
            }
        }
        let is_end = bytes.get(last).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        if is_end && last - at >= 7 {
            ranges.push(at..last);
        }
        at = end.max(at + 1);
    }
    ranges
}

fn digits(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect()
}

/// A number that somebody wrote to be dialled: with a country, or in groups of a known form.
fn is_phone(text: &str) -> bool {
    let count = digits(text).len();
    let groups: Vec<usize> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .map(str::len)
        .collect();
    let is_international = text.starts_with('+') && (8..=15).contains(&count)
        || text.starts_with("00") && (10..=16).contains(&count) && groups.len() >= 2;
    let is_grouped = groups == [3, 3, 4] || groups == [1, 3, 3, 4] && text.starts_with('1');
    let is_national = text.starts_with('0')
        && (9..=12).contains(&count)
        && (2..=5).contains(&groups.len())
        && groups[0] >= 3
        && !text.contains('.');
    is_international || is_grouped && !text.contains('/') || is_national
}

/// A number of a card: by length, first digits and check digit.
fn is_card(text: &str) -> bool {
    let digits = digits(text);
    let is_known = matches!(
        (digits.first(), digits.get(1)),
        (Some(4), _)
            | (Some(5), Some(1..=5))
            | (Some(2), Some(2..=7))
            | (Some(3), Some(4..=9))
            | (Some(6), _)
    );
    let has_form = !text.contains(['+', '(', '.', '/']);
    (13..=19).contains(&digits.len())
        && is_known
        && has_form
        && has_check_digit(&digits)
        && digits.iter().any(|digit| *digit != digits[0])
}

/// Luhn's check: every second digit from the right counts twice.
fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit) * 2) {
            (0, _) => u32::from(*digit),
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}
