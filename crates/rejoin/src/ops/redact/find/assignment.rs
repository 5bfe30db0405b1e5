//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `<password>…`.

use std::ops::Range;

use crate::ops::redact::find::judge::{Form, judge};
use crate::ops::redact::find::names::{self, Secrecy, secrecy};
use crate::ops::redact::find::{Found, Rule, Weight, columns, line_before, printed, said, within};

/// A name is looked at so far to each side.
const NAME_BYTES: usize = 64;

/// The longest password with signs in it that end other values.
const PASSWORD_BYTES: usize = 300;

/// The longest value that is one.
const VALUE_BYTES: usize = 8 << 10;

/// So much may stand between a name and its sign, as in `Secret Access Key [None]:`.
const ASIDE_BYTES: usize = 24;

/// A command that sets a name is no longer before it.
const SETTER_BYTES: usize = 200;

/// What stands before a name in commands that set it.
const SETTERS: [&str; 9] = ["-gx", "-x", "-Ux", "ENV", "ARG", "setenv", "setx", "set", "put"];

/// What stands between a name and its value in commands that set it.
const BODIES: [&str; 4] = ["--body ", "-b ", "--value ", "--data "];

/// Finds assignments, each once however many words of its name are anchors.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    /// The end of the name that was looked at last.
    seen: usize,
}

impl Assignment {
    /// The secret values of the name that `at` is in.
    pub(super) fn at(&mut self, text: &str, at: usize, found: &mut Vec<Found>) {
        if at < self.seen {
            return;
        }
        let name = Name::around(text, at);
        self.seen = name.range.end;
        if !is_suspicious(text.as_bytes(), name.range.end) {
            return;
        }
        let (words, level) = match secrecy(name.text(text), names::Name::Written) {
            Some(level @ (Secrecy::Password | Secrecy::Key)) => (name.text(text), Some(level)),
            level => {
                let spoken = name.spoken(text);
                let is_longer = spoken.len() > name.range.len();
                let louder = if is_longer { secrecy(spoken, names::Name::Spoken) } else { None };
                louder.map_or((name.text(text), level), |louder| (spoken, Some(louder)))
            }
        };
        let Some(level) = level else { return };
        let is_spoken = words.contains(' ');
        let rule = |value: &Value| {
            let form = if is_spoken && value.form == Form::Line { Form::Said } else { value.form };
            judge(words, level, &text[value.range.clone()], form)
        };
        let one = name.value(text).and_then(|value| rule(&value).map(|rule| (value.range, rule)));
        let one = one
            .or_else(|| said::after(text, name.range.end, words, level))
            .or_else(|| printed::below(text, name.range.end, words, level));
        match one {
            Some((range, rule)) => found.push(Found { range, rule, weight: Weight::Assignment }),
            None => columns::below(text, &name.range, words, level, found),
        }
    }
}

/// The rule for a value in JSON that has this name.
pub(super) fn named(name: &str, value: &str) -> Option<Rule> {
    let name = &name[name.floor_char_boundary(name.len().saturating_sub(NAME_BYTES))..];
    let level = secrecy(name, names::Name::Written).or_else(|| secrecy(name, names::Name::Spoken))?;
    judge(name, level, value, Form::Quoted)
}

