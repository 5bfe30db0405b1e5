//! Rows of labelled columns: a table where it fits, one block per row where it does not.
//!
//! Cells are cleaned on the way in, so stored text cannot break the rows. No cell is cut, except in a column
//! that asked to shrink.

use super::{
    clean, fit,
    paint::{Meaning, Paint},
};

/// Spaces between two columns: one would be lost among the spaces of the text.
const GAP: usize = 2;

/// The least room for a value beside its label; below that, the value goes under it.
const NARROWEST_VALUE: usize = 16;

/// One column: its label, how it is aligned, what it means and whether it may be cut.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    label: &'static str,
    alignment: Alignment,
    meaning: Meaning,
    shrinks_to: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Alignment {
    Left,
    Right,
}

impl Column {
    /// A column of text.
    pub(crate) fn text(label: &'static str) -> Self {
        Self { label, alignment: Alignment::Left, meaning: Meaning::Plain, shrinks_to: None }
    }

    /// A column of numbers, aligned to the right.
    pub(crate) fn number(label: &'static str) -> Self {
        Self { alignment: Alignment::Right, ..Self::text(label) }
    }

    /// Paints the cells by this meaning.
    pub(crate) fn meaning(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// Lets the cells be cut down to this many columns when the table would not fit otherwise.
    pub(crate) fn shrinks_to(self, columns: usize) -> Self {
        Self { shrinks_to: Some(columns), ..self }
    }
}

/// Rows to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    columns: [Column; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// Starts a table without rows.
    pub(crate) fn new(columns: [Column; COLUMNS]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; an empty cell means that there is nothing to tell.
    pub(crate) fn push(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells.map(|cell| clean::line(&cell)));
    }

