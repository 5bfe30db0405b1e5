//! Emphasis, code and links inside a line, without their marks.
//!
//! A mark is held back until its partner arrives. When it does not within a
//! bounded length, the mark was text.

use super::line::run;
use super::wrap::{Spread, TextLook};

/// Characters to wait for the partner of a mark.
const PATIENCE: usize = 400;

/// The text of one line on its way to words.
#[derive(Debug, Default)]
pub(super) struct Inline {
    look: TextLook,
    /// Begins with a mark, or is empty.
    held: String,
    before: Option<char>,
}

/// What becomes of the beginning of what is held.
#[derive(Debug, PartialEq, Eq)]
enum InlineStep {
    /// It depends on what follows.
    Wait,
    /// So many bytes are text.
    Literal(usize),
    /// So many bytes are a mark that makes the next character text.
    Escaped(usize),
    /// So many bytes are this text in this look, with marks of its own.
    Marked(usize, String, TextLook),
    /// So many bytes are code.
    Code(usize, String),
    /// So many bytes are a link.
    Link(usize, String, String),
}

impl Inline {
    pub(super) fn new(look: TextLook) -> Self {
        Self { look, ..Self::default() }
    }

    pub(super) fn push(&mut self, character: char, out: &mut Spread) {
        if self.held.is_empty() && !is_mark(character) {
            return self.show(character, self.look, out);
        }
        self.held.push(character);
        self.settle(false, out);
    }

    pub(super) fn finish(&mut self, out: &mut Spread) {
        self.settle(true, out);
        self.before = None;
    }

    fn settle(&mut self, is_end: bool, out: &mut Spread) {
        while let Some(first) = self.held.chars().next() {
            if !is_mark(first) {
                self.show(first, self.look, out);
                self.held.drain(..first.len_utf8());
                continue;
            }
            let is_over = is_end || self.held.chars().count() > PATIENCE;
            let taken = match step(&self.held, self.before, is_over) {
                InlineStep::Wait => return,
                InlineStep::Literal(bytes) => {
                    let text = self.held[..bytes].to_owned();
                    text.chars().for_each(|own| self.show(own, self.look, out));
                    bytes
                }
                InlineStep::Escaped(bytes) => {
                    let text = self.held[1..bytes].to_owned();
                    text.chars().for_each(|own| self.show(own, self.look, out));
                    bytes
                }
                InlineStep::Marked(bytes, text, look) => {
                    let mut inner =
                        Self { look: self.look.with(look), held: String::new(), before: self.before };
                    text.chars().for_each(|own| inner.push(own, out));
                    inner.settle(true, out);
                    self.before = inner.before;
                    bytes
                }
                InlineStep::Code(bytes, text) => {
                    text.chars().for_each(|own| self.show(own, self.look.with(TextLook::CODE), out));
                    bytes
                }
                InlineStep::Link(bytes, text, target) => {
                    self.link(&text, &target, out);
                    bytes
                }
            };
            self.held.drain(..taken);
        }
    }

    /// The text, and where it leads unless that is the same.
    fn link(&mut self, text: &str, target: &str, out: &mut Spread) {
        let mut inner =
            Self { look: self.look.with(TextLook::LINK), held: String::new(), before: self.before };
        text.chars().for_each(|own| inner.push(own, out));
        inner.settle(true, out);
        let is_told = text.is_empty() || text == target || target.strip_prefix("mailto:") == Some(text);
        if text.is_empty() {
            target.chars().for_each(|own| self.show(own, self.look.with(TextLook::LINK), out));
        }
        if !is_told {
            out.push(' ', self.look);
            let dim = self.look.with(TextLook::DIM);
            format!("({target})").chars().for_each(|own| out.push(own, dim));
        }
        self.before = Some(')');
    }

    fn show(&mut self, character: char, look: TextLook, out: &mut Spread) {
        out.push(character, look);
        self.before = Some(character);
    }
}

fn is_mark(character: char) -> bool {
    matches!(character, '\\' | '`' | '*' | '_' | '~' | '[' | '!' | '<')
}

fn step(held: &str, before: Option<char>, is_over: bool) -> InlineStep {
    let first = held.chars().next().unwrap_or_default();
    // What is undecided at the end was text.
    let unless_over = |step: InlineStep| if is_over { step } else { InlineStep::Wait };
    match first {
        '\\' => match held[1..].chars().next() {
            None => unless_over(InlineStep::Literal(1)),
            Some(next) if next.is_ascii_punctuation() => InlineStep::Escaped(1 + next.len_utf8()),
            Some(_) => InlineStep::Literal(1),
        },
        '`' => code(held, is_over),
        '*' | '_' | '~' => emphasis(held, first, before, is_over),
        '[' => link(held, is_over).unwrap_or(InlineStep::Literal(1)),
        '!' => match held[1..].chars().next() {
            None => unless_over(InlineStep::Literal(1)),
            Some('[') => match link(&held[1..], is_over) {
                Some(InlineStep::Link(bytes, text, target)) => InlineStep::Link(bytes + 1, text, target),
                Some(InlineStep::Wait) => InlineStep::Wait,
                _ => InlineStep::Literal(1),
            },
            Some(_) => InlineStep::Literal(1),
        },
        _ => address(held, is_over),
    }
}

