//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"api_key":
//! "…"`, `--token …`, `<password>…`.

use std::ops::Range;

use crate::ops::redact::find::examples::Examples;
use crate::ops::redact::find::judge::{ValueForm, judge};
use crate::ops::redact::find::names::{self, Secrecy, secrecy};
use crate::ops::redact::find::pattern::Pattern;
use crate::ops::redact::find::reads::{
    FoundValue, PASSWORD_BYTES, Reads, VALUE_BYTES, is_endless, values_end,
};
use crate::ops::redact::find::table::leads::LEADS;
use crate::ops::redact::find::{
    FoundSecret, SecretRule, Weight, columns, line_before, printed, said, within,
};
use crate::ops::redact::reading::undisguised_word;

/// A name is looked at so far to each side.
const NAME_BYTES: usize = 64;

/// What leads to a value is no longer.
const LEAD_BYTES: usize = 400;

/// What patterns begin with that need not be asked where no space or quote follows the name.
const SPACE: &str = r"^[ \t]";
const QUOTE: &str = r#"^["']("#;

/// What leads from a name to its value: a line of the table.
#[derive(Debug)]
pub(super) struct AssignmentLead {
    /// The first of the signs after the name that are no quotes and no spaces is
    /// one of these; any if there are none.
    signs: &'static str,
    /// What stands before the name, with it.
    before: &'static str,
    /// What stands after the name. The value follows, or begins where the first group ends.
    pub(super) after: &'static str,
    pub(super) reads: Reads,
    pub(super) examples: Examples,
}

pub(super) const fn lead(signs: &'static str, after: &'static str, reads: Reads) -> AssignmentLead {
    AssignmentLead { signs, before: "", after, reads, examples: Examples::NONE }
}

impl AssignmentLead {
    pub(super) const fn before(self, before: &'static str) -> Self {
        Self { before, ..self }
    }

    pub(super) const fn finds(self, finds: &'static [&'static str]) -> Self {
        Self { examples: self.examples.finds(finds), ..self }
    }

    pub(super) const fn leaves(self, leaves: &'static [&'static str]) -> Self {
        Self { examples: self.examples.leaves(leaves), ..self }
    }
}

/// What was looked at: each name once however many words of it are anchors, and
/// none in a value that is secret.
#[derive(Debug, Default)]
pub(super) struct SeenNames {
    /// The names before this place.
    names: usize,
    /// The rows of a table whose head was looked at; none of them is the head of another.
    rows: Range<usize>,
    /// Letters that end no value, as far as they are known.
    letters: Range<usize>,
}

/// The patterns of the table: what stands before a name and after it.
#[derive(Debug)]
pub(super) struct Leads {
    patterns: Vec<[Pattern; 2]>,
    /// A value before its name: `value: …` and `name: …` in the next line.
    reversed: Pattern,
}

impl Leads {
    pub(super) fn new() -> Self {
        let patterns =
            LEADS.iter().map(|lead| [Pattern::new(lead.before), Pattern::new(lead.after)]).collect();
        let reversed = r#"(?i)\b(?:value|val)["']?\s*[:=]\s*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"',{}]+))["']?,?\s*["']?(?:name|key|variable|id)["']?\s*[:=]\s*["']?$"#;
        Self { patterns, reversed: Pattern::new(reversed) }
    }