    /// Draws the rows, each line ending with a newline. No rows draw nothing.
    ///
    /// `screen` is the width of the terminal; without one, the table is as wide as it needs to be.
    pub(crate) fn draw(&self, screen: Option<usize>, paint: Paint) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        match self.widths(screen) {
            Some(widths) => self.draw_table(widths, paint),
            None => self.draw_blocks(screen.unwrap_or(usize::MAX), paint),
        }
    }

    /// Returns the width of each column, or `None` if the table cannot be made to fit.
    fn widths(&self, screen: Option<usize>) -> Option<[usize; COLUMNS]> {
        let mut widths = std::array::from_fn(|index| {
            let cells = self.rows.iter().map(|row| fit::width(&row[index]));
            cells.chain([fit::width(self.columns[index].label)]).max().unwrap_or(0)
        });
        let Some(screen) = screen else {
            return Some(widths);
        };

        let mut excess =
            (widths.iter().sum::<usize>() + GAP * COLUMNS.saturating_sub(1)).saturating_sub(screen);
        // The widest column that may shrink gives way step by step, so long cells are cut before short ones.
        while excess > 0 {
            let spare = |index: usize| {
                let least = self.columns[index].shrinks_to.unwrap_or(usize::MAX);
                widths[index].saturating_sub(least.max(fit::width(self.columns[index].label)))
            };
            let widest = (0..COLUMNS).filter(|&index| spare(index) > 0).max_by_key(|&index| widths[index])?;
            widths[widest] -= 1;
            excess -= 1;
        }
        Some(widths)
    }

    fn draw_table(&self, widths: [usize; COLUMNS], paint: Paint) -> String {
        let labels = std::array::from_fn(|index| self.columns[index].label.to_owned());
        let mut drawn = self.draw_row(&labels, widths, |_| Meaning::Dim, paint);
        for row in &self.rows {
            drawn += &self.draw_row(row, widths, |index| self.columns[index].meaning, paint);
        }
        drawn
    }

    fn draw_row(
        &self,
        cells: &[String; COLUMNS],
        widths: [usize; COLUMNS],
        meaning: impl Fn(usize) -> Meaning,
        paint: Paint,
    ) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = fit::truncate(cell, width);
            let padding = " ".repeat(width - fit::width(&cell));
            let painted = paint.apply(meaning(index), &cell);
            if index > 0 {
                line += &" ".repeat(GAP);
            }
            line += &match self.columns[index].alignment {
                Alignment::Left => painted + &padding,
                Alignment::Right => padding + &painted,
            };
        }
        line.trim_end().to_owned() + "\n"
    }

    /// Draws one block per row, a label and its value on each line, blocks apart by an empty line.
    fn draw_blocks(&self, screen: usize, paint: Paint) -> String {
        let label_width = self.columns.iter().map(|column| fit::width(column.label)).max().unwrap_or(0);
        let beside = screen.saturating_sub(label_width + GAP);
        let (indentation, room) = if beside >= NARROWEST_VALUE {
            (label_width + GAP, beside)
        } else {
            (GAP, screen.saturating_sub(GAP).max(1))
        };

        let blocks = self.rows.iter().map(|row| {
            let mut block = String::new();
            for (column, cell) in self.columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let mut start = paint.apply(Meaning::Dim, &fit::pad_right(column.label, label_width));
                if indentation == GAP {
                    block += &format!("{}\n", paint.apply(Meaning::Dim, column.label));
                    start = String::new();
                }
                for line in fit::wrap(cell, room) {
                    let gap = if start.is_empty() { indentation } else { GAP };
                    block += &format!("{start}{}{}\n", " ".repeat(gap), paint.apply(column.meaning, &line));
                    start.clear();
                }
            }
            block
        });
        blocks.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<3> {
        let mut table = Table::new([
            Column::text("id").meaning(Meaning::Id),
            Column::text("title").shrinks_to(12),
            Column::number("messages"),
        ]);
        table.push(["a3f9c1".into(), "Where to eat in Lisbon".into(), "12".into()]);
        table.push(["77b0e2".into(), "日本語".into(), "1,204".into()]);
        table
    }

    #[test]
    fn a_wide_screen_shows_a_table_with_numbers_to_the_right() {
        let expected = "\
id      title                   messages
a3f9c1  Where to eat in Lisbon        12
77b0e2  日本語                     1,204
";

        assert_eq!(table().draw(Some(40), Paint::Plain), expected);
        assert_eq!(table().draw(None, Paint::Plain), expected);
    }

    #[test]
    fn a_column_that_may_shrink_is_cut_before_the_table_is_given_up() {
        let expected = "\
id      title         messages
a3f9c1  Where to...         12
77b0e2  日本語           1,204
";

        assert_eq!(table().draw(Some(30), Paint::Plain), expected);
    }

    #[test]
    fn a_narrow_screen_shows_a_block_for_each_row_and_cuts_nothing() {
        let expected = "\
id        a3f9c1
title     Where to eat in
          Lisbon
messages  12

id        77b0e2
title     日本語
messages  1,204
";

        assert_eq!(table().draw(Some(28), Paint::Plain), expected);
    }

    #[test]
    fn a_very_narrow_screen_puts_values_under_their_labels() {
        let mut table = Table::new([Column::text("last active"), Column::text("title")]);
        table.push(["yesterday".into(), "Where to eat".into()]);

        let expected = "last active\n  yesterday\ntitle\n  Where to\n  eat\n";
        assert_eq!(table.draw(Some(12), Paint::Plain), expected);
    }

    #[test]
    fn stored_text_cannot_break_a_row() {
        let mut table = Table::new([Column::text("id"), Column::text("title")]);
        table.push(["a".into(), "two\nlines\u{1b}[2J".into()]);
        table.push(["b".into(), String::new()]);

        assert_eq!(table.draw(Some(80), Paint::Plain), "id  title\na   two lines\nb\n");
        assert_eq!(table.draw(Some(8), Paint::Plain), "id\n  a\ntitle\n  two\n  lines\n\nid\n  b\n");
    }

    #[test]
    fn paint_does_not_move_columns() {
        let mut table = Table::new([Column::text("id").meaning(Meaning::Id), Column::number("size")]);
        table.push(["a3f".into(), "9".into()]);

        let expected = "\u{1b}[2mid\u{1b}[0m   \u{1b}[2msize\u{1b}[0m\n\u{1b}[33ma3f\u{1b}[0m     9\n";
        assert_eq!(table.draw(None, Paint::Colored), expected);
    }

    #[test]
    fn no_rows_draw_nothing() {
        assert_eq!(Table::new([Column::text("id")]).draw(None, Paint::Plain), "");
    }
}
