//! Lines made into blocks: headings, lists, quotations, code, tables, paragraphs.
//!
//! The author's line breaks stay; several blank lines become one.

use super::inline::Inline;
use super::line::{LineExtent, LineKind, MarkdownLine, classify, quoted, run};
use super::table;
use super::wrap::{Spread, TextLook};
use crate::ui::{clean, fit};

/// The frame of code is this wide: it still fits when the window becomes narrower.
const FRAME: usize = 40;

/// Rows of a table that are held to find the width of its columns; more are shown as they come.
const LONGEST_TABLE: usize = 500;

/// Lines on their way to blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// What has arrived of a line that is not known for what it is, or that is needed whole.
    held: String,
    state: BlockState,
    fence: Option<CodeFence>,
    rows: Vec<String>,
    /// The quotation that the held table stands in.
    row_quotes: usize,
    /// How far the items are indented in which the current line stands, outermost first.
    items: Vec<ListItem>,
    has_gap: bool,
    has_output: bool,
    /// What every piece of text looks like, beside its own look.
    look: TextLook,
    inline: Inline,
    spread: Spread,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BlockState {
    /// The line is not known for what it is.
    #[default]
    Unknown,
    /// The line is needed whole.
    Whole,
    /// The line flows.
    Flowing,
}

#[derive(Clone, Copy, Debug)]
struct CodeFence {
    mark: char,
    length: usize,
    indentation: usize,
    quotes: usize,
}

#[derive(Clone, Copy, Debug)]
struct ListItem {
    /// In the text.
    indentation: usize,
    /// Where its content stands on the screen.
    content: usize,
}

impl Blocks {
    pub(super) fn new(look: TextLook) -> Self {
        Self { look, ..Self::default() }
    }

    /// The same, behind something that was shown already.
    pub(super) fn after(mut self, shown: String) -> Self {
        self.spread.put(shown);
        self
    }

    pub(super) const fn set_columns(&mut self, columns: usize) {
        self.spread.set_columns(columns);
    }

    pub(super) fn take_output(&mut self) -> String {
        self.spread.take_output()
    }

    pub(super) const fn is_at_line_start(&self) -> bool {
        self.spread.is_at_line_start()
    }

    pub(super) fn push(&mut self, character: char) {
        match (self.state, character) {
            (BlockState::Flowing, '\n') => self.end_flowing(),
            (BlockState::Flowing, _) => self.inline.push(character, &mut self.spread),
            (BlockState::Unknown | BlockState::Whole, '\n') => self.end_held(),
            (BlockState::Whole, _) => self.held.push(character),
            (BlockState::Unknown, _) => {
                self.held.push(character);
                self.look_at_held();
            }
        }
    }

    /// Shows what was held, and closes what is open.
    pub(super) fn finish(&mut self) {
        match self.state {
            BlockState::Flowing => self.end_flowing(),
            BlockState::Unknown | BlockState::Whole if !self.held.is_empty() => self.end_held(),
            BlockState::Unknown | BlockState::Whole => {}
        }
        self.show_table();
        if let Some(fence) = self.fence.take() {
            self.rule(fence.quotes, "");
        }
    }

    /// Lets the line flow as soon as it is known for what it is.
    fn look_at_held(&mut self) {
        if self.fence.is_some() {
            self.state = BlockState::Whole;
            return;
        }
        let Some(line) = classify(&self.held, LineExtent::Beginning) else { return };
        match line.kind {
            LineKind::Fence { .. } | LineKind::Row | LineKind::Rule | LineKind::Blank => {
                self.state = BlockState::Whole;
            }
            LineKind::Indented if self.items.is_empty() => self.state = BlockState::Whole,
            LineKind::Heading { .. } | LineKind::Item { .. } | LineKind::Indented | LineKind::Text => {
                self.held.clear();
                self.state = BlockState::Flowing;
                self.begin(&line);
            }
        }
    }

