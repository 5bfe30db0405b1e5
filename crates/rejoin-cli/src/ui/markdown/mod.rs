//! Markdown as it arrives: shown once, in order, and never drawn again.
//!
//! The text goes through four steps, a character at a time: it is made inert, cut into lines that are
//! headings, items, code and so on, freed from the marks of emphasis and links, and wrapped. Each step holds
//! back only what it cannot decide yet, so what is shown does not depend on how the text was cut into pieces.

mod block;
mod inert;
mod inline;
mod line;
mod table;
mod wrap;

use self::block::Blocks;
use self::inert::InertText;
use self::wrap::TextLook;
use crate::ui::paint::Paint;

/// A text in Markdown on its way to a terminal.
#[derive(Debug)]
pub(crate) struct Markdown {
    inert: InertText,
    drawing: MarkdownDrawing,
}

#[derive(Debug)]
enum MarkdownDrawing {
    Drawn(Box<Blocks>, TextLook),
    /// As it was written, for those who see no difference between bold and plain.
    Written {
        out: String,
        is_in_line: bool,
    },
}

impl Markdown {
    /// The text drawn with looks, or as it was written where there is no colour.
    pub(crate) fn new(paint: Paint) -> Self {
        Self::with_look(paint, TextLook::PLAIN)
    }

    /// The same, less important than what stands around it.
    pub(crate) fn dim(paint: Paint) -> Self {
        Self::with_look(paint, TextLook::DIM)
    }

    fn with_look(paint: Paint, look: TextLook) -> Self {
        let drawing = match paint {
            Paint::Colored => MarkdownDrawing::Drawn(Box::new(Blocks::new(look)), look),
            Paint::Plain => MarkdownDrawing::Written { out: String::new(), is_in_line: false },
        };
        Self { inert: InertText::default(), drawing }
    }

    /// Takes more of the text and returns what can be shown of it by now, on a screen of so many columns.
    pub(crate) fn push(&mut self, text: &str, columns: usize) -> String {
        self.drawing.set_columns(columns);
        for character in text.chars() {
            self.inert.push(character, &mut |safe| self.drawing.push(safe));
        }
        self.drawing.take_output()
    }

    /// Returns the rest. The line is complete then; the next text begins anew.
    pub(crate) fn finish(&mut self, columns: usize) -> String {
        self.drawing.set_columns(columns);
        self.inert.finish(&mut |safe| self.drawing.push(safe));
        self.drawing.finish();
        self.drawing.take_output()
    }

    /// True when nothing stands on the current line of the screen.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        match &self.drawing {
            MarkdownDrawing::Drawn(blocks, _) => blocks.is_at_line_start(),
            MarkdownDrawing::Written { is_in_line, .. } => !*is_in_line,
        }
    }
}

impl MarkdownDrawing {
    fn set_columns(&mut self, columns: usize) {
        if let Self::Drawn(blocks, _) = self {
            blocks.set_columns(columns);
        }
    }

    fn push(&mut self, character: char) {
        match self {
            Self::Drawn(blocks, _) => blocks.push(character),
            Self::Written { out, is_in_line } => {
                out.push(character);
                *is_in_line = character != '\n';
            }
        }
    }

    fn finish(&mut self) {
        match self {
            Self::Drawn(blocks, look) => {
                blocks.finish();
                let rest = blocks.take_output();
                **blocks = Blocks::new(*look).after(rest);
            }
            Self::Written { out, is_in_line } => {
                if *is_in_line {
                    out.push('\n');
                }
                *is_in_line = false;
            }
        }
    }

    fn take_output(&mut self) -> String {
        match self {
            Self::Drawn(blocks, _) => blocks.take_output(),
            Self::Written { out, .. } => std::mem::take(out),
        }
    }
}

#[cfg(test)]
mod tests;