fn code(held: &str, is_over: bool) -> InlineStep {
    let length = run(held, '`');
    let mut at = length;
    while let Some(found) = held[at..].find('`') {
        let start = at + found;
        let closing = run(&held[start..], '`');
        at = start + closing;
        if at == held.len() && !is_over {
            return InlineStep::Wait;
        }
        if closing == length {
            let inner = &held[length..start];
            let is_padded = inner.starts_with(' ') && inner.ends_with(' ') && !inner.trim().is_empty();
            let inner = if is_padded { &inner[1..inner.len() - 1] } else { inner };
            return InlineStep::Code(at, inner.to_owned());
        }
    }
    if is_over { InlineStep::Literal(length) } else { InlineStep::Wait }
}

fn emphasis(held: &str, mark: char, before: Option<char>, is_over: bool) -> InlineStep {
    let length = run(held, mark);
    if length == held.len() && !is_over {
        return InlineStep::Wait;
    }
    let look = match (mark, length) {
        ('~', 2) => TextLook::STRUCK,
        ('~', _) => return InlineStep::Literal(length),
        (_, 1) => TextLook::EMPHASIS,
        (_, 2) => TextLook::STRONG,
        (_, 3) => TextLook::STRONG.with(TextLook::EMPHASIS),
        _ => return InlineStep::Literal(length),
    };
    let is_inside_a_word = mark == '_' && before.is_some_and(char::is_alphanumeric);
    let is_opening = held[length..].chars().next().is_some_and(|next| !next.is_whitespace());
    if is_inside_a_word || !is_opening {
        return InlineStep::Literal(length);
    }
    let mut at = length;
    while let Some(found) = held[at..].find([mark, '`', '\\']) {
        let start = at + found;
        match held[start..].chars().next() {
            Some('\\') => at = (start + 2).min(held.len()),
            Some('`') => {
                let opening = run(&held[start..], '`');
                let fence = "`".repeat(opening);
                let after = start + opening;
                at = held[after..].find(&fence).map_or(after, |end| after + end + opening);
            }
            _ => {
                let closing = run(&held[start..], mark);
                at = start + closing;
                if at == held.len() && !is_over {
                    return InlineStep::Wait;
                }
                let is_after_text = !held[..start].ends_with(char::is_whitespace);
                let is_inside = mark == '_' && held[at..].starts_with(char::is_alphanumeric);
                if closing == length && is_after_text && !is_inside {
                    return InlineStep::Marked(at, held[length..start].to_owned(), look);
                }
            }
        }
        // An escape may have been cut in the middle of a character.
        while !held.is_char_boundary(at) {
            at += 1;
        }
    }
    if is_over { InlineStep::Literal(length) } else { InlineStep::Wait }
}

/// A link, nothing while it may become one, or none when it is not one.
fn link(held: &str, is_over: bool) -> Option<InlineStep> {
    let wait = if is_over { None } else { Some(InlineStep::Wait) };
    let Some(end) = closing(held, '[', ']') else { return wait };
    let text = &held[1..end];
    let rest = &held[end + 1..];
    match rest.chars().next() {
        None => wait,
        Some('(') => {
            let Some(close) = closing(rest, '(', ')') else { return wait };
            let target = rest[1..close].split_whitespace().next().unwrap_or_default();
            let target = target.trim_start_matches('<').trim_end_matches('>');
            Some(InlineStep::Link(end + 1 + close + 1, text.to_owned(), target.to_owned()))
        }
        Some(_) => None,
    }
}

/// Where the bracket that opens the text is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(place);
            }
        }
    }
    None
}

/// An address in angle brackets.
fn address(held: &str, is_over: bool) -> InlineStep {
    let inner = &held[1..];
    let is_text = |character: char| character.is_whitespace() || character == '<';
    match inner.find(|character: char| character == '>' || is_text(character)) {
        Some(end) if inner[end..].starts_with('>') => {
            let target = &inner[..end];
            if target.contains("://") || target.contains('@') {
                return InlineStep::Link(end + 2, String::new(), target.to_owned());
            }
            InlineStep::Literal(1)
        }
        Some(_) => InlineStep::Literal(1),
        None if is_over => InlineStep::Literal(1),
        None if !inner.is_empty() && !inner.starts_with(char::is_alphabetic) => InlineStep::Literal(1),
        None => InlineStep::Wait,
    }
}
