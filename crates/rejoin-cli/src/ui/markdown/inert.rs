//! Makes text inert while it arrives: a terminal sequence may be cut anywhere between two pieces.

use crate::ui::{clean, escape};

/// A sequence that has not ended after this many characters is none.
const LONGEST_SEQUENCE: usize = 4096;

/// Holds back characters that mean nothing, or something else, without those that follow.
#[derive(Debug, Default)]
pub(super) struct InertText {
    held: String,
}

impl InertText {
    /// Takes a character and passes on what is safe by now. Of control
    /// characters only `\n` and `\t` are passed on.
    pub(super) fn push(&mut self, character: char, pass: &mut impl FnMut(char)) {
        if !self.held.is_empty() && self.is_decided_before(character) {
            self.finish(pass);
        }
        let is_plain = matches!(character, ' '..='~' | '\n' | '\t');
        if self.held.is_empty() && is_plain {
            pass(character);
        } else {
            self.held.push(character);
        }
    }

    /// Passes on what was held back.
    pub(super) fn finish(&mut self, pass: &mut impl FnMut(char)) {
        clean::block(&self.held).chars().for_each(pass);
        self.held.clear();
    }

    /// True when the next character cannot change what the held ones are.
    fn is_decided_before(&self, next: char) -> bool {
        let last = self.held.chars().next_back();
        let joins = |character: char| {
            matches!(character, '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
                || unicode_width::UnicodeWidthChar::width(character) == Some(0)
        };
        let is_joined = joins(next) || last.is_some_and(joins);
        let is_line_end = last == Some('\r') && next == '\n';
        !is_joined && !is_line_end && !self.may_become_sequence(next)
    }

    /// True when a terminal sequence begins in what is held, has not ended, and
    /// could go on with the next character.
    fn may_become_sequence(&self, next: char) -> bool {
        let mut rest = self.held.as_str();
        while let Some(start) = rest.find(is_introducer) {
            rest = &rest[start..];
            if let Some(after) = escape::skip(rest) {
                rest = after;
            } else if is_open(rest, next) {
                return true;
            } else {
                rest = &rest[rest.chars().next().map_or(1, char::len_utf8)..];
            }
        }
        false
    }
}

fn is_introducer(character: char) -> bool {
    matches!(character, '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}')
}

/// True when an unfinished sequence could go on with the next character.
fn is_open(sequence: &str, next: char) -> bool {
    let mut characters = sequence.chars();
    let first = characters.next();
    let kind = if first == Some('\u{1b}') { characters.next() } else { first };
    let body = characters.as_str();
    match kind {
        None => matches!(next, ' '..='~'),
        Some('[' | '\u{9b}') => body.chars().all(|own| matches!(own, ' '..='?')) && matches!(next, ' '..='~'),
        Some(']' | 'P' | 'X' | '^' | '_' | '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => {
            is_open_string(body, next)
        }
        Some(' '..='/') => body.chars().all(|own| matches!(own, ' '..='/')) && matches!(next, ' '..='~'),
        Some(_) => false,
    }
}

fn is_open_string(body: &str, next: char) -> bool {
    if body.len() > LONGEST_SEQUENCE {
        return false;
    }
    match body.find(char::is_control) {
        None => !next.is_control() || matches!(next, '\u{7}' | '\u{1b}' | '\u{9c}'),
        Some(end) => &body[end..] == "\u{1b}" && next == '\\',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        let mut inert = InertText::default();
        text.chars().for_each(|character| inert.push(character, &mut |safe| out.push(safe)));
        inert.finish(&mut |safe| out.push(safe));
        out
    }

    #[test]
    fn text_that_arrives_in_pieces_is_cleaned_like_the_whole() {
        let texts = [
            "plain text",
            "a\u{1b}[31mred\u{1b}[0m b",
            "a\u{1b}]0;my own title\u{7}b",
            "a\u{1b}]52;c;cm0gLXJm\u{1b}\\b",
            "a\u{1b}P1$r0m x\u{1b}\\b",
            "a\u{1b}(Bb \u{1b}c d",
            "a\u{9b}2Jb\u{9d}0;title\u{9c}c",
            "lone \u{1b} escape, \u{1b}",
            "unfinished \u{1b}[31",
            "unfinished \u{1b}]0;title\nnext",
            "line\r\nline\rline",
            "family \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, flag \u{1f1f5}\u{1f1f9}, heart \u{2764}\u{fe0f}",
            "tas\u{ad}ca \u{202e}evil\u{202c} \u{200b}",
            "漢字かな 한국어",
            "\0\u{7}\u{8}",
        ];

        assert_eq!(texts.map(shown), texts.map(clean::block));
    }

    #[test]
    fn tabs_are_left_to_those_who_know_the_column() {
        assert_eq!(shown("a\tb"), "a\tb");
    }
}