/// Where the last line begins to be secret whose value has not come to its end; `at` is in that line.
pub(super) fn unfinished(text: &str, at: usize) -> Option<usize> {
    let name = Name::around(text, at);
    let rest = &text[name.range.end..];
    secrecy(name.text(text), names::Name::Written)
        .or_else(|| secrecy(name.spoken(text), names::Name::Spoken))?;
    let next = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ' ', '\t']);
    let is_assigned = name.is_flag
        || next.is_empty()
        || next.starts_with(['=', ':', '>', ',', '|', '('])
        || rest.starts_with(" '")
        || rest.starts_with(" \"")
        || rest.starts_with(" [")
        || rest.starts_with(" (");
    if is_assigned { Some(name.range.start) } else { said::unfinished(text, name.range.end) }
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
        Some(b'=' | b':' | b'>' | b'|' | b'[' | b'(') => true,
        // `name: X`, and `value: Y` in the next line.
        Some(b',' | b'\n' | b'n') if near.windows(5).any(|word| word == b"value") => true,
        _ => near.iter().any(is_telling),
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
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
    form: Form,
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

    /// The name with the two words before it, as in `Secret Access Key`.
    fn spoken<'t>(&self, text: &'t str) -> &'t str {
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
        &text[start..self.range.end]
    }

    /// The value that is assigned to it, if one is.
    fn value(&self, text: &str) -> Option<Value> {
        let bytes = text.as_bytes();
        let end = self.range.end + aside(&text[self.range.end..]);
        let is_between = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']' | b' ' | b'\t' | b'*');
        let gap = bytes[end..].iter().take(24).take_while(|byte| is_between(byte)).count();
        let mut at = end + gap;
        let mut is_compared = false;
        let is_listed = bytes.get(at) == Some(&b',');
        let is_element = self.range.start > 0 && bytes[self.range.start - 1] == b'<';
        match bytes.get(at) {
            Some(b'=') => {
                at += 1;
                let is_variable = gap == 0 && (self.is_variable(text) || self.is_option(text));
                is_compared = bytes.get(at) == Some(&b'=');
                at += bytes[at..].iter().take_while(|byte| matches!(byte, b'=' | b'>' | b'~')).count();
                if is_variable && bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    return variable(text, at);
                }
            }
            Some(b':') if bytes.get(at + 1) == Some(&b':') => return None,
            // The port of a host.
            Some(b':') if text[..self.range.start].ends_with("//") => return None,
            Some(b':') => {
                at += 1 + usize::from(bytes.get(at + 1) == Some(&b'='));
                at += annotation(&text[at..]);
                if let Some(value) = on_next_line(text, at) {
                    return Some(value);
                }
            }
            Some(b'>') if is_element && gap == 0 => {
                let rest = line_of(text, at + 1);
                let length = rest.find('<')?;
                return Some(Value { range: at + 1..at + 1 + length, form: Form::Quoted });
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
            Some(b',') if self.begins_line(text) => return cell(text, at + 1, [',', ';']),
            Some(b'|') => return cell(text, at + 1, ['|', '|']),
            Some(b'(') if gap == 0 && matches!(bytes.get(at + 1), Some(b'"' | b'\'' | b'\\')) => {
                let value = value_at(text, at + 1).filter(|value| value.form == Form::Quoted)?;
                let form = if self.sets(text) { Form::Quoted } else { Form::Call };
                return Some(Value { form, ..value });
            }
            Some(b')') if gap > 0 => return typed(text, at),
            Some(b'\n') if gap == 0 => at += pair(&text[at..]).checked_sub(1)? + 1,
            _ if gap == 0 => return None,
            _ if pair(&text[at..]) > 0 => at += pair(&text[at..]),
            _ if bytes[end].is_ascii_whitespace() => return self.beside(text, end, at),
            _ => return None,
        }
        at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'*')).count();
        let value = value_at(text, at)?;
        // The next name of an object is no value of this one.
        if is_listed && text[value.range.end..].trim_start_matches(['\\', '"']).starts_with(':') {
            return None;
        }
        Some(match value.form {
            Form::Bare if self.begins_line(text) => whole_line(text, value),
            Form::Quoted if is_compared => Value { form: Form::Call, ..value },
            _ => value,
        })
    }

    /// The value that stands beside it with nothing but a space between.
    fn beside(&self, text: &str, end: usize, at: usize) -> Option<Value> {
        let gap = &text[end..at];
        if let Some(quote) = gap.find(['"', '\'', '`']) {
            let value = value_at(text, end + quote).filter(|value| value.form == Form::Quoted)?;
            return Some(Value { form: Form::Call, ..value });
        }
        // `var name string = "value"`
        let word = line_of(text, at).split(' ').next().unwrap_or_default();
        let typed = at + word.len();
        if text[typed..].starts_with(" = \"") {
            return value_at(text, typed + " = ".len());
        }
        if let Some(flag) = BODIES.iter().find(|flag| text[at..].starts_with(**flag)) {
            return value_at(text, at + flag.len());
        }
        let value = bare(text, at, Form::Bare)?;
        let line = line_before(text, self.range.start, SETTER_BYTES);
        let is_set = line.len() < SETTER_BYTES && line.split([' ', '\t']).any(|word| SETTERS.contains(&word));
        let is_last = line_of(text, value.range.end).trim_end_matches(['"', '\'']).trim().is_empty();
        let is_row = self.begins_line(text) && is_last;
        match () {
            () if is_set && is_last => Some(Value { form: Form::Line, ..value }),
            () if self.is_flag || self.is_login(text) => Some(value),
            () if is_row => Some(Value { form: Form::Said, ..value }),
            () => None,
        }
    }

    /// True for what is given to a command or an address: `--name=value`, `--set name=value`, `?name=value`.
    fn is_option(&self, text: &str) -> bool {
        let before = &text[..self.range.start];
        let is_after_flag = || {
            let word = before
                .trim_end_matches(['"', '\''])
                .strip_suffix(' ')
                .and_then(|rest| rest.rsplit([' ', '\n']).next());
            word.is_some_and(|word| word.len() >= 2 && word.starts_with('-'))
        };
        self.is_flag || before.ends_with(['?', '&']) || is_after_flag()
    }

    /// True for the word in `login ada password …`, as a file of logins has it.
    fn is_login(&self, text: &str) -> bool {
        let mut words = text[..self.range.start].split_whitespace().rev();
        self.text(text) == "password" && words.nth(1) == Some("login")
    }

    /// True for what sets the value that it is called with.
    fn sets(&self, text: &str) -> bool {
        let word = self.text(text).rsplit('.').next().unwrap_or_default();
        let is_own = self.text(text).starts_with('.') && word.eq_ignore_ascii_case("password");
        is_own || ["set", "with"].iter().any(|lead| word.starts_with(lead))
    }

    /// True when nothing but signs stands before it in its line.
    fn begins_line(&self, text: &str) -> bool {
        let before = &text.as_bytes()[..self.range.start];
        let is_sign = |byte: &&u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'-' | b'+' | b'>' | b'#' | b'"' | b'\'' | b'*' | b'`' | b';' | b'$' | b'|'
            )
        };
        let signs = before.iter().rev().take(40).take_while(is_sign).count();
        before.len() == signs || before[before.len() - signs - 1] == b'\n'
    }

    /// True for the name of a variable of a shell.
    fn is_variable(&self, text: &str) -> bool {
        let name = self.text(text);
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

/// How much of a text is a remark in brackets before the sign: ` [None]`, ` (shown once)`.
fn aside(text: &str) -> usize {
    if !text.starts_with(" [") && !text.starts_with(" (") {
        return 0;
    }
    let end = text.bytes().take(ASIDE_BYTES).position(|byte| matches!(byte, b']' | b')'));
    end.filter(|end| text[end + 1..].starts_with([':', '='])).map_or(0, |end| end + 1)
}

/// The only word of the next line that has any, when nothing else stands in this one.
fn on_next_line(text: &str, at: usize) -> Option<Value> {
    let rest = &text[at..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '*', '\n', '`', '>']).len();
    let lines = rest[..blank].matches('\n').count();
    if !(1..=3).contains(&lines) {
        return None;
    }
    let begin = at + blank;
    let line = line_of(text, begin).trim_end().trim_end_matches(['`', '*']);
    (!line.is_empty() && !line.contains(char::is_whitespace) && !line.ends_with([':', ',', '{', ';']))
        .then(|| Value { range: begin..begin + line.len(), form: Form::Said })
}

