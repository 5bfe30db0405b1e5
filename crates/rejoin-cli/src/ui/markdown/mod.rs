//! Markdown as it arrives: shown once, in order, and never drawn again.
//!
//! The text goes through four steps, a character at a time: it is made inert, cut into lines that are headings, items,
//! code and so on, freed from the marks of emphasis and links, and wrapped. Each step holds back only what it cannot
//! decide yet, so what is shown does not depend on how the text was cut into pieces.

mod block;
mod inert;
mod inline;
mod line;
mod spread;
mod table;

use self::block::Blocks;
use self::inert::Inert;

/// A text in Markdown on its way to a terminal with colours.
#[derive(Debug)]
pub(crate) struct Markdown {
    inert: Inert,
    blocks: Blocks,
}

impl Markdown {
    pub(crate) fn new() -> Self {
        Self { inert: Inert::default(), blocks: Blocks::default() }
    }

    /// Takes more of the text and returns what can be shown of it by now, on a screen of so many columns.
    pub(crate) fn push(&mut self, text: &str, columns: usize) -> String {
        self.blocks.set_columns(columns);
        for character in text.chars() {
            self.inert.push(character, &mut |safe| self.blocks.push(safe));
        }
        self.blocks.take_output()
    }

    /// Returns the rest. A line is complete then; the next text begins anew.
    pub(crate) fn finish(&mut self, columns: usize) -> String {
        self.blocks.set_columns(columns);
        self.inert.finish(&mut |safe| self.blocks.push(safe));
        self.blocks.finish();
        let rest = self.blocks.take_output();
        *self = Self::new();
        rest
    }

    /// True when nothing stands on the current line of the screen.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        self.blocks.is_at_line_start()
    }
}

#[cfg(test)]
mod tests;
