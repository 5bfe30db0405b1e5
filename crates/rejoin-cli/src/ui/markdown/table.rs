//! Tables: columns side by side where they fit, else a row as a list of names and values.

use super::inline::Inline;
use super::wrap::{Spread, TextLook};
use crate::ui::fit;

/// Between two columns.
const GAP: &str = "  ";

/// Shows the rows of a table. What has no line below its head is no table, and is shown as it was written.
pub(super) fn show(rows: &[String], quotes: usize, out: &mut Spread) {
    let mut cells: Vec<Vec<String>> = rows.iter().map(|row| split(row)).collect();
    let is_table = cells.get(1).is_some_and(|row| row.iter().all(|cell| is_delimiter(cell)));
    if !is_table {
        for row in rows {
            out.begin(quotes, "");
            text(row, TextLook::PLAIN, out);
            out.end_line();
        }
        return;
    }
    let head = cells.remove(0);
    cells.remove(0);
    let count = cells.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|place| {
            let column = cells.iter().chain([&head]).filter_map(|row| row.get(place));
            column.map(|cell| fit::width(&shown(cell))).max().unwrap_or(0)
        })
        .collect();
    let total = widths.iter().sum::<usize>() + GAP.len() * count.saturating_sub(1) + 2 * quotes;
    if total <= out.columns() {
        side_by_side(&head, &cells, &widths, quotes, out);
    } else {
        as_lists(&head, &cells, quotes, out);
    }
}

fn side_by_side(head: &[String], rows: &[Vec<String>], widths: &[usize], quotes: usize, out: &mut Spread) {
    let line = |row: &[String]| {
        let cells = widths.iter().enumerate().map(|(place, width)| {
            let cell = row.get(place).map(|cell| shown(cell)).unwrap_or_default();
            fit::pad_right(&cell, *width)
        });
        cells.collect::<Vec<_>>().join(GAP)
    };
    out.whole_line(quotes, &line(head), TextLook::STRONG);
    let below: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    out.whole_line(quotes, &below.join(GAP), TextLook::DIM);
    for row in rows {
        out.whole_line(quotes, &line(row), TextLook::PLAIN);
    }
}

fn as_lists(head: &[String], rows: &[Vec<String>], quotes: usize, out: &mut Spread) {
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            out.blank_line();
        }
        for (place, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            out.begin(quotes, "");
            let name = head.get(place).map(String::as_str).unwrap_or_default();
            if !name.is_empty() {
                text(name, TextLook::STRONG, out);
                text(": ", TextLook::STRONG, out);
            }
            text(cell, TextLook::PLAIN, out);
            out.end_line();
        }
    }
}

fn text(text: &str, look: TextLook, out: &mut Spread) {
    let mut inline = Inline::new(look);
    text.chars().for_each(|own| inline.push(own, out));
    inline.finish(out);
}

/// The cell as it reads, without marks and colours, so that columns can be aligned.
fn shown(cell: &str) -> String {
    let mut plain = Spread::without_looks();
    plain.begin(0, "");
    text(cell, TextLook::PLAIN, &mut plain);
    plain.end_line();
    plain.take_output().trim_end().to_owned()
}

/// The cells of a row. A bar after a backslash, or in code, is text.
fn split(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    let mut is_code = false;
    for character in row.chars() {
        if character == '|' && !is_escaped && !is_code {
            cells.push(String::new());
            continue;
        }
        let last = cells.last_mut().expect("there is always a last cell");
        if character == '|' && is_escaped {
            last.pop();
        }
        last.push(character);
        is_code ^= character == '`';
        is_escaped = character == '\\' && !is_escaped;
    }
    let mut cells: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
    if cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

fn is_delimiter(cell: &str) -> bool {
    cell.contains('-') && cell.chars().all(|own| own == '-' || own == ':')
}