/// What is written into a field that was found by its name: `get("#password").type("…")`.
fn typed(text: &str, at: usize) -> Option<Value> {
    let rest = text[at..].strip_prefix(").")?;
    let length = rest.bytes().take_while(|byte| is_of_name(*byte)).count();
    rest[length..].strip_prefix('(')?;
    let begin = at + ").".len() + length + 1;
    let value = value_at(text, begin).filter(|value| value.form == Form::Quoted)?;
    Some(Value { form: Form::Call, ..value })
}

/// What stands in a cell of a table that begins at `at`.
fn cell(text: &str, at: usize, ends: [char; 2]) -> Option<Value> {
    let line = line_of(text, at);
    let cell = &line[..line.find(ends).unwrap_or(line.len())];
    let is_edge = |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '*');
    let begin = at + cell.len() - cell.trim_start_matches(is_edge).len();
    let value = cell.trim_matches(is_edge);
    (!value.is_empty() && !value.contains(' '))
        .then(|| Value { range: begin..begin + value.len(), form: Form::Said })
}

/// The value with everything up to the end of its line, when that is one word.
fn whole_line(text: &str, value: Value) -> Value {
    let line = line_of(text, value.range.start);
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    let rest = line[word.len()..].trim_start();
    let is_whole = (rest.is_empty() || rest.starts_with('#') || rest.starts_with("//"))
        && !word.ends_with([',', ';', '{', '(', '['])
        && !word.contains(['"', '`', '\\', '<', '>', '}']);
    if is_whole {
        Value { range: value.range.start..value.range.start + word.len(), form: Form::Line }
    } else {
        value
    }
}

