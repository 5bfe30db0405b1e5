//! Tables whose head names a secret: the cells below the name, in Markdown, CSV and what is aligned by tabs.

use std::ops::Range;

use crate::ops::redact::find::judge::{ValueForm, judge};
use crate::ops::redact::find::names::Secrecy;
use crate::ops::redact::find::{FoundSecret, Weight, line_before, within};

/// So many rows of a table are looked at.
const ROWS: usize = 200;

/// The longest line that is the head of a table.
const HEAD_BYTES: usize = 300;

/// The secrets below a name that is a cell in the head of a table, and where the table ends.
pub(super) fn below(
    text: &str,
    name: &Range<usize>,
    words: &str,
    secrecy: Secrecy,
    found: &mut Vec<FoundSecret>,
) -> Option<usize> {
    let after = text[name.end..].trim_start_matches([' ', '"', '`', '*']);
    let before = text[..name.start].trim_end_matches([' ', '"', '`', '*']);
    let is_head = after.starts_with([',', '|', '\t', ';', '\n', '\r'])
        && (before.is_empty() || before.ends_with([',', '|', '\t', ';', '\n']) || words.contains(' '));
    if !is_head {
        return None;
    }
    let start = name.start - line_before(text, name.start, HEAD_BYTES).len();
    let length = within(text, start, HEAD_BYTES).find('\n')?;
    let head = &text[start..start + length];
    let sign = ['|', '\t', ',', ';'].into_iter().find(|sign| head.contains(*sign))?;
    let is_word = |cell: &str| {
        cell.chars().all(|letter| {
            letter.is_alphabetic() || matches!(letter, ' ' | '_' | '-' | '"' | '`' | '*' | '\r')
        })
    };
    let column = head[..name.start - start].matches(sign).count();
    let own = head.split(sign).nth(column).unwrap_or_default();
    if !head.split(sign).all(is_word)
        || trimmed(own).split(' ').count() > 3
        || !trimmed(own).ends_with(&text[name.clone()])
    {
        return None;
    }
    let count = head.matches(sign).count();
    let mut at = start + length + 1;
    for row in text[at..].split('\n').take(ROWS) {
        if row.matches(sign).count() != count {
            break;
        }
        let cell = row.split(sign).nth(column).unwrap_or_default();
        let value = trimmed(cell);
        if let Some(rule) = judge(words, secrecy, value, ValueForm::Said) {
            let before: usize = row.split(sign).take(column).map(|cell| cell.len() + 1).sum();
            let begin = at + before + cell.find(value).unwrap_or_default();
            found.push(FoundSecret { range: begin..begin + value.len(), rule, weight: Weight::Assignment });
        }
        at += row.len() + 1;
    }
    Some(at)
}

fn trimmed(cell: &str) -> &str {
    cell.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '`' | '*' | '\''))
}
