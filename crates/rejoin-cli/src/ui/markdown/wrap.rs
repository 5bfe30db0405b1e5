//! Words spread over lines: wrapped at the width the screen has when they are shown.
//!
//! A word that is wider than the screen is not cut: the terminal goes on in the next row by itself, and what
//! is copied from there, such as an address, stays whole.

use anstyle::{Effects, Style};

use crate::ui::fit;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextLook(Effects);

impl TextLook {
    pub(super) const PLAIN: Self = Self(Effects::new());
    pub(super) const STRONG: Self = Self(Effects::BOLD);
    pub(super) const EMPHASIS: Self = Self(Effects::ITALIC);
    pub(super) const STRUCK: Self = Self(Effects::STRIKETHROUGH);
    pub(super) const LINK: Self = Self(Effects::UNDERLINE);
    pub(super) const DIM: Self = Self(Effects::DIMMED);
    /// Text set apart as code. The colour is added where it is drawn.
    pub(super) const CODE: Self = Self(Effects::HIDDEN);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0.insert(other.0))
    }

    fn style(self) -> Style {
        // Nothing is ever hidden, so the bit serves as the mark of code.
        let style = Style::new().effects(self.0.remove(Effects::HIDDEN));
        if self.0.contains(Effects::HIDDEN) {
            return style.fg_color(Some(anstyle::AnsiColor::Cyan.into()));
        }
        style
    }
}

/// Words on their way to lines.
#[derive(Debug)]
pub(super) struct Spread {
    out: String,
    columns: usize,
    column: usize,
    /// What a line that goes on begins with, and how wide that is.
    margin: String,
    margin_width: usize,
    /// The word that has not ended.
    word: Vec<(TextLook, String)>,
    has_space: bool,
    look: TextLook,
    looks: Looks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Shown,
    LeftOut,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            out: String::new(),
            columns: usize::MAX,
            column: 0,
            margin: String::new(),
            margin_width: 0,
            word: Vec::new(),
            has_space: false,
            look: TextLook::PLAIN,
            looks: Looks::Shown,
        }
    }
}

impl Spread {
    /// Words without any look, to be measured.
    pub(super) fn without_looks() -> Self {
        Self { looks: Looks::LeftOut, ..Self::default() }
    }

    pub(super) const fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn put(&mut self, shown: String) {
        self.out = shown;
    }

    pub(super) fn take_output(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub(super) const fn is_at_line_start(&self) -> bool {
        self.column == 0
    }

    /// Begins a line with a quoting bar for each level, then a mark; lines that go on are indented as far.
    pub(super) fn begin(&mut self, quotes: usize, mark: &str) {
        let bars = "│ ".repeat(quotes);
        let dim = TextLook::DIM.style();
        let painted = if quotes == 0 { String::new() } else { format!("{dim}{bars}{dim:#}") };
        self.out += &painted;
        self.out += mark;
        let indentation = fit::width(mark);
        self.margin = format!("{painted}{}", " ".repeat(indentation));
        self.margin_width = 2 * quotes + indentation;
        self.column = self.margin_width;
        self.has_space = false;
    }

    /// Adds a character to the line. White space ends a word.
    pub(super) fn push(&mut self, character: char, look: TextLook) {
        if character.is_whitespace() {
            self.end_word();
            self.has_space = self.column > self.margin_width;
            return;
        }
        let breaks_before = self.word.last().and_then(|(_, text)| text.chars().next_back());
        let is_mark = unicode_width::UnicodeWidthChar::width(character) == Some(0);
        if breaks_before.is_some_and(is_ideograph) && !is_mark && !is_closing(character) {
            self.end_word();
        }
        match self.word.last_mut() {
            Some((own, text)) if *own == look => text.push(character),
            _ => self.word.push((look, character.to_string())),
        }
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) {
        self.end_word();
        self.break_line();
    }

    /// A line that is drawn as it is, such as one of code. It must be clean.
    pub(super) fn whole_line(&mut self, quotes: usize, text: &str, look: TextLook) {
        self.begin(quotes, "");
        self.change(look);
        self.out += text.trim_end();
        self.break_line();
    }

    pub(super) fn blank_line(&mut self) {
        self.out.push('\n');
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let width: usize = word.iter().map(|(_, text)| fit::width(text)).sum();
        let gap = usize::from(self.has_space);
        let is_fresh = self.column <= self.margin_width;
        if !is_fresh && self.column + gap + width > self.columns {
            self.break_line();
            self.out += &self.margin;
            self.column = self.margin_width;
        } else if self.has_space {
            // A gap between two words of one look has that look, so that a line under them goes through.
            if word.first().is_none_or(|(look, _)| *look != self.look) {
                self.change(TextLook::PLAIN);
            }
            self.out.push(' ');
            self.column += 1;
        }
        self.has_space = false;
        for (look, text) in word {
            self.change(look);
            self.out += &text;
        }
        self.column += width;
    }

    fn break_line(&mut self) {
        self.change(TextLook::PLAIN);
        self.out.push('\n');
        self.column = 0;
        self.has_space = false;
    }

    fn change(&mut self, look: TextLook) {
        if look == self.look || self.looks == Looks::LeftOut {
            return;
        }
        let (old, new) = (self.look.style(), look.style());
        self.out += &format!("{old:#}{new}");
        self.look = look;
    }
}

/// Scripts that are written without spaces: a line may break after each character.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}')
        || matches!(character, '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Marks that may not stand at the beginning of a line.
fn is_closing(character: char) -> bool {
    "、。，．：；！？）」』】〕〉》ー,.:;!?)]}".contains(character)
}