    fn end_held(&mut self) {
        self.state = BlockState::Unknown;
        let held = std::mem::take(&mut self.held);
        if let Some(fence) = self.fence {
            return self.code(fence, &held);
        }
        let line = classify(&held, LineExtent::Whole).expect("a whole line is always something");
        match line.kind {
            LineKind::Blank if line.quotes > 0 => {
                self.open(&line);
                self.spread.whole_line(line.quotes, "", TextLook::PLAIN);
            }
            LineKind::Blank => {
                self.show_table();
                self.has_gap = true;
            }
            LineKind::Fence { mark, length } => {
                self.open(&line);
                self.rule(line.quotes, line.content.trim());
                let (indentation, quotes) = (line.indentation, line.quotes);
                self.fence = Some(CodeFence { mark, length, indentation, quotes });
            }
            LineKind::Row => {
                if self.rows.is_empty() {
                    self.open(&line);
                    self.row_quotes = line.quotes;
                }
                self.rows.push(line.content.trim_end().to_owned());
                if self.rows.len() >= LONGEST_TABLE {
                    self.show_table();
                }
            }
            LineKind::Rule => {
                self.open(&line);
                self.rule(line.quotes, "");
            }
            LineKind::Indented if self.items.is_empty() => {
                self.open(&line);
                let text = format!("{}{}", " ".repeat(line.indentation), line.content);
                self.spread.whole_line(line.quotes, &clean::block(&text), self.look.with(TextLook::CODE));
            }
            LineKind::Heading { .. } | LineKind::Item { .. } | LineKind::Indented | LineKind::Text => {
                self.begin(&line);
                self.end_flowing();
            }
        }
    }

    /// Begins a line that flows, with what is known of its content.
    fn begin(&mut self, line: &MarkdownLine) {
        self.open(line);
        let (mark, look) = match &line.kind {
            LineKind::Heading { level: 1 } => (String::new(), TextLook::STRONG.with(TextLook::LINK)),
            LineKind::Heading { .. } => (String::new(), TextLook::STRONG),
            LineKind::Item { mark } => (self.item(line.indentation, mark), TextLook::PLAIN),
            _ => (" ".repeat(self.items.last().map_or(0, |item| item.content)), TextLook::PLAIN),
        };
        self.spread.begin(line.quotes, &mark);
        self.inline = Inline::new(self.look.with(look));
        for character in line.content.chars() {
            self.inline.push(character, &mut self.spread);
        }
    }

    fn end_flowing(&mut self) {
        self.inline.finish(&mut self.spread);
        self.spread.end_line();
        self.state = BlockState::Unknown;
    }

    /// Makes room for a new line: ends a table and a list that it does not
    /// belong to, and adds the gap before it.
    fn open(&mut self, line: &MarkdownLine) {
        if line.kind != LineKind::Row {
            self.show_table();
        }
        let is_item = matches!(line.kind, LineKind::Item { .. });
        if !is_item && line.indentation < 2 {
            self.items.clear();
        }
        let wants_gap = self.has_gap || matches!(line.kind, LineKind::Heading { .. });
        if wants_gap && self.has_output {
            self.spread.blank_line();
        }
        self.has_gap = false;
        self.has_output = true;
    }

    /// Finds the place of an item in its list, and returns its mark with the indentation.
    fn item(&mut self, indentation: usize, mark: &str) -> String {
        while self.items.last().is_some_and(|item| item.indentation >= indentation.max(1)) {
            self.items.pop();
        }
        if indentation == 0 || self.items.last().is_some_and(|outer| indentation < outer.indentation + 2) {
            self.items.retain(|outer| outer.indentation + 2 <= indentation);
        }
        let start = self.items.last().map_or(0, |outer| outer.content);
        self.items.push(ListItem { indentation, content: start + fit::width(mark) });
        format!("{}{mark}", " ".repeat(start))
    }

    fn code(&mut self, fence: CodeFence, held: &str) {
        let mut text = held;
        if fence.quotes > 0 {
            text = quoted(held).1;
        }
        let closing = text.trim();
        if run(closing, fence.mark) >= fence.length && closing.chars().all(|own| own == fence.mark) {
            self.fence = None;
            return self.rule(fence.quotes, "");
        }
        let spaces = run(text, ' ').min(fence.indentation);
        self.spread.whole_line(fence.quotes, &clean::block(&text[spaces..]), self.look.with(TextLook::CODE));
    }

    /// A line across, with a name in it if it has one.
    fn rule(&mut self, quotes: usize, name: &str) {
        let room = FRAME.min(self.spread.columns()).saturating_sub(2 * quotes);
        let name = fit::truncate(&clean::line(name), room.saturating_sub(6));
        let begin = if name.is_empty() { String::new() } else { format!("── {name} ") };
        let line = "─".repeat(room.saturating_sub(fit::width(&begin)));
        self.spread.whole_line(quotes, &format!("{begin}{line}"), TextLook::DIM);
    }

    fn show_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            table::show(&rows, self.row_quotes, &mut self.spread);
        }
    }
}