    /// The value that is assigned to a name, if one is.
    fn value(&self, text: &str, name: &AssignedName) -> Option<FoundValue> {
        let rest = within(text, name.range.end, LEAD_BYTES);
        let sign = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ' ', '\t', '*', '[']).chars().next();
        let sign = sign.filter(|_| !rest.starts_with(" (") && !rest.starts_with(" ["));
        let before = line_before(text, name.range.start, PASSWORD_BYTES);
        let before = &text[name.range.start - before.len()..name.range.end];
        for (lead, [left, right]) in LEADS.iter().zip(&self.patterns) {
            let is_near = (lead.signs.is_empty() || sign.is_none_or(|sign| lead.signs.contains(sign)))
                && (!lead.after.starts_with(SPACE) || rest.starts_with([' ', '\t']))
                && (!lead.after.starts_with(QUOTE) || rest.starts_with(['"', '\'']));
            let Some(fitting) = Some(right).filter(|_| is_near).and_then(|right| right.captures(rest)) else {
                continue;
            };
            // Whether there is a value is seen sooner than what stands before the name.
            let end = fitting.get(1).or_else(|| fitting.get(0)).map_or(0, |part| part.end());
            let value = lead.reads.value(text, name, name.range.end + end);
            if (value.is_some() || lead.reads == Reads::Nothing) && left.fits(before) {
                return value;
            }
        }
        let floor = text.floor_char_boundary(name.range.start.saturating_sub(PASSWORD_BYTES));
        let before = &text[floor..name.range.start];
        let is_second = before.ends_with(['"', '\'', ' ', ':', '=']);
        let fitting = Some(&self.reversed).filter(|_| is_second)?.captures(before)?;
        let part = fitting.iter().skip(1).flatten().next()?.range();
        Some(FoundValue { range: floor + part.start..floor + part.end, form: ValueForm::Quoted })
    }

    /// The secret values of the name that `at` is in.
    pub(super) fn at(&self, text: &str, at: usize, seen: &mut SeenNames, found: &mut Vec<FoundSecret>) {
        if at < seen.names {
            return;
        }
        let name = AssignedName::around(text, at);
        seen.names = name.range.end;
        if !is_suspicious(text.as_bytes(), name.range.end) {
            return;
        }
        if !seen.letters.contains(&name.range.end) {
            seen.letters = name.range.end..values_end(text, name.range.end);
        }
        // Nobody can tell where its value ends, and many names may stand there.
        if is_endless(text, name.range.end, seen.letters.end) {
            return;
        }
        let Some((words, level)) = name.told(text) else { return };
        let is_spoken = words.contains(' ');
        let rule = |value: &FoundValue| {
            let form = if is_spoken && value.form == ValueForm::Line { ValueForm::Said } else { value.form };
            judge(words, level, &text[value.range.clone()], form)
        };
        let one = self.value(text, &name).and_then(|value| rule(&value).map(|rule| (value.range, rule)));
        let one = one
            .or_else(|| said::after(text, name.range.end, words, level))
            .or_else(|| printed::below(text, name.range.end, words, level));
        match one {
            Some((range, rule)) => {
                seen.names = range.end.max(seen.names);
                found.push(FoundSecret { range, rule, weight: Weight::Assignment });
            }
            None if seen.rows.contains(&name.range.start) => {}
            None => {
                if let Some(end) = columns::below(text, &name.range, words, level, found) {
                    let head = memchr::memchr(b'\n', &text.as_bytes()[name.range.end..]).unwrap_or(0);
                    seen.rows = name.range.end + head..end;
                }
            }
        }
    }
}

/// The rule for a value in JSON that has this name.
pub(super) fn named(name: &str, value: &str) -> Option<SecretRule> {
    let name = &name[name.floor_char_boundary(name.len().saturating_sub(NAME_BYTES))..];
    let plain = undisguised_word(name);
    let name = plain.as_deref().unwrap_or(name);
    let level =
        secrecy(name, names::NameStyle::Written).or_else(|| secrecy(name, names::NameStyle::Spoken))?;
    judge(name, level, value, ValueForm::Quoted)
}

/// Where a text begins to be secret that has not come to its end, by the name that `at` is in.
pub(super) fn unfinished(text: &str, at: usize) -> Option<usize> {
    let name = AssignedName::around(text, at);
    let rest = &text[name.range.end..];
    name.told(text)?;
    let next = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ' ', '\t']);
    let is_assigned = name.is_flag
        || next.is_empty()
        || next.starts_with(['=', ':', '>', ',', '|', '(', '?', '+', '{'])
        || [" '", " \"", " [", " ("].iter().any(|sign| rest.starts_with(sign));
    if is_assigned { Some(name.range.start) } else { said::unfinished(text, name.range.end) }
}

