//! Shows what somebody is asked about page by page: the question comes after
//! the end, or says what was passed over.

use std::io::{self, Write};

use super::ConsentText;
use super::rows::{self, ConsentLine, ConsentRow};
use crate::ui::keyboard::{self, KeyPress};
use crate::ui::page::ScreenSize;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{fit, size};

/// The screen to draw for where no terminal says how large it is.
const USUAL: ScreenSize = ScreenSize { columns: 80, rows: 24 };

/// Clears the row of a prompt that was answered.
const CLEAR_ROW: &str = "\r\u{1b}[K";

/// Where somebody is shown something and answers.
pub(crate) struct ConsentDesk<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) paint: Paint,
    /// The size of the screen now: it may change at any time.
    pub(crate) screen: &'a dyn Fn() -> ScreenSize,
    /// Waits for a key.
    pub(crate) key: &'a mut dyn FnMut() -> KeyPress,
}

/// How far somebody was shown what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paged {
    /// To the end, except for so many rows.
    ToTheEnd { unseen: usize },
    /// Left before that, with this key, which is never a yes.
    Left(KeyPress),
}

/// Shows lines, leaving room for the question that follows, which depends on how many rows were not seen.
pub(crate) fn show(
    lines: &[ConsentLine],
    question: &dyn Fn(usize) -> String,
    desk: &mut ConsentDesk<'_>,
) -> io::Result<Paged> {
    let (mut next, mut unseen) = ((0, 0), 0);
    let (mut columns, mut rows) = (0, Vec::new());
    loop {
        let screen = (desk.screen)();
        if screen.columns != columns || rows.is_empty() {
            (columns, rows) = (screen.columns, rows::lay_out(lines, screen.columns, desk.paint));
        }
        // After a change of the width, a row may begin a little before what was shown already.
        let from = rows.iter().rposition(|row| row.place <= next).unwrap_or(0);
        let asked = fit::width(&question(rows.len())).div_ceil(screen.columns.max(1));
        let room = screen.rows.saturating_sub(asked).max(1);
        if rows.len() - from <= room {
            print(&rows[from..], desk)?;
            return Ok(Paged::ToTheEnd { unseen });
        }
        let to = from + screen.rows.saturating_sub(1).max(1);
        let to = to.min(rows.len() - 1);
        print(&rows[from..to], desk)?;
        match more(from, to, rows.len(), screen.columns, desk)? {
            PageTurn::On => next = rows[to].place,
            PageTurn::ToTheEnd => {
                let last = rows.len() - (room - 1).clamp(1, rows.len() - to);
                unseen += last - to;
                if last > to {
                    let count = size::count((last - to) as u64, "line", "lines");
                    let told = format!("... {count} not shown ...");
                    writeln!(desk.out, "{}", desk.paint.apply(Meaning::Warning, &told))?;
                }
                print(&rows[last..], desk)?;
                return Ok(Paged::ToTheEnd { unseen });
            }
            PageTurn::Away(key) => return Ok(Paged::Left(key)),
        }
    }
}

/// Shows a person at the terminal what a question to be answered with yes or no is about.
pub(crate) fn show_before(what: &[ConsentLine], question: &ConsentText) -> io::Result<Paged> {
    let asked = |unseen| format!("{} [y/N] ", about_unseen(question, unseen).text());
    let mut desk =
        ConsentDesk { out: &mut io::stderr(), paint: Paint::Plain, screen: &screen, key: &mut keyboard::key };
    show(what, &asked, &mut desk)
}

/// Where to go from the end of a page.
enum PageTurn {
    On,
    ToTheEnd,
    Away(KeyPress),
}

/// Waits at the end of a page that is not the last.
fn more(
    from: usize,
    to: usize,
    all: usize,
    columns: usize,
    desk: &mut ConsentDesk<'_>,
) -> io::Result<PageTurn> {
    let lines = format!("Lines {}-{to} of {all}", from + 1);
    let prompts = [
        format!("{lines}. Space: more, e: go to the end, n: no "),
        format!("{lines}. Space, e: end, n: no "),
        format!("{to}/{all} Space/e/n "),
    ];
    let fits = |prompt: &&String| fit::width(prompt) < columns;
    let prompt = prompts.iter().find(fits).unwrap_or(&prompts[2]);
    loop {
        write!(desk.out, "{}", desk.paint.apply(Meaning::Dim, prompt))?;
        desk.out.flush()?;
        let turn = match (desk.key)() {
            KeyPress::Space | KeyPress::Enter => Some(PageTurn::On),
            KeyPress::Letter('e') => Some(PageTurn::ToTheEnd),
            key @ (KeyPress::Letter('n' | 'v') | KeyPress::Interrupt | KeyPress::End) => {
                Some(PageTurn::Away(key))
            }
            // A yes to what was not shown is no yes.
            KeyPress::Letter(_) | KeyPress::Escape | KeyPress::Other => None,
        };
        match desk.paint {
            Paint::Colored => write!(desk.out, "{CLEAR_ROW}")?,
            Paint::Plain => writeln!(desk.out)?,
        }
        if let Some(turn) = turn {
            return Ok(turn);
        }
    }
}

fn print(rows: &[ConsentRow], desk: &mut ConsentDesk<'_>) -> io::Result<()> {
    rows.iter().try_for_each(|row| writeln!(desk.out, "{}", row.painted))
}

/// Prints lines where nobody is asked: no question follows that they could imitate.
pub(crate) fn print_all(lines: &[ConsentLine], out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{}", line.text()))
}

/// A question that says how much of what it is about was not shown.
pub(crate) fn about_unseen(question: &ConsentText, unseen: usize) -> ConsentText {
    match unseen {
        0 => question.clone(),
        _ => {
            let lines = size::count(unseen as u64, "line was", "lines were");
            ConsentText::line(&format!("{lines} not shown.")).before(question)
        }
    }
}

/// The size of the terminal that somebody sits at, now.
pub(crate) fn screen() -> ScreenSize {
    let size = terminal_size::terminal_size_of(io::stdout())
        .or_else(|| terminal_size::terminal_size_of(io::stderr()))
        .or_else(|| terminal_size::terminal_size_of(io::stdin()));
    let size = size.map(|(columns, rows)| (usize::from(columns.0), usize::from(rows.0)));
    size.filter(|(columns, rows)| *columns > 0 && *rows > 0)
        .map_or(USUAL, |(columns, rows)| ScreenSize { columns, rows })
}