/// How much of a text says the type of a value: ` str = `.
fn annotation(text: &str) -> usize {
    let is_of_type = |letter: char| {
        letter.is_ascii_alphabetic()
            || matches!(letter, ' ' | '&' | '<' | '>' | '[' | ']' | '.' | '\'' | '?' | '|')
    };
    let length = text.bytes().take(40).take_while(|byte| is_of_type(char::from(*byte))).count();
    // What ends in the sign is a value in base64.
    let is_followed = text[length..].strip_prefix('=').is_some_and(|rest| rest.starts_with([' ', '"', '\'']));
    let is_type = is_followed && text[..length].trim().len() >= 3;
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
            return Some(Value { range: first..first + length, form: Form::Quoted });
        }
        return bare(text, first, Form::Bare);
    }
    if let Some(length) = phrase(line_of(text, begin)) {
        return Some(Value { range: begin..begin + length, form: Form::Quoted });
    }
    bare(text, begin, Form::Bare)
}

/// How long the words are that a line consists of, when a program makes such words: four times four letters, or a dozen words
/// and more.
fn phrase(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let is_word =
        |word: &str| (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase());
    // What stands in one line may be long, and its first words tell.
    let is_phrase = line.split(' ').all(is_word)
        && match line.split(' ').count() {
            4 => line.split(' ').all(|word| word.len() == 4),
            count => count >= 12,
        };
    is_phrase.then_some(line.len())
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

fn bare(text: &str, begin: usize, form: Form) -> Option<Value> {
    let line = line_of(text, begin);
    let is_end = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '"' | '\'' | '`' | ',' | ';' | '}' | ']' | '<' | '>' | '|' | '&' | '\\')
    };
    let value = &line[..line.find(is_end).unwrap_or(line.len())];
    let value = value.trim_end_matches(['.', ')']);
    (!value.is_empty()).then(|| Value { range: begin..begin + value.len(), form })
}

/// The value of a variable of a shell, or of a line in a file of them.
fn variable(text: &str, at: usize) -> Option<Value> {
    // What stands in backticks is a command.
    let value = value_at(text, at).filter(|_| !text[at..].starts_with('`'))?;
    if value.form == Form::Quoted {
        return Some(Value { form: Form::Variable, ..value });
    }
    let line = line_of(text, at);
    // A query or a list goes on after its sign.
    let is_long = value.range.len() >= 8;
    let is_end = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '"' | '\'' | '`' | '\\')
            || is_long && matches!(letter, '&' | ';')
    };
    let near = if is_long { line } else { within(line, 0, PASSWORD_BYTES) };
    let stop = near.find(is_end).unwrap_or(near.len());
    (stop > 0).then(|| Value { range: at..at + stop, form: Form::Variable })
}

/// The rest of a line, within bounds.
fn line_of(text: &str, at: usize) -> &str {
    let near = within(text, at, VALUE_BYTES);
    &near[..memchr::memchr2(b'\n', b'\r', near.as_bytes()).unwrap_or(near.len())]
}