/// Where the line begins that opens the block of lines at the end of a text: `password: |`.
pub(super) fn open_block(text: &str) -> Option<usize> {
    let near = &text[text.floor_char_boundary(text.len().saturating_sub(VALUE_BYTES))..];
    let mut end = near.len();
    let mut indent = usize::MAX;
    for line in near.rsplit('\n') {
        let start = end - line.len();
        end = start.saturating_sub(1);
        let own = line.len() - line.trim_start().len();
        if line.trim().is_empty() {
            continue;
        }
        if own < indent && line.trim_end().ends_with(['|', '>', '-', '+']) && line.contains(':') {
            return Some(text.len() - near.len() + start);
        }
        if own == 0 {
            return None;
        }
        indent = indent.min(own);
    }
    None
}

/// True when something may be assigned to the name whose letters end here.
pub(super) fn is_suspicious(bytes: &[u8], end: usize) -> bool {
    let right = bytes[end..].iter().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
    let end = end + right;
    if !names::may_tell(&bytes[end.saturating_sub(8)..end]) {
        return false;
    }
    let near = &bytes[end..bytes.len().min(end + NAME_BYTES)];
    let is_between = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']' | b' ' | b'\t' | b'*');
    let is_telling = |byte: &u8| {
        byte.is_ascii_digit() || matches!(byte, b'"' | b'\'' | b'!' | b'#' | b'$' | b'%' | b'&' | b'+' | b'@')
    };
    match near.iter().find(|byte| !is_between(byte)) {
        Some(b'=' | b':' | b'<' | b'>' | b'|' | b'[' | b'(' | b'?' | b'{') => true,
        // `name: X`, and `value: Y` in the next line.
        Some(b',' | b'\n' | b'n') if near.windows(5).any(|word| word.eq_ignore_ascii_case(b"value")) => true,
        _ => near.iter().any(is_telling) || is_second(bytes, end),
    }
}

/// True for a name that is a value itself, and stands behind the one that it names.
fn is_second(bytes: &[u8], end: usize) -> bool {
    let name = bytes[..end].iter().rev().take(NAME_BYTES).take_while(|byte| is_of_name(**byte)).count();
    let is_between = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ');
    let mut before = bytes[..end - name].iter().rev().take(16).skip_while(is_between);
    // `name: ` or `key=`, read from its end.
    matches!(before.next(), Some(b':' | b'='))
        && matches!(before.find(|byte| !is_between(byte)), Some(b'e' | b'E' | b'y' | b'Y'))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// A name in a text.
#[derive(Clone, Debug)]
pub(super) struct AssignedName {
    pub(super) range: Range<usize>,
    /// `--name value`
    is_flag: bool,
}

impl AssignedName {
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

    /// What it says, and how secret that is: with the two words before it, as in
    /// `Secret Access Key`, where they say more.
    fn told<'t>(&self, text: &'t str) -> Option<(&'t str, Secrecy)> {
        let written = &text[self.range.clone()];
        let level = secrecy(written, names::NameStyle::Written);
        if matches!(level, Some(Secrecy::Password | Secrecy::Key)) {
            return level.map(|level| (written, level));
        }
        let bytes = text.as_bytes();
        let mut start = self.range.start;
        for _ in 0..2 {
            let is_apart = start > 0 && bytes[start - 1] == b' ';
            let letters = bytes[..start.saturating_sub(1)].iter().rev().take(20);
            let word = letters.take_while(|byte| byte.is_ascii_alphabetic()).count();
            if !is_apart || word == 0 {
                break;
            }
            start -= word + 1;
        }
        let spoken = &text[start..self.range.end];
        let louder = secrecy(spoken, names::NameStyle::Spoken).filter(|_| start < self.range.start);
        louder.map(|louder| (spoken, louder)).or_else(|| level.map(|level| (written, level)))
    }

    /// True when nothing but signs stands before it in its line.
    pub(super) fn begins_line(&self, text: &str) -> bool {
        let before = &text[..self.range.start];
        let signs = [' ', '\t', '-', '+', '>', '#', '"', '\'', '*', '`', ';', '$', '|'];
        let near = &before[before.floor_char_boundary(before.len().saturating_sub(40))..];
        let rest = near.trim_end_matches(signs);
        rest.is_empty() && near.len() == before.len() || rest.ends_with('\n')
    }
}
